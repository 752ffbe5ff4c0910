//! The two commands that run agents, as everything that depends on the choice knows them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::instruction::InstructionName;

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
    pub fn first_instruction(self) -> InstructionName {
        match self {
            Self::Run => InstructionName::Initializer,
            Self::Sync => InstructionName::Sync,
        }
    }
}

impl From<InstructionName> for Mode {
    fn from(instruction: InstructionName) -> Self {
        match instruction {
            InstructionName::Initializer | InstructionName::Coding | InstructionName::Step => Self::Run,
            InstructionName::Sync
            | InstructionName::Verify
            | InstructionName::Review
            | InstructionName::Inspection => Self::Sync,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
