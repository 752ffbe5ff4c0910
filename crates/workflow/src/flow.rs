//! Flow: how an agent gets from step to step. It knows nothing of sessions: it is told that a step is through, and says
//! where that leads, until it comes to a step that needs a session, or to the end.

use std::collections::BTreeMap;

use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

use crate::check::{ActionResult, StepCheckResult, by_action, by_keyword};
use crate::context::Context;
use crate::definition::{
    AgentDefinition, Branch, Check, Escalation, Notification, OnExhausted, Retry, RetryPolicy, ReturnFlow,
    Step, StepKind,
};
use crate::faults::{CONFIGURATION_VALIDATION, ESCALATED, NO_BRANCH, STEP_LOOP, STEP_RETRY_EXHAUSTED};
use crate::host_effects::{HostEffects, Notice};

/// Where an agent is among its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum At {
    /// The session of this step comes next.
    Work(String),
    /// The session that looks at this step comes next.
    Look(String),
    /// The steps are through.
    Through,
}

/// How an agent got where it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowState {
    /// Where it is.
    pub at: At,
    /// How often each step was entered; retries do not count.
    pub visits: BTreeMap<String, u32>,
    /// How often each step was tried again since it was entered.
    pub retries: BTreeMap<String, u32>,
    /// The step that was entered last, and how often in a row.
    pub streak: (String, u32),
    /// How often each step has called for help.
    pub calls: BTreeMap<String, u32>,
    /// Who waits for a step that helps; the last one is helped first.
    pub waiting: Vec<Waiting>,
    /// The steps that were left, in order.
    pub path: Vec<String>,
    /// How many checks were made.
    pub checks: u32,
    /// The step that said that the agent is done.
    pub completed_by: Option<String>,
}

/// A step that has called for the help of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The step that waits.
    pub step: String,
    /// The step that helps.
    pub helper: String,
}

impl Default for FlowState {
    fn default() -> Self {
        Self {
            at: At::Through,
            visits: BTreeMap::new(),
            retries: BTreeMap::new(),
            streak: (String::new(), 0),
            calls: BTreeMap::new(),
            waiting: Vec::new(),
            path: Vec::new(),
            checks: 0,
            completed_by: None,
        }
    }
}

/// What happens next.
#[derive(Debug)]
pub(crate) enum Move {
    /// A step is entered.
    Enter(String),
    /// All of a step is over but its check.
    Conclude(String),
    /// A step was checked.
    Decided(String, StepCheckResult),
    /// A step has failed for good.
    Failed(String, String),
    /// A session comes next, or the end.
    Settled,
}

/// What comes after the session of a step.
pub(crate) fn after_work(definition: &AgentDefinition, id: &str) -> Move {
    match definition.step(id).and_then(|step| step.sub_steps.first()) {
        Some(sub) => Move::Enter(sub.clone()),
        None => Move::Conclude(id.to_owned()),
    }
}

/// Moves an agent among its steps.
pub(crate) struct Flow<'a> {
    pub definition: &'a AgentDefinition,
    pub state: &'a mut FlowState,
    pub context: &'a mut Context,
    pub outside: &'a dyn HostEffects,
    /// What happened, to be told when it is on record.
    pub events: &'a mut Vec<RunEvent>,
}

