//! StepPlan: the plan of `agent run`. The next session is that of the current step; what it said decides where that leads and
//! whether the agent is done. What it remembers is kept after every session, so that a process that dies loses nothing.

use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::agent::Instruction;
use autonoe_core::event::RunEvent;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::instruction::Phase;
use autonoe_core::outcome::{AgentReport, RunOutcome, SessionEnd};
use autonoe_core::plan::{Assignment, Iteration, Next, Plan, PlanMemory, RunState, Standing, Verdict};
use serde_json::Value;

use crate::check::{StepCheckResult, by_opinion, opinion_schema};
use crate::completion::{CompletionContext, Condition, condition_states};
use crate::context::Context;
use crate::definition::{Access, AgentDefinition, Check, Continuity, Step};
use crate::faults::{CONFIGURATION_VALIDATION, NOT_NOTIFIED, STEP_CUT_SHORT};
use crate::flow::{At, Move, after_work};
use crate::host_effects::HostEffects;
use crate::prompt::PromptResolver;
use crate::prompt_variables::PromptVariables;
use crate::state::{Over, PlanState};
use crate::template;

/// Is told what happened, once it is on record.
pub type Tell = Box<dyn Fn(&RunEvent) + Send + Sync>;

/// The plan of `agent run`.
pub struct StepPlan {
    pub(crate) definition: Arc<AgentDefinition>,
    pub(crate) prompts: PromptResolver,
    pub(crate) supply: PromptVariables,
    pub(crate) memory: Arc<dyn PlanMemory>,
    pub(crate) outside: Arc<dyn HostEffects>,
    pub(crate) tell: Tell,
    pub(crate) state: PlanState,
    /// A session that an earlier process held and did not come to judge.
    pub(crate) unjudged: Option<Iteration>,
    /// Whether the last conversation could not be resumed.
    pub(crate) is_lost: bool,
}

impl StepPlan {
    /// What it knows of its run.
    pub fn context(&self) -> &Context {
        &self.state.context
    }

    /// How it ended, if it has.
    pub fn over(&self) -> Option<&Over> {
        self.state.over.as_ref()
    }

    /// The structured answer of the last iteration, if that gave one.
    pub fn answer(&self) -> Option<&Value> {
        self.state.said.answer.as_ref()
    }

    fn step(&self, id: &str) -> Result<&Step, Fault> {
        self.definition
            .step(id)
            .ok_or_else(|| CONFIGURATION_VALIDATION.fault(format!("There is no step '{id}'.")))
    }

    /// Keeps a new state, then tells what led to it.
    async fn turn_to(&mut self, state: PlanState, events: Vec<RunEvent>) -> Result<(), Fault> {
        let kept = serde_json::to_value(&state).map_err(|error| {
            Fault::lasting(
                Layer::Store,
                "plan_state",
                format!("The state of the agent cannot be kept: {error}."),
            )
        })?;
        self.memory.keep(&kept).await?;
        self.state = state;
        for event in &events {
            self.memory.note(event).await?;
            (self.tell)(event);
        }
        Ok(())
    }

    /// The session of a step.
    async fn work(&mut self, id: &str) -> Result<Assignment, Fault> {
        let step = self.step(id)?.clone();
        let text = match &self.state.told {
            // A retry is told the same.
            Some((told, text)) if told == id && self.is_retry(id) => text.clone(),
            _ => self.tell_step(id, &step).await?,
        };
        let history = match step.session {
            Continuity::Resume if !self.is_lost => self.memory.conversation().await?,
            Continuity::Resume | Continuity::Fresh | Continuity::History => None,
        };
        let mut words = String::new();
        if history.is_none() {
            let system =
                self.prompts.resolve_system(&self.supply.variables(&self.definition, &self.state, id)?)?;
            words = format!("{}\n\n", system.text);
        }
        if step.session == Continuity::History && self.state.context.iteration > 0 {
            words.push_str(&format!("## What was done before\n\n{}\n\n", self.state.context.history()));
        }
        words.push_str(&text);
        let instruction = Instruction::of_step(self.phase(&step), id, words);
        Ok(Assignment { instruction, history, answer: step.output })
    }

