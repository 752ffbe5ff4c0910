//! Gates: checked before every tool call, they may deny it. The strictest decision wins.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    /// As the agent knows it, e.g. `Bash` or `mcp__autonoe__list`.
    pub name: String,
    pub input: Value,
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

/// Checks a tool call before it runs.
#[async_trait]
pub trait Gate: Send + Sync {
    fn name(&self) -> &str;

    async fn check(&self, call: &ToolCall) -> Decision;

    /// For a session whose commands start in `cwd` instead of the project root. Most gates ignore the
    /// difference.
    async fn check_in(&self, call: &ToolCall, cwd: &Path) -> Decision {
        let _ = cwd;
        self.check(call).await
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
    ask_in(gates, call, None).await
}

/// Like [`ask`], for commands that start in `cwd`; `None` means the project root.
pub async fn ask_in(gates: &[Arc<dyn Gate>], call: &ToolCall, cwd: Option<&Path>) -> GateRuling {
    let mut allowed = false;
    for gate in gates {
        let decision = match cwd {
            Some(cwd) => gate.check_in(call, cwd).await,
            None => gate.check(call).await,
        };
        match decision {
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
