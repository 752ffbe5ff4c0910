//! An attempt by each of several agents at a deliverable that another session has failed at. All of them are made before one is chosen, so
//! claims are held back meanwhile; the run itself claims what the chosen attempt has passed.

use autonoe_core::agent::Instruction;
use autonoe_core::attempt::{AttemptResult, BestOfResult, DecidedBy, attempt_step};
use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::outcome::SessionEnd;
use autonoe_core::plan::{Iteration, NextSession};
use serde::{Deserialize, Serialize};

use super::{BranchChecks, BranchDiff, BranchSite, RecoveringPlan};
use crate::recovery::{
    BEST_OF, BranchOutcome, Choice, Exploration, ExplorationState, RemedyOutcome, RemedyStep, Rung, choose,
    comparisons_won,
};

/// Characters of an agent's last words, and of what the checks said, that the next attempt gets.
const SHOWN: usize = 1500;

/// Changed files that the next attempt gets.
const SHOWN_FILES: usize = 20;

/// A deliverable that has passed in the attempt that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingClaim {
    deliverable: String,
    builder: Rung,
}

impl RecoveringPlan<'_> {
    /// Those that can make an attempt at the deliverable; empty if nobody asked for that, or it was done.
    pub(super) fn agents_for(&self, deliverable: &str) -> Vec<Rung> {
        let is_possible =
            self.setup.branches.is_some() && !self.state.attempted.iter().any(|done| done == deliverable);
        let agents = self.setup.best_of.iter().filter(|_| is_possible).flat_map(|best_of| &best_of.agents);
        agents.filter(|agent| !self.state.unusable.contains_key(&agent.backend)).cloned().collect()
    }

    /// Whether a session that has failed is followed by attempts. Says so if too few agents can work.
    pub(super) fn begins_attempts(&mut self, instruction: &Instruction, events: &mut Vec<RunEvent>) -> bool {
        let Some(deliverable) = instruction.deliverable.as_ref() else {
            return false;
        };
        let agents = self.agents_for(deliverable);
        let is_asked_for = self.setup.best_of.is_some() && self.setup.branches.is_some();
        if agents.len() > 1 || !is_asked_for || self.state.attempted.contains(deliverable) {
            return agents.len() > 1;
        }
        self.state.attempted.insert(deliverable.clone());
        let away: Vec<String> =
            self.state.unusable.iter().map(|(backend, why)| format!("{backend}: {why}")).collect();
        let message = format!(
            "Too few agents can make an attempt at {deliverable}, so the run continues without. {}",
            away.join(" ")
        );
        events.push(RunEvent::Warning { message });
        false
    }

    /// The remedy that has just been chosen may be attempts, which are made once.
    pub(super) fn note_attempts(&mut self) {
        let current = self.recovery.state().current().filter(|remedy| remedy.name == BEST_OF);
        let exploration = current.and_then(|remedy| remedy.result.branch.as_ref());
        if let Some(deliverable) = exploration.map(|exploration| exploration.deliverable.clone()) {
            self.state.attempted.insert(deliverable);
        }
    }

    /// A backend without quota or login gets no further attempt.
    pub(super) fn note_unusable(&mut self, finished: &Iteration) {
        let why = match &finished.outcome {
            SessionEnd::QuotaExceeded { .. } => "its quota is used up.".to_owned(),
            SessionEnd::ExecutionError { fault } if !fault.recoverable() => fault.message.clone(),
            _ => return,
        };
        self.state.unusable.insert(finished.backend.clone(), why);
    }

    /// While attempts are made, claims are held back.
    pub(super) fn hold_claims(&self) {
        let exploration = self.recovery.exploration().filter(|_| self.recovery.makes_attempts());
        if let Some(site) = &self.setup.branches {
            site.hold(exploration.map(|(exploration, _)| exploration.deliverable.as_str()));
        }
    }

    /// Makes a session that of the current attempt.
    pub(super) fn attempt_session(&self, session: NextSession) -> NextSession {
        let (Some((exploration, state)), Some(branch)) = (self.recovery.exploration(), self.branch()) else {
            return session;
        };
        let (deliverable, of) = (&exploration.deliverable, exploration.branches.len());
        let number = state.outcomes.len() + 1;
        let mut instruction = session.instruction.with_paragraph(&assignment(deliverable, number, of));
        for part in [branch.prompt.clone(), earlier_attempts(state)] {
            if !part.is_empty() {
                instruction = instruction.with_paragraph(&part);
            }
        }
        instruction.step = Some(attempt_step(deliverable, number, of));
        NextSession { instruction, ..session }
    }

    /// What an attempt has led to. `said` are the agent's words, `problem` is why it could not work.
    pub(super) async fn attempt_outcome(
        &mut self,
        outcome: BranchOutcome,
        checks: &BranchChecks,
        said: &str,
        site: &dyn BranchSite,
    ) -> Result<BranchOutcome, Fault> {
        let start = self.exploration_start().filter(|start| *start != outcome.kept.commit);
        let diff = match start {
            Some(start) => Some(site.diff(&start, &outcome.kept.commit).await?),
            None => None,
        };
        let summary = summary(diff.as_ref(), checks, said);
        Ok(BranchOutcome { changed_lines: diff.map(|diff| diff.lines), summary, ..outcome })
    }

    /// Chooses the attempt that continues. The caller saves.
    pub(super) fn decide_attempts(&mut self, events: &mut Vec<RunEvent>) -> RemedyStep {
        let choice = self.recovery.exploration().and_then(|(_, state)| choose(state));
        self.end_attempts(choice, events)
    }

    fn end_attempts(&mut self, choice: Option<Choice>, events: &mut Vec<RunEvent>) -> RemedyStep {
        let Some((exploration, state)) = self.recovery.exploration() else {
            return RemedyStep::Failed;
        };
        let winner = choice.and_then(|choice| state.outcomes.get(choice.place));
        let attempts = attempt_results(exploration, state);
        let message = format!(
            "{}{}",
            in_words(&exploration.deliverable, &attempts, choice),
            self.kept(&state.outcomes, winner)
        );
        events.push(RunEvent::BestOf(BestOfResult {
            deliverable: exploration.deliverable.clone(),
            attempts,
            winner: choice.map(|choice| choice.place + 1),
            decided_by: choice.map(|choice| choice.decided_by),
            message,
        }));
        let builder = choice.and_then(|choice| exploration.branches.get(choice.place));
        // What no check has looked at is for an agent to claim.
        let claim = winner.filter(|winner| winner.holds && winner.checks_passed > 0).zip(builder).map(
            |(_, builder)| PendingClaim {
                deliverable: exploration.deliverable.clone(),
                builder: builder.rung.clone(),
            },
        );
        let commit = winner.map(|winner| winner.kept.commit.clone());
        self.state.go_to = commit.or_else(|| self.exploration_start());
        self.state.claim = claim;
        self.recovery.end(if choice.is_some() { RemedyOutcome::Worked } else { RemedyOutcome::Failed })
    }

    /// The run ends before all attempts were made: one that has passed its checks continues, or else nothing has changed.
    pub(super) async fn leave_attempts(&mut self, site: &dyn BranchSite) -> Result<Vec<RunEvent>, Fault> {
        let mut events = Vec::new();
        let has_begun = self.exploration_start().is_some();
        if !has_begun || !self.recovery.makes_attempts() {
            return Ok(events);
        }
        if let Some(branch) = self.branch().cloned().filter(|_| self.state.go_to.is_none()) {
            let kept = site.keep(&branch.approach).await?;
            let outcome = BranchOutcome {
                id: branch.id,
                kept,
                problem: Some("the run ended before it did.".to_owned()),
                ..BranchOutcome::default()
            };
            self.recovery
                .exploration_mut()
                .into_iter()
                .for_each(|state| state.outcomes.push(outcome.clone()));
        }
        let choice = self.recovery.exploration().and_then(|(_, state)| {
            choose(state)
                .filter(|choice| state.outcomes.get(choice.place).is_some_and(|outcome| outcome.holds))
        });
        self.end_attempts(choice, &mut events);
        Ok(events)
    }

    /// Claims what the chosen attempt has passed. The workspace is that attempt's already.
    pub(super) async fn claim_chosen(&mut self) -> Result<(), Fault> {
        let (Some(claim), Some(site)) = (self.state.claim.clone(), self.setup.branches.clone()) else {
            return Ok(());
        };
        site.hold(None);
        let refused = site.claim(&claim.deliverable, &claim.builder).await?;
        self.state.claim = None;
        let mut events = Vec::new();
        match refused {
            Some(why) => events.push(RunEvent::Warning {
                message: format!(
                    "{} passed in the attempt that was chosen, but cannot be recorded: {why}",
                    claim.deliverable
                ),
            }),
            None => {
                self.recovery.start_over();
                self.state.idle_sessions = 0;
            }
        }
        self.save_and_publish(&events).await
    }
}

