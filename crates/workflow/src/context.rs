//! The context of a declarative agent's run: the number of iterations, a summary of each, and what is carried over to the
//! next one.

use std::collections::BTreeMap;

use autonoe_core::plan::SessionOutput;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most characters of a response in a summary.
const SUMMARIZED: usize = 1000;
/// The most characters of a response that are carried over to the next iteration.
const CARRIED: usize = 64 * 1024;

/// The context of a run. After each iteration, there is exactly one summary per iteration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RuntimeContext {
    /// The number of the last session; `None` before the first one.
    pub session: Option<u32>,
    /// The number of iterations that have ended.
    pub iteration: u32,
    pub summaries: Vec<IterationSummary>,
    pub carry: ContextCarry,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IterationSummary {
    /// Counted from 1.
    pub iteration: u32,
    pub step: String,
    pub session: u32,
    /// The start of the response.
    pub response: String,
    pub tools: Vec<String>,
    /// Whether the step passed; `None` while that is undecided.
    pub passed: Option<bool>,
    /// Why the step did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What is carried over from one iteration to the next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ContextCarry {
    pub previous_response: Option<String>,
    /// The last structured answer of each step, or its response if it gave none.
    pub accumulated: BTreeMap<String, Value>,
}

impl RuntimeContext {
    /// Adds an iteration that has ended.
    pub(crate) fn finish(&mut self, step: &str, session: u32, output: &SessionOutput) {
        self.session = Some(session);
        self.iteration += 1;
        self.summaries.push(IterationSummary {
            iteration: self.iteration,
            step: step.to_owned(),
            session,
            response: cut(&output.text, SUMMARIZED),
            tools: output.tools.clone(),
            passed: None,
            error: None,
        });
        let response = cut(&output.text, CARRIED);
        let answer = output.answer.clone().unwrap_or_else(|| Value::String(response.clone()));
        self.carry.accumulated.insert(step.to_owned(), answer);
        self.carry.previous_response = Some(response);
    }

    /// Records the check result in the last summary of a step.
    pub(crate) fn record_check(&mut self, step: &str, passed: bool, reason: &str) {
        if let Some(summary) = self.summaries.iter_mut().rev().find(|summary| summary.step == step) {
            summary.passed = Some(passed);
            summary.error = (!passed).then(|| reason.to_owned());
        }
    }

    /// The last summary as text, for a prompt.
    pub fn previous_summary(&self) -> Option<String> {
        self.summaries.last().map(IterationSummary::to_text)
    }

    /// All summaries as text, for a step with `"session": "history"`.
    pub fn history(&self) -> String {
        let texts: Vec<String> = self.summaries.iter().map(IterationSummary::to_text).collect();
        texts.join("\n\n")
    }
}

impl IterationSummary {
    fn to_text(&self) -> String {
        let mut text = format!("### Iteration {} ({})\n\n{}", self.iteration, self.step, self.response);
        if !self.tools.is_empty() {
            text.push_str(&format!("\n\nTools used: {}", self.tools.join(", ")));
        }
        if let Some(error) = &self.error {
            text.push_str(&format!("\n\nThe step did not pass: {error}"));
        }
        text
    }
}

/// The start of a text; a cut text ends with the number of characters left out.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => {
            format!("{}... [{} characters left out]", &text[..end], text[end..].chars().count())
        }
        None => text.to_owned(),
    }
}
