//! The two commands that run agents, `run` and `sync`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::instruction::Phase;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// `run`: builds what the specification asks for.
    Run,
    /// `sync`: compares and verifies; changes no source.
    Sync,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Sync => "sync",
        }
    }

    /// Phase of its first session.
    pub fn first_phase(self) -> Phase {
        match self {
            Self::Run => Phase::Initializer,
            Self::Sync => Phase::Sync,
        }
    }
}

impl From<Phase> for Mode {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Initializer | Phase::Coding | Phase::Step => Self::Run,
            Phase::Sync
            | Phase::Verify
            | Phase::Review
            | Phase::Inspection
            | Phase::Rewriting
            | Phase::Comparison => Self::Sync,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
