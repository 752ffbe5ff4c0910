//! The same script in every wire format: its replies must arrive, and its expectations must be matched.

use autonoe_scripted::ScriptedServer;
use serde_json::json;

use crate::client::{get, post};
use crate::dialect::{ALL, Dialect, MODES, ParsedReply, StreamMode, TestConversation, TestToolResult};
use crate::{answers, assert_no_problems, start, turn};

const SCRIPT: &str = r#"
    [[conversation]]
    name = "tour"
    when = "go"
      [[conversation.turn]]
      thinking = "Two files at once, and both of them at the same time, since nothing hinders it."
      text = "I'll read the specification, all of it — from the first line to the very last: “ÄÖÜ” included."
      call = [{ tool = "Read", input = { file_path = "SPEC.md", note = "long enough that it needs several pieces" } }, { tool = "Read", input = { file_path = "b" } }]
      usage = { input = 1200, output = 340, cache_read = 500, cache_write = 60, reasoning = 40 }
      [[conversation.turn]]
      expect = ["the contents"]
      thinking = "Now the picture."
      call = [{ tool = "Read" }]
      [[conversation.turn]]
      expect = ["[image image/png]"]
      text = "Done."
      [[conversation.turn]]
      expect = "and more"
      text = "Cut off"
      stop = "max_tokens"
"#;

/// The stop reasons of a reply with calls, one without, and one that became too long.
fn stops(dialect: Dialect) -> [&'static str; 3] {
    match dialect {
        Dialect::Anthropic => ["tool_use", "end_turn", "max_tokens"],
        Dialect::Chat => ["tool_calls", "stop", "length"],
        Dialect::Responses => ["completed", "completed", "incompletemax_output_tokens"],
        Dialect::Gemini => ["STOP", "STOP", "MAX_TOKENS"],
        Dialect::Ollama => ["stop", "stop", "length"],
    }
}

fn signs(dialect: Dialect) -> bool {
    match dialect {
        Dialect::Anthropic | Dialect::Responses | Dialect::Gemini => true,
        Dialect::Chat | Dialect::Ollama => false,
    }
}

#[track_caller]
fn assert_arguments(reply: &ParsedReply, call: usize, expected: serde_json::Value) {
    let arguments: serde_json::Value = serde_json::from_str(&reply.calls[call].arguments).unwrap();
    assert_eq!(arguments, expected);
}

fn tour(server: &ScriptedServer, mut conversation: TestConversation) {
    let dialect = conversation.dialect;
    let stops = stops(dialect);
    let first = conversation.ask(server);
    assert_eq!(
        first.thinking,
        "Two files at once, and both of them at the same time, since nothing hinders it."
    );
    assert_eq!(first.signature.is_some(), signs(dialect), "{dialect:?}");
    assert!(first.text.starts_with("I'll read") && first.text.ends_with("“ÄÖÜ” included."), "{first:?}");
    assert_eq!(first.calls.len(), 2);
    let note = "long enough that it needs several pieces";
    assert_arguments(&first, 0, json!({ "file_path": "SPEC.md", "note": note }));
    assert_arguments(&first, 1, json!({ "file_path": "b" }));
    assert_eq!(first.stop, stops[0]);
    let reasoning = match dialect {
        Dialect::Anthropic | Dialect::Ollama => 0,
        Dialect::Chat | Dialect::Responses | Dialect::Gemini => 40,
    };
    assert_eq!(first.usage, [1760, 500, 340, reasoning], "{dialect:?}");

    conversation.follow(&first, TestToolResult::Text("the contents"));
    let second = conversation.ask(server);
    assert_eq!((second.text.as_str(), second.calls.len()), ("", 1));
    assert!(!signs(dialect) || second.signature != first.signature, "{dialect:?}: one signature for all");
    assert_arguments(&second, 0, json!({}));

    conversation.follow(&second, TestToolResult::Image);
    let third = conversation.ask(server);
    assert_eq!((third.text.as_str(), third.stop.as_str()), ("Done.", stops[1]));
    assert_eq!((third.thinking.as_str(), third.signature.as_deref()), ("", None));

    conversation.follow(&third, TestToolResult::Text("and more"));
    let fourth = conversation.ask(server);
    assert_eq!((fourth.text.as_str(), fourth.stop.as_str()), ("Cut off", stops[2]));
}

