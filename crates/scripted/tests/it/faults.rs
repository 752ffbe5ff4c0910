//! Every fault on every wire, in the shape in which each service has it.

use std::io::Read;

use autonoe_scripted::Server;
use serde_json::{Value, json};

use crate::client::{self, Response};
use crate::dialect::{ALL, Dialect, MODES, Mode, Outcome, Talk, events};
use crate::{answers, assert_no_problems, fault, start, turn, with_fault};

use Dialect::{Anthropic, Chat, Gemini, Ollama, Responses};

/// The error that a fault brings: its status, its body, and where to find message and code in it.
struct Expected {
    status: u16,
    /// The type, code or status by which the service names it; Ollama has none.
    code: &'static str,
    /// What the message contains.
    words: &'static str,
}

fn expect(status: u16, code: &'static str, words: &'static str) -> Expected {
    Expected { status, code, words }
}

/// The fault, and what becomes of it on each wire, in the order of [`ALL`].
fn table() -> Vec<(&'static str, [Expected; 5])> {
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

/// Checks the body of an error, or the error within a stream.
#[track_caller]
fn check(dialect: Dialect, body: &Value, expected: &Expected) {
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

/// After its faults the conversation goes on as if nothing had been.
#[track_caller]
fn goes_on(server: &Server, talk: &Talk) {
    assert_eq!(talk.ask(server).text, "At last.");
    assert_no_problems(server);
    let asked = answers(server);
    let faults = asked.len() - 1;
    assert!(asked[..faults].iter().all(|answer| *answer == fault("only", 1, 1)), "{asked:?}");
    assert_eq!(asked[faults], turn("only", 1, 1));
}

#[test]
fn every_error_has_the_shape_of_its_service() {
    for (written, row) in table() {
        for (dialect, expected) in ALL.into_iter().zip(row) {
            let server = with_fault(written);
            let talk = Talk::begin(dialect, Mode::Whole, "go");
            let response = talk.send(&server);
            assert_eq!(response.status, expected.status, "{dialect:?}: {written}");
            check(dialect, &response.json(), &expected);
            goes_on(&server, &talk);
        }
    }
}

/// The events of a stream that broke off with an error, and the error.
fn broken_off(dialect: Dialect, response: &Response) -> (Vec<Value>, Value) {
    assert_eq!(response.status, 200, "{dialect:?}: {}", response.body);
    assert!(response.complete);
    let mut said: Vec<Value> = match dialect {
        Ollama => response.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        _ => events(&response.body),
    };
    let last = said.pop().unwrap();
    if dialect != Responses {
        return (said, last);
    }
    assert_eq!(last["type"], "response.failed");
    assert_eq!(last["response"]["status"], "failed");
    let error = said.pop().unwrap();
    assert_eq!(error["type"], "error");
    assert_eq!(last["response"]["error"]["code"], error["error"]["code"]);
    assert_eq!(last["response"]["error"]["message"], error["error"]["message"]);
    (said, error)
}

#[test]
fn every_error_can_come_within_a_stream() {
    for (written, row) in table() {
        let written = written.replace(" }", ", midway = true }");
        for (dialect, expected) in ALL.into_iter().zip(row) {
            let server = with_fault(&written);
            let talk = Talk::begin(dialect, Mode::Stream, "go");
            let (said, error) = broken_off(dialect, &talk.send(&server));
            assert!(!said.is_empty(), "nothing was said before the error");
            assert!(!said.iter().any(|event| event.get("error").is_some_and(|error| !error.is_null())));
            check(dialect, &error, &expected);
            goes_on(&server, &talk);

            // Without a stream there is no middle.
            let server = with_fault(&written);
            assert_eq!(Talk::begin(dialect, Mode::Whole, "go").send(&server).status, expected.status);
        }
    }
}

#[test]
fn responses_complain_of_the_context_within_the_stream_and_before_anything_is_said() {
    let server = with_fault("{ kind = 'context_length' }");
    let talk = Talk::begin(Responses, Mode::Stream, "go");
    let (said, error) = broken_off(Responses, &talk.send(&server));
    assert_eq!(said.len(), 1);
    assert_eq!(said[0]["type"], "response.created");
    check(Responses, &error, &expect(400, "context_length_exceeded", "exceeds the context window"));
    goes_on(&server, &talk);
    for dialect in [Anthropic, Chat, Gemini, Ollama] {
        let server = with_fault("{ kind = 'context_length' }");
        assert_eq!(Talk::begin(dialect, Mode::Stream, "go").send(&server).status, 400);
    }
}

#[test]
fn the_time_to_wait_is_said_as_the_service_says_it() {
    let waits = [
        ("retry_after = 3", [Some("3"), None], "3s"),
        ("retry_after_ms = 250", [Some("1"), Some("250")], "0.25s"),
        ("retry_after_ms = 2000", [Some("2"), None], "2s"),
    ];
    for (written, headers, in_body) in waits {
        for dialect in ALL {
            let server = with_fault(&format!("{{ kind = 'status', status = 429, {written} }}"));
            let response = Talk::begin(dialect, Mode::Stream, "go").send(&server);
            assert_eq!(response.status, 429);
            let seen = ["retry-after", "retry-after-ms"].map(|name| response.header(name));
            assert_eq!(seen, if dialect == Gemini { [None, None] } else { headers }, "{dialect:?}");
            if dialect == Gemini {
                let info =
                    json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": in_body });
                assert_eq!(response.json()["error"]["details"], json!([info]));
            }
        }
    }
}

#[test]
fn gemini_tells_a_used_up_quota_from_a_hurry() {
    let server = with_fault("{ kind = 'quota' }");
    let details = Talk::begin(Gemini, Mode::Stream, "go").send(&server).json()["error"]["details"].clone();
    assert_eq!(details[0]["@type"], "type.googleapis.com/google.rpc.QuotaFailure");
    assert_eq!(details[0]["violations"][0]["quotaId"], "GenerateRequestsPerDayPerProjectPerModel-FreeTier");
    assert_eq!(details[1]["retryDelay"], "34s");
    let server = with_fault("{ kind = 'invalid_key' }");
    let details = Talk::begin(Gemini, Mode::Stream, "go").send(&server).json()["error"]["details"].clone();
    assert_eq!(details[0]["reason"], "API_KEY_INVALID");
}

#[test]
fn openai_names_what_is_too_long() {
    for (dialect, param) in [(Chat, "messages"), (Responses, "input")] {
        let server = with_fault("{ kind = 'context_length' }");
        let error = Talk::begin(dialect, Mode::Whole, "go").send(&server).json();
        assert_eq!(error["error"]["param"], param);
        assert_eq!(error["error"]["type"], "invalid_request_error");
    }
}

#[test]
fn a_bad_gateway_is_a_web_page() {
    for dialect in ALL {
        let server = with_fault("{ kind = 'status', status = 502 }");
        let talk = Talk::begin(dialect, Mode::Stream, "go");
        let response = talk.send(&server);
        assert_eq!(
            (response.status, response.header("content-type")),
            (502, Some("text/html; charset=utf-8"))
        );
        assert!(response.body.starts_with("<html>"));
        goes_on(&server, &talk);
    }
}

#[test]
fn words_and_headers_of_the_script_are_used() {
    for dialect in ALL {
        let server =
            with_fault("{ kind = 'quota', message = 'Not today.', headers = { x-limit = 'rejected' } }");
        let response = Talk::begin(dialect, Mode::Stream, "go").send(&server);
        assert_eq!(response.header("x-limit"), Some("rejected"));
        let error = &response.json()["error"];
        assert_eq!(if dialect == Ollama { error } else { &error["message"] }, "Not today.");
    }
}

#[test]
fn a_cut_breaks_off_in_the_middle() {
    for dialect in ALL {
        for mode in MODES {
            let server = with_fault("{ kind = 'cut' }");
            let talk = Talk::begin(dialect, mode, "go");
            let response = talk.send(&server);
            assert_eq!(response.status, 200);
            assert!(
                !response.complete && !response.body.is_empty(),
                "{dialect:?} {mode:?}: {:?}",
                response.body
            );
            let whole = talk.send(&server);
            assert!(whole.complete && whole.body.len() > response.body.len());
            assert!(whole.body.starts_with(&response.body), "{}", response.body);
        }
    }
}

#[test]
fn a_malformed_reply_ends_regularly_with_one_piece_broken() {
    for dialect in ALL {
        let server = with_fault("{ kind = 'malformed', times = 2 }");
        let talk = Talk::begin(dialect, Mode::Stream, "go");
        let broken = talk.send(&server);
        assert!(broken.complete);
        let pieces = match dialect {
            Ollama => broken.body.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
            _ => broken.body.split_terminator("\n\n").filter(|event| !event.ends_with("[DONE]")).collect(),
        };
        let data = pieces.iter().map(|piece| piece.split_once("data: ").map_or(*piece, |(_, data)| data));
        let bad = data.filter(|data| serde_json::from_str::<Value>(data).is_err()).count();
        assert_eq!(bad, 1, "{dialect:?}: {}", broken.body);

        let talk = Talk { mode: Mode::Whole, ..Talk::begin(dialect, Mode::Whole, "go") };
        let broken = talk.send(&server);
        assert!(broken.complete && serde_json::from_str::<Value>(&broken.body).is_err());
        goes_on(&server, &talk);
    }
}

#[test]
fn a_stream_falls_silent_at_once_or_midway() {
    for dialect in ALL {
        for (written, something) in
            [("{ kind = 'silence' }", false), ("{ kind = 'silence', midway = true }", true)]
        {
            let server = with_fault(written);
            let talk = Talk::begin(dialect, Mode::Stream, "go");
            let (head, mut connection) = client::open(&server, "POST", &talk.path(), Some(&talk.request));
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            let mut seen = [0; 16];
            if something {
                connection.read_exact(&mut seen).unwrap();
            }
            connection.set_read_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
            let mut rest = Vec::new();
            let ended = connection.read_to_end(&mut rest);
            assert!(ended.is_err(), "{dialect:?}: the stream ended");
            assert!(something || rest.is_empty());
            assert_eq!(talk.ask(&server).text, "At last.", "others are served meanwhile");
        }
    }
}

#[test]
fn a_slow_reply_is_the_reply() {
    for dialect in ALL {
        let server = with_fault("{ kind = 'slow', millis = 5 }");
        goes_on(&server, &Talk::begin(dialect, Mode::Stream, "go"));
    }
}

#[test]
fn an_empty_reply_says_nothing_and_ends_well() {
    for dialect in ALL {
        for mode in MODES {
            let server = start(
                "[[conversation]]\nname = 'only'\n[[conversation.turn]]\nfault = { kind = 'empty' }\nthinking = 'Hm.'\ntext = 'At last.'\ncall = [{ tool = 'Read' }]",
            );
            let talk = Talk::begin(dialect, mode, "go");
            let said = talk.ask(&server);
            assert_eq!((said.text.as_str(), said.thinking.as_str(), said.calls.len()), ("", "", 0));
            let regular = ["end_turn", "stop", "completed", "STOP", "stop"];
            assert_eq!(said.stop, regular[ALL.iter().position(|other| *other == dialect).unwrap()]);
            goes_on(&server, &talk);
        }
    }
}

#[test]
fn arguments_that_are_not_json_arrive_as_they_are_and_take_a_turn() {
    for dialect in ALL {
        for mode in MODES {
            let server = start(
                "[[conversation]]\n[[conversation.turn]]\ncall = [{ tool = 'Read', input = '{\"path\": ' }]\n[[conversation.turn]]\nexpect = 'not JSON'\ntext = 'At last.'",
            );
            let mut talk = Talk::begin(dialect, mode, "go");
            let said = talk.ask(&server);
            assert_eq!(said.calls[0].arguments, "{\"path\": ", "{dialect:?} {mode:?}");
            talk.follow(&said, Outcome::Text("not JSON"));
            assert_eq!(talk.ask(&server).text, "At last.");
            assert_no_problems(&server);
        }
    }
}

#[test]
fn an_error_has_the_details_that_the_script_gives() {
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
