//! ProjectExaminer: runs the checks of a project's deliverables on clean checkouts, and keeps the book.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use autonoe_core::check::{Assurance, Check, Finding, Origin, Review};
use autonoe_core::clock::Clock;
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::event::{Purpose, RunEvent};
use autonoe_core::examiner::{Confirmation, Examination, Examiner, Proposal};
use autonoe_core::fault::Fault;
use autonoe_core::files::Guarded;
use autonoe_core::journal::Journal as _;
use autonoe_core::plan::StatusReader;
use autonoe_core::status::{ProjectStatus, Refusal};
use autonoe_store::{
    CheckBook, CheckState, Journal, Project, Seen, StatusStore, read_evidence, write_evidence,
};

use crate::briefing::briefing;
use crate::builders::Builders;
use crate::checkout::{Checkout, CheckoutFactory};
use crate::evidence::{Builder, Evidence, Proof, Surroundings, coverage, shortened, versions};
use crate::inquiry::NOTHING_COMMITTED;
use crate::known::{MAX_CHECKS, all_checks, checks_of, doubt, key, of_project, too_many};
use crate::list::complaint;
use crate::look::{Look, failure, told};
use crate::oracles;
use crate::review;
use crate::trial::{self, Trial, Verdict};

/// Told what happened.
pub type Tell = Box<dyn Fn(&RunEvent) + Send + Sync>;

/// Everything that an examiner works with.
pub struct ProjectExaminer {
    /// The project.
    pub project: Project,
    /// Where checkouts are made.
    pub site: CheckoutFactory,
    /// The checks that the user wrote, as they were when the run began.
    pub written: Vec<Check>,
    /// The one writer of `status.json`.
    pub status: Arc<StatusStore>,
    /// Remembers.
    pub journal: Arc<Journal>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Tells who watches.
    pub tell: Tell,
    /// What nobody who is judged may write.
    pub guarded: Guarded,
    /// Who is building.
    pub builders: Arc<Builders>,
    /// Whether nothing counts but what is verified.
    pub is_strict: bool,
    /// What the project's own checks last said.
    pub complaints: Mutex<Vec<String>>,
    /// What was committed when the run began.
    pub base: Mutex<Option<String>>,
    /// Checkouts are made one after another.
    pub working: tokio::sync::Mutex<()>,
}

impl ProjectExaminer {
    fn checks(&self, book: &CheckBook) -> Vec<Check> {
        all_checks(&self.written, book)
    }

    async fn happened(&self, event: RunEvent) -> Result<(), Fault> {
        self.journal.event(0, &(&event).into()).await?;
        (self.tell)(&event);
        Ok(())
    }

    /// Runs checks in a checkout, one after another, each with the files that it judges by.
    async fn look(
        &self,
        book: &CheckBook,
        checkout: &Checkout,
        checks: &[&Check],
        purpose: Purpose,
    ) -> Result<Look, Fault> {
        let mut look = Look {
            assurance: Assurance::Claimed,
            proofs: Vec::new(),
            failures: Vec::new(),
            doubts: Vec::new(),
        };
        for check in checks {
            let trial = self.try_out(book, checkout, check).await?;
            let doubt = doubt(check, book);
            let message = match (&doubt, trial.passed(), purpose) {
                (Some(doubt), true, Purpose::Claim | Purpose::Confirmation) => {
                    format!("it passed, but does not count: {doubt}")
                }
                _ => trial.sentence(),
            };
            self.happened(RunEvent::Checked {
                deliverable: check.deliverable.clone(),
                check: check.name.clone(),
                purpose,
                passed: trial.passed(),
                message,
            })
            .await?;
            if !trial.passed() {
                look.failures.push(failure(check, &trial));
            }
            if let Some(doubt) = doubt.as_ref().filter(|_| trial.passed()) {
                look.doubts.push(format!("`{}`: {doubt}", check.name));
            }
            let counts = doubt.is_none();
            look.proofs.push(Proof { check: (*check).clone(), seen: shortened(&trial), counts });
        }
        look.assurance = if !look.failures.is_empty() {
            Assurance::Failed
        } else if look.proofs.iter().any(|proof| proof.counts) {
            Assurance::Verified
        } else {
            Assurance::Claimed
        };
        Ok(look)
    }

