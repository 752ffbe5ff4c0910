//! Tests the server over real HTTP on loopback, with the small client in `client`.

#![allow(clippy::unwrap_used)]

mod client;
mod dialect;
mod faults;
mod streams;
mod wires;

use std::io::Read;
use std::time::{Duration, Instant};

use autonoe_scripted::{LoggedRequest, ModelScript, ScriptPosition, ScriptedAnswer, ScriptedServer};
use client::{Events, begin, events, follow, get, open, post, reply_text};
use serde_json::{Value, json};

fn start(script: &str) -> ScriptedServer {
    ScriptedServer::start(ModelScript::parse(script).unwrap()).unwrap()
}

/// A conversation of one reply that a fault precedes.
fn with_fault(fault: &str) -> ScriptedServer {
    start(&format!(
        "[[conversation]]\nname = 'only'\n[[conversation.turn]]\nfault = {fault}\n[[conversation.turn]]\ntext = 'At last.'"
    ))
}

fn streamed(mut request: Value) -> Value {
    request["stream"] = json!(true);
    request
}

fn turn(conversation: &str, play: usize, turn: usize) -> ScriptedAnswer {
    ScriptedAnswer::Turn(ScriptPosition { conversation: conversation.to_owned(), play, turn })
}

fn fault(conversation: &str, play: usize, turn: usize) -> ScriptedAnswer {
    ScriptedAnswer::Fault(ScriptPosition { conversation: conversation.to_owned(), play, turn })
}

fn answers(server: &ScriptedServer) -> Vec<ScriptedAnswer> {
    server.requests().into_iter().map(|request| request.answer).collect()
}

#[track_caller]
fn assert_no_problems(server: &ScriptedServer) {
    assert_eq!(server.problems(), [""; 0]);
}

const READER: &str = r#"
    [[conversation]]
    name = "reader"
    when = "read"
      [[conversation.turn]]
      thinking = "Where is it?"
      text = "I'll read the specification, all of it — from the first line to the very last: “ÄÖÜ” included."
      call = [{ tool = "Read", input = { file_path = "SPEC.md", note = "a long note, so that the input needs several pieces" } }, { tool = "List" }]
      usage = { input = 1200, output = 340, cache_read = 5, cache_write = 6 }
      [[conversation.turn]]
      expect = "contents"
      text = "Done."
"#;

#[test]
fn a_whole_conversation_without_streaming() {
    let server = start(READER);
    let asked = begin("please read");
    let reply = post(&server, "/v1/messages?beta=true", &asked).ok_json();
    assert_eq!(reply["role"], "assistant");
    assert_eq!(reply["model"], "test-model");
    assert_eq!(reply["stop_reason"], "tool_use");
    assert_eq!(reply["usage"]["input_tokens"], 1200);
    assert_eq!(reply["usage"]["output_tokens"], 340);
    assert_eq!(reply["usage"]["cache_read_input_tokens"], 5);
    assert_eq!(reply["usage"]["cache_creation_input_tokens"], 6);
    let kinds: Vec<&Value> =
        reply["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use", "tool_use"]);
    assert_eq!(reply["content"][2]["id"], "toolu_1_1_1");
    assert_eq!(reply["content"][2]["input"]["file_path"], "SPEC.md");

    let reply = post(&server, "/v1/messages", &follow(&asked, &reply, "the contents")).ok_json();
    assert_eq!(reply["content"], json!([{ "type": "text", "text": "Done." }]));
    assert_eq!(reply["stop_reason"], "end_turn");

    assert_no_problems(&server);
    let requests: Vec<LoggedRequest> = server.requests();
    assert_eq!(answers(&server), [turn("reader", 1, 1), turn("reader", 1, 2)]);
    assert_eq!(requests[0].path, "/v1/messages");
    assert_eq!(requests[0].model, "test-model");
    assert!(!requests[0].stream);
    assert_eq!(requests[0].tools, ["Read"]);
    assert_eq!((requests[0].messages, requests[1].messages), (1, 3));
    assert_eq!(*requests[0].request, asked);
}

