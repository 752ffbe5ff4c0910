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
    /// Whether any other line of output fails the check: without lines, all of them.
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
    /// A check without a name that accepts every output and expects exit code 0.
    pub fn of_command(command: &str, origin: CheckOrigin) -> Self {
        Self {
            name: String::new(),
            deliverable: None,
            criteria: Vec::new(),
            command: command.to_owned(),
            setup: Vec::new(),
            exit: 0,
            output: Vec::new(),
            exact: false,
            time_limit: DEFAULT_TIME_LIMIT,
            network: false,
            protect: Vec::new(),
            origin,
        }
    }

    /// Whether it does not matter what it prints. `exact` without lines means that it prints nothing; only in SPEC.md, where a block is
    /// always exact, it means that no lines were written.
    pub fn accepts_every_output(&self) -> bool {
        self.output.is_empty() && (!self.exact || self.origin == CheckOrigin::Spec)
    }

    /// Whether it only has to succeed, so that what it leaves can be of use to others in its block.
    pub fn can_prepare(&self) -> bool {
        self.exit == 0 && self.accepts_every_output()
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
    /// Of a task of a roadmap.
    Roadmap,
    /// Proposed by an agent.
    Proposed,
}

impl fmt::Display for CheckOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "checks.json",
            Self::Spec => "SPEC.md",
            Self::Roadmap => "the roadmap",
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
    /// A clause about checks that have failed on the same files too; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky: Option<String>,
    /// `None` if a check covers every criterion, or the deliverable as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<UncheckedCriteria>,
}

/// Acceptance criteria that no check covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncheckedCriteria {
    /// Counted from 1.
    pub numbers: Vec<usize>,
    /// How many criteria the deliverable has.
    pub total: usize,
}

impl UncheckedCriteria {
    /// The criteria of a deliverable that none of `checks` covers; `None` if there are none.
    pub fn of<'a>(total: usize, checks: impl IntoIterator<Item = &'a Check>) -> Option<Self> {
        let checks: Vec<&Check> = checks.into_iter().collect();
        // A check that names no criteria is for the whole.
        let is_checked = |number: usize| {
            checks.iter().any(|check| check.criteria.is_empty() || check.criteria.contains(&number))
        };
        let numbers: Vec<usize> = (1..=total).filter(|number| !is_checked(*number)).collect();
        (!numbers.is_empty()).then_some(Self { numbers, total })
    }
}

impl fmt::Display for UncheckedCriteria {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.numbers.iter().map(usize::to_string).collect();
        let checked = self.total.saturating_sub(self.numbers.len());
        write!(f, "{checked} of {} criteria checked, no check for {}", self.total, numbers.join(", "))
    }
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
            flaky: None,
            unchecked: None,
        }
    }

    /// What a reader must know about "verified", as words that follow it: "verified on Landlock by the builder's checks, 1 of 3 criteria
    /// checked, no check for 2, 3".
    pub fn qualification(&self) -> String {
        let layer = self.partial_layer.as_ref().map(|layer| format!(" on {layer}")).unwrap_or_default();
        let author = match self.checks_by {
            CheckAuthor::User => "",
            CheckAuthor::Builder => " by the builder's checks",
        };
        let unchecked = self.unchecked.as_ref().map(|unchecked| format!(", {unchecked}")).unwrap_or_default();
        let flaky = self.flaky.as_ref().map(|flaky| format!(", but flaky: {flaky}")).unwrap_or_default();
        format!("{layer}{author}{unchecked}{flaky}")
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

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{CheckAuthor, Finding, UncheckedCriteria};

    #[test]
    fn every_qualification_of_verified_reads_well() {
        let unchecked = UncheckedCriteria { numbers: vec![2, 3], total: 3 };
        let author = [CheckAuthor::User, CheckAuthor::Builder];
        let mut said = Vec::new();
        for unchecked in [None, Some(unchecked)] {
            for partial_layer in [None, Some("Landlock".to_owned())] {
                for checks_by in author {
                    let (unchecked, partial_layer) = (unchecked.clone(), partial_layer.clone());
                    let finding = Finding {
                        checks_by,
                        partial_layer,
                        unchecked,
                        ..Finding::unchecked(Timestamp::UNIX_EPOCH)
                    };
                    said.push(format!("verified{}", finding.qualification()));
                }
            }
        }
        let expected = [
            "verified",
            "verified by the builder's checks",
            "verified on Landlock",
            "verified on Landlock by the builder's checks",
            "verified, 1 of 3 criteria checked, no check for 2, 3",
            "verified by the builder's checks, 1 of 3 criteria checked, no check for 2, 3",
            "verified on Landlock, 1 of 3 criteria checked, no check for 2, 3",
            "verified on Landlock by the builder's checks, 1 of 3 criteria checked, no check for 2, 3",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn a_finding_of_an_earlier_version_is_read() {
        let earlier = r#"{ "assurance": "verified", "at": "2026-01-01T00:00:00Z", "checks_by": "builder" }"#;
        let finding: Finding = serde_json::from_str(earlier).expect("read");
        assert_eq!(finding.qualification(), " by the builder's checks");
    }
}
