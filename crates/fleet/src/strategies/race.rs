//! Race: the first harness whose checks pass wins. One that ends without that has not won, however early it ends.

use autonoe_harness::handle::HarnessResult;

use crate::aggregated_result::AggregatedResult;
use crate::coordination_strategy::CoordinationStrategy;
use crate::strategy::{FleetMember, Strategy, StrategyDecision, start_all};

pub(super) struct RaceStrategy {
    pub(super) min_progress_to_win: f64,
    pub(super) terminate_losers: bool,
    pub(super) winner: Option<HarnessResult>,
}

impl Strategy for RaceStrategy {
    fn strategy_type(&self) -> CoordinationStrategy {
        CoordinationStrategy::Race
    }

    fn decide(&self, members: &[FleetMember]) -> Vec<StrategyDecision> {
        let Some(winner) = &self.winner else {
            return start_all(members);
        };
        let pending = members.iter().filter(|member| member.is_pending());
        let why = format!("{} has won", winner.harness_id);
        pending.map(|member| StrategyDecision::Skip { id: member.id.clone(), why: why.clone() }).collect()
    }

    fn on_harness_complete(&mut self, member: &FleetMember, result: &HarnessResult) {
        let has_won = member.is_confirmed(result) && result.progress >= self.min_progress_to_win;
        if self.winner.is_none() && has_won {
            self.winner = Some(result.clone());
        }
    }

    fn should_terminate_others(&self, _: &FleetMember, _: &[&FleetMember]) -> bool {
        self.terminate_losers && self.winner.is_some()
    }

    fn aggregate(&self, members: &[FleetMember], results: Vec<HarnessResult>) -> AggregatedResult {
        let summary = match &self.winner {
            Some(winner) => format!("{} has won: its checks passed first.", winner.harness_id),
            None => format!("Nobody has won: the checks of none of {} harnesses passed.", members.len()),
        };
        AggregatedResult {
            success: self.winner.is_some(),
            winner: self.winner.clone(),
            summary,
            ..AggregatedResult::new(self.strategy_type(), results)
        }
    }
}