#[test]
fn one_script_works_for_every_wire_format_whole_and_streamed() {
    for dialect in ALL {
        for mode in MODES {
            let server = start(SCRIPT);
            tour(&server, TestConversation::begin(dialect, mode, "go"));
            assert_no_problems(&server);
            assert_eq!(answers(&server), [1, 2, 3, 4].map(|number| turn("tour", 1, number)), "{dialect:?}");
            let request = &server.requests()[1];
            assert_eq!(
                request.model,
                if dialect == Dialect::Anthropic { "test-model" } else { "some-model" }
            );
            assert_eq!(
                (request.stream, request.tools.as_slice()),
                (mode == StreamMode::Stream, &["Read".to_owned()][..])
            );
        }
    }
}

#[test]
fn one_server_serves_all_wire_formats_at_once() {
    let server = start(SCRIPT);
    for dialect in ALL {
        // Each with its own first message: Ollama's conversations have no other distinction.
        tour(&server, TestConversation::begin(dialect, StreamMode::Stream, &format!("go {dialect:?}")));
    }
    assert_no_problems(&server);
    assert_eq!(server.requests().len(), 4 * ALL.len());
}

#[test]
fn older_gemini_models_send_no_call_ids() {
    let server = start(SCRIPT);
    let conversation =
        TestConversation::begin_with(Dialect::Gemini, StreamMode::Stream, "gemini-2.5-pro", "go");
    assert!(conversation.ask(&server).calls.iter().all(|call| call.id.is_none()));
    let newer = TestConversation::begin_with(Dialect::Gemini, StreamMode::Stream, "gemini-3-pro", "go");
    assert_eq!(newer.ask(&server).calls[1].id.as_deref(), Some("toolu_2_1_2"));
    tour(&server, conversation);
    assert_no_problems(&server);
}

#[test]
fn missing_thinking_is_a_problem_where_it_is_signed() {
    for dialect in ALL {
        let server = start(SCRIPT);
        let mut conversation = TestConversation::begin(dialect, StreamMode::Whole, "go");
        let reply = conversation.ask(&server);
        conversation.follow(&ParsedReply { signature: None, ..reply }, TestToolResult::Text("the contents"));
        assert_eq!(conversation.ask(&server).calls.len(), 1, "still answered");
        let problem = "conversation \"tour\", turn 2: the request lacks the signed thinking of turn 1";
        let expected: &[&str] = if signs(dialect) { &[problem] } else { &[] };
        assert_eq!(server.problems(), expected, "{dialect:?}");
    }
}

#[test]
fn a_signature_must_match_the_thinking_and_be_in_the_right_place() {
    for dialect in [Dialect::Anthropic, Dialect::Responses, Dialect::Gemini] {
        let server = start(SCRIPT);
        let mut conversation = TestConversation::begin(dialect, StreamMode::Whole, "go");
        let reply = conversation.ask(&server);
        match dialect {
            Dialect::Anthropic => {
                conversation.follow(
                    &ParsedReply { thinking: "Other words.".to_owned(), ..reply },
                    TestToolResult::Text("the contents"),
                );
            }
            Dialect::Gemini => {
                let signature = reply.signature.clone();
                conversation
                    .follow(&ParsedReply { signature: None, ..reply }, TestToolResult::Text("the contents"));
                conversation.messages()[1]["parts"][0]["thoughtSignature"] = json!(signature);
            }
            _ => {
                let signature = Some("skip_thought_signature_validator".to_owned());
                conversation
                    .follow(&ParsedReply { signature, ..reply }, TestToolResult::Text("the contents"));
            }
        }
        conversation.ask(&server);
        assert_eq!(server.problems().len(), 1, "{dialect:?}: {:?}", server.problems());
    }
}

