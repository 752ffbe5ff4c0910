//! Check: a command that decides whether a deliverable meets its criteria, run by Autonoe itself on a clean
//! checkout.
//!
//! A deliverable is *verified* (our checks passed), *claimed* (only an agent says so) or *failed* (a check
//! failed).

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Time limit of a check that does not set one.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    pub name: String,
    /// `None` means the check covers the project as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliverable: Option<String>,
    /// Acceptance criteria covered, counted from 1; empty if unspecified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<usize>,
    /// Run by a shell in the root of the checkout.
    #[serde(rename = "run")]
    pub command: String,
    /// Commands that are run before it, in the same checkout, and must succeed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// Expected exit code.
    #[serde(default)]
    pub exit: i32,
    /// Lines that the output must contain, in this order. `...` at either end of a line matches anything; on
    /// its own it matches any number of lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
    /// Whether any other line of output fails the check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    #[serde(default = "default_time_limit", with = "crate::duration::words")]
    pub time_limit: Duration,
    /// Whether the check needs the network. The user must allow that too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// Globs of the files that the check relies on. Agents cannot change them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<String>,
    #[serde(default)]
    pub origin: CheckOrigin,
}

impl Check {
    /// Whether it only has to succeed, so that what it leaves can be of use to others in its block.
    pub fn can_prepare(&self) -> bool {
        self.exit == 0 && self.output.is_empty()
    }
}

fn default_time_limit() -> Duration {
    DEFAULT_TIME_LIMIT
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOrigin {
    /// From `.autonoe/checks.json`.
    #[default]
    User,
    /// From SPEC.md.
    Spec,
    /// Proposed by an agent.
    Proposed,
}

impl fmt::Display for CheckOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "checks.json",
            Self::Spec => "SPEC.md",
            Self::Proposed => "proposed by an agent",
        })
    }
}

/// How well the status of a deliverable is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// Our own process ran the checks on a clean checkout of the last commit, and they passed.
    Verified,
    /// An agent says that it passed; no check confirms that.
    Claimed,
    /// Our own process ran the checks, and at least one failed.
    Failed,
}

impl Assurance {
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

/// Result of the last run of a deliverable's checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub assurance: Assurance,
    /// The commit checked; `None` where there is no repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Hash of the files checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    pub at: Timestamp,
    /// Whose checks decided.
    #[serde(default, skip_serializing_if = "CheckAuthor::is_user")]
    pub checks_by: CheckAuthor,
    /// The sandbox layer, if it does not enforce everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_layer: Option<String>,
}

/// Who wrote the checks of a deliverable that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckAuthor {
    /// The user wrote at least one.
    #[default]
    User,
    /// The agents that built the deliverable wrote all of them.
    Builder,
}

impl CheckAuthor {
    fn is_user(&self) -> bool {
        *self == Self::User
    }
}

impl Finding {
    /// A claim that no check was run for.
    pub fn unchecked(at: Timestamp) -> Self {
        Self {
            assurance: Assurance::Claimed,
            commit: None,
            tree: None,
            at,
            checks_by: CheckAuthor::User,
            partial_layer: None,
        }
    }

    /// What a reader must know about "verified", as words that follow it.
    pub fn qualification(&self) -> String {
        let author = match self.checks_by {
            CheckAuthor::User => "",
            CheckAuthor::Builder => " by the builder's checks",
        };
        let layer = self.partial_layer.as_ref().map(|layer| format!(" on {layer}")).unwrap_or_default();
        format!("{author}{layer}")
    }
}

/// An independent opinion on a deliverable, from an agent that did not build it. Weaker than a passed check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Backend and model of the reviewer.
    pub by: String,
    /// Whether every criterion was found to hold.
    pub holds: bool,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    pub at: Timestamp,
}
