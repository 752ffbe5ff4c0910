//! The keys of a fleet file: ours, and those of other harnesses with what to write instead.

use autonoe_harness::roadmap::values;

use super::problem::FleetProblem;
use crate::strategy::CoordinationStrategy;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Objective,
    Strategy,
    Harnesses,
    Aggregation,
}

pub(super) const SECTIONS: [(&str, Section); 4] = [
    ("Objective", Section::Objective),
    ("Strategy", Section::Strategy),
    ("Sub-Harnesses", Section::Harnesses),
    ("Aggregation", Section::Aggregation),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Coordination,
    MaxConcurrent,
    MaxTotalTime,
    DefaultTimeout,
    RetryFailed,
    MaxRetries,
    FailFast,
    StopOnFailure,
    PassContext,
    InitialContext,
    MinProgress,
    TerminateLosers,
    MinVotes,
    Selection,
    WorkingDir,
    Roadmap,
    Cli,
    Model,
    Depends,
    OnComplete,
    OutputDir,
    /// A key of another harness, by its place in [`FOREIGN`].
    Foreign(usize),
}

/// Every spelling, the usual one of each key first.
const NAMES: [(&str, Key, Section); 24] = [
    ("coordination", Key::Coordination, Section::Strategy),
    ("max_concurrent", Key::MaxConcurrent, Section::Strategy),
    ("max_total_time", Key::MaxTotalTime, Section::Strategy),
    ("timeout", Key::MaxTotalTime, Section::Strategy),
    ("default_timeout", Key::DefaultTimeout, Section::Strategy),
    ("retry_failed", Key::RetryFailed, Section::Strategy),
    ("max_retries", Key::MaxRetries, Section::Strategy),
    ("fail_fast", Key::FailFast, Section::Strategy),
    ("stop_on_failure", Key::StopOnFailure, Section::Strategy),
    ("pass_context", Key::PassContext, Section::Strategy),
    ("initial_context", Key::InitialContext, Section::Strategy),
    ("min_progress_to_win", Key::MinProgress, Section::Strategy),
    ("min_progress", Key::MinProgress, Section::Strategy),
    ("terminate_losers", Key::TerminateLosers, Section::Strategy),
    ("min_votes", Key::MinVotes, Section::Strategy),
    ("selection_criteria", Key::Selection, Section::Strategy),
    ("working_dir", Key::WorkingDir, Section::Harnesses),
    ("cwd", Key::WorkingDir, Section::Harnesses),
    ("roadmap", Key::Roadmap, Section::Harnesses),
    ("cli", Key::Cli, Section::Harnesses),
    ("model", Key::Model, Section::Harnesses),
    ("depends", Key::Depends, Section::Harnesses),
    ("on_complete", Key::OnComplete, Section::Aggregation),
    ("output_dir", Key::OutputDir, Section::Aggregation),
];

/// Says what is done anyway, so that the key may stay.
const YES: &[&str] = &["true", "yes", "1"];
const NO: &[&str] = &["false", "no", "0"];

/// Keys of other harnesses: which values mean what is done anyway, and what to write instead of all others.
const FOREIGN: [(&str, &[&str], &str); 8] = [
    ("use_worktrees", YES, "every harness works in a clone of its own; leave it out"),
    ("worktree_base", &[], "every harness starts from your last commit; leave it out"),
    ("auto_merge", NO, "each harness has a branch; write `on_complete: merge_all` for one with all of them"),
    ("run_tests_before_merge", YES, "the checks of a roadmap always decide; leave it out"),
    ("poll_interval", &[], "the end of a harness is noticed at once; leave it out"),
    ("max_total_iterations", &[], "limit the sessions of each harness: autonoe fleet up FILE -- -n COUNT"),
    ("artifacts", &[], "agents publish and use artifacts by themselves; leave it out"),
    ("context", &[], "agents set and read the shared context by themselves; leave it out"),
];

impl Key {
    pub(super) fn find(name: &str, section: Section) -> Result<Self, FleetProblem> {
        let plain: String = name
            .trim()
            .trim_matches(['*', '`'])
            .to_lowercase()
            .chars()
            .map(|letter| if matches!(letter, ' ' | '-') { '_' } else { letter })
            .collect();
        let ours = || NAMES.iter().filter(|(_, _, place)| *place == section);
        if let Some((_, key, _)) = ours().find(|(known, _, _)| *known == plain) {
            return Ok(*key);
        }
        if let Some(place) = FOREIGN.iter().position(|(known, _, _)| *known == plain) {
            return Ok(Self::Foreign(place));
        }
        let meant = values::meant(&plain, ours().map(|(known, _, _)| *known));
        Err(FleetProblem::UnknownKey { name: values::quoted(name.trim()), meant })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Foreign(place) => FOREIGN.get(place).map_or("", |(name, _, _)| name),
            ours => NAMES.iter().find(|(_, key, _)| *key == ours).map_or("", |(name, _, _)| name),
        }
    }

    /// The strategy for which alone it has a meaning; `None` for every one.
    pub(super) fn strategy(self) -> Option<CoordinationStrategy> {
        match self {
            Self::FailFast => Some(CoordinationStrategy::Parallel),
            Self::StopOnFailure | Self::PassContext | Self::InitialContext => {
                Some(CoordinationStrategy::Pipeline)
            }
            Self::MinProgress | Self::TerminateLosers => Some(CoordinationStrategy::Race),
            Self::MinVotes | Self::Selection => Some(CoordinationStrategy::Voting),
            Self::Coordination
            | Self::MaxConcurrent
            | Self::MaxTotalTime
            | Self::DefaultTimeout
            | Self::RetryFailed
            | Self::MaxRetries
            | Self::WorkingDir
            | Self::Roadmap
            | Self::Cli
            | Self::Model
            | Self::Depends
            | Self::OnComplete
            | Self::OutputDir
            | Self::Foreign(_) => None,
        }
    }

    /// An error unless the value of this key of another harness says what is done anyway.
    pub(super) fn accept(self, value: &str) -> Result<(), FleetProblem> {
        let Self::Foreign(place) = self else {
            return Ok(());
        };
        match FOREIGN.get(place) {
            Some((_, accepted, _)) if accepted.iter().any(|known| value.eq_ignore_ascii_case(known)) => {
                Ok(())
            }
            Some((key, _, advice)) => Err(FleetProblem::Unsupported { key, advice }),
            None => Ok(()),
        }
    }
}

/// `true`, `yes`, `1` and their opposites.
pub(super) fn flag(key: &'static str, value: &str) -> Result<bool, FleetProblem> {
    let is_one = |words: &[&str]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    match (is_one(YES), is_one(NO)) {
        (true, _) => Ok(true),
        (_, true) => Ok(false),
        (false, false) => {
            Err(FleetProblem::Value { key, value: values::quoted(value), expected: "`true` or `false`" })
        }
    }
}