impl Flow<'_> {
    /// Moves on until a session comes next, or the end.
    pub async fn settle(&mut self, first: Move) -> Result<(), Fault> {
        let mut next = first;
        let mut entered = 0;
        loop {
            next = match next {
                Move::Enter(id) => {
                    entered += 1;
                    // Nothing changes without a session: anyone who comes by twice comes by for ever.
                    if entered > self.definition.steps.steps.len() + 1 {
                        return Err(STEP_LOOP
                            .fault(format!("The steps around '{id}' lead to each other without any session."))
                            .hint("Give one of them a prompt, or another way out."));
                    }
                    self.enter(&id)?
                }
                Move::Conclude(id) => self.conclude(&id).await?,
                Move::Decided(id, result) => self.decided(&id, &result)?,
                Move::Failed(id, why) => self.failed(&id, &why).await?,
                Move::Settled => return Ok(()),
            };
        }
    }

    fn step(&self, id: &str) -> Result<&Step, Fault> {
        // Validation has seen every step that is named.
        self.definition
            .step(id)
            .ok_or_else(|| CONFIGURATION_VALIDATION.fault(format!("There is no step '{id}'.")))
    }

    fn enter(&mut self, id: &str) -> Result<Move, Fault> {
        let step = self.step(id)?;
        let (is_part, has_prompt, sub) =
            (step.kind == StepKind::SubStep, step.prompt.is_some(), step.sub_steps.first().cloned());
        if !is_part {
            let (last, count) = std::mem::take(&mut self.state.streak);
            let count = if last == id { count + 1 } else { 1 };
            self.state.streak = (id.to_owned(), count);
            let limit = self.definition.agent.step_loop_limit;
            if count > limit {
                return Err(STEP_LOOP
                    .fault(format!("The step '{id}' was to be run more than {limit} times in a row."))
                    .hint(
                        "Give it a way out, or raise stepLoopLimit in agent.json if it may run that often.",
                    ));
            }
        }
        *self.state.visits.entry(id.to_owned()).or_default() += 1;
        self.state.retries.remove(id);
        self.state.at = At::Work(id.to_owned());
        Ok(match (has_prompt, sub) {
            (true, _) => Move::Settled,
            (false, Some(sub)) => Move::Enter(sub),
            (false, None) => Move::Conclude(id.to_owned()),
        })
    }

    /// Runs the actions of a step that is over, and checks it, unless that takes a session.
    async fn conclude(&mut self, id: &str) -> Result<Move, Fault> {
        let step = self.step(id)?.clone();
        let mut results = Vec::new();
        for action in &step.actions {
            let end = self.outside.command(&action.command, Duration::from_secs(action.time_limit)).await;
            results.push(ActionResult { kind: action.kind.clone(), end });
        }
        let Some(check) = &step.check else {
            let result = StepCheckResult { passed: true, reason: "it is through".to_owned() };
            return Ok(Move::Decided(id.to_owned(), result));
        };
        self.state.checks += 1;
        let result = match check {
            Check::Prompt { .. } => {
                self.state.at = At::Look(id.to_owned());
                return Ok(Move::Settled);
            }
            Check::Action { action, .. } => by_action(action, &results),
            Check::Keyword { keywords, .. } => {
                by_keyword(keywords, self.context.carry.previous_response.as_deref().unwrap_or_default())
            }
        };
        Ok(Move::Decided(id.to_owned(), result))
    }

    fn decided(&mut self, id: &str, result: &StepCheckResult) -> Result<Move, Fault> {
        let step = self.step(id)?.clone();
        self.context.decide(id, result.passed, &result.reason);
        let transition = match (&step.check, result.passed) {
            (None, _) => None,
            (Some(check), true) => check.on_pass(),
            (Some(check), false) => check.on_fail(),
        };
        if let Some(transition) = transition {
            if transition.complete {
                self.state.completed_by = Some(id.to_owned());
                return Ok(self.leave(id, result, None));
            }
            if let Some(next) = &transition.next {
                self.state.waiting.clear();
                return Ok(self.leave(id, result, Some(next.clone())));
            }
        }
        if result.passed {
            return self.passed(id, &step, result);
        }
        // What a failed check leads to, if nothing is said, is another try.
        let policy = match transition.and_then(|transition| transition.retry.as_ref()) {
            None => Some(RetryPolicy::default()),
            Some(retry) => Retry::policy(retry),
        };
        Ok(self.try_again(id, &step, result, policy))
    }

    fn passed(&mut self, id: &str, step: &Step, result: &StepCheckResult) -> Result<Move, Fault> {
        if let Some(waiting) = self.state.waiting.pop_if(|waiting| waiting.helper == id) {
            self.state.path.push(id.to_owned());
            self.tell(id, result, Some(waiting.step.clone()));
            let Some(escalation) = self.step(&waiting.step)?.escalation.clone() else {
                return Ok(Move::Enter(waiting.step));
            };
            return self.come_back(&waiting.step, &escalation, &result.reason);
        }
        if let Some(branch) = &step.branch {
            let target = self.branch(id, branch)?;
            return Ok(self.leave(id, result, target));
        }
        if step.kind == StepKind::SubStep {
            return Ok(self.go_on_in_parent(id, result));
        }
        Ok(self.leave(id, result, step.next.clone()))
    }

    /// The next part of the same parent, or the end of that.
    fn go_on_in_parent(&mut self, id: &str, result: &StepCheckResult) -> Move {
        let Some(parent) = self.definition.parent_of(id).map(str::to_owned) else {
            return self.leave(id, result, None);
        };
        let parts = self.definition.step(&parent).map(|step| step.sub_steps.as_slice()).unwrap_or_default();
        let place = parts.iter().position(|part| part == id).unwrap_or_default();
        match parts.get(place + 1).cloned() {
            Some(next) => self.leave(id, result, Some(next)),
            None => {
                self.state.path.push(id.to_owned());
                self.tell(id, result, Some(parent.clone()));
                Move::Conclude(parent)
            }
        }
    }

    fn try_again(
        &mut self,
        id: &str,
        step: &Step,
        result: &StepCheckResult,
        policy: Option<RetryPolicy>,
    ) -> Move {
        let Some(policy) = policy else {
            return Move::Failed(id.to_owned(), result.reason.clone());
        };
        let count = self.state.retries.get(id).copied().unwrap_or_default();
        if count < policy.max_retries {
            self.state.retries.insert(id.to_owned(), count + 1);
            self.state.at = At::Work(id.to_owned());
            let reason = format!("{} (retry {} of {})", result.reason, count + 1, policy.max_retries);
            self.tell(id, &StepCheckResult { passed: false, reason }, Some(id.to_owned()));
            return match (step.prompt.is_some(), step.sub_steps.first()) {
                (true, _) => Move::Settled,
                (false, Some(sub)) => Move::Enter(sub.clone()),
                // It would find the same again.
                (false, None) => Move::Failed(id.to_owned(), result.reason.clone()),
            };
        }
        match (policy.on_exhausted, policy.fallback_step) {
            (OnExhausted::Fallback, Some(fallback)) => self.leave(id, result, Some(fallback)),
            (OnExhausted::Skip, _) if step.kind == StepKind::SubStep => self.go_on_in_parent(id, result),
            (OnExhausted::Skip, _) => self.leave(id, result, step.next.clone()),
            (OnExhausted::Error | OnExhausted::Fallback, _) => {
                let why = format!("{}, also after {count} retries", result.reason);
                Move::Failed(id.to_owned(), why)
            }
        }
    }

    /// A step that has failed for good calls for help, or has its parent fail, or ends the agent.
    async fn failed(&mut self, id: &str, why: &str) -> Result<Move, Fault> {
        let step = self.step(id)?.clone();
        self.tell(id, &StepCheckResult { passed: false, reason: why.to_owned() }, None);
        let calls = self.state.calls.get(id).copied().unwrap_or_default();
        if let Some(escalation) = step.escalation.filter(|escalation| calls < escalation.max_times) {
            self.state.calls.insert(id.to_owned(), calls + 1);
            return self.call_for_help(id, &escalation, why).await;
        }
        if let Some(parent) = self.definition.parent_of(id) {
            return Ok(Move::Failed(parent.to_owned(), format!("its sub-step '{id}' failed: {why}")));
        }
        Err(STEP_RETRY_EXHAUSTED.fault(format!("The step '{id}' failed: {why}.")).hint(
            "Read what it did with `autonoe sessions list`, fix its prompt or its check, and run again.",
        ))
    }

    async fn call_for_help(&mut self, id: &str, escalation: &Escalation, why: &str) -> Result<Move, Fault> {
        let method = escalation.method(&self.definition.steps);
        let event = RunEvent::Escalated {
            step: id.to_owned(),
            to: without_query(&escalation.escalate_to).to_owned(),
            message: why.to_owned(),
        };
        self.events.push(event);
        match method {
            Notification::InAgent => {
                let helper = escalation.escalate_to.clone();
                self.state.waiting.push(Waiting { step: id.to_owned(), helper: helper.clone() });
                return Ok(Move::Enter(helper));
            }
            Notification::Webhook => {
                let body = self.notice(id, why);
                self.outside.notify(&Notice { url: escalation.escalate_to.clone(), body }).await?;
            }
            Notification::Log => {}
        }
        self.come_back(id, escalation, why)
    }

    fn notice(&self, id: &str, why: &str) -> Value {
        json!({
            "event": "escalation",
            "agent": self.definition.name(),
            "step": id,
            "reason": why,
            "iteration": self.context.iteration,
            "call": self.state.calls.get(id),
        })
    }

    /// What comes after a call for help.
    fn come_back(&mut self, id: &str, escalation: &Escalation, why: &str) -> Result<Move, Fault> {
        match escalation.flow(&self.definition.steps) {
            ReturnFlow::Resume => Ok(Move::Enter(id.to_owned())),
            ReturnFlow::Restart => {
                self.context.carry = Default::default();
                self.state.waiting.clear();
                Ok(Move::Enter(self.definition.steps.entry_step.clone()))
            }
            ReturnFlow::Abort => Err(ESCALATED
                .fault(format!(
                    "The step '{id}' called for help ({}), and the agent ends: {why}.",
                    without_query(&escalation.escalate_to)
                ))
                .hint("Do what it needs, then run the agent again.")),
        }
    }

    fn branch(&self, id: &str, branch: &Branch) -> Result<Option<String>, Fault> {
        let from = branch.from.as_deref().unwrap_or(id);
        let answer = self.context.carry.accumulated.get(from);
        let field = |value, name| Value::get::<&str>(value, name);
        let value = answer.and_then(|answer| branch.field.split('.').try_fold(answer, field));
        let name = value.map(crate::variables::text_of);
        let target = name.as_ref().and_then(|name| branch.targets.get(name));
        match (target, &branch.default) {
            (Some(target), _) => Ok(target.clone()),
            (None, Some(default)) => Ok(Some(default.clone())),
            (None, None) => {
                let found = name.map_or_else(|| "is not there".to_owned(), |name| format!("is '{name}'"));
                let known: Vec<&str> = branch.targets.keys().map(String::as_str).collect();
                Err(NO_BRANCH
                    .fault(format!(
                        "The gateway '{id}' cannot branch: '{}' in the answer of '{from}' {found}.",
                        branch.field
                    ))
                    .hint(format!("It leads somewhere for {}; give it a default.", known.join(", "))))
            }
        }
    }

    /// A step is left for another, or for the end.
    fn leave(&mut self, id: &str, result: &StepCheckResult, next: Option<String>) -> Move {
        self.state.path.push(id.to_owned());
        self.tell(id, result, next.clone());
        match next {
            Some(next) => Move::Enter(next),
            None => {
                self.state.at = At::Through;
                Move::Settled
            }
        }
    }

    fn tell(&mut self, id: &str, result: &StepCheckResult, next: Option<String>) {
        self.events.push(RunEvent::StepEnded {
            step: id.to_owned(),
            passed: result.passed,
            message: result.reason.clone(),
            next,
        });
    }
}

/// An address without what may be a secret in it.
fn without_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or(address)
}
