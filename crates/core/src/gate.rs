//! Gates: checked before every tool call, they may deny it. The strictest decision wins.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hook_runner::HookRunner;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    /// As the agent knows it, e.g. `Bash` or `mcp__autonoe__list`.
    pub name: String,
    pub input: Value,
}

/// Arguments that describe a call best; the first one present is shown.
const SUBJECT_ARGUMENTS: [&str; 9] = [
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "skill",
    "description",
    "deliverableId",
    "bash_id",
];

impl ToolCall {
    /// What the call is about: its command, path or the like.
    pub fn subject(&self) -> Option<&str> {
        SUBJECT_ARGUMENTS.iter().find_map(|name| self.input.get(name)?.as_str())
    }

    /// The command that the call runs; `None` for other calls. Some vendors send it as a list of arguments.
    pub fn command(&self) -> Option<String> {
        match self.input.get("command")? {
            Value::String(command) => Some(command.clone()),
            Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        }
    }
}

/// A gate's decision, ordered from mild to strict: the maximum decides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// The gate has no opinion on this call.
    Abstain,
    Allow,
    /// The reason is shown to the agent.
    Deny(String),
}

/// The session that a call belongs to.
#[derive(Clone, Copy, Default)]
pub struct GateContext<'a> {
    /// Where the session's commands start; `None` means the project root.
    pub cwd: Option<&'a Path>,
    /// `None` if no hook can be run.
    pub hook_runner: Option<&'a dyn HookRunner>,
}

/// Checks a tool call before it runs.
#[async_trait]
pub trait Gate: Send + Sync {
    fn name(&self) -> &str;

    async fn check(&self, call: &ToolCall) -> Decision;

    /// Most gates decide the same in every session.
    async fn check_in(&self, call: &ToolCall, context: GateContext<'_>) -> Decision {
        let _ = context;
        self.check(call).await
    }

    /// Whether no sandbox enforces anything of it, so that an agent that cannot ask must not be used.
    fn must_be_asked(&self) -> bool {
        false
    }
}

/// The combined decision of all gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateRuling {
    /// At least one gate allows the call and none denies it.
    Allowed,
    Denied {
        gate: String,
        reason: String,
    },
}

/// Asks every gate. A call on which all gates abstain is denied.
pub async fn ask(gates: &[Arc<dyn Gate>], call: &ToolCall) -> GateRuling {
    ask_in(gates, call, GateContext::default()).await
}

/// Like [`ask`], for a call of a session.
pub async fn ask_in(gates: &[Arc<dyn Gate>], call: &ToolCall, context: GateContext<'_>) -> GateRuling {
    let mut allowed = false;
    for gate in gates {
        match gate.check_in(call, context).await {
            Decision::Abstain => {}
            Decision::Allow => allowed = true,
            Decision::Deny(reason) => {
                return GateRuling::Denied { gate: gate.name().to_owned(), reason };
            }
        }
    }
    if allowed {
        GateRuling::Allowed
    } else {
        GateRuling::Denied {
            gate: "default".to_owned(),
            reason: format!("No rule allows the tool '{}'.", call.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Decision, Gate, GateRuling, ToolCall, ask};

    struct FixedGate(&'static str, Decision);

    #[async_trait::async_trait]
    impl Gate for FixedGate {
        fn name(&self) -> &str {
            self.0
        }
        async fn check(&self, _: &ToolCall) -> Decision {
            self.1.clone()
        }
    }

    async fn ruling(decisions: &[Decision]) -> GateRuling {
        let gates: Vec<Arc<dyn Gate>> =
            decisions.iter().map(|d| Arc::new(FixedGate("fixed", d.clone())) as Arc<dyn Gate>).collect();
        let call = ToolCall { id: "1".into(), name: "Bash".into(), input: serde_json::json!({}) };
        ask(&gates, &call).await
    }

    #[tokio::test]
    async fn strictest_decision_wins_and_abstaining_denies() {
        use Decision::{Abstain, Allow, Deny};
        assert_eq!(ruling(&[Allow]).await, GateRuling::Allowed);
        assert_eq!(ruling(&[Abstain, Allow]).await, GateRuling::Allowed);
        assert!(
            matches!(ruling(&[Allow, Deny("no".into())]).await, GateRuling::Denied { reason, .. } if reason == "no")
        );
        assert!(matches!(ruling(&[Deny("no".into()), Allow]).await, GateRuling::Denied { .. }));
        assert!(matches!(ruling(&[Abstain]).await, GateRuling::Denied { gate, .. } if gate == "default"));
        assert!(matches!(ruling(&[]).await, GateRuling::Denied { .. }));
    }
}
