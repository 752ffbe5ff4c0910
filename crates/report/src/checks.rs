//! The checks of a project, and the word for the state of one, for every command that shows them.

use autonoe_core::check::{Check, CheckOrigin};
use autonoe_core::deliverable::Deliverable;
use autonoe_core::fault::Fault;
use autonoe_store::{CheckRegistry, CheckState, Project};
use autonoe_verify::{all_checks, check_key, doubt_about, record_changes, written_checks};

/// All checks of a project: those of SPEC.md and checks.json, and those that agents proposed.
///
/// Changes of the user's checks are noted in `book`: the user must see them before the next run does.
pub fn project_checks(project: &Project, book: &mut CheckRegistry) -> Result<Vec<Check>, Fault> {
    // Without SPEC.md there may still be checks from other sources.
    let spec = project.find_spec()?.unwrap_or_default();
    let written = written_checks(project, &spec)?;
    record_changes(book, &written);
    Ok(all_checks(&written, book))
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

/// Whether an agent, not the user, said which criteria the check covers.
pub fn says_builder(check: &Check, book: &CheckRegistry) -> bool {
    book.assigned.contains_key(&check.name) || check.origin == CheckOrigin::Proposed
}

/// Whether the check has been run and cannot verify anything.
pub fn does_not_count(check: &Check, book: &CheckRegistry) -> bool {
    doubt_about(check, book).is_some()
}

/// Checks that name criteria which the deliverable does not have, each with the first such number.
pub fn beyond_criteria<'a>(
    deliverable: &'a Deliverable,
    checks: &'a [&Check],
) -> impl Iterator<Item = (&'a Check, usize)> {
    let count = deliverable.acceptance_criteria.len();
    checks.iter().filter_map(move |check| {
        let beyond = check.criteria.iter().find(|number| **number == 0 || **number > count)?;
        Some((*check, *beyond))
    })
}
