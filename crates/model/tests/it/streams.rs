//! Streams that the library would take for something they are not: failures without a code, refusals, replies that
//! only fell silent. Silence is not success.

use autonoe_core::outcome::SessionEnd;
use autonoe_model::{Model, ProviderKind, Reply, Stop};
use serde_json::{Value, json};

use crate::stub::{response, serve};
use crate::support::{ask, provider, quick};

/// Events without names, as most services send them.
fn events(pieces: &[Value]) -> String {
    let body: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
    response("200 OK", "text/event-stream", &body)
}

/// Asks a model of that kind, which is answered the same each time.
async fn answered(kind: ProviderKind, answer: String) -> Result<Reply, SessionEnd> {
    let (address, _heads) = serve(vec![answer; 4]);
    ask(&Model::open(&provider(kind, &address), "gpt-5.2", &quick()).unwrap()).await
}

#[track_caller]
fn code(result: Result<Reply, SessionEnd>) -> String {
    match result.expect_err("the call fails") {
        SessionEnd::ExecutionError { fault } => fault.code,
        other => panic!("not a fault: {other:?}"),
    }
}

fn response_event(kind: &str, status: &str, more: Value) -> Value {
    let mut response = json!({ "id": "r", "status": status, "model": "m", "output": [], "error": null });
    for (key, value) in more.as_object().unwrap() {
        response[key] = value.clone();
    }
    json!({ "type": kind, "response": response })
}

fn said(text: &str) -> Value {
    json!({ "type": "response.output_text.delta", "delta": text })
}

#[tokio::test]
async fn a_response_that_failed_is_told_by_its_code() {
    for (said, wanted) in [
        ("rate_limit_exceeded", "rate_limited"),
        ("server_error", "server_error"),
        ("context_length_exceeded", "context_length_exceeded"),
        ("insufficient_quota", "billing_error"),
    ] {
        let error = json!({ "error": { "code": said, "message": "Sorry." } });
        let failed = response_event("response.failed", "failed", error);
        assert_eq!(code(answered(ProviderKind::OpenAi, events(&[failed])).await), wanted, "{said}");
        let error = json!({ "type": "error", "code": said, "message": "Sorry.", "param": null });
        assert_eq!(code(answered(ProviderKind::OpenAi, events(&[error])).await), wanted, "{said}");
    }
}

#[tokio::test]
async fn a_response_is_refused_in_several_ways() {
    let filtered = json!({ "incomplete_details": { "reason": "content_filter" } });
    let refusal = json!({ "type": "response.refusal.delta", "delta": "I cannot help with that." });
    for pieces in [
        vec![said("So"), response_event("response.incomplete", "incomplete", filtered)],
        vec![refusal, response_event("response.completed", "completed", json!({}))],
    ] {
        let reply = answered(ProviderKind::OpenAi, events(&pieces)).await.expect("a reply");
        assert_eq!(reply.stop, Stop::Refused, "{pieces:?}");
    }
    let delta = json!({ "choices": [{ "delta": { "refusal": "No." }, "finish_reason": "stop" }] });
    let body = format!("data: {delta}\n\ndata: [DONE]\n\n");
    let whole = response("200 OK", "text/event-stream", &body);
    let reply = answered(ProviderKind::OpenAiCompatible, whole).await.expect("a reply");
    assert_eq!(reply.stop, Stop::Refused);
}

#[tokio::test]
async fn a_prompt_that_gemini_blocks_is_refused_and_asked_once() {
    let blocked = json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" } });
    let (address, heads) = serve(vec![events(&[blocked])]);
    let model = Model::open(&provider(ProviderKind::Gemini, &address), "gemini-3-pro", &quick()).unwrap();
    assert_eq!(code(ask(&model).await), "refused");
    assert_eq!(heads.iter().count(), 1);
}

#[tokio::test]
async fn a_call_that_gemini_could_not_write_down_is_no_reply() {
    for reason in ["MALFORMED_FUNCTION_CALL", "OTHER"] {
        let part = json!({ "candidates": [{ "content": { "parts": [{ "text": "Half" }] }, "finishReason": reason }] });
        let result = answered(ProviderKind::Gemini, events(&[part])).await;
        let Err(SessionEnd::ExecutionError { fault }) = result else { panic!("{result:?}") };
        assert_eq!(fault.code, "invalid_response");
        assert!(fault.message.contains(reason), "{}", fault.message);
    }
}

