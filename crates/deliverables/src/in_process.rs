//! The deliverable tools for the native agent: no server in between, the same names.

use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::instruction::{DeliverableTool, Phase};
use autonoe_tools::{Tool, ToolContext, ToolErrorCode, ToolOutput, ToolSpec};
use serde_json::Value;

use crate::service::DeliverableService;
use crate::spec::spec;

/// Prefix that MCP clients give our tools: the server is called `autonoe`.
pub const MCP_PREFIX: &str = "mcp__autonoe__";

pub fn tools_for(phase: Phase, service: &Arc<DeliverableService>) -> Vec<Arc<dyn Tool>> {
    phase
        .tools()
        .iter()
        .map(|tool| {
            Arc::new(InProcessTool { tool: *tool, phase, service: Arc::clone(service) }) as Arc<dyn Tool>
        })
        .collect()
}

struct InProcessTool {
    tool: DeliverableTool,
    phase: Phase,
    service: Arc<DeliverableService>,
}

#[async_trait]
impl Tool for InProcessTool {
    fn spec(&self) -> ToolSpec {
        let spec = spec(self.tool, self.phase);
        ToolSpec { name: format!("{MCP_PREFIX}{}", spec.name), ..spec }
    }

    async fn call(&self, arguments: Value, _: &ToolContext) -> ToolOutput {
        let answer = self.service.call(self.tool.name(), arguments).await;
        match answer.is_error {
            true => ToolOutput::error(ToolErrorCode::ValidationError, answer.content),
            false => ToolOutput::ok(answer.content),
        }
    }
}
