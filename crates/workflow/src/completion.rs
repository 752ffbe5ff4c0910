//! Completion: when an agent is done. A condition is checked after each iteration. Only a check changes its state, which can
//! be read at any time.

use std::collections::BTreeMap;
use std::time::Duration;

use autonoe_core::fault::Fault;
use autonoe_core::plan::SessionOutput;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::{RuntimeContext, cut};
use crate::definition::{Completion, CompositeMode, Resource};
use crate::faults::COMPLETION;
use crate::host_effects::{HostCommandOutcome, HostEffects};

/// The state of an issue that an agent waits for by default.
const CLOSED: &str = "CLOSED";
/// The most characters quoted of an output.
const QUOTED: usize = 200;

/// What a condition is checked against: the iteration that just ended.
pub struct CompletionContext<'a> {
    /// The run so far, including that iteration.
    pub run: &'a RuntimeContext,
    pub output: &'a SessionOutput,
    /// Whether all steps are finished.
    pub steps_finished: bool,
    /// Replaces the variables in a text by their values.
    pub fill: &'a (dyn Fn(&str) -> String + Send + Sync),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionResult {
    pub complete: bool,
    /// Never empty if `complete`.
    pub reason: String,
    /// Set if the state could not be determined, which counts as not complete.
    pub warning: Option<String>,
}

/// The result of the last check of a condition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionState {
    complete: bool,
    reason: String,
    checks: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<CompletionState>,
}

/// A condition and its state.
pub struct CompletionCondition<'a> {
    completion: &'a Completion,
    state: &'a mut CompletionState,
}

impl<'a> CompletionCondition<'a> {
    pub fn new(completion: &'a Completion, state: &'a mut CompletionState) -> Self {
        Self { completion, state }
    }

    /// Checks the condition and updates its state.
    pub async fn check(
        &mut self,
        context: &CompletionContext<'_>,
        host: &dyn HostEffects,
    ) -> Result<CompletionResult, Fault> {
        self.state.checks += 1;
        let result = if let Completion::Composite { mode, conditions } = self.completion {
            check_parts(*mode, conditions, &mut self.state.parts, context, host).await?
        } else {
            check_simple(self.completion, self.state.checks, context, host).await?
        };
        self.state.complete = result.complete;
        self.state.reason.clone_from(&result.reason);
        Ok(result)
    }

    pub fn is_complete(&self) -> bool {
        self.state.complete
    }

    pub fn reason(&self) -> &str {
        &self.state.reason
    }

    /// The state of each part of a composite by its number and type; of any other condition by its type alone.
    pub fn condition_states(&self) -> BTreeMap<String, bool> {
        condition_states(self.completion, self.state)
    }
}

pub(crate) fn condition_states(completion: &Completion, state: &CompletionState) -> BTreeMap<String, bool> {
    if let Completion::Composite { conditions, .. } = completion {
        let holds = |index: usize| state.parts.get(index).is_some_and(|part| part.complete);
        let named = |(index, part)| (format!("{} {}", index + 1, kind(part)), holds(index));
        conditions.iter().enumerate().map(named).collect()
    } else {
        [(kind(completion).to_owned(), state.complete)].into()
    }
}

/// Checks the parts of a composite in order, until the result is known.
async fn check_parts(
    mode: CompositeMode,
    conditions: &[Completion],
    states: &mut Vec<CompletionState>,
    context: &CompletionContext<'_>,
    host: &dyn HostEffects,
) -> Result<CompletionResult, Fault> {
    states.resize_with(conditions.len(), CompletionState::default);
    let mut reasons = Vec::new();
    let mut warning = None;
    for (part, state) in conditions.iter().zip(states.iter_mut()) {
        // Validation refuses a composite within another one.
        state.checks += 1;
        let result = check_simple(part, state.checks, context, host).await?;
        state.complete = result.complete;
        state.reason.clone_from(&result.reason);
        warning = warning.or(result.warning);
        match (mode, result.complete) {
            (CompositeMode::Any, true) => {
                return Ok(CompletionResult { complete: true, reason: result.reason, warning });
            }
            (CompositeMode::All, false) => {
                return Ok(CompletionResult { complete: false, reason: result.reason, warning });
            }
            (CompositeMode::Any, false) | (CompositeMode::All, true) => reasons.push(result.reason),
        }
    }
    let complete = mode == CompositeMode::All;
    Ok(CompletionResult { complete, reason: reasons.join(" "), warning })
}

