//! Parallel: all harnesses at the same time, as far as their dependencies allow.

use autonoe_harness::handle::HarnessResult;

use crate::aggregated_result::AggregatedResult;
use crate::coordination_strategy::CoordinationStrategy;
use crate::strategy::{FleetMember, Strategy, StrategyDecision, listed};

pub(super) struct ParallelStrategy {
    pub(super) fail_fast: bool,
}

impl Strategy for ParallelStrategy {
    fn strategy_type(&self) -> CoordinationStrategy {
        CoordinationStrategy::Parallel
    }

    fn decide(&self, members: &[FleetMember]) -> Vec<StrategyDecision> {
        let find = |id: &String| members.iter().find(|member| member.id == *id);
        let mut decisions = Vec::new();
        for member in members.iter().filter(|member| member.is_pending()) {
            let failed = member.depends.iter().filter_map(find).find(|other| other.has_failed());
            if let Some(failed) = failed {
                let why = format!("it waits for {}, which has failed", failed.id);
                decisions.push(StrategyDecision::Skip { id: member.id.clone(), why });
            } else if member.depends.iter().filter_map(find).all(FleetMember::has_succeeded) {
                decisions.push(StrategyDecision::Start(member.id.clone()));
            }
        }
        decisions
    }

    fn on_harness_complete(&mut self, _: &FleetMember, _: &HarnessResult) {}

    fn should_terminate_others(&self, completed: &FleetMember, _: &[&FleetMember]) -> bool {
        self.fail_fast && completed.has_failed()
    }

    fn aggregate(&self, members: &[FleetMember], results: Vec<HarnessResult>) -> AggregatedResult {
        let failed: Vec<&str> = members
            .iter()
            .filter(|member| !member.has_succeeded())
            .map(|member| member.id.as_str())
            .collect();
        let success = failed.is_empty();
        let summary = match success {
            true if members.len() == 1 => "The harness is completed.".to_owned(),
            true => format!("All {} harnesses are completed.", members.len()),
            false => format!(
                "{} of {} harnesses did not succeed: {}.",
                failed.len(),
                members.len(),
                listed(&failed)
            ),
        };
        AggregatedResult { success, summary, ..AggregatedResult::new(self.strategy_type(), results) }
    }
}