    /// Fills in the prompt of a step, and keeps it.
    async fn tell_step(&mut self, id: &str, step: &Step) -> Result<String, Fault> {
        let Some(prompt) = &step.prompt else {
            return Err(CONFIGURATION_VALIDATION.fault(format!("The step '{id}' has no prompt.")));
        };
        let variables = self.supply.variables(&self.definition, &self.state, id)?;
        let resolved = self.prompts.resolve(prompt, &variables)?;
        let warnings = resolved.missing.iter().map(|name| RunEvent::Trouble {
            message: format!(
                "The prompt {} uses '{name}', which has no value; it stays as it is.",
                resolved.path
            ),
        });
        let events = warnings.collect();
        let told = Some((id.to_owned(), resolved.text.clone()));
        self.turn_to(PlanState { told, ..self.state.clone() }, events).await?;
        Ok(resolved.text)
    }

    /// The session that looks at a step.
    fn look(&self, id: &str) -> Result<Assignment, Fault> {
        let Some(Check::Prompt { prompt, .. }) = &self.step(id)?.check else {
            return Err(CONFIGURATION_VALIDATION.fault(format!("The step '{id}' has no prompt to check it.")));
        };
        let variables = self.supply.variables(&self.definition, &self.state, id)?;
        let text = format!(
            "{}\n\n## What was answered in the step '{id}'\n\n{}",
            self.prompts.resolve(prompt, &variables)?.text,
            self.state.context.carry.previous_response.as_deref().unwrap_or("(nothing)"),
        );
        let instruction = Instruction::of_step(Phase::Inspection, id, text);
        Ok(Assignment { instruction, history: None, answer: Some(opinion_schema()) })
    }

    /// Whether the session that comes next must answer in a form.
    fn wants_answer(&self) -> bool {
        match &self.state.flow.at {
            At::Work(id) => self.definition.step(id).is_some_and(|step| step.output.is_some()),
            At::Look(_) => true,
            At::Through => false,
        }
    }

    fn is_retry(&self, id: &str) -> bool {
        self.state.flow.retries.get(id).is_some_and(|count| *count > 0)
    }

    fn phase(&self, step: &Step) -> Phase {
        match step.access.unwrap_or(self.definition.agent.access) {
            Access::Write => Phase::Step,
            Access::Read => Phase::Inspection,
        }
    }

    /// Where a finished session leads.
    async fn digest(
        &self,
        finished: &Iteration,
        state: &mut PlanState,
        events: &mut Vec<RunEvent>,
    ) -> Result<(), Fault> {
        state.judged = finished.number;
        let next = match state.flow.at.clone() {
            At::Work(id) => {
                state.context.finish(&id, finished.number, &finished.said);
                state.said = finished.said.clone();
                after_work(&self.definition, &id)
            }
            At::Look(id) => {
                state.context.session = Some(finished.number);
                let result = by_opinion(&finished.said).unwrap_or_else(|| StepCheckResult {
                    passed: false,
                    reason: "who looked at it did not say whether it passed".to_owned(),
                });
                Move::Decided(id, result)
            }
            At::Through => Move::Settled,
        };
        state.settle(next, &self.definition, self.outside.as_ref(), events).await?;
        // While a step is looked at, its iteration is not over.
        match state.flow.at {
            At::Look(_) => Ok(()),
            At::Work(_) | At::Through => self.complete(state, events).await,
        }
    }

    /// Asks whether the agent is done. If its steps are through and it is not, they begin again.
    async fn complete(&self, state: &mut PlanState, events: &mut Vec<RunEvent>) -> Result<(), Fault> {
        if let Some(step) = &state.flow.completed_by {
            state.over = Some(Over::Done(format!("The step '{step}' says that the agent is done.")));
            return Ok(());
        }
        let fill = |text: &str| match template::parse(text) {
            Ok(template) => template.fill(self.supply.given()).text,
            Err(_) => text.to_owned(),
        };
        let over = CompletionContext {
            context: &state.context,
            said: &state.said,
            is_through: state.flow.at == At::Through,
            fill: &fill,
        };
        let mut condition = Condition::new(&self.definition.agent.completion, &mut state.condition);
        let result = condition.check(&over, self.outside.as_ref()).await?;
        events.extend(result.trouble.map(|message| RunEvent::Trouble { message }));
        if result.complete {
            state.over = Some(Over::Done(result.reason));
        } else if state.context.iteration >= self.definition.agent.max_iterations {
            state.over = Some(Over::UsedUp(self.definition.agent.max_iterations));
        } else if state.flow.at == At::Through {
            let entry = Move::Enter(self.definition.steps.entry_step.clone());
            state.settle(entry, &self.definition, self.outside.as_ref(), events).await?;
        }
        Ok(())
    }

