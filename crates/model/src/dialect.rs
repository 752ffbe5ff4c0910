//! Translates between our types and the genai library's: a conversation into a request that the provider
//! accepts, and a finished stream into a reply. Differences between providers are handled here and in
//! `schema`.

use autonoe_core::event::Usage;
use genai::chat::{
    Binary, CacheControl, ChatMessage, ChatRequest, ContentPart, CustomPart, MessageContent, StopReason,
    StreamEnd, Tool, ToolCall, ToolResponse,
};
use serde_json::{Value, json};

use crate::conversation::{Conversation, Image, Message, ToolResult};
use crate::frames::StreamNotes;
use crate::provider::ProviderKind;
use crate::reply::{FinishReason, Reply, ReplyPart, RequestedCall};
use crate::schema;

/// Stands in for a reply with nothing that can be sent back; a message must not be empty.
const EMPTY_REPLY: &str = "(nothing)";

/// Introduces images, for providers whose tool results cannot contain any.
const IMAGES_FOLLOW: &str = "The images of the results above, in order:";

pub(crate) fn request(conversation: &Conversation, kind: ProviderKind) -> ChatRequest {
    let mut messages = vec![ChatMessage::user(conversation.opening())];
    for message in &conversation.messages {
        match message {
            Message::User { text } => messages.push(ChatMessage::user(text.as_str())),
            Message::Model { origin, parts } => messages.push(model_message(parts, *origin, kind)),
            Message::Tools { results } => messages.extend(results_for(results, kind)),
        }
    }
    mark_for_cache(&mut messages, kind);
    let tools = conversation.tools.iter().map(|tool| {
        let schema = schema::adapt(&tool.input_schema, kind);
        let tool =
            Tool::new(tool.name.clone()).with_description(tool.description.clone()).with_schema(schema);
        // Anthropic has no such flag; the others default to strict schemas, which require every field.
        if kind == ProviderKind::Anthropic { tool } else { tool.with_strict(false) }
    });
    let request = ChatRequest::from_messages(messages).with_system(conversation.system.clone());
    if conversation.tools.is_empty() { request } else { request.with_tools(tools) }
}

/// Marks the whole conversation for Anthropic's cache, so that the next request, which has the same prefix,
/// pays only for the new messages. Other providers cache automatically.
fn mark_for_cache(messages: &mut Vec<ChatMessage>, kind: ProviderKind) {
    if kind == ProviderKind::Anthropic
        && let Some(last) = messages.pop()
    {
        messages.push(last.with_options(CacheControl::Ephemeral));
    }
}

/// Thoughts and signatures are sent back only to the provider that issued them.
fn model_message(parts: &[ReplyPart], origin: ProviderKind, kind: ProviderKind) -> ChatMessage {
    let own = origin == kind;
    let mut content: Vec<ContentPart> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            ReplyPart::Text { text } if text.trim().is_empty() => {}
            ReplyPart::Text { text } => content.push(ContentPart::Text(text.clone())),
            ReplyPart::Call { id, name, arguments, signatures } => {
                content.push(ContentPart::ToolCall(ToolCall {
                    call_id: wire_id(id, kind),
                    fn_name: name.clone(),
                    fn_arguments: sendable(arguments),
                    thought_signatures: (own && !signatures.is_empty()).then(|| signatures.clone()),
                }));
            }
            ReplyPart::Thought { text } if own => content.push(ContentPart::ReasoningContent(text.clone())),
            ReplyPart::Signature { signature } if own => {
                content.push(ContentPart::ThoughtSignature(signature.clone()));
            }
            ReplyPart::Opaque { data } if own => {
                content.push(ContentPart::Custom(CustomPart { model_iden: None, data: data.clone() }));
            }
            ReplyPart::Thought { .. } | ReplyPart::Signature { .. } | ReplyPart::Opaque { .. } => {}
        }
    }
    if !content.iter().any(|part| part.is_text() || part.is_tool_call()) {
        content.push(ContentPart::Text(EMPTY_REPLY.to_owned()));
    }
    ChatMessage::assistant(MessageContent::from_parts(content))
}

