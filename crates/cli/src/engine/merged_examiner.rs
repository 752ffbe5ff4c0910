//! The examiner of a worker: a claim is merged with all that is finished, and the checks look at the result.
//!
//! Claims that wait for their turn together are merged and checked together, since the checks of everything that has passed run each time. If
//! that fails, each is merged and checked by itself, so that none is refused for another one's fault.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use autonoe_core::check::{Assurance, Finding};
use autonoe_core::clock::Clock;
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::event::RunEvent;
use autonoe_core::examiner::{Confirmation, Examination, Examiner, FailedRecheck, Look, Proposal};
use autonoe_core::fault::Fault;
use autonoe_core::plan::StatusReader;
use autonoe_core::status::ChangeError;
use autonoe_store::{JournalPoint, SqliteJournal};
use autonoe_verify::EventListener;
use autonoe_workspace::{
    LateCommits, MERGED_BRANCH, MergeAttempt, MergeTurn, MergedFiles, WorkerSite, list_files,
};
use tokio::sync::oneshot;

/// What the examiners of all workers share.
pub struct MergedWork {
    pub examiner: Arc<dyn Examiner>,
    pub status: Arc<dyn StatusReader>,
    pub clock: Arc<dyn Clock>,
    pub journal: Arc<SqliteJournal>,
    pub on_event: EventListener,
    /// Deliverables that were merged, whether their status says so already or not.
    pub merged: Mutex<BTreeSet<String>>,
    /// Claims that wait for a turn.
    pub waiting: Mutex<Vec<Claim>>,
}

/// A claim that waits for its turn. Dropped without an answer, it is made again.
pub struct Claim {
    deliverable: Deliverable,
    site: WorkerSite,
    /// Whether its session has ended, so that nobody repairs what does not fit.
    is_late: bool,
    answer: oneshot::Sender<Result<Examination, Fault>>,
}

impl Claim {
    /// Without checks, what is not committed counts too: nothing else would ask for it.
    async fn merge_uncommitted(&self, turn: &mut MergeTurn<'_>) -> Result<MergeAttempt, Fault> {
        let message = format!("Save uncommitted work on {}", self.deliverable.id);
        match self.site.save_uncommitted(&message).await? {
            Some(why) => Ok(MergeAttempt::Unusable(why)),
            None => self.merge(turn).await,
        }
    }

    /// Merges its commits in a turn.
    async fn merge(&self, turn: &mut MergeTurn<'_>) -> Result<MergeAttempt, Fault> {
        let message = format!("Merge {}: {}", self.deliverable.id, self.deliverable.description);
        turn.add(&self.site, &message).await
    }

    fn what_follows(&self, of_session: &'static str) -> &'static str {
        if self.is_late { "What was committed after the claim is left out." } else { of_session }
    }

    fn answer(self, answer: Result<Examination, Fault>) {
        // Its session may have ended meanwhile.
        let _ = self.answer.send(answer);
    }
}

/// The examiner of one worker.
pub struct MergedExaminer {
    pub shared: Arc<MergedWork>,
    pub site: WorkerSite,
}

impl MergedWork {
    /// Examines all claims that wait. The turn is ours.
    async fn examine_waiting(&self, turn: &mut MergeTurn<'_>) {
        let mut claims = std::mem::take(&mut *self.waiting());
        // The session of a claim may have ended while it waited.
        claims.retain(|claim| !claim.answer.is_closed());
        let claims = if claims.len() > 1 { self.examine_together(turn, claims).await } else { claims };
        for claim in claims {
            let examined = self.examine_alone(turn, &claim).await;
            claim.answer(examined);
        }
    }

    /// Returns the claims that have to be examined by themselves: all of them, unless all checks pass on the result, and those that conflict
    /// with others.
    async fn examine_together(&self, turn: &mut MergeTurn<'_>, claims: Vec<Claim>) -> Vec<Claim> {
        let (mut merged, mut left) = (Vec::new(), Vec::new());
        for claim in claims {
            match claim.merge(turn).await {
                Ok(MergeAttempt::Merged(_)) => merged.push(claim),
                _ => left.push(claim),
            }
        }
        match self.check_together(turn, &merged).await {
            Ok(Some(examinations)) => {
                for (claim, examination) in merged.into_iter().zip(examinations) {
                    claim.answer(Ok(examination));
                }
                left
            }
            Ok(None) | Err(_) => {
                // A fault is met again.
                let _ = turn.reject();
                merged.into_iter().chain(left).collect()
            }
        }
    }

