//! The flow of an agent from step to step. It knows nothing about sessions: given a step that has ended, it moves on until a
//! session is needed or the steps are finished.

use std::collections::BTreeMap;

use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

use crate::check::{ActionResult, StepCheckResult, by_action, by_keyword};
use crate::context::RuntimeContext;
use crate::definition::{
    AgentDefinition, Branch, Escalation, Notification, OnExhausted, Retry, RetryPolicy, ReturnFlow, Step,
    StepCheck, StepKind,
};
use crate::faults::{CONFIGURATION_VALIDATION, ESCALATED, NO_BRANCH, STEP_LOOP, STEP_RETRY_EXHAUSTED};
use crate::host_effects::{HostEffects, WebhookMessage};

/// The position of an agent in its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StepPosition {
    /// The session of this step is next.
    #[serde(rename = "work")]
    Run(String),
    /// The session that checks this step is next.
    #[serde(rename = "look")]
    Check(String),
    /// All steps are finished.
    #[serde(rename = "through")]
    Finished,
}

/// The position of an agent and how it got there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowState {
    #[serde(rename = "at")]
    pub position: StepPosition,
    /// How often each step was entered, not counting retries.
    pub visits: BTreeMap<String, u32>,
    /// How often each step was retried since it was last entered.
    pub retries: BTreeMap<String, u32>,
    /// The step that was entered last, and how many times in a row.
    pub streak: (String, u32),
    /// How often each step has escalated.
    #[serde(rename = "calls")]
    pub escalations: BTreeMap<String, u32>,
    /// Steps that wait for another step they escalated to; the last one is served first.
    pub waiting: Vec<PendingEscalation>,
    /// The steps that have ended, in order.
    pub path: Vec<String>,
    /// The number of step checks so far.
    pub checks: u32,
    /// The step whose transition completed the agent.
    pub completed_by: Option<String>,
}

/// A step that waits for the step it escalated to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingEscalation {
    pub step: String,
    /// The step it escalated to.
    pub helper: String,
}

impl Default for FlowState {
    fn default() -> Self {
        Self {
            position: StepPosition::Finished,
            visits: BTreeMap::new(),
            retries: BTreeMap::new(),
            streak: (String::new(), 0),
            escalations: BTreeMap::new(),
            waiting: Vec::new(),
            path: Vec::new(),
            checks: 0,
            completed_by: None,
        }
    }
}

/// The next move in the flow.
#[derive(Debug)]
pub(crate) enum Move {
    Enter(String),
    /// The session and sub-steps of a step are done; its actions and its check are not.
    Conclude(String),
    Decided(String, StepCheckResult),
    /// A step has failed, with no retries left.
    Failed(String, String),
    /// A session is next, or the steps are finished.
    Settled,
}

/// The move after the session of a step.
pub(crate) fn after_session(definition: &AgentDefinition, id: &str) -> Move {
    match definition.step(id).and_then(|step| step.sub_steps.first()) {
        Some(sub) => Move::Enter(sub.clone()),
        None => Move::Conclude(id.to_owned()),
    }
}

/// Moves an agent from step to step.
pub(crate) struct StepFlow<'a> {
    pub definition: &'a AgentDefinition,
    /// The arguments that the run was started with, which commands can come from.
    pub arguments: &'a BTreeMap<String, Value>,
    pub state: &'a mut FlowState,
    pub context: &'a mut RuntimeContext,
    pub host: &'a dyn HostEffects,
    /// Events to publish once the new state is on record.
    pub events: &'a mut Vec<RunEvent>,
}