#[test]
fn a_stream_has_the_same_content_as_a_whole_reply() {
    let server = start(READER);
    let mut whole = post(&server, "/v1/messages", &begin("read")).ok_json();
    let response = post(&server, "/v1/messages", &streamed(begin("read")));
    assert_eq!(response.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert!(response.complete);
    let Events { names, mut message, broken } = events(&response.body);
    assert_eq!(broken, 0);
    assert_eq!(names.first().map(String::as_str), Some("message_start"));
    assert_eq!(names.last().map(String::as_str), Some("message_stop"));
    assert_eq!(names.iter().filter(|name| *name == "ping").count(), 1);
    assert_eq!(names.iter().filter(|name| *name == "content_block_start").count(), 4);
    assert!(
        names.iter().filter(|name| *name == "content_block_delta").count() > 6,
        "not in pieces: {names:?}"
    );
    // It is another play, so the ids differ; nothing else may.
    for (index, id) in [(2, "toolu_2_1_1"), (3, "toolu_2_1_2")] {
        assert_eq!(message["content"][index]["id"], id);
        message["content"][index]["id"] = whole["content"][index]["id"].take();
        whole["content"][index]["id"] = message["content"][index]["id"].clone();
    }
    message["id"] = whole["id"].clone();
    assert_eq!(message, whole);
    assert!(server.requests()[1].stream);
    assert_no_problems(&server);
}

#[test]
fn an_error_status_has_body_and_headers_and_can_be_retried() {
    let server = with_fault(
        r#"{ kind = "status", status = 429, retry_after = 3, message = "slow down", times = 2, headers = { anthropic-ratelimit-unified-status = "rejected" } }"#,
    );
    for _ in 0..2 {
        let response = post(&server, "/v1/messages", &streamed(begin("go")));
        assert_eq!(response.status, 429);
        assert_eq!(response.header("retry-after"), Some("3"));
        assert_eq!(response.header("anthropic-ratelimit-unified-status"), Some("rejected"));
        let expected =
            json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow down" } });
        assert_eq!(response.json(), expected);
    }
    assert_eq!(reply_text(&server, &begin("go")), "At last.");
    assert_eq!(answers(&server), [fault("only", 1, 1), fault("only", 1, 1), turn("only", 1, 1)]);
    assert_no_problems(&server);
}

#[test]
fn a_fault_in_the_middle_of_a_conversation_keeps_the_position() {
    let server = start(
        r#"
        [[conversation]]
        name = "long"
          [[conversation.turn]]
          call = [{ tool = "Read" }]
          [[conversation.turn]]
          fault = { kind = "status", status = 529 }
          text = "two"
        "#,
    );
    let first = begin("go");
    let second = follow(&first, &post(&server, "/v1/messages", &first).ok_json(), "x");
    assert_eq!(post(&server, "/v1/messages", &second).json()["error"]["type"], "overloaded_error");
    assert_eq!(reply_text(&server, &second), "two");
    assert_eq!(answers(&server), [turn("long", 1, 1), fault("long", 1, 2), turn("long", 1, 2)]);
    assert_no_problems(&server);
}

#[test]
fn a_slow_reply_is_late_but_complete() {
    let server = with_fault("{ kind = 'slow', millis = 20 }");
    let started = Instant::now();
    let response = post(&server, "/v1/messages", &streamed(begin("go")));
    let names = events(&response.body).names;
    assert!(response.complete);
    assert_eq!(names.last().map(String::as_str), Some("message_stop"));
    assert!(started.elapsed() >= Duration::from_millis(20) * names.len() as u32);
    assert_eq!(answers(&server), [turn("only", 1, 1)]);
    assert_no_problems(&server);
}

#[test]
fn silence_sends_only_headers_until_the_server_stops() {
    let server = with_fault("{ kind = 'silence' }");
    let (head, mut connection) = open(&server, "POST", "/v1/messages", Some(&streamed(begin("go"))));
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(reply_text(&server, &begin("go")), "At last.", "others are served meanwhile");
    server.shutdown();
    let mut rest = Vec::new();
    // The connection may also end with a reset.
    let _ = connection.read_to_end(&mut rest);
    assert_eq!(String::from_utf8_lossy(&rest), "");
}

#[test]
fn dropping_the_server_closes_its_port() {
    let server = with_fault("{ kind = 'cut' }");
    let address = server.base_url().strip_prefix("http://").unwrap().to_owned();
    std::net::TcpStream::connect(&address).unwrap();
    drop(server);
    assert!(std::net::TcpStream::connect(&address).is_err());
}

#[test]
fn an_async_caller_can_start_use_and_drop_the_server() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        // This blocks the only thread of the caller's runtime: the server must not depend on it.
        let server = start("[[conversation]]\n[[conversation.turn]]\ntext = 'one'");
        assert_eq!(reply_text(&server, &begin("go")), "one");
    });
}

