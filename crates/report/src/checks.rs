//! The checks of a project, and the word for the state of one, for every command that shows them.

use autonoe_core::check::Check;
use autonoe_core::fault::Fault;
use autonoe_store::{CheckRegistry, CheckState, Project};
use autonoe_verify::{all_checks, check_key, written_checks};

/// All checks of a project: those of SPEC.md and checks.json, and those that agents proposed.
pub fn project_checks(project: &Project, book: &CheckRegistry) -> Result<Vec<Check>, Fault> {
    // Without SPEC.md there may still be checks from other sources.
    let spec = project.find_spec()?.unwrap_or_default();
    Ok(all_checks(&written_checks(project, &spec)?, book))
}

/// One or two words for the check's state.
pub fn check_state(check: &Check, book: &CheckRegistry) -> &'static str {
    match book.baselines.get(&check_key(check)) {
        None => "not run yet",
        Some(record) if !record.missing.is_empty() => "judges by nothing",
        Some(record) => match record.state {
            CheckState::Red => "failed first",
            CheckState::Vacuous => "vacuous",
            CheckState::Accepted => "accepted",
        },
    }
}
