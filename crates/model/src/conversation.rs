//! A conversation with a model and the replies it gives. The library's types stay behind this file.

use autonoe_core::event::Usage;
use genai::chat::{
    CacheControl, ChatMessage, ChatRequest, MessageContent, StopReason, StreamEnd, Tool, ToolResponse,
};
use serde_json::Value;

/// A tool as the model is told of it.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

/// What was said so far, and the tools on offer.
#[derive(Debug, Clone)]
pub struct Conversation {
    request: ChatRequest,
}

impl Conversation {
    /// A conversation that begins with the user's instruction.
    pub fn new(system: &str, tools: Vec<ToolDefinition>, instruction: String) -> Self {
        let tools = tools.into_iter().map(|tool| {
            Tool::new(tool.name).with_description(tool.description).with_schema(tool.input_schema)
        });
        let request = ChatRequest::from_user(instruction).with_system(system).with_tools(tools);
        Self { request }
    }

    /// The request for the next reply. All of it is marked for the provider's cache, so that the next request, which
    /// begins the same, pays for its own end only.
    pub(crate) fn to_request(&self) -> ChatRequest {
        let mut request = self.request.clone();
        if let Some(last) = request.messages.pop() {
            request.messages.push(last.with_options(CacheControl::Ephemeral));
        }
        request
    }

    /// Appends the model's reply and the results of the calls it made, each with its call's id.
    pub fn answer(&mut self, reply: Reply, results: Vec<(String, String)>) {
        self.request.messages.push(ChatMessage::assistant(reply.content));
        let responses = results.into_iter().map(|(id, content)| ToolResponse::new(id, content)).collect();
        self.request.messages.push(ChatMessage::tool(MessageContent::from_tool_responses(responses)));
    }

    /// Appends the model's reply and something the user says to it.
    pub fn go_on(&mut self, reply: Reply, text: &str) {
        self.request.messages.push(ChatMessage::assistant(reply.content));
        self.request.messages.push(ChatMessage::user(text));
    }
}

/// A tool call the model wants to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The model's id for it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments; a string if the model's JSON was broken.
    pub arguments: Value,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The model was done, or wants its tool calls carried out.
    Natural,
    /// The output limit cut it off.
    OutputLimit,
    /// The provider's safety filter refused.
    Refused,
}

/// A model's whole reply.
#[derive(Debug, Clone)]
pub struct Reply {
    /// What it thought, if it told.
    pub thinking: Option<String>,
    /// What it said.
    pub text: Option<String>,
    /// The calls it wants to make.
    pub calls: Vec<Call>,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended.
    pub stop: Stop,
    content: MessageContent,
}

impl Reply {
    pub(crate) fn from_end(end: StreamEnd) -> Self {
        let content = end.captured_content.unwrap_or_default();
        let calls = content.tool_calls().into_iter().map(|call| Call {
            id: call.call_id.clone(),
            name: call.fn_name.clone(),
            arguments: call.fn_arguments.clone(),
        });
        Self {
            thinking: end.captured_reasoning_content.filter(|text| !text.trim().is_empty()),
            text: content.joined_texts().filter(|text| !text.trim().is_empty()),
            calls: calls.collect(),
            usage: end.captured_usage.map(|usage| read_usage(&usage)).unwrap_or_default(),
            stop: match end.captured_stop_reason {
                Some(StopReason::MaxTokens(_)) => Stop::OutputLimit,
                Some(StopReason::ContentFilter(_)) => Stop::Refused,
                Some(StopReason::Other(reason)) if reason == "refusal" => Stop::Refused,
                _ => Stop::Natural,
            },
            content,
        }
    }
}

/// The library counts cached tokens into the prompt; we keep them apart.
fn read_usage(usage: &genai::chat::Usage) -> Usage {
    let count =
        |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or_default();
    let details = usage.prompt_tokens_details.as_ref();
    let cache_read_tokens = count(details.and_then(|details| details.cached_tokens));
    let cache_write_tokens = count(details.and_then(|details| details.cache_creation_tokens));
    Usage {
        input_tokens: count(usage.prompt_tokens).saturating_sub(cache_read_tokens + cache_write_tokens),
        output_tokens: count(usage.completion_tokens),
        cache_read_tokens,
        cache_write_tokens,
        cost_usd: None,
    }
}
