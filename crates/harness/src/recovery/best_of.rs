//! Several agents make an attempt at the same deliverable, one after another, each from the same commit. Which attempt continues is decided
//! by the checks, then by comparing two at a time, then by the size of the change.

use std::cmp::Reverse;

use autonoe_core::attempt::DecidedBy;

use super::approaches::{BranchOutcome, Exploration, ExplorationBranch, ExplorationKind, ExplorationState};
use super::nudge::facts;
use super::rung::Rung;
use super::strategy::{LoopContext, RecoveryResult, RecoveryStrategy};
use crate::roadmap::Task;

pub(crate) const BEST_OF: &str = "best_of";

/// Who makes an attempt, and who can compare them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BestOf {
    pub agents: Vec<Rung>,
    /// In order of preference. They may be agents too: one that made none of the compared attempts can judge them.
    pub judges: Vec<Rung>,
}

impl BestOf {
    /// A model that made none of these attempts, if possible in another agent.
    pub fn judge(&self, made_by: &[&Rung], is_usable: impl Fn(&Rung) -> bool) -> Option<&Rung> {
        let made_none = |judge: &&Rung| made_by.iter().all(|maker| !may_be_same_model(maker, judge));
        let fit = || self.judges.iter().filter(|judge| is_usable(judge)).filter(made_none);
        let is_foreign = |judge: &&Rung| made_by.iter().all(|maker| maker.backend != judge.backend);
        fit().find(is_foreign).or_else(|| fit().next())
    }
}

/// Whether two agents may use one model: names may be short, such as `sonnet` for `claude-sonnet-4-5`.
fn may_be_same_model(one: &Rung, other: &Rung) -> bool {
    match (&one.model, &other.model) {
        (Some(one), Some(other)) => one.contains(other.as_str()) || other.contains(one.as_str()),
        (None, _) | (_, None) => one.backend == other.backend,
    }
}

/// An attempt that continues, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    pub place: usize,
    pub decided_by: DecidedBy,
}

pub struct BestOfAgents;

impl RecoveryStrategy for BestOfAgents {
    fn name(&self) -> &'static str {
        BEST_OF
    }

    fn sessions(&self) -> u32 {
        u32::MAX
    }

    fn can_apply(&self, context: &LoopContext) -> bool {
        context.agents.len() > 1
    }

    fn apply(&self, task: &Task, context: &LoopContext) -> RecoveryResult {
        let attempt = |(place, rung): (usize, &Rung)| ExplorationBranch {
            id: format!("{}-attempt-{}", task.id, place + 1),
            approach: format!("attempt-{}-{}", place + 1, rung.backend),
            prompt: facts(context),
            rung: rung.clone(),
            sessions: 1,
        };
        let branches = context.agents.iter().enumerate().map(attempt).collect();
        let exploration =
            Exploration { deliverable: task.id.to_string(), kind: ExplorationKind::Attempts, branches };
        RecoveryResult { success: true, branch: Some(exploration), ..RecoveryResult::default() }
    }
}

/// The attempts that the checks prefer, by place: those that fail none, or else those that pass the most. Empty if none of them is better than
/// what there was.
pub fn leaders(state: &ExplorationState) -> Vec<usize> {
    let rank = |outcome: &BranchOutcome| (outcome.holds, outcome.checks_passed);
    let candidates = || {
        let all = state.outcomes.iter().enumerate();
        all.filter(|(_, outcome)| state.has_commits(outcome) && outcome.is_better_than(state.passed_before))
    };
    let best = candidates().map(|(_, outcome)| rank(outcome)).max();
    candidates().filter(|(_, outcome)| Some(rank(outcome)) == best).map(|(place, _)| place).collect()
}

/// The next two attempts to compare; `None` if the checks, or earlier comparisons, have decided as far as they can. Attempts that fail a check
/// are not worth it.
pub fn next_pair(state: &ExplorationState) -> Option<(usize, usize)> {
    let leaders = leaders(state);
    if !leaders.iter().all(|place| state.outcomes[*place].holds) {
        return None;
    }
    let pairs = leaders
        .iter()
        .enumerate()
        .flat_map(|(index, one)| leaders[index + 1..].iter().map(move |other| (*one, *other)));
    pairs.into_iter().find(|pair| state.compared.iter().all(|compared| compared.pair != *pair))
}

/// Comparisons that an attempt has won.
pub fn comparisons_won(state: &ExplorationState, place: usize) -> usize {
    state.compared.iter().filter(|comparison| comparison.better == Some(place)).count()
}

/// The attempt that continues; `None` if none is better than what there was.
pub fn choose(state: &ExplorationState) -> Option<Choice> {
    let leaders = leaders(state);
    if let [place] = leaders[..] {
        return Some(Choice { place, decided_by: DecidedBy::Checks });
    }
    let most = leaders.iter().map(|place| comparisons_won(state, *place)).max()?;
    let winners: Vec<usize> =
        leaders.into_iter().filter(|place| comparisons_won(state, *place) == most).collect();
    if let [place] = winners[..] {
        return Some(Choice { place, decided_by: DecidedBy::Tournament });
    }
    let size = |place: &usize| state.outcomes[*place].changed_lines.unwrap_or(usize::MAX);
    // The first of several that are equal.
    let place = winners.into_iter().max_by_key(|place| (Reverse(size(place)), Reverse(*place)))?;
    Some(Choice { place, decided_by: DecidedBy::SmallestDiff })
}

#[cfg(test)]
mod tests {
    use super::{BestOf, Rung};

    fn rung(name: &str) -> Rung {
        let (backend, model) = name.split_once('/').expect("a backend and a model");
        Rung { backend: backend.to_owned(), model: Some(model.to_owned()) }
    }

    #[test]
    fn a_judge_made_none_of_the_attempts_not_even_in_another_agent() {
        for (judges, made_by, chosen) in [
            (
                &["native/claude-sonnet-4-5", "gemini/pro"][..],
                &["claude/sonnet", "codex/gpt-5"][..],
                Some("gemini/pro"),
            ),
            (&["native/claude-sonnet-4-5", "claude/sonnet"], &["claude/sonnet"], None),
            (&["claude/opus", "codex/gpt-5"], &["claude/sonnet"], Some("codex/gpt-5")),
            (&["claude/opus"], &["claude/sonnet"], Some("claude/opus")),
        ] {
            let judges: Vec<Rung> = judges.iter().map(|name| rung(name)).collect();
            let made_by: Vec<Rung> = made_by.iter().map(|name| rung(name)).collect();
            let best_of = BestOf { agents: Vec::new(), judges };
            let judge = best_of.judge(&made_by.iter().collect::<Vec<_>>(), |_| true);
            assert_eq!(judge.map(ToString::to_string).as_deref(), chosen);
        }
    }
}
