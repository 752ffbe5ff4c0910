//! Which tools exist for an agent. What is not listed is not vouched for, and so does not run.
//!
//! A listed tool may be used; what it may be used for is the other gates' business. In `sync` the list of seed 002 §9.7
//! is closed: nothing that a project adds can write there, reach the network or start a server.

use async_trait::async_trait;
use autonoe_core::gate::{Decision, Gate, ToolCall};
use autonoe_core::mode::Mode;

use crate::tool_pattern::{ToolPattern, is_deliverable_tool};

/// The tools that `sync` may have, if they are listed: those that read, and those whose every use is judged.
const SYNC_TOOLS: [&str; 11] =
    ["Read", "Glob", "Grep", "LS", "Bash", "BashOutput", "KillShell", "Write", "Edit", "TodoWrite", "Skill"];

/// Allows the listed tools.
pub struct ToolGate {
    tools: Vec<ToolPattern>,
    mode: Mode,
}

impl ToolGate {
    /// A gate for these tools, `allowedTools` merged with the baseline.
    pub fn new(tools: Vec<ToolPattern>, mode: Mode) -> Self {
        Self { tools, mode }
    }
}

#[async_trait]
impl Gate for ToolGate {
    fn name(&self) -> &str {
        "tools"
    }

    async fn check(&self, call: &ToolCall) -> Decision {
        let name = call.name.as_str();
        if is_deliverable_tool(name) {
            return Decision::Allow;
        }
        if self.mode == Mode::Sync && !SYNC_TOOLS.contains(&name) {
            let tools = SYNC_TOOLS.join(", ");
            return Decision::Deny(format!(
                "The tool '{name}' is not for sync, which only verifies. Its tools are {tools} and the mcp__autonoe__ ones."
            ));
        }
        if self.tools.iter().any(|tool| tool.matches(name)) { Decision::Allow } else { Decision::Abstain }
    }
}

#[cfg(test)]
mod tests {
    use autonoe_core::gate::{Decision, Gate, ToolCall};
    use autonoe_core::mode::Mode;
    use serde_json::json;

    use super::ToolGate;

    async fn check(mode: Mode, tools: &[&str], name: &str) -> Decision {
        let tools = tools.iter().map(|tool| tool.parse().expect("a tool")).collect();
        ToolGate::new(tools, mode)
            .check(&ToolCall { id: "1".into(), name: name.into(), input: json!({}) })
            .await
    }

    #[tokio::test]
    async fn seed_002_9_2_what_is_listed_is_allowed_and_nothing_else() {
        let tools = ["Read", "Task", "mcp__playwright__*"];
        for name in ["Read", "Task", "mcp__playwright__browser_click", "mcp__autonoe__list"] {
            assert_eq!(check(Mode::Run, &tools, name).await, Decision::Allow, "{name}");
        }
        for name in
            ["Write", "read", "Tasks", "mcp__playwright", "mcp__play__x", "mcp__autonoe__shell", "", "*"]
        {
            assert_eq!(check(Mode::Run, &tools, name).await, Decision::Abstain, "{name}");
        }
    }

    #[tokio::test]
    async fn seed_002_9_7_sync_has_a_closed_list_whatever_a_project_adds() {
        let added =
            ["NotebookEdit", "MultiEdit", "Task", "WebFetch", "WebSearch", "mcp__playwright__*", "mcp__a__b"];
        let baseline = [
            "Read",
            "Write",
            "Edit",
            "Glob",
            "Grep",
            "Bash",
            "BashOutput",
            "KillShell",
            "TodoWrite",
            "Skill",
        ];
        let tools = [&baseline[..], &added[..]].concat();
        for name in baseline.iter().chain(&["mcp__autonoe__verify"]) {
            assert_eq!(check(Mode::Sync, &tools, name).await, Decision::Allow, "{name}");
        }
        for name in added.iter().chain(&["mcp__playwright__browser_click", "Unknown"]) {
            assert!(matches!(check(Mode::Sync, &tools, name).await, Decision::Deny(_)), "{name}");
        }
        assert_eq!(check(Mode::Sync, &baseline, "LS").await, Decision::Abstain, "not listed");
    }
}
