//! Streams that the library misreads: failures without a code, refusals, and replies that end without a stop
//! reason.

use autonoe_core::outcome::SessionEnd;
use autonoe_model::{FinishReason, Model, ProviderKind, Reply};
use serde_json::{Value, json};

use crate::stub::{response, serve};
use crate::support::{ask, provider, quick};

/// A stream of unnamed events, as most services send them.
fn events(pieces: &[Value]) -> String {
    let body: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
    response("200 OK", "text/event-stream", &body)
}

/// Calls a model whose service sends the same answer to every attempt.
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

fn text_delta(text: &str) -> Value {
    json!({ "type": "response.output_text.delta", "delta": text })
}

#[tokio::test]
async fn a_failed_response_is_classified_by_its_code() {
    for (sent, wanted) in [
        ("rate_limit_exceeded", "rate_limited"),
        ("server_error", "server_error"),
        ("context_length_exceeded", "context_length_exceeded"),
        ("insufficient_quota", "billing_error"),
    ] {
        let error = json!({ "error": { "code": sent, "message": "Sorry." } });
        let failed = response_event("response.failed", "failed", error);
        assert_eq!(code(answered(ProviderKind::OpenAi, events(&[failed])).await), wanted, "{sent}");
        let error = json!({ "type": "error", "code": sent, "message": "Sorry.", "param": null });
        assert_eq!(code(answered(ProviderKind::OpenAi, events(&[error])).await), wanted, "{sent}");
    }
}

#[tokio::test]
async fn every_form_of_refusal_is_recognised() {
    let filtered = json!({ "incomplete_details": { "reason": "content_filter" } });
    let refusal = json!({ "type": "response.refusal.delta", "delta": "I cannot help with that." });
    for pieces in [
        vec![text_delta("So"), response_event("response.incomplete", "incomplete", filtered)],
        vec![refusal, response_event("response.completed", "completed", json!({}))],
    ] {
        let reply = answered(ProviderKind::OpenAi, events(&pieces)).await.expect("a reply");
        assert_eq!(reply.stop, FinishReason::Refused, "{pieces:?}");
    }
    let delta = json!({ "choices": [{ "delta": { "refusal": "No." }, "finish_reason": "stop" }] });
    let body = format!("data: {delta}\n\ndata: [DONE]\n\n");
    let whole = response("200 OK", "text/event-stream", &body);
    let reply = answered(ProviderKind::OpenAiCompatible, whole).await.expect("a reply");
    assert_eq!(reply.stop, FinishReason::Refused);
}

#[tokio::test]
async fn a_prompt_blocked_by_gemini_is_refused_and_not_retried() {
    let blocked = json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" } });
    let (address, heads) = serve(vec![events(&[blocked])]);
    let model = Model::open(&provider(ProviderKind::Gemini, &address), "gemini-3-pro", &quick()).unwrap();
    assert_eq!(code(ask(&model).await), "refused");
    assert_eq!(heads.iter().count(), 1);
}

#[tokio::test]
async fn a_malformed_gemini_call_is_a_failure() {
    for reason in ["MALFORMED_FUNCTION_CALL", "OTHER"] {
        let part = json!({ "candidates": [{ "content": { "parts": [{ "text": "Half" }] }, "finishReason": reason }] });
        let result = answered(ProviderKind::Gemini, events(&[part])).await;
        let Err(SessionEnd::ExecutionError { fault }) = result else { panic!("{result:?}") };
        assert_eq!(fault.code, "invalid_response");
        assert!(fault.message.contains(reason), "{}", fault.message);
    }
}

#[tokio::test]
async fn a_truncated_stream_is_a_failure_on_every_provider() {
    let chat = json!({ "choices": [{ "delta": { "content": "Half" } }] });
    let gemini = json!({ "candidates": [{ "content": { "parts": [{ "text": "Half" }] } }] });
    let ollama = format!("{}\n", json!({ "message": { "content": "Half" }, "done": false }));
    for (kind, answer) in [
        (ProviderKind::OpenAi, events(&[text_delta("Half")])),
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
async fn a_web_page_instead_of_a_stream_is_a_failure_on_every_provider() {
    for kind in ProviderKind::ALL {
        let page = response("200 OK", "text/html", "<html>Please log in</html>");
        let code = code(answered(kind, page).await);
        assert!(matches!(code.as_str(), "network_error" | "invalid_response"), "{kind}: {code}");
    }
}

#[tokio::test]
async fn without_usage_there_is_no_cost() {
    let completed = response_event("response.completed", "completed", json!({}));
    let reply =
        answered(ProviderKind::OpenAi, events(&[text_delta("So."), completed])).await.expect("a reply");
    assert_eq!((reply.text.as_deref(), reply.usage.cost_usd), (Some("So."), None));
}

#[tokio::test]
async fn a_daily_google_quota_resets_at_the_end_of_googles_day() {
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
async fn an_invalid_google_key_is_recognised_despite_status_400() {
    let info = json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID" });
    let body = json!({ "error": { "code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": [info] } });
    let refused = response("400 Bad Request", "application/json", &body.to_string());
    assert_eq!(code(answered(ProviderKind::Gemini, refused).await), "authentication_error");
}

#[tokio::test]
async fn a_full_context_window_is_context_length_exceeded() {
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
async fn a_gateway_error_in_mid_stream_is_a_failure() {
    let delta = json!({ "choices": [{ "delta": { "content": "Half" }, "finish_reason": "error" }] });
    let whole = response("200 OK", "text/event-stream", &format!("data: {delta}\n\ndata: [DONE]\n\n"));
    assert_eq!(code(answered(ProviderKind::OpenAiCompatible, whole).await), "invalid_response");
}
