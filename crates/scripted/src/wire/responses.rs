//! The OpenAI Responses API, without stored conversations: a request contains the whole history. Thinking is a reasoning
//! item; its signature is the encrypted content, for clients that request it.

use bytes::Bytes;
use serde_json::{Value, json};

use super::content::{joined, text};
use super::history::{self, HistoryError, HistoryMessage, MessageRole};
use super::openai::{self, InputWording};
use super::{
    CREATED, ErrorChannel, RetryHint, SERVER_SENT_EVENTS, Wire, WireRefusal, named_event, names, pieces,
};
use crate::reply::{CallForm, Prompt, StopReason, WireCall, WireReply, WireThinking, WireUsage};

/// `/v1/responses`.
pub(crate) static WIRE: Wire = Wire {
    read,
    whole: |reply| response(reply, ending(reply.stop), items(reply)),
    stream: |reply, _| events(reply),
    stream_type: SERVER_SENT_EVENTS,
    error: |error, model| openai::error(error, model, &INPUT),
    stream_error,
    retry: RetryHint::Header,
    context_length: ErrorChannel::Stream,
};

const INPUT: InputWording = InputWording {
    param: "input",
    too_long: "Your input exceeds the context window of this model. Please adjust your input and try again.",
};

fn read(_path: &str, request: &Value) -> Result<Prompt, WireRefusal> {
    let model = request["model"].as_str().ok_or("Missing required parameter: 'model'.")?;
    let items = match &request["input"] {
        Value::String(text) => vec![HistoryMessage::new(MessageRole::User, text.clone())],
        Value::Array(items) => items.iter().map(read_item).collect(),
        _ => return Err("Missing required parameter: 'input'.".into()),
    };
    if !request["previous_response_id"].is_null() {
        return Err("scripted: previous_response_id is not supported; send the whole input instead".into());
    }
    history::check_results(&items).map_err(|error| match error {
        HistoryError::Unanswered { ids, .. } => {
            format!("No tool output found for function call {}.", ids.join(", "))
        }
        HistoryError::Stray { id, .. } => {
            format!("No tool call found for function call output with call_id {id}.")
        }
    })?;
    let encrypted = |include: &Value| include == "reasoning.encrypted_content";
    let prompt = history::prompt(&items);
    let tools = |kind: &'static str| {
        let tools = request["tools"].as_array().into_iter().flatten();
        tools.filter(move |tool| tool["type"] == kind)
    };
    Ok(Prompt {
        model: model.to_owned(),
        stream: request["stream"] == true,
        stream_usage: true,
        system: joined([text(&request["instructions"]), prompt.system].into_iter()),
        assistants: history::assistant_groups(&items),
        signed: request["include"].as_array().is_some_and(|include| include.iter().any(encrypted)),
        tools: names(&request["tools"], "/name").collect(),
        freeform: tools("custom").filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect(),
        searches: tools("tool_search").next().is_some(),
        ..prompt
    })
}

/// Items are messages, calls (`…_call`), their results (`…_call_output`) and reasoning; others are ignored.
fn read_item(item: &Value) -> HistoryMessage {
    let id = || item["call_id"].as_str().map(str::to_owned).into_iter().collect();
    let kind = item["type"].as_str().unwrap_or("message");
    match (kind, item["role"].as_str()) {
        ("reasoning", _) => HistoryMessage {
            signatures: vec![text(&item["encrypted_content"])],
            ..HistoryMessage::new(MessageRole::Assistant, String::new())
        },
        ("message", Some("assistant")) => HistoryMessage::new(MessageRole::Assistant, text(&item["content"])),
        ("message", Some("user")) => HistoryMessage::new(MessageRole::User, text(&item["content"])),
        ("message", _) => HistoryMessage::new(MessageRole::System, text(&item["content"])),
        (kind, _) if kind.ends_with("_call_output") => {
            HistoryMessage { results: id(), ..HistoryMessage::new(MessageRole::User, text(&item["output"])) }
        }
        (kind, _) if kind.ends_with("_call") => {
            HistoryMessage { calls: id(), ..HistoryMessage::new(MessageRole::Assistant, String::new()) }
        }
        _ => HistoryMessage::new(MessageRole::System, String::new()),
    }
}

struct ResponseStatus {
    status: &'static str,
    /// Why it is incomplete.
    reason: Option<&'static str>,
}

fn ending(stop: StopReason) -> ResponseStatus {
    match stop {
        StopReason::EndTurn | StopReason::ToolUse | StopReason::StopSequence | StopReason::PauseTurn => {
            ResponseStatus { status: "completed", reason: None }
        }
        StopReason::MaxTokens => ResponseStatus { status: "incomplete", reason: Some("max_output_tokens") },
        StopReason::Refusal => ResponseStatus { status: "incomplete", reason: Some("content_filter") },
    }
}

fn response(reply: &WireReply, ending: ResponseStatus, output: Vec<Value>) -> Value {
    let running = ending.status == "in_progress" || ending.status == "failed";
    json!({
        "id": format!("resp_{}", reply.id),
        "object": "response",
        "created_at": CREATED,
        "status": ending.status,
        "error": null,
        "incomplete_details": ending.reason.map(|reason| json!({ "reason": reason })),
        "model": reply.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "store": false,
        "usage": if running { Value::Null } else { usage(&reply.usage) },
    })
}

