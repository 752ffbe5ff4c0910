//! Silence: how long an agent may say nothing. An agent that waits for its model for ever would hold the run for ever.

use std::collections::HashSet;
use std::time::Duration;

use crate::duration::format;
use crate::event::AgentEvent;
use crate::fault::{Fault, Layer};

/// How long an agent may say nothing while none of its tools is running.
pub const MAX_SILENCE: Duration = Duration::from_secs(30 * 60);

/// How long an agent may say nothing while one of its tools is running, such as a long test.
pub const MAX_SILENCE_IN_TOOL: Duration = Duration::from_secs(6 * 60 * 60);

/// Knows which tools of an agent are running, and so how long it may be silent.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    running: HashSet<String>,
}

impl Silence {
    /// Takes note of an event.
    pub(crate) fn hear(&mut self, event: &AgentEvent) {
        if let AgentEvent::ToolCall(call) = event {
            self.running.insert(call.id.clone());
        } else if let AgentEvent::ToolResult { id, .. } = event {
            self.running.remove(id);
        }
    }

    /// How long the agent may be silent now.
    pub(crate) fn limit(&self) -> Duration {
        if self.running.is_empty() { MAX_SILENCE } else { MAX_SILENCE_IN_TOOL }
    }

    /// The agent was silent for too long.
    pub(crate) fn fault(&self) -> Fault {
        let tools = if self.running.is_empty() { "no tool was" } else { "a tool was" };
        let message = format!("The agent said nothing for {} while {tools} running.", format(self.limit()));
        Fault::passing(Layer::Agent, "agent_silent", message)
    }
}
