//! Dry run: the steps of an agent in the order in which they can be reached, each with its prompt filled in with the values
//! that are known before the run.

use std::collections::BTreeSet;

use autonoe_core::fault::Fault;

use crate::definition::{Action, PromptRef, StepCheck};
use crate::graph;
use crate::lifecycle::CreatedAgent;
use crate::prompt::PromptResolver;

/// A step and its prompts, as far as they are known before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPreview {
    pub step: String,
    /// `None` for a step without a prompt.
    pub prompt: Option<PromptPreview>,
    /// The prompt of the session that checks the step, if there is one.
    pub check: Option<PromptPreview>,
    /// The commands that run after it, by their names.
    pub actions: Vec<(String, String)>,
    /// The transitions: when each is taken, and its target.
    pub transitions: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPreview {
    pub path: String,
    pub text: String,
    /// Variables that have no value yet.
    pub missing: BTreeSet<String>,
}

impl CreatedAgent {
    /// The prompts of all steps, without running a session.
    pub fn dry_run(&self) -> Result<Vec<StepPreview>, Fault> {
        let definition = self.definition();
        let prompts = PromptResolver::new(definition);
        let edges = graph::edges(definition);
        let order = graph::in_order(definition, &edges);
        let preview = |id: &str, prompt: &PromptRef| -> Result<PromptPreview, Fault> {
            let variables = self.prompt_variables().expected(definition, id);
            let resolved = prompts.resolve(prompt, &variables)?;
            Ok(PromptPreview { path: resolved.path, text: resolved.text, missing: resolved.missing })
        };
        let preview_step = |id: String| {
            let step = definition.step(&id);
            let prompt = step.and_then(|step| step.prompt.as_ref());
            let check = step.and_then(|step| match &step.check {
                Some(StepCheck::Prompt { prompt, .. }) => Some(prompt),
                Some(StepCheck::Action { .. } | StepCheck::Keyword { .. }) | None => None,
            });
            let of_step = edges.iter().filter(|edge| edge.from == id);
            let transitions = of_step
                .map(|edge| (edge.label.clone(), edge.to.clone().unwrap_or_else(|| "the end".to_owned())))
                .collect();
            let command =
                |action: &Action| (action.kind.clone(), action.command.text(self.arguments()).to_owned());
            Ok(StepPreview {
                actions: step.map(|step| step.actions.iter().map(command).collect()).unwrap_or_default(),
                prompt: prompt.map(|prompt| preview(&id, prompt)).transpose()?,
                check: check.map(|prompt| preview(&id, prompt)).transpose()?,
                step: id,
                transitions,
            })
        };
        order.into_iter().map(preview_step).collect()
    }
}
