//! What a declarative agent knows of its own run so far: how many iterations there were, what came of each, and what the
//! next one is handed.

use std::collections::BTreeMap;

use autonoe_core::plan::Said;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a summary keeps of a response, in characters.
const SUMMARIZED: usize = 1000;
/// What the next iteration is handed of a response, in characters.
const CARRIED: usize = 64 * 1024;

/// The context of a run. When an iteration is over there is one summary for each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The number of the last session; none before the first.
    pub session: Option<u32>,
    /// How many iterations are over.
    pub iteration: u32,
    /// What came of each.
    pub summaries: Vec<IterationSummary>,
    /// What the next iteration is handed.
    pub carry: Carry,
}

/// What came of an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IterationSummary {
    /// Its number, from 1.
    pub iteration: u32,
    /// The step.
    pub step: String,
    /// The session.
    pub session: u32,
    /// What the agent said, its beginning.
    pub response: String,
    /// The tools that it used.
    pub tools: Vec<String>,
    /// Whether the step passed; none while that is not decided.
    pub passed: Option<bool>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What an iteration hands to the next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Carry {
    /// What the agent said last.
    pub previous_response: Option<String>,
    /// The last answer of each step; of one without a structured answer, what it said.
    pub accumulated: BTreeMap<String, Value>,
}

impl Context {
    /// Takes in an iteration that is over.
    pub(crate) fn finish(&mut self, step: &str, session: u32, said: &Said) {
        self.session = Some(session);
        self.iteration += 1;
        self.summaries.push(IterationSummary {
            iteration: self.iteration,
            step: step.to_owned(),
            session,
            response: cut(&said.text, SUMMARIZED),
            tools: said.tools.clone(),
            passed: None,
            error: None,
        });
        let response = cut(&said.text, CARRIED);
        let answer = said.answer.clone().unwrap_or_else(|| Value::String(response.clone()));
        self.carry.accumulated.insert(step.to_owned(), answer);
        self.carry.previous_response = Some(response);
    }

    /// Notes in the last summary of a step what was decided about it.
    pub(crate) fn decide(&mut self, step: &str, passed: bool, why: &str) {
        if let Some(summary) = self.summaries.iter_mut().rev().find(|summary| summary.step == step) {
            summary.passed = Some(passed);
            summary.error = (!passed).then(|| why.to_owned());
        }
    }

    /// The last summary in words, for a prompt.
    pub fn previous_summary(&self) -> Option<String> {
        self.summaries.last().map(IterationSummary::words)
    }

    /// All summaries in words, for a session that is told what was done before it.
    pub fn history(&self) -> String {
        let words: Vec<String> = self.summaries.iter().map(IterationSummary::words).collect();
        words.join("\n\n")
    }
}

impl IterationSummary {
    fn words(&self) -> String {
        let mut words = format!("### Iteration {} ({})\n\n{}", self.iteration, self.step, self.response);
        if !self.tools.is_empty() {
            words.push_str(&format!("\n\nTools used: {}", self.tools.join(", ")));
        }
        if let Some(error) = &self.error {
            words.push_str(&format!("\n\nIt did not pass: {error}"));
        }
        words
    }
}

/// The beginning of a text; what is cut says so.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => {
            format!("{}... [{} characters left out]", &text[..end], text[end..].chars().count())
        }
        None => text.to_owned(),
    }
}
