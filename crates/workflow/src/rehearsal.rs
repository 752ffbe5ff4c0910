//! Rehearsal: the steps of an agent in the order in which they can be reached, each with its prompt filled in as far as that can
//! be known before anything has happened.

use std::collections::BTreeSet;

use autonoe_core::fault::Fault;

use crate::definition::{Check, PromptRef};
use crate::graph;
use crate::lifecycle::Created;
use crate::prompt::PromptResolver;

/// A step as it would be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsed {
    /// The step.
    pub step: String,
    /// What it would be told; none for a step without a prompt.
    pub prompt: Option<Spoken>,
    /// What anyone who looks at it would be told.
    pub check: Option<Spoken>,
    /// Where it leads, each with what leads there.
    pub leads: Vec<(String, String)>,
}

/// A prompt, filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// Its file.
    pub path: String,
    /// Its words.
    pub text: String,
    /// The variables that have no value yet.
    pub missing: BTreeSet<String>,
}

impl Created {
    /// What an agent would be told, step by step, without anybody being told anything.
    pub fn rehearse(&self) -> Result<Vec<Rehearsed>, Fault> {
        let definition = self.definition();
        let prompts = PromptResolver::new(definition);
        let edges = graph::edges(definition);
        let order = graph::in_order(definition, &edges);
        let say = |id: &str, prompt: &PromptRef| -> Result<Spoken, Fault> {
            let variables = self.supply().expected(definition, id);
            let resolved = prompts.resolve(prompt, &variables)?;
            Ok(Spoken { path: resolved.path, text: resolved.text, missing: resolved.missing })
        };
        let rehearse = |id: String| {
            let step = definition.step(&id);
            let prompt = step.and_then(|step| step.prompt.as_ref());
            let check = step.and_then(|step| match &step.check {
                Some(Check::Prompt { prompt, .. }) => Some(prompt),
                Some(Check::Action { .. } | Check::Keyword { .. }) | None => None,
            });
            let of_step = edges.iter().filter(|edge| edge.from == id);
            let leads = of_step
                .map(|edge| (edge.label.clone(), edge.to.clone().unwrap_or_else(|| "the end".to_owned())))
                .collect();
            Ok(Rehearsed {
                prompt: prompt.map(|prompt| say(&id, prompt)).transpose()?,
                check: check.map(|prompt| say(&id, prompt)).transpose()?,
                step: id,
                leads,
            })
        };
        order.into_iter().map(rehearse).collect()
    }
}