/// Checks a condition that is not a composite.
async fn check_simple(
    completion: &Completion,
    checks: u32,
    context: &CompletionContext<'_>,
    host: &dyn HostEffects,
) -> Result<CompletionResult, Fault> {
    let iteration = context.run.iteration;
    let result = |complete: bool, reason: String| Ok(CompletionResult { complete, reason, warning: None });
    match completion {
        Completion::IterationBudget { max_iterations } => result(
            iteration >= *max_iterations,
            format!("{iteration} of {max_iterations} iterations are done."),
        ),
        Completion::CheckBudget { max_checks } => {
            result(checks >= *max_checks, format!("{checks} of {max_checks} checks are done."))
        }
        Completion::KeywordSignal { keywords } => {
            let found = keywords.iter().find(|keyword| context.output.text.contains(keyword.as_str()));
            match found {
                Some(keyword) => {
                    result(true, format!("The agent said '{keyword}' in iteration {iteration}."))
                }
                None => result(false, format!("The agent has not said '{}'.", keywords.join("' or '"))),
            }
        }
        Completion::StructuredSignal { schema, signal_type, required_fields } => {
            let Some(value) = &context.output.answer else {
                return result(false, "The step returned no structured answer.".to_owned());
            };
            let mismatch = mismatch(value, schema.as_ref(), signal_type.as_deref(), required_fields)?;
            match mismatch {
                None => result(true, format!("The answer of iteration {iteration} is the expected signal.")),
                Some(why) => result(false, why),
            }
        }
        Completion::StepMachine => match context.steps_finished {
            true => result(true, format!("All steps are finished after {iteration} iterations.")),
            false => result(false, "The steps are not finished yet.".to_owned()),
        },
        Completion::ExternalState { resource, target_state } => {
            check_resource(resource, target_state.as_deref(), context, host).await
        }
        Completion::Custom { program, time_limit } => {
            let input = json!({
                "iteration": iteration,
                "isThrough": context.steps_finished,
                "response": context.output.text,
                "answer": context.output.answer,
                "context": context.run,
            });
            let outcome = host.program(program, &input, Duration::from_secs(*time_limit)).await;
            read_custom(program, &outcome)
        }
        Completion::Composite { .. } => {
            Err(COMPLETION.fault("A composite condition cannot contain another one."))
        }
    }
}

/// Why an answer is not the expected signal; `None` if it is.
fn mismatch(
    value: &Value,
    schema: Option<&Value>,
    signal_type: Option<&str>,
    required_fields: &BTreeMap<String, Value>,
) -> Result<Option<String>, Fault> {
    if let Some(schema) = schema {
        let validator = jsonschema::validator_for(schema)
            .map_err(|error| COMPLETION.fault(format!("The schema of the signal is invalid: {error}.")))?;
        if let Err(error) = validator.validate(value) {
            return Ok(Some(format!(
                "The answer does not match the schema: {}.",
                cut(&error.to_string(), QUOTED)
            )));
        }
    }
    if let Some(signal) = signal_type {
        let found = value.get("signal").or_else(|| value.get("type"));
        if found.and_then(Value::as_str) != Some(signal) {
            return Ok(Some(format!("The answer is not the signal '{signal}'.")));
        }
    }
    let wrong = required_fields.iter().find(|(field, wanted)| value.get(field.as_str()) != Some(*wanted));
    Ok(wrong.map(|(field, wanted)| format!("The field '{field}' of the answer is not {wanted}.")))
}

