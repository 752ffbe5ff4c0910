//! The tool calls of a session: which are open, how long they took, and what a [`CallWatch`] says about those that ended.
//!
//! Calls within another call, those of a sub-agent, are not watched: several sub-agents may honestly read the same file, and their turns
//! are limited.

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
    /// By call id.
    open: HashMap<String, OpenCall>,
    /// Calls that have begun.
    begun: u64,
}

struct OpenCall {
    call: ToolCall,
    began: Duration,
    /// Its number in the session.
    number: u64,
}

impl CallLog {
    pub(super) fn new(watch: Box<dyn CallWatch>) -> Self {
        Self { watch, open: HashMap::new(), begun: 0 }
    }

    pub(super) fn observe(
        &mut self,
        event: &AgentEvent,
        now: Duration,
        output: &mut SessionOutput,
    ) -> RepetitionVerdict {
        if let AgentEvent::ToolCall(call) = event {
            self.begun += 1;
            let open = OpenCall { call: call.clone(), began: now, number: self.begun };
            self.open.insert(call.id.clone(), open);
        }
        if let AgentEvent::ToolResult { id, content, .. } = event
            && let Some(call) = self.open.remove(id)
        {
            return self.finished(&call, content, now.saturating_sub(call.began), output);
        }
        RepetitionVerdict::Fine
    }

    fn finished(
        &mut self,
        OpenCall { call, number, .. }: &OpenCall,
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
        if self.open.values().any(|other| other.number < *number) {
            return RepetitionVerdict::Fine;
        }
        let input = call.input.to_string();
        self.watch.observe(FinishedCall { tool: &call.name, input: &input, result, elapsed })
    }
}
