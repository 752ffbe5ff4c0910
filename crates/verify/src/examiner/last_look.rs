//! The look at everything that has passed, before a run ends or something lands.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::PoisonError;

use autonoe_core::check::{Assurance, Check, Finding};
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::event::{CheckPurpose, RunEvent};
use autonoe_core::examiner::Confirmation;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::list_names;
use autonoe_core::plan::StatusReader;
use autonoe_core::status::{ChangeError, ProjectStatus};
use autonoe_files::{DOCUMENT_LIMIT, read_bytes_beneath};
use autonoe_store::{CheckRegistry, InPlaceFiles};

use super::what_counts::cap;
use super::{ProjectExaminer, partial_layer, record_results};
use crate::checks::{all_checks, checks_of, is_of_unfinished, is_vacuous, of_project, written_checks};
use crate::evidence::{CheckEvidence, disown_foreign_findings, disown_outdated_findings, outdated};
use crate::flaky::describe_flaky;
use crate::no_commit::NoCommit;
use crate::written_changes;

impl ProjectExaminer {
    /// Runs the checks of everything that passed once more, and those of the project.
    pub(super) async fn run_all_again(&self) -> Result<Confirmation, Fault> {
        let mut registry = CheckRegistry::load(&self.project)?;
        // The user may have edited them since the run began. Agents worked for those of then, so those run; but what they verify is
        // claimed here already, as `autonoe status` will say.
        let written = written_checks(&self.project, &self.project.find_spec()?.unwrap_or_default())?;
        let Some(recorded) = self.status.load().await? else {
            return Ok(Confirmation::default());
        };
        let mut status = recorded.clone();
        // Evidence that is gone or foreign is written anew.
        disown_foreign_findings(&self.project, &mut status)?;
        // New ones are remembered by the run that looks at them first.
        let remembered = written_changes::remembered(&registry, &written);
        self.record_changed_checks(&mut registry, &remembered).await?;
        let checks = self.checks(&registry);
        let present = all_checks(&written, &registry);
        disown_outdated_findings(&self.project, &mut status, &registry, &present)?;
        self.store_disowned(&recorded, &status, &checks).await?;
        if checks.is_empty() {
            return Ok(Confirmation::default());
        }
        let mut confirmation = Confirmation::default();
        let checkout = self.checkouts.check_out(None).await?;
        if checkout.revision.copied == Some(NoCommit::NothingCommitted) {
            let message = "Nothing is committed any more, or git cannot read the repository.";
            return Err(Fault::permanent(FaultLayer::Config, "no_commit", message)
                .hint("Look at the repository with `git status` and `git log`."));
        }
        let unseen = self.unseen_changes(&mut registry).await?;
        let passed = status.active().filter(|item| item.status == DeliverableStatus::Passed);
        for deliverable in passed {
            let checks = checks_of(&checks, &deliverable.id);
            if checks.is_empty() {
                continue;
            }
            let mut results =
                self.run_checks(&registry, &checkout, &checks, CheckPurpose::Confirmation).await?;
            self.look_again(&mut registry, &checkout, &mut results).await?;
            cap(&mut results, &registry, &deliverable.id);
            let outdated = outdated(&deliverable.id, &results.evidence, &present);
            if results.assurance == Assurance::Verified && !outdated.is_empty() {
                results.assurance = Assurance::Claimed;
                self.emit(RunEvent::Notice { message: format!("{}.", outdated.join("; ")) }).await?;
                results.not_counted.extend(outdated);
            }
            if let Some(unseen) = unseen.as_ref().filter(|_| results.assurance == Assurance::Verified) {
                results.assurance = Assurance::Claimed;
                results.not_counted.push(unseen.clone());
            }
            self.record_looks(&mut registry, &checkout, CheckPurpose::Confirmation, &mut results);
            registry.failed_looks.remove(&deliverable.id);
            let flaky = describe_flaky(&registry, &results);
            let tree = Some(&checkout.revision.tree);
            let layer = self.checkouts.room_config.sandbox.layer();
            // What a partial layer has found is found again where everything is enforced.
            let is_as_good =
                |found: &Finding| found.partial_layer.is_none() || partial_layer(layer).is_some();
            let is_known = |found: &Finding| {
                found.assurance == results.assurance
                    && found.tree.as_ref() == tree
                    && found.flaky == flaky
                    && is_as_good(found)
            };
            let on_record = recorded.find(&deliverable.id).and_then(|item| item.finding.as_ref());
            let is_on_record = on_record == deliverable.finding.as_ref();
            if results.failures.is_empty() && is_on_record && on_record.is_some_and(is_known) {
                continue;
            }
            let finding = self
                .conclude(&checkout, deliverable, &results, CheckPurpose::Confirmation, &registry)
                .await?;
            if results.assurance == Assurance::Failed {
                confirmation.regressed.push(deliverable.id.clone());
                self.reset(&deliverable.id, finding).await?;
            } else {
                self.store_finding(&deliverable.id, finding).await?;
            }
        }
        let mut whole = of_project(&checks, &status);
        if self.is_strict {
            // What became of its deliverable does not matter.
            whole.extend(checks.iter().filter(|check| is_of_unfinished(check, &status)));
        }
        let mut results = self.run_checks(&registry, &checkout, &whole, CheckPurpose::Confirmation).await?;
        // With --strict a flaky one would not count.
        if !self.is_strict {
            self.look_again(&mut registry, &checkout, &mut results).await?;
        }
        self.record_disputes(&mut registry, Some(&checkout)).await?;
        checkout.close().await;
        record_results(&mut registry, &results);
        registry.save(&self.project)?;
        // One that always passed shows at least that nothing broke.
        let does_not_count = |evidence: &CheckEvidence| {
            self.is_strict && !evidence.counts && !is_vacuous(&evidence.check, &registry)
        };
        let failed = |evidence: &&CheckEvidence| !evidence.run.passed() || does_not_count(evidence);
        confirmation.project =
            results.evidence.iter().filter(failed).map(|failed| failed.check.name.clone()).collect();
        let mut failures = results.failures;
        let uncounted = results.evidence.iter().filter(|evidence| does_not_count(evidence));
        let uncounted: Vec<String> = uncounted.map(|evidence| format!("`{}`", evidence.check.name)).collect();
        let is_uncounted = |reason: &String| uncounted.iter().any(|name| reason.starts_with(name.as_str()));
        failures.extend(results.not_counted.into_iter().filter(is_uncounted));
        *self.project_failures.lock().unwrap_or_else(PoisonError::into_inner) = failures;
        Ok(confirmation)
    }

