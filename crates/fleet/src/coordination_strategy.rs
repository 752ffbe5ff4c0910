//! The names of the strategies.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoordinationStrategy {
    Parallel,
    Pipeline,
    Race,
    Voting,
}

impl CoordinationStrategy {
    pub const ALL: [Self; 4] = [Self::Parallel, Self::Pipeline, Self::Race, Self::Voting];

    pub fn name(self) -> &'static str {
        match self {
            Self::Parallel => "parallel",
            Self::Pipeline => "pipeline",
            Self::Race => "race",
            Self::Voting => "voting",
        }
    }

    /// What a fleet with it is called, as in "a race".
    pub fn noun(self) -> &'static str {
        match self {
            Self::Parallel => "parallel fleet",
            Self::Pipeline => "pipeline",
            Self::Race => "race",
            Self::Voting => "vote",
        }
    }

    /// Whether harnesses compete, so that checks must decide between them.
    pub fn is_contest(self) -> bool {
        match self {
            Self::Race | Self::Voting => true,
            Self::Parallel | Self::Pipeline => false,
        }
    }
}
