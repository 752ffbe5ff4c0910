//! ProjectExaminer: runs the checks of a project's deliverables on clean checkouts and updates the check
//! registry.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use autonoe_core::check::{Assurance, Check, CheckAuthor, CheckOrigin, Finding, Review};
use autonoe_core::clock::Clock;
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::event::{CheckPurpose, RunEvent};
use autonoe_core::examiner::{Confirmation, Examination, Examiner, FailedRecheck, Proposal};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::files::ProtectedFiles;
use autonoe_core::journal::Journal as _;
use autonoe_core::plan::StatusReader;
use autonoe_core::status::{ChangeError, ProjectStatus, Refusal};
use autonoe_sandbox::SandboxLayer;
use autonoe_store::{
    CheckBaseline, CheckRegistry, CheckState, InPlaceFiles, Project, ProtectedPath, SqliteJournal,
    StatusStore, read_evidence, write_evidence,
};

use crate::blocking::blocking;
use crate::briefing::briefing;
use crate::cargo_targets::{is_manifest, manifest_of};
use crate::check_limit::{MAX_CHECKS, too_many};
use crate::check_results::{CheckResults, failure, summary};
use crate::check_run;
use crate::checkout::{Checkout, CheckoutFactory, UNUSABLE_COMMIT};
use crate::checks::{all_checks, check_key, checks_of, is_vacuous, of_project, why_not_counted};
use crate::checks_file::find_problem;
use crate::current_builder::CurrentBuilder;
use crate::evidence::{
    Builder, CheckEnvironment, CheckEvidence, Evidence, coverage, disown_foreign_findings,
    disown_outdated_findings, truncated, unchecked, versions,
};
use crate::flaky::{count_looks, describe_flaky};
use crate::left_changed::CheckoutBefore;
use crate::linked_directories::{command_goes_through, linked_directories, script_goes_through};
use crate::no_commit::NoCommit;
use crate::oracles::{self, ChangedFiles, Protector};
use crate::protect_pattern::find_pattern_problem;
use crate::review;
use crate::runner_files::is_code;
use crate::written_changes::{self, describe_change};

/// Called for every event.
pub type EventListener = Box<dyn Fn(&RunEvent) + Send + Sync>;

/// Everything that an examiner works with.
pub struct ProjectExaminer {
    pub project: Project,
    pub checkouts: CheckoutFactory,
    /// The checks that the user wrote, as of the start of the run.
    pub written: Vec<Check>,
    /// The one writer of `status.json`.
    pub status: Arc<StatusStore>,
    pub journal: Arc<SqliteJournal>,
    pub clock: Arc<dyn Clock>,
    pub on_event: EventListener,
    /// Files that agents must not write, for each place in which agents work.
    pub protected: Vec<(PathBuf, ProtectedFiles)>,
    pub builders: Arc<CurrentBuilder>,
    /// Whether only verified deliverables count.
    pub is_strict: bool,
    /// Last failures of the checks of the project as a whole.
    pub project_failures: Mutex<Vec<String>>,
    /// Last commit when the run started.
    pub base: Mutex<Option<String>>,
    /// The user's checkout when the run started; not used in a workspace.
    pub checkout_before: OnceLock<CheckoutBefore>,
    /// Serializes checkouts.
    pub working: tokio::sync::Mutex<()>,
}

impl ProjectExaminer {
    fn checks(&self, registry: &CheckRegistry) -> Vec<Check> {
        all_checks(&self.written, registry)
    }

    async fn emit(&self, event: RunEvent) -> Result<(), Fault> {
        self.journal.event(0, &(&event).into()).await?;
        (self.on_event)(&event);
        Ok(())
    }