    /// The file of the user's checkout that the run itself edits, as it is now.
    pub(super) fn own_text(&self) -> Option<String> {
        let own = self.own_edits.as_ref()?;
        let read = read_bytes_beneath(self.project.root(), own.name(), DOCUMENT_LIMIT);
        String::from_utf8(read.ok()?).ok()
    }

    /// Whether all that has changed in a file since the run started is what the run itself has edited.
    fn is_own_edit(&self, file: &str) -> bool {
        let Some(own) = self.own_edits.as_ref().filter(|own| own.name() == Path::new(file)) else {
            return false;
        };
        let texts = self.own_text_before.get().zip(self.own_text());
        texts.is_some_and(|(before, now)| own.describe(before, &now).is_some())
    }

    /// A sentence about files of the user's checkout that no check has seen as they are left; `None` if there are none. From a workspace only
    /// what is committed comes home, but an earlier run may have worked in the checkout.
    async fn unseen_changes(&self, registry: &mut CheckRegistry) -> Result<Option<String>, Fault> {
        let left = match self.checkout_before.get() {
            Some(before) => {
                let mut left = self.checkouts.left_changed(before).await?;
                left.retain(|file, _| !self.is_own_edit(file));
                registry.in_place = Some(InPlaceFiles { left: Some(left.clone()), ..before.in_place() });
                left
            }
            None => match &registry.in_place {
                Some(earlier) => self.checkouts.still_left(self.project.root(), earlier).await?,
                None => BTreeMap::new(),
            },
        };
        let unseen: Vec<String> = left.into_keys().collect();
        if unseen.is_empty() {
            return Ok(None);
        }
        let was_killed = self.checkout_before.get().is_none()
            && registry.in_place.as_ref().is_some_and(|files| files.left.is_none());
        let by = if was_killed { "by agents of a run that was killed, or since" } else { "by agents" };
        let message = format!(
            "Changed {by} without a commit, so what is there now was not checked and counts as claimed: {}.",
            list_names(unseen)
        );
        self.emit(RunEvent::Notice { message: message.clone() }).await?;
        Ok(Some(message))
    }

    /// Makes all verified deliverables claimed.
    pub(super) async fn void_findings(&self) -> Result<(), Fault> {
        let status = self.status.load().await?;
        for item in status.iter().flat_map(ProjectStatus::active) {
            if let Some(finding) =
                item.finding.as_ref().filter(|found| found.assurance == Assurance::Verified)
            {
                let void = Finding { assurance: Assurance::Claimed, ..finding.clone() };
                self.store_finding(&item.id, void).await?;
            }
        }
        Ok(())
    }

    /// Resets a deliverable that no longer passes, and reports it.
    async fn reset(&self, id: &str, finding: Finding) -> Result<(), Fault> {
        let changed = self
            .status
            .change(Box::new(|status: &mut ProjectStatus, _| {
                let change = status.set_status(id, DeliverableStatus::Pending)?;
                status.set_finding(id, finding)?;
                Ok((change.clone(), vec![change]))
            }))
            .await;
        match changed {
            Ok((change, _)) => (self.on_event)(&RunEvent::StatusChanged(change)),
            Err(ChangeError::Refused(_)) => {}
            Err(ChangeError::Fault(fault)) => return Err(fault),
        }
        Ok(())
    }

    /// Records that deliverables count as claimed for which there is no check any more: nothing else will say so.
    async fn store_disowned(
        &self,
        recorded: &ProjectStatus,
        status: &ProjectStatus,
        checks: &[Check],
    ) -> Result<(), Fault> {
        for (before, now) in recorded.deliverables.iter().zip(&status.deliverables) {
            if let Some(finding) = now.finding.as_ref().filter(|_| before.finding != now.finding)
                && checks_of(checks, &now.id).is_empty()
            {
                self.store_finding(&now.id, finding.clone()).await?;
            }
        }
        Ok(())
    }
}
