//! The checks that are known of a project: of its specification, of its user, and proposed by agents.

use autonoe_core::check::{Check, Origin};
use autonoe_core::deliverable::Deliverable;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::status::ProjectStatus;
use autonoe_store::{Assigned, CheckBook, CheckState, Project, Seen, sha256_hex};

use crate::list::read_list;
use crate::spec::read_spec;

/// Reads the checks that the user wrote, into SPEC.md and into `.autonoe/checks.json`.
pub fn written_checks(project: &Project, spec: &str) -> Result<Vec<Check>, Fault> {
    let of_spec = read_spec(spec).map_err(|what| {
        Fault::lasting(Layer::Config, "spec_checks", format!("{what}."))
            .hint("docs/verification.md says how checks are written.")
    })?;
    Ok(of_spec.into_iter().chain(read_list(&project.checks_file())?).collect())
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
    let is_there = |id: &String| status.find(id).is_some_and(Deliverable::is_active);
    let is_whole = |check: &&Check| match &check.deliverable {
        None => true,
        Some(id) => check.origin != Origin::Proposed && !is_there(id),
    };
    checks.iter().filter(is_whole).collect()
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
