//! Step checks: whether one step has passed. Whether the agent is done is decided in `completion`.

use autonoe_core::plan::SessionOutput;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::cut;
use crate::host_effects::HostCommandOutcome;

/// The most characters quoted of an action's output.
const QUOTED: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepCheckResult {
    pub passed: bool,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionResult {
    /// The action's `type`.
    pub kind: String,
    pub outcome: HostCommandOutcome,
}

/// Passes if the response contains one of the keywords.
pub fn by_keyword(keywords: &[String], response: &str) -> StepCheckResult {
    match keywords.iter().find(|keyword| response.contains(keyword.as_str())) {
        Some(keyword) => StepCheckResult { passed: true, reason: format!("the agent said '{keyword}'") },
        None => {
            let reason = format!("the agent did not say '{}'", keywords.join("' or '"));
            StepCheckResult { passed: false, reason }
        }
    }
}

/// Passes if this action has succeeded.
pub fn by_action(kind: &str, results: &[ActionResult]) -> StepCheckResult {
    let Some(result) = results.iter().find(|result| result.kind == kind) else {
        return StepCheckResult { passed: false, reason: format!("the action '{kind}' was not run") };
    };
    let passed = result.outcome.is_success();
    let printed = result.outcome.output.trim();
    let reason = match (passed, printed) {
        (true, _) | (false, "") => format!("the action '{kind}': {}", result.outcome.summary),
        (false, printed) => {
            // The end of the output is usually the most informative part.
            let start = printed.char_indices().rev().nth(QUOTED - 1).map_or(0, |(start, _)| start);
            format!("the action '{kind}': {}: {}", result.outcome.summary, printed[start..].trim())
        }
    };
    StepCheckResult { passed, reason }
}

/// The schema of the answer of a session that checks a step.
pub fn assessment_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "passed": { "type": "boolean", "description": "Whether the step has passed." },
            "reason": { "type": "string", "description": "The reason, in one sentence." },
        },
        "required": ["passed", "reason"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct StepAssessment {
    passed: bool,
    reason: String,
}

/// The result that the checking session reported; `None` if it gave no such answer.
pub fn by_assessment(output: &SessionOutput) -> Option<StepCheckResult> {
    let opinion = StepAssessment::deserialize(output.answer.as_ref()?).ok()?;
    Some(StepCheckResult { passed: opinion.passed, reason: cut(&opinion.reason, QUOTED) })
}
