//! The book of a session's tool calls: what is known of each so far, and what has been told of it.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    self as acp, ContentBlock, ToolCallContent, ToolCallStatus, ToolCallUpdate,
};
use autonoe_core::gate::ToolCall;
use serde_json::Value;

use super::translate::{Translated, as_it_is, translate};

/// The calls of a session.
#[derive(Debug)]
pub(super) struct Calls {
    /// The MCP servers that the agent was given.
    servers: Vec<String>,
    known: HashMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    said: acp::ToolCall,
    state: State,
    was_asked: bool,
    /// The name under which it was told.
    name: String,
    /// What it was understood to be, last time it could be.
    understood: Option<Translated>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The agent prepares it.
    Heard,
    /// It has been told and runs.
    Told,
    /// Its end has been told.
    Closed,
}

/// What is to be done about a call after something new was heard of it.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// It is to be told.
    pub tell: Option<ToolCall>,
    /// It runs although nobody was asked: what the gates should be asked now.
    pub unasked: Option<Translated>,
    /// It has ended.
    pub result: Option<Ended>,
}

/// How a call ended.
#[derive(Debug, PartialEq)]
pub(super) struct Ended {
    pub id: String,
    pub name: String,
    pub content: String,
    pub is_error: bool,
    /// The terminals whose output is a part of it.
    pub terminals: Vec<String>,
}

impl Calls {
    /// No calls yet, of an agent that was given these MCP servers.
    pub(super) fn new(servers: Vec<String>) -> Self {
        Self { servers, known: HashMap::new() }
    }

    /// A call is announced.
    pub(super) fn announced(&mut self, said: acp::ToolCall) -> Steps {
        let id = said.tool_call_id.to_string();
        let known = self.known.entry(id).or_insert_with(|| Known::new(said));
        proceed(known, &self.servers)
    }

    /// More is known of a call.
    pub(super) fn updated(&mut self, update: ToolCallUpdate) -> Steps {
        let known = self.merge(update);
        // Borrowed anew, since the servers are needed beside it.
        match self.known.get_mut(&known) {
            Some(known) => proceed(known, &self.servers),
            None => Steps::default(),
        }
    }

    /// The agent asks for a call: what is to be told of it, and what the gates should be asked; none if it is
    /// not known what the call would do.
    pub(super) fn asked(&mut self, update: ToolCallUpdate) -> (Option<ToolCall>, Option<Translated>) {
        let id = self.merge(update);
        let Some(known) = self.known.get_mut(&id) else {
            return (None, None);
        };
        known.was_asked = true;
        let translated = known.understand(&self.servers);
        (tell(known, translated.as_ref()), translated)
    }

    /// Whether a command has been told that has not ended.
    pub(super) fn has_command(&self) -> bool {
        self.known.values().any(|known| known.state == State::Told && known.name == "Bash")
    }

    /// Whether the end of a call has been told.
    pub(super) fn is_closed(&self, id: &str) -> bool {
        self.known.get(id).is_some_and(|known| known.state == State::Closed)
    }

    /// A call was refused, and that has been told: what else is said of it is not.
    pub(super) fn close(&mut self, id: &str) -> String {
        let Some(known) = self.known.get_mut(id) else {
            return String::new();
        };
        known.state = State::Closed;
        known.name.clone()
    }

    /// The turn is over: what has not ended will not.
    pub(super) fn unfinished(&mut self) -> Vec<Ended> {
        let mut open: Vec<Ended> = Vec::new();
        for (id, known) in &mut self.known {
            if known.state == State::Told {
                known.state = State::Closed;
                let content = "The turn ended before this call did.".to_owned();
                open.push(Ended {
                    id: id.clone(),
                    name: known.name.clone(),
                    content,
                    is_error: true,
                    terminals: Vec::new(),
                });
            }
        }
        open.sort_by(|one, other| one.id.cmp(&other.id));
        open
    }

    fn merge(&mut self, update: ToolCallUpdate) -> String {
        let id = update.tool_call_id.to_string();
        let unheard = || Known::new(acp::ToolCall::new(update.tool_call_id.clone(), ""));
        let known = self.known.entry(id.clone()).or_insert_with(unheard);
        known.said.update(update.fields);
        if update.meta.is_some() {
            known.said.meta = update.meta;
        }
        id
    }
}

impl Known {
    fn new(said: acp::ToolCall) -> Self {
        Self { said, state: State::Heard, was_asked: false, name: String::new(), understood: None }
    }

    /// What the call is. A question that does not say it is about what was announced under the same id.
    fn understand(&mut self, servers: &[String]) -> Option<Translated> {
        self.understood = translate(&self.said, servers).or(self.understood.take());
        self.understood.clone()
    }
}

fn proceed(known: &mut Known, servers: &[String]) -> Steps {
    let status = known.said.status;
    let mut steps = Steps::default();
    if status == ToolCallStatus::Pending || known.state == State::Closed {
        return steps;
    }
    if known.state == State::Heard {
        let translated = known.understand(servers);
        steps.tell = tell(known, translated.as_ref());
        // Looking around is not worth breaking work off: what may be read is held by the room.
        steps.unasked = translated.filter(|call| !known.was_asked && acts(&call.first.name));
    }
    if matches!(status, ToolCallStatus::Completed | ToolCallStatus::Failed) {
        known.state = State::Closed;
        steps.result = Some(Ended {
            id: known.said.tool_call_id.to_string(),
            name: known.name.clone(),
            content: content(&known.said),
            is_error: status == ToolCallStatus::Failed,
            terminals: terminals(&known.said),
        });
    }
    steps
}

fn tell(known: &mut Known, translated: Option<&Translated>) -> Option<ToolCall> {
    if known.state != State::Heard {
        return None;
    }
    let call = translated.map_or_else(|| as_it_is(&known.said), |translated| translated.first.clone());
    known.state = State::Told;
    known.name.clone_from(&call.name);
    Some(call)
}

fn acts(name: &str) -> bool {
    matches!(name, "Bash" | "Write" | "Edit" | "WebFetch") || name.starts_with("mcp__")
}

fn terminals(call: &acp::ToolCall) -> Vec<String> {
    let ids = call.content.iter().filter_map(|content| match content {
        ToolCallContent::Terminal(terminal) => Some(terminal.terminal_id.to_string()),
        _ => None,
    });
    ids.collect()
}

/// What a call brought, as text.
fn content(call: &acp::ToolCall) -> String {
    let parts = call.content.iter().filter_map(|content| match content {
        ToolCallContent::Content(content) => Some(block_text(&content.content)),
        ToolCallContent::Diff(diff) => Some(format!("[changed {}]", diff.path.display())),
        _ => None,
    });
    let text = parts.collect::<Vec<_>>().join("\n");
    match &call.raw_output {
        Some(output) if text.is_empty() => raw_text(output),
        _ => text,
    }
}

fn raw_text(output: &Value) -> String {
    let fields = ["formatted_output", "aggregated_output", "output"];
    let found = output.as_str().or_else(|| fields.iter().find_map(|field| output[*field].as_str()));
    found.map_or_else(|| output.to_string(), str::to_owned)
}

/// What is said in a block, or what kind of block it is.
pub(super) fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(_) => "[image]".to_owned(),
        ContentBlock::Audio(_) => "[audio]".to_owned(),
        ContentBlock::ResourceLink(link) => format!("[{}]", link.uri),
        _ => "[resource]".to_owned(),
    }
}
