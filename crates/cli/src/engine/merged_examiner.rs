//! The examiner of a worker: a claim is merged with all that is finished, and the checks look at the result.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use autonoe_core::check::{Assurance, Finding};
use autonoe_core::clock::Clock;
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::event::RunEvent;
use autonoe_core::examiner::{Confirmation, Examination, Examiner, FailedRecheck, Proposal};
use autonoe_core::fault::Fault;
use autonoe_core::plan::StatusReader;
use autonoe_core::status::ChangeError;
use autonoe_verify::EventListener;
use autonoe_workspace::{MERGED_BRANCH, MergeAttempt, MergeTurn, WorkerSite};

/// Files of a conflict that are named.
const NAMED_FILES: usize = 20;

/// What the examiners of all workers share.
pub struct MergedWork {
    pub examiner: Arc<dyn Examiner>,
    pub status: Arc<dyn StatusReader>,
    pub clock: Arc<dyn Clock>,
    pub on_event: EventListener,
    /// Deliverables that were merged, whether their status says so already or not.
    pub merged: Mutex<BTreeSet<String>>,
}

/// The examiner of one worker.
pub struct MergedExaminer {
    pub shared: Arc<MergedWork>,
    pub site: WorkerSite,
}

impl MergedExaminer {
    /// The checks of what was finished before that fail on the merged files, and did not before.
    async fn broken(&self, turn: &MergeTurn<'_>, claimed: &str) -> Result<Vec<FailedRecheck>, Fault> {
        let finished = self.shared.finished(claimed).await?;
        if finished.is_empty() || turn.is_unchanged() {
            return Ok(Vec::new());
        }
        let examiner = &self.shared.examiner;
        let first = examiner.recheck(&finished).await?;
        let again = examiner.recheck(&ids(&first)).await?;
        for flaky in first.iter().filter(|failed| again.iter().all(|other| other.id != failed.id)) {
            self.shared.notice(format!(
                "A check of {} failed and then passed on the same files, so it is flaky; {claimed} is not blamed for it.",
                flaky.id
            ));
        }
        if again.is_empty() {
            return Ok(again);
        }
        turn.show_before()?;
        let before = examiner.recheck(&ids(&again)).await;
        turn.show_merged()?;
        let before = before?;
        for old in &before {
            self.shared.notice(format!("A check of {} failed before {claimed} was merged, too.", old.id));
        }
        Ok(again.into_iter().filter(|failed| before.iter().all(|old| old.id != failed.id)).collect())
    }

    async fn examine_merged(
        &self,
        turn: MergeTurn<'_>,
        deliverable: &Deliverable,
    ) -> Result<Examination, Fault> {
        let examined = match self.shared.examiner.examine(deliverable).await {
            Ok(examination) if examination.finding.assurance != Assurance::Failed => {
                self.broken(&turn, &deliverable.id).await.map(|broken| (examination, broken))
            }
            other => {
                turn.reject()?;
                return other;
            }
        };
        match examined {
            Ok((examination, broken)) if broken.is_empty() => {
                // Before its status says so, since the next claim may come first.
                self.shared.lock().insert(deliverable.id.clone());
                turn.accept()?;
                Ok(examination)
            }
            Ok((_, broken)) => {
                turn.reject()?;
                Ok(self.shared.refused(&broken_message(&broken)))
            }
            Err(fault) => {
                turn.reject()?;
                Err(fault)
            }
        }
    }
}

impl MergedWork {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.merged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is finished, but for the one that is claimed.
    async fn finished(&self, claimed: &str) -> Result<Vec<String>, Fault> {
        let status = self.status.load().await?;
        let active = || status.iter().flat_map(|status| status.active());
        let mut finished = self.lock().clone();
        // It may have been set back since.
        finished.retain(|id| active().any(|item| item.id == *id));
        let passed = active().filter(|item| item.status == DeliverableStatus::Passed);
        finished.extend(passed.map(|item| item.id.clone()));
        finished.remove(claimed);
        Ok(finished.into_iter().collect())
    }

    fn notice(&self, message: String) {
        (self.on_event)(&RunEvent::Notice { message });
    }

    fn refused(&self, message: &str) -> Examination {
        let finding = Finding { assurance: Assurance::Failed, ..Finding::unchecked(self.clock.now()) };
        Examination { finding, passed: 0, message: message.to_owned() }
    }
}

fn ids(failed: &[FailedRecheck]) -> Vec<String> {
    failed.iter().map(|failed| failed.id.clone()).collect()
}

fn broken_message(broken: &[FailedRecheck]) -> String {
    let failures: Vec<String> =
        broken.iter().map(|failed| format!("{}: {}", failed.id, failed.message)).collect();
    format!(
        "Its own checks pass, but merged with what others have finished meanwhile, checks of theirs fail. \
         Get their work with `git merge {MERGED_BRANCH}`, repair what does not fit together, commit, and call again.\n{}",
        failures.join("\n")
    )
}

fn conflict_message(files: &[String]) -> String {
    let mut named = files.iter().take(NAMED_FILES).cloned().collect::<Vec<_>>().join(", ");
    if files.len() > NAMED_FILES {
        named = format!("{named} and {} more", files.len() - NAMED_FILES);
    }
    format!(
        "Others have changed the same lines meanwhile, in {named}. Get their work with `git merge {MERGED_BRANCH}`, resolve the conflicts so that \
         both work, commit, and call again."
    )
}

#[async_trait]
impl Examiner for MergedExaminer {
    async fn prepare(&self) -> Result<(), Fault> {
        self.shared.examiner.prepare().await
    }

    async fn propose(&self, ids: &[String], proposals: Vec<Proposal>) -> Result<(), ChangeError> {
        self.shared.examiner.propose(ids, proposals).await
    }

    async fn examine(&self, deliverable: &Deliverable) -> Result<Examination, Fault> {
        let message = format!("Merge {}: {}", deliverable.id, deliverable.description);
        match self.site.merge(&message).await? {
            MergeAttempt::Merged(turn) => self.examine_merged(turn, deliverable).await,
            MergeAttempt::Conflict { files } => Ok(self.shared.refused(&conflict_message(&files))),
            MergeAttempt::Unusable { why } => Ok(self.shared.refused(&why)),
        }
    }

    async fn recheck(&self, ids: &[String]) -> Result<Vec<FailedRecheck>, Fault> {
        self.shared.examiner.recheck(ids).await
    }

    async fn confirm(&self) -> Result<Confirmation, Fault> {
        self.shared.examiner.confirm().await
    }

    async fn review_briefing(&self) -> Result<Option<String>, Fault> {
        self.shared.examiner.review_briefing().await
    }

    async fn review(&self, id: &str, holds: bool, reason: String) -> Result<(), ChangeError> {
        self.shared.examiner.review(id, holds, reason).await
    }

    async fn briefing(&self) -> Result<Option<String>, Fault> {
        self.shared.examiner.briefing().await
    }
}
