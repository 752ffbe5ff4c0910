//! Whether a run starts from scratch.

use autonoe_core::plan::RunState;

/// Whether a new run resumes an earlier run of the same command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResumePolicy {
    /// If its process was killed.
    #[default]
    IfKilled,
    Never,
    /// Unless it completed; if there is none to resume, a new run starts.
    Always,
}

/// How a run starts.
#[derive(Debug)]
pub struct RunStart {
    pub run: i64,
    /// Empty for a new run.
    pub state: RunState,
    /// True if an earlier process started this run.
    pub resumed: bool,
}