    async fn try_out(&self, book: &CheckBook, checkout: &Checkout, check: &Check) -> Result<Trial, Fault> {
        oracles::put_back(book, &self.project, &checkout.root)?;
        Ok(match checkout.session_sandbox(check.network) {
            None => Trial::not_run(check, Verdict::NetworkNotAllowed),
            Some(session_sandbox) => trial::run(check, session_sandbox, &checkout.root).await,
        })
    }

    /// Who built a deliverable: anyone who claims it, and later anyone who did.
    fn builder(&self, deliverable: &Deliverable, purpose: Purpose) -> Result<Option<Builder>, Fault> {
        let earlier = match purpose {
            Purpose::Claim | Purpose::RedFirst => None,
            Purpose::Confirmation => read_evidence(&self.project, &deliverable.id)?,
        };
        let earlier = earlier.and_then(|evidence| serde_json::from_value(evidence["builder"].clone()).ok());
        Ok(earlier.or_else(|| self.builders.current()))
    }

    /// What was found, and the evidence of it if it is verified.
    async fn conclude(
        &self,
        checkout: &Checkout,
        deliverable: &Deliverable,
        look: &Look,
        purpose: Purpose,
    ) -> Result<Finding, Fault> {
        let revision = &checkout.revision;
        let at = self.clock.now();
        if look.assurance == Assurance::Verified {
            let checks: Vec<&Check> = look.proofs.iter().map(|proof| &proof.check).collect();
            let evidence = Evidence {
                deliverable: deliverable.id.clone(),
                description: deliverable.description.clone(),
                criteria: coverage(deliverable, &checks),
                commit: revision.commit.clone(),
                tree: revision.tree.clone(),
                uncommitted: revision.uncommitted.clone(),
                environment: Surroundings {
                    os: std::env::consts::OS.to_owned(),
                    architecture: std::env::consts::ARCH.to_owned(),
                    sandbox: self.site.room_config.sandbox.layer().name().to_owned(),
                    tools: versions(checkout, &checks).await,
                },
                builder: self.builder(deliverable, purpose)?,
                checks: look.proofs.clone(),
                at,
                autonoe: env!("CARGO_PKG_VERSION").to_owned(),
            };
            let evidence = serde_json::to_value(evidence).unwrap_or_default();
            write_evidence(&self.project, &deliverable.id, &evidence)?;
        }
        Ok(Finding {
            assurance: look.assurance,
            commit: revision.commit.clone(),
            tree: Some(revision.tree.clone()),
            at,
        })
    }

    /// Accepts what new checks judge by and runs them once: anyone who passes now proves nothing.
    async fn see_first(&self, book: &mut CheckBook) -> Result<(), Fault> {
        let new: Vec<Check> =
            self.checks(book).into_iter().filter(|check| !book.seen.contains_key(&key(check))).collect();
        if new.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        let mut missing = Vec::new();
        for check in &new {
            missing.push(oracles::freeze(book, &self.project, &check.protect, now)?);
        }
        let checkout = self.site.check_out(None).await?;
        for (check, missing) in new.iter().zip(missing) {
            let trial = self.try_out(book, &checkout, check).await?;
            let state = if trial.passed() { CheckState::Vacuous } else { CheckState::Red };
            let commit = checkout.revision.commit.clone();
            let message = match (state, missing.is_empty()) {
                _ if !trial.was_run() => format!("{}; until it was run it does not count", trial.sentence()),
                (CheckState::Vacuous, _) => format!(
                    "it passes before the work has begun, so it proves nothing; if it should count, `autonoe checks accept {}`",
                    check.name
                ),
                (_, false) => format!(
                    "it judges by what is not there yet ({}), so it will not count; once that is there, `autonoe checks accept {}`",
                    missing.join(", "),
                    check.name
                ),
                (_, true) => format!("{}, as it has to be before the work begins", trial.sentence()),
            };
            // What could not be run has not been seen to fail; but what it judges by and is missing stays noted.
            if trial.was_run() || !missing.is_empty() {
                let seen = Seen { name: check.name.clone(), state, commit, at: now, missing };
                book.seen.insert(key(check), seen);
            }
            self.happened(RunEvent::Checked {
                deliverable: check.deliverable.clone(),
                check: check.name.clone(),
                purpose: Purpose::RedFirst,
                passed: trial.passed(),
                message,
            })
            .await?;
        }
        checkout.close().await;
        book.save(&self.project)
    }

