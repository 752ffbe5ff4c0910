//! Reproducing evidence: the same checks, on the same commit, from a fresh checkout.

use autonoe_core::fault::Fault;
use autonoe_store::{CheckBook, Project};

use crate::checkout::{Checkout, CheckoutFactory};
use crate::evidence::Evidence;
use crate::oracles;
use crate::trial::{self, Trial, Verdict};

/// What came of doing it again.
#[derive(Debug, Clone, PartialEq)]
pub struct Reproduction {
    /// What was looked at.
    pub shown: String,
    /// Whether the files are those that the evidence is about.
    pub same_tree: bool,
    /// Each check: what the evidence says and what was seen now.
    pub trials: Vec<(Trial, Trial)>,
}

impl Reproduction {
    /// Whether every check passes again, on the same files.
    pub fn holds(&self) -> bool {
        self.same_tree && !self.trials.is_empty() && self.trials.iter().all(|(_, now)| now.passed())
    }
}

/// Runs the checks of evidence again. Where there was no commit, the files as they are now are looked at.
pub async fn reproduce(
    project: &Project,
    site: &CheckoutFactory,
    evidence: &Evidence,
) -> Result<Reproduction, Fault> {
    let book = CheckBook::load(project)?;
    let checkout: Checkout = site.check_out(evidence.commit.as_deref()).await?;
    site.prove(&checkout).await?;
    let mut trials = Vec::new();
    for proof in &evidence.checks {
        oracles::put_back(&book, project, &checkout.root)?;
        let now = match checkout.session_sandbox(proof.check.network) {
            None => Trial::not_run(&proof.check, Verdict::NetworkNotAllowed),
            Some(session_sandbox) => trial::run(&proof.check, session_sandbox, &checkout.root).await,
        };
        trials.push((proof.seen.clone(), now));
    }
    let reproduction = Reproduction {
        shown: checkout.revision.shown(),
        same_tree: checkout.revision.tree == evidence.tree,
        trials,
    };
    checkout.close().await;
    Ok(reproduction)
}