    /// `None` if a check fails.
    async fn check_together(
        &self,
        turn: &mut MergeTurn<'_>,
        merged: &[Claim],
    ) -> Result<Option<Vec<Examination>>, Fault> {
        let claimed: Vec<&str> = merged.iter().map(|claim| claim.deliverable.id.as_str()).collect();
        let finished = self.finished(&claimed).await?;
        let deliverables: Vec<&Deliverable> = merged.iter().map(|claim| &claim.deliverable).collect();
        let Look { examinations, broken } = self.examiner.examine_all(&deliverables, &finished).await?;
        if !broken.is_empty() || examinations.iter().any(Examination::has_failed) {
            return Ok(None);
        }
        let mut has_more = false;
        for (claim, examination) in merged.iter().zip(&examinations) {
            if !examination.is_unchecked() {
                continue;
            }
            if !matches!(claim.merge_uncommitted(turn).await?, MergeAttempt::Merged(_)) {
                return Ok(None);
            }
            has_more = true;
        }
        if has_more && !self.examiner.recheck(&finished).await?.is_empty() {
            return Ok(None);
        }
        self.accept(turn, &claimed)?;
        Ok(Some(examinations))
    }

    async fn examine_alone(&self, turn: &mut MergeTurn<'_>, claim: &Claim) -> Result<Examination, Fault> {
        let id = claim.deliverable.id.as_str();
        let files = match self.merged_files(claim, claim.merge(turn).await?) {
            Ok(files) => files,
            Err(why) => return Ok(self.refused(&why)),
        };
        let checked = self.check_alone(turn, claim).await;
        match checked {
            Ok((examination, broken)) if broken.is_empty() && !examination.has_failed() => {
                self.accept(turn, &[id])?;
                Ok(examination)
            }
            Ok((examination, broken)) => {
                turn.reject()?;
                turn.offer_to(&claim.site);
                match (broken.is_empty(), files) {
                    (true, MergedFiles::Own) => Ok(examination),
                    (true, MergedFiles::WithOthers) => {
                        let message = format!(
                            "{}\nThat commit is yours merged with what others have finished meanwhile; `git merge {MERGED_BRANCH}` brings theirs.",
                            examination.message
                        );
                        Ok(Examination { message, ..examination })
                    }
                    (false, _) => {
                        self.notice(format!(
                            "{id} breaks checks of what others have finished: {}. {}",
                            ids(&broken).join(", "),
                            claim.what_follows("Its session repairs that.")
                        ));
                        Ok(self.refused(&broken_message(&broken)))
                    }
                }
            }
            Err(fault) => {
                turn.reject()?;
                Err(fault)
            }
        }
    }

    /// What checks look at after a merge, or why a claim could not be merged.
    fn merged_files(&self, claim: &Claim, attempt: MergeAttempt) -> Result<MergedFiles, String> {
        match attempt {
            MergeAttempt::Merged(files) => Ok(files),
            MergeAttempt::Conflict(files) => {
                let named = list_files(&files);
                self.notice(format!(
                    "{} conflicts with what others have finished: {named}. {}",
                    claim.deliverable.id,
                    claim.what_follows("Its session merges both.")
                ));
                Err(conflict_message(&named))
            }
            MergeAttempt::Unusable(why) => Err(why),
        }
    }

    async fn check_alone(
        &self,
        turn: &mut MergeTurn<'_>,
        claim: &Claim,
    ) -> Result<(Examination, Vec<FailedRecheck>), Fault> {
        let id = claim.deliverable.id.as_str();
        let finished = self.finished(&[id]).await?;
        let seen = if turn.is_unchanged() { &[][..] } else { &finished };
        let Look { examinations, mut broken } =
            self.examiner.examine_all(&[&claim.deliverable], seen).await?;
        let Some(examination) = examinations.into_iter().next() else {
            return Ok((self.refused("The claim was not examined."), Vec::new()));
        };
        if examination.is_unchecked() {
            if let Err(why) = self.merged_files(claim, claim.merge_uncommitted(turn).await?) {
                return Ok((self.refused(&why), Vec::new()));
            }
            broken = self.examiner.recheck(&finished).await?;
        }
        if examination.has_failed() || turn.is_unchanged() {
            return Ok((examination, Vec::new()));
        }
        let broken = self.blamed(turn, id, broken).await?;
        Ok((examination, broken))
    }

