//! Check: a command that decides whether a deliverable does what it should, run by us on a clean checkout.
//!
//! Three words say what stands behind a deliverable, and they are never mixed up: *verified*, *claimed* and *failed*.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How long a check may take when nobody says otherwise.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(300);

/// A command, and what it must do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// What it is called.
    pub name: String,
    /// The deliverable that it decides about; none is the project as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliverable: Option<String>,
    /// The acceptance criteria that it covers, counted from 1; empty when nobody said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<usize>,
    /// The command, for a shell, in the root of the checkout.
    #[serde(rename = "run")]
    pub command: String,
    /// The exit code that it must have.
    #[serde(default)]
    pub exit: i32,
    /// Lines that its output must hold, in this order. `...` at an end of one stands for anything, on its own for any lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
    /// Whether it must print these lines and no others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// How long it may take.
    #[serde(default = "default_time_limit", with = "crate::duration::words")]
    pub time_limit: Duration,
    /// Whether it needs the network. The user must allow that too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// The files that it judges by, as globs: nobody who is judged may change them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<String>,
    /// Who wrote it.
    #[serde(default)]
    pub origin: Origin,
}

fn default_time_limit() -> Duration {
    DEFAULT_TIME_LIMIT
}

/// Who wrote a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The user, in `.autonoe/checks.json`.
    #[default]
    User,
    /// The user, in SPEC.md.
    Spec,
    /// An agent.
    Proposed,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "checks.json",
            Self::Spec => "SPEC.md",
            Self::Proposed => "proposed by an agent",
        })
    }
}

/// What stands behind the status of a deliverable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// Our own process ran its checks on a clean checkout of what is committed, and they passed.
    Verified,
    /// An agent said that it passed; nothing has checked that.
    Claimed,
    /// Our own process ran its checks, and one did not pass.
    Failed,
}

impl Assurance {
    /// Its name, the same everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Claimed => "claimed",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for Assurance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What was found when the checks of a deliverable were last run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What stands behind the deliverable.
    pub assurance: Assurance,
    /// The commit that was looked at; none where there is no repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The hash of the files that were looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// What somebody else than the builder thinks of a deliverable, having looked at it. Less than a check that passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Who looked: backend and model.
    pub by: String,
    /// Whether every criterion was seen to hold.
    pub holds: bool,
    /// Why.
    pub reason: String,
    /// The commit that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// When.
    pub at: Timestamp,
}
