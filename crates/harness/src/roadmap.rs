//! A roadmap: a Markdown file with an objective, constraints, success criteria, and tasks that depend on each other.
//!
//! ```text
//! # Roadmap: Shop
//! ## Objective
//! A small shop.
//! ## Constraints
//! - Max time per task: 30 min
//! ## Tasks
//! ### Phase 1: Basics
//! - [ ] **cart**: Add a cart
//!   - timeout: 1h
//!   - depends: catalogue
//!   - check: `make test` prints `...12 passed...`
//! ```
//!
//! The parser is strict: what it does not understand is an error with its line, and all errors are reported at once. It knows no
//! backend; the names that `cli` may have are given to it.

mod append;
mod check_box;
pub mod dependencies;
pub mod dependency_path;
mod document;
mod edit;
mod file_problems;
mod growth;
mod issues;
pub mod key_names;
mod key_problem;
mod keys;
pub mod lines;
mod problem;
mod prompt;
mod task_draft;
mod task_text;
pub mod values;

use std::borrow::Borrow;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use autonoe_core::check::Check;
use serde::{Deserialize, Serialize};

pub use check_box::{CheckBoxError, set_done, uncheck};
pub use edit::{RoadmapEdit, TaskEdit, compare, is_same_work};
pub use file_problems::FileProblems;
pub use growth::{AcceptedProposals, Proposals, ProposedTask, accept, add_accepted};
pub use issues::{GithubIssue, IssueImport, add_issues};
pub use key_problem::{KeyProblem, did_you_mean};
pub use problem::{RoadmapError, RoadmapProblem};

/// Maximum size of a roadmap, in bytes.
pub const MAX_ROADMAP: usize = 4 * 1024 * 1024;

/// Maximum number of tasks of a roadmap.
pub const MAX_TASKS: usize = 10_000;

/// Name of a roadmap without a title.
const UNNAMED: &str = "Unnamed Project";

/// The name of a task; also the end of the name of its branch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(String);

impl TaskId {
    /// Not validated: for ids that were read from a roadmap before.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for TaskId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// What holds for every task that does not say otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDefaults {
    pub timeout: Duration,
    pub max_retries: u32,
    /// Relative to the project.
    pub cwd: PathBuf,
    /// `None` is unlimited.
    pub max_iterations: Option<u32>,
    pub stuck_after: u32,
}

impl Default for TaskDefaults {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30 * 60),
            max_retries: 3,
            cwd: PathBuf::from("./"),
            max_iterations: Some(30),
            stuck_after: 3,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    /// Line of the roadmap, counted from 1.
    pub line: usize,
    /// Whether its box is checked.
    pub done: bool,
    pub description: String,
    /// The description, if the task has no goal of its own.
    pub goal: String,
    /// Without "Phase 1:"; `None` directly under `## Tasks`.
    pub phase: Option<String>,
    pub depends: Vec<TaskId>,
    /// For one attempt.
    pub timeout: Duration,
    pub success_criteria: Option<String>,
    /// Relative to the project.
    pub cwd: PathBuf,
    /// Backends in order of preference; empty means those of the run.
    pub cli: Vec<String>,
    /// `None` means the backend's own.
    pub model: Option<String>,
    /// Attempts in all, as roadmaps have always counted them; 0 is one attempt too.
    pub max_retries: u32,
    /// Sessions of one attempt; `None` is unlimited.
    pub max_iterations: Option<u32>,
    /// Sessions without progress before recovery begins.
    pub stuck_after: u32,
    pub checks: Vec<Check>,
    /// Number of a GitHub issue.
    pub issue: Option<u64>,
}

impl Task {
    /// What a session of another plan is to do, for the remedies.
    pub(crate) fn of_session(id: &str, goal: String, success_criteria: Option<String>) -> Self {
        let TaskDefaults { timeout, max_retries, cwd, max_iterations, stuck_after } = TaskDefaults::default();
        Self {
            id: TaskId::new(id),
            line: 0,
            done: false,
            description: goal.clone(),
            goal,
            phase: None,
            depends: Vec::new(),
            timeout,
            success_criteria,
            cwd,
            cli: Vec::new(),
            model: None,
            max_retries,
            max_iterations,
            stuck_after,
            checks: Vec::new(),
            issue: None,
        }
    }

    pub fn attempts(&self) -> u32 {
        self.max_retries.max(1)
    }
}

/// A success criterion of the whole roadmap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuccessCriterion {
    pub text: String,
    pub done: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Roadmap {
    pub name: String,
    pub objective: String,
    pub defaults: TaskDefaults,
    /// Constraints that are not settings but text for agents.
    pub constraints: Vec<String>,
    pub success_criteria: Vec<SuccessCriterion>,
    /// In the order of the file.
    pub tasks: Vec<Task>,
    /// Instructions for finding further tasks when all are done.
    pub growth: Vec<String>,
}

impl Roadmap {
    /// Parses a roadmap. `backends` are the names that `cli` may have.
    pub fn parse(text: &str, backends: &[&str]) -> Result<Self, RoadmapError> {
        if text.len() > MAX_ROADMAP {
            return Err(RoadmapProblem::TooLarge.at(1).into());
        }
        document::parse(text, backends)
    }

    pub fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id.as_str() == id)
    }

    /// For each task, the places in `tasks` of those that it depends on.
    pub(crate) fn dependency_places(&self) -> Vec<Vec<usize>> {
        dependencies::places(&self.tasks)
    }

    /// The phases in the order of the file. `None` is for tasks directly under `## Tasks`.
    pub fn phases(&self) -> Vec<Option<&str>> {
        let mut phases: Vec<Option<&str>> = self.tasks.iter().map(|task| task.phase.as_deref()).collect();
        phases.dedup();
        phases
    }
}

#[cfg(test)]
mod tests;
