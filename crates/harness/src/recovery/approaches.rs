//! Approaches or attempts that are made one after another, and what they have led to.

use serde::{Deserialize, Serialize};

use super::rung::Rung;

/// A branch with a lower score, and nothing that was checked, is not better than what there is.
const LEAST_SCORE: f64 = 0.3;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExplorationBranch {
    /// Unique within the exploration.
    pub id: String,
    pub approach: String,
    pub prompt: String,
    pub rung: Rung,
    /// Sessions that it may use.
    pub sessions: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplorationKind {
    /// The first one that settles something ends it.
    #[default]
    Approaches,
    /// All of them are made before one is chosen.
    Attempts,
}

/// Branches that are tried, each from the same commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exploration {
    /// Its checks compare the branches.
    pub deliverable: String,
    #[serde(default)]
    pub kind: ExplorationKind,
    pub branches: Vec<ExplorationBranch>,
}

/// What a branch has led to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BranchOutcome {
    pub id: String,
    /// Checks that passed on a clean checkout of the branch.
    pub checks_passed: usize,
    /// Whether no check of the deliverable failed there.
    #[serde(default)]
    pub holds: bool,
    /// The best score of its sessions.
    pub score: f64,
    pub kept: KeptBranch,
    /// Lines added and removed since the start; `None` if nobody has counted them.
    #[serde(default)]
    pub changed_lines: Option<usize>,
    /// What an attempt did and what the checks said, for the next one.
    #[serde(default)]
    pub summary: String,
    /// Why its agent could not work.
    #[serde(default)]
    pub problem: Option<String>,
}

impl BranchOutcome {
    pub(super) fn is_better_than(&self, passed_before: usize) -> bool {
        let is_promising = self.score >= LEAST_SCORE && self.checks_passed == passed_before;
        self.checks_passed > passed_before || is_promising
    }
}

/// Where the commits of a branch are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBranch {
    pub commit: String,
    /// The ref that keeps them.
    pub reference: String,
}

/// What a model said about two attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// Places of the attempts, counted from 0.
    pub pair: (usize, usize),
    /// The place of the better one; `None` if the model did not say.
    pub better: Option<usize>,
}

/// How far an exploration is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExplorationState {
    /// The commit from which every branch starts; `None` before the first one.
    pub start: Option<String>,
    /// Checks that passed on it.
    pub passed_before: usize,
    /// Of the branches that have ended, in order.
    pub outcomes: Vec<BranchOutcome>,
    /// Sessions of the current branch.
    pub used: u32,
    /// The best score of the current branch.
    pub score: f64,
    /// Pairs of attempts that were compared.
    #[serde(default)]
    pub compared: Vec<Comparison>,
}

impl ExplorationState {
    /// A branch without a commit has led to nothing that could continue.
    pub fn has_commits(&self, outcome: &BranchOutcome) -> bool {
        self.start.as_ref() != Some(&outcome.kept.commit)
    }
}

impl Exploration {
    /// The branch with the most checks that passed, then with the best score. `None` if none is better than what there was.
    pub fn winner(&self, passed_before: usize, outcomes: &[BranchOutcome]) -> Option<BranchOutcome> {
        let good = outcomes.iter().filter(|outcome| outcome.is_better_than(passed_before));
        // The first of several that are equal, so reversed: `max_by` takes the last one.
        let best = good.rev().max_by(|one, other| {
            one.checks_passed.cmp(&other.checks_passed).then(one.score.total_cmp(&other.score))
        });
        best.cloned()
    }
}
