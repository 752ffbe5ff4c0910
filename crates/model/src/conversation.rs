//! A conversation with a model: the system prompt, the tools, the instruction, and the messages since.
//!
//! It is independent of any provider and can be serialized and resumed. Invariant: every tool call of the
//! model is followed by its result. `compact` shortens a conversation, `dialect` translates it for a
//! provider.

use autonoe_core::event::Usage;
use autonoe_core::fault::{Fault, FaultLayer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::provider::ProviderKind;
use crate::reply::{Reply, ReplyPart};

/// The version of the serialized form.
const VERSION: u64 = 1;

/// A rough estimate. Counts bytes and not characters, since non-ASCII text takes more tokens.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;

/// A rough estimate.
const TOKENS_PER_IMAGE: u64 = 1_500;

/// The result of a call that was never run.
const NOT_CARRIED_OUT: &str = "The call was not executed.";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call this result belongs to.
    pub id: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// `image/png` and the like.
    pub media_type: String,
    pub base64: String,
}

impl From<(String, String)> for ToolResult {
    fn from((id, text): (String, String)) -> Self {
        Self { id, text, images: Vec::new() }
    }
}

/// One message after the instruction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub(crate) enum Message {
    User {
        text: String,
    },
    /// A reply. `origin` matters because signatures are only valid for the provider that issued them.
    Model {
        origin: ProviderKind,
        parts: Vec<ReplyPart>,
    },
    /// The results of all calls in the preceding message, in the same order.
    Tools {
        results: Vec<ToolResult>,
    },
}

/// The length of the conversation when the provider last reported it: tokens, and the number of messages they
/// cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenCount {
    pub tokens: u64,
    pub messages: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    pub(crate) system: String,
    pub(crate) tools: Vec<ToolDefinition>,
    pub(crate) instruction: String,
    /// A summary of the turns before the first message, if the conversation was compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
    pub(crate) messages: Vec<Message>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) measured: Option<TokenCount>,
}

impl Conversation {
    pub fn new(system: &str, tools: Vec<ToolDefinition>, instruction: String) -> Self {
        let system = system.to_owned();
        Self { system, tools, instruction, summary: None, messages: Vec::new(), measured: None }
    }

    /// Replaces the system prompt and the tools.
    pub fn set_system_and_tools(&mut self, system: &str, tools: Vec<ToolDefinition>) {
        if self.system == system && self.tools == tools {
            return;
        }
        self.system = system.to_owned();
        self.tools = tools;
        self.measured = None;
    }

    /// Appends the model's reply and the results of its calls. A call without a result gets a placeholder.
    pub fn push_turn<R: Into<ToolResult>>(&mut self, reply: Reply, results: Vec<R>) {
        let results = results.into_iter().map(Into::into).collect();
        self.push_reply(reply);
        self.push_results(results);
    }

    /// Appends the model's reply and a user message.
    pub fn continue_with(&mut self, reply: Reply, text: &str) {
        self.push_reply(reply);
        self.push_user(text);
    }

    /// Appends the model's last reply.
    pub fn finish(&mut self, reply: Reply) {
        self.push_reply(reply);
    }

    /// Appends a user message.
    pub fn push_user(&mut self, text: &str) {
        self.push_results(Vec::new());
        self.messages.push(Message::User { text: text.to_owned() });
    }

    /// The number of model replies that have not been compacted away.
    pub fn turns(&self) -> usize {
        self.messages.iter().filter(|message| matches!(message, Message::Model { .. })).count()
    }

    /// The approximate size of the next request: the provider's last count plus an estimate for the messages
    /// since.
    pub fn estimated_tokens(&self) -> u64 {
        match self.measured {
            Some(TokenCount { tokens, messages }) => {
                tokens + self.messages.iter().skip(messages).map(Message::estimated_tokens).sum::<u64>()
            }
            None => {
                let tools = serde_json::to_string(&self.tools).map_or(0, |text| text.len());
                let texts = self.system.len() + tools + self.opening().len();
                texts as u64 / BYTES_PER_TOKEN
                    + self.messages.iter().map(Message::estimated_tokens).sum::<u64>()
            }
        }
    }

    /// The approximate size of the messages, whatever the provider has counted.
    pub fn estimated_bytes(&self) -> u64 {
        self.messages.iter().map(Message::estimated_tokens).sum::<u64>() * BYTES_PER_TOKEN
    }

