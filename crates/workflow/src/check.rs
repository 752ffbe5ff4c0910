//! StepCheck: whether one step has passed, which is another question than whether the agent is done.

use autonoe_core::plan::Said;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::cut;
use crate::host_effects::CommandEnd;

/// How much of what an action printed is told, in characters.
const QUOTED: usize = 500;

/// What a check says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepCheckResult {
    /// Whether the step has passed.
    pub passed: bool,
    /// Why.
    pub reason: String,
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionResult {
    /// What the action is called.
    pub kind: String,
    /// How its command ended.
    pub end: CommandEnd,
}

/// Looks at the agent's words alone: whether one of the keywords is among them.
pub fn by_keyword(keywords: &[String], response: &str) -> StepCheckResult {
    match keywords.iter().find(|keyword| response.contains(keyword.as_str())) {
        Some(keyword) => StepCheckResult { passed: true, reason: format!("the agent said '{keyword}'") },
        None => {
            let reason = format!("the agent did not say '{}'", keywords.join("' or '"));
            StepCheckResult { passed: false, reason }
        }
    }
}

/// Looks at the results of actions alone: whether the one it asks for has succeeded.
pub fn by_action(kind: &str, results: &[ActionResult]) -> StepCheckResult {
    let Some(result) = results.iter().find(|result| result.kind == kind) else {
        return StepCheckResult { passed: false, reason: format!("the action '{kind}' was not run") };
    };
    let passed = result.end.is_success();
    let printed = result.end.output.trim();
    let reason = match (passed, printed) {
        (true, _) | (false, "") => format!("the action '{kind}': {}", result.end.sentence),
        (false, printed) => {
            // What matters most is usually said last.
            let start = printed.char_indices().rev().nth(QUOTED - 1).map_or(0, |(start, _)| start);
            format!("the action '{kind}': {}: {}", result.end.sentence, printed[start..].trim())
        }
    };
    StepCheckResult { passed, reason }
}

/// The form in which another session answers what it thinks of a step.
pub fn opinion_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "passed": { "type": "boolean", "description": "Whether the step has passed." },
            "reason": { "type": "string", "description": "Why, in a sentence." },
        },
        "required": ["passed", "reason"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Opinion {
    passed: bool,
    reason: String,
}

/// Looks at the answer of the session that was asked; none if that did not answer.
pub fn by_opinion(said: &Said) -> Option<StepCheckResult> {
    let opinion = Opinion::deserialize(said.answer.as_ref()?).ok()?;
    Some(StepCheckResult { passed: opinion.passed, reason: cut(&opinion.reason, QUOTED) })
}
