//! The variables of a step's prompt: those that the run was started with, those of the run itself, and the answers of other
//! steps.

use autonoe_core::fault::Fault;

use crate::completion::criteria;
use crate::definition::{AgentDefinition, Completion, Step};
use crate::faults::PROMPT_VARIABLE;
use crate::state::PlanState;
use crate::variables::{Variables, text_of};

/// Names of the variables that the run itself sets; parameters cannot use them.
pub const RUNTIME_NAMES: [&str; 13] = [
    "iteration",
    "completed_iterations",
    "completion_keyword",
    "completion_criteria",
    "max_iterations",
    "remaining",
    "previous_summary",
    "previous_response",
    "check_count",
    "max_checks",
    "input_text",
    "step",
    "visit",
];

/// Builds the variables of prompts from those that the run was started with.
#[derive(Debug, Clone, Default)]
pub struct PromptVariables {
    given: Variables,
}

impl PromptVariables {
    pub fn new(given: Variables) -> Self {
        Self { given }
    }

    /// Arguments, environment variables and standard input.
    pub fn given(&self) -> &Variables {
        &self.given
    }

    /// All variables for the prompts of a step. Variables without a value are not included.
    pub(crate) fn variables(
        &self,
        definition: &AgentDefinition,
        state: &PlanState,
        id: &str,
    ) -> Result<Variables, Fault> {
        let mut variables = self.of_run(definition, state, id);
        if let Some(step) = definition.step(id) {
            variables.extend(inputs(step, id, state)?);
        }
        Ok(variables)
    }

    /// The variables that the run was started with, and those of the run itself.
    fn of_run(&self, definition: &AgentDefinition, state: &PlanState, id: &str) -> Variables {
        let mut variables = self.given.clone();
        let context = &state.context;
        let limit = definition.agent.max_iterations;
        let mut put = |name: &str, value: Option<String>| {
            variables.extend(value.map(|value| (name.to_owned(), value)));
        };
        put("iteration", Some((context.iteration + 1).to_string()));
        put("completed_iterations", Some(context.iteration.to_string()));
        put("completion_criteria", Some(criteria(&definition.agent.completion)));
        put("completion_keyword", keyword(&definition.agent.completion));
        let budget = iteration_budget(&definition.agent.completion).unwrap_or(limit);
        put("max_iterations", Some(budget.to_string()));
        put("remaining", Some(budget.saturating_sub(context.iteration).to_string()));
        put("previous_summary", context.previous_summary());
        put("previous_response", context.carry.previous_response.clone());
        put("check_count", Some(state.flow.checks.to_string()));
        put("max_checks", max_checks(&definition.agent.completion).map(|count| count.to_string()));
        put("step", Some(id.to_owned()));
        put("visit", Some(state.flow.visits.get(id).copied().unwrap_or(1).to_string()));
        variables
    }

    /// The variables that are known before the run, with placeholders for answers of other steps.
    pub(crate) fn expected(&self, definition: &AgentDefinition, id: &str) -> Variables {
        let mut variables = self.of_run(definition, &PlanState::default(), id);
        for name in ["previous_summary", "previous_response"] {
            variables.insert(
                name.to_owned(),
                format!("({} of the previous iteration)", &name["previous_".len()..]),
            );
        }
        for (name, input) in definition.step(id).into_iter().flat_map(|step| &step.inputs) {
            let value = input.default.as_ref().map(text_of);
            variables.insert(name.clone(), value.unwrap_or_else(|| format!("(answer of '{}')", input.from)));
        }
        variables
    }
}

fn inputs(step: &Step, id: &str, state: &PlanState) -> Result<Variables, Fault> {
    let mut variables = Variables::new();
    for (name, input) in &step.inputs {
        let (from, field) = input.from.split_once('.').unwrap_or((&input.from, ""));
        let mut fields = field.split('.').filter(|field| !field.is_empty());
        let answer = state.context.carry.accumulated.get(from);
        let value = answer.and_then(|answer| fields.try_fold(answer, |value, field| value.get(field)));
        match value.filter(|value| !value.is_null()).or(input.default.as_ref()) {
            Some(value) => {
                variables.insert(name.clone(), text_of(value));
            }
            None if input.required => {
                return Err(PROMPT_VARIABLE
                    .fault(format!(
                        "The step '{id}' needs '{}' for its input '{name}', which has no value yet.",
                        input.from
                    ))
                    .hint("Run that step first, give the input a default, or set required to false."));
            }
            None => {}
        }
    }
    Ok(variables)
}

fn keyword(completion: &Completion) -> Option<String> {
    completion.parts().iter().find_map(|part| match part {
        Completion::KeywordSignal { keywords } => keywords.first().cloned(),
        _ => None,
    })
}

fn iteration_budget(completion: &Completion) -> Option<u32> {
    completion.parts().iter().find_map(|part| match part {
        Completion::IterationBudget { max_iterations } => Some(*max_iterations),
        _ => None,
    })
}

fn max_checks(completion: &Completion) -> Option<u32> {
    completion.parts().iter().find_map(|part| match part {
        Completion::CheckBudget { max_checks } => Some(*max_checks),
        _ => None,
    })
}
