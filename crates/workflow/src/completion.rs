//! Completion: when an agent is done. A condition is asked about the iteration that is just over; asking changes its state,
//! which can be looked at afterwards as often as one likes.

use std::collections::BTreeMap;
use std::time::Duration;

use autonoe_core::fault::Fault;
use autonoe_core::plan::Said;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::{Context, cut};
use crate::definition::{Completion, Mode, Resource};
use crate::faults::COMPLETION;
use crate::host_effects::{CommandEnd, HostEffects};

/// The state of an issue that is done.
const CLOSED: &str = "CLOSED";
/// How much of an output is quoted, in characters.
const QUOTED: usize = 200;

/// What a condition is asked about: the iteration that is just over.
pub struct CompletionContext<'a> {
    /// The run so far, that iteration counted in.
    pub context: &'a Context,
    /// What was said in it.
    pub said: &'a Said,
    /// Whether the steps are through.
    pub is_through: bool,
    /// Puts the values of variables into a text.
    pub fill: &'a (dyn Fn(&str) -> String + Send + Sync),
}

/// What a condition answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionResult {
    /// Whether it holds.
    pub complete: bool,
    /// Why; never empty if it does.
    pub reason: String,
    /// What could not be found out, which is not an answer.
    pub trouble: Option<String>,
}

/// How a condition stands since it was asked last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionState {
    complete: bool,
    reason: String,
    checks: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<ConditionState>,
}

/// A condition and how it stands.
pub struct Condition<'a> {
    what: &'a Completion,
    state: &'a mut ConditionState,
}

impl<'a> Condition<'a> {
    /// A condition that stands as it was left.
    pub fn new(what: &'a Completion, state: &'a mut ConditionState) -> Self {
        Self { what, state }
    }

    /// Asks it. Only this changes how it stands.
    pub async fn check(
        &mut self,
        over: &CompletionContext<'_>,
        outside: &dyn HostEffects,
    ) -> Result<CompletionResult, Fault> {
        self.state.checks += 1;
        let result = if let Completion::Composite { mode, conditions } = self.what {
            check_parts(*mode, conditions, &mut self.state.parts, over, outside).await?
        } else {
            ask(self.what, self.state.checks, over, outside).await?
        };
        self.state.complete = result.complete;
        self.state.reason.clone_from(&result.reason);
        Ok(result)
    }

    /// Whether it held when it was asked last.
    pub fn is_complete(&self) -> bool {
        self.state.complete
    }

    /// Why it held when it was asked last.
    pub fn reason(&self) -> &str {
        &self.state.reason
    }

    /// How each of its conditions stands, by what it is called and its place; of one that is not made of others, it alone.
    pub fn condition_states(&self) -> BTreeMap<String, bool> {
        condition_states(self.what, self.state)
    }
}

/// How each part of a condition stands.
pub(crate) fn condition_states(what: &Completion, state: &ConditionState) -> BTreeMap<String, bool> {
    if let Completion::Composite { conditions, .. } = what {
        let stands = |place: usize| state.parts.get(place).is_some_and(|part| part.complete);
        let named = |(place, part)| (format!("{} {}", place + 1, kind(part)), stands(place));
        conditions.iter().enumerate().map(named).collect()
    } else {
        [(kind(what).to_owned(), state.complete)].into()
    }
}

/// One after the other, until it is clear.
async fn check_parts(
    mode: Mode,
    conditions: &[Completion],
    states: &mut Vec<ConditionState>,
    over: &CompletionContext<'_>,
    outside: &dyn HostEffects,
) -> Result<CompletionResult, Fault> {
    states.resize_with(conditions.len(), ConditionState::default);
    let mut reasons = Vec::new();
    let mut trouble = None;
    for (what, state) in conditions.iter().zip(states.iter_mut()) {
        // A composite within another was refused when the definition was validated.
        state.checks += 1;
        let result = ask(what, state.checks, over, outside).await?;
        state.complete = result.complete;
        state.reason.clone_from(&result.reason);
        trouble = trouble.or(result.trouble);
        match (mode, result.complete) {
            (Mode::Any, true) => {
                return Ok(CompletionResult { complete: true, reason: result.reason, trouble });
            }
            (Mode::All, false) => {
                return Ok(CompletionResult { complete: false, reason: result.reason, trouble });
            }
            (Mode::Any, false) | (Mode::All, true) => reasons.push(result.reason),
        }
    }
    let complete = mode == Mode::All;
    Ok(CompletionResult { complete, reason: reasons.join(" "), trouble })
}