    pub fn to_json(&self) -> Value {
        json!({ "version": VERSION, "conversation": self })
    }

    /// Restores a saved conversation. A call whose result is missing gets a placeholder.
    pub fn from_json(mut saved: Value) -> Result<Self, Fault> {
        let broken = |what: String| {
            Fault::permanent(
                FaultLayer::Store,
                "conversation",
                format!("The saved conversation cannot be resumed: {what}."),
            )
            .hint("Start a new session.")
        };
        let version = saved["version"].as_u64();
        if version != Some(VERSION) {
            let found = version.map_or("no version".to_owned(), |version| format!("version {version}"));
            return Err(broken(format!("it has {found}, but only version {VERSION} is supported")));
        }
        let mut conversation: Self = serde_json::from_value(saved["conversation"].take())
            .map_err(|error| broken(error.to_string()))?;
        conversation.repair();
        Ok(conversation)
    }

    /// The first user message: the instruction and the summary, if there is one.
    pub(crate) fn opening(&self) -> String {
        match &self.summary {
            None => self.instruction.clone(),
            Some(summary) => format!(
                "{}\n\n<summary>\nYou have worked on this before. What happened so far:\n\n{summary}\n</summary>",
                self.instruction
            ),
        }
    }

    fn push_reply(&mut self, reply: Reply) {
        self.push_results(Vec::new());
        let Reply { usage, origin, parts, .. } = reply;
        self.messages.push(Message::Model { origin, parts });
        self.measured = counted(&usage).map(|tokens| TokenCount { tokens, messages: self.messages.len() });
    }

    /// Appends one result for each call of the last message, in order; results of other calls are dropped.
    fn push_results(&mut self, mut results: Vec<ToolResult>) {
        let results: Vec<ToolResult> = self
            .unanswered_calls()
            .into_iter()
            .map(|id| match results.iter().position(|result| result.id == id) {
                Some(at) => results.swap_remove(at),
                None => ToolResult { id, text: NOT_CARRIED_OUT.to_owned(), images: Vec::new() },
            })
            .collect();
        if !results.is_empty() {
            self.messages.push(Message::Tools { results });
        }
    }

    /// The ids of calls in the last message.
    fn unanswered_calls(&self) -> Vec<String> {
        match self.messages.last() {
            Some(message) => message.calls().map(str::to_owned).collect(),
            None => Vec::new(),
        }
    }

    /// Restores the invariant after reading: every call is followed by its result, and there are no other
    /// results.
    fn repair(&mut self) {
        let messages = std::mem::take(&mut self.messages);
        let count = messages.len();
        for message in messages {
            match message {
                Message::Tools { results } => self.push_results(results),
                other => {
                    self.push_results(Vec::new());
                    self.messages.push(other);
                }
            }
        }
        self.push_results(Vec::new());
        if self.messages.len() != count {
            self.measured = None;
        }
    }
}

impl Message {
    pub(crate) fn calls(&self) -> impl Iterator<Item = &str> {
        let parts: &[ReplyPart] = match self {
            Self::Model { parts, .. } => parts,
            Self::User { .. } | Self::Tools { .. } => &[],
        };
        parts.iter().filter_map(|part| match part {
            ReplyPart::Call { id, .. } => Some(id.as_str()),
            ReplyPart::Text { .. }
            | ReplyPart::Thought { .. }
            | ReplyPart::Signature { .. }
            | ReplyPart::Opaque { .. } => None,
        })
    }

    pub(crate) fn estimated_tokens(&self) -> u64 {
        match self {
            Self::User { text } => text.len() as u64 / BYTES_PER_TOKEN,
            Self::Model { parts, .. } => parts.iter().map(ReplyPart::len).sum::<u64>() / BYTES_PER_TOKEN,
            Self::Tools { results } => results.iter().map(ToolResult::estimated_tokens).sum(),
        }
    }
}

impl ToolResult {
    pub(crate) fn estimated_tokens(&self) -> u64 {
        self.text.len() as u64 / BYTES_PER_TOKEN + self.images.len() as u64 * TOKENS_PER_IMAGE
    }
}

/// All tokens of a reply are part of the next request. `None` if the provider does not report usage.
fn counted(usage: &Usage) -> Option<u64> {
    let total = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.output_tokens;
    (usage.input_tokens + usage.cache_read_tokens > 0).then_some(total)
}

#[cfg(test)]
mod tests;
