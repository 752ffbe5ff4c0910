//! Between our terms and the library's: how a conversation becomes a request that its provider accepts, and how what
//! came back becomes a reply. What providers disagree about is decided here and in `schema`.

use autonoe_core::event::Usage;
use genai::chat::{
    Binary, CacheControl, ChatMessage, ChatRequest, ContentPart, CustomPart, MessageContent, StopReason,
    StreamEnd, Tool, ToolCall, ToolResponse,
};
use serde_json::{Value, json};

use crate::conversation::{Conversation, Image, Message, ToolResult};
use crate::frames::Noted;
use crate::provider::ProviderKind;
use crate::reply::{Call, Part, Reply, Stop};
use crate::schema;

/// Stands for a reply of which nothing can be said again; a message must not be empty.
const NOTHING: &str = "(nothing)";

/// Introduces pictures that a tool's result cannot hold.
const SHOWN: &str = "The results above come with these pictures, in their order.";

/// The request for the next reply.
pub(crate) fn request(conversation: &Conversation, kind: ProviderKind) -> ChatRequest {
    let mut messages = vec![ChatMessage::user(conversation.opening())];
    for message in &conversation.messages {
        match message {
            Message::User { text } => messages.push(ChatMessage::user(text.as_str())),
            Message::Model { origin, parts } => messages.push(said_by_model(parts, *origin, kind)),
            Message::Tools { results } => messages.extend(results_for(results, kind)),
        }
    }
    mark_for_cache(&mut messages, kind);
    let tools = conversation.tools.iter().map(|tool| {
        let schema = schema::adapt(&tool.input_schema, kind);
        let tool =
            Tool::new(tool.name.clone()).with_description(tool.description.clone()).with_schema(schema);
        // Anthropic has no such switch; the others would otherwise want every field to be required.
        if kind == ProviderKind::Anthropic { tool } else { tool.with_strict(false) }
    });
    let request = ChatRequest::from_messages(messages).with_system(conversation.system.clone());
    if conversation.tools.is_empty() { request } else { request.with_tools(tools) }
}

/// All of it is marked for Anthropic's cache, so that the next request, which begins the same, pays for its own end
/// only. The others do so by themselves.
fn mark_for_cache(messages: &mut Vec<ChatMessage>, kind: ProviderKind) {
    if kind == ProviderKind::Anthropic
        && let Some(last) = messages.pop()
    {
        messages.push(last.with_options(CacheControl::Ephemeral));
    }
}

/// Thoughts and signatures go back only to the provider they came from.
fn said_by_model(parts: &[Part], origin: ProviderKind, kind: ProviderKind) -> ChatMessage {
    let own = origin == kind;
    let mut content: Vec<ContentPart> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Text { text } if text.trim().is_empty() => {}
            Part::Text { text } => content.push(ContentPart::Text(text.clone())),
            Part::Call { id, name, arguments, signatures } => {
                content.push(ContentPart::ToolCall(ToolCall {
                    call_id: wire_id(id, kind),
                    fn_name: name.clone(),
                    fn_arguments: sendable(arguments),
                    thought_signatures: (own && !signatures.is_empty()).then(|| signatures.clone()),
                }));
            }
            Part::Thought { text } if own => content.push(ContentPart::ReasoningContent(text.clone())),
            Part::Signature { signature } if own => {
                content.push(ContentPart::ThoughtSignature(signature.clone()));
            }
            Part::Opaque { data } if own => {
                content.push(ContentPart::Custom(CustomPart { model_iden: None, data: data.clone() }));
            }
            Part::Thought { .. } | Part::Signature { .. } | Part::Opaque { .. } => {}
        }
    }
    if !content.iter().any(|part| part.is_text() || part.is_tool_call()) {
        content.push(ContentPart::Text(NOTHING.to_owned()));
    }
    ChatMessage::assistant(MessageContent::from_parts(content))
}

/// No provider takes arguments back that are not an object.
fn sendable(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        Value::Null => json!({}),
        Value::String(text) => json!({ "invalid_json": text }),
        other => json!({ "invalid_json": other.to_string() }),
    }
}

/// Ids made up for Gemini have characters that others refuse.
fn wire_id(id: &str, kind: ProviderKind) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match kind {
        ProviderKind::Gemini => id.to_owned(),
        ProviderKind::Anthropic
        | ProviderKind::OpenAi
        | ProviderKind::OpenAiCompatible
        | ProviderKind::Ollama => id.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect(),
    }
}