/// Providers reject arguments that are not an object.
fn sendable(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        Value::Null => json!({}),
        Value::String(text) => json!({ "invalid_json": text }),
        other => json!({ "invalid_json": other.to_string() }),
    }
}

/// The ids we generate for Gemini contain characters that other providers reject.
fn wire_id(id: &str, kind: ProviderKind) -> String {
    let is_valid = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match kind {
        ProviderKind::Gemini => id.to_owned(),
        ProviderKind::Anthropic
        | ProviderKind::OpenAi
        | ProviderKind::OpenAiCompatible
        | ProviderKind::Ollama => {
            id.chars().map(|letter| if is_valid(letter) { letter } else { '_' }).collect()
        }
    }
}

/// Images are part of the result for Anthropic; for other providers they follow in a user message.
fn results_for(results: &[ToolResult], kind: ProviderKind) -> Vec<ChatMessage> {
    let response = |result: &ToolResult| ToolResponse::new(wire_id(&result.id, kind), result.text.clone());
    let mut messages = match kind {
        ProviderKind::Anthropic => {
            let parts = results.iter().map(|result| match result.images.as_slice() {
                [] => ContentPart::ToolResponse(response(result)),
                images => ContentPart::Custom(CustomPart {
                    model_iden: None,
                    data: anthropic_result(result, images),
                }),
            });
            return vec![ChatMessage::tool(MessageContent::from_parts(parts.collect::<Vec<_>>()))];
        }
        // The library keeps only the last result of a message.
        ProviderKind::Ollama => results.iter().map(|result| ChatMessage::tool(response(result))).collect(),
        ProviderKind::OpenAi | ProviderKind::OpenAiCompatible | ProviderKind::Gemini => {
            vec![ChatMessage::tool(MessageContent::from_tool_responses(
                results.iter().map(response).collect(),
            ))]
        }
    };
    let images: Vec<&Image> = results.iter().flat_map(|result| &result.images).collect();
    if !images.is_empty() {
        let mut parts = vec![ContentPart::Text(IMAGES_FOLLOW.to_owned())];
        parts.extend(images.into_iter().map(|image| {
            ContentPart::Binary(Binary::from_base64(image.media_type.clone(), image.base64.as_str(), None))
        }));
        messages.push(ChatMessage::user(MessageContent::from_parts(parts)));
    }
    messages
}

/// A result with images in Anthropic's format; the library supports text results only.
fn anthropic_result(result: &ToolResult, images: &[Image]) -> Value {
    let mut content: Vec<Value> = Vec::new();
    if !result.text.trim().is_empty() {
        content.push(json!({ "type": "text", "text": result.text }));
    }
    content.extend(images.iter().map(|image| {
        let source = json!({ "type": "base64", "media_type": image.media_type, "data": image.base64 });
        json!({ "type": "image", "source": source })
    }));
    let id = wire_id(&result.id, ProviderKind::Anthropic);
    json!({ "type": "tool_result", "tool_use_id": id, "content": content })
}

/// Builds the reply from a finished stream.
pub(crate) fn reply(end: StreamEnd, kind: ProviderKind, notes: &StreamNotes) -> Reply {
    let mut parts = parts_of(end.captured_content.unwrap_or_default());
    let thinking = end.captured_reasoning_content.filter(|text| !text.trim().is_empty());
    if notes.wants_thoughts_back
        && let Some(text) = &thinking
    {
        parts.push(ReplyPart::Thought { text: text.clone() });
    }
    let texts: Vec<&str> = parts.iter().filter_map(text_of).collect();
    let text = Some(texts.join("\n\n")).filter(|text| !text.trim().is_empty());
    let calls = parts.iter().filter_map(call_of).collect();
    let stop = match end.captured_stop_reason {
        _ if notes.refused => FinishReason::Refused,
        Some(StopReason::MaxTokens(_)) => FinishReason::OutputLimit,
        Some(StopReason::ContentFilter(_)) => FinishReason::Refused,
        _ => FinishReason::Natural,
    };
    let mut usage = end.captured_usage.map(|usage| read_usage(&usage)).unwrap_or_default();
    usage.reasoning_tokens = usage.reasoning_tokens.max(notes.reasoning_tokens.min(usage.output_tokens));
    Reply { thinking, text, calls, usage, stop, origin: kind, parts }
}

