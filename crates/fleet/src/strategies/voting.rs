//! Voting: a harness whose checks pass is a vote. With enough of them the vote succeeds, and a criterion chooses among them.

use std::cmp::Ordering;

use autonoe_harness::handle::HarnessResult;

use crate::aggregated_result::AggregatedResult;
use crate::coordination_strategy::CoordinationStrategy;
use crate::fleet_file::VoteSelection;
use crate::strategy::{FleetMember, Strategy, StrategyDecision, listed, start_all};

pub(super) struct VotingStrategy {
    pub(super) min_votes: usize,
    pub(super) selection_criteria: VoteSelection,
    /// In the order of their ends.
    pub(super) votes: Vec<HarnessResult>,
}

impl VotingStrategy {
    fn has_enough(&self) -> bool {
        self.votes.len() >= self.min_votes
    }

    /// The best vote, and those that are as good.
    fn elect(&self) -> (Option<HarnessResult>, Vec<String>) {
        let mut best: Vec<&HarnessResult> = Vec::new();
        for vote in &self.votes {
            match best.first().map_or(Ordering::Greater, |best| self.compare(vote, best)) {
                Ordering::Greater => best = vec![vote],
                Ordering::Equal => best.push(vote),
                Ordering::Less => {}
            }
        }
        let tied = best.iter().skip(1).map(|vote| vote.harness_id.clone()).collect();
        (best.first().map(|vote| (*vote).clone()), tied)
    }

    /// Greater is better. The votes are in the order of their ends, so none is as good as the first to end.
    fn compare(&self, one: &HarnessResult, other: &HarnessResult) -> Ordering {
        match self.selection_criteria {
            VoteSelection::First => Ordering::Less,
            VoteSelection::BestProgress => one.progress.total_cmp(&other.progress),
            VoteSelection::BestTests => one.tasks_verified.cmp(&other.tasks_verified),
            VoteSelection::LowestFailures => other.tasks_failed.cmp(&one.tasks_failed),
            VoteSelection::Fastest => other.execution_seconds.total_cmp(&one.execution_seconds),
        }
    }
}

impl Strategy for VotingStrategy {
    fn strategy_type(&self) -> CoordinationStrategy {
        CoordinationStrategy::Voting
    }

    fn decide(&self, members: &[FleetMember]) -> Vec<StrategyDecision> {
        start_all(members)
    }

    fn on_harness_complete(&mut self, member: &FleetMember, result: &HarnessResult) {
        if member.is_confirmed(result) && !self.has_enough() {
            self.votes.push(result.clone());
        }
    }

    /// Also if there can never be enough.
    fn should_terminate_others(&self, _: &FleetMember, remaining: &[&FleetMember]) -> bool {
        self.has_enough() || self.votes.len() + remaining.len() < self.min_votes
    }

    fn aggregate(&self, members: &[FleetMember], results: Vec<HarnessResult>) -> AggregatedResult {
        let base = AggregatedResult::new(self.strategy_type(), results);
        let (count, needed) = (self.votes.len(), self.min_votes);
        if !self.has_enough() {
            let summary =
                format!("{needed} of {} harnesses must pass their checks; {count} did.", members.len());
            return AggregatedResult { summary, ..base };
        }
        let (winner, tied) = self.elect();
        let name = winner.as_ref().map(|winner| winner.harness_id.as_str()).unwrap_or_default();
        let criterion = self.selection_criteria.name();
        let summary = match tied.is_empty() {
            true => format!("{count} harnesses passed their checks; {name} was chosen by {criterion}."),
            false => {
                let others: Vec<&str> = tied.iter().map(String::as_str).collect();
                format!(
                    "{count} harnesses passed their checks; {name} is tied with {} by {criterion}, and ended first.",
                    listed(&others)
                )
            }
        };
        AggregatedResult { success: true, winner, tied, summary, ..base }
    }
}
