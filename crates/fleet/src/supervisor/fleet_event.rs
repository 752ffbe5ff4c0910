//! What a supervisor tells those who watch.

use autonoe_harness::handle::HarnessStatus;
use serde::Serialize;

use crate::aggregated_result::AggregatedResult;
use crate::fleet_host::HomeBranch;

/// What happens in a fleet, for those who watch.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FleetEvent {
    FleetStarted {
        fleet: String,
        strategy: &'static str,
        harnesses: usize,
        is_continued: bool,
    },
    HarnessStarted {
        id: String,
        pid: u32,
        attempt: u32,
    },
    /// A harness that an earlier supervisor has started.
    HarnessAdopted {
        id: String,
        pid: u32,
    },
    HarnessStopping {
        id: String,
        why: String,
    },
    HarnessEnded {
        id: String,
        status: HarnessStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        home: Option<HomeBranch>,
        /// Why its commits have not come home, where they are, and what to do.
        #[serde(skip_serializing_if = "Option::is_none")]
        left_behind: Option<String>,
    },
    /// Commits that could not come home when their harness ended.
    CameHome {
        id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        home: Option<HomeBranch>,
    },
    Warning {
        message: String,
    },
    /// The last one.
    FleetEnded {
        outcome: FleetOutcome,
        result: Box<AggregatedResult>,
        #[serde(skip_serializing_if = "Option::is_none")]
        merged: Option<HomeBranch>,
    },
}

/// Why a fleet ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FleetOutcome {
    Succeeded,
    Failed,
    /// A person has stopped it.
    Interrupted,
    /// Its time was over.
    TimedOut,
}
