//! The checks that are known of a project: of its specification, of its user, and proposed by agents.

use std::collections::HashSet;

use autonoe_core::check::{Check, Origin};
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::status::ProjectStatus;
use autonoe_store::{Assigned, CheckBook, CheckState, Project, Seen, sha256_hex};

use crate::list::read_list;
use crate::spec::read_spec;

/// How many checks a project may have. Each is run before the work begins, whenever its deliverable is claimed, and in the end.
pub const MAX_CHECKS: usize = 10_000;

/// That there are more of them, and what to do.
pub(crate) fn too_many() -> String {
    format!("a project may have at most {MAX_CHECKS} checks; let one check run a suite of tests")
}

/// Reads the checks that the user wrote, into SPEC.md and into `.autonoe/checks.json`.
pub fn written_checks(project: &Project, spec: &str) -> Result<Vec<Check>, Fault> {
    let of_spec = read_spec(spec).map_err(|what| {
        Fault::lasting(Layer::Config, "spec_checks", format!("{what}."))
            .hint("docs/verification.md says how checks are written.")
    })?;
    let written: Vec<Check> = of_spec.into_iter().chain(read_list(&project.checks_file())?).collect();
    if written.len() > MAX_CHECKS {
        let message = format!("SPEC.md and .autonoe/checks.json have {} checks.", written.len());
        return Err(Fault::lasting(Layer::Config, "too_many_checks", message)
            .hint(format!("Remove some: {}.", too_many())));
    }
    Ok(written)
}

/// All checks: those that are written and those that were proposed, assigned to their deliverables.
pub fn all_checks(written: &[Check], book: &CheckBook) -> Vec<Check> {
    let assigned = written.iter().cloned().map(|check| match book.assigned.get(&check.name) {
        Some(Assigned { deliverable, criteria })
            if check.origin == Origin::Spec && check.deliverable.is_none() =>
        {
            Check { deliverable: Some(deliverable.clone()), criteria: criteria.clone(), ..check }
        }
        Some(_) | None => check,
    });
    assigned.chain(book.proposed.iter().cloned()).collect()
}

/// The checks of the project as a whole: those that name no deliverable, and the user's that name one which is not there.
pub fn of_project<'a>(checks: &'a [Check], status: &ProjectStatus) -> Vec<&'a Check> {
    let active = status.active().map(|item| item.id.as_str()).collect();
    checks.iter().filter(|check| is_of_project(check, &active)).collect()
}

/// Whether a check is one of the project as a whole, if these are the deliverables that are there.
pub(crate) fn is_of_project(check: &Check, active: &HashSet<&str>) -> bool {
    match &check.deliverable {
        None => true,
        Some(id) => check.origin != Origin::Proposed && !active.contains(id.as_str()),
    }
}

/// The checks of one deliverable.
pub fn checks_of<'a>(checks: &'a [Check], deliverable: &str) -> Vec<&'a Check> {
    checks.iter().filter(|check| check.deliverable.as_deref() == Some(deliverable)).collect()
}

/// What makes a check the one that it is: not its name, nor what it is assigned to.
pub fn key(check: &Check) -> String {
    let Check { command, exit, output, exact, time_limit, network, protect, origin, .. } = check;
    let text = serde_json::json!([
        command,
        exit,
        output,
        exact,
        time_limit.as_millis() as u64,
        network,
        protect,
        origin
    ]);
    sha256_hex(text.to_string().as_bytes())[..16].to_owned()
}

/// Whether a deliverable can be verified by a check, and if not, why.
pub fn doubt(check: &Check, book: &CheckBook) -> Option<String> {
    match book.seen.get(&key(check)) {
        None => Some("it has not been seen to fail before the work began".to_owned()),
        Some(Seen { state: CheckState::Vacuous, .. }) => {
            Some("it passed before the work began and proves nothing".to_owned())
        }
        Some(Seen { missing, .. }) if !missing.is_empty() => {
            Some(format!("what it judges by was not there: {}", missing.join(", ")))
        }
        Some(_) => None,
    }
}