/// Asks a condition that is not made of others.
async fn ask(
    what: &Completion,
    checks: u32,
    over: &CompletionContext<'_>,
    outside: &dyn HostEffects,
) -> Result<CompletionResult, Fault> {
    let iteration = over.context.iteration;
    let answer = |complete: bool, reason: String| Ok(CompletionResult { complete, reason, trouble: None });
    match what {
        Completion::IterationBudget { max_iterations } => answer(
            iteration >= *max_iterations,
            format!("{iteration} of {max_iterations} iterations are done."),
        ),
        Completion::CheckBudget { max_checks } => {
            answer(checks >= *max_checks, format!("It was looked {checks} of {max_checks} times."))
        }
        Completion::KeywordSignal { keywords } => {
            let found = keywords.iter().find(|keyword| over.said.text.contains(keyword.as_str()));
            match found {
                Some(keyword) => {
                    answer(true, format!("The agent said '{keyword}' in iteration {iteration}."))
                }
                None => answer(false, format!("The agent has not said '{}'.", keywords.join("' or '"))),
            }
        }
        Completion::StructuredSignal { schema, signal_type, required_fields } => {
            let Some(value) = &over.said.answer else {
                return answer(false, "The step gave no structured answer.".to_owned());
            };
            let misfit = misfit(value, schema.as_ref(), signal_type.as_deref(), required_fields)?;
            match misfit {
                None => answer(
                    true,
                    format!("The answer of iteration {iteration} is the one that was waited for."),
                ),
                Some(why) => answer(false, why),
            }
        }
        Completion::StepMachine => match over.is_through {
            true => answer(true, format!("The steps are through after {iteration} iterations.")),
            false => answer(false, "The steps are not through.".to_owned()),
        },
        Completion::ExternalState { resource, target_state } => {
            look(resource, target_state.as_deref(), over, outside).await
        }
        Completion::Custom { program, time_limit } => {
            let input = json!({
                "iteration": iteration,
                "isThrough": over.is_through,
                "response": over.said.text,
                "answer": over.said.answer,
                "context": over.context,
            });
            let end = outside.program(program, &input, Duration::from_secs(*time_limit)).await;
            read_custom(program, &end)
        }
        Completion::Composite { .. } => {
            Err(COMPLETION.fault("A condition that is made of others cannot be part of one."))
        }
    }
}

/// What about an answer is not as it must be.
fn misfit(
    value: &Value,
    schema: Option<&Value>,
    signal_type: Option<&str>,
    required_fields: &BTreeMap<String, Value>,
) -> Result<Option<String>, Fault> {
    if let Some(schema) = schema {
        let validator = jsonschema::validator_for(schema).map_err(|error| {
            COMPLETION.fault(format!("The schema of the signal cannot be used: {error}."))
        })?;
        if let Err(error) = validator.validate(value) {
            return Ok(Some(format!("The answer does not fit: {}.", cut(&error.to_string(), QUOTED))));
        }
    }
    if let Some(signal) = signal_type {
        let said = value.get("signal").or_else(|| value.get("type"));
        if said.and_then(Value::as_str) != Some(signal) {
            return Ok(Some(format!("The answer is not the signal '{signal}'.")));
        }
    }
    let wrong = required_fields.iter().find(|(field, wanted)| value.get(field.as_str()) != Some(*wanted));
    Ok(wrong.map(|(field, wanted)| format!("The answer's '{field}' is not {wanted}.")))
}

