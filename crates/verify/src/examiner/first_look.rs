//! The look at new checks before the work: one that passes then proves nothing.

use autonoe_core::check::{Check, CheckOrigin};
use autonoe_core::event::{CheckPurpose, RunEvent};
use autonoe_core::fault::Fault;
use autonoe_core::file_names::list_names;
use autonoe_store::{CheckBaseline, CheckRegistry, CheckState};

use super::ProjectExaminer;
use crate::blocking::blocking;
use crate::check_run;
use crate::checkout::Checkout;
use crate::checks::check_key;
use crate::linked_directories::linked_directories;
use crate::oracles::{self, Protector};
use crate::test_files::TestPatterns;

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
        if !users.is_empty() {
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
        let is_first_look = registry.runner_files.is_none();
        if is_first_look {
            registry.runner_files = Some(checkout.runner_files());
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
        for check in new {
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
        }
        let links = linked_directories(&committed.root, &registry.paths_at(&committed.root));
        drop(committed);
        for (check, missing) in new.iter().zip(missing) {
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
        }
        if let Some(known) = registry.runner_files.as_mut().filter(|_| is_first_look) {
            known.extend(checkout.found_by_checks());
            known.extend(checkout.built());
        }
        checkout.close().await;
        registry.save(&self.project)
    }
}