fn parts_of(content: MessageContent) -> Vec<ReplyPart> {
    let mut parts = Vec::new();
    for part in content.into_parts() {
        match part {
            ContentPart::Text(text) => parts.push(ReplyPart::Text { text }),
            ContentPart::ReasoningContent(text) => parts.push(ReplyPart::Thought { text }),
            ContentPart::ThoughtSignature(signature) => parts.push(ReplyPart::Signature { signature }),
            ContentPart::Custom(CustomPart { data, .. }) => parts.push(ReplyPart::Opaque { data }),
            ContentPart::ToolCall(call) => push_call(&mut parts, call),
            ContentPart::Binary(_) | ContentPart::ToolResponse(_) => {}
        }
    }
    parts
}

/// Appends a call under a unique id. For servers that number their calls from one, the library inserts an
/// empty duplicate before the first call; the duplicate is removed.
fn push_call(parts: &mut Vec<ReplyPart>, call: ToolCall) {
    let ToolCall { call_id, fn_name: name, fn_arguments, thought_signatures } = call;
    let duplicate =
        parts.iter().position(|part| matches!(part, ReplyPart::Call { id, .. } if *id == call_id));
    let is_empty_copy = |part: &ReplyPart| match part {
        ReplyPart::Call { name: other, arguments, .. } => *other == name && *arguments == json!({}),
        ReplyPart::Text { .. }
        | ReplyPart::Thought { .. }
        | ReplyPart::Signature { .. }
        | ReplyPart::Opaque { .. } => false,
    };
    let mut id = call_id;
    match duplicate {
        Some(at) if is_empty_copy(&parts[at]) => drop(parts.remove(at)),
        Some(_) => id.clear(),
        None => {}
    }
    if id.is_empty() || id.starts_with(GENERATED_ID) {
        id = format!("{GENERATED_ID}{name}#{}", fastrand::u32(..));
    }
    let arguments = match fn_arguments {
        Value::Null => json!({}),
        Value::String(text) if text.trim().is_empty() => json!({}),
        given => given,
    };
    parts.push(ReplyPart::Call { id, name, arguments, signatures: thought_signatures.unwrap_or_default() });
}

/// Prefix of the ids that the library generates for Gemini calls without one. It recognises them by the
/// prefix and does not send them. It restarts its count in each frame, so they are not unique until we add a
/// random suffix.
const GENERATED_ID: &str = "call#";

fn text_of(part: &ReplyPart) -> Option<&str> {
    match part {
        ReplyPart::Text { text } => Some(text),
        ReplyPart::Thought { .. }
        | ReplyPart::Signature { .. }
        | ReplyPart::Call { .. }
        | ReplyPart::Opaque { .. } => None,
    }
}

fn call_of(part: &ReplyPart) -> Option<RequestedCall> {
    match part {
        ReplyPart::Call { id, name, arguments, .. } => {
            Some(RequestedCall { id: id.clone(), name: name.clone(), arguments: arguments.clone() })
        }
        ReplyPart::Text { .. }
        | ReplyPart::Thought { .. }
        | ReplyPart::Signature { .. }
        | ReplyPart::Opaque { .. } => None,
    }
}

/// The library includes cached tokens in the prompt; we count them separately. Some servers exclude thinking
/// tokens from the output; these are added.
fn read_usage(usage: &genai::chat::Usage) -> Usage {
    let count =
        |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or_default();
    let prompt = usage.prompt_tokens_details.as_ref();
    let cache_read_tokens = count(prompt.and_then(|details| details.cached_tokens));
    let cache_write_tokens = count(prompt.and_then(|details| details.cache_creation_tokens));
    let completion = usage.completion_tokens_details.as_ref();
    let reasoning_tokens = count(completion.and_then(|details| details.reasoning_tokens));
    let output = count(usage.completion_tokens);
    Usage {
        input_tokens: count(usage.prompt_tokens).saturating_sub(cache_read_tokens + cache_write_tokens),
        output_tokens: if reasoning_tokens > output { output + reasoning_tokens } else { output },
        reasoning_tokens,
        cache_read_tokens,
        cache_write_tokens,
        cost_usd: None,
    }
}

#[cfg(test)]
mod tests;