/// Looks at something outside.
async fn look(
    resource: &Resource,
    target: Option<&str>,
    over: &CompletionContext<'_>,
    outside: &dyn HostEffects,
) -> Result<CompletionResult, Fault> {
    let answer = |complete: bool, reason: String| Ok(CompletionResult { complete, reason, trouble: None });
    match resource {
        Resource::Command { command, time_limit } => {
            let end = outside.command(command, Duration::from_secs(*time_limit)).await;
            let Some(exit) = end.exit else {
                return Err(COMPLETION.fault(format!("The command `{command}`: {}.", end.sentence)));
            };
            match target {
                None => answer(exit == 0, format!("`{command}` exited with {exit}.")),
                Some(state) => {
                    let printed = end.output.trim();
                    answer(printed == state, format!("`{command}` printed '{}'.", cut(printed, QUOTED)))
                }
            }
        }
        Resource::File { path } => match (outside.file(path).await?, target) {
            (None, _) => answer(false, format!("There is no file {path}.")),
            (Some(_), None) => answer(true, format!("The file {path} is there.")),
            (Some(text), Some(state)) => {
                let text = text.trim();
                answer(text == state, format!("The file {path} holds '{}'.", cut(text, QUOTED)))
            }
        },
        Resource::GithubIssue { issue, repository } => {
            let (issue, repository) = ((over.fill)(issue), (over.fill)(repository));
            let target = target.unwrap_or(CLOSED);
            match outside.issue(&issue, &repository).await {
                Ok(state) => answer(
                    state.eq_ignore_ascii_case(target),
                    format!("Issue {issue} of {repository} is {state}."),
                ),
                // That GitHub cannot be asked says nothing about the issue.
                Err(why) => Ok(CompletionResult {
                    complete: false,
                    reason: format!("The state of issue {issue} of {repository} is not known."),
                    trouble: Some(why),
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

fn read_custom(program: &str, end: &CommandEnd) -> Result<CompletionResult, Fault> {
    if !end.is_success() {
        return Err(COMPLETION.fault(format!("The program {program}: {}.", end.sentence)));
    }
    let answer: CustomAnswer = serde_json::from_str(end.output.trim()).map_err(|error| {
        COMPLETION
            .fault(format!("The program {program} did not answer rightly: {error}."))
            .hint(r#"It must print one JSON object such as {"complete": false, "reason": "two are left"}."#)
    })?;
    let reason = match answer.reason.trim() {
        "" => format!("The program {program} said {}.", if answer.complete { "so" } else { "no" }),
        reason => cut(reason, QUOTED),
    };
    Ok(CompletionResult { complete: answer.complete, reason, trouble: None })
}

/// What a condition is called.
pub fn kind(what: &Completion) -> &'static str {
    match what {
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

/// A condition in words, for the agent and for people.
pub fn criteria(what: &Completion) -> String {
    match what {
        Completion::IterationBudget { max_iterations } => format!("{max_iterations} iterations are done"),
        Completion::CheckBudget { max_checks } => format!("it was looked {max_checks} times"),
        Completion::KeywordSignal { keywords } => format!("the agent says {}", keywords.join(" or ")),
        Completion::StructuredSignal { signal_type: Some(signal), .. } => {
            format!("a structured answer is the signal '{signal}'")
        }
        Completion::StructuredSignal { .. } => "a structured answer is the one that is waited for".to_owned(),
        Completion::ExternalState { resource, target_state } => {
            let what = match resource {
                Resource::Command { command, .. } => format!("`{command}`"),
                Resource::File { path } => format!("the file {path}"),
                Resource::GithubIssue { issue, repository } => format!("issue {issue} of {repository}"),
            };
            let state = target_state.as_ref().map(|state| format!(" ('{state}')")).unwrap_or_default();
            format!("{what} is as it must be{state}")
        }
        Completion::StepMachine => "all steps are through".to_owned(),
        Completion::Custom { program, .. } => format!("the program {program} says so"),
        Completion::Composite { mode, conditions } => {
            let parts: Vec<String> = conditions.iter().map(criteria).collect();
            parts.join(match mode {
                Mode::Any => ", or ",
                Mode::All => ", and ",
            })
        }
    }
}