#[test]
fn reasoning_is_encrypted_only_on_request() {
    let server = start(SCRIPT);
    for mode in MODES {
        let mut conversation = TestConversation::begin(Dialect::Responses, mode, "go");
        conversation.request.as_object_mut().unwrap().remove("include");
        let reply = conversation.ask(&server);
        assert_eq!(reply.signature, None);
        assert!(!reply.thinking.is_empty());
        conversation.follow(&reply, TestToolResult::Text("the contents"));
        conversation.ask(&server);
    }
    assert_no_problems(&server);
}

#[test]
fn an_expectation_matches_only_the_newest_results() {
    for dialect in ALL {
        let server = start(SCRIPT);
        let mut conversation = TestConversation::begin(dialect, StreamMode::Whole, "go the contents");
        let reply = conversation.ask(&server);
        conversation.follow(&reply, TestToolResult::Text("no such file"));
        conversation.ask(&server);
        let problems = server.problems();
        assert_eq!(problems.len(), 1, "{dialect:?}: {problems:?}");
        assert!(problems[0].contains("expected \"the contents\""), "{problems:?}");
    }
}

#[test]
fn calls_and_results_must_match() {
    let messages = |dialect| match dialect {
        Dialect::Anthropic => ["without `tool_result` blocks", "unexpected `tool_use_id`"],
        Dialect::Chat => {
            ["did not have response messages: toolu_1_1_2", "must be a response to a preceding message"]
        }
        Dialect::Responses => [
            "No tool output found for function call toolu_1_1_2",
            "No tool call found for function call output with call_id toolu_1_1_2",
        ],
        Dialect::Gemini => ["number of function response parts is equal"; 2],
        Dialect::Ollama => unreachable!(),
    };
    for dialect in ALL.into_iter().filter(|dialect| *dialect != Dialect::Ollama) {
        let server = start(SCRIPT);
        let mut conversation = TestConversation::begin(dialect, StreamMode::Whole, "go");
        let mut reply = conversation.ask(&server);
        let whole = reply.clone();
        conversation.follow(&reply, TestToolResult::Text("the contents"));
        let mut unanswered = conversation.clone();
        let mut stray = conversation.clone();
        match dialect {
            Dialect::Anthropic => drop(unanswered.messages()[2]["content"].as_array_mut().unwrap().pop()),
            Dialect::Gemini => drop(unanswered.messages()[2]["parts"].as_array_mut().unwrap().pop()),
            _ => drop(unanswered.messages().pop()),
        }
        reply.calls.pop();
        stray.messages().truncate(if dialect == Dialect::Chat { 2 } else { 1 });
        stray.follow(&reply, TestToolResult::Text("the contents"));
        let result = {
            let mut other = TestConversation::begin(dialect, StreamMode::Whole, "go");
            other.follow(&whole, TestToolResult::Text("the contents"));
            other.messages().pop().unwrap()
        };
        match dialect {
            Dialect::Anthropic | Dialect::Gemini => *stray.messages().last_mut().unwrap() = result,
            _ => stray.messages().push(result),
        }
        for (conversation, expected) in [unanswered, stray].into_iter().zip(messages(dialect)) {
            let response = conversation.send(&server);
            assert_eq!(response.status, 400, "{dialect:?}");
            let message = response.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(expected), "{dialect:?}: {message}");
        }
        assert_eq!(server.problems().len(), 2, "{dialect:?}");
    }
}

#[test]
fn requests_without_required_fields_are_refused() {
    for (path, request) in [
        ("/v1/chat/completions", json!({ "model": "m", "messages": [] })),
        ("/v1/chat/completions", json!({ "messages": [{ "role": "user", "content": "go" }] })),
        ("/v1/chat/completions", json!({ "model": "m", "messages": [{ "role": "model", "content": "go" }] })),
        ("/v1/responses", json!({ "model": "m" })),
        ("/v1/responses", json!({ "input": "go" })),
        ("/v1/responses", json!({ "model": "m", "input": "go", "previous_response_id": "resp_1_1" })),
        ("/v1beta/models/m:generateContent", json!({ "contents": [] })),
        ("/v1beta/models/m:generateContent", json!({ "contents": [{ "role": "system", "parts": [] }] })),
        ("/api/chat", json!({ "model": "m" })),
        ("/api/chat", json!({ "messages": [{ "role": "user", "content": "go" }] })),
        ("/api/chat", json!({ "model": "m", "messages": [{ "role": "model", "content": "go" }] })),
    ] {
        let server = start(SCRIPT);
        assert_eq!(post(&server, path, &request).status, 400, "{path} {request}");
        assert_eq!(server.problems().len(), 1);
    }
}