#[tokio::test]
async fn a_stream_that_just_ends_is_no_reply_of_any_provider() {
    let chat = json!({ "choices": [{ "delta": { "content": "Half" } }] });
    let gemini = json!({ "candidates": [{ "content": { "parts": [{ "text": "Half" }] } }] });
    let ollama = format!("{}\n", json!({ "message": { "content": "Half" }, "done": false }));
    for (kind, answer) in [
        (ProviderKind::OpenAi, events(&[said("Half")])),
        (ProviderKind::OpenAiCompatible, events(&[chat])),
        (ProviderKind::Gemini, events(&[gemini])),
        (ProviderKind::Ollama, response("200 OK", "application/x-ndjson", &ollama)),
    ] {
        assert_eq!(code(answered(kind, answer).await), "network_error", "{kind}");
        let nothing = response("200 OK", "text/event-stream", "");
        assert_eq!(code(answered(kind, nothing).await), "network_error", "{kind}, nothing at all");
    }
}

#[tokio::test]
async fn a_page_where_a_stream_should_be_is_no_reply_of_any_provider() {
    for kind in ProviderKind::ALL {
        let page = response("200 OK", "text/html", "<html>Please log in</html>");
        let code = code(answered(kind, page).await);
        assert!(matches!(code.as_str(), "network_error" | "invalid_response"), "{kind}: {code}");
    }
}

#[tokio::test]
async fn what_nobody_counted_has_no_price() {
    let completed = response_event("response.completed", "completed", json!({}));
    let reply = answered(ProviderKind::OpenAi, events(&[said("So."), completed])).await.expect("a reply");
    assert_eq!((reply.text.as_deref(), reply.usage.cost_usd), (Some("So."), None));
}

#[tokio::test]
async fn a_daily_quota_of_googles_ends_with_googles_day() {
    let body = json!({ "error": { "code": 429, "message": "Quota exceeded.", "status": "RESOURCE_EXHAUSTED", "details": [
        { "@type": "type.googleapis.com/google.rpc.QuotaFailure",
          "violations": [{ "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }] },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12s" },
    ] } });
    let refused = response("429 Too Many Requests", "application/json", &body.to_string());
    let result = answered(ProviderKind::Gemini, refused).await;
    let Err(SessionEnd::QuotaExceeded { resets_at: Some(resets_at), .. }) = result else {
        panic!("{result:?}")
    };
    let local = resets_at.to_zoned(jiff::tz::TimeZone::get("America/Los_Angeles").unwrap());
    assert_eq!((local.hour(), local.minute()), (0, 0));
}

#[tokio::test]
async fn a_key_that_google_does_not_know_is_told_though_its_status_is_400() {
    let info = json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID" });
    let body = json!({ "error": { "code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": [info] } });
    let refused = response("400 Bad Request", "application/json", &body.to_string());
    assert_eq!(code(answered(ProviderKind::Gemini, refused).await), "authentication_error");
}

#[tokio::test]
async fn a_reply_for_which_there_was_no_room_is_a_conversation_that_is_too_long() {
    let start =
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 5, "output_tokens": 1 } } });
    let delta = json!({ "stop_reason": "model_context_window_exceeded" });
    let pieces = [
        start,
        json!({ "type": "message_delta", "delta": delta, "usage": {} }),
        json!({ "type": "message_stop" }),
    ];
    let body: String = pieces
        .iter()
        .map(|piece| format!("event: {}\ndata: {piece}\n\n", piece["type"].as_str().unwrap()))
        .collect();
    let answer = response("200 OK", "text/event-stream", &body);
    assert_eq!(code(answered(ProviderKind::Anthropic, answer).await), "context_length_exceeded");
}

#[tokio::test]
async fn a_gateway_that_failed_midway_has_not_replied() {
    let delta = json!({ "choices": [{ "delta": { "content": "Half" }, "finish_reason": "error" }] });
    let whole = response("200 OK", "text/event-stream", &format!("data: {delta}\n\ndata: [DONE]\n\n"));
    assert_eq!(code(answered(ProviderKind::OpenAiCompatible, whole).await), "invalid_response");
}
