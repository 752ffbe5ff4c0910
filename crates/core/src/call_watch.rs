//! CallWatch: sees every tool call that a session has finished, and notices an agent that repeats itself.

use std::time::Duration;

/// A tool call that has ended.
#[derive(Debug, Clone, Copy)]
pub struct FinishedCall<'a> {
    pub tool: &'a str,
    /// As it was sent.
    pub input: &'a str,
    pub result: &'a str,
    pub elapsed: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepetitionVerdict {
    Fine,
    /// A message for the agent, once for each repetition.
    Tell(String),
    /// The session is stuck; a sentence for people.
    End(String),
}

/// Watches the calls of one session.
pub trait CallWatch: Send {
    fn observe(&mut self, call: FinishedCall<'_>) -> RepetitionVerdict;
}

/// For sessions that may repeat themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCallWatch;

impl CallWatch for NoCallWatch {
    fn observe(&mut self, _call: FinishedCall<'_>) -> RepetitionVerdict {
        RepetitionVerdict::Fine
    }
}
