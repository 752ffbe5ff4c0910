//! Runs the commands of hooks where the session's own commands run. The agents implement it, since only they know the
//! session's room.

use std::time::Duration;

use async_trait::async_trait;

#[async_trait]
pub trait HookRunner: Send + Sync {
    /// Runs a shell command in the project root, with `input` as its standard input.
    async fn run(&self, command: &str, input: &str, time_limit: Duration) -> HookRun;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRun {
    pub end: HookEnd,
    pub stdout: String,
    pub stderr: String,
}

/// How a hook's command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEnd {
    Exit(i32),
    /// It was killed after its time limit.
    TimedOut,
    /// It printed more than `limit` bytes.
    TooMuchOutput {
        limit: u64,
    },
    NotRun {
        why: String,
    },
}

impl HookRun {
    /// A command that could not be started.
    pub fn not_run(why: String) -> Self {
        Self { end: HookEnd::NotRun { why }, stdout: String::new(), stderr: String::new() }
    }
}
