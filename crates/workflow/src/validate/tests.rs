//! The problems that validation finds: each row patches a good definition and expects a problem at a path.

mod agent;
mod completion;
mod flow;
mod prompts;
mod steps;
mod transitions;

use serde_json::{Value, json};

use super::{ValidatedDefinition, validate};
use crate::definition::AgentDefinition;
use crate::faults::CONFIGURATION_VALIDATION;
use crate::problem::{Problem, ValidationResult};
use crate::samples::{good, patched};

/// Patches for `agent.json` and `steps.json`, and the file, the path and a part of the message of the expected problem.
pub(super) type ProblemRow = (Value, Value, &'static str, &'static str, &'static str);

/// Asserts that each row is an error.
#[track_caller]
pub(super) fn errors(rows: Vec<ProblemRow>) {
    for (agent, steps, file, path, message) in rows {
        let result = validate(&patched(agent, steps));
        assert!(!result.valid());
        assert_reported(&result.errors, file, path, message);
    }
}

/// Asserts that each row is a warning and not an error.
#[track_caller]
pub(super) fn warnings(rows: Vec<ProblemRow>) {
    for (agent, steps, file, path, message) in rows {
        let result = validate(&patched(agent, steps));
        assert!(result.valid(), "{:#?}", result.errors);
        assert_reported(&result.warnings, file, path, message);
    }
}

#[track_caller]
pub(super) fn assert_valid(definition: &AgentDefinition) {
    assert_eq!(validate(definition), ValidationResult::default());
}

#[track_caller]
pub(super) fn assert_reported(problems: &[Problem], file: &str, path: &str, message: &str) {
    let is_expected = |problem: &&Problem| {
        problem.file == file && problem.path == path && problem.to_string().contains(message)
    };
    let Some(problem) = problems.iter().find(is_expected) else {
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("no problem with '{message}' at {file}, {path}, but:\n{}", shown.join("\n"))
    };
    assert!(!problem.what.ends_with('.') && problem.remedy.ends_with('.'), "{problem}");
}

#[test]
fn a_good_definition_has_no_problems() {
    assert_valid(&good());
}

/// ValidationResult契約: 不変条件: valid === (errors.length === 0)
#[test]
fn a_definition_is_valid_exactly_when_it_has_no_errors() {
    let warned = validate(&patched(json!({ "parameters": { "issue": { "default": 3 } } }), json!({})));
    assert!(warned.valid() && warned.errors.is_empty() && !warned.warnings.is_empty());
    let wrong = validate(&patched(json!({ "version": "1" }), json!({})));
    assert!(!wrong.valid() && !wrong.errors.is_empty());
}

/// ConfigurationLoader: validate: @side-effect none (Query)
#[test]
fn validation_is_deterministic_and_reports_all_problems() {
    let wrong = patched(json!({ "version": "1" }), json!({ "version": "2", "entryStep": "nowhere" }));
    let result = validate(&wrong);
    assert_eq!(result, validate(&wrong));
    assert_reported(&result.errors, "agent.json", "$.version", "three numbers");
    assert_reported(&result.errors, "steps.json", "$.version", "three numbers");
    assert_reported(&result.errors, "steps.json", "$.entryStep", "no step with this name");
}

/// AgentFactory: @pre definition は validated
#[test]
fn only_a_valid_definition_becomes_a_validated_one() {
    let validated = ValidatedDefinition::try_from(good()).unwrap();
    assert_eq!(validated.name(), "fix");
    let fault = ValidatedDefinition::try_from(patched(json!({ "version": "1", "name": "Fix" }), json!({})))
        .unwrap_err();
    assert_eq!(fault.code, CONFIGURATION_VALIDATION.code);
    assert!(fault.message.contains("2 errors"), "{fault}");
    assert!(fault.message.contains("$.version") && fault.message.contains("$.name"), "{fault}");
}

#[test]
fn a_problem_is_displayed_on_one_line() {
    let result = validate(&patched(json!({}), json!({ "steps": { "plan": { "next": "nowhere" } } })));
    assert_eq!(
        result.errors[0].to_string(),
        "steps.json, $.steps.plan.next (\"nowhere\"): there is no step with this name. Add it to `steps`, or use one of \
         these: build, format, help, lint, plan, polish, repair, review."
    );
}
