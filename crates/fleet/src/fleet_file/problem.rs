//! What is wrong with a fleet file.

use autonoe_files::show_bytes;
use autonoe_harness::roadmap::dependency_path::path_words;
use autonoe_harness::roadmap::{FileProblems, KeyProblem, RoadmapProblem, did_you_mean};

use super::{MAX_FILE, MAX_HARNESSES};

pub type FleetFileError = FileProblems<FleetProblem>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FleetProblem {
    #[error("the file is larger than {}", show_bytes(MAX_FILE as u64))]
    TooLarge,
    #[error("the fleet has more than {MAX_HARNESSES} harnesses")]
    TooManyHarnesses,
    #[error("the fleet has no harness; write one below `## Sub-Harnesses`: `### id`")]
    NoHarness,
    #[error("unknown section '{name}'; the sections are Objective, Strategy, Sub-Harnesses and Aggregation{}", did_you_mean(.meant))]
    UnknownSection { name: String, meant: Option<&'static str> },
    #[error("a second section '{0}'; put both into one")]
    SecondSection(&'static str),
    #[error("a harness outside of `## Sub-Harnesses` is never started; move it there")]
    HarnessOutside,
    #[error("this line belongs to no harness; begin one with `### id`")]
    NoHeading,
    #[error("expected `key: value`")]
    NotAKey,
    #[error("a second '{0}'")]
    SecondKey(&'static str),
    #[error("'{key}' has no meaning for {strategy}; leave it out")]
    OtherStrategy { key: &'static str, strategy: &'static str },
    #[error("the strategy is missing; write `- coordination: parallel` below `## Strategy`")]
    NoCoordination,
    #[error("two harnesses are called '{id}'; the other one is in line {first}")]
    TwoHarnesses { id: String, first: usize },
    #[error("the harness '{0}' has no roadmap; write `- roadmap: FILE`")]
    NoRoadmap(String),
    #[error("the roadmap '{roadmap}' is not in '{working_dir}', where the harness works")]
    RoadmapOutside { roadmap: String, working_dir: String },
    #[error("unknown harness '{name}' in `depends`{}", did_you_mean(.meant))]
    UnknownDependency { name: String, meant: Option<String> },
    #[error("the harness depends on itself")]
    DependsOnItself,
    #[error("these harnesses wait for each other: {}", path_words(.0))]
    Cycle(Vec<String>),
    #[error(
        "the stage '{id}' depends on '{later}', which comes after it; a pipeline runs in the order of the file"
    )]
    PipelineOrder { id: String, later: String },
    #[error("a {strategy} needs at least {needed} harnesses, and there are {found}")]
    TooFew { strategy: &'static str, needed: usize, found: usize },
    /// As a sentence about the file, without its dot.
    #[error("{0}")]
    UnusableRoadmap(String),
    #[error("the checks decide in a {strategy}, and {roadmap} has none; add `- check:` to its tasks")]
    NoChecks { strategy: &'static str, roadmap: String },
    #[error(transparent)]
    Key(#[from] KeyProblem),
    /// The lines and ids of both kinds of files are written in the same way.
    #[error(transparent)]
    Roadmap(#[from] RoadmapProblem),
}

impl FleetProblem {
    /// Whether what was meant as a harness may not have been read as one because of it.
    pub(super) fn hides_harnesses(&self) -> bool {
        match self {
            Self::UnknownSection { .. } | Self::HarnessOutside | Self::NoHeading => true,
            Self::Roadmap(problem) => problem.hides_tasks(),
            _ => false,
        }
    }

    pub(super) fn at(self, line: usize) -> (usize, Self) {
        (line, self)
    }
}
