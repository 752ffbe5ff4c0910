//! A fleet file: a Markdown file with a strategy and the harnesses that work under it.
//!
//! ```text
//! # Fleet: Shop
//! ## Strategy
//! - coordination: parallel
//! - max_concurrent: 5
//! ## Sub-Harnesses
//! ### api
//! - roadmap: api/ROADMAP.md
//! - working_dir: ./api
//! ### web
//! - roadmap: web/ROADMAP.md
//! - depends: api
//! ## Aggregation
//! - on_complete: merge_all
//! ```
//!
//! It is read as strictly as a roadmap: what is not understood is an error with its line, and all errors are reported at once.

mod keys;
mod problem;
mod reader;

use std::path::{Path, PathBuf};
use std::time::Duration;

use autonoe_core::money::Usd;
use autonoe_harness::id::check_id;
use serde::{Deserialize, Serialize};

pub use problem::{FleetFileError, FleetProblem};

use crate::coordination_strategy::CoordinationStrategy;

/// Maximum size of a fleet file, in bytes.
pub(crate) const MAX_FILE: usize = 1024 * 1024;

/// Maximum number of harnesses of a fleet.
pub const MAX_HARNESSES: usize = 500;

/// Of a file without a title.
const UNNAMED: &str = "fleet";

/// Reads a roadmap, whose path is relative to the project, and counts the tasks that checks decide about; or says what is wrong with it, as a
/// sentence without its dot.
pub type ReadRoadmap<'a> = dyn FnMut(&Path) -> Result<u32, String> + 'a;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetFile {
    /// In small letters, digits and `-`; a part of the names of branches. Begins with a letter.
    pub name: String,
    /// A text for people.
    pub objective: String,
    pub settings: StrategySettings,
    /// In the order of the file.
    pub harnesses: Vec<SubHarness>,
    pub aggregation: Aggregation,
}

/// A strategy and its settings. What does not concern the strategy has its default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StrategySettings {
    pub coordination: CoordinationStrategy,
    /// Harnesses that run at the same time.
    pub max_concurrent: usize,
    /// After this time everything is stopped.
    pub max_total_time: Duration,
    /// What all harnesses together may cost; `None` means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Usd>,
    /// For one harness; `None` means no limit.
    pub default_timeout: Option<Duration>,
    /// Whether a harness whose process ended without a result is started again.
    pub retry_failed: bool,
    /// How often.
    pub max_retries: u32,
    /// Parallel: the first failure stops the others.
    pub fail_fast: bool,
    /// Pipeline: a stage that fails ends it.
    pub stop_on_failure: bool,
    /// Pipeline: each stage gets what those before it said.
    pub pass_context: bool,
    /// Pipeline: for the first stage.
    pub initial_context: Option<String>,
    /// Race: part of the tasks that a winner must have completed.
    pub min_progress_to_win: f64,
    /// Race: whether the others are stopped once there is a winner.
    pub terminate_losers: bool,
    /// Voting: harnesses whose checks must have passed.
    pub min_votes: usize,
    /// Voting: how the winner is chosen among them.
    pub selection_criteria: VoteSelection,
}

impl StrategySettings {
    pub fn new(coordination: CoordinationStrategy) -> Self {
        Self {
            coordination,
            max_concurrent: 10,
            max_total_time: Duration::from_secs(24 * 3600),
            max_cost: None,
            default_timeout: None,
            retry_failed: true,
            max_retries: 2,
            fail_fast: false,
            stop_on_failure: true,
            pass_context: true,
            initial_context: None,
            min_progress_to_win: 0.8,
            terminate_losers: true,
            min_votes: 2,
            selection_criteria: VoteSelection::First,
        }
    }
}

/// How the winner of a vote is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VoteSelection {
    /// The one that ended first.
    First,
    BestProgress,
    /// The one with the most tasks that checks have confirmed.
    BestTests,
    LowestFailures,
    /// The one whose sessions took the least time.
    Fastest,
}

impl VoteSelection {
    pub const ALL: [Self; 5] =
        [Self::First, Self::BestProgress, Self::BestTests, Self::LowestFailures, Self::Fastest];

    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::BestProgress => "best_progress",
            Self::BestTests => "best_tests",
            Self::LowestFailures => "lowest_failures",
            Self::Fastest => "fastest",
        }
    }
}

/// One harness of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubHarness {
    pub id: String,
    /// Line of the file, counted from 1.
    pub line: usize,
    /// Relative to the project: the part of it that the harness works on.
    pub working_dir: PathBuf,
    /// Relative to the project.
    pub roadmap: PathBuf,
    /// Backends in order of preference; empty means the usual one.
    pub cli: Vec<String>,
    /// `None` means the backend's own.
    pub model: Option<String>,
    pub depends: Vec<String>,
}

/// What becomes of the results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aggregation {
    pub on_complete: OnComplete,
    /// Relative to the project; `None` if the result is not written to a file.
    pub output_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnComplete {
    /// Each harness has its branch.
    #[default]
    Keep,
    /// In addition there is one branch with all of them.
    MergeAll,
}

impl FleetFile {
    /// Parses a fleet file. `backends` are the names that `cli` may have. Also returns how many tasks of each harness checks decide about.
    pub fn parse(
        text: &str,
        backends: &[&str],
        read_roadmap: &mut ReadRoadmap<'_>,
    ) -> Result<(Self, Vec<u32>), FleetFileError> {
        if text.len() > MAX_FILE {
            return Err(FleetProblem::TooLarge.at(1).into());
        }
        reader::parse(text, backends, read_roadmap)
    }

    /// The same fleet, wherever its harnesses are in the file.
    pub(crate) fn without_lines(&self) -> Self {
        let mut plan = self.clone();
        plan.harnesses.iter_mut().for_each(|harness| harness.line = 0);
        plan
    }

    pub fn harness(&self, id: &str) -> Option<&SubHarness> {
        self.harnesses.iter().find(|harness| harness.id == id)
    }
}

/// A name as branches can have it.
pub(crate) fn plain_name(title: &str) -> String {
    let mut name = String::new();
    for letter in title.chars().flat_map(char::to_lowercase) {
        match letter.is_ascii_alphanumeric() {
            true => name.push(letter),
            false if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            false => {}
        }
    }
    let name: String = name.trim_matches('-').chars().take(40).collect();
    match name.starts_with(|first: char| first.is_ascii_alphabetic()) && check_id(&name).is_ok() {
        true => name.trim_end_matches('-').to_owned(),
        // A number alone would be the branch of a run.
        false if check_id(&name).is_ok() => format!("{UNNAMED}-{name}"),
        false => UNNAMED.to_owned(),
    }
}

#[cfg(test)]
mod tests;
