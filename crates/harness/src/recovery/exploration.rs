//! Several approaches, one after another, each from the same commit in a workspace that was made anew. The best one that was checked goes on.

use super::approaches::{Exploration, ExplorationBranch, ExplorationKind};
use super::nudge::facts;
use super::rung::Rung;
use super::sections::joined;
use super::strategy::{LoopContext, RecoveryResult, RecoveryStrategy};
use crate::roadmap::Task;

/// Approaches that are tried.
const BRANCHES: usize = 3;

/// Sessions of each branch.
const SESSIONS_OF_BRANCH: u32 = 2;

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
        let exploration =
            Exploration { deliverable: task.id.to_string(), kind: ExplorationKind::Approaches, branches };
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
