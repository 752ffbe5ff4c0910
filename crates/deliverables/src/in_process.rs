//! The deliverable tools for the native agent: no server in between, the same names.

use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::instruction::Phase;
use autonoe_tools::{Tool, ToolContext, ToolErrorCode, ToolOutput, ToolSpec};
use serde_json::Value;

use crate::service::DeliverableService;
use crate::spec::spec;

/// Prefix that MCP clients give our tools: the server is called `autonoe`.
pub const MCP_PREFIX: &str = "mcp__autonoe__";

pub fn tools_for(phase: Phase, service: &Arc<DeliverableService>) -> Vec<Arc<dyn Tool>> {
    let own = phase.tools().iter().map(|tool| spec(*tool, phase));
    own.chain(service.shared_specs(phase))
        .map(|spec| Arc::new(InProcessTool { spec, service: Arc::clone(service) }) as Arc<dyn Tool>)
        .collect()
}

struct InProcessTool {
    /// Under its short name.
    spec: ToolSpec,
    service: Arc<DeliverableService>,
}

#[async_trait]
impl Tool for InProcessTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: format!("{MCP_PREFIX}{}", self.spec.name), ..self.spec.clone() }
    }

    async fn call(&self, arguments: Value, _: &ToolContext) -> ToolOutput {
        let answer = self.service.call(&self.spec.name, arguments).await;
        match answer.is_error {
            true => ToolOutput::error(ToolErrorCode::ValidationError, answer.content),
            false => ToolOutput::ok(answer.content),
        }
    }
}
