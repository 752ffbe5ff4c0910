//! The Anthropic Messages API. Of the service's own checks it makes those that catch a client which lost track of its
//! conversation.

#[cfg(test)]
mod tests;

use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::{Value, json};

use super::content::{joined, text};
use super::history::{self, HistoryError, HistoryMessage, MessageRole};
use super::{
    ErrorChannel, RetryHint, SERVER_SENT_EVENTS, Wire, WireRefusal, named_event, names, pieces, reason,
};
use crate::reply::{
    Prompt, ServiceError, ServiceErrorKind, StopReason, WireCall, WireReply, WireThinking, WireUsage,
    signature,
};

/// `/v1/messages` and `/v1/messages/count_tokens`.
pub(crate) static WIRE: Wire = Wire {
    read,
    whole: message,
    stream: |reply, _| events(reply),
    stream_type: SERVER_SENT_EVENTS,
    error,
    stream_error: |_, body| named_event(body),
    retry: RetryHint::Header,
    context_length: ErrorChannel::Status,
};

fn read(_path: &str, request: &Value) -> Result<Prompt, WireRefusal> {
    let model = request["model"].as_str().ok_or("model: Field required")?;
    let messages = request["messages"].as_array().ok_or("messages: Field required")?;
    if messages.is_empty() {
        return Err("messages: at least one message is required".into());
    }
    let messages: Vec<HistoryMessage> = messages
        .iter()
        .enumerate()
        .map(|(at, message)| read_message(at, message))
        .collect::<Result<_, _>>()?;
    history::check_results(&messages).map_err(|error| match error {
        HistoryError::Unanswered { at, ids } => format!(
            "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}",
            ids.join(", ")
        ),
        HistoryError::Stray { at, id } => {
            format!("messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}")
        }
    })?;
    let prompt = history::prompt(&messages);
    Ok(Prompt {
        model: model.to_owned(),
        stream: request["stream"] == true,
        stream_usage: true,
        system: joined([text(&request["system"]), prompt.system].into_iter()),
        signed: true,
        tools: names(&request["tools"], "/name").collect(),
        ..prompt
    })
}

fn read_message(at: usize, message: &Value) -> Result<HistoryMessage, WireRefusal> {
    let role = match message["role"].as_str() {
        Some("user") => MessageRole::User,
        Some("assistant") => MessageRole::Assistant,
        Some("system") => MessageRole::System,
        Some(_) | None => {
            return Err(format!("messages.{at}.role: Input should be 'user' or 'assistant'").into());
        }
    };
    let content = &message["content"];
    let blocks = || content.as_array().into_iter().flatten();
    let of = |kind: &'static str| blocks().filter(move |block| block["type"] == kind);
    let ids =
        |kind, key: &'static str| of(kind).filter_map(move |block| block[key].as_str()).map(str::to_owned);
    let signed =
        |block: &&Value| block["signature"] == signature(block["thinking"].as_str().unwrap_or_default());
    Ok(HistoryMessage {
        calls: ids("tool_use", "id").collect(),
        results: ids("tool_result", "tool_use_id").collect(),
        signatures: of("thinking").filter(signed).map(|block| text(&block["signature"])).collect(),
        ..HistoryMessage::new(role, text(content))
    })
}

/// The answer to a request without streaming.
fn message(reply: &WireReply) -> Value {
    let thinking = reply.thinking.iter().map(
        |thinking| json!({ "type": "thinking", "thinking": thinking.text, "signature": thinking.signature }),
    );
    let text = reply.text.iter().map(|text| json!({ "type": "text", "text": text }));
    let calls = reply
        .calls
        .iter()
        .map(|call| json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": call.input }));
    json!({
        "id": format!("msg_{}", reply.id),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": thinking.chain(text).chain(calls).collect::<Value>(),
        "stop_reason": stop_reason(reply.stop),
        "stop_sequence": null,
        "usage": usage(&reply.usage),
    })
}

fn events(reply: &WireReply) -> Vec<Bytes> {
    let mut started = message(reply);
    started["content"] = json!([]);
    started["stop_reason"] = Value::Null;
    started["usage"]["output_tokens"] = json!(1);
    let mut events = vec![
        named_event(&json!({ "type": "message_start", "message": started })),
        named_event(&json!({ "type": "ping" })),
    ];

    let thinking = reply.thinking.iter().map(thinking_block);
    let text = reply.text.iter().map(|text| text_block(text));
    let calls = reply.calls.iter().map(call_block);
    for (index, block) in thinking.chain(text).chain(calls).enumerate() {
        let start = json!({ "type": "content_block_start", "index": index, "content_block": block.start });
        events.push(named_event(&start));
        let delta =
            |delta| named_event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.extend(block.deltas.into_iter().map(delta));
        events.push(named_event(&json!({ "type": "content_block_stop", "index": index })));
    }

    let ended = json!({ "stop_reason": stop_reason(reply.stop), "stop_sequence": null });
    events
        .push(named_event(&json!({ "type": "message_delta", "delta": ended, "usage": usage(&reply.usage) })));
    events.push(named_event(&json!({ "type": "message_stop" })));
    events
}

fn error(error: &ServiceError, model: &str) -> (StatusCode, Value) {
    let (status, default_message) = match error.kind {
        ServiceErrorKind::InvalidKey | ServiceErrorKind::Status(StatusCode::UNAUTHORIZED) => {
            (401, "invalid x-api-key".to_owned())
        }
        ServiceErrorKind::Quota => (400, CREDIT_TOO_LOW.to_owned()),
        ServiceErrorKind::ContextLength => {
            (400, "prompt is too long: 210000 tokens > 200000 maximum".to_owned())
        }
        ServiceErrorKind::Overloaded => (529, "Overloaded".to_owned()),
        ServiceErrorKind::Status(status) => {
            let default_message = match status.as_u16() {
                403 => "Your API key does not have permission to use the specified resource.".to_owned(),
                404 => format!("model: {model}"),
                429 => "This request would exceed your organization's rate limit of 50 requests per minute."
                    .to_owned(),
                500 => "Internal server error".to_owned(),
                529 => "Overloaded".to_owned(),
                _ => reason(status),
            };
            (status.as_u16(), default_message)
        }
    };
    let kind = match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        ..500 => "invalid_request_error",
    };
    let message = error.message.clone().unwrap_or(default_message);
    let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    (StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), body)
}

const CREDIT_TOO_LOW: &str = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.";

struct StreamedBlock {
    start: Value,
    deltas: Vec<Value>,
}

fn thinking_block(thinking: &WireThinking) -> StreamedBlock {
    let signature = json!({ "type": "signature_delta", "signature": thinking.signature });
    let deltas = pieces(&thinking.text)
        .into_iter()
        .map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
    StreamedBlock {
        start: json!({ "type": "thinking", "thinking": "", "signature": "" }),
        deltas: deltas.chain([signature]).collect(),
    }
}

fn text_block(text: &str) -> StreamedBlock {
    let deltas = pieces(text).into_iter().map(|piece| json!({ "type": "text_delta", "text": piece }));
    StreamedBlock { start: json!({ "type": "text", "text": "" }), deltas: deltas.collect() }
}

fn call_block(call: &WireCall) -> StreamedBlock {
    let deltas = pieces(&call.arguments())
        .into_iter()
        .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
    StreamedBlock {
        start: json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": {} }),
        deltas: deltas.collect(),
    }
}

fn stop_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::StopSequence => "stop_sequence",
        StopReason::PauseTurn => "pause_turn",
        StopReason::Refusal => "refusal",
    }
}

fn usage(usage: &WireUsage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}
