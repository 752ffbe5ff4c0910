//! Several approaches in the sessions of one run: each starts from the same commit, and what it leaves is kept and checked before the next
//! one begins.
//!
//! Every step is saved when it is done and may be repeated until then, so that a killed process continues the approach that it was at.

use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use tokio::task::spawn_blocking;

use super::RecoveringPlan;
use crate::progress::TreeSnapshot;
use crate::recovery::{BranchOutcome, ExplorationBranch, ExplorationKind, RemedyOutcome, RemedyStep};
use crate::stuck::StuckState;

/// Characters of a commit that are shown.
const SHOWN_COMMIT: usize = 10;

/// The last session of a branch.
#[derive(Debug, Default)]
pub(super) struct EndedBranch<'a> {
    /// What the agent said.
    pub said: &'a str,
    /// Why it could not work.
    pub problem: Option<&'a str>,
}

impl RecoveringPlan<'_> {
    /// The approach that the next session tries; `None` if the current remedy is another one.
    pub(super) fn branch(&self) -> Option<&ExplorationBranch> {
        let (exploration, state) = self.recovery.exploration()?;
        exploration.branches.get(state.outcomes.len())
    }

    /// Makes the workspace what the next session needs.
    pub(super) async fn prepare_workspace(&mut self) -> Result<(), Fault> {
        let Some(site) = self.setup.branches.clone() else {
            return Ok(());
        };
        let starts = self.recovery.exploration().is_some_and(|(_, state)| state.start.is_none());
        if starts {
            let deliverable =
                self.recovery.exploration().map(|(exploration, _)| exploration.deliverable.clone());
            let commit = site.save().await?;
            let passed_before = site.examine(&deliverable.unwrap_or_default()).await?.passed;
            self.setup.failed_checks.of_session();
            if let Some(state) = self.recovery.exploration_mut() {
                (state.start, state.passed_before) = (Some(commit), passed_before);
            }
        } else if let Some(commit) = self.state.go_to.clone() {
            site.go_to(&commit).await?;
            self.state.go_to = None;
            let root = self.setup.root.clone();
            let tree = spawn_blocking(move || TreeSnapshot::take(&root, None).ok()).await;
            self.state.progress.set_tree(tree.ok().flatten());
        } else {
            return Ok(());
        }
        let events: Vec<RunEvent> = self.branch_notice().into_iter().collect();
        self.save_and_publish(&events).await
    }

    fn branch_notice(&self) -> Option<RunEvent> {
        let (exploration, state) = self.recovery.exploration()?;
        let branch = self.branch()?;
        let (number, of) = (state.outcomes.len() + 1, exploration.branches.len());
        let start = short(state.start.as_deref().unwrap_or_default());
        let message = match exploration.kind {
            ExplorationKind::Approaches => {
                format!("Approach {number} of {of}, from commit {start}: {}.", branch.approach)
            }
            ExplorationKind::Attempts => format!(
                "Attempt {number} of {of} at {}, from commit {start}: {}.",
                exploration.deliverable, branch.rung
            ),
        };
        Some(RunEvent::Notice { message })
    }

    /// Ends the approach if its sessions are used up, and the exploration if it was the last one. The caller saves.
    pub(super) async fn advance_exploration(
        &mut self,
        ended: &EndedBranch<'_>,
        events: &mut Vec<RunEvent>,
    ) -> Result<RemedyStep, Fault> {
        let Some((exploration, state)) = self.recovery.exploration() else {
            return Ok(RemedyStep::Failed);
        };
        let (Some(branch), Some(site)) = (self.branch().cloned(), self.setup.branches.clone()) else {
            return Ok(self.recovery.end(RemedyOutcome::Failed));
        };
        let makes_attempts = self.recovery.makes_attempts();
        let is_spent = self.recovery.sessions_left() == 0 && !makes_attempts;
        if state.used < branch.sessions && !is_spent {
            return Ok(RemedyStep::Continue);
        }
        let is_last = is_spent || state.outcomes.len() + 1 == exploration.branches.len();
        let (deliverable, score) = (exploration.deliverable.clone(), state.score);
        let kept = site.keep(&branch.approach).await?;
        let checks = site.examine(&deliverable).await?;
        // They are about a commit that may not go on.
        self.setup.failed_checks.of_session();
        let mut outcome = BranchOutcome {
            id: branch.id,
            checks_passed: checks.passed,
            holds: checks.holds,
            score,
            kept,
            problem: ended.problem.map(str::to_owned),
            ..BranchOutcome::default()
        };
        if makes_attempts {
            outcome = self.attempt_outcome(outcome, &checks, ended.said, site.as_ref()).await?;
        }
        if let Some(state) = self.recovery.exploration_mut() {
            state.outcomes.push(outcome);
            (state.used, state.score) = (0, 0.0);
        }
        if !is_last {
            self.state.go_to = self.exploration_start();
            return Ok(RemedyStep::Continue);
        }
        Ok(match makes_attempts {
            true if self.pending_comparison().is_some() => RemedyStep::Continue,
            true => self.decide_attempts(events),
            false => self.decide(events),
        })
    }

    /// The checks decide: the winner's commits become those of the run.
    fn decide(&mut self, events: &mut Vec<RunEvent>) -> RemedyStep {
        let Some((exploration, state)) = self.recovery.exploration() else {
            return RemedyStep::Failed;
        };
        // An approach without a commit has led to nothing that could go on.
        let outcomes: Vec<BranchOutcome> =
            state.outcomes.iter().filter(|one| state.has_commits(one)).cloned().collect();
        let winner = exploration.winner(state.passed_before, &outcomes);
        events.push(RunEvent::Notice { message: self.result(winner.as_ref()) });
        let commit = winner.as_ref().map(|winner| winner.kept.commit.clone());
        self.state.go_to = commit.or_else(|| self.exploration_start());
        self.recovery.end(if winner.is_some() { RemedyOutcome::Worked } else { RemedyOutcome::Failed })
    }

    /// The current approach has settled something: its commits are those of the run already.
    pub(super) fn branch_won(&self) -> Option<RunEvent> {
        let branch = self.branch()?;
        let (_, state) = self.recovery.exploration()?;
        let mut message = format!("The approach {} continues, since something was settled.", branch.approach);
        message.push_str(&self.kept(&state.outcomes, None));
        Some(RunEvent::Notice { message })
    }

    /// The run ends within an exploration: its commits are as they were before, and those of the approach are kept.
    pub(super) async fn leave_exploration(&mut self) -> Result<(), Fault> {
        let Some(site) = self.setup.branches.clone() else {
            return Ok(());
        };
        site.hold(None);
        let mut events = self.leave_attempts(site.as_ref()).await?;
        if let Some(start) = self.exploration_start() {
            let (Some(branch), Some((_, state))) = (self.branch().cloned(), self.recovery.exploration())
            else {
                return Ok(());
            };
            let mut outcomes = state.outcomes.clone();
            // Otherwise it has not begun.
            if self.state.go_to.is_none() {
                let kept = site.keep(&branch.approach).await?;
                outcomes.push(BranchOutcome { id: branch.id, kept, ..BranchOutcome::default() });
            }
            let kept = self.kept(&outcomes, None);
            self.state.go_to = Some(start);
            let rest = if self.recovery.continue_exploration_later() {
                " The next run tries the rest."
            } else {
                self.recovery.end(RemedyOutcome::Failed);
                ""
            };
            let message = format!("The run ends before all approaches were tried.{rest}{kept}");
            events.push(RunEvent::Notice { message });
        }
        let has_ended = self.recovery.state().current().is_none();
        if has_ended && self.state.stuck.state() == StuckState::Recovering {
            // The next run begins with the next remedy.
            self.state.stuck.end_recovery(false);
        }
        if let Some(commit) = self.state.go_to.clone() {
            site.go_to(&commit).await?;
            self.state.go_to = None;
            self.save_and_publish(&events).await?;
        }
        Ok(())
    }

    pub(super) fn exploration_start(&self) -> Option<String> {
        self.recovery.exploration().and_then(|(_, state)| state.start.clone())
    }

    fn has_commits(&self, outcome: &BranchOutcome) -> bool {
        self.exploration_start().is_none_or(|start| start != outcome.kept.commit)
    }

    /// What every approach has led to, and where the commits of those are that do not go on.
    fn result(&self, winner: Option<&BranchOutcome>) -> String {
        let Some((exploration, state)) = self.recovery.exploration() else {
            return String::new();
        };
        let tried = exploration.branches.iter().zip(&state.outcomes).map(|(branch, outcome)| {
            let checks = if outcome.checks_passed == 1 { "check" } else { "checks" };
            format!(
                "{} ({} {checks} passed, score {:.2})",
                branch.approach, outcome.checks_passed, outcome.score
            )
        });
        let tried = tried.collect::<Vec<_>>().join(", ");
        let approach = |winner: &BranchOutcome| {
            let of_winner = exploration.branches.iter().find(|branch| branch.id == winner.id);
            of_winner.map(|branch| branch.approach.clone()).unwrap_or_default()
        };
        let end = match winner {
            Some(winner) => format!("{} continues.", approach(winner)),
            None => "None of them is better than what there was, so the run continues from there.".to_owned(),
        };
        format!("Tried {tried}. {end}{}", self.kept(&state.outcomes, winner))
    }

    /// Where the commits of approaches are that do not go on; empty if there are none.
    pub(super) fn kept(&self, outcomes: &[BranchOutcome], winner: Option<&BranchOutcome>) -> String {
        let Some(site) = &self.setup.branches else {
            return String::new();
        };
        let is_loser =
            |one: &&BranchOutcome| self.has_commits(one) && winner.is_none_or(|winner| winner.id != one.id);
        let ways = outcomes
            .iter()
            .filter(is_loser)
            .map(|one| format!("`{}`", site.how_to_fetch(&one.kept.reference)));
        let ways: Vec<String> = ways.collect();
        match ways.is_empty() {
            true => String::new(),
            false => format!(" Commits of the others are kept: {}.", ways.join(", ")),
        }
    }
}

fn short(commit: &str) -> &str {
    &commit[..commit.len().min(SHOWN_COMMIT)]
}