#[test]
fn side_requests_are_answered_without_advancing_the_script() {
    let server = start(
        "[[conversation]]\nname = 'only'\nplays = 1\n[[conversation.turn]]\nfault = { kind = 'cut' }\ntext = 'one'",
    );
    for tools in [json!(null), json!([])] {
        let mut request = begin("a title for this?");
        request["tools"] = tools;
        assert!(!reply_text(&server, &request).is_empty());
        let names = events(&post(&server, "/v1/messages", &streamed(request)).body).names;
        assert_eq!(names.last().map(String::as_str), Some("message_stop"));
    }
    assert_eq!(
        answers(&server),
        [ScriptedAnswer::Side, ScriptedAnswer::Side, ScriptedAnswer::Side, ScriptedAnswer::Side]
    );
    assert!(!post(&server, "/v1/messages", &begin("go")).complete, "the first fault was used up");
    assert_no_problems(&server);
}

#[test]
fn two_conversations_interleave() {
    let server = start(
        r#"
        [[conversation]]
        name = "one"
        plays = 1
          [[conversation.turn]]
          call = [{ tool = "Read" }]
          [[conversation.turn]]
          expect = "for one"
          text = "one is done"
        [[conversation]]
        name = "two"
        plays = 1
          [[conversation.turn]]
          call = [{ tool = "Read" }]
          [[conversation.turn]]
          expect = "for two"
          text = "two is done"
        "#,
    );
    let begun = begin("the very same words");
    let one = post(&server, "/v1/messages", &begun).ok_json();
    let two = post(&server, "/v1/messages", &begun).ok_json();
    assert_eq!(reply_text(&server, &follow(&begun, &two, "for two")), "two is done");
    assert_eq!(reply_text(&server, &follow(&begun, &one, "for one")), "one is done");
    assert_eq!(
        answers(&server),
        [turn("one", 1, 1), turn("two", 2, 1), turn("two", 2, 2), turn("one", 1, 2)]
    );
    assert_no_problems(&server);
}

#[test]
fn a_script_without_an_answer_is_a_problem() {
    let server = start("[[conversation]]\nname = 'only'\nwhen = 'go'\n[[conversation.turn]]\ntext = 'one'");
    let unknown = post(&server, "/v1/messages", &begin("stop"));
    assert_eq!(unknown.status, 400);
    assert_eq!(unknown.json()["error"]["type"], "invalid_request_error");
    let message = "no conversation matches a request that begins with \"stop\"";
    assert_eq!(unknown.json()["error"]["message"], format!("scripted: {message}"));

    let begun = begin("go");
    let reply = post(&server, "/v1/messages", &begun).ok_json();
    let exhausted = post(&server, "/v1/messages", &follow(&begun, &reply, "more"));
    assert_eq!(exhausted.status, 400);
    let too_far = "conversation \"only\" has 1 turns with a reply, but turn 2 was requested";
    assert_eq!(exhausted.json()["error"]["message"], format!("scripted: {too_far}"));

    assert_eq!(server.problems(), [message, too_far]);
    let refused = |message: &str| ScriptedAnswer::Refused(message.to_owned());
    assert_eq!(answers(&server), [refused(message), turn("only", 1, 1), refused(too_far)]);
}