    /// Notes which files of checks were changed.
    async fn see_disputes(&self, book: &mut CheckBook) -> Result<(), Fault> {
        let before = book.disputes.clone();
        let new = oracles::dispute(book, self.project.root(), self.clock.now())?;
        if book.disputes != before {
            book.save(&self.project)?;
        }
        for path in new {
            let message = format!(
                "it is not as it was accepted; checks judge by the accepted one until you decide: \
                 `autonoe checks accept {path}` or `autonoe checks reject {path}`"
            );
            self.happened(RunEvent::Disputed { path, message }).await?;
        }
        Ok(())
    }

    /// From now on nobody may write what checks judge by.
    fn guard(&self, book: &CheckBook) {
        let root = self.project.root();
        let mut files: Vec<_> = book.files.keys().map(|file| root.join(file)).collect();
        if self.written.iter().any(|check| check.origin == Origin::Spec) {
            files.push(root.join("SPEC.md"));
        }
        *self.guarded.write().unwrap_or_else(PoisonError::into_inner) = files;
    }

    /// Writes down that a deliverable that had passed does not hold, and tells.
    async fn reset(&self, id: &str, finding: Finding) -> Result<(), Fault> {
        let changed = self
            .status
            .change(Box::new(|status: &mut ProjectStatus, _| {
                let change = status.set_status(id, DeliverableStatus::Pending)?;
                status.set_finding(id, finding)?;
                Ok((change.clone(), vec![change]))
            }))
            .await?;
        if let Ok((change, _)) = changed {
            (self.tell)(&RunEvent::StatusChanged(change));
        }
        Ok(())
    }

    async fn keep(&self, id: &str, finding: Finding) -> Result<(), Fault> {
        let keep = |status: &mut ProjectStatus, _| Ok((status.set_finding(id, finding)?, Vec::new()));
        self.status.change(Box::new(keep)).await?.map(drop).or(Ok(()))
    }
}

#[async_trait]
impl Examiner for ProjectExaminer {
    async fn prepare(&self) -> Result<(), Fault> {
        let _working = self.working.lock().await;
        let mut book = CheckBook::load(&self.project)?;
        self.see_disputes(&mut book).await?;
        self.see_first(&mut book).await?;
        self.guard(&book);
        Ok(())
    }

    async fn propose(&self, ids: &[String], proposals: Vec<Proposal>) -> Result<Result<(), String>, Fault> {
        let _working = self.working.lock().await;
        let mut book = CheckBook::load(&self.project)?;
        let before = book.clone();
        let mut names: HashSet<String> = self.checks(&book).into_iter().map(|check| check.name).collect();
        for proposal in proposals {
            match proposal {
                Proposal::FromSpec { name, deliverable, criteria } => {
                    let is_free = |check: &&Check| {
                        check.name == name && check.origin == Origin::Spec && check.deliverable.is_none()
                    };
                    if book.assigned.contains_key(&name) || self.written.iter().find(is_free).is_none() {
                        return Ok(Err(format!(
                            "SPEC.md has no check '{name}' that waits for a deliverable"
                        )));
                    }
                    let assigned = autonoe_store::Assigned { deliverable, criteria };
                    book.assigned.insert(name, assigned);
                }
                Proposal::New(mut check) => {
                    check.origin = Origin::Proposed;
                    if let Some(complaint) = complaint(&check) {
                        return Ok(Err(complaint));
                    }
                    if !names.insert(check.name.clone()) {
                        return Ok(Err(format!("there is a check '{}' already", check.name)));
                    }
                    if names.len() > MAX_CHECKS {
                        return Ok(Err(too_many()));
                    }
                    book.proposed.push(check);
                }
            }
        }
        if self.is_strict {
            let checks = self.checks(&book);
            let lacking = ids.iter().filter(|id| checks_of(&checks, id).is_empty());
            let lacking: Vec<&str> = lacking.map(String::as_str).collect();
            if !lacking.is_empty() {
                return Ok(Err(format!(
                    "This run accepts only what is verified, so each deliverable needs `checks`; none: {}",
                    lacking.join(", ")
                )));
            }
        }
        if book != before {
            book.save(&self.project)?;
        }
        Ok(Ok(()))
    }

