//! Results of a set of checks, and their description for agents.

use std::collections::BTreeMap;

use autonoe_core::check::{Assurance, Check, Finding};
use autonoe_core::file_names::list_names;
use autonoe_sandbox::SandboxLayer;
use autonoe_store::{CheckRegistry, ProtectedPath};

use crate::check_run::CheckRun;
use crate::checkout::Checkout;
use crate::evidence::{CheckEvidence, last};
use crate::hidden_files::hidden_files;
use crate::port_in_use::port_in_use;
use crate::refused_write::refused_write;

/// Maximum length of the output of a failed check shown to an agent, in bytes: its end.
const SHOWN_BYTES: usize = 4_000;

/// Results of the checks of one deliverable, or of the project.
pub(crate) struct CheckResults {
    pub(crate) assurance: Assurance,
    pub(crate) evidence: Vec<CheckEvidence>,
    /// Descriptions of failed checks, for the agent that has to fix them.
    pub(crate) failures: Vec<String>,
    /// Why it is not verified although all checks passed, a clause each.
    pub(crate) not_counted: Vec<String>,
    /// The checks that passed but do not count, by check key, with the reason.
    pub(crate) uncounted: BTreeMap<String, String>,
}

/// Describes a failed check for an agent.
pub(crate) fn failure(
    check: &Check,
    run: &CheckRun,
    registry: &CheckRegistry,
    layer: SandboxLayer,
) -> String {
    let output = last(&run.output, SHOWN_BYTES).trim_end();
    let cut = if run.output.len() > SHOWN_BYTES {
        format!(" (the last {SHOWN_BYTES} bytes)")
    } else {
        String::new()
    };
    let output = match output.is_empty() {
        true => "It printed nothing.".to_owned(),
        false => format!("Its output{cut}:\n{output}"),
    };
    let why = refused_write(&run.output, registry)
        .or_else(|| hidden_files(&run.output))
        .or_else(|| port_in_use(&run.output, layer));
    let why = why.map(|why| format!("\n{why}")).unwrap_or_default();
    format!("Check `{}` (`{}`): {}. {output}{why}", check.name, check.command, run.sentence())
}

/// Describes the results of a deliverable's checks for an agent.
pub(crate) fn summary(
    checkout: &Checkout,
    results: &CheckResults,
    finding: &Finding,
    changed: &[(ProtectedPath, Option<String>)],
) -> String {
    let revision = &checkout.revision;
    let mut parts = Vec::new();
    match results.assurance {
        Assurance::Verified => {
            let qualification = finding.qualification();
            parts.push(format!("Its checks pass on {}: verified{qualification}.", revision.describe()));
        }
        Assurance::Claimed => parts.push(format!(
            "Its checks pass on {}, but it is claimed, not verified: {}.",
            revision.describe(),
            results.not_counted.join("; ")
        )),
        Assurance::Failed => {
            parts.push(format!("Its checks do not pass on a clean checkout of {}.", revision.describe()));
            parts.extend(results.failures.iter().cloned());
        }
    }
    if !changed.is_empty() {
        let names: Vec<String> = changed.iter().map(|(file, _)| file.to_string()).collect();
        parts.push(format!(
            "The checks use the accepted versions of these files, not the current ones: {}.",
            list_names(names)
        ));
    }
    if results.assurance == Assurance::Failed {
        if !revision.uncommitted.is_empty() {
            parts.push(format!("Not committed, so not checked: {}.", list_names(&revision.uncommitted)));
        }
        parts.push("Fix it, commit, and set the status again.".to_owned());
    }
    parts.join("\n")
}
