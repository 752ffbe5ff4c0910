//! The plan of `agent run`. The next session is that of the current step; its output decides which step follows and whether
//! the agent is done. The state is saved after every session, so that a process that is killed loses nothing.

use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::agent::Instruction;
use autonoe_core::event::RunEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::instruction::Phase;
use autonoe_core::outcome::{AgentReport, PlanReport, RunOutcome, SessionEnd};
use autonoe_core::plan::{Iteration, NextAction, NextSession, Plan, PlanMemory, PlanVerdict, RunState};
use serde_json::Value;

use crate::check::{StepCheckResult, assessment_schema, by_assessment};
use crate::completion::{CompletionCondition, CompletionContext, condition_states};
use crate::context::RuntimeContext;
use crate::definition::{AgentDefinition, Continuity, ProjectAccess, Step, StepCheck};
use crate::faults::{CONFIGURATION_VALIDATION, NOT_NOTIFIED, STEP_CUT_SHORT};
use crate::flow::{Move, StepPosition, after_session};
use crate::host_effects::HostEffects;
use crate::prompt::PromptResolver;
use crate::prompt_variables::PromptVariables;
use crate::state::{AgentEnd, PlanState};
use crate::template;

/// Called for every event, after it is on record.
pub type EventCallback = Box<dyn Fn(&RunEvent) + Send + Sync>;

pub struct StepPlan {
    pub(crate) definition: Arc<AgentDefinition>,
    pub(crate) prompts: PromptResolver,
    pub(crate) prompt_variables: PromptVariables,
    pub(crate) memory: Arc<dyn PlanMemory>,
    pub(crate) host: Arc<dyn HostEffects>,
    pub(crate) on_event: EventCallback,
    pub(crate) state: PlanState,
    /// A session that an earlier process finished but did not judge.
    pub(crate) unjudged: Option<Iteration>,
    /// Whether the next session must start a new conversation, because the last one failed.
    pub(crate) conversation_lost: bool,
}

impl StepPlan {
    pub fn context(&self) -> &RuntimeContext {
        &self.state.context
    }

    /// How the agent ended; `None` while it runs.
    pub fn end(&self) -> Option<&AgentEnd> {
        self.state.end.as_ref()
    }

    /// The structured answer of the last iteration, if it gave one.
    pub fn answer(&self) -> Option<&Value> {
        self.state.last_output.answer.as_ref()
    }

    fn step(&self, id: &str) -> Result<&Step, Fault> {
        self.definition
            .step(id)
            .ok_or_else(|| CONFIGURATION_VALIDATION.fault(format!("There is no step '{id}'.")))
    }

    /// Saves a new state, then publishes the events that led to it.
    async fn save(&mut self, state: PlanState, events: Vec<RunEvent>) -> Result<(), Fault> {
        let saved = serde_json::to_value(&state).map_err(|error| {
            Fault::permanent(
                FaultLayer::Store,
                "plan_state",
                format!("The state of the agent cannot be saved: {error}."),
            )
        })?;
        self.memory.save(&saved).await?;
        self.state = state;
        for event in &events {
            self.memory.record_event(event).await?;
            (self.on_event)(event);
        }
        Ok(())
    }

    async fn step_session(&mut self, id: &str) -> Result<NextSession, Fault> {
        let step = self.step(id)?.clone();
        let text = match &self.state.filled_prompt {
            // A retry gets the same prompt.
            Some((step, text)) if step == id && self.is_retry(id) => text.clone(),
            _ => self.fill_prompt(id, &step).await?,
        };
        let history = match step.session {
            Continuity::Resume if !self.conversation_lost => self.memory.conversation().await?,
            Continuity::Resume | Continuity::Fresh | Continuity::History => None,
        };
        let mut instruction = String::new();
        if history.is_none() {
            let system = self.prompts.resolve_system(&self.prompt_variables.variables(
                &self.definition,
                &self.state,
                id,
            )?)?;
            instruction = format!("{}\n\n", system.text);
        }
        if step.session == Continuity::History && self.state.context.iteration > 0 {
            instruction.push_str(&format!("## Previous iterations\n\n{}\n\n", self.state.context.history()));
        }
        instruction.push_str(&text);
        let instruction = Instruction::of_step(self.phase(&step), id, instruction);
        Ok(NextSession { history, answer_schema: step.output, ..instruction.into() })
    }

