//! The two commands that run agents, as everything that depends on the choice knows them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::instruction::Phase;

/// Which of our commands an agent works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// `run`: builds what the specification asks for.
    Run,
    /// `sync`: compares and verifies, and changes no source.
    Sync,
}

impl Mode {
    /// The command's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Sync => "sync",
        }
    }

    /// The instruction it begins with.
    pub fn first_instruction(self) -> Phase {
        match self {
            Self::Run => Phase::Initializer,
            Self::Sync => Phase::Sync,
        }
    }
}

impl From<Phase> for Mode {
    fn from(instruction: Phase) -> Self {
        match instruction {
            Phase::Initializer | Phase::Coding | Phase::Step => Self::Run,
            Phase::Sync | Phase::Verify | Phase::Review | Phase::Inspection => Self::Sync,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
