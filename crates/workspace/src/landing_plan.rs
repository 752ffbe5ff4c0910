//! A plan whose sessions take place in a workspace: after each one, its commits come home.

use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::fault::Fault;
use autonoe_core::outcome::{PlanReport, RunOutcome};
use autonoe_core::plan::{Iteration, NextAction, NextSession, Plan, PlanVerdict, RunState, StatusReader};

use crate::settled::Settled;
use crate::site::WorkspaceSite;
use crate::site_event::SiteEvent;
use crate::worker_site::WorkerSite;

/// Examines what a worker has committed after its deliverable had passed.
#[async_trait]
pub trait LateCommits: Send + Sync {
    /// They are merged with all that is finished, unless a check fails on the result.
    async fn examine(&self, worker: &WorkerSite, deliverable: &str) -> Result<(), Fault>;
}

/// A plan whose sessions take place in a workspace.
pub struct LandingPlan<'a> {
    pub inner: &'a mut dyn Plan,
    pub site: &'a mut WorkspaceSite,
    /// The deliverables as far as they may land; `None` for a plan without deliverables.
    pub status: Option<Arc<dyn StatusReader>>,
    /// All deliverables, as they are on record.
    pub recorded: Option<Arc<dyn StatusReader>>,
    /// Empty if one deliverable is built after another.
    pub workers: &'a [WorkerSite],
    /// `None` where nothing can be merged with what is finished.
    pub late_commits: Option<Arc<dyn LateCommits>>,
    pub on_event: &'a (dyn Fn(SiteEvent) + Send + Sync),
    /// Whether the first session, or the end without one, is ahead.
    pub is_new: bool,
}

/// The worker of a session; `None` if it takes place in the run's own workspace.
fn worker(workers: &[WorkerSite], number: usize) -> Option<&WorkerSite> {
    workers.get(number.checked_sub(1)?)
}

async fn settled(status: Option<&Arc<dyn StatusReader>>) -> Result<Settled, Fault> {
    let status = match status {
        Some(status) => status.load().await?,
        None => None,
    };
    Ok(status.as_ref().map(Settled::of).unwrap_or_default())
}

async fn prepare_workspace(
    site: &mut WorkspaceSite,
    workers: &[WorkerSite],
    session: &NextSession,
) -> Result<Vec<SiteEvent>, Fault> {
    match (worker(workers, session.worker), &session.instruction.deliverable) {
        (Some(worker), Some(deliverable)) => {
            let mut events = site.leave().await?;
            events.extend(worker.begin(deliverable).await?);
            // So that the next one need not wait for its workspace; no more than one is made that may not be needed.
            if let Some(next) = workers.get(session.worker) {
                next.make_ahead().await;
            }
            Ok(events)
        }
        _ => {
            if !workers.is_empty() {
                site.catch_up().await?;
            }
            site.renew_spec()?;
            Ok(Vec::new())
        }
    }
}

/// An agent may go on after its deliverable has passed. The next one of the worker begins without what is not merged.
async fn examine_late_commits(
    worker: &WorkerSite,
    late_commits: Option<&Arc<dyn LateCommits>>,
    recorded: Option<&Arc<dyn StatusReader>>,
) -> Result<(), Fault> {
    let (Some(late_commits), Some(id)) = (late_commits, worker.held()) else { return Ok(()) };
    let has_passed = settled(recorded).await?.passed.contains(&id);
    match has_passed && worker.has_more().await? {
        true => late_commits.examine(worker, &id).await,
        false => Ok(()),
    }
}