    /// Fills in the prompt of a step, and saves it for retries.
    async fn fill_prompt(&mut self, id: &str, step: &Step) -> Result<String, Fault> {
        let Some(prompt) = &step.prompt else {
            return Err(CONFIGURATION_VALIDATION.fault(format!("The step '{id}' has no prompt.")));
        };
        let variables = self.prompt_variables.variables(&self.definition, &self.state, id)?;
        let resolved = self.prompts.resolve(prompt, &variables)?;
        let warnings = resolved.missing.iter().map(|name| RunEvent::Warning {
            message: format!(
                "The prompt {} uses '{name}', which has no value; the placeholder is left as it is.",
                resolved.path
            ),
        });
        let events = warnings.collect();
        let filled_prompt = Some((id.to_owned(), resolved.text.clone()));
        self.save(PlanState { filled_prompt, ..self.state.clone() }, events).await?;
        Ok(resolved.text)
    }

    /// The session that checks a step.
    fn check_session(&self, id: &str) -> Result<NextSession, Fault> {
        let Some(StepCheck::Prompt { prompt, .. }) = &self.step(id)?.check else {
            return Err(CONFIGURATION_VALIDATION.fault(format!("The step '{id}' has no prompt to check it.")));
        };
        let variables = self.prompt_variables.variables(&self.definition, &self.state, id)?;
        let text = format!(
            "{}\n\n## Response of the step '{id}'\n\n{}",
            self.prompts.resolve(prompt, &variables)?.text,
            self.state.context.carry.previous_response.as_deref().unwrap_or("(no response)"),
        );
        let instruction = Instruction::of_step(Phase::Inspection, id, text);
        Ok(NextSession { answer_schema: Some(assessment_schema()), ..instruction.into() })
    }

    /// Whether the next session must return a structured answer.
    fn wants_answer(&self) -> bool {
        match &self.state.flow.position {
            StepPosition::Run(id) => self.definition.step(id).is_some_and(|step| step.output.is_some()),
            StepPosition::Check(_) => true,
            StepPosition::Finished => false,
        }
    }

    fn is_retry(&self, id: &str) -> bool {
        self.state.flow.retries.get(id).is_some_and(|count| *count > 0)
    }

    fn phase(&self, step: &Step) -> Phase {
        match step.access.unwrap_or(self.definition.agent.access) {
            ProjectAccess::Write => Phase::Step,
            ProjectAccess::Read => Phase::Inspection,
        }
    }

    /// Updates the state after a finished session.
    async fn apply(
        &self,
        finished: &Iteration,
        state: &mut PlanState,
        events: &mut Vec<RunEvent>,
    ) -> Result<(), Fault> {
        state.judged = finished.number;
        let next = match state.flow.position.clone() {
            StepPosition::Run(id) => {
                state.context.finish(&id, finished.number, &finished.output);
                state.last_output = finished.output.clone();
                after_session(&self.definition, &id)
            }
            StepPosition::Check(id) => {
                state.context.session = Some(finished.number);
                let result = by_assessment(&finished.output).unwrap_or_else(|| StepCheckResult {
                    passed: false,
                    reason: "the checking session did not report whether it passed".to_owned(),
                });
                Move::Decided(id, result)
            }
            StepPosition::Finished => Move::Settled,
        };
        state.advance(next, &self.definition, self.host.as_ref(), events).await?;
        // An iteration includes the check of its step.
        match state.flow.position {
            StepPosition::Check(_) => Ok(()),
            StepPosition::Run(_) | StepPosition::Finished => self.complete(state, events).await,
        }
    }

    /// Checks the completion condition. If all steps are finished and it does not hold, they start again.
    async fn complete(&self, state: &mut PlanState, events: &mut Vec<RunEvent>) -> Result<(), Fault> {
        if let Some(step) = &state.flow.completed_by {
            state.end = Some(AgentEnd::Done(format!("The step '{step}' completed the agent.")));
            return Ok(());
        }
        let fill = |text: &str| match template::parse(text) {
            Ok(template) => template.fill(self.prompt_variables.given()).text,
            Err(_) => text.to_owned(),
        };
        let context = CompletionContext {
            run: &state.context,
            output: &state.last_output,
            steps_finished: state.flow.position == StepPosition::Finished,
            fill: &fill,
        };
        let mut condition = CompletionCondition::new(&self.definition.agent.completion, &mut state.condition);
        let result = condition.check(&context, self.host.as_ref()).await?;
        events.extend(result.warning.map(|message| RunEvent::Warning { message }));
        if result.complete {
            state.end = Some(AgentEnd::Done(result.reason));
        } else if state.context.iteration >= self.definition.agent.max_iterations {
            state.end = Some(AgentEnd::UsedUp(self.definition.agent.max_iterations));
        } else if state.flow.position == StepPosition::Finished {
            let entry = Move::Enter(self.definition.steps.entry_step.clone());
            state.advance(entry, &self.definition, self.host.as_ref(), events).await?;
        }
        Ok(())
    }

