//! The checks of a project: from its specification, from the user, and proposed by agents.

use std::collections::HashSet;

use autonoe_core::check::{Check, CheckOrigin};
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::list_names;
use autonoe_core::status::ProjectStatus;
use autonoe_store::{CheckAssignment, CheckBaseline, CheckRegistry, CheckState, Project, sha256_hex};

use crate::check_limit::{MAX_CHECKS, too_many};
use crate::checks_file::read_checks_file;
use crate::protect_pattern::find_pattern_problem;
use crate::spec::read_spec;

/// Reads the checks that the user wrote in SPEC.md and `.autonoe/checks.json`.
pub fn written_checks(project: &Project, spec: &str) -> Result<Vec<Check>, Fault> {
    let from_spec = read_spec(spec).map_err(|what| {
        Fault::permanent(FaultLayer::Config, "spec_checks", format!("{what}."))
            .hint("docs/verification.md describes how to write checks.")
    })?;
    let written: Vec<Check> =
        from_spec.into_iter().chain(read_checks_file(&project.checks_file())?).collect();
    if written.len() > MAX_CHECKS {
        let message = format!("SPEC.md and .autonoe/checks.json have {} checks.", written.len());
        return Err(Fault::permanent(FaultLayer::Config, "too_many_checks", message)
            .hint(format!("Remove some: {}.", too_many())));
    }
    for check in &written {
        find_pattern_problem(check, project.root()).map_err(|problem| {
            let message = format!("The check '{}' cannot be used: {problem}.", check.name);
            Fault::permanent(FaultLayer::Config, "spec_checks", message)
        })?;
    }
    Ok(written)
}

/// Written and proposed checks, assigned to their deliverables.
pub fn all_checks(written: &[Check], registry: &CheckRegistry) -> Vec<Check> {
    let assigned = written.iter().cloned().map(|check| match registry.assigned.get(&check.name) {
        Some(CheckAssignment { deliverable, criteria })
            if check.origin == CheckOrigin::Spec && check.deliverable.is_none() =>
        {
            Check { deliverable: Some(deliverable.clone()), criteria: criteria.clone(), ..check }
        }
        Some(_) | None => check,
    });
    assigned.chain(registry.proposed.iter().cloned()).collect()
}

/// Checks of the project as a whole: those that name no deliverable, and the user's that name a deliverable
/// that does not exist.
pub fn of_project<'a>(checks: &'a [Check], status: &ProjectStatus) -> Vec<&'a Check> {
    let active = status.active().map(|item| item.id.as_str()).collect();
    checks.iter().filter(|check| is_of_project(check, &active)).collect()
}

/// The user's checks that are for a deliverable which does not exist or is deprecated, a clause each.
pub fn without_deliverable(checks: &[Check], status: &ProjectStatus) -> Vec<String> {
    let clause = |check: &&Check| {
        let id = check.deliverable.as_deref()?;
        let why = if status.find(id).is_some() { "is deprecated" } else { "does not exist" };
        Some(format!("'{}' is for {id}, which {why}", check.name))
    };
    of_project(checks, status).iter().filter_map(clause).collect()
}

/// `active`: ids of the existing deliverables.
pub(crate) fn is_of_project(check: &Check, active: &HashSet<&str>) -> bool {
    match &check.deliverable {
        None => true,
        Some(id) => check.origin != CheckOrigin::Proposed && !active.contains(id.as_str()),
    }
}

/// Whether it is the user's, and its deliverable has not passed.
pub fn is_of_unfinished(check: &Check, status: &ProjectStatus) -> bool {
    let deliverable = check.deliverable.as_deref().and_then(|id| status.find(id));
    let is_unfinished = |item: &Deliverable| item.is_active() && item.status != DeliverableStatus::Passed;
    check.origin != CheckOrigin::Proposed && deliverable.is_some_and(is_unfinished)
}

pub fn checks_of<'a>(checks: &'a [Check], deliverable: &str) -> Vec<&'a Check> {
    checks.iter().filter(|check| check.deliverable.as_deref() == Some(deliverable)).collect()
}

/// Identity of a check: independent of its name, its deliverable and its time limit.
pub fn check_key(check: &Check) -> String {
    let Check { command, setup, exit, output, exact, network, protect, origin, .. } = check;
    let text = serde_json::json!([command, exit, output, exact, network, protect, origin]);
    // Without a setup it has the identity that it had before there was one.
    let text = if setup.is_empty() { text } else { serde_json::json!([text, setup]) };
    sha256_hex(text.to_string().as_bytes())[..16].to_owned()
}

/// Whether it passed before the work began, with all files that it relies on.
pub(crate) fn is_vacuous(check: &Check, registry: &CheckRegistry) -> bool {
    let baseline = registry.baselines.get(&check_key(check));
    baseline.is_some_and(|baseline| baseline.state == CheckState::Vacuous && baseline.missing.is_empty())
}

/// Why the check cannot verify a deliverable; `None` if it can.
pub(crate) fn why_not_counted(check: &Check, registry: &CheckRegistry) -> Option<String> {
    match registry.baselines.get(&check_key(check)) {
        None => Some("it was not run before the work began".to_owned()),
        Some(CheckBaseline { state: CheckState::Vacuous, .. }) => {
            Some("it passed before the work began, so it proves nothing".to_owned())
        }
        Some(CheckBaseline { missing, .. }) if !missing.is_empty() => {
            Some(format!("files it relies on did not exist: {}", list_names(missing)))
        }
        Some(_) => None,
    }
}

/// Why a check that has run does not count, as far as the registry knows, and what helps; `None` if it counts, or has not run yet.
pub fn doubt_about(check: &Check, registry: &CheckRegistry) -> Option<String> {
    let key = check_key(check);
    let accept = format!("run `autonoe checks accept {}`", check.name);
    let at_first = registry.baselines.get(&key).and_then(|_| why_not_counted(check, registry));
    let at_first = at_first.map(|reason| format!("{reason}; to make it count, {accept}"));
    at_first.or_else(|| registry.not_counted.get(&key).cloned())
}
