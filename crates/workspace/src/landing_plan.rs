//! A plan whose sessions take place in a workspace: after each one, its commits come home.

use async_trait::async_trait;
use autonoe_core::fault::Fault;
use autonoe_core::outcome::{PlanReport, RunOutcome};
use autonoe_core::plan::{Iteration, NextAction, Plan, PlanVerdict, RunState};

use crate::site::{SiteEvent, WorkspaceSite};

/// A plan whose sessions take place in a workspace.
pub struct LandingPlan<'a> {
    pub inner: &'a mut dyn Plan,
    pub site: &'a mut WorkspaceSite,
    pub on_event: &'a (dyn Fn(SiteEvent) + Send + Sync),
}

#[async_trait]
impl Plan for LandingPlan<'_> {
    async fn next(&mut self, so_far: &RunState) -> Result<NextAction, Fault> {
        let action = self.inner.next(so_far).await?;
        // It may have looked at what had passed.
        self.site.lower(self.inner.report().tally())?;
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
        self.site.fetch().await?;
        let verdict = self.inner.judge(finished).await?;
        match verdict {
            // Everything was checked once more.
            PlanVerdict::Done(_) => self.site.confirmed(),
            PlanVerdict::Progressed
            | PlanVerdict::Idle
            | PlanVerdict::Recovering
            | PlanVerdict::Stuck { .. }
            | PlanVerdict::Failed(_) => {
                if self.site.must_confirm(self.inner.report().tally()) {
                    self.inner.confirm_passed().await?;
                    self.site.confirmed();
                }
            }
        }
        let events = self.site.session_ended(finished.number, self.inner.report().tally()).await?;
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
        self.inner.ended().await?;
        let events = self.site.run_ended(self.inner.report().tally()).await?;
        events.into_iter().for_each(self.on_event);
        Ok(())
    }

    fn report(&self) -> PlanReport {
        self.inner.report()
    }
}
