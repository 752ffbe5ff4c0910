//! Reproducing evidence: the same checks, on the same commit, from a fresh checkout.

use autonoe_core::check::{Check, Finding};
use autonoe_core::fault::Fault;
use autonoe_store::{CheckRegistry, FailedLook, Project, ProtectedPath};
use jiff::Timestamp;

use crate::added_files::{added_files, why_failed_with};
use crate::check_run::{self, CheckRun};
use crate::checkout::{Checkout, CheckoutFactory};
use crate::evidence::Evidence;
use crate::examiner::{author, partial_layer};
use crate::oracles::dispute_clause;

/// Result of reproducing evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Reproduction {
    /// Description of the checked revision.
    pub shown: String,
    /// What a reader must know about "reproduced", as [`Finding::qualification`] has it, but for the criteria.
    pub qualification: String,
    /// Whether the files are those of the evidence.
    pub same_tree: bool,
    /// Each check as recorded in the evidence, and as it ran now.
    pub runs: Vec<(CheckRun, CheckRun)>,
    /// The checks that belong to no deliverable, as they ran now.
    pub whole: Vec<CheckRun>,
    /// Protected files that the commit changes or adds, about which the user has not decided, each with a clause.
    pub disputed: Vec<(String, String)>,
    /// What fails with the files that the commit adds under protected patterns, a clause each; empty if that was not asked.
    pub fails_with_added: Vec<String>,
}

/// What must hold beside that the checks pass again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    Nothing,
    /// They must also pass with files that protected patterns hide from them.
    WithAddedFiles,
}

impl Reproduction {
    /// What did not hold, as a clause; `None` if it did.
    fn failure(&self) -> Option<String> {
        let is_other = (!self.same_tree).then(|| "the files differ from those that were verified".to_owned());
        let failed = self.runs.iter().filter(|(_, now)| !now.passed());
        let failed = failed.map(|(_, now)| format!("`{}`: {}", now.check, now.sentence()));
        let clauses: Vec<String> = is_other.into_iter().chain(failed).collect();
        (!self.holds()).then(|| clauses.join(", "))
    }

    /// Remembers how this look ended, so that what it did not confirm does not stay verified.
    pub fn record(&self, registry: &mut CheckRegistry, deliverable: &str, at: Timestamp) {
        match self.failure() {
            Some(message) => {
                drop(registry.failed_looks.insert(deliverable.to_owned(), FailedLook { at, message }));
            }
            None => drop(registry.failed_looks.remove(deliverable)),
        }
        for run in &self.whole {
            match run.passed() {
                true => drop(registry.failing.remove(&run.check)),
                false => drop(registry.failing.insert(run.check.clone(), run.sentence())),
            }
        }
    }

    /// Whether every check passes again, on the same files.
    pub fn holds(&self) -> bool {
        self.same_tree && !self.runs.is_empty() && self.runs.iter().all(|(_, now)| now.passed())
    }
}

/// Runs the checks of the evidence again, and those of the `whole` project on the same files. Evidence without a commit is checked against
/// the current files.
pub async fn reproduce(
    project: &Project,
    checkouts: &CheckoutFactory,
    evidence: &Evidence,
    whole: &[&Check],
    strictness: Strictness,
) -> Result<Reproduction, Fault> {
    let registry = CheckRegistry::load(project)?;
    let checkout: Checkout = checkouts.check_out(evidence.commit.as_deref()).await?;
    let mut runs = Vec::new();
    for proof in &evidence.checks {
        let now = check_run::run(&proof.check, &checkout, &registry, project).await?;
        runs.push((proof.run.clone(), now));
    }
    let mut whole_runs = Vec::new();
    for check in whole {
        whole_runs.push(check_run::run(check, &checkout, &registry, project).await?);
    }
    let mut fails_with_added = Vec::new();
    if strictness == Strictness::WithAddedFiles {
        let (added, commit) = (added_files(&registry, &checkout), evidence.commit.as_deref());
        for check in evidence.checks.iter().map(|proof| &proof.check).chain(whole.iter().copied()) {
            let why = why_failed_with(&added, check, checkouts, commit, &registry, project).await?;
            fails_with_added.extend(why.map(|why| format!("`{}`: {why}", check.name)));
        }
    }
    let finding = Finding {
        checks_by: author(&evidence.checks),
        partial_layer: partial_layer(checkouts.room_config.sandbox.layer()),
        ..Finding::unchecked(evidence.at)
    };
    let reproduction = Reproduction {
        shown: checkout.revision.describe(),
        qualification: finding.qualification(),
        same_tree: checkout.revision.tree == evidence.tree,
        runs,
        whole: whole_runs,
        disputed: disputed(&registry, &checkout, project),
        fails_with_added,
    };
    checkout.close().await;
    Ok(reproduction)
}

/// What differs in the commit from what the user has accepted, and was not taken away since.
fn disputed(registry: &CheckRegistry, checkout: &Checkout, project: &Project) -> Vec<(String, String)> {
    let changed = checkout.changed.get().into_iter().flatten();
    // One that is not committed may be the user's, who has not committed it.
    let there = changed.filter(|(_, hash)| hash.is_some()).map(|(file, _)| file);
    let is_open = |file: &&ProtectedPath| {
        registry.disputes.contains_key(file) || file.at(project.root()).symlink_metadata().is_ok()
    };
    there.filter(is_open).map(|file| (file.to_string(), dispute_clause(registry, file))).collect()
}
