//! ProjectExaminer: runs the checks of a project's deliverables on clean checkouts and updates the check
//! registry.

mod first_look;
mod last_look;
mod new_settings;
mod second_look;
mod shared_checkout;
mod what_counts;

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use autonoe_core::check::{Assurance, Check, CheckAuthor, CheckOrigin, Finding, Review};
use autonoe_core::clock::Clock;
use autonoe_core::deliverable::Deliverable;
use autonoe_core::event::{CheckPurpose, RunEvent};
use autonoe_core::examiner::{Confirmation, Examination, Examiner, FailedRecheck, Look, Proposal};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::files::ProtectedFiles;
use autonoe_core::journal::Journal as _;
use autonoe_core::own_edits::OwnEdits;
use autonoe_core::plan::StatusReader;
use autonoe_core::status::{ChangeError, ProjectStatus, Refusal};
use autonoe_sandbox::SandboxLayer;
use autonoe_store::{CheckRegistry, Project, SqliteJournal, StatusStore, read_evidence, write_evidence};

use self::shared_checkout::SharedCheckout;
use self::what_counts::{assurance, cap, changed_by_builder, leads_elsewhere};
use crate::blocking::blocking;
use crate::briefing::briefing;
use crate::check_limit::{MAX_CHECKS, too_many};
use crate::check_results::{CheckResults, failure, summary};
use crate::check_run;
use crate::checkout::{Checkout, CheckoutFactory, UNUSABLE_COMMIT};
use crate::checks::{all_checks, check_key, checks_of, why_not_counted, without_deliverable};
use crate::checks_file::find_problem;
use crate::current_builder::CurrentBuilder;
use crate::evidence::{
    Builder, CheckEnvironment, CheckEvidence, Evidence, coverage, truncated, unchecked, versions,
};
use crate::flaky::{count_looks, describe_flaky, how_flaky, is_known_flaky};
use crate::left_changed::CheckoutBefore;
use crate::no_commit::NoCommit;
use crate::noted_files::NotedFiles;
use crate::oracles::{self, ChangedFiles};
use crate::protect_pattern::find_pattern_problem;
use crate::review;
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
    /// What the run itself edits in the user's checkout; `None` if it edits nothing.
    pub own_edits: Option<Arc<dyn OwnEdits>>,
    /// The text of that file when the run started.
    pub own_text_before: OnceLock<String>,
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
            uncounted: BTreeMap::new(),
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
            let reason = match reason {
                None if run.passed() && self.is_strict => {
                    match self.needs_new_settings(check, registry, checkout).await? {
                        None => self.fails_with_added_files(check, registry, checkout).await?,
                        reason => reason,
                    }
                }
                reason => reason,
            };
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
                let layer = self.checkouts.room_config.sandbox.layer();
                results.failures.push(failure(check, &run, registry, layer));
            }
            if let Some(reason) = reason.as_ref().filter(|_| run.passed()) {
                results.not_counted.push(format!("`{}`: {reason}", check.name));
                results.uncounted.insert(check_key(check), reason.clone());
            }
            let counts = reason.is_none();
            results.evidence.push(CheckEvidence { check: (*check).clone(), run: truncated(&run), counts });
        }
        results.assurance = assurance(&results.evidence, registry);
        Ok(results)
    }

    /// Runs the checks of claims and of what is finished, all on one commit.
    async fn look(
        &self,
        claimed: &[&Deliverable],
        finished: &[String],
        shared: &mut SharedCheckout<'_>,
    ) -> Result<Look, Fault> {
        let mut look = Look::default();
        for deliverable in claimed {
            let examination = self.examine_in(shared, deliverable).await?;
            let has_failed = examination.has_failed();
            look.examinations.push(examination);
            if has_failed {
                return Ok(look);
            }
        }
        let mut registry = CheckRegistry::load(&self.project)?;
        let before = registry.looks.clone();
        let checks = self.checks(&registry);
        for id in finished {
            let checks = checks_of(&checks, id);
            if checks.is_empty() {
                continue;
            }
            let checkout = shared.get().await?;
            let results = self.run_checks(&registry, checkout, &checks, CheckPurpose::Confirmation).await?;
            let tree = self.files_of(checkout);
            count_looks(&mut registry, &tree, CheckPurpose::Confirmation, results.evidence.iter());
            if results.assurance == Assurance::Failed {
                let mut failed = results.evidence.iter().filter(|evidence| !evidence.run.passed()).peekable();
                let is_flaky = failed.peek().is_some()
                    && failed.all(|evidence| is_known_flaky(&registry, &evidence.check));
                let message = results.failures.join("\n");
                look.broken.push(FailedRecheck { id: id.clone(), message, is_flaky });
            }
        }
        if registry.looks != before {
            registry.save(&self.project)?;
        }
        Ok(look)
    }

    async fn examine_in(
        &self,
        shared: &mut SharedCheckout<'_>,
        deliverable: &Deliverable,
    ) -> Result<Examination, Fault> {
        let mut registry = CheckRegistry::load(&self.project)?;
        let checks = self.checks(&registry);
        let checks = checks_of(&checks, &deliverable.id);
        if checks.is_empty() {
            let finding = Finding::unchecked(self.clock.now());
            let message = "It has no check, so it counts as claimed, not verified.".to_owned();
            return Ok(Examination { finding, passed: 0, message });
        }
        self.record_changed_checks(&mut registry, &self.written).await?;
        let checkout = shared.get().await?;
        let mut results = match checkout.revision.copied {
            Some(NoCommit::NothingCommitted) => CheckResults {
                assurance: Assurance::Failed,
                evidence: Vec::new(),
                failures: vec!["Nothing is committed yet, and checks run on the last commit.".to_owned()],
                not_counted: Vec::new(),
                uncounted: BTreeMap::new(),
            },
            Some(NoCommit::NoRepository | NoCommit::NoGit) | None => {
                let mut results = self.run_checks(&registry, checkout, &checks, CheckPurpose::Claim).await?;
                cap(&mut results, &registry, &deliverable.id);
                results
            }
        };
        self.record_looks(&mut registry, checkout, CheckPurpose::Claim, &mut results);
        registry.failed_looks.remove(&deliverable.id);
        registry.save(&self.project)?;
        self.record_disputes(&mut registry, Some(checkout)).await?;
        let changed = self.differences(&registry, Some(checkout)).await?;
        let finding = self.conclude(checkout, deliverable, &results, CheckPurpose::Claim, &registry).await?;
        let mut message = summary(checkout, &results, &finding, &changed);
        let noted = NotedFiles::of(&registry, checkout, &checks, &self.project);
        for sentence in noted.sentences().iter().filter(|_| results.assurance == Assurance::Verified) {
            message = format!("{message}\n{sentence}");
            self.emit(RunEvent::Notice { message: format!("{}: {sentence}", deliverable.id) }).await?;
        }
        let passed = results.evidence.iter().filter(|evidence| evidence.run.passed()).count();
        Ok(Examination { finding, passed, message })
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
                noted: NotedFiles::of(registry, checkout, &checks, &self.project),
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

    /// Records which of the user's checks were changed, of those that are `written` now.
    async fn record_changed_checks(
        &self,
        registry: &mut CheckRegistry,
        written: &[Check],
    ) -> Result<(), Fault> {
        let before = registry.clone();
        let changed = written_changes::record(registry, written);
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
            let message = oracles::dispute_clause(registry, &path);
            self.emit(RunEvent::Disputed { path: path.to_string(), message }).await?;
        }
        Ok(())
    }

    /// Protects the accepted files from now on.
    fn protect(&self, registry: &CheckRegistry) {
        for (root, protected) in &self.protected {
            let mut files = registry.paths_at(root);
            // An agent could add checks of its own to it, which would pass for the user's.
            files.push(root.join("SPEC.md"));
            *protected.write().unwrap_or_else(PoisonError::into_inner) = files;
        }
    }

    /// Remembers how checks ended. One that is flaky does not count where only verified deliverables do.
    fn record_looks(
        &self,
        registry: &mut CheckRegistry,
        checkout: &Checkout,
        purpose: CheckPurpose,
        results: &mut CheckResults,
    ) {
        count_looks(registry, &self.files_of(checkout), purpose, results.evidence.iter());
        for CheckEvidence { check, .. } in results.evidence.iter().filter(|_| self.is_strict) {
            if let Some(how) = how_flaky(registry, check) {
                let reason = format!(
                    "it is flaky, which does not count with --strict: it {how}; fix it, or run `autonoe checks accept {}`",
                    check.name
                );
                results.uncounted.insert(check_key(check), reason);
            }
        }
        record_results(registry, results);
        if let Some(flaky) = describe_flaky(registry, results).filter(|_| self.is_strict)
            && results.assurance == Assurance::Verified
        {
            results.assurance = Assurance::Claimed;
            results.not_counted.push(format!("with --strict a flaky check does not count: {flaky}"));
        }
    }

    /// What a look depends on beside the accepted files: those of the commit, and how they are checked.
    fn files_of(&self, checkout: &Checkout) -> String {
        format!("{} {}", self.checkouts.room_config.sandbox.layer().name(), checkout.revision.tree)
    }

    async fn store_finding(&self, id: &str, finding: Finding) -> Result<(), Fault> {
        let store = |status: &mut ProjectStatus, _| Ok((status.set_finding(id, finding)?, Vec::new()));
        match self.status.change(Box::new(store)).await {
            Ok(_) | Err(ChangeError::Refused(_)) => Ok(()),
            Err(ChangeError::Fault(fault)) => Err(fault),
        }
    }
}

