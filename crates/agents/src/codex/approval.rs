//! Answers Codex's approval requests with the decision of our gates. The reason of a refusal is sent before
//! the refusal.

use autonoe_core::gate::ToolCall;
use serde_json::{Value, json};

use super::item::CodexAction;
use super::message::ApprovalRequest;
use super::{CodexAgent, shell};

const MAX_DESCRIBED_CHARS: usize = 200;

impl CodexAgent {
    pub(super) async fn answer(&mut self, request: Value, approval: ApprovalRequest) {
        let (refusal, format) = match approval {
            ApprovalRequest::Command { item, line, cwd } => {
                let input = json!({ "command": shell::unwrap_shell(&line) });
                let call = ToolCall { id: item.clone(), name: "Bash".to_owned(), input };
                let action = CodexAction { calls: vec![call], cwd, result: String::new(), is_error: false };
                (self.judge(&item, &action).await, ApprovalFormat::Decision)
            }
            ApprovalRequest::FileChange(item) => {
                let action = self.state.open.get(&item).map(|action| (item, action.clone()));
                (self.judge_all(action.into_iter().collect()).await, ApprovalFormat::Decision)
            }
            ApprovalRequest::Mcp { server, arguments } => {
                (self.judge_all(self.matching_calls(&server, &arguments)).await, ApprovalFormat::Action)
            }
            ApprovalRequest::Unsupported(what) => {
                (Some(ActionRefusal::unsupported(what)), ApprovalFormat::Decision)
            }
            ApprovalRequest::Elicitation => {
                (Some(ActionRefusal::unsupported("questions of an MCP server")), ApprovalFormat::Action)
            }
        };
        match refusal {
            None => self.process.send(&json!({ "id": request, "result": format.accept() })).await,
            Some(refusal) => self.refuse(request, refusal, format).await,
        }
    }

    /// The open calls that a request may be about: it names the server and the arguments, but not the tool.
    fn matching_calls(&self, server: &str, arguments: &Value) -> Vec<(String, CodexAction)> {
        let tools = format!("mcp__{server}__");
        let matches = |call: &ToolCall| call.name.starts_with(&tools) && call.input == *arguments;
        let open = self.state.open.iter().filter(|(_, action)| action.calls.iter().any(matches));
        open.map(|(id, action)| (id.clone(), action.clone())).collect()
    }

    /// The first refusal. Without any action the request is refused, since it is unknown what it is about.
    async fn judge_all(&mut self, actions: Vec<(String, CodexAction)>) -> Option<ActionRefusal> {
        if actions.is_empty() {
            return Some(ActionRefusal::unsupported("an action that was not announced"));
        }
        for (item, action) in actions {
            let refusal = self.judge(&item, &action).await;
            if refusal.is_some() {
                return refusal;
            }
        }
        None
    }

    /// Checks all calls of an action with the gates.
    pub(super) async fn judge(&mut self, item: &str, action: &CodexAction) -> Option<ActionRefusal> {
        for call in &action.calls {
            if let Some(reason) = self.vendor_session.refusal(call, action.cwd.as_deref()).await {
                return Some(ActionRefusal { item: Some(item.to_owned()), what: described(call), reason });
            }
        }
        None
    }

    /// Declines a request. The response has no field for a reason, so the reason is sent first: sent
    /// afterwards, it would arrive too late for the model's next step.
    async fn refuse(&mut self, request: Value, refusal: ActionRefusal, format: ApprovalFormat) {
        let ActionRefusal { item, what, reason } = refusal;
        let text = format!("The rules of this project do not allow {what}: {reason}");
        let steer = self.steering_request(&text);
        self.state.refusals.extend(item.map(|item| (item, reason)));
        let steer_id = self.request("turn/steer", steer).await;
        self.state.pending_declines.insert(steer_id, json!({ "id": request, "result": format.decline() }));
    }
}

pub(super) struct ActionRefusal {
    item: Option<String>,
    pub what: String,
    pub reason: String,
}

impl ActionRefusal {
    fn unsupported(what: &str) -> Self {
        let reason = "autonoe cannot check it; use a command instead.".to_owned();
        Self { item: None, what: what.to_owned(), reason }
    }
}

fn described(call: &ToolCall) -> String {
    let subject = ["command", "file_path"].into_iter().find_map(|name| call.input[name].as_str());
    let subject: String = subject.unwrap_or(&call.name).chars().take(MAX_DESCRIBED_CHARS).collect();
    format!("`{subject}`")
}

#[derive(Clone, Copy)]
enum ApprovalFormat {
    /// For commands and file changes.
    Decision,
    /// For requests of MCP servers, and of Codex on their behalf.
    Action,
}

impl ApprovalFormat {
    fn accept(self) -> Value {
        match self {
            Self::Decision => json!({ "decision": "accept" }),
            Self::Action => json!({ "action": "accept", "content": {} }),
        }
    }

    fn decline(self) -> Value {
        match self {
            Self::Decision => json!({ "decision": "decline" }),
            Self::Action => json!({ "action": "decline" }),
        }
    }
}