#[test]
fn responses_accept_a_plain_string_and_ollama_streams_by_default() {
    let server = start(SCRIPT);
    let tools = json!([{ "type": "function", "name": "Read" }]);
    let reply =
        post(&server, "/v1/responses", &json!({ "model": "m", "input": "go", "tools": tools })).ok_json();
    assert_eq!(reply["output"][2]["name"], "Read");

    let mut conversation = TestConversation::begin(Dialect::Ollama, StreamMode::Stream, "go");
    conversation.request.as_object_mut().unwrap().remove("stream");
    let response = conversation.send(&server);
    assert_eq!(response.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(conversation.read(&response.body).calls.len(), 2);
    assert_no_problems(&server);
}

#[test]
fn a_chat_stream_has_usage_only_on_request() {
    let server = start(SCRIPT);
    let mut conversation = TestConversation::begin(Dialect::Chat, StreamMode::Stream, "go");
    assert!(conversation.send(&server).body.contains("\"usage\""));
    conversation.request.as_object_mut().unwrap().remove("stream_options");
    assert!(!conversation.send(&server).body.contains("\"usage\""));
}

#[test]
fn requests_without_tools_do_not_advance_the_script() {
    for dialect in ALL {
        for mode in MODES {
            let server = start(SCRIPT);
            let mut conversation = TestConversation::begin(dialect, mode, "a title?");
            conversation.request.as_object_mut().unwrap().remove("tools");
            assert!(!conversation.ask(&server).text.is_empty(), "{dialect:?}");
            assert_eq!(answers(&server), [autonoe_scripted::ScriptedAnswer::Side]);
        }
    }
}

#[test]
fn models_are_listed_and_tokens_counted() {
    let server = start(SCRIPT);
    assert_eq!(get(&server, "/v1/models").ok_json()["data"][0]["id"], "scripted");
    assert_eq!(get(&server, "/v1beta/models").ok_json()["models"][0]["name"], "scripted");
    assert_eq!(get(&server, "/api/tags").ok_json()["models"][0]["name"], "scripted");
    let conversation = TestConversation::begin(Dialect::Gemini, StreamMode::Whole, "go");
    let counted = post(&server, "/v1beta/models/some-model:countTokens", &conversation.request).ok_json();
    assert!(counted["totalTokens"].as_u64().unwrap() > 10);
    assert_eq!(post(&server, "/v1beta/models/some-model:embedContent", &conversation.request).status, 404);
    assert_no_problems(&server);
}

#[test]
fn openai_tools_are_called_in_their_offered_form() {
    let server = start(
        r#"
        [[conversation]]
          [[conversation.turn]]
          call = [
            { tool = "patch", input = "*** a text" },
            { tool = "mcp__server__find_it", input = { a = 1 } },
            { tool = "plain" },
          ]
        "#,
    );
    let request = json!({ "model": "m", "input": "go", "tools": [
        { "type": "custom", "name": "patch" }, { "type": "tool_search" }, { "type": "function", "name": "plain" },
    ] });
    let output = post(&server, "/v1/responses", &request).ok_json()["output"].clone();
    assert_eq!(output[0]["type"], "custom_tool_call");
    assert_eq!(output[0]["input"], "*** a text");
    assert_eq!((&output[1]["name"], &output[1]["namespace"]), (&json!("find_it"), &json!("mcp__server")));
    assert_eq!((&output[2]["name"], &output[2]["namespace"]), (&json!("plain"), &json!(null)));
    assert_no_problems(&server);
}
