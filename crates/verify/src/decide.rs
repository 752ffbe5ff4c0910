//! The user's decisions about checks and protected files.

use std::fs;
use std::io;

use autonoe_core::check::{Check, CheckOrigin};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_store::{AcceptError, CheckBaseline, CheckRegistry, CheckState, Project, ProtectedPath};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::checks::{all_checks, check_key};
use crate::deciding_files::content_hash;
use crate::linked_directories::linked_directories;
use crate::oracles;
use crate::packages::is_package;
use crate::runner_files::{built_files_in, decisive_files_in, listed_packages_in, test_files_in};
use crate::written_changes;

/// Accepts a check by name, or the current version of a protected file by path. Returns a message for the
/// user.
pub fn accept(project: &Project, written: &[Check], target: &str, now: Timestamp) -> Result<String, Fault> {
    let mut registry = CheckRegistry::load(project)?;
    let checks = all_checks(written, &registry);
    let file = ProtectedPath::from(target.to_owned());
    written_changes::record(&mut registry, written);
    let changed = written_changes::changed_in(&registry, target);
    let message = if !changed.is_empty() {
        changed.iter().for_each(|name| written_changes::accept(&mut registry, written, name));
        format!("Accepted your checks of {target} as they are now: {}.", changed.join(", "))
    } else if registry.changed.contains_key(target) && !checks.iter().any(|check| check.name == target) {
        written_changes::accept(&mut registry, written, target);
        format!("The check '{target}' is no longer one of yours.")
    } else if let Some(check) = named(&checks, &registry, target) {
        written_changes::accept(&mut registry, written, target);
        let missing = oracles::freeze(
            &mut registry,
            project,
            project.root(),
            &check.protect,
            // The user has decided, no matter who wrote it.
            oracles::Protector::User,
            now,
            &CancellationToken::new(),
        )?;
        if !missing.is_empty() {
            let message =
                format!("The check '{target}' relies on files that do not exist: {}.", missing.join(", "));
            return Err(Fault::permanent(FaultLayer::Config, "oracle", message));
        }
        let baseline = CheckBaseline {
            name: check.name.clone(),
            state: CheckState::Accepted,
            commit: None,
            at: now,
            missing: Vec::new(),
            links: Some(linked_directories(project.root(), &registry.paths_at(project.root()))),
        };
        accept_settings(&mut registry, project, check);
        let key = check_key(check);
        let same: Vec<String> = checks
            .iter()
            .filter(|other| check_key(other) == key)
            .map(|other| format!("'{}'", other.name))
            .collect();
        registry.looks.remove(&key);
        registry.not_counted.remove(&key);
        registry.baselines.insert(key, baseline);
        match same.len() {
            0 | 1 => format!("The check '{target}' now counts."),
            _ => format!("These checks run the same, and all of them now count: {}.", same.join(", ")),
        }
    } else if registry.files.contains_key(&file) || registry.disputes.contains_key(&file) {
        if file.at(project.root()).exists() {
            registry.accept(project, project.root(), &file, now).map_err(|error| match error {
                AcceptError::Fault(fault) => fault,
                AcceptError::Unreadable(error) => {
                    let message = format!("{target} cannot be accepted as a protected file: {error}.");
                    Fault::permanent(FaultLayer::Config, "oracle", message).hint(error.advice())
                }
            })?;
            format!("Accepted the current version of {target}.")
        } else {
            registry.files.remove(&file);
            registry.disputes.remove(&file);
            format!("{target} is no longer a protected file.")
        }
    } else {
        return Err(unknown(target, &checks, &registry));
    };
    registry.save(project)?;
    Ok(message)
}

/// Files that may decide what a check shows are the user's as they are now.
fn accept_settings(registry: &mut CheckRegistry, project: &Project, check: &Check) {
    let Some(known) = &mut registry.runner_files else { return };
    let cancel = CancellationToken::new();
    let found = decisive_files_in(project.root(), check, &cancel);
    if let Some(deciding) = &mut registry.deciding_files {
        let tests = test_files_in(project.root(), check, &cancel);
        let hashes = found
            .iter()
            .chain(&tests)
            .filter_map(|path| Some((path.clone(), content_hash(project.root(), path)?)));
        deciding.extend(hashes);
        let (packages, manifests) = listed_packages_in(project.root(), &cancel);
        deciding.retain(|entry, _| !is_package(entry) || packages.contains(entry));
        deciding.extend(packages.into_iter().map(|entry| (entry, String::new())));
        deciding.extend(manifests);
    }
    known.extend(found);
    known.extend(built_files_in(project.root(), check, &cancel));
}

/// Rejects a proposed check by name, or a change of a protected file by path. Returns a message for the user.
pub fn reject(project: &Project, written: &[Check], target: &str) -> Result<String, Fault> {
    let mut registry = CheckRegistry::load(project)?;
    let checks = all_checks(written, &registry);
    let file = ProtectedPath::from(target.to_owned());
    let message = match named(&checks, &registry, target) {
        Some(check) if check.origin == CheckOrigin::Proposed => {
            registry.baselines.remove(&check_key(check));
            registry.proposed.retain(|check| check.name != target);
            format!("Removed the check '{target}', which an agent had proposed.")
        }
        Some(check) => {
            let message =
                format!("You wrote the check '{target}' yourself: remove it from {}.", check.origin);
            return Err(Fault::permanent(FaultLayer::Config, "checks", message));
        }
        None if registry.disputes.remove(&file).is_some() => {
            let restored = match registry.files.get(&file) {
                Some(accepted) => {
                    let content = registry.content(project, accepted)?;
                    oracles::write_within(project.root(), &file, &content, accepted)
                }
                None => fs::remove_file(file.at(project.root())),
            };
            restored.or_else(ignore_not_found).map_err(|error| {
                Fault::permanent(
                    FaultLayer::System,
                    "oracle",
                    format!("{target} cannot be restored: {error}."),
                )
            })?;
            format!("Restored the accepted version of {target}.")
        }
        None => return Err(unknown(target, &checks, &registry)),
    };
    registry.save(project)?;
    Ok(message)
}

/// The check of this name. An agent cannot give one the name of a file about which the user has to decide.
fn named<'a>(checks: &'a [Check], registry: &CheckRegistry, target: &str) -> Option<&'a Check> {
    let is_file = registry.disputes.contains_key(&ProtectedPath::from(target.to_owned()));
    checks.iter().find(|check| check.name == target && !(is_file && check.origin == CheckOrigin::Proposed))
}

fn ignore_not_found(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn unknown(target: &str, checks: &[Check], registry: &CheckRegistry) -> Fault {
    let names = checks.iter().map(|check| check.name.clone());
    let names: Vec<String> = names.chain(registry.disputes.keys().map(ToString::to_string)).collect();
    let fault = Fault::permanent(
        FaultLayer::Config,
        "checks",
        format!("There is no check or disputed file '{target}'."),
    );
    match names.is_empty() {
        true => fault.hint("docs/verification.md describes how to write checks."),
        false => fault.hint(format!("Available: {}.", names.join(", "))),
    }
}
