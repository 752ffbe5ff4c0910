//! The OpenAI Chat Completions API, as served by OpenAI and compatible servers. Thinking is `reasoning_content`, an
//! extension of the compatible servers, and is not signed.

use bytes::Bytes;
use serde_json::{Value, json};

use super::content::text;
use super::history::{self, HistoryError, HistoryMessage, MessageRole};
use super::openai::{self, InputWording};
use super::{
    CREATED, ErrorChannel, RetryHint, SERVER_SENT_EVENTS, Wire, WireRefusal, names, pieces, plain_event,
};
use crate::reply::{Prompt, StopReason, WireReply, WireUsage};

/// `/v1/chat/completions`.
pub(crate) static WIRE: Wire = Wire {
    read,
    whole: completion,
    stream: chunks,
    stream_type: SERVER_SENT_EVENTS,
    error: |error, model| openai::error(error, model, &INPUT),
    stream_error: |_, body| plain_event(body),
    retry: RetryHint::Header,
    context_length: ErrorChannel::Status,
};

const INPUT: InputWording = InputWording {
    param: "messages",
    too_long: "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages.",
};

fn read(_path: &str, request: &Value) -> Result<Prompt, WireRefusal> {
    let model = request["model"].as_str().ok_or("you must provide a model parameter")?;
    let messages = request["messages"].as_array().ok_or("Missing required parameter: 'messages'.")?;
    if messages.is_empty() {
        return Err("Invalid 'messages': empty array. Expected an array with minimum length 1.".into());
    }
    let messages: Vec<HistoryMessage> = messages
        .iter()
        .enumerate()
        .map(|(at, message)| read_message(at, message))
        .collect::<Result<_, _>>()?;
    history::check_results(&messages).map_err(|error| match error {
        HistoryError::Unanswered { ids, .. } => format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            ids.join(", ")
        ),
        HistoryError::Stray { at, .. } => format!(
            "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (messages.[{at}])."
        ),
    })?;
    Ok(Prompt {
        model: model.to_owned(),
        stream: request["stream"] == true,
        stream_usage: request["stream_options"]["include_usage"] == true,
        tools: names(&request["tools"], "/function/name").collect(),
        ..history::prompt(&messages)
    })
}

fn read_message(at: usize, message: &Value) -> Result<HistoryMessage, WireRefusal> {
    let role = match message["role"].as_str() {
        Some("system" | "developer") => MessageRole::System,
        Some("user" | "tool") => MessageRole::User,
        Some("assistant") => MessageRole::Assistant,
        Some(_) | None => return Err(format!("Invalid value for 'messages[{at}].role'.").into()),
    };
    Ok(HistoryMessage {
        calls: names(&message["tool_calls"], "/id").collect(),
        results: message["tool_call_id"].as_str().map(str::to_owned).into_iter().collect(),
        ..HistoryMessage::new(role, text(&message["content"]))
    })
}

fn completion(reply: &WireReply) -> Value {
    let mut message = json!({ "role": "assistant", "content": reply.text, "refusal": null });
    if let Some(thinking) = &reply.thinking {
        message["reasoning_content"] = json!(thinking.text);
    }
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().map(|call| {
            let function = json!({ "name": call.tool, "arguments": call.arguments() });
            json!({ "id": call.id, "type": "function", "function": function })
        });
        message["tool_calls"] = calls.collect();
    }
    json!({
        "id": id(reply),
        "object": "chat.completion",
        "created": CREATED,
        "model": reply.model,
        "choices": [{
            "index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(reply.stop),
        }],
        "usage": usage(&reply.usage),
    })
}

fn chunks(reply: &WireReply, prompt: &Prompt) -> Vec<Bytes> {
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": id(reply),
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": reply.model,
            "choices": choices,
        });
        if prompt.stream_usage {
            chunk["usage"] = usage;
        }
        plain_event(&chunk)
    };
    let choice = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        chunk(json!([choice]), Value::Null)
    };
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    let thinking = reply.thinking.iter().flat_map(|thinking| pieces(&thinking.text));
    deltas.extend(thinking.map(|piece| json!({ "reasoning_content": piece })));
    let text = reply.text.iter().flat_map(|text| pieces(text));
    deltas.extend(text.map(|piece| json!({ "content": piece })));
    for (index, call) in reply.calls.iter().enumerate() {
        let function = json!({ "name": call.tool, "arguments": "" });
        let begun = json!({ "index": index, "id": call.id, "type": "function", "function": function });
        deltas.push(json!({ "tool_calls": [begun] }));
        deltas.extend(
            pieces(&call.arguments()).into_iter().map(
                |piece| json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }),
            ),
        );
    }
    let mut chunks: Vec<Bytes> = deltas.into_iter().map(|delta| choice(delta, Value::Null)).collect();
    chunks.push(choice(json!({}), json!(finish_reason(reply.stop))));
    if prompt.stream_usage {
        chunks.push(chunk(json!([]), usage(&reply.usage)));
    }
    chunks.push("data: [DONE]\n\n".into());
    chunks
}

fn id(reply: &WireReply) -> String {
    format!("chatcmpl-{}", reply.id)
}

fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn | StopReason::StopSequence | StopReason::PauseTurn => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens => "length",
        StopReason::Refusal => "content_filter",
    }
}

fn usage(usage: &WireUsage) -> Value {
    json!({
        "prompt_tokens": usage.whole_input(),
        "completion_tokens": usage.output,
        "total_tokens": usage.whole_input() + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write, "audio_tokens": 0,
        },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning, "audio_tokens": 0 },
    })
}
