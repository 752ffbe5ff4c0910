//! The gate for the Bash tool: checks its command against the command policy.

use async_trait::async_trait;
use autonoe_core::gate::{Decision, Gate, GateContext, ToolCall};
use serde_json::Value;

use crate::policy::CommandPolicy;
use crate::verdict::CommandVerdict;

#[derive(Debug, Clone)]
pub struct BashGate {
    policy: CommandPolicy,
}

impl BashGate {
    pub fn new(policy: CommandPolicy) -> Self {
        Self { policy }
    }

    fn judge(&self, call: &ToolCall, verdict: impl FnOnce(&str) -> CommandVerdict) -> Decision {
        if call.name != "Bash" {
            return Decision::Abstain;
        }
        let Some(Value::String(command)) = call.input.get("command") else {
            return Decision::Deny("The Bash tool requires 'command' as a string.".into());
        };
        if let Some(switch) = unsafe_switch(&call.input) {
            return Decision::Deny(format!("'{switch}' is not allowed: every command runs in the sandbox."));
        }
        let verdict = verdict(command);
        if verdict.is_allowed() {
            return Decision::Allow;
        }
        let hint = verdict.instead.map(|instead| format!(" Instead: {instead}")).unwrap_or_default();
        Decision::Deny(format!("{}{hint} (rule {})", verdict.reason, verdict.rule))
    }
}

#[async_trait]
impl Gate for BashGate {
    fn name(&self) -> &str {
        "commands"
    }

    async fn check(&self, call: &ToolCall) -> Decision {
        self.judge(call, |command| self.policy.check(command))
    }

    async fn check_in(&self, call: &ToolCall, context: GateContext<'_>) -> Decision {
        match context.cwd {
            Some(cwd) => self.judge(call, |command| self.policy.check_in(cwd, command)),
            None => self.check(call).await,
        }
    }
}

/// An input key whose value would turn off the sandbox or another protection.
fn unsafe_switch(input: &Value) -> Option<&str> {
    let truthy = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !matches!(text.to_lowercase().as_str(), "" | "false" | "0" | "no" | "off"),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Bool(true) | Value::Array(_) | Value::Object(_) => true,
    };
    let unsafe_name = |key: &str| {
        let key: String = key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        ["dangerous", "sandbox", "bypass", "unsafe", "escalat", "permission"]
            .iter()
            .any(|part| key.contains(part))
    };
    let enabled = input.as_object()?.iter().find(|(key, value)| unsafe_name(key) && truthy(value));
    enabled.map(|(key, _)| key.as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use autonoe_core::gate::{Decision, Gate, GateContext, GateRuling, ToolCall, ask_in};
    use autonoe_core::mode::Mode;
    use serde_json::json;

    use super::BashGate;
    use crate::policy::CommandPolicy;
    use crate::policy_options::PolicyOptions;

    async fn check(name: &str, input: serde_json::Value) -> Decision {
        let policy = CommandPolicy::new(PolicyOptions::new(Mode::Run, std::env::temp_dir()));
        BashGate::new(policy).check(&ToolCall { id: "1".into(), name: name.into(), input }).await
    }

    /// The first call changes the directory, the next uses a path relative to it.
    #[tokio::test]
    async fn relative_paths_start_at_the_current_directory() {
        let home = tempfile::TempDir::new().expect("temporary directory");
        let root = home.path().canonicalize().expect("exists").join("proj");
        std::fs::create_dir_all(root.join("src")).expect("made");
        let gates: [Arc<dyn Gate>; 1] =
            [Arc::new(BashGate::new(CommandPolicy::new(PolicyOptions::new(Mode::Run, &root))))];
        let ask = async |cwd: &str, command: &str| {
            let call = ToolCall { id: "1".into(), name: "Bash".into(), input: json!({ "command": command }) };
            let cwd = root.join(cwd);
            let context = GateContext { cwd: Some(&cwd), ..GateContext::default() };
            ask_in(&gates, &call, context).await == GateRuling::Allowed
        };
        assert!(ask("", "cd src").await);
        assert!(ask("src", "touch ../a").await && !ask("", "touch ../a").await);
        assert!(!ask("src", "touch ../../a").await && !ask("src", "echo x > ../.git/config").await);
    }

    #[tokio::test]
    async fn only_bash_calls_are_judged_and_only_by_their_command() {
        assert_eq!(check("Bash", json!({ "command": "ls" })).await, Decision::Allow);
        assert_eq!(check("Read", json!({ "file_path": "x" })).await, Decision::Abstain);
        for input in [
            json!({}),
            json!({ "command": 1 }),
            json!({ "command": ["ls"] }),
            json!("ls"),
            json!({ "command": "rm x" }),
            json!({ "command": "ls", "dangerouslyDisableSandbox": true }),
            json!({ "command": "ls", "dangerously_disable_sandbox": "yes" }),
        ] {
            assert!(matches!(check("Bash", input.clone()).await, Decision::Deny(_)), "{input}");
        }
        let off = json!({ "command": "ls", "dangerouslyDisableSandbox": false, "run_in_background": true });
        assert_eq!(check("Bash", off).await, Decision::Allow);
    }
}
