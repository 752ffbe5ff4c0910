//! What came of checks, and what an agent is told of that.

use autonoe_core::check::{Assurance, Check};

use crate::checkout::Checkout;
use crate::evidence::{Proof, last};
use crate::trial::Trial;

/// How much of the output of a failed check an agent is shown: its end.
const SHOWN_BYTES: usize = 4_000;

/// What came of the checks of one deliverable, or of the project.
pub(crate) struct Look {
    pub(crate) assurance: Assurance,
    pub(crate) proofs: Vec<Proof>,
    /// What does not pass, for anyone who has to fix it.
    pub(crate) failures: Vec<String>,
    /// What passed and does not count.
    pub(crate) doubts: Vec<String>,
}

/// What an agent is told of a check that does not pass.
pub(crate) fn failure(check: &Check, trial: &Trial) -> String {
    let output = last(&trial.output, SHOWN_BYTES).trim_end();
    let cut = if trial.output.len() > SHOWN_BYTES {
        format!(" (the last {SHOWN_BYTES} bytes)")
    } else {
        String::new()
    };
    let output = match output.is_empty() {
        true => "It printed nothing.".to_owned(),
        false => format!("Its output{cut}:\n{output}"),
    };
    format!("Check `{}` (`{}`): {}. {output}", check.name, check.command, trial.sentence())
}

/// What an agent is told of the checks of its deliverable.
pub(crate) fn told(checkout: &Checkout, look: &Look, changed: &[(String, Option<String>)]) -> String {
    let revision = &checkout.revision;
    let mut parts = Vec::new();
    match look.assurance {
        Assurance::Verified => parts.push(format!("Its checks pass on {}: verified.", revision.shown())),
        Assurance::Claimed => parts.push(format!(
            "Its checks pass on {}, but none counts yet ({}), so it is claimed, not verified.",
            revision.shown(),
            look.doubts.join("; ")
        )),
        Assurance::Failed => {
            parts.push(format!(
                "Its checks were run on a clean checkout of {}, and do not pass.",
                revision.shown()
            ));
            parts.extend(look.failures.iter().cloned());
        }
    }
    if !changed.is_empty() {
        let names: Vec<&str> = changed.iter().map(|(name, _)| name.as_str()).collect();
        parts.push(format!(
            "The checks judge by these files as they were accepted, not as they are now: {}.",
            names.join(", ")
        ));
    }
    if look.assurance == Assurance::Failed {
        if !revision.uncommitted.is_empty() {
            parts.push(format!("Not committed, so not looked at: {}.", revision.uncommitted.join(", ")));
        }
        parts.push("Fix it, commit, and set the status again.".to_owned());
    }
    parts.join("\n")
}
