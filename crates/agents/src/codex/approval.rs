//! What Codex asks, answered by our gates, and why something is refused, told before the refusal.

use autonoe_core::gate::ToolCall;
use serde_json::{Value, json};

use super::item::Deed;
use super::message::Asked;
use super::{CodexAgent, shell};

/// How much of a call is repeated when it is refused.
const MAX_DESCRIBED_CHARS: usize = 200;

impl CodexAgent {
    /// Answers a question as our gates do.
    pub(super) async fn answer(&mut self, request: Value, asked: Asked) {
        let (refusal, form) = match asked {
            Asked::Command { item, line, cwd } => {
                let input = json!({ "command": shell::unwrapped(&line) });
                let call = ToolCall { id: item.clone(), name: "Bash".to_owned(), input };
                let deed = Deed { calls: vec![call], cwd, result: String::new(), is_error: false };
                (self.judge(&item, &deed).await, Form::Decision)
            }
            Asked::Item(item) => {
                let asked = self.seen.open.get(&item).map(|deed| (item, deed.clone()));
                (self.judge_all(asked.into_iter().collect()).await, Form::Decision)
            }
            Asked::Mcp { server, arguments } => {
                (self.judge_all(self.called(&server, &arguments)).await, Form::Action)
            }
            Asked::Unjudged(what) => (Some(Refusal::of_what_cannot_be_judged(what)), Form::Decision),
            Asked::Elicitation => {
                (Some(Refusal::of_what_cannot_be_judged("questions of a server")), Form::Action)
            }
        };
        match refusal {
            None => self.talk.say(&json!({ "id": request, "result": form.accept() })).await,
            Some(refusal) => self.refuse(request, refusal, form).await,
        }
    }

    /// The calls of a server's tools that may be asked about: questions do not name the tool.
    fn called(&self, server: &str, arguments: &Value) -> Vec<(String, Deed)> {
        let tools = format!("mcp__{server}__");
        let is_it = |call: &ToolCall| call.name.starts_with(&tools) && call.input == *arguments;
        let open = self.seen.open.iter().filter(|(_, deed)| deed.calls.iter().any(is_it));
        open.map(|(id, deed)| (id.clone(), deed.clone())).collect()
    }

    /// Refuses what was not told before, and whatever is refused of the rest.
    async fn judge_all(&mut self, deeds: Vec<(String, Deed)>) -> Option<Refusal> {
        if deeds.is_empty() {
            return Some(Refusal::of_what_cannot_be_judged("what was not told before"));
        }
        for (item, deed) in deeds {
            let refusal = self.judge(&item, &deed).await;
            if refusal.is_some() {
                return refusal;
            }
        }
        None
    }

    /// Puts all calls of a deed to the gates.
    pub(super) async fn judge(&mut self, item: &str, deed: &Deed) -> Option<Refusal> {
        for call in &deed.calls {
            if let Some(reason) = self.vendor_session.refusal(call, deed.cwd.as_deref()).await {
                return Some(Refusal { item: Some(item.to_owned()), what: described(call), reason });
            }
        }
        None
    }

    /// Refuses something. The answer has no place for the reason, so the reason is told first: what is told after it
    /// would come too late for the model's next step.
    async fn refuse(&mut self, request: Value, refusal: Refusal, form: Form) {
        let Refusal { item, what, reason } = refusal;
        let words = format!("The rules of this project do not allow {what}: {reason}");
        let steer = json!({
            "threadId": self.seen.thread, "expectedTurnId": self.seen.turn,
            "input": [{ "type": "text", "text": words }],
        });
        self.seen.refusals.extend(item.map(|item| (item, reason)));
        let told = self.request("turn/steer", steer).await;
        self.seen.refusing.insert(told, json!({ "id": request, "result": form.decline() }));
    }
}

/// What is not done, and why.
pub(super) struct Refusal {
    item: Option<String>,
    pub what: String,
    pub reason: String,
}

impl Refusal {
    fn of_what_cannot_be_judged(what: &str) -> Self {
        let reason = "Nobody here can judge it; use a command.".to_owned();
        Self { item: None, what: what.to_owned(), reason }
    }
}

/// A call in the words of anyone who made it.
fn described(call: &ToolCall) -> String {
    let told = ["command", "file_path"].into_iter().find_map(|name| call.input[name].as_str());
    let told: String = told.unwrap_or(&call.name).chars().take(MAX_DESCRIBED_CHARS).collect();
    format!("`{told}`")
}

/// The form of an answer.
#[derive(Clone, Copy)]
enum Form {
    /// To a question about a command or a change.
    Decision,
    /// To what an MCP server asks, or Codex in its name.
    Action,
}

impl Form {
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
