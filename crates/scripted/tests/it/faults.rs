//! Every fault in every wire format.

use std::io::Read;

use autonoe_scripted::ScriptedServer;
use serde_json::{Value, json};

use crate::client::{self, Response};
use crate::dialect::{ALL, Dialect, MODES, StreamMode, TestConversation, TestToolResult, events};
use crate::{answers, assert_no_problems, fault, start, turn, with_fault};

use Dialect::{Anthropic, Chat, Gemini, Ollama, Responses};

struct ExpectedError {
    status: u16,
    /// The type, code or status in the body; empty for Ollama, which has none.
    code: &'static str,
    /// A part of the message.
    words: &'static str,
}

fn expect(status: u16, code: &'static str, words: &'static str) -> ExpectedError {
    ExpectedError { status, code, words }
}

/// Each fault with its error in every wire format, in the order of [`ALL`].
fn table() -> Vec<(&'static str, [ExpectedError; 5])> {
    vec![
        (
            "{ kind = 'invalid_key' }",
            [
                expect(401, "authentication_error", "invalid x-api-key"),
                expect(401, "invalid_api_key", "Incorrect API key provided"),
                expect(401, "invalid_api_key", "Incorrect API key provided"),
                expect(400, "INVALID_ARGUMENT", "API key not valid"),
                expect(401, "", "unauthorized"),
            ],
        ),
        (
            "{ kind = 'status', status = 401 }",
            [
                expect(401, "authentication_error", "invalid x-api-key"),
                expect(401, "invalid_api_key", "Incorrect API key provided"),
                expect(401, "invalid_api_key", "Incorrect API key provided"),
                expect(401, "UNAUTHENTICATED", "invalid authentication credentials"),
                expect(401, "", "unauthorized"),
            ],
        ),
        (
            "{ kind = 'status', status = 403 }",
            [
                expect(403, "permission_error", "does not have permission"),
                expect(403, "invalid_request_error", "insufficient permissions"),
                expect(403, "invalid_request_error", "insufficient permissions"),
                expect(403, "PERMISSION_DENIED", "does not have permission"),
                expect(403, "", "forbidden"),
            ],
        ),
        (
            "{ kind = 'status', status = 404 }",
            [
                expect(404, "not_found_error", "model: test-model"),
                expect(404, "model_not_found", "The model `some-model` does not exist"),
                expect(404, "model_not_found", "The model `some-model` does not exist"),
                expect(404, "NOT_FOUND", "models/some-model is not found for API version v1beta"),
                expect(404, "", "model 'some-model' not found"),
            ],
        ),
        (
            "{ kind = 'status', status = 429 }",
            [
                expect(429, "rate_limit_error", "rate limit"),
                expect(429, "rate_limit_exceeded", "Rate limit reached"),
                expect(429, "rate_limit_exceeded", "Rate limit reached"),
                expect(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted"),
                expect(429, "", "too many requests"),
            ],
        ),
        (
            "{ kind = 'quota' }",
            [
                expect(400, "invalid_request_error", "Your credit balance is too low"),
                expect(429, "insufficient_quota", "You exceeded your current quota"),
                expect(429, "insufficient_quota", "You exceeded your current quota"),
                expect(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota"),
                expect(429, "", "reached your hourly usage limit"),
            ],
        ),
        (
            "{ kind = 'status', status = 500 }",
            [
                expect(500, "api_error", "Internal server error"),
                expect(500, "server_error", "The server had an error"),
                expect(500, "server_error", "The server had an error"),
                expect(500, "INTERNAL", "An internal error has occurred"),
                expect(500, "", "model runner has unexpectedly stopped"),
            ],
        ),
        (
            "{ kind = 'status', status = 502, message = 'no answer' }",
            [
                expect(502, "api_error", "no answer"),
                expect(502, "server_error", "no answer"),
                expect(502, "server_error", "no answer"),
                expect(502, "UNKNOWN", "no answer"),
                expect(502, "", "no answer"),
            ],
        ),
        (
            "{ kind = 'status', status = 503 }",
            [
                expect(503, "api_error", "Service Unavailable"),
                expect(503, "server_is_overloaded", "currently overloaded"),
                expect(503, "server_is_overloaded", "currently overloaded"),
                expect(503, "UNAVAILABLE", "overloaded"),
                expect(503, "", "server busy"),
            ],
        ),
        (
            "{ kind = 'overloaded' }",
            [
                expect(529, "overloaded_error", "Overloaded"),
                expect(503, "server_is_overloaded", "currently overloaded"),
                expect(503, "server_is_overloaded", "currently overloaded"),
                expect(503, "UNAVAILABLE", "overloaded"),
                expect(503, "", "server busy"),
            ],
        ),
        (
            "{ kind = 'context_length' }",
            [
                expect(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
                expect(400, "context_length_exceeded", "maximum context length is 128000 tokens"),
                expect(400, "context_length_exceeded", "exceeds the context window"),
                expect(400, "INVALID_ARGUMENT", "exceeds the maximum number of tokens allowed"),
                expect(400, "", "exceeds the context length"),
            ],
        ),
    ]
}

/// Checks the body of an error response, or an error within a stream.
#[track_caller]
fn check(dialect: Dialect, body: &Value, expected: &ExpectedError) {
    let error = &body["error"];
    let code = match dialect {
        Anthropic => {
            assert_eq!(body["type"], "error");
            &error["type"]
        }
        Chat | Responses if error["code"].is_null() => &error["type"],
        Chat | Responses => &error["code"],
        Gemini => {
            assert_eq!(error["code"], expected.status);
            &error["status"]
        }
        Ollama => &json!(""),
    };
    assert_eq!(code, expected.code, "{dialect:?}: {body}");
    let message = if dialect == Ollama { error } else { &error["message"] };
    assert!(message.as_str().unwrap().contains(expected.words), "{dialect:?}: {body}");
}

#[track_caller]
fn assert_continues_after_faults(server: &ScriptedServer, conversation: &TestConversation) {
    assert_eq!(conversation.ask(server).text, "At last.");
    assert_no_problems(server);
    let request = answers(server);
    let faults = request.len() - 1;
    assert!(request[..faults].iter().all(|answer| *answer == fault("only", 1, 1)), "{request:?}");
    assert_eq!(request[faults], turn("only", 1, 1));
}

#[test]
fn every_error_looks_like_the_services_own() {
    for (written, row) in table() {
        for (dialect, expected) in ALL.into_iter().zip(row) {
            let server = with_fault(written);
            let conversation = TestConversation::begin(dialect, StreamMode::Whole, "go");
            let response = conversation.send(&server);
            assert_eq!(response.status, expected.status, "{dialect:?}: {written}");
            check(dialect, &response.json(), &expected);
            assert_continues_after_faults(&server, &conversation);
        }
    }
}

/// The events of a stream that ended with an error, and the error.
fn cut_off(dialect: Dialect, response: &Response) -> (Vec<Value>, Value) {
    assert_eq!(response.status, 200, "{dialect:?}: {}", response.body);
    assert!(response.complete);
    let mut events_before: Vec<Value> = match dialect {
        Ollama => response.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        _ => events(&response.body),
    };
    let last = events_before.pop().unwrap();
    if dialect != Responses {
        return (events_before, last);
    }
    assert_eq!(last["type"], "response.failed");
    assert_eq!(last["response"]["status"], "failed");
    let error = events_before.pop().unwrap();
    assert_eq!(error["type"], "error");
    assert_eq!(last["response"]["error"]["code"], error["error"]["code"]);
    assert_eq!(last["response"]["error"]["message"], error["error"]["message"]);
    (events_before, error)
}

#[test]
fn every_error_can_come_within_a_stream() {
    for (written, row) in table() {
        let written = written.replace(" }", ", midway = true }");
        for (dialect, expected) in ALL.into_iter().zip(row) {
            let server = with_fault(&written);
            let conversation = TestConversation::begin(dialect, StreamMode::Stream, "go");
            let (events_before, error) = cut_off(dialect, &conversation.send(&server));
            assert!(!events_before.is_empty(), "no events before the error");
            assert!(
                !events_before.iter().any(|event| event.get("error").is_some_and(|error| !error.is_null()))
            );
            check(dialect, &error, &expected);
            assert_continues_after_faults(&server, &conversation);

            // Without a stream there is no middle.
            let server = with_fault(&written);
            assert_eq!(
                TestConversation::begin(dialect, StreamMode::Whole, "go").send(&server).status,
                expected.status
            );
        }
    }
}

#[test]
fn responses_report_a_long_context_at_the_start_of_the_stream() {
    let server = with_fault("{ kind = 'context_length' }");
    let conversation = TestConversation::begin(Responses, StreamMode::Stream, "go");
    let (events_before, error) = cut_off(Responses, &conversation.send(&server));
    assert_eq!(events_before.len(), 1);
    assert_eq!(events_before[0]["type"], "response.created");
    check(Responses, &error, &expect(400, "context_length_exceeded", "exceeds the context window"));
    assert_continues_after_faults(&server, &conversation);
    for dialect in [Anthropic, Chat, Gemini, Ollama] {
        let server = with_fault("{ kind = 'context_length' }");
        assert_eq!(TestConversation::begin(dialect, StreamMode::Stream, "go").send(&server).status, 400);
    }
}

#[test]
fn the_retry_delay_is_sent_where_the_service_sends_it() {
    let waits = [
        ("retry_after = 3", [Some("3"), None], "3s"),
        ("retry_after_ms = 250", [Some("1"), Some("250")], "0.25s"),
        ("retry_after_ms = 2000", [Some("2"), None], "2s"),
    ];
    for (written, headers, in_body) in waits {
        for dialect in ALL {
            let server = with_fault(&format!("{{ kind = 'status', status = 429, {written} }}"));
            let response = TestConversation::begin(dialect, StreamMode::Stream, "go").send(&server);
            assert_eq!(response.status, 429);
            let delays = ["retry-after", "retry-after-ms"].map(|name| response.header(name));
            assert_eq!(delays, if dialect == Gemini { [None, None] } else { headers }, "{dialect:?}");
            if dialect == Gemini {
                let info =
                    json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": in_body });
                assert_eq!(response.json()["error"]["details"], json!([info]));
            }
        }
    }
}

#[test]
fn gemini_distinguishes_an_exhausted_quota_from_a_rate_limit() {
    let server = with_fault("{ kind = 'quota' }");
    let details =
        TestConversation::begin(Gemini, StreamMode::Stream, "go").send(&server).json()["error"]["details"]
            .clone();
    assert_eq!(details[0]["@type"], "type.googleapis.com/google.rpc.QuotaFailure");
    assert_eq!(details[0]["violations"][0]["quotaId"], "GenerateRequestsPerDayPerProjectPerModel-FreeTier");
    assert_eq!(details[1]["retryDelay"], "34s");
    let server = with_fault("{ kind = 'invalid_key' }");
    let details =
        TestConversation::begin(Gemini, StreamMode::Stream, "go").send(&server).json()["error"]["details"]
            .clone();
    assert_eq!(details[0]["reason"], "API_KEY_INVALID");
}

#[test]
fn openai_names_the_parameter_that_is_too_long() {
    for (dialect, param) in [(Chat, "messages"), (Responses, "input")] {
        let server = with_fault("{ kind = 'context_length' }");
        let error = TestConversation::begin(dialect, StreamMode::Whole, "go").send(&server).json();
        assert_eq!(error["error"]["param"], param);
        assert_eq!(error["error"]["type"], "invalid_request_error");
    }
}

#[test]
fn a_bad_gateway_is_an_html_page() {
    for dialect in ALL {
        let server = with_fault("{ kind = 'status', status = 502 }");
        let conversation = TestConversation::begin(dialect, StreamMode::Stream, "go");
        let response = conversation.send(&server);
        assert_eq!(
            (response.status, response.header("content-type")),
            (502, Some("text/html; charset=utf-8"))
        );
        assert!(response.body.starts_with("<html>"));
        assert_continues_after_faults(&server, &conversation);
    }
}

#[test]
fn the_scripts_message_and_headers_are_used() {
    for dialect in ALL {
        let server =
            with_fault("{ kind = 'quota', message = 'Not today.', headers = { x-limit = 'rejected' } }");
        let response = TestConversation::begin(dialect, StreamMode::Stream, "go").send(&server);
        assert_eq!(response.header("x-limit"), Some("rejected"));
        let error = &response.json()["error"];
        assert_eq!(if dialect == Ollama { error } else { &error["message"] }, "Not today.");
    }
}

#[test]
fn a_cut_ends_the_reply_in_the_middle() {
    for dialect in ALL {
        for mode in MODES {
            let server = with_fault("{ kind = 'cut' }");
            let conversation = TestConversation::begin(dialect, mode, "go");
            let response = conversation.send(&server);
            assert_eq!(response.status, 200);
            assert!(
                !response.complete && !response.body.is_empty(),
                "{dialect:?} {mode:?}: {:?}",
                response.body
            );
            let whole = conversation.send(&server);
            assert!(whole.complete && whole.body.len() > response.body.len());
            assert!(whole.body.starts_with(&response.body), "{}", response.body);
        }
    }
}

#[test]
fn a_malformed_reply_is_complete_except_for_one_broken_piece() {
    for dialect in ALL {
        let server = with_fault("{ kind = 'malformed', times = 2 }");
        let conversation = TestConversation::begin(dialect, StreamMode::Stream, "go");
        let broken = conversation.send(&server);
        assert!(broken.complete);
        let pieces = match dialect {
            Ollama => broken.body.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
            _ => broken.body.split_terminator("\n\n").filter(|event| !event.ends_with("[DONE]")).collect(),
        };
        let data = pieces.iter().map(|piece| piece.split_once("data: ").map_or(*piece, |(_, data)| data));
        let bad = data.filter(|data| serde_json::from_str::<Value>(data).is_err()).count();
        assert_eq!(bad, 1, "{dialect:?}: {}", broken.body);

        let conversation = TestConversation {
            mode: StreamMode::Whole,
            ..TestConversation::begin(dialect, StreamMode::Whole, "go")
        };
        let broken = conversation.send(&server);
        assert!(broken.complete && serde_json::from_str::<Value>(&broken.body).is_err());
        assert_continues_after_faults(&server, &conversation);
    }
}

#[test]
fn a_stream_stalls_at_once_or_midway() {
    for dialect in ALL {
        for (written, something) in
            [("{ kind = 'silence' }", false), ("{ kind = 'silence', midway = true }", true)]
        {
            let server = with_fault(written);
            let conversation = TestConversation::begin(dialect, StreamMode::Stream, "go");
            let (head, mut connection) =
                client::open(&server, "POST", &conversation.path(), Some(&conversation.request));
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            let mut start = [0; 16];
            if something {
                connection.read_exact(&mut start).unwrap();
            }
            connection.set_read_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
            let mut rest = Vec::new();
            let ended = connection.read_to_end(&mut rest);
            assert!(ended.is_err(), "{dialect:?}: the stream ended");
            assert!(something || rest.is_empty());
            assert_eq!(conversation.ask(&server).text, "At last.", "others are served meanwhile");
        }
    }
}

#[test]
fn a_slow_reply_counts_as_the_reply() {
    for dialect in ALL {
        let server = with_fault("{ kind = 'slow', millis = 5 }");
        assert_continues_after_faults(&server, &TestConversation::begin(dialect, StreamMode::Stream, "go"));
    }
}

#[test]
fn an_empty_reply_has_no_content_and_a_regular_end() {
    for dialect in ALL {
        for mode in MODES {
            let server = start(
                "[[conversation]]\nname = 'only'\n[[conversation.turn]]\nfault = { kind = 'empty' }\nthinking = 'Hm.'\ntext = 'At last.'\ncall = [{ tool = 'Read' }]",
            );
            let conversation = TestConversation::begin(dialect, mode, "go");
            let reply = conversation.ask(&server);
            assert_eq!((reply.text.as_str(), reply.thinking.as_str(), reply.calls.len()), ("", "", 0));
            let regular = ["end_turn", "stop", "completed", "STOP", "stop"];
            assert_eq!(reply.stop, regular[ALL.iter().position(|other| *other == dialect).unwrap()]);
            assert_continues_after_faults(&server, &conversation);
        }
    }
}

#[test]
fn arguments_that_are_not_json_arrive_unchanged_and_take_a_turn() {
    for dialect in ALL {
        for mode in MODES {
            let server = start(
                "[[conversation]]\n[[conversation.turn]]\ncall = [{ tool = 'Read', input = '{\"path\": ' }]\n[[conversation.turn]]\nexpect = 'not JSON'\ntext = 'At last.'",
            );
            let mut conversation = TestConversation::begin(dialect, mode, "go");
            let reply = conversation.ask(&server);
            assert_eq!(reply.calls[0].arguments, "{\"path\": ", "{dialect:?} {mode:?}");
            conversation.follow(&reply, TestToolResult::Text("not JSON"));
            assert_eq!(conversation.ask(&server).text, "At last.");
            assert_no_problems(&server);
        }
    }
}

#[test]
fn an_error_includes_the_scripts_details() {
    let server = start(
        "[[conversation]]\n[[conversation.turn]]\nfault = { kind = 'status', status = 429, error = { type = \
         'usage_limit_reached', resets_at = 7 } }\n[[conversation.turn]]\ntext = 'x'",
    );
    let request = json!({ "model": "m", "input": "go", "tools": [{ "type": "function", "name": "t" }] });
    let response = client::post(&server, "/v1/responses", &request);
    let error = &response.json()["error"];
    assert_eq!(
        (response.status, &error["type"], &error["resets_at"]),
        (429, &json!("usage_limit_reached"), &json!(7))
    );
    assert!(error["message"].is_string(), "the rest is as usual");
}