    fn verdict(&self) -> Verdict {
        match &self.state.over {
            None => Verdict::Moved,
            Some(Over::Done(reason)) => Verdict::Done(RunOutcome::ConditionMet { reason: reason.clone() }),
            Some(Over::UsedUp(limit)) => Verdict::Done(RunOutcome::MaxIterations { limit: *limit }),
            Some(Over::Failed(fault)) => Verdict::Failed(fault.clone()),
        }
    }
}

#[async_trait]
impl Plan for StepPlan {
    async fn next(&mut self, _so_far: &RunState) -> Result<Next, Fault> {
        if let Some(unjudged) = self.unjudged.take() {
            self.judge(&unjudged).await?;
        }
        match self.verdict() {
            Verdict::Moved | Verdict::Idle => {}
            Verdict::Done(outcome) => return Ok(Next::Done(outcome)),
            Verdict::Failed(fault) => return Err(fault),
        }
        match self.state.flow.at.clone() {
            At::Work(id) => Ok(Next::Session(self.work(&id).await?)),
            At::Look(id) => Ok(Next::Session(self.look(&id)?)),
            At::Through => Err(CONFIGURATION_VALIDATION.fault("The agent has no step to begin with.")),
        }
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<Verdict, Fault> {
        if finished.number <= self.state.judged {
            return Ok(self.verdict());
        }
        // Whatever went wrong, it may be the resumed conversation: the next try begins a new one. A service that is away has
        // nothing to do with the conversation.
        self.is_lost = match &finished.outcome {
            SessionEnd::ExecutionError { fault } => !fault.is_outage(),
            _ => false,
        };
        match &finished.outcome {
            SessionEnd::Completed => {}
            SessionEnd::MaxTurns => {
                let step = finished.instruction.step.as_deref().unwrap_or_default();
                let message = format!("The session of the step '{step}' used up its turns.");
                return Ok(Verdict::Failed(STEP_CUT_SHORT.fault(message)));
            }
            // The loop knows what to do about them; the step is held once more.
            SessionEnd::ExecutionError { .. }
            | SessionEnd::BudgetExceeded { .. }
            | SessionEnd::DurationExceeded { .. }
            | SessionEnd::QuotaExceeded { .. }
            | SessionEnd::Interrupted => return Ok(Verdict::Idle),
        }
        if finished.said.answer.is_none() && self.wants_answer() {
            let message = "The session of the step gave no answer in the form that it was asked for.";
            return Ok(Verdict::Failed(STEP_CUT_SHORT.fault(message)));
        }
        let (mut state, mut events) = (self.state.clone(), Vec::new());
        match self.digest(finished, &mut state, &mut events).await {
            Ok(()) => {}
            // What the steps themselves led to is the end; what could not be asked or told can be tried again.
            Err(fault) if fault.layer == Layer::Loop && fault.code != NOT_NOTIFIED.code => {
                state.over = Some(Over::Failed(fault));
            }
            Err(fault) => return Err(fault),
        }
        self.turn_to(state, events).await?;
        Ok(self.verdict())
    }

    fn standing(&self) -> Standing {
        let PlanState { flow, condition, .. } = &self.state;
        let at = match &flow.at {
            At::Work(id) | At::Look(id) if self.state.over.is_none() => Some(id.clone()),
            At::Work(_) | At::Look(_) | At::Through => None,
        };
        let agent = AgentReport {
            name: self.definition.name().to_owned(),
            path: flow.path.clone(),
            visits: flow.visits.clone(),
            conditions: condition_states(&self.definition.agent.completion, condition),
            at,
        };
        Standing { agent: Some(Box::new(agent)), ..Standing::default() }
    }
}
