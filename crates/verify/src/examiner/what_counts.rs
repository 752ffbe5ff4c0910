//! What the checks of a deliverable prove, and why one that passed does not count.

use std::sync::PoisonError;

use autonoe_core::check::{Assurance, Check, CheckOrigin};
use autonoe_core::file_names::{list_names, shown_name};
use autonoe_store::{CheckRegistry, Project, ProtectedPath};

use crate::check_results::CheckResults;
use crate::checkout::Checkout;
use crate::checks::{check_key, is_vacuous};
use crate::evidence::CheckEvidence;
use crate::linked_directories::OF_PROCESSES;
use crate::oracles;
use crate::path_walk::PathWalk;
use crate::user_scripts::scripts_of_user;
use crate::written_changes;

/// The user's checks decide, if there are any: one that cannot count leaves a deliverable claimed, whatever agents have proposed. One that has
/// always passed does no harm beside another one of the user's that counts.
pub(super) fn assurance(evidence: &[CheckEvidence], registry: &CheckRegistry) -> Assurance {
    let users: Vec<&CheckEvidence> =
        evidence.iter().filter(|evidence| evidence.check.origin != CheckOrigin::Proposed).collect();
    let decisive = if users.is_empty() { evidence.iter().collect() } else { users };
    let is_harmless = |evidence: &&&CheckEvidence| evidence.counts || is_vacuous(&evidence.check, registry);
    let is_proof = decisive.iter().any(|evidence| evidence.counts);
    match (
        evidence.iter().all(|evidence| evidence.run.passed()),
        is_proof && decisive.iter().all(|one| is_harmless(&one)),
    ) {
        (false, _) => Assurance::Failed,
        (true, true) => Assurance::Verified,
        (true, false) => Assurance::Claimed,
    }
}

/// Why a proposed check does not count although it passed: it saw other files than the commit has.
pub(super) fn changed_by_builder(
    check: &Check,
    registry: &CheckRegistry,
    checkout: &Checkout,
) -> Option<String> {
    let changed = checkout.changed.get().into_iter().flatten().map(|(file, _)| file);
    let changed: Vec<String> =
        changed.filter(|file| oracles::is_builders(registry, file)).map(ToString::to_string).collect();
    let is_concerned = check.origin == CheckOrigin::Proposed && !changed.is_empty();
    is_concerned.then(|| format!("files that proposed checks protect were changed: {}", list_names(changed)))
}

/// Why a check does not count although it passed: it goes through a link that was not there when it was new, or a new link leads to what it
/// judges by.
pub(super) fn leads_elsewhere(
    check: &Check,
    registry: &CheckRegistry,
    checkout: &Checkout,
    project: &Project,
) -> Option<String> {
    let known = registry.baselines.get(&check_key(check))?.links.as_ref()?;
    let links = checkout.links.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // Accepted ones are restored for the check.
    let is_new = |(path, target): &(&String, &String)| {
        known.get(*path) != Some(*target) && !registry.files.contains_key(&ProtectedPath::new(path))
    };
    let new: Vec<_> = links.iter().filter(is_new).collect();
    if new.is_empty() {
        return None;
    }
    let mut walk = PathWalk::new(&checkout.part, &links);
    check.setup.iter().chain([&check.command]).for_each(|command| walk.follow_command(command));
    for (path, script) in scripts_of_user(registry, project) {
        walk.follow_script(&path, &script);
    }
    // A file, or a directory in which everything is protected.
    let judges = |target: &str| {
        let own = |path: &str| check.protect.iter().any(|glob| oracles::is_protected_by(glob, path));
        // Each process sees another file there.
        let is_of_process = OF_PROCESSES.iter().any(|start| target.starts_with(start));
        match registry.files.contains_key(&ProtectedPath::new(target)) {
            _ if is_of_process => !check.protect.is_empty(),
            true => own(target),
            false => !target.is_empty() && own(&format!("{target}/a")) && own(&format!("{target}/b.c")),
        }
    };
    let through = new.into_iter().find_map(|(path, target)| {
        let is_crossed = walk.crossed.contains(path.as_str());
        (is_crossed || judges(target)).then_some((path, target, is_crossed))
    });
    through.map(|(path, target, is_crossed)| {
        let (link, target) = (shown_name(path), shown_name(target));
        let what = match is_crossed {
            true => format!("it goes through `{link}`, which is a link to `{target}` now"),
            false => format!("`{link}` is a link to `{target}` now, by which it judges"),
        };
        format!("{what}; if that is right, run `autonoe checks accept {}` once it has landed", check.name)
    })
}

/// Leaves a deliverable claimed as long as the user has not decided about its changed checks.
pub(super) fn cap(results: &mut CheckResults, registry: &CheckRegistry, deliverable: &str) {
    let undecided = written_changes::concerning(registry, deliverable);
    if results.assurance == Assurance::Verified && !undecided.is_empty() {
        results.assurance = Assurance::Claimed;
        results.not_counted.extend(undecided);
    }
}
