//! Silence: how long an agent may emit no events. An agent that waits for its model forever would block the
//! run forever.

use std::collections::HashSet;
use std::time::Duration;

use crate::duration::format;
use crate::event::AgentEvent;
use crate::fault::{Fault, FaultLayer};

/// Maximum time without events while no tool is running.
pub const MAX_SILENCE: Duration = Duration::from_secs(30 * 60);

/// Maximum time without events while a tool is running, such as a long test.
pub const MAX_SILENCE_IN_TOOL: Duration = Duration::from_secs(6 * 60 * 60);

/// Tracks the running tools of an agent, and so how long it may be silent.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    running: HashSet<String>,
}

impl Silence {
    pub(crate) fn observe(&mut self, event: &AgentEvent) {
        if let AgentEvent::ToolCall(call) = event {
            self.running.insert(call.id.clone());
        } else if let AgentEvent::ToolResult { id, .. } = event {
            self.running.remove(id);
        }
    }

    pub(crate) fn limit(&self) -> Duration {
        if self.running.is_empty() { MAX_SILENCE } else { MAX_SILENCE_IN_TOOL }
    }

    pub(crate) fn fault(&self) -> Fault {
        let tools = if self.running.is_empty() { "no tool" } else { "a tool" };
        let message =
            format!("The agent sent no events for {} while {tools} was running.", format(self.limit()));
        Fault::transient(FaultLayer::Agent, "agent_silent", message)
    }
}