    async fn examine(&self, deliverable: &Deliverable) -> Result<Examination, Fault> {
        let _working = self.working.lock().await;
        let mut book = CheckBook::load(&self.project)?;
        let checks = self.checks(&book);
        let checks = checks_of(&checks, &deliverable.id);
        if checks.is_empty() {
            let finding =
                Finding { assurance: Assurance::Claimed, commit: None, tree: None, at: self.clock.now() };
            let message = "It has no check, so it counts as claimed, not as verified.".to_owned();
            return Ok(Examination { finding, message });
        }
        self.see_disputes(&mut book).await?;
        let checkout = self.site.check_out(None).await?;
        let look = match checkout.revision.copied {
            Some(NOTHING_COMMITTED) => Look {
                assurance: Assurance::Failed,
                proofs: Vec::new(),
                failures: vec!["Nothing is committed yet, and checks look at what is committed.".to_owned()],
                doubts: Vec::new(),
            },
            Some(_) | None => {
                let looking = self.look(&book, &checkout, &checks, Purpose::Claim);
                let (look, proven) = tokio::join!(looking, self.site.prove(&checkout));
                proven?;
                look?
            }
        };
        let changed = oracles::differences(&book, self.project.root())?;
        let finding = self.conclude(&checkout, deliverable, &look, Purpose::Claim).await?;
        let message = told(&checkout, &look, &changed);
        checkout.close().await;
        Ok(Examination { finding, message })
    }

    async fn confirm(&self) -> Result<Confirmation, Fault> {
        let _working = self.working.lock().await;
        let mut book = CheckBook::load(&self.project)?;
        let checks = self.checks(&book);
        let Some(status) = self.status.load().await?.filter(|_| !checks.is_empty()) else {
            return Ok(Confirmation::default());
        };
        self.see_disputes(&mut book).await?;
        let mut confirmation = Confirmation::default();
        let checkout = self.site.check_out(None).await?;
        self.site.prove(&checkout).await?;
        let passed = status.active().filter(|item| item.status == DeliverableStatus::Passed);
        for deliverable in passed {
            let checks = checks_of(&checks, &deliverable.id);
            if checks.is_empty() {
                continue;
            }
            let look = self.look(&book, &checkout, &checks, Purpose::Confirmation).await?;
            let tree = Some(&checkout.revision.tree);
            let is_known = |found: &Finding| found.assurance == look.assurance && found.tree.as_ref() == tree;
            if look.failures.is_empty() && deliverable.finding.as_ref().is_some_and(is_known) {
                continue;
            }
            let finding = self.conclude(&checkout, deliverable, &look, Purpose::Confirmation).await?;
            if look.assurance == Assurance::Failed {
                confirmation.regressed.push(deliverable.id.clone());
                self.reset(&deliverable.id, finding).await?;
            } else {
                self.keep(&deliverable.id, finding).await?;
            }
        }
        let whole = of_project(&checks, &status);
        let look = self.look(&book, &checkout, &whole, Purpose::Confirmation).await?;
        checkout.close().await;
        let failed = look.proofs.iter().filter(|proof| !proof.seen.passed());
        confirmation.project = failed.map(|proof| proof.check.name.clone()).collect();
        *self.complaints.lock().unwrap_or_else(PoisonError::into_inner) = look.failures;
        Ok(confirmation)
    }

    async fn wants_review(&self) -> Result<Option<String>, Fault> {
        let _working = self.working.lock().await;
        let book = CheckBook::load(&self.project)?;
        let Some(status) = self.status.load().await? else {
            return Ok(None);
        };
        let Some(wanted) = review::wanted(&status, &self.checks(&book)) else {
            return Ok(None);
        };
        let base = self.base.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let changes = self.site.told_changes(base.as_deref()).await?;
        Ok(Some(format!("{wanted}\n{changes}")))
    }

    async fn review(&self, id: &str, holds: bool, reason: String) -> Result<Result<(), Refusal>, Fault> {
        let by = self.builders.current().map(|who| format!("{}:{}", who.backend, who.model));
        let at = self.clock.now();
        let change = |status: &mut ProjectStatus, _| {
            let commit = status.find(id).and_then(|item| item.finding.as_ref()?.commit.clone());
            status.set_review(id, Review { by: by.unwrap_or_default(), holds, reason, commit, at })?;
            Ok(((), Vec::new()))
        };
        Ok(self.status.change(Box::new(change)).await?.map(drop))
    }

    async fn briefing(&self) -> Result<Option<String>, Fault> {
        let book = CheckBook::load(&self.project)?;
        let status = self.status.load().await?;
        let complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(briefing(&self.checks(&book), &book, status.as_ref(), &complaints))
    }
}
