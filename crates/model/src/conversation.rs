//! A conversation with a model: the system prompt, the tools on offer, the instruction, and what was said since.
//!
//! It belongs to no provider and can be written down and taken up again. Every call of the model is followed by its
//! result, whatever is done to it; `compact` shortens it, `dialect` says it in the words of a provider.

use autonoe_core::event::Usage;
use autonoe_core::fault::{Fault, Layer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::provider::ProviderKind;
use crate::reply::{Part, Reply};

/// The version of the written form.
const VERSION: u64 = 1;

/// Bytes to a token, roughly. Bytes and not characters: what is not ASCII takes more tokens.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;

/// What an image costs, roughly.
const TOKENS_PER_IMAGE: u64 = 1_500;

/// What the model is told of a call that nobody carried out.
const NOT_CARRIED_OUT: &str = "The call was not carried out.";

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    pub id: String,
    /// What it says.
    pub text: String,
    /// What it shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// `image/png` and the like.
    pub media_type: String,
    /// Its bytes, in base64.
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
    /// What the user says.
    User { text: String },
    /// What the model said, and in whose dialect: signatures mean nothing to another provider.
    Model { origin: ProviderKind, parts: Vec<Part> },
    /// The results of all calls of the message before, in their order.
    Tools { results: Vec<ToolResult> },
}

/// How long the conversation was when the provider last counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub tokens: u64,
    /// How many messages that was.
    pub messages: usize,
}

/// What was said so far, and the tools on offer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    pub(crate) system: String,
    pub(crate) tools: Vec<ToolDefinition>,
    pub(crate) instruction: String,
    /// What happened before the first of the messages, if it was shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
    pub(crate) messages: Vec<Message>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) measured: Option<Measured>,
}

impl Conversation {
    /// A conversation that begins with the user's instruction.
    pub fn new(system: &str, tools: Vec<ToolDefinition>, instruction: String) -> Self {
        let system = system.to_owned();
        Self { system, tools, instruction, summary: None, messages: Vec::new(), measured: None }
    }

    /// Puts a system prompt and tools in the place of those it had.
    pub fn equip(&mut self, system: &str, tools: Vec<ToolDefinition>) {
        if self.system == system && self.tools == tools {
            return;
        }
        self.system = system.to_owned();
        self.tools = tools;
        self.measured = None;
    }

    /// Appends the model's reply and the results of the calls it made. A call without a result is told so.
    pub fn answer<R: Into<ToolResult>>(&mut self, reply: Reply, results: Vec<R>) {
        let results = results.into_iter().map(Into::into).collect();
        self.push_reply(reply);
        self.push_results(results);
    }

    /// Appends the model's reply and something the user says to it.
    pub fn go_on(&mut self, reply: Reply, text: &str) {
        self.push_reply(reply);
        self.ask(text);
    }

    /// Appends the model's last reply.
    pub fn conclude(&mut self, reply: Reply) {
        self.push_reply(reply);
    }

    /// Appends something the user says.
    pub fn ask(&mut self, text: &str) {
        self.push_results(Vec::new());
        self.messages.push(Message::User { text: text.to_owned() });
    }

    /// How many times the model replied, of what is left.
    pub fn turns(&self) -> usize {
        self.messages.iter().filter(|message| matches!(message, Message::Model { .. })).count()
    }

    /// About how many tokens the next request has: what the provider counted last, and a guess for what came after.
    pub fn estimated_tokens(&self) -> u64 {
        match self.measured {
            Some(Measured { tokens, messages }) => {
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

    /// All of it, to be kept.
    pub fn to_json(&self) -> Value {
        json!({ "version": VERSION, "conversation": self })
    }

    /// Takes up what was kept. A call that was cut off from its result gets one.
    pub fn from_json(mut kept: Value) -> Result<Self, Fault> {
        let broken = |what: String| {
            Fault::lasting(
                Layer::Store,
                "conversation",
                format!("A conversation cannot be taken up: {what}."),
            )
            .hint("Start a new one.")
        };
        let version = kept["version"].as_u64();
        if version != Some(VERSION) {
            let found = version.map_or("no version".to_owned(), |version| format!("version {version}"));
            return Err(broken(format!("it has {found}, and only version {VERSION} is understood")));
        }
        let mut conversation: Self =
            serde_json::from_value(kept["conversation"].take()).map_err(|error| broken(error.to_string()))?;
        conversation.settle();
        Ok(conversation)
    }

    /// What the user says first: the instruction, and what happened before the messages that are left.
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
        self.measured = counted(&usage).map(|tokens| Measured { tokens, messages: self.messages.len() });
    }

    /// Answers the calls of the last message, each exactly once and in their order.
    fn push_results(&mut self, mut results: Vec<ToolResult>) {
        let results: Vec<ToolResult> = self
            .open_calls()
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

    /// The ids of the calls that still wait for a result.
    fn open_calls(&self) -> Vec<String> {
        match self.messages.last() {
            Some(message) => message.calls().map(str::to_owned).collect(),
            None => Vec::new(),
        }
    }

    /// Brings what was read into order: results follow their calls, and there are no others.
    fn settle(&mut self) {
        let read = std::mem::take(&mut self.messages);
        let count = read.len();
        for message in read {
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
    /// The ids of the calls in it.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &str> {
        let parts: &[Part] = match self {
            Self::Model { parts, .. } => parts,
            Self::User { .. } | Self::Tools { .. } => &[],
        };
        parts.iter().filter_map(|part| match part {
            Part::Call { id, .. } => Some(id.as_str()),
            Part::Text { .. } | Part::Thought { .. } | Part::Signature { .. } | Part::Opaque { .. } => None,
        })
    }

    pub(crate) fn estimated_tokens(&self) -> u64 {
        match self {
            Self::User { text } => text.len() as u64 / BYTES_PER_TOKEN,
            Self::Model { parts, .. } => parts.iter().map(Part::len).sum::<u64>() / BYTES_PER_TOKEN,
            Self::Tools { results } => results.iter().map(ToolResult::estimated_tokens).sum(),
        }
    }
}

impl ToolResult {
    pub(crate) fn estimated_tokens(&self) -> u64 {
        self.text.len() as u64 / BYTES_PER_TOKEN + self.images.len() as u64 * TOKENS_PER_IMAGE
    }
}

/// Everything the provider counted for a reply is part of the next request; nothing means that it does not count.
fn counted(usage: &Usage) -> Option<u64> {
    let total = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.output_tokens;
    (usage.input_tokens + usage.cache_read_tokens > 0).then_some(total)
}

#[cfg(test)]
mod tests;
