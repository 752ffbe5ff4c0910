//! Several approaches, one after another, each from the same commit in a workspace that was made anew. The best one that was checked goes on.

use serde::{Deserialize, Serialize};

use super::escalation::Rung;
use super::nudge::{facts, joined};
use super::strategy::{LoopContext, RecoveryResult, RecoveryStrategy};
use crate::roadmap::Task;

/// Approaches that are tried.
const BRANCHES: usize = 3;

/// Sessions of each branch.
const SESSIONS_OF_BRANCH: u32 = 2;

/// A branch with a lower score, and nothing that was checked, is not better than what there is.
const LEAST_SCORE: f64 = 0.3;

/// Approaches and what each asks for.
const APPROACHES: [(&str, &str); BRANCHES] = [
    (
        "bottom_up",
        "Work from the bottom up: make the smallest part work that the task needs, with a test of its own, and build the rest on it.",
    ),
    (
        "top_down",
        "Work from the top down: begin with what a user calls, let it call parts that do not exist yet, and then write one part after \
         another.",
    ),
    (
        "research_first",
        "Look before you write: read the code and the documentation that the task touches, write down what you found and what follows \
         from it, and only then change something.",
    ),
];

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

pub struct BranchExplorer;

impl RecoveryStrategy for BranchExplorer {
    fn name(&self) -> &'static str {
        "exploration"
    }

    fn sessions(&self) -> u32 {
        BRANCHES as u32 * SESSIONS_OF_BRANCH
    }

    fn can_apply(&self, context: &LoopContext) -> bool {
        context.can_branch && context.is_new(self.name()) && context.sessions_left >= BRANCHES as u32
    }

    fn apply(&self, task: &Task, context: &LoopContext) -> RecoveryResult {
        let rungs = vendors(context);
        let sessions = (context.sessions_left / BRANCHES as u32).clamp(1, SESSIONS_OF_BRANCH);
        let branch = |(number, (approach, words)): (usize, (&str, &str))| ExplorationBranch {
            id: format!("{}-{}", task.id, approach.replace('_', "-")),
            approach: approach.to_owned(),
            prompt: joined(&[context.prompt.clone(), format!("## Approach\n{words}"), facts(context)]),
            rung: rungs[number % rungs.len()].clone(),
            sessions,
        };
        let branches = APPROACHES.into_iter().enumerate().map(branch).collect();
        let exploration = Exploration { deliverable: task.id.to_string(), branches };
        RecoveryResult { success: true, branch: Some(exploration), ..RecoveryResult::default() }
    }
}

/// The current model, and the most capable one of each other backend. Never empty.
fn vendors(context: &LoopContext) -> Vec<Rung> {
    let mut found = vec![context.current.clone()];
    for rung in context.ladder.iter().rev() {
        if found.iter().all(|known| known.backend != rung.backend) {
            found.push(rung.clone());
        }
    }
    found
}