fn assignment(deliverable: &str, number: usize, of: usize) -> String {
    format!(
        "## Your deliverable\n\nYours is **{deliverable}**: build it, and nothing else. {of} agents make an attempt at it, one after another, \
         each from the same commit; yours is attempt {number}. The best one continues: first the checks decide. Commit your work. When you \
         set {deliverable} to `passed`, the checks run on your last commit, and the answer says what they found. The status itself changes \
         when an attempt has been chosen, so end your session once the checks have passed."
    )
}

fn earlier_attempts(state: &ExplorationState) -> String {
    let attempt =
        |(place, outcome): (usize, &BranchOutcome)| format!("### Attempt {}\n{}", place + 1, outcome.summary);
    let attempts: Vec<String> = state.outcomes.iter().enumerate().map(attempt).collect();
    match attempts.is_empty() {
        true => String::new(),
        false => format!(
            "## Earlier attempts\nThese were made before yours. Their files are not in your workspace. Learn from them, and do not repeat what \
             failed.\n\n{}",
            attempts.join("\n\n")
        ),
    }
}

fn summary(diff: Option<&BranchDiff>, checks: &BranchChecks, said: &str) -> String {
    let changed = match diff {
        Some(diff) => {
            let more = diff.files.len().saturating_sub(SHOWN_FILES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let files = diff.files.iter().take(SHOWN_FILES).cloned().collect::<Vec<_>>().join(", ");
            format!("It changed {} lines of: {files}{more}.", diff.lines)
        }
        None => "It changed nothing.".to_owned(),
    };
    let checked = match checks.holds {
        true => format!("{} of its checks passed, and none failed.", checks.passed),
        false => format!("Its checks failed:\n```\n{}\n```", start_of(&checks.message)),
    };
    let said = match said.trim() {
        "" => String::new(),
        said => format!("\nIt ended with these words:\n```\n{}\n```", end_of(said)),
    };
    format!("{changed} {checked}{said}")
}

fn start_of(text: &str) -> &str {
    let text = text.trim();
    &text[..text.char_indices().nth(SHOWN).map_or(text.len(), |(end, _)| end)]
}

fn end_of(text: &str) -> &str {
    &text[text.char_indices().rev().nth(SHOWN - 1).map_or(0, |(start, _)| start)..]
}

fn attempt_results(exploration: &Exploration, state: &ExplorationState) -> Vec<AttemptResult> {
    let made = exploration.branches.iter().zip(&state.outcomes).enumerate();
    made.map(|(place, (branch, outcome))| AttemptResult {
        number: place + 1,
        backend: branch.rung.backend.clone(),
        model: branch.rung.model.clone(),
        passed: outcome.holds && outcome.problem.is_none() && state.has_commits(outcome),
        checks_passed: outcome.checks_passed,
        changed_lines: outcome.changed_lines,
        comparisons_won: comparisons_won(state, place),
        problem: outcome.problem.clone(),
    })
    .collect()
}

/// Who made which attempt, what the checks said, and which one continues and why.
fn in_words(deliverable: &str, attempts: &[AttemptResult], choice: Option<Choice>) -> String {
    let name = |attempt: &AttemptResult| match &attempt.model {
        Some(model) => format!("{}/{model}", attempt.backend),
        None => attempt.backend.clone(),
    };
    let attempt = |attempt: &AttemptResult| {
        let checks = if attempt.checks_passed == 1 { "check" } else { "checks" };
        let result = match (&attempt.problem, attempt.changed_lines) {
            (Some(problem), _) => format!("could not work: {}", problem.trim_end_matches('.')),
            (None, None) => "committed nothing".to_owned(),
            (None, Some(lines)) => {
                let failed = if attempt.passed { "none failed" } else { "not all" };
                format!("{} {checks} passed, {failed}, {lines} lines changed", attempt.checks_passed)
            }
        };
        format!("{} {} ({result})", attempt.number, name(attempt))
    };
    let made = attempts.iter().map(attempt).collect::<Vec<_>>().join(", ");
    let end = match choice.and_then(|choice| Some((attempts.get(choice.place)?, choice.decided_by))) {
        Some((winner, decided_by)) => {
            let why = match decided_by {
                DecidedBy::Checks => "its checks decided".to_owned(),
                DecidedBy::Tournament => format!(
                    "it won {} of the comparisons by a model that made none of them",
                    winner.comparisons_won
                ),
                DecidedBy::SmallestDiff => "of those that are equal, none has changed less".to_owned(),
            };
            format!("Attempt {} by {} continues: {why}.", winner.number, name(winner))
        }
        None => "None of them is better than what there was, so the run continues from there.".to_owned(),
    };
    format!("Attempts at {deliverable}: {made}. {end}")
}