/// Remembers which checks of the user's failed when they last ran, and why some that passed did not count.
fn record_results(registry: &mut CheckRegistry, results: &CheckResults) {
    for CheckEvidence { check, run, .. } in &results.evidence {
        let key = check_key(check);
        match results.uncounted.get(&key) {
            Some(reason) => drop(registry.not_counted.insert(key, reason.clone())),
            None => drop(registry.not_counted.remove(&key)),
        }
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
            if let Some(text) = self.own_text() {
                let _ = self.own_text_before.set(text);
            }
        }
        self.record_changed_checks(&mut registry, &self.written).await?;
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

    async fn checks_without_deliverable(&self) -> Result<Vec<String>, Fault> {
        let registry = CheckRegistry::load(&self.project)?;
        let status = self.status.load().await?;
        Ok(status.map(|status| without_deliverable(&self.checks(&registry), &status)).unwrap_or_default())
    }

    async fn examine(&self, deliverable: &Deliverable) -> Result<Examination, Fault> {
        let look = self.examine_all(&[deliverable], &[]).await?;
        look.examinations.into_iter().next().ok_or_else(|| {
            Fault::permanent(FaultLayer::System, "examination", "A claim was not examined.".to_owned())
        })
    }

    async fn examine_all(&self, claimed: &[&Deliverable], finished: &[String]) -> Result<Look, Fault> {
        let _working = self.working.lock().await;
        let mut shared = SharedCheckout { factory: &self.checkouts, checkout: None };
        let look = self.look(claimed, finished, &mut shared).await;
        shared.close().await;
        look
    }

    async fn recheck(&self, ids: &[String]) -> Result<Vec<FailedRecheck>, Fault> {
        Ok(self.examine_all(&[], ids).await?.broken)
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