    fn verdict(&self) -> PlanVerdict {
        match &self.state.end {
            None => PlanVerdict::Progressed,
            Some(AgentEnd::Done(reason)) => {
                PlanVerdict::Done(RunOutcome::ConditionMet { reason: reason.clone() })
            }
            Some(AgentEnd::UsedUp(limit)) => PlanVerdict::Done(RunOutcome::MaxIterations { limit: *limit }),
            Some(AgentEnd::Failed(fault)) => PlanVerdict::Failed(fault.clone()),
        }
    }
}

#[async_trait]
impl Plan for StepPlan {
    async fn next(&mut self, _so_far: &RunState) -> Result<NextAction, Fault> {
        if let Some(unjudged) = self.unjudged.take() {
            self.judge(&unjudged).await?;
        }
        match self.verdict() {
            PlanVerdict::Progressed
            | PlanVerdict::Idle
            | PlanVerdict::Recovering
            | PlanVerdict::Stuck { .. } => {}
            PlanVerdict::Done(outcome) => return Ok(NextAction::Done(outcome)),
            PlanVerdict::Failed(fault) => return Err(fault),
        }
        match self.state.flow.position.clone() {
            StepPosition::Run(id) => Ok(NextAction::Session(self.step_session(&id).await?)),
            StepPosition::Check(id) => Ok(NextAction::Session(self.check_session(&id)?)),
            StepPosition::Finished => Err(CONFIGURATION_VALIDATION.fault("The agent has no current step.")),
        }
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<PlanVerdict, Fault> {
        if finished.number <= self.state.judged {
            return Ok(self.verdict());
        }
        // The resumed conversation may be the cause of a failure, so the next attempt starts a new one. An outage has nothing
        // to do with the conversation.
        self.conversation_lost = match &finished.outcome {
            SessionEnd::ExecutionError { fault } => !fault.is_outage(),
            // It would continue to repeat itself.
            SessionEnd::Stuck { .. } => true,
            _ => false,
        };
        match &finished.outcome {
            SessionEnd::Completed => {}
            SessionEnd::MaxTurns => {
                let step = finished.instruction.step.as_deref().unwrap_or_default();
                let message = format!("The session of the step '{step}' ran out of turns.");
                return Ok(PlanVerdict::Failed(STEP_CUT_SHORT.fault(message)));
            }
            // The loop handles these; the step runs again.
            SessionEnd::ExecutionError { .. }
            | SessionEnd::Stuck { .. }
            | SessionEnd::BudgetExceeded { .. }
            | SessionEnd::DurationExceeded { .. }
            | SessionEnd::QuotaExceeded { .. }
            | SessionEnd::Interrupted => return Ok(PlanVerdict::Idle),
        }
        if finished.output.answer.is_none() && self.wants_answer() {
            let message = "The session of the step returned no structured answer.";
            return Ok(PlanVerdict::Failed(STEP_CUT_SHORT.fault(message)));
        }
        let (mut state, mut events) = (self.state.clone(), Vec::new());
        match self.apply(finished, &mut state, &mut events).await {
            Ok(()) => {}
            // A fault of the steps themselves is final; a failed lookup or notification can be retried.
            Err(fault) if fault.layer == FaultLayer::Loop && fault.code != NOT_NOTIFIED.code => {
                state.end = Some(AgentEnd::Failed(fault));
            }
            Err(fault) => return Err(fault),
        }
        self.save(state, events).await?;
        Ok(self.verdict())
    }

    fn report(&self) -> PlanReport {
        let PlanState { flow, condition, .. } = &self.state;
        let current = match &flow.position {
            StepPosition::Run(id) | StepPosition::Check(id) if self.state.end.is_none() => Some(id.clone()),
            StepPosition::Run(_) | StepPosition::Check(_) | StepPosition::Finished => None,
        };
        let agent = AgentReport {
            name: self.definition.name().to_owned(),
            path: flow.path.clone(),
            visits: flow.visits.clone(),
            conditions: condition_states(&self.definition.agent.completion, condition),
            at: current,
        };
        PlanReport::Steps(Box::new(agent))
    }
}
