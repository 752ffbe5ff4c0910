//! Approaches that are tried one after another, and what they have led to.

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

/// Approaches that are tried, each from the same commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exploration {
    /// Its checks compare the branches.
    pub deliverable: String,
    pub branches: Vec<ExplorationBranch>,
}

/// What a branch has led to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BranchOutcome {
    pub id: String,
    /// Checks that passed on a clean checkout of the branch.
    pub checks_passed: usize,
    /// The best score of its sessions.
    pub score: f64,
    pub kept: KeptBranch,
}

/// Where the commits of a branch are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBranch {
    pub commit: String,
    /// The ref that keeps them.
    pub reference: String,
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
}

impl Exploration {
    /// The branch with the most checks that passed, then with the best score. `None` if none is better than what there was.
    pub fn winner(&self, passed_before: usize, outcomes: &[BranchOutcome]) -> Option<BranchOutcome> {
        let is_better = |outcome: &&BranchOutcome| {
            let is_promising = outcome.score >= LEAST_SCORE && outcome.checks_passed == passed_before;
            outcome.checks_passed > passed_before || is_promising
        };
        let good = outcomes.iter().filter(is_better);
        // The first of several that are equal, so reversed: `max_by` takes the last one.
        let best = good.rev().max_by(|one, other| {
            one.checks_passed.cmp(&other.checks_passed).then(one.score.total_cmp(&other.score))
        });
        best.cloned()
    }
}
