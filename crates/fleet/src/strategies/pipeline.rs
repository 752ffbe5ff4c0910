//! Pipeline: one harness after another, each on the commits of the one before it and with what it said.

use autonoe_harness::handle::HarnessResult;
use serde_json::{Map, Value, json};

use crate::aggregated_result::AggregatedResult;
use crate::coordination_strategy::CoordinationStrategy;
use crate::strategy::{FleetMember, StartSetup, Strategy, StrategyDecision};

/// The first line of what a stage gets.
const HANDED_ON: &str = "Context from previous pipeline stages:";

pub(super) struct PipelineStrategy {
    pub(super) stop_on_failure: bool,
    pub(super) pass_context: bool,
    pub(super) initial_context: Option<String>,
}

impl PipelineStrategy {
    fn context(&self, place: usize, before: &[FleetMember]) -> Option<String> {
        if !self.pass_context {
            return None;
        }
        let Some(previous) = before.last().and_then(|member| member.result.as_ref()) else {
            return self.initial_context.clone().filter(|_| place == 0);
        };
        let handed_on = json!({
            "previous_stage": {
                "harness_id": previous.harness_id,
                "stage_number": place,
                "output": previous.output,
                "metrics": {
                    "tasks_completed": previous.tasks_completed,
                    "tasks_failed": previous.tasks_failed,
                    "tasks_verified": previous.tasks_verified,
                },
            },
            "stage_outputs": stage_outputs(before),
        });
        Some(format!("{HANDED_ON}\n{handed_on:#}"))
    }
}

impl Strategy for PipelineStrategy {
    fn strategy_type(&self) -> CoordinationStrategy {
        CoordinationStrategy::Pipeline
    }

    /// One stage at a time; a later one is not even prepared.
    fn decide(&self, members: &[FleetMember]) -> Vec<StrategyDecision> {
        let next = members.iter().find(|member| member.result.is_none());
        let next = next.filter(|member| member.is_pending());
        next.map(|member| StrategyDecision::Start(member.id.clone())).into_iter().collect()
    }

    fn setup(&self, member: &FleetMember, members: &[FleetMember]) -> StartSetup {
        let place = members.iter().position(|other| other.id == member.id).unwrap_or_default();
        let before = &members[..place];
        let last_built = before.iter().rev().find(|member| member.has_succeeded());
        StartSetup {
            context: self.context(place, before),
            builds_on: last_built.map(|member| member.id.clone()).into_iter().collect(),
        }
    }

    fn on_harness_complete(&mut self, _: &FleetMember, _: &HarnessResult) {}

    fn should_terminate_others(&self, completed: &FleetMember, _: &[&FleetMember]) -> bool {
        self.stop_on_failure && completed.has_failed()
    }

    fn aggregate(&self, members: &[FleetMember], results: Vec<HarnessResult>) -> AggregatedResult {
        let failed = members.iter().find(|member| !member.has_succeeded());
        let last = members.last().and_then(|member| member.result.clone());
        let summary = match failed {
            None if members.len() == 1 => "The stage is completed.".to_owned(),
            None => format!("All {} stages are completed.", members.len()),
            Some(failed) => format!("The stage {} did not succeed.", failed.id),
        };
        AggregatedResult {
            success: failed.is_none(),
            winner: last.filter(|_| failed.is_none()),
            aggregated_output: Some(stage_outputs(members).to_string()),
            summary,
            ..AggregatedResult::new(self.strategy_type(), results)
        }
    }
}

/// What each stage that is over has said.
fn stage_outputs(members: &[FleetMember]) -> Value {
    let over = members.iter().filter_map(|member| member.result.as_ref());
    let outputs = over.map(|result| {
        (result.harness_id.clone(), json!({ "output": result.output, "success": result.success }))
    });
    Value::Object(outputs.collect::<Map<_, _>>())
}
