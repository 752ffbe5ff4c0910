//! The phases of a session: names, built-in instructions and the deliverable tools of each.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::deliverable::{Deliverable, DeliverableStatus};
use crate::fault::Fault;
use crate::status::ProjectStatus;
use crate::verification::Verification;

/// The phase of a session, which is also the name of its instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// `run` without a status file: read the specification, create the deliverables, set up the project.
    Initializer,
    /// `run` with a status file: build one deliverable.
    Coding,
    /// `sync`, first part: bring the deliverables in line with the specification.
    Sync,
    /// `sync`, second part: check what the code really does.
    Verify,
    /// `run`, at its end and only if configured: an agent that did not build it reviews the result.
    Review,
    /// A step of a declarative agent.
    Step,
    /// A read-only step of a declarative agent, or a review of one.
    Inspection,
    /// The run is stuck: a model finds other words for the task.
    Rewriting,
    /// Several attempts pass their checks: a model that made none of them says which of two is better.
    Comparison,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliverableTool {
    Create,
    SetStatus,
    /// Marks a deliverable as removed from the specification.
    Deprecate,
    Verify,
    List,
    /// Records an independent review.
    Review,
}

/// Short names of the tools that the `autonoe` MCP server has only inside a fleet.
pub const SHARED_TOOLS: [&str; 4] = ["context_get", "context_set", "artifact_publish", "artifact_consume"];

impl DeliverableTool {
    pub const ALL: [Self; 6] =
        [Self::Create, Self::SetStatus, Self::Deprecate, Self::Verify, Self::List, Self::Review];

    /// Its name on the `autonoe` MCP server.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::SetStatus => "set_status",
            Self::Deprecate => "deprecate",
            Self::Verify => "verify",
            Self::List => "list",
            Self::Review => "review",
        }
    }
}

impl Phase {
    /// Phases with an instruction text. The text of a step comes from its definition.
    pub const ALL: [Self; 5] = [Self::Initializer, Self::Coding, Self::Sync, Self::Verify, Self::Review];

    /// Also the name of the override file, `.autonoe/<name>.md`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Initializer => "initializer",
            Self::Coding => "coding",
            Self::Sync => "sync",
            Self::Verify => "verify",
            Self::Review => "review",
            Self::Step => "step",
            Self::Inspection => "inspection",
            Self::Rewriting => "rewriting",
            Self::Comparison => "comparison",
        }
    }

    pub fn built_in(self) -> &'static str {
        match self {
            Self::Initializer => include_str!("instructions/initializer.md"),
            Self::Coding => include_str!("instructions/coding.md"),
            Self::Sync => include_str!("instructions/sync.md"),
            Self::Verify => include_str!("instructions/verify.md"),
            Self::Review => include_str!("instructions/review.md"),
            Self::Step | Self::Inspection | Self::Rewriting | Self::Comparison => "",
        }
    }

    /// Planning phases use the plan model.
    pub fn is_planning(self) -> bool {
        match self {
            Self::Initializer | Self::Sync => true,
            Self::Coding
            | Self::Verify
            | Self::Review
            | Self::Step
            | Self::Inspection
            | Self::Rewriting
            | Self::Comparison => false,
        }
    }

    pub fn tools(self) -> &'static [DeliverableTool] {
        use DeliverableTool::{Create, Deprecate, List, Review, SetStatus, Verify};
        match self {
            Self::Initializer => &[Create],
            Self::Coding => &[SetStatus, List],
            Self::Sync => &[Create, Deprecate, List],
            Self::Verify => &[SetStatus, Verify, List],
            Self::Review => &[Review, List],
            Self::Step | Self::Inspection | Self::Rewriting | Self::Comparison => &[],
        }
    }

    pub fn may_write(self) -> bool {
        match self {
            Self::Initializer | Self::Coding | Self::Step => true,
            Self::Sync
            | Self::Verify
            | Self::Review
            | Self::Inspection
            | Self::Rewriting
            | Self::Comparison => false,
        }
    }

    /// Whether a model is only asked for an answer: what it says is for the run, not for the work.
    pub fn only_asks(self) -> bool {
        matches!(self, Self::Rewriting | Self::Comparison)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Maximum number of deliverables listed in a briefing.
const MAX_LISTED: usize = 20;

/// Appended to the instruction: the state of the project and what is open, in order of priority. With a
/// verification, open means not yet verified.
pub fn briefing(status: &ProjectStatus, verification: Option<&Verification>) -> String {
    let tally = status.tally();
    let (what, open): (_, Vec<&Deliverable>) = match verification {
        None => ("Open", status.active().filter(|item| item.status == DeliverableStatus::Pending).collect()),
        Some(pass) => {
            ("Not verified yet", status.active().filter(|item| !pass.verified.contains(&item.id)).collect())
        }
    };
    let mut text = format!(
        "## Current state of the project\n\n{} of {} deliverables have passed, {} are blocked. {what}, in order of priority:\n",
        tally.passed, tally.total, tally.blocked
    );
    for item in open.iter().take(MAX_LISTED) {
        text.push_str(&format!("- `{}`: {}\n", item.id, item.description));
    }
    if open.len() > MAX_LISTED {
        text.push_str(&format!("- and {} more; `mcp__autonoe__list` shows them\n", open.len() - MAX_LISTED));
    }
    text
}

/// Resolves the text of an instruction: the project's override or the built-in one.
#[async_trait]
pub trait Instructions: Send + Sync {
    async fn resolve(&self, phase: Phase) -> Result<String, Fault>;
}

#[cfg(test)]
mod tests {
    use super::Phase;

    #[test]
    fn the_coding_instruction_says_how_to_check_a_page() {
        let mut rest = Phase::Coding.built_in();
        for step in ["**Navigate**", "**Snapshot**", "**Interact**", "**Wait**", "**Verify**"] {
            let (_, after) =
                rest.split_once(step).unwrap_or_else(|| panic!("{step} is missing or out of order"));
            rest = after;
        }
    }
}