#[test]
fn an_unmet_expectation_is_a_problem() {
    let server = start(READER);
    let begun = begin("read");
    let reply = post(&server, "/v1/messages", &begun).ok_json();
    assert_eq!(reply_text(&server, &follow(&begun, &reply, "no such file")), "Done.");
    let expected = "conversation \"reader\", turn 2: expected \"contents\", got a request that begins with \"no such file no such file\"";
    assert_eq!(server.problems(), [expected]);
    let state = get(&server, "/_state").ok_json();
    assert_eq!(state, json!({ "requests": 2, "problems": [expected] }));
}

#[test]
fn a_request_that_the_service_would_refuse_is_a_problem() {
    let server = start(READER);
    let begun = begin("read");
    let mut unanswered = follow(&begun, &post(&server, "/v1/messages", &begun).ok_json(), "contents");
    unanswered["messages"].as_array_mut().unwrap().pop();
    for request in [unanswered, json!({ "model": "m", "messages": [] }), json!("not an object")] {
        let response = post(&server, "/v1/messages", &request);
        assert_eq!(response.status, 400);
        assert_eq!(response.json()["error"]["type"], "invalid_request_error");
    }
    let problems = server.problems();
    assert_eq!(problems.len(), 3);
    assert!(problems[0].contains("toolu_1_1_1, toolu_1_1_2"), "{problems:?}");
    assert!(matches!(
        answers(&server)[1..],
        [ScriptedAnswer::Refused(_), ScriptedAnswer::Refused(_), ScriptedAnswer::Refused(_)]
    ));
}

#[test]
fn a_body_that_is_not_json_or_too_large_is_refused() {
    let server = start(READER);
    let response = client::post_text(&server, "/v1/messages", "{");
    assert_eq!(response.status, 400);
    assert!(response.json()["error"]["message"].as_str().unwrap().starts_with("the request is not JSON"));

    let response = client::post_text(&server, "/v1/messages", &" ".repeat((32 << 20) + 1));
    assert_eq!(response.status, 413);
    assert_eq!(response.json()["error"]["type"], "request_too_large");
    assert_eq!(server.problems().len(), 2);
}

#[test]
fn tokens_are_counted() {
    let server = start(READER);
    let small = post(&server, "/v1/messages/count_tokens", &begin("read")).ok_json();
    let large = post(&server, "/v1/messages/count_tokens", &begin(&"read ".repeat(400))).ok_json();
    let tokens = |count: &Value| count["input_tokens"].as_u64().unwrap();
    assert!(tokens(&small) > 0);
    assert_eq!(tokens(&large) - tokens(&small), 499, "four bytes to a token: {small} {large}");
    assert_eq!(answers(&server), [ScriptedAnswer::Count, ScriptedAnswer::Count]);
    assert_no_problems(&server);
    assert_eq!(
        post(&server, "/v1/messages/count_tokens", &json!({ "model": "m", "messages": [] })).status,
        400
    );
}

#[test]
fn unknown_paths_are_not_found_and_not_a_problem() {
    let server = start(READER);
    let response = get(&server, "/v1/files");
    assert_eq!(response.status, 404);
    assert_eq!(response.json()["error"]["message"], "scripted: no route for GET /v1/files");
    assert_eq!(get(&server, "/_state").ok_json(), json!({ "requests": 0, "problems": [] }));
}
