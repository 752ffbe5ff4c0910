//! Gates: asked before every tool call, they may deny it. The strictest answer wins.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool call an agent wants to make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The agent's id of this call.
    pub id: String,
    /// The tool's name as the agent knows it, e.g. `Bash` or `mcp__autonoe__list`.
    pub name: String,
    /// The arguments.
    pub input: Value,
}

/// A gate's answer, ordered from mild to strict: the maximum of all answers decides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// Not this gate's business.
    Abstain,
    /// Allowed as far as this gate is concerned.
    Allow,
    /// Refused; the reason is shown to the agent.
    Deny(String),
}

/// Looks at a tool call before it runs.
#[async_trait]
pub trait Gate: Send + Sync {
    /// Names the gate in messages.
    fn name(&self) -> &str;

    /// Judges one call.
    async fn check(&self, call: &ToolCall) -> Decision;

    /// Judges one call of a session whose commands start in `cwd` and not in the project's root. For most gates that
    /// makes no difference.
    async fn check_in(&self, call: &ToolCall, cwd: &Path) -> Decision {
        let _ = cwd;
        self.check(call).await
    }
}

/// What all gates together say of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// At least one gate allows it and none denies it.
    Allowed,
    /// Refused by the named gate.
    Denied {
        /// The gate that refused.
        gate: String,
        /// Why.
        reason: String,
    },
}

/// Asks every gate. A call on which all gates abstain is denied: what nobody vouches for does not run.
pub async fn ask(gates: &[Arc<dyn Gate>], call: &ToolCall) -> Ruling {
    ask_in(gates, call, None).await
}

/// Asks every gate about a call of a session whose commands start in `cwd`, or else in the project's root.
pub async fn ask_in(gates: &[Arc<dyn Gate>], call: &ToolCall, cwd: Option<&Path>) -> Ruling {
    let mut vouched = false;
    for gate in gates {
        let decision = match cwd {
            Some(cwd) => gate.check_in(call, cwd).await,
            None => gate.check(call).await,
        };
        match decision {
            Decision::Abstain => {}
            Decision::Allow => vouched = true,
            Decision::Deny(reason) => {
                return Ruling::Denied { gate: gate.name().to_owned(), reason };
            }
        }
    }
    if vouched {
        Ruling::Allowed
    } else {
        Ruling::Denied {
            gate: "default".to_owned(),
            reason: format!("No rule allows the tool '{}'.", call.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Decision, Gate, Ruling, ToolCall, ask};

    struct Fixed(&'static str, Decision);

    #[async_trait::async_trait]
    impl Gate for Fixed {
        fn name(&self) -> &str {
            self.0
        }
        async fn check(&self, _: &ToolCall) -> Decision {
            self.1.clone()
        }
    }

    async fn ruling(decisions: &[Decision]) -> Ruling {
        let gates: Vec<Arc<dyn Gate>> =
            decisions.iter().map(|d| Arc::new(Fixed("fixed", d.clone())) as Arc<dyn Gate>).collect();
        let call = ToolCall { id: "1".into(), name: "Bash".into(), input: serde_json::json!({}) };
        ask(&gates, &call).await
    }

    #[tokio::test]
    async fn strictest_wins_and_silence_denies() {
        use Decision::{Abstain, Allow, Deny};
        assert_eq!(ruling(&[Allow]).await, Ruling::Allowed);
        assert_eq!(ruling(&[Abstain, Allow]).await, Ruling::Allowed);
        assert!(
            matches!(ruling(&[Allow, Deny("no".into())]).await, Ruling::Denied { reason, .. } if reason == "no")
        );
        assert!(matches!(ruling(&[Deny("no".into()), Allow]).await, Ruling::Denied { .. }));
        assert!(matches!(ruling(&[Abstain]).await, Ruling::Denied { gate, .. } if gate == "default"));
        assert!(matches!(ruling(&[]).await, Ruling::Denied { .. }));
    }
}
