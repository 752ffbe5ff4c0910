//! What a strategy decides: what may start, and what the end of one harness means for the others.
//!
//! A strategy decides and remembers; it starts nothing and waits for nothing. [`Strategy::execute`] is the one loop, over a
//! [`HarnessManager`] that does.

use autonoe_harness::handle::{HarnessResult, HarnessStatus};

use crate::aggregated_result::AggregatedResult;
use crate::coordination_strategy::CoordinationStrategy;

/// A harness as a strategy sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetMember {
    pub id: String,
    pub depends: Vec<String>,
    pub status: HarnessStatus,
    /// Tasks of its roadmap that checks decide about.
    pub checked_tasks: u32,
    /// `None` until it is over.
    pub result: Option<HarnessResult>,
}

impl FleetMember {
    pub(crate) fn is_pending(&self) -> bool {
        self.status == HarnessStatus::Pending && self.result.is_none()
    }

    pub(crate) fn has_succeeded(&self) -> bool {
        self.result.as_ref().is_some_and(|result| result.success)
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.result.as_ref().is_some_and(|result| !result.success)
    }

    /// Whether it is done and every check of its roadmap has passed: what it says about itself is not enough.
    pub(crate) fn is_confirmed(&self, result: &HarnessResult) -> bool {
        result.success && self.checked_tasks > 0 && result.tasks_verified >= self.checked_tasks
    }
}

/// What becomes of a harness that has not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StrategyDecision {
    Start(String),
    /// It will never start, for this reason.
    Skip {
        id: String,
        why: String,
    },
}

/// Starts, stops and waits for harnesses on behalf of a strategy.
pub trait HarnessManager {
    type Error;

    fn members(&self) -> &[FleetMember];

    /// Whether one more harness may run now.
    fn has_place(&self) -> bool;

    fn start(&mut self, id: &str, setup: StartSetup) -> Result<(), Self::Error>;

    /// Ends a harness that was never started.
    fn skip(&mut self, id: &str, why: &str) -> Result<(), Self::Error>;

    /// Asks harnesses to end. They are over later, when they have ended.
    fn stop(&mut self, ids: &[String], why: &str) -> Result<(), Self::Error>;

    /// The next harness that is over and that the strategy does not know of, in the order of their ends.
    fn take_ended(&mut self) -> Result<Option<String>, Self::Error>;

    /// Waits until something has changed; false if nothing runs any more.
    fn wait(&mut self) -> Result<bool, Self::Error>;
}

/// What a harness starts with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartSetup {
    /// For its inbox.
    pub context: Option<String>,
    /// Harnesses on whose commits it builds.
    pub builds_on: Vec<String>,
}

pub trait Strategy {
    fn strategy_type(&self) -> CoordinationStrategy;

    /// What may start now, in this order, and what never will. The manager starts as many as there are places.
    fn decide(&self, members: &[FleetMember]) -> Vec<StrategyDecision>;

    /// What a harness starts with.
    fn setup(&self, member: &FleetMember, members: &[FleetMember]) -> StartSetup {
        let _ = members;
        StartSetup { context: None, builds_on: member.depends.clone() }
    }

    /// Called when a harness completes, once each, in the order of their ends.
    fn on_harness_complete(&mut self, member: &FleetMember, result: &HarnessResult);

    /// Whether remaining harnesses should be terminated.
    fn should_terminate_others(&self, completed: &FleetMember, remaining: &[&FleetMember]) -> bool;

    /// The results of `members`, which are over, in the order of their ends.
    fn aggregate(&self, members: &[FleetMember], results: Vec<HarnessResult>) -> AggregatedResult;
}

impl dyn Strategy + '_ {
    /// Runs harnesses until nothing is left to run.
    pub fn execute<M: HarnessManager>(&mut self, manager: &mut M) -> Result<AggregatedResult, M::Error> {
        let mut results = Vec::new();
        loop {
            let ended = self.take_ended(manager)?;
            if !ended.is_empty() {
                self.terminate_others(&ended, manager)?;
                results.extend(ended.into_iter().map(|(_, result)| result));
                continue;
            }
            // A skipped harness may make others hopeless, so this is repeated until nothing changes.
            if self.start_ready(manager)? {
                continue;
            }
            if !manager.wait()? {
                break;
            }
        }
        Ok(self.aggregate(manager.members(), results))
    }

    /// Those that are over by now, each with its result. All of them count before it is decided about others.
    fn take_ended<M: HarnessManager>(
        &mut self,
        manager: &mut M,
    ) -> Result<Vec<(FleetMember, HarnessResult)>, M::Error> {
        let mut ended = Vec::new();
        while let Some(id) = manager.take_ended()? {
            let member = manager.members().iter().find(|member| member.id == id).cloned();
            if let Some((member, result)) = member.and_then(|member| Some((member.clone(), member.result?))) {
                self.on_harness_complete(&member, &result);
                ended.push((member, result));
            }
        }
        Ok(ended)
    }

    fn terminate_others<M: HarnessManager>(
        &self,
        ended: &[(FleetMember, HarnessResult)],
        manager: &mut M,
    ) -> Result<(), M::Error> {
        let remaining: Vec<&FleetMember> =
            manager.members().iter().filter(|member| member.result.is_none()).collect();
        if remaining.is_empty() {
            return Ok(());
        }
        // The last one has decided it, if several ended at the same time.
        let mut latest_first = ended.iter().rev();
        let decided = latest_first.find(|(member, _)| self.should_terminate_others(member, &remaining));
        let Some((member, result)) = decided else { return Ok(()) };
        let ids: Vec<String> = remaining.iter().map(|member| member.id.clone()).collect();
        let why = match result.success {
            true => format!("{} has decided it", member.id),
            false => format!("{} has failed", member.id),
        };
        manager.stop(&ids, &why)
    }

    /// Whether a harness was skipped.
    fn start_ready<M: HarnessManager>(&mut self, manager: &mut M) -> Result<bool, M::Error> {
        let mut has_skipped = false;
        for decision in self.decide(manager.members()) {
            match decision {
                StrategyDecision::Start(id) if manager.has_place() => {
                    let members = manager.members();
                    let Some(member) = members.iter().find(|member| member.id == id) else { continue };
                    let setup = self.setup(member, members);
                    manager.start(&id, setup)?;
                }
                StrategyDecision::Start(_) => {}
                StrategyDecision::Skip { id, why } => {
                    has_skipped = true;
                    manager.skip(&id, &why)?;
                }
            }
        }
        Ok(has_skipped)
    }
}

/// All that have not started.
pub(crate) fn start_all(members: &[FleetMember]) -> Vec<StrategyDecision> {
    let pending = members.iter().filter(|member| member.is_pending());
    pending.map(|member| StrategyDecision::Start(member.id.clone())).collect()
}

/// `a and b`, or `a, b and c`.
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
