//! The keys of a task: ours, and those of other harnesses with what to write instead.

use super::problem::RoadmapProblem;
use super::values;

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
    /// A key of another harness, by its place in [`FOREIGN`].
    Foreign(usize),
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

/// Says what is done anyway, so that the key may stay.
const YES: &[&str] = &["true", "yes", "1"];
const NO: &[&str] = &["false", "no", "0"];

/// Keys of other harnesses: which values mean what is done anyway, and what to write instead of all others.
const FOREIGN: [(&str, &[&str], &str); 14] = [
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
    ("worktree", YES, "every task has a workspace of its own; leave it out"),
    ("worktree_base", &[], "a task starts from the branch that the run is for; leave it out"),
    ("auto_merge", YES, "what is landed is decided for the run, not for a task; leave it out"),
    ("sync_github", NO, "nothing is written to GitHub by itself; leave it out"),
];

impl Key {
    pub(super) fn find(name: &str) -> Result<Self, RoadmapProblem> {
        let plain: String = name
            .trim()
            .trim_matches(['*', '`'])
            .to_lowercase()
            .chars()
            .map(|letter| if matches!(letter, ' ' | '-') { '_' } else { letter })
            .collect();
        if let Some((_, key)) = NAMES.iter().find(|(known, _)| *known == plain) {
            return Ok(*key);
        }
        if let Some(place) = FOREIGN.iter().position(|(known, _, _)| *known == plain) {
            return Ok(Self::Foreign(place));
        }
        let known = NAMES.iter().map(|(known, _)| *known).chain(FOREIGN.iter().map(|(known, _, _)| *known));
        let meant = values::meant(&plain, known);
        Err(RoadmapProblem::UnknownKey { name: values::quoted(name.trim()), meant })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Foreign(place) => FOREIGN.get(place).map_or("", |(name, _, _)| name),
            ours => NAMES.iter().find(|(_, key)| *key == ours).map_or("", |(name, _)| name),
        }
    }

    /// Whether text below the key belongs to its value.
    pub(super) fn has_lines(self) -> bool {
        matches!(self, Self::Goal | Self::Success | Self::Check)
    }

    /// An error unless the value of this key of another harness says what is done anyway.
    pub(super) fn accept(self, value: &str) -> Result<(), RoadmapProblem> {
        let Self::Foreign(place) = self else {
            return Ok(());
        };
        match FOREIGN.get(place) {
            Some((_, accepted, _)) if accepted.iter().any(|known| value.eq_ignore_ascii_case(known)) => {
                Ok(())
            }
            Some((key, _, advice)) => Err(RoadmapProblem::Unsupported { key, advice }),
            None => Ok(()),
        }
    }
}