impl StepFlow<'_> {
    /// Moves until a session is next or the steps are finished.
    pub async fn advance(&mut self, first: Move) -> Result<(), Fault> {
        let mut next = first;
        let mut entered = 0;
        loop {
            next = match next {
                Move::Enter(id) => {
                    entered += 1;
                    // Without a session nothing changes: a step that is entered twice would be entered forever.
                    if entered > self.definition.steps.steps.len() + 1 {
                        return Err(STEP_LOOP
                            .fault(format!("The steps around '{id}' lead to each other without any session."))
                            .hint("Give one of them a prompt or an exit."));
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
        // Validation made sure that every referenced step exists.
        self.definition
            .step(id)
            .ok_or_else(|| CONFIGURATION_VALIDATION.fault(format!("There is no step '{id}'.")))
    }

    fn enter(&mut self, id: &str) -> Result<Move, Fault> {
        let step = self.step(id)?;
        let (is_sub_step, has_prompt, sub) =
            (step.kind == StepKind::SubStep, step.prompt.is_some(), step.sub_steps.first().cloned());
        if !is_sub_step {
            let (last, count) = std::mem::take(&mut self.state.streak);
            let count = if last == id { count + 1 } else { 1 };
            self.state.streak = (id.to_owned(), count);
            let limit = self.definition.agent.step_loop_limit;
            if count > limit {
                return Err(STEP_LOOP
                    .fault(format!("The step '{id}' would run more than {limit} times in a row."))
                    .hint(
                        "Give it an exit, or raise stepLoopLimit in agent.json if it may run that often.",
                    ));
            }
        }
        *self.state.visits.entry(id.to_owned()).or_default() += 1;
        self.state.retries.remove(id);
        self.state.position = StepPosition::Run(id.to_owned());
        Ok(match (has_prompt, sub) {
            (true, _) => Move::Settled,
            (false, Some(sub)) => Move::Enter(sub),
            (false, None) => Move::Conclude(id.to_owned()),
        })
    }

    /// Runs the actions of a step, and checks it unless the check needs a session.
    async fn conclude(&mut self, id: &str) -> Result<Move, Fault> {
        let step = self.step(id)?.clone();
        let mut results = Vec::new();
        for action in &step.actions {
            let command = action.command.text(self.arguments);
            let outcome = self.host.command(command, Duration::from_secs(action.time_limit)).await;
            results.push(ActionResult { kind: action.kind.clone(), outcome });
        }
        let Some(check) = &step.check else {
            let result = StepCheckResult { passed: true, reason: "it is finished".to_owned() };
            return Ok(Move::Decided(id.to_owned(), result));
        };
        self.state.checks += 1;
        let result = match check {
            StepCheck::Prompt { .. } => {
                self.state.position = StepPosition::Check(id.to_owned());
                return Ok(Move::Settled);
            }
            StepCheck::Action { action, .. } => by_action(action, &results),
            StepCheck::Keyword { keywords, .. } => {
                by_keyword(keywords, self.context.carry.previous_response.as_deref().unwrap_or_default())
            }
        };
        Ok(Move::Decided(id.to_owned(), result))
    }

    fn decided(&mut self, id: &str, result: &StepCheckResult) -> Result<Move, Fault> {
        let step = self.step(id)?.clone();
        self.context.record_check(id, result.passed, &result.reason);
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
        // A failed check without `onFail` is retried.
        let policy = match transition.and_then(|transition| transition.retry.as_ref()) {
            None => Some(RetryPolicy::default()),
            Some(retry) => Retry::policy(retry),
        };
        Ok(self.retry(id, &step, result, policy))
    }

    fn passed(&mut self, id: &str, step: &Step, result: &StepCheckResult) -> Result<Move, Fault> {
        if let Some(waiting) = self.state.waiting.pop_if(|waiting| waiting.helper == id) {
            self.state.path.push(id.to_owned());
            self.step_ended(id, result, Some(waiting.step.clone()));
            let Some(escalation) = self.step(&waiting.step)?.escalation.clone() else {
                return Ok(Move::Enter(waiting.step));
            };
            return self.return_from_escalation(&waiting.step, &escalation, &result.reason);
        }
        if let Some(branch) = &step.branch {
            let target = self.branch(id, branch)?;
            return Ok(self.leave(id, result, target));
        }
        if step.kind == StepKind::SubStep {
            return Ok(self.next_in_parent(id, result));
        }
        Ok(self.leave(id, result, step.next.clone()))
    }

    /// Moves to the next sub-step of the same parent, or concludes the parent.
    fn next_in_parent(&mut self, id: &str, result: &StepCheckResult) -> Move {
        let Some(parent) = self.definition.parent_of(id).map(str::to_owned) else {
            return self.leave(id, result, None);
        };
        let siblings =
            self.definition.step(&parent).map(|step| step.sub_steps.as_slice()).unwrap_or_default();
        let index = siblings.iter().position(|sub| sub == id).unwrap_or_default();
        match siblings.get(index + 1).cloned() {
            Some(next) => self.leave(id, result, Some(next)),
            None => {
                self.state.path.push(id.to_owned());
                self.step_ended(id, result, Some(parent.clone()));
                Move::Conclude(parent)
            }
        }
    }

    fn retry(
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
            self.state.position = StepPosition::Run(id.to_owned());
            let reason = format!("{} (retry {} of {})", result.reason, count + 1, policy.max_retries);
            self.step_ended(id, &StepCheckResult { passed: false, reason }, Some(id.to_owned()));
            return match (step.prompt.is_some(), step.sub_steps.first()) {
                (true, _) => Move::Settled,
                (false, Some(sub)) => Move::Enter(sub.clone()),
                // A retry would give the same result.
                (false, None) => Move::Failed(id.to_owned(), result.reason.clone()),
            };
        }
        match (policy.on_exhausted, policy.fallback_step) {
            (OnExhausted::Fallback, Some(fallback)) => self.leave(id, result, Some(fallback)),
            (OnExhausted::Skip, _) if step.kind == StepKind::SubStep => self.next_in_parent(id, result),
            (OnExhausted::Skip, _) => self.leave(id, result, step.next.clone()),
            (OnExhausted::Error | OnExhausted::Fallback, _) => {
                let why = format!("{}, even after {count} retries", result.reason);
                Move::Failed(id.to_owned(), why)
            }
        }
    }

    /// A step that has failed escalates, or fails its parent, or ends the agent.
    async fn failed(&mut self, id: &str, why: &str) -> Result<Move, Fault> {
        let step = self.step(id)?.clone();
        self.step_ended(id, &StepCheckResult { passed: false, reason: why.to_owned() }, None);
        let count = self.state.escalations.get(id).copied().unwrap_or_default();
        if let Some(escalation) = step.escalation.filter(|escalation| count < escalation.max_times) {
            self.state.escalations.insert(id.to_owned(), count + 1);
            return self.escalate(id, &escalation, why).await;
        }
        if let Some(parent) = self.definition.parent_of(id) {
            return Ok(Move::Failed(parent.to_owned(), format!("its sub-step '{id}' failed: {why}")));
        }
        Err(STEP_RETRY_EXHAUSTED.fault(format!("The step '{id}' failed: {why}.")).hint(
            "Read what it did with `autonoe sessions list`, fix its prompt or its check, and run again.",
        ))
    }

    async fn escalate(&mut self, id: &str, escalation: &Escalation, why: &str) -> Result<Move, Fault> {
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
                self.state.waiting.push(PendingEscalation { step: id.to_owned(), helper: helper.clone() });
                return Ok(Move::Enter(helper));
            }
            Notification::Webhook => {
                let body = self.webhook_body(id, why);
                self.host.notify(&WebhookMessage { url: escalation.escalate_to.clone(), body }).await?;
            }
            Notification::Log => {}
        }
        self.return_from_escalation(id, escalation, why)
    }

    fn webhook_body(&self, id: &str, why: &str) -> Value {
        json!({
            "event": "escalation",
            "agent": self.definition.name(),
            "step": id,
            "reason": why,
            "iteration": self.context.iteration,
            "call": self.state.escalations.get(id),
        })
    }

    /// The move after an escalation.
    fn return_from_escalation(
        &mut self,
        id: &str,
        escalation: &Escalation,
        why: &str,
    ) -> Result<Move, Fault> {
        match escalation.flow(&self.definition.steps) {
            ReturnFlow::Resume => Ok(Move::Enter(id.to_owned())),
            ReturnFlow::Restart => {
                self.context.carry = Default::default();
                self.state.waiting.clear();
                Ok(Move::Enter(self.definition.steps.entry_step.clone()))
            }
            ReturnFlow::Abort => Err(ESCALATED
                .fault(format!(
                    "The step '{id}' escalated to {}, and the agent ends: {why}.",
                    without_query(&escalation.escalate_to)
                ))
                .hint("Resolve the problem, then run the agent again.")),
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
                let found = name.map_or_else(|| "is missing".to_owned(), |name| format!("is '{name}'"));
                let known: Vec<&str> = branch.targets.keys().map(String::as_str).collect();
                Err(NO_BRANCH
                    .fault(format!(
                        "The gateway '{id}' cannot branch: '{}' in the answer of '{from}' {found}.",
                        branch.field
                    ))
                    .hint(format!(
                        "It has targets for {}; add one for this value, or a default.",
                        known.join(", ")
                    )))
            }
        }
    }

    /// Ends a step and enters the next one; `None` finishes the steps.
    fn leave(&mut self, id: &str, result: &StepCheckResult, next: Option<String>) -> Move {
        self.state.path.push(id.to_owned());
        self.step_ended(id, result, next.clone());
        match next {
            Some(next) => Move::Enter(next),
            None => {
                self.state.position = StepPosition::Finished;
                Move::Settled
            }
        }
    }

    fn step_ended(&mut self, id: &str, result: &StepCheckResult, next: Option<String>) {
        self.events.push(RunEvent::StepEnded {
            step: id.to_owned(),
            passed: result.passed,
            message: result.reason.clone(),
            next,
        });
    }
}

/// An address without its query and fragment, which may contain secrets.
fn without_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or(address)
}
