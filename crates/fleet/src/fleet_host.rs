//! What the supervisor needs of the program that it is a part of: directories for harnesses, the command that runs one, and git.

use std::path::{Path, PathBuf};
use std::process::Command;

use autonoe_core::money::Usd;
use serde::{Deserialize, Serialize};

use crate::fleet_file::SubHarness;
use crate::meta_state::FleetRow;

/// Commits of a harness in the user's repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeBranch {
    pub branch: String,
    pub commit: String,
    /// What a person should know before merging it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Where the commits of a harness are in the user's repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AtHome {
    /// What has passed; `None` if there is nothing.
    pub passed: Option<HomeBranch>,
    /// The branch with what has not passed, on which nothing builds.
    pub unfinished: Option<String>,
}

/// Or why they have not come home, where they are instead, and what to do, in sentences.
pub type HomeComing = Result<AtHome, String>;

/// A moment in the supervisor's work at which it may be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetPoint {
    Prepared,
    /// The process exists, and waits until it is on record.
    Spawned,
    /// It is on record and has not been released.
    Recorded,
    Released,
    /// A process has ended, which is not on record.
    Ended,
    BroughtHome,
    Settled,
}

impl FleetPoint {
    pub const ALL: [Self; 7] = [
        Self::Prepared,
        Self::Spawned,
        Self::Recorded,
        Self::Released,
        Self::Ended,
        Self::BroughtHome,
        Self::Settled,
    ];
}

/// Why a harness has no directory to work in, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// There may be some when another harness has ended.
    #[error("{0}")]
    NoSpace(String),
    #[error("{0}")]
    Other(String),
}

/// Errors are sentences for people.
pub trait FleetHost {
    /// Makes the directory in which a harness works, with its roadmap, on top of the commits of others. One that an earlier process has made
    /// is used as it is. If there is no space, what the agents of harnesses that are over have built is removed; `over` names them, the first
    /// to end first. Returns the project directory of the harness.
    fn prepare(
        &self,
        fleet: &FleetRow,
        harness: &SubHarness,
        builds_on: &[HomeBranch],
        over: &[PathBuf],
    ) -> Result<PathBuf, PrepareError>;

    /// The command of a harness, which may cost no more than `max_cost`. Its process waits for a line on standard input before it does anything,
    /// and ends if there is none.
    fn command(&self, harness: &SubHarness, working_dir: &Path, max_cost: Option<Usd>) -> Command;

    /// What all sessions of a harness have cost that did not say so itself when it ended; `None` if a price is unknown.
    fn spent(&self, working_dir: &Path) -> Option<Usd>;

    /// Brings the commits of a harness to a branch in the user's repository. May be repeated.
    fn bring_home(&self, fleet: &FleetRow, harness: &SubHarness) -> HomeComing;

    /// Makes one branch with all of these.
    fn merge_all(&self, fleet: &FleetRow, branches: &[HomeBranch]) -> Result<HomeBranch, String>;

    /// For tests: an error ends the supervisor as if it had been killed there.
    fn checkpoint(&self, point: FleetPoint) -> Result<(), String> {
        let _ = point;
        Ok(())
    }
}
