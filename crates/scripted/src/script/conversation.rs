//! The conversations of a checked script.

use serde_json::Value;

use crate::reply::{ScriptFault, StopReason};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScriptConversation {
    pub name: String,
    /// All of these must occur in the first message or the system prompt.
    pub when: Vec<String>,
    /// `None`: any number.
    pub plays: Option<u32>,
    pub turns: Vec<ScriptTurn>,
}

/// A position in a conversation: the faults that precede it, then the reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ScriptTurn {
    pub faults: Vec<RepeatedFault>,
    /// `None` only in the last turn of a conversation that ends in faults.
    pub reply: Option<ScriptReply>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RepeatedFault {
    pub fault: ScriptFault,
    pub times: u32,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ScriptReply {
    /// All of these must occur in the newest tool results and user messages.
    pub expect: Vec<String>,
    pub thinking: Option<String>,
    pub text: Option<String>,
    pub calls: Vec<ScriptCall>,
    pub stop: StopReason,
    pub usage: ScriptUsage,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScriptCall {
    pub tool: String,
    /// An object, or a string to be sent verbatim.
    pub input: Value,
}

/// Token counts; `None` is estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptUsage {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub reasoning: Option<u64>,
}

impl ScriptTurn {
    /// The next fault after `served` faults of this turn have been served.
    pub fn fault_after(&self, served: u32) -> Option<&ScriptFault> {
        let mut due = 0;
        self.faults.iter().find_map(|repeated| {
            due += repeated.times;
            (served < due).then_some(&repeated.fault)
        })
    }
}
