//! Everything that can be wrong, each with the path that is told: a good definition, what is laid over it, and the words.

mod agent;
mod completion;
mod flow;
mod prompts;
mod steps;
mod transitions;

use serde_json::{Value, json};

use super::{Problem, Validated, ValidationResult, validate};
use crate::definition::AgentDefinition;
use crate::faults::CONFIGURATION_VALIDATION;
use crate::samples::{good, patched};

/// One row: what is laid over `agent.json` and `steps.json`, and the file, the path and the words of the problem.
pub(super) type Row = (Value, Value, &'static str, &'static str, &'static str);

/// That each row is an error.
#[track_caller]
pub(super) fn errors(rows: Vec<Row>) {
    for (agent, steps, file, path, words) in rows {
        let result = validate(&patched(agent, steps));
        assert!(!result.valid());
        told(&result.errors, file, path, words);
    }
}

/// That each row is a warning, and no error.
#[track_caller]
pub(super) fn warnings(rows: Vec<Row>) {
    for (agent, steps, file, path, words) in rows {
        let result = validate(&patched(agent, steps));
        assert!(result.valid(), "{:#?}", result.errors);
        told(&result.warnings, file, path, words);
    }
}

/// That nothing is wrong.
#[track_caller]
pub(super) fn fine(definition: &AgentDefinition) {
    assert_eq!(validate(definition), ValidationResult::default());
}

#[track_caller]
pub(super) fn told(problems: &[Problem], file: &str, path: &str, words: &str) {
    let is_it = |problem: &&Problem| {
        problem.file == file && problem.path == path && problem.to_string().contains(words)
    };
    let Some(problem) = problems.iter().find(is_it) else {
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("nobody says '{words}' of {file}, {path}, but:\n{}", shown.join("\n"))
    };
    assert!(!problem.what.ends_with('.') && problem.remedy.ends_with('.'), "{problem}");
}

#[test]
fn nothing_is_wrong_with_a_good_definition() {
    fine(&good());
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
fn the_same_definition_gives_the_same_result_and_all_problems_at_once() {
    let wrong = patched(json!({ "version": "1" }), json!({ "version": "2", "entryStep": "nowhere" }));
    let result = validate(&wrong);
    assert_eq!(result, validate(&wrong));
    told(&result.errors, "agent.json", "$.version", "three numbers");
    told(&result.errors, "steps.json", "$.version", "three numbers");
    told(&result.errors, "steps.json", "$.entryStep", "no step of this name");
}

/// AgentFactory: @pre definition は validated
#[test]
fn only_a_valid_definition_becomes_a_validated_one() {
    let validated = Validated::try_from(good()).unwrap();
    assert_eq!(validated.name(), "fix");
    let fault =
        Validated::try_from(patched(json!({ "version": "1", "name": "Fix" }), json!({}))).unwrap_err();
    assert_eq!(fault.code, CONFIGURATION_VALIDATION.code);
    assert!(fault.message.contains("2 errors"), "{fault}");
    assert!(fault.message.contains("$.version") && fault.message.contains("$.name"), "{fault}");
}

#[test]
fn a_problem_is_told_in_one_line() {
    let result = validate(&patched(json!({}), json!({ "steps": { "plan": { "next": "nowhere" } } })));
    assert_eq!(
        result.errors[0].to_string(),
        "steps.json, $.steps.plan.next (\"nowhere\"): there is no step of this name. Add it to `steps`, or name one of \
         these: build, format, help, lint, plan, polish, repair, review."
    );
}
