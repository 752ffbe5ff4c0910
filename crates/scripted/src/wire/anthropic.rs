//! The Anthropic Messages API: what a request says, and replies and errors in its shape. Of the service's own checks it
//! makes those that catch a client which lost track of its conversation.

#[cfg(test)]
mod tests;

use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{pieces, server_sent};
use crate::reply::{Call, Prompt, Reply, StopReason, Usage, estimated_tokens};

/// Reads a request to `/v1/messages` or `/v1/messages/count_tokens`.
pub(super) fn read(request: &Value, bytes: usize) -> Result<Prompt, String> {
    let model = request["model"].as_str().ok_or("model: Field required")?;
    let messages = request["messages"].as_array().ok_or("messages: Field required")?;
    check_roles(messages)?;
    check_tool_results(messages)?;
    let of_role = |role: &'static str| messages.iter().filter(move |message| message["role"] == role);
    let is_assistant = |message: &Value| message["role"] == "assistant";
    let until_reply = messages.iter().position(is_assistant).unwrap_or(messages.len());
    let since_reply = messages.iter().rposition(is_assistant).map_or(0, |last| last + 1);
    let user_text = |messages: &[Value]| {
        texts(messages.iter().filter(|message| message["role"] == "user").map(|message| &message["content"]))
    };
    Ok(Prompt {
        model: model.to_owned(),
        stream: request["stream"] == true,
        system: texts(
            std::iter::once(&request["system"]).chain(of_role("system").map(|message| &message["content"])),
        ),
        first: user_text(&messages[..until_reply]),
        newest: user_text(&messages[since_reply..]),
        messages: messages.len(),
        assistants: of_role("assistant").count(),
        call_ids: of_role("assistant").flat_map(|message| block_ids(message, "tool_use", "id")).collect(),
        tools: request["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["name"].as_str())
            .map(str::to_owned)
            .collect(),
        bytes,
    })
}

/// The whole message, as answered without streaming.
pub(super) fn message(reply: &Reply) -> Value {
    let thinking = reply
        .thinking
        .iter()
        .map(|thinking| json!({ "type": "thinking", "thinking": thinking, "signature": SIGNATURE }));
    let text = reply.text.iter().map(|text| json!({ "type": "text", "text": text }));
    let calls = reply
        .calls
        .iter()
        .map(|call| json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": call.input }));
    json!({
        "id": reply.id,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": thinking.chain(text).chain(calls).collect::<Value>(),
        "stop_reason": stop_reason(reply.stop),
        "stop_sequence": null,
        "usage": usage(&reply.usage),
    })
}

/// The events of a streamed message.
pub(super) fn events(reply: &Reply) -> Vec<Bytes> {
    let mut started = message(reply);
    started["content"] = json!([]);
    started["stop_reason"] = Value::Null;
    started["usage"]["output_tokens"] = json!(1);
    let mut events =
        vec![event(json!({ "type": "message_start", "message": started })), event(json!({ "type": "ping" }))];

    let thinking = reply.thinking.iter().map(|text| thinking_block(text));
    let text = reply.text.iter().map(|text| text_block(text));
    let calls = reply.calls.iter().map(call_block);
    for (index, block) in thinking.chain(text).chain(calls).enumerate() {
        events.push(event(
            json!({ "type": "content_block_start", "index": index, "content_block": block.start }),
        ));
        let delta = |delta| event(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.extend(block.deltas.into_iter().map(delta));
        events.push(event(json!({ "type": "content_block_stop", "index": index })));
    }

    let ended = json!({ "stop_reason": stop_reason(reply.stop), "stop_sequence": null });
    events.push(event(json!({ "type": "message_delta", "delta": ended, "usage": usage(&reply.usage) })));
    events.push(event(json!({ "type": "message_stop" })));
    events
}

/// The body of an error response.
pub(super) fn error(status: StatusCode, message: &str) -> Value {
    let kind = match status.as_u16() {
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
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

/// The answer to `/v1/messages/count_tokens`.
pub(crate) fn token_count(prompt: &Prompt) -> Value {
    json!({ "input_tokens": estimated_tokens(prompt.bytes) })
}

/// Stands where the service signs its thinking.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

/// A content block as it is streamed.
struct Block {
    start: Value,
    deltas: Vec<Value>,
}

fn thinking_block(text: &str) -> Block {
    let signature = json!({ "type": "signature_delta", "signature": SIGNATURE });
    let deltas = pieces(text).into_iter().map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
    Block {
        start: json!({ "type": "thinking", "thinking": "", "signature": "" }),
        deltas: deltas.chain([signature]).collect(),
    }
}

fn text_block(text: &str) -> Block {
    let deltas = pieces(text).into_iter().map(|piece| json!({ "type": "text_delta", "text": piece }));
    Block { start: json!({ "type": "text", "text": "" }), deltas: deltas.collect() }
}

fn call_block(call: &Call) -> Block {
    let input = Value::Object(call.input.clone()).to_string();
    let deltas =
        pieces(&input).into_iter().map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
    Block {
        start: json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": {} }),
        deltas: deltas.collect(),
    }
}

/// An event is named after the type in its data.
fn event(data: Value) -> Bytes {
    server_sent(data["type"].as_str().unwrap_or_default(), &data)
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

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}

fn check_roles(messages: &[Value]) -> Result<(), String> {
    if messages.is_empty() {
        return Err("messages: at least one message is required".to_owned());
    }
    if let Some(at) = messages
        .iter()
        .position(|message| !["user", "assistant", "system"].iter().any(|role| message["role"] == *role))
    {
        return Err(format!("messages.{at}.role: Input should be 'user' or 'assistant'"));
    }
    match messages.iter().filter(|message| message["role"] == "system").count() {
        0 | 1 => Ok(()),
        several => Err(format!("messages: {several} messages have the role system, and at most one may")),
    }
}

/// Each tool call must be answered right after the assistant's message, and nothing else may be. As in the service,
/// neighbours of the same role count as one message.
fn check_tool_results(messages: &[Value]) -> Result<(), String> {
    let spoken: Vec<(usize, &Value)> =
        messages.iter().enumerate().filter(|(_, message)| message["role"] != "system").collect();
    let mut open: Vec<String> = Vec::new();
    for group in spoken.chunk_by(|(_, one), (_, next)| one["role"] == next["role"]) {
        let at = group[0].0;
        let results: Vec<String> =
            group.iter().flat_map(|(_, message)| block_ids(message, "tool_result", "tool_use_id")).collect();
        if let Some(stray) = results.iter().find(|id| !open.contains(id)) {
            return Err(format!(
                "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {stray}"
            ));
        }
        open.retain(|id| !results.contains(id));
        unanswered(&open, at.saturating_sub(1))?;
        open = group.iter().flat_map(|(_, message)| block_ids(message, "tool_use", "id")).collect();
    }
    unanswered(&open, messages.len() - 1)
}

fn unanswered(open: &[String], at: usize) -> Result<(), String> {
    match open {
        [] => Ok(()),
        ids => Err(format!(
            "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}",
            ids.join(", ")
        )),
    }
}

/// The ids in a message's content blocks of one type.
fn block_ids(message: &Value, kind: &'static str, key: &'static str) -> impl Iterator<Item = String> {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks
        .filter(move |block| block["type"] == kind)
        .filter_map(move |block| block[key].as_str())
        .map(str::to_owned)
}

/// The text of several contents, on lines of their own.
fn texts<'a>(contents: impl Iterator<Item = &'a Value>) -> String {
    contents.map(content_text).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The text of a content, tool results included: a string, or blocks.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => texts(blocks.iter().map(|block| match block["type"].as_str() {
            Some("text") => &block["text"],
            Some("tool_result") => &block["content"],
            Some(_) | None => &Value::Null,
        })),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
