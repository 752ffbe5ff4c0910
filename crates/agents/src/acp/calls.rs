//! Tracks the tool calls of a session: what the agent has sent about each, and what has been reported.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    self as acp, ContentBlock, ToolCallContent, ToolCallStatus, ToolCallUpdate,
};
use autonoe_core::gate::ToolCall;
use serde_json::Value;

use super::translate::{TranslatedCall, translate, untranslated};

#[derive(Debug)]
pub(super) struct CallTracker {
    /// The agent's MCP servers.
    servers: Vec<String>,
    tracked: HashMap<String, TrackedCall>,
}

#[derive(Debug)]
struct TrackedCall {
    acp_call: acp::ToolCall,
    state: CallState,
    asked_permission: bool,
    /// The reported tool name.
    name: String,
    /// The last successful translation.
    translation: Option<TranslatedCall>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    /// The agent is preparing it.
    Announced,
    /// Reported, and running.
    Reported,
    /// Its end has been reported.
    Closed,
}

/// What to do after a message about a call.
#[derive(Debug, Default)]
pub(super) struct CallActions {
    /// Report this call.
    pub report: Option<ToolCall>,
    /// It runs without a permission request: check this with the gates now.
    pub unapproved: Option<TranslatedCall>,
    pub result: Option<CallEnd>,
}

#[derive(Debug, PartialEq)]
pub(super) struct CallEnd {
    pub id: String,
    pub name: String,
    pub content: String,
    pub is_error: bool,
    /// The terminals whose output is part of the result.
    pub terminals: Vec<String>,
}

impl CallTracker {
    pub(super) fn new(servers: Vec<String>) -> Self {
        Self { servers, tracked: HashMap::new() }
    }

    pub(super) fn announced(&mut self, acp_call: acp::ToolCall) -> CallActions {
        let id = acp_call.tool_call_id.to_string();
        let call = self.tracked.entry(id).or_insert_with(|| TrackedCall::new(acp_call));
        proceed(call, &self.servers)
    }

    pub(super) fn updated(&mut self, update: ToolCallUpdate) -> CallActions {
        let id = self.merge(update);
        match self.tracked.get_mut(&id) {
            Some(call) => proceed(call, &self.servers),
            None => CallActions::default(),
        }
    }

    /// Handles a permission request. Returns the call to report, and the translation for the gates, which is
    /// `None` if it is unclear what the call would do.
    pub(super) fn permission_requested(
        &mut self,
        update: ToolCallUpdate,
    ) -> (Option<ToolCall>, Option<TranslatedCall>) {
        let id = self.merge(update);
        let Some(call) = self.tracked.get_mut(&id) else {
            return (None, None);
        };
        call.asked_permission = true;
        let translated = call.translate(&self.servers);
        (report(call, translated.as_ref()), translated)
    }

    /// Whether a reported command is still running.
    pub(super) fn has_command(&self) -> bool {
        self.tracked.values().any(|call| call.state == CallState::Reported && call.name == "Bash")
    }

    /// Whether the end of a call has been reported.
    pub(super) fn is_closed(&self, id: &str) -> bool {
        self.tracked.get(id).is_some_and(|call| call.state == CallState::Closed)
    }

    /// Marks a refused call as ended, so that later messages about it are ignored. Returns its name.
    pub(super) fn close(&mut self, id: &str) -> String {
        let Some(call) = self.tracked.get_mut(id) else {
            return String::new();
        };
        call.state = CallState::Closed;
        call.name.clone()
    }

    /// Ends all calls that are still open at the end of the turn.
    pub(super) fn unfinished(&mut self) -> Vec<CallEnd> {
        let mut open: Vec<CallEnd> = Vec::new();
        for (id, call) in &mut self.tracked {
            if call.state == CallState::Reported {
                call.state = CallState::Closed;
                let content = "The turn ended before this call did.".to_owned();
                open.push(CallEnd {
                    id: id.clone(),
                    name: call.name.clone(),
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
        let unannounced = || TrackedCall::new(acp::ToolCall::new(update.tool_call_id.clone(), ""));
        let call = self.tracked.entry(id.clone()).or_insert_with(unannounced);
        call.acp_call.update(update.fields);
        if update.meta.is_some() {
            call.acp_call.meta = update.meta;
        }
        id
    }
}

impl TrackedCall {
    fn new(acp_call: acp::ToolCall) -> Self {
        Self {
            acp_call,
            state: CallState::Announced,
            asked_permission: false,
            name: String::new(),
            translation: None,
        }
    }

    /// Translates the call. A permission request without details uses the earlier announcement with the same
    /// id.
    fn translate(&mut self, servers: &[String]) -> Option<TranslatedCall> {
        self.translation = translate(&self.acp_call, servers).or(self.translation.take());
        self.translation.clone()
    }
}

fn proceed(call: &mut TrackedCall, servers: &[String]) -> CallActions {
    let status = call.acp_call.status;
    let mut actions = CallActions::default();
    if status == ToolCallStatus::Pending || call.state == CallState::Closed {
        return actions;
    }
    if call.state == CallState::Announced {
        let translated = call.translate(servers);
        actions.report = report(call, translated.as_ref());
        // Reading is not worth cancelling the turn: the room confines what can be read.
        let is_approved = call.asked_permission;
        actions.unapproved = translated.filter(|translated| !is_approved && acts(&translated.first.name));
    }
    if matches!(status, ToolCallStatus::Completed | ToolCallStatus::Failed) {
        call.state = CallState::Closed;
        actions.result = Some(CallEnd {
            id: call.acp_call.tool_call_id.to_string(),
            name: call.name.clone(),
            content: content(&call.acp_call),
            is_error: status == ToolCallStatus::Failed,
            terminals: terminals(&call.acp_call),
        });
    }
    actions
}

fn report(call: &mut TrackedCall, translated: Option<&TranslatedCall>) -> Option<ToolCall> {
    if call.state != CallState::Announced {
        return None;
    }
    let tool_call =
        translated.map_or_else(|| untranslated(&call.acp_call), |translated| translated.first.clone());
    call.state = CallState::Reported;
    call.name.clone_from(&tool_call.name);
    Some(tool_call)
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

/// The result as text.
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

/// The text of a block, or a placeholder for other kinds.
pub(super) fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(_) => "[image]".to_owned(),
        ContentBlock::Audio(_) => "[audio]".to_owned(),
        ContentBlock::ResourceLink(link) => format!("[{}]", link.uri),
        _ => "[resource]".to_owned(),
    }
}
