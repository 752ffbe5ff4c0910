//! The Gemini API. Thinking is a part marked as a thought; its signature is on the first call after it, or at the end of a
//! reply without calls. Models before Gemini 3 give their calls no ids.

use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::{Value, json};

use super::content::{joined, strings, text};
use super::history::{self, HistoryError, HistoryMessage, MessageRole};
use super::{
    ErrorChannel, RetryHint, SERVER_SENT_EVENTS, Wire, WireRefusal, names, pieces, plain_event, reason,
};
use crate::reply::{Prompt, ServiceError, ServiceErrorKind, StopReason, WireReply, WireUsage};

/// `/v1beta/models/{model}:generateContent`, `:streamGenerateContent` and `:countTokens`.
pub(crate) static WIRE: Wire = Wire {
    read,
    whole,
    stream: |reply, _| chunks(reply),
    stream_type: SERVER_SENT_EVENTS,
    error,
    stream_error: |_, body| plain_event(body),
    retry: RetryHint::Body,
    context_length: ErrorChannel::Status,
};

fn read(path: &str, request: &Value) -> Result<Prompt, WireRefusal> {
    let (model, method) = path
        .rsplit('/')
        .next()
        .and_then(|last| last.split_once(':'))
        .ok_or("unexpected model name format")?;
    let contents = request["contents"]
        .as_array()
        .filter(|contents| !contents.is_empty())
        .ok_or("* GenerateContentRequest.contents: contents is not specified")?;
    let messages: Vec<HistoryMessage> = contents.iter().map(read_content).collect::<Result<_, _>>()?;
    history::check_results(&messages).map_err(|error| match error {
        HistoryError::Unanswered { .. } | HistoryError::Stray { .. } => "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.".to_owned(),
    })?;
    let tools = request["tools"].as_array().into_iter().flatten();
    Ok(Prompt {
        model: model.to_owned(),
        stream: method == "streamGenerateContent",
        stream_usage: true,
        system: text(&request["systemInstruction"]["parts"]),
        signed: true,
        tools: tools.flat_map(|tool| names(&tool["functionDeclarations"], "/name")).collect(),
        ..history::prompt(&messages)
    })
}

fn read_content(content: &Value) -> Result<HistoryMessage, WireRefusal> {
    let role = match content["role"].as_str() {
        Some("user") | None => MessageRole::User,
        Some("model") => MessageRole::Assistant,
        Some(_) => return Err("Please use a valid role: user, model.".into()),
    };
    let parts = content["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |key: &'static str| parts.iter().filter_map(move |part| part.get(key));
    let ids =
        |key| of(key).map(|function| function.get("id").unwrap_or(&function["name"])).map(text).collect();
    let signed = parts.iter().filter(|part| part.get("functionCall").is_some());
    Ok(HistoryMessage {
        calls: ids("functionCall"),
        results: ids("functionResponse"),
        signatures: signed.filter_map(|call| call.get("thoughtSignature")).map(text).collect(),
        ..HistoryMessage::new(role, joined(parts.iter().map(part_text)))
    })
}

/// A result may have any structure, with images beside it.
fn part_text(part: &Value) -> String {
    match part.get("functionResponse") {
        Some(result) => joined([&result["response"], &result["parts"]].into_iter().map(strings)),
        None => text(part),
    }
}

fn whole(reply: &WireReply) -> Value {
    let thought = reply.thinking.iter().map(|thinking| thought_part(&thinking.text));
    let text = reply.text.iter().map(|text| json!({ "text": text }));
    let mut parts: Vec<Value> = thought.chain(text).chain(call_parts(reply)).collect();
    parts.extend(closing_part(reply).filter(|closing| closing.get("thoughtSignature").is_some()));
    response(reply, parts, Some(finish_reason(reply.stop)))
}

fn chunks(reply: &WireReply) -> Vec<Bytes> {
    let thought = reply.thinking.iter().flat_map(|thinking| pieces(&thinking.text));
    let text = reply.text.iter().flat_map(|text| pieces(text));
    let thought = thought.map(|piece| vec![thought_part(&piece)]);
    let text = text.map(|piece| vec![json!({ "text": piece })]);
    let calls = Some(call_parts(reply)).filter(|calls| !calls.is_empty());
    let chunks = thought.chain(text).chain(calls).map(|parts| response(reply, parts, None));
    let last = response(reply, closing_part(reply).into_iter().collect(), Some(finish_reason(reply.stop)));
    chunks.chain([last]).map(|chunk| plain_event(&chunk)).collect()
}

fn thought_part(text: &str) -> Value {
    json!({ "text": text, "thought": true })
}

fn call_parts(reply: &WireReply) -> Vec<Value> {
    let with_ids = !reply.model.contains("gemini-2");
    let mut signature = signature(reply);
    let parts = reply.calls.iter().map(|call| {
        let mut part = json!({ "functionCall": { "name": call.tool, "args": call.input } });
        if with_ids {
            part["functionCall"]["id"] = json!(call.id);
        }
        if let Some(signature) = signature.take() {
            part["thoughtSignature"] = json!(signature);
        }
        part
    });
    parts.collect()
}

/// The empty part that ends a reply with content, with the signature if no call carries it.
fn closing_part(reply: &WireReply) -> Option<Value> {
    let mut part = json!({ "text": "" });
    if let Some(signature) = signature(reply).filter(|_| reply.calls.is_empty()) {
        part["thoughtSignature"] = json!(signature);
    }
    let is_empty = reply.thinking.is_none() && reply.text.is_none() && reply.calls.is_empty();
    (!is_empty).then_some(part)
}

fn signature(reply: &WireReply) -> Option<&String> {
    reply.thinking.as_ref().and_then(|thinking| thinking.signature.as_ref())
}

/// A response, or a chunk of one.
fn response(reply: &WireReply, parts: Vec<Value>, finish: Option<&str>) -> Value {
    let mut candidate = json!({ "index": 0 });
    if !parts.is_empty() {
        candidate["content"] = json!({ "parts": parts, "role": "model" });
    }
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": usage(&reply.usage),
        "modelVersion": reply.model,
        "responseId": reply.id,
    })
}

fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn | StopReason::ToolUse | StopReason::StopSequence | StopReason::PauseTurn => {
            "STOP"
        }
        StopReason::MaxTokens => "MAX_TOKENS",
        StopReason::Refusal => "SAFETY",
    }
}

/// Unlike elsewhere, thoughts are not part of the output. Optional counts of zero are omitted.
fn usage(usage: &WireUsage) -> Value {
    let mut counts = json!({
        "promptTokenCount": usage.whole_input(),
        "candidatesTokenCount": usage.output - usage.reasoning,
        "totalTokenCount": usage.whole_input() + usage.output,
    });
    if usage.cache_read > 0 {
        counts["cachedContentTokenCount"] = json!(usage.cache_read);
    }
    if usage.reasoning > 0 {
        counts["thoughtsTokenCount"] = json!(usage.reasoning);
    }
    counts
}

fn error(error: &ServiceError, model: &str) -> (StatusCode, Value) {
    let kind = |name: &str| format!("type.googleapis.com/google.rpc.{name}");
    let mut details = Vec::new();
    let mut retry = error.retry_after;
    let (status, default_message) = match error.kind {
        ServiceErrorKind::InvalidKey => {
            details.push(json!({
                "@type": kind("ErrorInfo"), "reason": "API_KEY_INVALID", "domain": "googleapis.com",
                "metadata": { "service": "generativelanguage.googleapis.com" },
            }));
            (StatusCode::BAD_REQUEST, "API key not valid. Please pass a valid API key.".to_owned())
        }
        ServiceErrorKind::Quota => {
            details.push(json!({ "@type": kind("QuotaFailure"), "violations": [{
                "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
                "quotaDimensions": { "location": "global", "model": model },
                "quotaValue": "50",
            }] }));
            retry = retry.or(Some(QUOTA_RETRY));
            (StatusCode::TOO_MANY_REQUESTS, QUOTA.to_owned())
        }
        ServiceErrorKind::ContextLength => (StatusCode::BAD_REQUEST, TOO_LONG.to_owned()),
        ServiceErrorKind::Overloaded | ServiceErrorKind::Status(StatusCode::SERVICE_UNAVAILABLE) => {
            let default_message = "The model is overloaded. Please try again later.".to_owned();
            (StatusCode::SERVICE_UNAVAILABLE, default_message)
        }
        ServiceErrorKind::Status(status) => {
            let default_message = match status.as_u16() {
                401 => "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.".to_owned(),
                403 => "The caller does not have permission".to_owned(),
                404 => format!("models/{model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods."),
                429 => "Resource has been exhausted (e.g. check quota).".to_owned(),
                500 => "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting".to_owned(),
                _ => reason(status),
            };
            (status, default_message)
        }
    };
    if let Some(wait) = retry {
        details.push(json!({ "@type": kind("RetryInfo"), "retryDelay": format!("{}s", wait.as_secs_f64()) }));
    }
    let name = match status.as_u16() {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "UNKNOWN",
    };
    let message = error.message.clone().unwrap_or(default_message);
    let mut body = json!({ "error": { "code": status.as_u16(), "message": message, "status": name } });
    if !details.is_empty() {
        body["error"]["details"] = json!(details);
    }
    (status, body)
}

/// The service gives a wait even for a daily quota.
const QUOTA_RETRY: std::time::Duration = std::time::Duration::from_secs(34);
const QUOTA: &str = "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.";
const TOO_LONG: &str =
    "The input token count (1300000) exceeds the maximum number of tokens allowed (1048576).";
