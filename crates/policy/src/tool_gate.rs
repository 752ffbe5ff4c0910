//! Decides which tools an agent has. A tool that is not listed is not allowed, so it does not run.
//!
//! How a listed tool may be used is decided by the other gates. In `sync` the list of seed 002 §9.7 is closed: no tool
//! that a project adds can write, reach the network or start a server.

use async_trait::async_trait;
use autonoe_core::gate::{Decision, Gate, ToolCall};
use autonoe_core::mode::Mode;

use crate::tool_pattern::{ToolPattern, is_deliverable_tool};

/// The tools that `sync` may have, if they are listed: those that only read, and those whose every call is checked.
const SYNC_TOOLS: [&str; 11] =
    ["Read", "Glob", "Grep", "LS", "Bash", "BashOutput", "KillShell", "Write", "Edit", "TodoWrite", "Skill"];

pub struct ToolGate {
    tools: Vec<ToolPattern>,
    mode: Mode,
}

impl ToolGate {
    /// `tools` is `allowedTools` merged with the baseline.
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
                "The tool '{name}' is not available in sync, which only verifies. Available: {tools} and the mcp__autonoe__ tools."
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
    async fn seed_002_9_2_only_listed_tools_are_allowed() {
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
