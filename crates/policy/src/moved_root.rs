//! A gate for sessions that see the project at another path than it is at: every path in a call is mapped before the call is judged, and the
//! reason for a denial is mapped back.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::gate::{Decision, Gate, GateContext, ToolCall};
use autonoe_files::PathMapping;
use serde_json::Value;

use crate::path_gate::PATH_FIELDS;

/// Other fields of file tools that may begin with a path.
const PATTERN_FIELDS: [&str; 2] = ["pattern", "glob"];

pub struct MovedRootGate {
    gate: Arc<dyn Gate>,
    mapping: PathMapping,
}

impl MovedRootGate {
    pub fn new(gate: Arc<dyn Gate>, mapping: PathMapping) -> Self {
        Self { gate, mapping }
    }

    fn mapped(&self, call: &ToolCall) -> ToolCall {
        let mut call = call.clone();
        for (field, value) in call.input.as_object_mut().into_iter().flatten() {
            let Value::String(text) = value else { continue };
            if field == "command" {
                *text = self.mapping.text_to_real(text);
            } else if PATH_FIELDS.iter().chain(&PATTERN_FIELDS).any(|name| name == field)
                && let Some(real) = self.mapping.to_real(Path::new(text.as_str())).to_str()
                // A path is not normalized, so that the gates judge what was written.
                && Path::new(text.as_str()).starts_with(&self.mapping.shown)
            {
                *text = real.to_owned();
            }
        }
        call
    }

    fn shown(&self, decision: Decision) -> Decision {
        match decision {
            Decision::Deny(reason) => Decision::Deny(self.mapping.text_to_shown(&reason)),
            other => other,
        }
    }
}

#[async_trait]
impl Gate for MovedRootGate {
    fn name(&self) -> &str {
        self.gate.name()
    }

    async fn check(&self, call: &ToolCall) -> Decision {
        self.shown(self.gate.check(&self.mapped(call)).await)
    }

    async fn check_in(&self, call: &ToolCall, context: GateContext<'_>) -> Decision {
        let cwd = context.cwd.map(|cwd| self.mapping.to_real(cwd));
        let context = GateContext { cwd: cwd.as_deref(), ..context };
        self.shown(self.gate.check_in(&self.mapped(call), context).await)
    }
}

#[cfg(test)]
mod tests {
    use autonoe_core::instruction::Phase;
    use autonoe_core::mode::Mode;
    use serde_json::json;

    use super::*;
    use crate::{PolicyOptions, ToolPattern, gates_for};

    /// The decision of the strictest gate.
    async fn judge(options: &PolicyOptions, name: &str, input: Value, cwd: Option<&Path>) -> Decision {
        let call = ToolCall { id: "1".into(), name: name.into(), input };
        let mut decided = Decision::Abstain;
        for gate in gates_for(Phase::Coding, options) {
            let context = GateContext { cwd, ..GateContext::default() };
            match gate.check_in(&call, context).await {
                Decision::Deny(reason) => return Decision::Deny(reason),
                Decision::Allow => decided = Decision::Allow,
                Decision::Abstain => {}
            }
        }
        decided
    }

    #[tokio::test]
    async fn the_shown_path_is_the_project() {
        let place = tempfile::tempdir().expect("made");
        let real = place.path().canonicalize().expect("there");
        std::fs::create_dir(real.join("src")).expect("made");
        let mut options = PolicyOptions::new(Mode::Run, &real);
        options.tools =
            ["Write", "Read", "Bash"].map(|name| name.parse::<ToolPattern>().expect("valid")).into();
        options.permissions = ["Write(./**)", "Bash(*)"].map(|rule| rule.parse().expect("valid")).into();
        options.mapping = Some(PathMapping { real: real.clone(), shown: "/home/me/project".into() });
        let shown = Path::new("/home/me/project/src");
        for input in [
            json!({"file_path": "/home/me/project/src/a.rs"}),
            json!({"file_path": "src/a.rs"}),
            json!({"file_path": real.join("src/a.rs")}),
        ] {
            let decision = judge(&options, "Write", input.clone(), None).await;
            assert!(!matches!(decision, Decision::Deny(_)), "{input} {decision:?}");
        }
        for path in ["/home/me/project2/a.rs", "/home/me/project/../a.rs", "/home/me/project/.git/config"] {
            let decision = judge(&options, "Write", json!({"file_path": path}), None).await;
            assert!(matches!(decision, Decision::Deny(_)), "{path} {decision:?}");
        }
        let command = json!({"command": "cd /home/me/project && mkdir /home/me/project/src/b"});
        assert_eq!(judge(&options, "Bash", command, Some(shown)).await, Decision::Allow);
        let command = json!({"command": "mkdir /home/me/project/.git/x"});
        assert!(matches!(judge(&options, "Bash", command, Some(shown)).await, Decision::Deny(_)));
        let command = json!({"command": "touch /home/me/project/src/../../x"});
        let Decision::Deny(reason) = judge(&options, "Bash", command, Some(shown)).await else {
            panic!("allowed")
        };
        assert!(reason.contains("/home/me/project/src"), "{reason}");
    }
}
