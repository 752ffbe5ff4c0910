//! Which tools exist for an agent. What is not listed is not vouched for, and so does not run.

use async_trait::async_trait;
use autonoe_core::gate::{Decision, Gate, ToolCall};

/// The built-in tools of seed 002's baseline.
const TOOLS: [&str; 6] = ["Read", "Write", "Edit", "Glob", "Grep", "Bash"];

/// The deliverable tools; which of them a phase has is decided by whoever carries them out.
const DELIVERABLE_TOOLS: &str = "mcp__autonoe__";

/// Allows the known tools.
pub struct ToolGate;

#[async_trait]
impl Gate for ToolGate {
    fn name(&self) -> &str {
        "tools"
    }

    async fn check(&self, call: &ToolCall) -> Decision {
        if TOOLS.contains(&call.name.as_str()) || call.name.starts_with(DELIVERABLE_TOOLS) {
            Decision::Allow
        } else {
            Decision::Abstain
        }
    }
}