async fn check_resource(
    resource: &Resource,
    target: Option<&str>,
    context: &CompletionContext<'_>,
    host: &dyn HostEffects,
) -> Result<CompletionResult, Fault> {
    let result = |complete: bool, reason: String| Ok(CompletionResult { complete, reason, warning: None });
    match resource {
        Resource::Command { command, time_limit } => {
            let outcome = host.command(command, Duration::from_secs(*time_limit)).await;
            let Some(exit) = outcome.exit else {
                return Err(COMPLETION.fault(format!("The command `{command}` failed: {}.", outcome.summary)));
            };
            match target {
                None => result(exit == 0, format!("`{command}` exited with {exit}.")),
                Some(state) => {
                    let printed = outcome.output.trim();
                    result(printed == state, format!("`{command}` printed '{}'.", cut(printed, QUOTED)))
                }
            }
        }
        Resource::File { path } => match (host.file(path).await?, target) {
            (None, _) => result(false, format!("There is no file {path}.")),
            (Some(_), None) => result(true, format!("The file {path} exists.")),
            (Some(text), Some(state)) => {
                let text = text.trim();
                result(text == state, format!("The file {path} contains '{}'.", cut(text, QUOTED)))
            }
        },
        Resource::GithubIssue { issue, repository } => {
            let (issue, repository) = ((context.fill)(issue), (context.fill)(repository));
            let target = target.unwrap_or(CLOSED);
            match host.issue(&issue, &repository).await {
                Ok(state) => result(
                    state.eq_ignore_ascii_case(target),
                    format!("Issue {issue} of {repository} is {state}."),
                ),
                // A failed lookup says nothing about the issue.
                Err(error) => Ok(CompletionResult {
                    complete: false,
                    reason: format!("The state of issue {issue} of {repository} is unknown."),
                    warning: Some(error.to_string()),
                }),
            }
        }
    }
}

#[derive(Deserialize)]
struct CustomAnswer {
    complete: bool,
    #[serde(default)]
    reason: String,
}

fn read_custom(program: &str, outcome: &HostCommandOutcome) -> Result<CompletionResult, Fault> {
    if !outcome.is_success() {
        return Err(COMPLETION.fault(format!("The program {program} failed: {}.", outcome.summary)));
    }
    let custom: CustomAnswer = serde_json::from_str(outcome.output.trim()).map_err(|error| {
        COMPLETION
            .fault(format!("The output of the program {program} is malformed: {error}."))
            .hint(r#"It must print one JSON object such as {"complete": false, "reason": "two are left"}."#)
    })?;
    let reason = match custom.reason.trim() {
        "" if custom.complete => format!("The program {program} reported that the agent is done."),
        "" => format!("The program {program} reported that the agent is not done."),
        reason => cut(reason, QUOTED),
    };
    Ok(CompletionResult { complete: custom.complete, reason, warning: None })
}

/// The `type` of a condition.
pub fn kind(completion: &Completion) -> &'static str {
    match completion {
        Completion::IterationBudget { .. } => "iterationBudget",
        Completion::CheckBudget { .. } => "checkBudget",
        Completion::KeywordSignal { .. } => "keywordSignal",
        Completion::StructuredSignal { .. } => "structuredSignal",
        Completion::ExternalState { .. } => "externalState",
        Completion::StepMachine => "stepMachine",
        Completion::Custom { .. } => "custom",
        Completion::Composite { .. } => "composite",
    }
}

/// A description of a condition, for prompts and for the user.
pub fn criteria(completion: &Completion) -> String {
    match completion {
        Completion::IterationBudget { max_iterations } => format!("{max_iterations} iterations are done"),
        Completion::CheckBudget { max_checks } => format!("the condition was checked {max_checks} times"),
        Completion::KeywordSignal { keywords } => format!("the agent says {}", keywords.join(" or ")),
        Completion::StructuredSignal { signal_type: Some(signal), .. } => {
            format!("a step returns the signal '{signal}'")
        }
        Completion::StructuredSignal { .. } => "a step returns the expected structured answer".to_owned(),
        Completion::ExternalState { resource, target_state } => match (resource, target_state.as_deref()) {
            (Resource::Command { command, .. }, None) => format!("`{command}` succeeds"),
            (Resource::Command { command, .. }, Some(state)) => format!("`{command}` prints '{state}'"),
            (Resource::File { path }, None) => format!("the file {path} exists"),
            (Resource::File { path }, Some(state)) => format!("the file {path} contains '{state}'"),
            (Resource::GithubIssue { issue, repository }, state) => {
                format!("issue {issue} of {repository} is {}", state.unwrap_or(CLOSED))
            }
        },
        Completion::StepMachine => "all steps are finished".to_owned(),
        Completion::Custom { program, .. } => format!("the program {program} reports completion"),
        Completion::Composite { mode, conditions } => {
            let parts: Vec<String> = conditions.iter().map(criteria).collect();
            parts.join(match mode {
                CompositeMode::Any => ", or ",
                CompositeMode::All => ", and ",
            })
        }
    }
}
