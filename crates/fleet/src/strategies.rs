//! The strategies of seed 004.

mod parallel;
mod pipeline;
mod race;
mod voting;

use crate::coordination_strategy::CoordinationStrategy;
use crate::fleet_file::StrategySettings;
use crate::strategy::Strategy;

use self::parallel::ParallelStrategy;
use self::pipeline::PipelineStrategy;
use self::race::RaceStrategy;
use self::voting::VotingStrategy;

pub fn strategy_for(settings: &StrategySettings) -> Box<dyn Strategy> {
    match settings.coordination {
        CoordinationStrategy::Parallel => Box::new(ParallelStrategy { fail_fast: settings.fail_fast }),
        CoordinationStrategy::Pipeline => Box::new(PipelineStrategy {
            stop_on_failure: settings.stop_on_failure,
            pass_context: settings.pass_context,
            initial_context: settings.initial_context.clone(),
        }),
        CoordinationStrategy::Race => Box::new(RaceStrategy {
            min_progress_to_win: settings.min_progress_to_win,
            terminate_losers: settings.terminate_losers,
            winner: None,
        }),
        CoordinationStrategy::Voting => Box::new(VotingStrategy {
            min_votes: settings.min_votes,
            selection_criteria: settings.selection_criteria,
            votes: Vec::new(),
        }),
    }
}

#[cfg(test)]
mod tests;
