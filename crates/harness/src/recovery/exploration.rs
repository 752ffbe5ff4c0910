//! Several approaches beside each other, each in a workspace of its own. The best one that was checked goes on.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::escalation::Rung;
use super::nudge::{facts, joined};
use super::strategy::{LoopContext, RecoveryResult, RecoveryStrategy, Rewriter};
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
    /// Unique within the run; the end of the name of its branch.
    pub id: String,
    pub approach: String,
    pub prompt: String,
    pub rung: Rung,
    /// Sessions that it may use.
    pub sessions: u32,
}

/// Approaches that are tried beside each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exploration {
    pub branches: Vec<ExplorationBranch>,
}

/// What a branch has led to.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchOutcome {
    pub id: String,
    /// Checks that passed on a clean checkout of the branch.
    pub checks_passed: usize,
    /// The best score of its sessions.
    pub score: f64,
}

impl Exploration {
    /// The branch with the most checks that passed, then with the best score. `None` if none is better than nothing.
    pub fn winner(&self, outcomes: &[BranchOutcome]) -> Option<&ExplorationBranch> {
        let good =
            outcomes.iter().filter(|outcome| outcome.checks_passed > 0 || outcome.score >= LEAST_SCORE);
        // The first of several that are equal, so reversed: `max_by` takes the last one.
        let best = good.rev().max_by(|one, other| {
            one.checks_passed.cmp(&other.checks_passed).then(one.score.total_cmp(&other.score))
        })?;
        self.branches.iter().find(|branch| branch.id == best.id)
    }
}

pub struct BranchExplorer;

#[async_trait]
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

    async fn apply(&self, task: &Task, context: &LoopContext, _rewriter: &dyn Rewriter) -> RecoveryResult {
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
        RecoveryResult { success: true, branch: Some(Exploration { branches }), ..RecoveryResult::default() }
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
