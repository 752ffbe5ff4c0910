//! What the checks of a deliverable prove, and why one that passed does not count.

use std::sync::PoisonError;

use autonoe_core::check::{Assurance, Check, CheckOrigin};
use autonoe_core::file_names::{list_names, shown_name};
use autonoe_store::{CheckRegistry, Project, ProtectedPath};

use crate::cargo_targets::{is_manifest, manifest_of};
use crate::check_results::CheckResults;
use crate::checkout::Checkout;
use crate::checks::{check_key, is_vacuous};
use crate::evidence::CheckEvidence;
use crate::oracles;
use crate::path_walk::PathWalk;
use crate::runner_files::{is_code, package_of_shadow};
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

/// Whether a protected file is a program, or says what programs do.
fn is_script(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_code(path) || name.to_ascii_lowercase().ends_with("makefile") || !name.contains('.')
}

/// Why a check does not count although it passed: it goes through a link that was not there when it was new.
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
    let through = new.into_iter().find(|(path, _)| walk.crossed.contains(path.as_str()));
    through.map(|(path, target)| {
        format!(
            "it goes through `{}`, which is a link to `{}` now; if that is right, run `autonoe checks accept {}` once it has landed",
            shown_name(path),
            shown_name(target),
            check.name
        )
    })
}

/// The protected programs of the user's, with their texts.
fn scripts_of_user(registry: &CheckRegistry, project: &Project) -> Vec<(String, String)> {
    let users = registry.of_user();
    let scripts = users.files.iter().map(|(file, accepted)| (file.to_string(), accepted));
    let scripts =
        scripts.filter(|(path, accepted)| !accepted.link && (accepted.executable || is_script(path)));
    let text = |accepted| String::from_utf8(registry.content(project, accepted).ok()?).ok();
    scripts.filter_map(|(path, accepted)| Some((path, text(accepted)?))).collect()
}

/// Files that test runners read by themselves, and that were not there when the checks were new, and settings in manifests that were.
pub(super) fn new_runner_files(
    registry: &CheckRegistry,
    checkout: &Checkout,
    checks: &[CheckEvidence],
    project: &Project,
) -> Vec<String> {
    let known = registry.runner_files.clone().unwrap_or_default();
    let is_new =
        |file: &String| !known.contains(file) && !registry.files.contains_key(&ProtectedPath::new(file));
    // A new manifest is the work itself.
    let is_in_known = |file: &String| manifest_of(file).is_none_or(|manifest| known.contains(manifest));
    let found = checkout.found_by_checks().into_iter().filter(|file| is_new(file) && !is_manifest(file));
    let found =
        found.filter(is_in_known).map(|file| match checkout.has_entry(manifest_of(&file).unwrap_or(&file)) {
            true => file,
            false => format!("{file} (made by a check's command)"),
        });
    let commands =
        checks.iter().flat_map(|CheckEvidence { check, .. }| check.setup.iter().chain([&check.command]));
    let scripts = scripts_of_user(registry, project).into_iter().map(|(_, text)| text);
    let texts: Vec<String> = commands.cloned().chain(scripts).collect();
    let is_read = |file: &String| {
        let package = package_of_shadow(file, |path| checkout.has_entry(path));
        package.is_none_or(|package| is_searched(package, registry, &texts))
    };
    checkout.runner_files().into_iter().filter(|file| is_new(file) && is_read(file)).chain(found).collect()
}

/// Whether Python may look for modules in a directory: a command names it or a file in it, or protected files are in it.
fn is_searched(directory: &str, registry: &CheckRegistry, commands: &[String]) -> bool {
    let is_in = |path: &str| path.rsplit_once('/').is_some_and(|(parent, _)| parent == directory);
    let ends = |c: char| c.is_whitespace() || "\"'`;&|()=:,".contains(c);
    let names = |word: &str| {
        let word = word.trim_start_matches("./").trim_end_matches('/');
        word == directory || is_in(word)
    };
    registry.files.keys().any(|file| is_in(&file.to_string()))
        || commands.iter().any(|command| command.split(ends).any(names))
}

/// Leaves a deliverable claimed as long as the user has not decided about its changed checks.
pub(super) fn cap(results: &mut CheckResults, registry: &CheckRegistry, deliverable: &str) {
    let undecided = written_changes::concerning(registry, deliverable);
    if results.assurance == Assurance::Verified && !undecided.is_empty() {
        results.assurance = Assurance::Claimed;
        results.not_counted.extend(undecided);
    }
}
