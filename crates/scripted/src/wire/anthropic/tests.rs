#![allow(clippy::unwrap_used)]

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{WireRefusal, error, read as read_at};
use crate::reply::{Prompt, ServiceError, signature};

fn read(request: &Value) -> Result<Prompt, WireRefusal> {
    read_at("/v1/messages", request)
}

fn request(messages: Value) -> Value {
    json!({ "model": "m", "max_tokens": 9, "messages": messages })
}

fn refusal(messages: Value) -> String {
    read(&request(messages)).unwrap_err().0
}

fn user(content: Value) -> Value {
    json!({ "role": "user", "content": content })
}

fn calls(ids: &[&str]) -> Value {
    let blocks: Vec<Value> =
        ids.iter().map(|id| json!({ "type": "tool_use", "id": id, "name": "Read", "input": {} })).collect();
    json!({ "role": "assistant", "content": blocks })
}

fn result(id: &str, content: Value) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": content })
}

#[test]
fn reads_what_the_script_needs() {
    let mut request = request(json!([
        user(json!([{ "type": "text", "text": "context" }, { "type": "image", "source": {} }])),
        user(json!("task")),
        calls(&["a", "b"]),
        user(json!([result("a", json!("plain")), result("b", json!([{ "type": "text", "text": "in blocks" }]))])),
        { "role": "assistant", "content": "hm" },
        user(json!("newest")),
    ]));
    request["system"] = json!([{ "type": "text", "text": "be" }, { "type": "text", "text": "brief" }]);
    request["tools"] = json!([{ "name": "Read" }, { "name": "Write" }]);
    request["stream"] = json!(true);
    let prompt = read(&request).unwrap();
    assert_eq!(prompt.model, "m");
    assert!(prompt.stream);
    assert_eq!(prompt.system, "be\nbrief");
    assert_eq!(prompt.first, "context\n[image]\ntask");
    assert_eq!(prompt.newest, "newest");
    assert_eq!((prompt.messages, prompt.assistants), (6, 2));
    assert_eq!(prompt.call_ids, ["a", "b"]);
    assert_eq!(prompt.tools, ["Read", "Write"]);

    request["messages"].as_array_mut().unwrap().truncate(4);
    assert_eq!(read(&request).unwrap().newest, "plain\nin blocks");
}

#[test]
fn refuses_what_is_missing() {
    assert_eq!(read(&json!({ "messages": [] })).unwrap_err().0, "model: Field required");
    assert_eq!(read(&json!({ "model": "m" })).unwrap_err().0, "messages: Field required");
    assert_eq!(refusal(json!([])), "messages: at least one message is required");
}

#[test]
fn refuses_roles_that_do_not_belong() {
    let system = json!({ "role": "system", "content": "be brief" });
    assert!(read(&request(json!([system, user(json!("go"))]))).is_ok());
    assert!(refusal(json!([{ "role": "tool", "content": "x" }])).starts_with("messages.0.role"));
}

#[test]
fn refuses_calls_without_results() {
    let go = user(json!("go"));
    let unanswered = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: ";
    assert_eq!(
        refusal(json!([go, calls(&["a", "b"]), user(json!([result("a", json!("x"))]))])),
        format!("{unanswered}b")
    );
    assert_eq!(refusal(json!([go, calls(&["a", "b"])])), format!("{unanswered}a, b"));
    assert_eq!(refusal(json!([go, calls(&["a"]), go])), format!("{unanswered}a"));
    let late = json!([go, calls(&["a"]), go, { "role": "assistant", "content": "hm" }, user(json!([result("a", json!("x"))]))]);
    assert_eq!(refusal(late), format!("{unanswered}a"));
}

#[test]
fn refuses_results_without_calls() {
    let stray = user(json!([result("z", json!("x"))]));
    assert!(refusal(json!([stray])).starts_with("messages.0: unexpected `tool_use_id`"));
    let twice = json!([
        user(json!("go")),
        calls(&["a"]),
        user(json!([result("a", json!("x"))])),
        { "role": "assistant", "content": "hm" },
        user(json!([result("a", json!("x"))])),
    ]);
    assert!(refusal(twice).starts_with("messages.4: unexpected `tool_use_id`"));
}

#[test]
fn neighbours_of_one_role_count_as_one_message() {
    let split = json!([
        user(json!("go")),
        calls(&["a"]),
        calls(&["b"]),
        user(json!([result("b", json!("x"))])),
        { "role": "system", "content": "note" },
        user(json!([result("a", json!("x"))])),
    ]);
    assert!(read(&request(split)).is_ok());
}

#[test]
fn each_status_has_its_error_type() {
    let cases = [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (418, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (529, "overloaded_error"),
    ];
    for (status, kind) in cases {
        let code = StatusCode::from_u16(status).unwrap();
        let (answered, body) = error(&ServiceError::refused(code, "why".to_owned()), "m");
        assert_eq!(answered, code);
        assert_eq!(
            body,
            json!({ "type": "error", "error": { "type": kind, "message": "why" } }),
            "status {status}"
        );
    }
}

#[test]
fn signatures_count_if_they_fit() {
    let thinking = |text: &str, signature: String| json!({ "type": "thinking", "thinking": text, "signature": signature });
    let blocks = [
        thinking("mine", signature("mine")),
        thinking("altered", signature("mine")),
        thinking("foreign", "EqQBCgIYAhIM".to_owned()),
    ];
    let prompt =
        read(&request(json!([user(json!("go")), { "role": "assistant", "content": blocks }]))).unwrap();
    assert!(prompt.signed);
    assert_eq!(prompt.signatures, [signature("mine")]);
}
