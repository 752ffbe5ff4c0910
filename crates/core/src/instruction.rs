//! The instructions: their names, their built-in texts and the deliverable tools each is given.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::deliverable::{Deliverable, DeliverableStatus};
use crate::fault::Fault;
use crate::status::ProjectStatus;
use crate::verification::Verification;

/// Names one of the instructions; also the phase a session is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// `run` without a status file: read the specification, create the deliverables, lay the ground.
    Initializer,
    /// `run` with a status file: one deliverable.
    Coding,
    /// `sync`, first: bring the deliverables in line with the specification.
    Sync,
    /// `sync`, then: check what the code really does.
    Verify,
    /// `run`, at its end, if the user wants it: somebody else than the builder has a look.
    Review,
    /// `agent run`: a step of a declarative agent.
    Step,
    /// `agent run`: a step of a declarative agent, or a look at one, that may only read.
    Inspection,
}

/// One of the deliverable tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliverableTool {
    /// Creates deliverables.
    Create,
    /// Sets a deliverable's status.
    SetStatus,
    /// Marks a deliverable as gone from the specification.
    Deprecate,
    /// Marks a deliverable as verified.
    Verify,
    /// Lists deliverables.
    List,
    /// Records an independent look at a deliverable.
    Review,
}

impl DeliverableTool {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Create, Self::SetStatus, Self::Deprecate, Self::Verify, Self::List, Self::Review];

    /// Its name on the `autonoe` server.
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
    /// Those that have a text of their own. What a step is told, its definition says.
    pub const ALL: [Self; 5] = [Self::Initializer, Self::Coding, Self::Sync, Self::Verify, Self::Review];

    /// Its name, also of its override file `.autonoe/<name>.md`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Initializer => "initializer",
            Self::Coding => "coding",
            Self::Sync => "sync",
            Self::Verify => "verify",
            Self::Review => "review",
            Self::Step => "step",
            Self::Inspection => "inspection",
        }
    }

    /// The instruction that ships with the binary.
    pub fn built_in(self) -> &'static str {
        match self {
            Self::Initializer => include_str!("instructions/initializer.md"),
            Self::Coding => include_str!("instructions/coding.md"),
            Self::Sync => include_str!("instructions/sync.md"),
            Self::Verify => include_str!("instructions/verify.md"),
            Self::Review => include_str!("instructions/review.md"),
            Self::Step | Self::Inspection => "",
        }
    }

    /// Planning instructions go to the plan model, the others to the model.
    pub fn is_planning(self) -> bool {
        match self {
            Self::Initializer | Self::Sync => true,
            Self::Coding | Self::Verify | Self::Review | Self::Step | Self::Inspection => false,
        }
    }

    /// The deliverable tools a session in this phase may use.
    pub fn tools(self) -> &'static [DeliverableTool] {
        use DeliverableTool::{Create, Deprecate, List, Review, SetStatus, Verify};
        match self {
            Self::Initializer => &[Create],
            Self::Coding => &[SetStatus, List],
            Self::Sync => &[Create, Deprecate, List],
            Self::Verify => &[SetStatus, Verify, List],
            Self::Review => &[Review, List],
            Self::Step | Self::Inspection => &[],
        }
    }

    /// True when a session in this phase may write project files.
    pub fn may_write(self) -> bool {
        match self {
            Self::Initializer | Self::Coding | Self::Step => true,
            Self::Sync | Self::Verify | Self::Review | Self::Inspection => false,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Deliverables that a briefing names one by one.
const BRIEFED: usize = 20;

/// What a session is told beside its instruction: where the project stands, and what is open in order of priority.
/// With a verification, what is open is what has not been verified.
pub fn briefing(status: &ProjectStatus, verification: Option<&Verification>) -> String {
    let tally = status.tally();
    let (what, open): (_, Vec<&Deliverable>) = match verification {
        None => ("Open", status.active().filter(|item| item.status == DeliverableStatus::Pending).collect()),
        Some(pass) => {
            ("Not verified yet", status.active().filter(|item| !pass.verified.contains(&item.id)).collect())
        }
    };
    let mut text = format!(
        "## Where the project stands now\n\n{} of {} deliverables have passed, {} are blocked. {what}, in order of priority:\n",
        tally.passed, tally.total, tally.blocked
    );
    for item in open.iter().take(BRIEFED) {
        text.push_str(&format!("- `{}`: {}\n", item.id, item.description));
    }
    if open.len() > BRIEFED {
        text.push_str(&format!("- and {} more; `mcp__autonoe__list` shows them\n", open.len() - BRIEFED));
    }
    text
}

/// Finds the text of an instruction: the project's override or the built-in one.
#[async_trait]
pub trait Instructions: Send + Sync {
    /// The text to give to the agent.
    async fn resolve(&self, name: Phase) -> Result<String, Fault>;
}
