//! Fleets: several harnesses under one strategy.
//!
//! A fleet file ([`FleetFile`]) names the harnesses. The supervisor ([`Supervisor`]) starts each as a process of its own, in a directory of
//! its own, and remembers in [`MetaState`] what it has started, so that it can be killed at any time. The strategy decides what the end of
//! one harness means for the others. Harnesses know nothing of each other but the [`SharedContext`].
//!
//! This crate starts processes, but knows neither git nor the options of our binary: [`FleetHost`] is given to it.

mod aggregated_result;
mod coordination_strategy;
mod fleet_file;
mod fleet_host;
mod fleet_lock;
mod meta_state;
mod shared_context;
mod strategies;
mod strategy;
mod supervisor;

pub use aggregated_result::AggregatedResult;
pub use coordination_strategy::CoordinationStrategy;
pub use fleet_file::{
    Aggregation, FleetFile, FleetFileError, FleetProblem, MAX_HARNESSES, OnComplete, StrategySettings,
    SubHarness, VoteSelection,
};
pub use fleet_host::{AtHome, FleetHost, FleetPoint, HomeBranch, HomeComing, PrepareError};
pub use fleet_lock::{FleetLock, FleetLockError};
pub use meta_state::{FleetRow, HarnessProgress, HarnessRow, MetaState, MetaStateError, Request};
pub use shared_context::{
    Artifact, ArtifactFile, CrossHarnessEvent, MAX_ARTIFACT, MAX_VALUE, SharedContext, SharedContextError,
};
pub use strategies::strategy_for;
pub use strategy::{FleetMember, Strategy, StrategyDecision};
pub use supervisor::{BEGIN, FleetEvent, FleetOutcome, Supervisor, SupervisorError, WakeUp};
