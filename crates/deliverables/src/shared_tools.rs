//! Tools that a harness has only inside a fleet. What they do is decided by the code that gives them to the service.

use autonoe_core::instruction::Phase;
use autonoe_tools::ToolSpec;
use serde_json::Value;

use crate::call_result::CallResult;

/// Tools beside those of deliverables, on the same server. Calls may wait for other processes.
pub trait SharedTools: Send + Sync {
    /// Under their short names.
    fn specs(&self) -> Vec<ToolSpec>;

    /// `tool` is one of the short names.
    fn call(&self, tool: &str, arguments: &Value) -> CallResult;
}

/// The tools that a session of `phase` gets: one that only looks changes nothing for others either.
pub(crate) fn offered(tools: &dyn SharedTools, phase: Phase) -> Vec<ToolSpec> {
    let has_tools = !phase.tools().is_empty();
    tools.specs().into_iter().filter(|spec| has_tools && (phase.may_write() || spec.read_only)).collect()
}
