//! Whether a run starts from scratch.

use autonoe_core::plan::RunState;

/// Whether a new run resumes an earlier run of the same command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResumePolicy {
    /// If its process was killed. Otherwise a new run starts, which may continue with what the plan of the earlier one remembered.
    #[default]
    IfKilled,
    Never,
    /// Never, and what earlier runs remembered is forgotten.
    Fresh,
    /// Unless it completed; if there is none to resume, a new run starts.
    Always,
}

/// Runs of other processes that are in progress.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunsInProgress {
    /// Of agents in workspaces of their own.
    pub agents: Vec<i64>,
    /// Whether a process has the project lock, so that a run over deliverables may be in progress.
    pub deliverables: bool,
}

impl RunsInProgress {
    /// An SQL condition for runs that are not among them.
    pub(super) fn others(&self) -> String {
        let ids: Vec<String> = self.agents.iter().map(i64::to_string).collect();
        let commands = if self.deliverables { "command LIKE 'agent run %'" } else { "TRUE" };
        format!("id NOT IN ({}) AND {commands}", ids.join(", "))
    }
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
