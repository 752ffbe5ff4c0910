//! The look at new checks before the work: one that passes then proves nothing.

use std::collections::VecDeque;

use autonoe_core::check::{Check, CheckOrigin};
use autonoe_core::event::{CheckPurpose, RunEvent};
use autonoe_core::fault::Fault;
use autonoe_core::file_names::list_names;
use autonoe_store::{CheckBaseline, CheckRegistry, CheckState, Project};

use super::ProjectExaminer;
use crate::blocking::blocking;
use crate::check_run;
use crate::checkout::Checkout;
use crate::checks::check_key;
use crate::linked_directories::linked_directories;
use crate::namesakes::Namesakes;
use crate::oracles::{self, Protector};
use crate::test_files::TestPatterns;
use crate::user_scripts::scripts_of_user;

/// How often a look is saved at most, so that a process that is killed again and again gets through it. Each time all checks are written.
const MAX_SAVES: usize = 100;

impl ProjectExaminer {
    /// Accepts the protected files of new checks and runs each check once: one that passes now proves
    /// nothing.
    pub(super) async fn run_new_checks(&self, registry: &mut CheckRegistry) -> Result<(), Fault> {
        let new: Vec<Check> = self
            .checks(registry)
            .into_iter()
            .filter(|check| !registry.baselines.contains_key(&check_key(check)))
            .collect();
        let (proposed, users): (Vec<Check>, Vec<Check>) =
            new.into_iter().partition(|check| check.origin == CheckOrigin::Proposed);
        if users.is_empty() {
            // What agents have done since must not count as if it had been there before.
            registry.first_look_was_cut = false;
        } else {
            self.look_first(registry, &users, self.checkouts.check_out_users().await?).await?;
        }
        if !proposed.is_empty() {
            self.look_first(registry, &proposed, self.checkouts.check_out(None).await?).await?;
        }
        Ok(())
    }

    /// Runs new checks in a checkout in which they should fail.
    async fn look_first(
        &self,
        registry: &mut CheckRegistry,
        new: &[Check],
        checkout: Checkout,
    ) -> Result<(), Fault> {
        let now = self.clock.now();
        let is_first_look = registry.runner_files.is_none() || registry.first_look_was_cut;
        if is_first_look {
            registry.runner_files.get_or_insert_default().extend(checkout.runner_files());
        }
        let committed = checkout.files().await?;
        if is_first_look {
            let deciding = checkout.deciding_files().into_iter();
            registry.deciding_files = Some(deciding.map(|(path, file)| (path, file.fingerprint)).collect());
        }
        if let Some(known) = &mut registry.deciding_files {
            for path in checkout.tests_of(&TestPatterns::of(new)) {
                known.entry(path).or_default();
            }
        }
        let mut missing = Vec::new();
        let mut protected = VecDeque::new();
        let saved_each = new.len().div_ceil(MAX_SAVES).max(1);
        for (place, check) in new.iter().enumerate() {
            let (mut frozen, project, globs) =
                (registry.clone(), self.project.clone(), check.protect.clone());
            let (root, protector) = (committed.root.clone(), Protector::of(check));
            let freeze = move |cancel: &_| {
                oracles::freeze(&mut frozen, &project, &root, &globs, protector, now, cancel)
                    .map(|missing| (frozen, missing))
            };
            let (frozen, unmatched) = blocking(freeze).await?;
            *registry = frozen;
            missing.push(unmatched);
            if is_saved_after(place, saved_each, new.len()) {
                protected.push_back(registry.clone());
            }
        }
        registry.namesakes.extend(found_by_users(registry, &self.project, &checkout, new));
        let links = linked_directories(&committed.root, &registry.paths_at(&committed.root));
        drop(committed);
        for (place, (check, missing)) in new.iter().zip(missing).enumerate() {
            let run = check_run::run(check, &checkout, registry, &self.project).await?;
            let state = if run.passed() { CheckState::Vacuous } else { CheckState::Red };
            let commit = checkout.revision.commit.clone();
            let message = match (state, missing.is_empty()) {
                _ if !run.was_run() => format!("{}; it does not count until it has run", run.sentence()),
                (CheckState::Vacuous, _) => format!(
                    "it passes before the work has begun, so it proves nothing; to count it anyway, run `autonoe checks accept {}`",
                    check.name
                ),
                (_, false) => format!(
                    "it relies on files that are not committed ({}), so it does not count; once they are, run `autonoe checks accept {}`",
                    list_names(&missing),
                    check.name
                ),
                (_, true) => format!("{}, as expected before the work begins", run.sentence()),
            };
            // A check that could not run has not failed; but missing protected files are recorded.
            if run.was_run() || !missing.is_empty() {
                let (name, links) = (check.name.clone(), Some(links.clone()));
                let baseline = CheckBaseline { name, state, commit, at: now, missing, links };
                registry.not_counted.remove(&check_key(check));
                registry.baselines.insert(check_key(check), baseline);
            }
            self.emit(RunEvent::Checked {
                deliverable: check.deliverable.clone(),
                check: check.name.clone(),
                purpose: CheckPurpose::RedFirst,
                passed: run.passed(),
                message,
            })
            .await?;
            if is_saved_after(place, saved_each, new.len())
                && let Some(protected) = protected.pop_front()
            {
                let mut so_far = with_protected(registry.clone(), protected);
                so_far.first_look_was_cut = is_first_look;
                if is_first_look {
                    add_found(&mut so_far, &checkout);
                }
                so_far.save(&self.project)?;
            }
        }
        registry.first_look_was_cut = false;
        if is_first_look {
            add_found(registry, &checkout);
        }
        checkout.close().await;
        registry.save(&self.project)
    }
}

/// Files that commands of the user's checks find by patterns, as protected ones.
fn found_by_users(
    registry: &CheckRegistry,
    project: &Project,
    checkout: &Checkout,
    new: &[Check],
) -> Vec<String> {
    let users = new.iter().filter(|check| check.origin != CheckOrigin::Proposed);
    let commands: Vec<String> =
        users.flat_map(|check| check.setup.iter().chain([&check.command])).cloned().collect();
    if commands.is_empty() {
        return Vec::new();
    }
    let scripts = scripts_of_user(registry, project).into_iter().map(|(_, text)| text);
    let texts: Vec<String> = commands.into_iter().chain(scripts).collect();
    checkout.namesakes(&Namesakes::of_patterns(registry.files.keys(), &texts))
}

/// Whether what was seen so far is saved after the check in this place. After the last one everything is.
fn is_saved_after(place: usize, saved_each: usize, all: usize) -> bool {
    (place + 1).is_multiple_of(saved_each) && place + 1 < all
}

/// With the files that are protected for the checks so far: those of the others are accepted when their checks run, since only then it is
/// known what is missing.
fn with_protected(mut registry: CheckRegistry, protected: CheckRegistry) -> CheckRegistry {
    (registry.globs, registry.files) = (protected.globs, protected.files);
    (registry.builders_globs, registry.builders_files) = (protected.builders_globs, protected.builders_files);
    registry.disputes = protected.disputes;
    registry
}

fn add_found(registry: &mut CheckRegistry, checkout: &Checkout) {
    if let Some(known) = &mut registry.runner_files {
        known.extend(checkout.found_by_checks());
        known.extend(checkout.built());
        known.extend(checkout.changed_by_checks().into_iter().map(|(_, change)| change));
    }
}