/// Anthropic's results hold pictures; with the others they follow in a message of the user's.
fn results_for(results: &[ToolResult], kind: ProviderKind) -> Vec<ChatMessage> {
    let response = |result: &ToolResult| ToolResponse::new(wire_id(&result.id, kind), result.text.clone());
    let mut messages = match kind {
        ProviderKind::Anthropic => {
            let parts = results.iter().map(|result| match result.images.as_slice() {
                [] => ContentPart::ToolResponse(response(result)),
                images => ContentPart::Custom(CustomPart { model_iden: None, data: shown(result, images) }),
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
        let mut parts = vec![ContentPart::Text(SHOWN.to_owned())];
        parts.extend(images.into_iter().map(|image| {
            ContentPart::Binary(Binary::from_base64(image.media_type.clone(), image.base64.as_str(), None))
        }));
        messages.push(ChatMessage::user(MessageContent::from_parts(parts)));
    }
    messages
}

/// A result with pictures as Anthropic writes it; the library knows results of text only.
fn shown(result: &ToolResult, images: &[Image]) -> Value {
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

/// The reply that a stream came to.
pub(crate) fn reply(end: StreamEnd, kind: ProviderKind, noted: &Noted) -> Reply {
    let mut parts = parts_of(end.captured_content.unwrap_or_default());
    let thinking = end.captured_reasoning_content.filter(|text| !text.trim().is_empty());
    if noted.wants_thoughts_back
        && let Some(text) = &thinking
    {
        parts.push(Part::Thought { text: text.clone() });
    }
    let texts: Vec<&str> = parts.iter().filter_map(text_of).collect();
    let text = Some(texts.join("\n\n")).filter(|text| !text.trim().is_empty());
    let calls = parts.iter().filter_map(call_of).collect();
    let stop = match end.captured_stop_reason {
        _ if noted.refused => Stop::Refused,
        Some(StopReason::MaxTokens(_)) => Stop::OutputLimit,
        Some(StopReason::ContentFilter(_)) => Stop::Refused,
        _ => Stop::Natural,
    };
    let mut usage = end.captured_usage.map(|usage| read_usage(&usage)).unwrap_or_default();
    usage.reasoning_tokens = usage.reasoning_tokens.max(noted.reasoning_tokens.min(usage.output_tokens));
    Reply { thinking, text, calls, usage, stop, origin: kind, parts }
}

fn parts_of(content: MessageContent) -> Vec<Part> {
    let mut parts = Vec::new();
    for part in content.into_parts() {
        match part {
            ContentPart::Text(text) => parts.push(Part::Text { text }),
            ContentPart::ReasoningContent(text) => parts.push(Part::Thought { text }),
            ContentPart::ThoughtSignature(signature) => parts.push(Part::Signature { signature }),
            ContentPart::Custom(CustomPart { data, .. }) => parts.push(Part::Opaque { data }),
            ContentPart::ToolCall(call) => push_call(&mut parts, call),
            ContentPart::Binary(_) | ContentPart::ToolResponse(_) => {}
        }
    }
    parts
}

/// Appends a call under an id that no other has. Where a server counts its calls from one, the library puts an empty
/// copy of the first in front of it, which goes.
fn push_call(parts: &mut Vec<Part>, call: ToolCall) {
    let ToolCall { call_id, fn_name: name, fn_arguments, thought_signatures } = call;
    let twin = parts.iter().position(|part| matches!(part, Part::Call { id, .. } if *id == call_id));
    let is_copy = |part: &Part| matches!(part, Part::Call { name: other, arguments, .. } if *other == name && *arguments == json!({}));
    let mut id = call_id;
    match twin {
        Some(at) if is_copy(&parts[at]) => drop(parts.remove(at)),
        Some(_) => id.clear(),
        None => {}
    }
    if id.is_empty() || id.starts_with(MADE_UP) {
        id = format!("{MADE_UP}{name}#{}", fastrand::u32(..));
    }
    let arguments = match fn_arguments {
        Value::Null => json!({}),
        Value::String(text) if text.trim().is_empty() => json!({}),
        given => given,
    };
    parts.push(Part::Call { id, name, arguments, signatures: thought_signatures.unwrap_or_default() });
}

/// How the library's ids of Gemini's nameless calls begin. It knows them again by that and does not send them; but it
/// counts them anew in each piece of a stream, so they are not unique until we make them so.
const MADE_UP: &str = "call#";

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text } => Some(text),
        Part::Thought { .. } | Part::Signature { .. } | Part::Call { .. } | Part::Opaque { .. } => None,
    }
}

fn call_of(part: &Part) -> Option<Call> {
    match part {
        Part::Call { id, name, arguments, .. } => {
            Some(Call { id: id.clone(), name: name.clone(), arguments: arguments.clone() })
        }
        Part::Text { .. } | Part::Thought { .. } | Part::Signature { .. } | Part::Opaque { .. } => None,
    }
}

/// The library counts cached tokens into the prompt; we keep them apart. Some servers leave the thinking out of their
/// output, which must then be more.
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
