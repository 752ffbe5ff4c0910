//! The keys of a task: ours, and those of other harnesses with what to write instead.

use super::key_names::{ForeignKey, ForeignKeys, plain_key, unknown_key};
use super::key_problem::KeyProblem;
use super::values::{NO, YES};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Goal,
    Depends,
    Timeout,
    Success,
    Cwd,
    Cli,
    Model,
    MaxRetries,
    MaxIterations,
    StuckAfter,
    Check,
    Issue,
    Foreign(ForeignKey),
}

/// Every spelling, the usual one of each key first.
const NAMES: [(&str, Key); 16] = [
    ("goal", Key::Goal),
    ("depends", Key::Depends),
    ("depends_on", Key::Depends),
    ("timeout", Key::Timeout),
    ("max_time", Key::Timeout),
    ("success", Key::Success),
    ("success_criteria", Key::Success),
    ("cwd", Key::Cwd),
    ("cli", Key::Cli),
    ("model", Key::Model),
    ("max_retries", Key::MaxRetries),
    ("max_iterations", Key::MaxIterations),
    ("stuck_after", Key::StuckAfter),
    ("check", Key::Check),
    ("checks", Key::Check),
    ("issue", Key::Issue),
];

const FOREIGN: ForeignKeys = ForeignKeys(&[
    ("ralph", YES, "every task runs until it is done; write `max_iterations: 1` for a single session"),
    ("completion_promise", &[], "what an agent promises is not enough; write `check:` or `success:`"),
    ("require_tests", NO, "write the command of your tests as a check, such as - check: `make test`"),
    ("test_path", &[], "write the command of your tests as a check, such as - check: `make test`"),
    ("goal_validate", NO, "write `check:` or `success:`"),
    ("goal_threshold", &[], "nothing is done by halves here; write `check:` or `success:`"),
    ("daemon_url", &[], "no other program scores the work; write `check:` or `success:`"),
    ("scoring_interval", &[], "progress is scored after each session; leave it out"),
    ("inject_checklist", NO, "write the list as the goal of the task"),
    ("oscillation_detection", YES, "it is always on; leave it out"),
    (
        "worktree",
        YES,
        "all tasks are done in the workspace of the run, apart from your checkout; leave it out",
    ),
    ("worktree_base", &[], "a task starts from the branch that the run is for; leave it out"),
    ("auto_merge", YES, "what is landed is decided for the run, not for a task; leave it out"),
    ("sync_github", NO, "nothing is written to GitHub by itself; leave it out"),
]);

impl Key {
    pub(super) fn find(name: &str) -> Result<Self, KeyProblem> {
        let plain = plain_key(name);
        let ours = NAMES.iter().find(|(known, _)| *known == plain).map(|(_, key)| *key);
        let found = ours.or_else(|| FOREIGN.find(&plain).map(Self::Foreign));
        found.ok_or_else(|| unknown_key(name, NAMES.iter().map(|(known, _)| *known).chain(FOREIGN.names())))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Foreign(foreign) => foreign.name,
            ours => NAMES.iter().find(|(_, key)| *key == ours).map_or("", |(name, _)| name),
        }
    }

    /// Whether text below the key belongs to its value.
    pub(super) fn has_lines(self) -> bool {
        matches!(self, Self::Goal | Self::Success | Self::Check)
    }
}