    /// Those of the checks that have failed `first` on the merged files which fail again, and did not before.
    async fn blamed(
        &self,
        turn: &MergeTurn<'_>,
        claimed: &str,
        first: Vec<FailedRecheck>,
    ) -> Result<Vec<FailedRecheck>, Fault> {
        let examiner = &self.examiner;
        let (known, first): (Vec<_>, Vec<_>) = first.into_iter().partition(|failed| failed.is_flaky);
        for flaky in known {
            self.notice(format!(
                "A check of {} failed that has passed and failed on the same files before; {claimed} is not blamed for it.",
                flaky.id
            ));
        }
        if first.is_empty() {
            return Ok(first);
        }
        let again = examiner.recheck(&ids(&first)).await?;
        for flaky in first.iter().filter(|failed| again.iter().all(|other| other.id != failed.id)) {
            self.notice(format!(
                "A check of {} failed and then passed on the same files, so it is flaky; {claimed} is not blamed for it.",
                flaky.id
            ));
        }
        if again.is_empty() {
            return Ok(again);
        }
        turn.show_finished()?;
        let before = examiner.recheck(&ids(&again)).await;
        turn.show_merged()?;
        let before = before?;
        for old in &before {
            self.notice(format!("A check of {} failed before {claimed} was merged, too.", old.id));
        }
        Ok(again.into_iter().filter(|failed| before.iter().all(|old| old.id != failed.id)).collect())
    }

    fn accept(&self, turn: &mut MergeTurn<'_>, claimed: &[&str]) -> Result<(), Fault> {
        let point = |point| self.journal.point(point);
        point(JournalPoint::MergeAccepting);
        turn.accept(|| point(JournalPoint::MergeRecorded))?;
        point(JournalPoint::MergeAccepted);
        // Before their status says so, since the next claim may come first.
        self.merged().extend(claimed.iter().map(|id| (*id).to_owned()));
        Ok(())
    }

    /// What is finished, but for what is claimed now.
    async fn finished(&self, claimed: &[&str]) -> Result<Vec<String>, Fault> {
        let status = self.status.load().await?;
        let active = || status.iter().flat_map(|status| status.active());
        let mut finished = self.merged().clone();
        // It may have been removed since.
        finished.retain(|id| active().any(|item| item.id == *id));
        let passed = active().filter(|item| item.status == DeliverableStatus::Passed);
        finished.extend(passed.map(|item| item.id.clone()));
        finished.retain(|id| !claimed.contains(&id.as_str()));
        Ok(finished.into_iter().collect())
    }

    fn merged(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.merged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Claim>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
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

fn conflict_message(named: &str) -> String {
    format!(
        "Others have changed the same lines meanwhile, in {named}. Get their work with `git merge {MERGED_BRANCH}`, resolve the conflicts so that \
         both work, commit, and call again."
    )
}

#[async_trait]
impl LateCommits for MergedWork {
    async fn examine(&self, worker: &WorkerSite, deliverable: &str) -> Result<(), Fault> {
        let status = self.status.load().await?;
        let Some(deliverable) = status.as_ref().and_then(|status| status.find(deliverable)) else {
            return Ok(());
        };
        let (answer, _) = oneshot::channel();
        let claim = Claim { deliverable: deliverable.clone(), site: worker.clone(), is_late: true, answer };
        let mut turn = worker.queue().turn().await?;
        self.examine_alone(&mut turn, &claim).await.map(drop)
    }
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
        self.site.fetch_ahead().await;
        loop {
            let (answer, mut answered) = oneshot::channel();
            let claim =
                Claim { deliverable: deliverable.clone(), site: self.site.clone(), is_late: false, answer };
            self.shared.waiting().push(claim);
            let mut turn = tokio::select! {
                biased;
                answer = &mut answered => match answer {
                    Ok(answer) => return answer,
                    // Who had the turn was stopped in the middle of it.
                    Err(_) => continue,
                },
                turn = self.site.queue().turn() => turn?,
            };
            if answered.is_empty() {
                self.shared.examine_waiting(&mut turn).await;
            }
            if let Ok(answer) = answered.try_recv() {
                return answer;
            }
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
