//! Ollama's own API: a stream is lines of JSON. Calls need no ids and are not matched with their results; thinking is not
//! signed.

use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::{Value, json};

use super::content::{image_text, joined, text};
use super::history::{self, HistoryMessage, MessageRole};
use super::{ErrorChannel, RetryHint, Wire, WireRefusal, names, pieces, reason};
use crate::reply::{Prompt, ServiceError, ServiceErrorKind, StopReason, WireReply};

/// `/api/chat`.
pub(crate) static WIRE: Wire = Wire {
    read,
    whole,
    stream: |reply, _| lines(reply),
    stream_type: "application/x-ndjson",
    error,
    stream_error: |_, body| line(body),
    retry: RetryHint::Header,
    context_length: ErrorChannel::Status,
};

fn read(_path: &str, request: &Value) -> Result<Prompt, WireRefusal> {
    let model = request["model"].as_str().ok_or("model is required")?;
    let messages = request["messages"].as_array().filter(|messages| !messages.is_empty());
    let messages: Vec<HistoryMessage> = messages
        .ok_or("scripted: loading a model (a request without messages) is not supported")?
        .iter()
        .map(read_message)
        .collect::<Result<_, _>>()?;
    Ok(Prompt {
        model: model.to_owned(),
        stream: request["stream"] != false,
        stream_usage: true,
        tools: names(&request["tools"], "/function/name").collect(),
        ..history::prompt(&messages)
    })
}

fn read_message(message: &Value) -> Result<HistoryMessage, WireRefusal> {
    let role = match message["role"].as_str() {
        Some("system") => MessageRole::System,
        Some("user" | "tool") => MessageRole::User,
        Some("assistant") => MessageRole::Assistant,
        Some(_) | None => {
            return Err("invalid role, must be one of [system, user, assistant, tool]".into());
        }
    };
    let images = message["images"].as_array().into_iter().flatten();
    let images = images.map(|data| image_text(media_type(data.as_str().unwrap_or_default())));
    Ok(HistoryMessage::new(role, joined([text(&message["content"])].into_iter().chain(images))))
}

/// Recognises the image type by its first bytes in base64: Ollama's API has no field for it.
fn media_type(data: &str) -> Option<&'static str> {
    const PREFIXES: [(&str, &str); 4] =
        [("iVBOR", "image/png"), ("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp")];
    PREFIXES.iter().find(|(prefix, _)| data.starts_with(prefix)).map(|(_, media_type)| *media_type)
}

fn whole(reply: &WireReply) -> Value {
    let mut message = json!({ "role": "assistant", "content": reply.text.as_deref().unwrap_or_default() });
    if let Some(thinking) = &reply.thinking {
        message["thinking"] = json!(thinking.text);
    }
    if !reply.calls.is_empty() {
        message["tool_calls"] = calls(reply);
    }
    last(reply, message)
}

fn lines(reply: &WireReply) -> Vec<Bytes> {
    let thinking = reply.thinking.iter().flat_map(|thinking| pieces(&thinking.text));
    let text = reply.text.iter().flat_map(|text| pieces(text));
    let thinking = thinking.map(|piece| json!({ "role": "assistant", "content": "", "thinking": piece }));
    let text = text.map(|piece| json!({ "role": "assistant", "content": piece }));
    let calls = (!reply.calls.is_empty())
        .then(|| json!({ "role": "assistant", "content": "", "tool_calls": calls(reply) }));
    let parts = thinking.chain(text).chain(calls).map(|message| part(reply, message));
    let last = last(reply, json!({ "role": "assistant", "content": "" }));
    parts.chain([last]).map(|part| line(&part)).collect()
}

fn calls(reply: &WireReply) -> Value {
    let calls = reply.calls.iter().enumerate().map(|(index, call)| {
        let function = json!({ "index": index, "name": call.tool, "arguments": call.input });
        json!({ "id": call.id, "function": function })
    });
    calls.collect()
}

fn part(reply: &WireReply, message: Value) -> Value {
    json!({ "model": reply.model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false })
}

fn last(reply: &WireReply, message: Value) -> Value {
    let mut last = part(reply, message);
    last["done"] = json!(true);
    last["done_reason"] = json!(if reply.stop == StopReason::MaxTokens { "length" } else { "stop" });
    last["total_duration"] = json!(1_000_000);
    last["prompt_eval_count"] = json!(reply.usage.whole_input());
    if reply.usage.cache_read > 0 {
        last["prompt_eval_cached_count"] = json!(reply.usage.cache_read);
    }
    last["eval_count"] = json!(reply.usage.output);
    last
}

fn line(value: &Value) -> Bytes {
    format!("{value}\n").into()
}

fn error(error: &ServiceError, model: &str) -> (StatusCode, Value) {
    const BUSY: &str = "server busy, please try again.  maximum pending requests exceeded";
    const QUOTA: &str = "you've reached your hourly usage limit, please upgrade to continue";
    let (status, default_message) = match error.kind {
        ServiceErrorKind::InvalidKey => (StatusCode::UNAUTHORIZED, "unauthorized".to_owned()),
        ServiceErrorKind::Quota => (StatusCode::TOO_MANY_REQUESTS, QUOTA.to_owned()),
        ServiceErrorKind::ContextLength => {
            (StatusCode::BAD_REQUEST, "the input length exceeds the context length".to_owned())
        }
        ServiceErrorKind::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, BUSY.to_owned()),
        ServiceErrorKind::Status(status) => {
            let default_message = match status.as_u16() {
                404 => format!("model '{model}' not found"),
                500 => "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, check ollama server logs for details".to_owned(),
                503 => BUSY.to_owned(),
                _ => reason(status).to_lowercase(),
            };
            (status, default_message)
        }
    };
    (status, json!({ "error": error.message.clone().unwrap_or(default_message) }))
}
