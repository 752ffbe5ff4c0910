//! The tool calls of a session: which are open, how long they took, and what a [`CallWatch`] says about those that ended.

use std::collections::HashMap;
use std::time::Duration;

use crate::call_watch::{CallWatch, FinishedCall, RepetitionVerdict};
use crate::event::AgentEvent;
use crate::gate::ToolCall;
use crate::plan::SessionOutput;

/// Commands of a session that are remembered.
const MAX_COMMANDS: usize = 1000;

pub(super) struct CallLog {
    watch: Box<dyn CallWatch>,
    /// By call id, with the time at which each began.
    open: HashMap<String, (ToolCall, Duration)>,
}

impl CallLog {
    pub(super) fn new(watch: Box<dyn CallWatch>) -> Self {
        Self { watch, open: HashMap::new() }
    }

    pub(super) fn observe(
        &mut self,
        event: &AgentEvent,
        now: Duration,
        output: &mut SessionOutput,
    ) -> RepetitionVerdict {
        match event {
            AgentEvent::ToolCall(call) => {
                self.open.insert(call.id.clone(), (call.clone(), now));
                RepetitionVerdict::Fine
            }
            AgentEvent::ToolResult { id, content, .. } => match self.open.remove(id) {
                Some((call, began)) => self.finished(&call, content, now.saturating_sub(began), output),
                None => RepetitionVerdict::Fine,
            },
            AgentEvent::Working { .. }
            | AgentEvent::ModelCallStarted { .. }
            | AgentEvent::Chunk { .. }
            | AgentEvent::ModelCallEnded { .. }
            | AgentEvent::Conversation { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Warning { .. }
            | AgentEvent::UserMessage { .. }
            | AgentEvent::HostRefused { .. }
            | AgentEvent::Answer { .. }
            | AgentEvent::End { .. } => RepetitionVerdict::Fine,
        }
    }

    fn finished(
        &mut self,
        call: &ToolCall,
        result: &str,
        elapsed: Duration,
        output: &mut SessionOutput,
    ) -> RepetitionVerdict {
        if let Some(command) = call.command() {
            if output.commands.len() < MAX_COMMANDS {
                output.commands.push(command);
            }
            output.in_commands += elapsed;
        }
        let input = call.input.to_string();
        self.watch.observe(FinishedCall { tool: &call.name, input: &input, result, elapsed })
    }
}