/// The completed items of the output.
fn items(reply: &WireReply) -> Vec<Value> {
    let reasoning = reply.thinking.iter().map(|thinking| reasoning_item(reply, thinking));
    let message = reply.text.iter().map(|text| {
        json!({
            "id": format!("msg_{}", reply.id), "type": "message", "status": "completed", "role": "assistant",
            "content": [text_part(text)],
        })
    });
    let calls = reply.calls.iter().map(call_item);
    reasoning.chain(message).chain(calls).collect()
}

fn call_item(call: &WireCall) -> Value {
    let mut item = json!({
        "id": format!("fc_{}", call.id), "type": "function_call", "status": "completed",
        "call_id": call.id, "name": call.tool, "arguments": call.arguments(),
    });
    match &call.form {
        CallForm::Plain => {}
        CallForm::Within(namespace) => item["namespace"] = json!(namespace),
        CallForm::Freeform => {
            item = json!({
                "id": format!("ctc_{}", call.id), "type": "custom_tool_call", "status": "completed",
                "call_id": call.id, "name": call.tool, "input": call.arguments(),
            });
        }
    }
    item
}

fn reasoning_item(reply: &WireReply, thinking: &WireThinking) -> Value {
    let mut item = json!({
        "id": format!("rs_{}", reply.id), "type": "reasoning",
        "summary": [{ "type": "summary_text", "text": thinking.text }],
    });
    if let Some(signature) = &thinking.signature {
        item["encrypted_content"] = json!(signature);
    }
    item
}

fn text_part(text: &str) -> Value {
    json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": text })
}

fn events(reply: &WireReply) -> Vec<Bytes> {
    let begun = response(reply, ResponseStatus { status: "in_progress", reason: None }, Vec::new());
    let mut events = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
    ];
    for (index, item) in items(reply).into_iter().enumerate() {
        let begun = begun_item(&item);
        events.push(json!({ "type": "response.output_item.added", "output_index": index, "item": begun }));
        for (kind, detail) in progress(&item) {
            let mut event = json!({ "type": kind, "item_id": item["id"], "output_index": index });
            for (key, value) in detail.as_object().into_iter().flatten() {
                event[key] = value.clone();
            }
            events.push(event);
        }
        events.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
    }
    let ending = ending(reply.stop);
    let last = format!("response.{}", ending.status);
    events.push(json!({ "type": last, "response": response(reply, ending, items(reply)) }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events.iter().map(named_event).collect()
}

/// An item without its content, for the event that announces it.
fn begun_item(item: &Value) -> Value {
    let mut begun = item.clone();
    for (key, nothing) in
        [("summary", json!([])), ("content", json!([])), ("arguments", json!("")), ("input", json!(""))]
    {
        if begun.get(key).is_some() {
            begun[key] = nothing;
        }
    }
    if begun.get("status").is_some() {
        begun["status"] = json!("in_progress");
    }
    begun
}

/// The events of an item between `added` and `done`.
fn progress(item: &Value) -> Vec<(&'static str, Value)> {
    let summary = item["summary"][0]["text"].as_str();
    let text = item["content"][0]["text"].as_str();
    let mut steps = Vec::new();
    if let Some(text) = summary {
        let part =
            |text: &str| json!({ "summary_index": 0, "part": { "type": "summary_text", "text": text } });
        steps.push(("response.reasoning_summary_part.added", part("")));
        steps.extend(pieces(text).into_iter().map(|piece| {
            ("response.reasoning_summary_text.delta", json!({ "summary_index": 0, "delta": piece }))
        }));
        steps.push(("response.reasoning_summary_text.done", json!({ "summary_index": 0, "text": text })));
        steps.push(("response.reasoning_summary_part.done", part(text)));
    }
    if let Some(text) = text {
        let part = |text: &str| json!({ "content_index": 0, "part": text_part(text) });
        steps.push(("response.content_part.added", part("")));
        steps.extend(pieces(text).into_iter().map(|piece| {
            ("response.output_text.delta", json!({ "content_index": 0, "delta": piece, "logprobs": [] }))
        }));
        steps
            .push(("response.output_text.done", json!({ "content_index": 0, "text": text, "logprobs": [] })));
        steps.push(("response.content_part.done", part(text)));
    }
    if let Some(input) = item["input"].as_str() {
        let pieces = pieces(input).into_iter();
        steps
            .extend(pieces.map(|piece| ("response.custom_tool_call_input.delta", json!({ "delta": piece }))));
        steps.push(("response.custom_tool_call_input.done", json!({ "input": input })));
    }
    if let Some(arguments) = item["arguments"].as_str() {
        steps.extend(
            pieces(arguments)
                .into_iter()
                .map(|piece| ("response.function_call_arguments.delta", json!({ "delta": piece }))),
        );
        steps.push(("response.function_call_arguments.done", json!({ "arguments": arguments })));
    }
    steps
}

/// The service sends both an `error` event and the failed response.
fn stream_error(reply: &WireReply, body: &Value) -> Bytes {
    let error = &body["error"];
    let mut failed = response(reply, ResponseStatus { status: "failed", reason: None }, Vec::new());
    failed["error"] = json!({ "code": error["code"], "message": error["message"] });
    let events = [
        named_event(&json!({ "type": "error", "error": error })),
        named_event(&json!({ "type": "response.failed", "response": failed })),
    ];
    events.concat().into()
}

fn usage(usage: &WireUsage) -> Value {
    json!({
        "input_tokens": usage.whole_input(),
        "input_tokens_details": { "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": usage.whole_input() + usage.output,
    })
}