    /// Runs checks one after another, each with the accepted protected files.
    async fn run_checks(
        &self,
        registry: &CheckRegistry,
        checkout: &Checkout,
        checks: &[&Check],
        purpose: CheckPurpose,
    ) -> Result<CheckResults, Fault> {
        let mut results = CheckResults {
            assurance: Assurance::Claimed,
            evidence: Vec::new(),
            failures: Vec::new(),
            not_counted: Vec::new(),
        };
        for check in checks {
            let run = match check_run::run(check, checkout, registry, &self.project).await {
                Err(fault) if fault.code == UNUSABLE_COMMIT => {
                    results.failures.push(fault.message);
                    results.assurance = Assurance::Failed;
                    return Ok(results);
                }
                run => run?,
            };
            let reason = why_not_counted(check, registry)
                .or_else(|| changed_by_builder(check, registry, checkout))
                .or_else(|| leads_elsewhere(check, registry, checkout, &self.project));
            let message = match (&reason, run.passed(), purpose) {
                (Some(reason), true, CheckPurpose::Claim | CheckPurpose::Confirmation) => {
                    format!("it passed, but does not count: {reason}")
                }
                _ => run.sentence(),
            };
            self.emit(RunEvent::Checked {
                deliverable: check.deliverable.clone(),
                check: check.name.clone(),
                purpose,
                passed: run.passed(),
                message,
            })
            .await?;
            if !run.passed() {
                results.failures.push(failure(check, &run));
            }
            if let Some(reason) = reason.as_ref().filter(|_| run.passed()) {
                results.not_counted.push(format!("`{}`: {reason}", check.name));
            }
            let counts = reason.is_none();
            results.evidence.push(CheckEvidence { check: (*check).clone(), run: truncated(&run), counts });
        }
        results.assurance = assurance(&results.evidence, registry);
        Ok(results)
    }

    /// The builder of a deliverable: on a claim the current session, later the recorded one.
    fn builder(&self, deliverable: &Deliverable, purpose: CheckPurpose) -> Result<Option<Builder>, Fault> {
        let earlier = match purpose {
            CheckPurpose::Claim | CheckPurpose::RedFirst => None,
            CheckPurpose::Confirmation => read_evidence(&self.project, &deliverable.id)?,
        };
        let earlier = earlier.filter(|evidence| evidence.is_ours);
        let earlier =
            earlier.and_then(|evidence| serde_json::from_value(evidence.value["builder"].clone()).ok());
        Ok(earlier.or_else(|| self.builders.of(&deliverable.id)))
    }

    /// Returns the finding, and writes evidence if the deliverable is verified.
    async fn conclude(
        &self,
        checkout: &Checkout,
        deliverable: &Deliverable,
        results: &CheckResults,
        purpose: CheckPurpose,
        registry: &CheckRegistry,
    ) -> Result<Finding, Fault> {
        let revision = &checkout.revision;
        let at = self.clock.now();
        if results.assurance == Assurance::Verified {
            let checks: Vec<&Check> = results.evidence.iter().map(|evidence| &evidence.check).collect();
            let evidence = Evidence {
                deliverable: deliverable.id.clone(),
                description: deliverable.description.clone(),
                criteria: coverage(deliverable, &checks),
                commit: revision.commit.clone(),
                tree: revision.tree.clone(),
                uncommitted: revision.uncommitted.clone(),
                runner_files: new_runner_files(registry, checkout),
                environment: CheckEnvironment {
                    os: std::env::consts::OS.to_owned(),
                    architecture: std::env::consts::ARCH.to_owned(),
                    sandbox: self.checkouts.room_config.sandbox.layer().name().to_owned(),
                    tools: versions(checkout, &checks).await,
                },
                builder: self.builder(deliverable, purpose)?,
                checks: results.evidence.clone(),
                at,
                autonoe: env!("CARGO_PKG_VERSION").to_owned(),
                is_ours: true,
            };
            let evidence = serde_json::to_value(evidence).unwrap_or_default();
            write_evidence(&self.project, &deliverable.id, &evidence)?;
        }
        Ok(Finding {
            assurance: results.assurance,
            commit: revision.commit.clone(),
            tree: Some(revision.tree.clone()),
            at,
            checks_by: author(&results.evidence),
            partial_layer: partial_layer(self.checkouts.room_config.sandbox.layer()),
            flaky: describe_flaky(registry, results).filter(|_| results.assurance == Assurance::Verified),
            unchecked: unchecked(deliverable.acceptance_criteria.len(), &results.evidence),
        })
    }