impl LandingPlan<'_> {
    async fn note_first_verified(&mut self) -> Result<(), Fault> {
        self.site.note_first_verified(&settled(self.status.as_ref()).await?)
    }

    /// What has passed may not be on the user's branch any more: then nothing is built on it, and no box of it is committed. What an earlier
    /// process has not landed is looked at before it does.
    async fn look_first(&mut self) -> Result<(), Fault> {
        let settled = settled(self.status.as_ref()).await?;
        self.site.lower(&settled);
        let lands_earlier = self.workers.is_empty()
            && self.site.has_earlier_to_land(&settled)
            && self.site.must_confirm(&settled);
        // Of a task that an earlier run has completed, this one has not said so yet.
        let recorded = self::settled(self.recorded.as_ref()).await?;
        if lands_earlier || self.site.must_look_first(&recorded) {
            self.inner.confirm_passed().await?;
        }
        if lands_earlier {
            self.site.confirmed();
        }
        Ok(())
    }

    /// A process may have been killed between a session in which something passed and its landing. It lands now, and not with what the next
    /// session leaves unfinished.
    async fn land_earlier(&mut self) -> Result<(), Fault> {
        let settled = settled(self.status.as_ref()).await?;
        self.site.lower(&settled);
        if self.site.has_earlier_to_land(&settled) {
            self.site.land_earlier(&settled).await?.into_iter().for_each(self.on_event);
        }
        Ok(())
    }
}

#[async_trait]
impl Plan for LandingPlan<'_> {
    async fn next(&mut self, so_far: &RunState) -> Result<NextAction, Fault> {
        self.note_first_verified().await?;
        let is_new = std::mem::take(&mut self.is_new);
        if is_new {
            self.look_first().await?;
        }
        let action = self.inner.next(so_far).await?;
        if is_new && self.workers.is_empty() {
            self.land_earlier().await?;
        }
        if let NextAction::Session(session) = &action {
            let events = prepare_workspace(self.site, self.workers, session).await?;
            events.into_iter().for_each(self.on_event);
        }
        // It may have looked at what had passed.
        let settled = settled(self.status.as_ref()).await?;
        self.site.lower(&settled);
        self.site.land_left_own_edits(&settled).await?.into_iter().for_each(self.on_event);
        if let NextAction::Done(
            RunOutcome::AllPassed | RunOutcome::AllBlocked | RunOutcome::TasksBlocked { .. },
        ) = action
        {
            // The process that verified it may have been killed before it landed.
            self.site.confirmed();
        }
        Ok(action)
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<PlanVerdict, Fault> {
        match worker(self.workers, finished.worker) {
            Some(worker) => {
                worker.session_ended().await?.into_iter().for_each(self.on_event);
                examine_late_commits(worker, self.late_commits.as_ref(), self.recorded.as_ref()).await?;
            }
            None => self.site.fetch().await?,
        }
        self.note_first_verified().await?;
        let verdict = self.inner.judge(finished).await?;
        match verdict {
            // Everything was checked once more.
            PlanVerdict::Done(_) => self.site.confirmed(),
            PlanVerdict::Progressed
            | PlanVerdict::Idle
            | PlanVerdict::Recovering
            | PlanVerdict::Stuck { .. }
            | PlanVerdict::Failed(_) => {
                if self.site.must_confirm(&settled(self.status.as_ref()).await?) {
                    self.inner.confirm_passed().await?;
                    self.site.confirmed();
                }
            }
        }
        let settled = settled(self.status.as_ref()).await?;
        let events = self.site.session_ended(finished.number, &settled).await?;
        events.into_iter().for_each(self.on_event);
        Ok(verdict)
    }

    async fn abandon(&mut self) -> Result<bool, Fault> {
        self.inner.abandon().await
    }

    async fn confirm_passed(&mut self) -> Result<(), Fault> {
        self.inner.confirm_passed().await
    }

    async fn ended(&mut self) -> Result<(), Fault> {
        self.note_first_verified().await?;
        self.inner.ended().await?;
        let settled = settled(self.status.as_ref()).await?;
        let events = self.site.run_ended(&settled).await?;
        events.into_iter().for_each(self.on_event);
        let mut events = Vec::new();
        for worker in self.workers {
            events.extend(worker.run_ended().await?);
        }
        events.into_iter().for_each(self.on_event);
        Ok(())
    }

    fn report(&self) -> PlanReport {
        self.inner.report()
    }
}
