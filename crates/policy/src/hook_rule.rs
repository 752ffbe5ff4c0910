//! A PreToolUse hook: which tools it is for, and the command that decides.

mod matcher;

use std::time::Duration;

pub use matcher::HookMatcher;

#[derive(Debug, Clone)]
pub struct HookRule {
    pub matcher: HookMatcher,
    /// A shell command.
    pub command: String,
    pub time_limit: Duration,
}