    /// Accepts the protected files of new checks and runs each check once: one that passes now proves
    /// nothing.
    async fn run_new_checks(&self, registry: &mut CheckRegistry) -> Result<(), Fault> {
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
        let links = linked_directories(&committed.root);
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
                    missing.join(", "),
                    check.name
                ),
                (_, true) => format!("{}, as expected before the work begins", run.sentence()),
            };
            // A check that could not run has not failed; but missing protected files are recorded.
            if run.was_run() || !missing.is_empty() {
                let (name, links) = (check.name.clone(), Some(links.clone()));
                let baseline = CheckBaseline { name, state, commit, at: now, missing, links };
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
        }
        checkout.close().await;
        registry.save(&self.project)
    }

    /// Protected files that were changed in the working tree, or in the commit that was looked at: git can hide one from the other.
    async fn differences(
        &self,
        registry: &CheckRegistry,
        looked_at: Option<&Checkout>,
    ) -> Result<ChangedFiles, Fault> {
        let (registry, root) = (registry.clone(), self.checkouts.root.clone());
        let mut differing = blocking(move |cancel| oracles::differences(&registry, &root, cancel)).await?;
        let committed = looked_at.and_then(|checkout| checkout.changed.get()).into_iter().flatten();
        for (file, hash) in committed {
            // One that is not committed may be the user's, who has not committed it.
            if hash.is_some() && !differing.iter().any(|(known, _)| known == file) {
                differing.push((file.clone(), hash.clone()));
            }
        }
        Ok(differing)
    }

    /// Records which of the user's checks were changed.
    async fn record_changed_checks(&self, registry: &mut CheckRegistry) -> Result<(), Fault> {
        let before = registry.clone();
        let changed = written_changes::record(registry, &self.written);
        if *registry != before {
            registry.save(&self.project)?;
        }
        for name in changed {
            if let Some(change) = registry.changed.get(&name) {
                let message = describe_change(&name, change);
                self.emit(RunEvent::Disputed { path: name, message }).await?;
            }
        }
        Ok(())
    }

    /// Records which protected files were changed.
    async fn record_disputes(
        &self,
        registry: &mut CheckRegistry,
        looked_at: Option<&Checkout>,
    ) -> Result<(), Fault> {
        let before = registry.clone();
        let differing = self.differences(registry, looked_at).await?;
        let new = oracles::record_disputes(registry, differing, self.clock.now());
        if *registry != before {
            registry.save(&self.project)?;
        }
        for path in new {
            let message = format!(
                "it {}: `autonoe checks accept {path}` or `autonoe checks reject {path}`",
                oracles::describe_dispute(registry, &path)
            );
            self.emit(RunEvent::Disputed { path: path.to_string(), message }).await?;
        }
        Ok(())
    }

    /// Protects the accepted files from now on.
    fn protect(&self, registry: &CheckRegistry) {
        for (root, protected) in &self.protected {
            let mut files: Vec<_> = registry.files.keys().map(|file| file.at(root)).collect();
            // An agent could add checks of its own to it, which would pass for the user's.
            files.push(root.join("SPEC.md"));
            *protected.write().unwrap_or_else(PoisonError::into_inner) = files;
        }
    }

    /// Runs the checks of everything that passed once more, and those of the project.
    async fn run_all_again(&self) -> Result<Confirmation, Fault> {
        let mut registry = CheckRegistry::load(&self.project)?;
        let checks = self.checks(&registry);
        let Some(recorded) = self.status.load().await? else {
            return Ok(Confirmation::default());
        };
        let mut status = recorded.clone();
        // Evidence that is gone or foreign is written anew.
        disown_foreign_findings(&self.project, &mut status)?;
        self.record_changed_checks(&mut registry).await?;
        disown_outdated_findings(&self.project, &mut status, &registry, &checks)?;
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
            cap(&mut results, &registry, &deliverable.id);
            if let Some(unseen) = unseen.as_ref().filter(|_| results.assurance == Assurance::Verified) {
                results.assurance = Assurance::Claimed;
                results.not_counted.push(unseen.clone());
            }
            self.record_looks(&mut registry, &checkout, &mut results);
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
        let results = self.run_checks(&registry, &checkout, &whole, CheckPurpose::Confirmation).await?;
        self.record_disputes(&mut registry, Some(&checkout)).await?;
        checkout.close().await;
        record_failures(&mut registry, &results);
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

    /// A sentence about files of the user's checkout that no check has seen as they are left; `None` if there are none. From a workspace only
    /// what is committed comes home, but an earlier run may have worked in the checkout.
    async fn unseen_changes(&self, registry: &mut CheckRegistry) -> Result<Option<String>, Fault> {
        let left = match self.checkout_before.get() {
            Some(before) => {
                let left = self.checkouts.left_changed(before).await?;
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
            unseen.join(", ")
        );
        self.emit(RunEvent::Notice { message: message.clone() }).await?;
        Ok(Some(message))
    }

    /// Remembers how checks ended. One that is flaky does not count where only verified deliverables do.
    fn record_looks(&self, registry: &mut CheckRegistry, checkout: &Checkout, results: &mut CheckResults) {
        record_failures(registry, results);
        let layer = self.checkouts.room_config.sandbox.layer().name();
        count_looks(registry, &format!("{layer} {}", checkout.revision.tree), results);
        if let Some(flaky) = describe_flaky(registry, results).filter(|_| self.is_strict)
            && results.assurance == Assurance::Verified
        {
            results.assurance = Assurance::Claimed;
            results.not_counted.push(format!("with --strict a flaky check does not count: {flaky}"));
        }
    }

    /// Makes all verified deliverables claimed.
    async fn void_findings(&self) -> Result<(), Fault> {
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

    async fn store_finding(&self, id: &str, finding: Finding) -> Result<(), Fault> {
        let store = |status: &mut ProjectStatus, _| Ok((status.set_finding(id, finding)?, Vec::new()));
        match self.status.change(Box::new(store)).await {
            Ok(_) | Err(ChangeError::Refused(_)) => Ok(()),
            Err(ChangeError::Fault(fault)) => Err(fault),
        }
    }
}

/// Whether it is the user's, and its deliverable has not passed.
fn is_of_unfinished(check: &Check, status: &ProjectStatus) -> bool {
    let deliverable = check.deliverable.as_deref().and_then(|id| status.find(id));
    let is_unfinished = |item: &Deliverable| item.is_active() && item.status != DeliverableStatus::Passed;
    check.origin != CheckOrigin::Proposed && deliverable.is_some_and(is_unfinished)
}

/// The user's checks decide, if there are any: one that cannot count leaves a deliverable claimed, whatever agents have proposed. One that has
/// always passed does no harm beside another one of the user's that counts.
fn assurance(evidence: &[CheckEvidence], registry: &CheckRegistry) -> Assurance {
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
fn changed_by_builder(check: &Check, registry: &CheckRegistry, checkout: &Checkout) -> Option<String> {
    let changed = checkout.changed.get().into_iter().flatten().map(|(file, _)| file);
    let changed: Vec<String> =
        changed.filter(|file| oracles::is_builders(registry, file)).map(ToString::to_string).collect();
    let is_concerned = check.origin == CheckOrigin::Proposed && !changed.is_empty();
    is_concerned.then(|| format!("files that proposed checks protect were changed: {}", changed.join(", ")))
}

/// Whether a protected file is a program, or says what programs do.
fn is_script(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_code(path) || name.to_ascii_lowercase().ends_with("makefile") || !name.contains('.')
}

/// Why a check does not count although it passed: it goes through a link that was not there when it was new.
fn leads_elsewhere(
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
    let scripts: Vec<String> = registry
        .of_user()
        .files
        .iter()
        .filter(|(file, accepted)| !accepted.link && (accepted.executable || is_script(&file.to_string())))
        .filter_map(|(_, accepted)| String::from_utf8(registry.content(project, accepted).ok()?).ok())
        .collect();
    let through = new.into_iter().find(|(path, _)| {
        check.setup.iter().chain([&check.command]).any(|command| command_goes_through(command, path))
            || scripts.iter().any(|script| script_goes_through(script, path))
    });
    through.map(|(path, target)| {
        format!(
            "it goes through `{path}`, which is a link to `{target}` now; if that is right, run `autonoe checks accept {}` once it has landed",
            check.name
        )
    })
}

/// Files that test runners read by themselves, and that were not there when the checks were new, and settings in manifests that were.
fn new_runner_files(registry: &CheckRegistry, checkout: &Checkout) -> Vec<String> {
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
    checkout.runner_files().into_iter().filter(is_new).chain(found).collect()
}

/// Remembers which checks of the user's failed when they last ran.
fn record_failures(registry: &mut CheckRegistry, results: &CheckResults) {
    for CheckEvidence { check, run, .. } in &results.evidence {
        match run.passed() || check.origin == CheckOrigin::Proposed {
            true => drop(registry.failing.remove(&check.name)),
            false => drop(registry.failing.insert(check.name.clone(), run.sentence())),
        }
    }
}

pub(crate) fn author(evidence: &[CheckEvidence]) -> CheckAuthor {
    let is_users =
        |evidence: &CheckEvidence| evidence.counts && evidence.check.origin != CheckOrigin::Proposed;
    if evidence.iter().any(is_users) { CheckAuthor::User } else { CheckAuthor::Builder }
}

/// The name of a layer that does not enforce everything: builders and checks share temporary files or memory there.
pub(crate) fn partial_layer(layer: SandboxLayer) -> Option<String> {
    match layer {
        SandboxLayer::Bubblewrap => None,
        SandboxLayer::None => Some("a machine without a sandbox".to_owned()),
        SandboxLayer::Landlock | SandboxLayer::Seatbelt => Some(layer.name().to_owned()),
    }
}

/// Leaves a deliverable claimed as long as the user has not decided about its changed checks.
fn cap(results: &mut CheckResults, registry: &CheckRegistry, deliverable: &str) {
    let undecided = written_changes::concerning(registry, deliverable);
    if results.assurance == Assurance::Verified && !undecided.is_empty() {
        results.assurance = Assurance::Claimed;
        results.not_counted.extend(undecided);
    }
}

fn refuse(reason: impl Display) -> ChangeError {
    Refusal::Validation(reason.to_string()).into()
}

#[async_trait]
impl Examiner for ProjectExaminer {
    async fn prepare(&self) -> Result<(), Fault> {
        let _working = self.working.lock().await;
        let mut registry = CheckRegistry::load(&self.project)?;
        if self.checkouts.hub.is_none() && self.checkout_before.get().is_none() {
            // Set by nobody else meanwhile.
            let before = self.checkouts.before(registry.in_place.as_ref()).await?;
            registry.in_place = Some(before.in_place());
            registry.save(&self.project)?;
            let _ = self.checkout_before.set(before);
        }
        self.record_changed_checks(&mut registry).await?;
        self.record_disputes(&mut registry, None).await?;
        self.run_new_checks(&mut registry).await?;
        self.protect(&registry);
        Ok(())
    }

    async fn propose(&self, ids: &[String], proposals: Vec<Proposal>) -> Result<(), ChangeError> {
        let _working = self.working.lock().await;
        let mut registry = CheckRegistry::load(&self.project)?;
        let before = registry.clone();
        let mut names: HashSet<String> = self.checks(&registry).into_iter().map(|check| check.name).collect();
        for proposal in proposals {
            match proposal {
                Proposal::FromSpec { name, deliverable, criteria } => {
                    let is_free = |check: &&Check| {
                        check.name == name && check.origin == CheckOrigin::Spec && check.deliverable.is_none()
                    };
                    if registry.assigned.contains_key(&name) || self.written.iter().find(is_free).is_none() {
                        return Err(refuse(format!("SPEC.md has no unassigned check '{name}'")));
                    }
                    let assigned = autonoe_store::CheckAssignment { deliverable, criteria };
                    registry.assigned.insert(name, assigned);
                }
                Proposal::New(mut check) => {
                    check.origin = CheckOrigin::Proposed;
                    find_problem(&check).map_err(refuse)?;
                    find_pattern_problem(&check, self.project.root()).map_err(refuse)?;
                    let words = |check: &Check| -> Vec<String> {
                        check.command.split_whitespace().map(str::to_owned).collect()
                    };
                    let is_same = |other: &&Check| {
                        other.deliverable != check.deliverable
                            && (words(other), &other.output, other.exit)
                                == (words(&check), &check.output, check.exit)
                    };
                    if let Some(other) = self.checks(&registry).iter().find(is_same) {
                        let of = other.deliverable.as_deref().unwrap_or("the project");
                        return Err(refuse(format!(
                            "the check '{}' would run the same as '{}' of {of}; one check cannot verify two deliverables",
                            check.name, other.name
                        )));
                    }
                    if !names.insert(check.name.clone()) {
                        return Err(refuse(format!("a check '{}' already exists", check.name)));
                    }
                    if names.len() > MAX_CHECKS {
                        return Err(refuse(too_many()));
                    }
                    registry.proposed.push(check);
                }
            }
        }
        if self.is_strict {
            let checks = self.checks(&registry);
            let lacking = ids.iter().filter(|id| checks_of(&checks, id).is_empty());
            let lacking: Vec<&str> = lacking.map(String::as_str).collect();
            if !lacking.is_empty() {
                return Err(refuse(format!(
                    "This run accepts only verified deliverables, so each needs `checks`; missing for: {}",
                    lacking.join(", ")
                )));
            }
        }
        if registry != before {
            registry.save(&self.project)?;
        }
        Ok(())
    }

    async fn examine(&self, deliverable: &Deliverable) -> Result<Examination, Fault> {
        let _working = self.working.lock().await;
        let mut registry = CheckRegistry::load(&self.project)?;
        let checks = self.checks(&registry);
        let checks = checks_of(&checks, &deliverable.id);
        if checks.is_empty() {
            let finding = Finding::unchecked(self.clock.now());
            let message = "It has no check, so it counts as claimed, not verified.".to_owned();
            return Ok(Examination { finding, passed: 0, message });
        }
        self.record_changed_checks(&mut registry).await?;
        let checkout = self.checkouts.check_out(None).await?;
        let mut results = match checkout.revision.copied {
            Some(NoCommit::NothingCommitted) => CheckResults {
                assurance: Assurance::Failed,
                evidence: Vec::new(),
                failures: vec!["Nothing is committed yet, and checks run on the last commit.".to_owned()],
                not_counted: Vec::new(),
            },
            Some(NoCommit::NoRepository | NoCommit::NoGit) | None => {
                let mut results = self.run_checks(&registry, &checkout, &checks, CheckPurpose::Claim).await?;
                cap(&mut results, &registry, &deliverable.id);
                results
            }
        };
        self.record_looks(&mut registry, &checkout, &mut results);
        registry.save(&self.project)?;
        self.record_disputes(&mut registry, Some(&checkout)).await?;
        let changed = self.differences(&registry, Some(&checkout)).await?;
        let finding = self.conclude(&checkout, deliverable, &results, CheckPurpose::Claim, &registry).await?;
        let mut message = summary(&checkout, &results, &finding, &changed);
        let new = new_runner_files(&registry, &checkout);
        if results.assurance == Assurance::Verified && !new.is_empty() {
            let notice = format!("Test runners read these new files by themselves: {}.", new.join(", "));
            message = format!("{message}\n{notice}");
            self.emit(RunEvent::Notice { message: format!("{}: {notice}", deliverable.id) }).await?;
        }
        checkout.close().await;
        let passed = results.evidence.iter().filter(|evidence| evidence.run.passed()).count();
        Ok(Examination { finding, passed, message })
    }

    async fn recheck(&self, ids: &[String]) -> Result<Vec<FailedRecheck>, Fault> {
        let _working = self.working.lock().await;
        let registry = CheckRegistry::load(&self.project)?;
        let checks = self.checks(&registry);
        let mut failed = Vec::new();
        let ids: Vec<&String> = ids.iter().filter(|id| !checks_of(&checks, id).is_empty()).collect();
        if ids.is_empty() {
            return Ok(failed);
        }
        let checkout = self.checkouts.check_out(None).await?;
        for id in ids {
            let checks = checks_of(&checks, id);
            let results = self.run_checks(&registry, &checkout, &checks, CheckPurpose::Confirmation).await?;
            if results.assurance == Assurance::Failed {
                failed.push(FailedRecheck { id: id.clone(), message: results.failures.join("\n") });
            }
        }
        checkout.close().await;
        Ok(failed)
    }

    async fn confirm(&self) -> Result<Confirmation, Fault> {
        let _working = self.working.lock().await;
        match self.run_all_again().await {
            // What could not be confirmed is not verified.
            Err(fault) => {
                self.void_findings().await?;
                Err(fault)
            }
            confirmed => confirmed,
        }
    }

    async fn review_briefing(&self) -> Result<Option<String>, Fault> {
        let _working = self.working.lock().await;
        let registry = CheckRegistry::load(&self.project)?;
        let Some(status) = self.status.load().await? else {
            return Ok(None);
        };
        let Some(deliverables) = review::briefing(&status, &self.checks(&registry)) else {
            return Ok(None);
        };
        let base = self.base.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let changes = self.checkouts.changes_summary(base.as_deref()).await?;
        Ok(Some(format!("{deliverables}\n{changes}")))
    }

    async fn review(&self, id: &str, holds: bool, reason: String) -> Result<(), ChangeError> {
        let by = self.builders.current().map(|builder| format!("{}:{}", builder.backend, builder.model));
        let at = self.clock.now();
        let change = |status: &mut ProjectStatus, _| {
            let commit = status.find(id).and_then(|item| item.finding.as_ref()?.commit.clone());
            status.set_review(id, Review { by: by.unwrap_or_default(), holds, reason, commit, at })?;
            Ok(((), Vec::new()))
        };
        self.status.change(Box::new(change)).await.map(drop)
    }

    async fn briefing(&self) -> Result<Option<String>, Fault> {
        let registry = CheckRegistry::load(&self.project)?;
        let status = self.status.load().await?;
        let failures = self.project_failures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(briefing(&self.checks(&registry), &registry, status.as_ref(), &failures))
    }
}
