//! The keys of a fleet file: ours, and those of other harnesses with what to write instead.

use autonoe_harness::roadmap::KeyProblem;
use autonoe_harness::roadmap::key_names::{ForeignKey, ForeignKeys, plain_key, unknown_key};
use autonoe_harness::roadmap::values::{NO, YES};

use crate::coordination_strategy::CoordinationStrategy;

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
    MaxCost,
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
    Foreign(ForeignKey),
}

/// Every spelling, the usual one of each key first.
const NAMES: [(&str, Key, Section); 25] = [
    ("coordination", Key::Coordination, Section::Strategy),
    ("max_concurrent", Key::MaxConcurrent, Section::Strategy),
    ("max_total_time", Key::MaxTotalTime, Section::Strategy),
    ("timeout", Key::MaxTotalTime, Section::Strategy),
    ("max_cost", Key::MaxCost, Section::Strategy),
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

const FOREIGN: ForeignKeys = ForeignKeys(&[
    ("use_worktrees", YES, "every harness works in a clone of its own; leave it out"),
    ("worktree_base", &[], "every harness starts from your last commit; leave it out"),
    ("auto_merge", NO, "each harness has a branch; write `on_complete: merge_all` for one with all of them"),
    ("run_tests_before_merge", YES, "the checks of a roadmap always decide; leave it out"),
    ("poll_interval", &[], "the end of a harness is noticed at once; leave it out"),
    ("max_total_iterations", &[], "limit the sessions of each harness: autonoe fleet up FILE -- -n COUNT"),
    ("artifacts", &[], "agents publish and use artifacts by themselves; leave it out"),
    ("context", &[], "agents set and read the shared context by themselves; leave it out"),
]);

impl Key {
    pub(super) fn find(name: &str, section: Section) -> Result<Self, KeyProblem> {
        let plain = plain_key(name);
        let ours = || NAMES.iter().filter(|(_, _, place)| *place == section);
        let found = ours().find(|(known, _, _)| *known == plain).map(|(_, key, _)| *key);
        let found = found.or_else(|| FOREIGN.find(&plain).map(Self::Foreign));
        found.ok_or_else(|| unknown_key(name, ours().map(|(known, _, _)| *known)))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Foreign(foreign) => foreign.name,
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
            | Self::MaxCost
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
    pub(super) fn accept(self, value: &str) -> Result<(), KeyProblem> {
        let Self::Foreign(foreign) = self else {
            return Ok(());
        };
        foreign.accept(value)
    }
}
