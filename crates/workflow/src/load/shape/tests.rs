//! Random changes of a good definition: the reader accepts only what serde accepts, and what is left always fits.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::ShapeReader;
use crate::definition::{AgentFile, StepsFile};
use crate::samples::{good_agent, good_steps};
use crate::schema::{agent_schema, steps_schema};

/// What a value is replaced by.
fn replacements() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(2.5),
        json!(u64::MAX),
        json!(""),
        json!("gateway"),
        json!("keyword"),
        json!([]),
        json!([1, "a"]),
        json!({}),
        json!({ "type": "keyword" }),
        json!({ "path": "a.md" }),
        json!({ "retry": { "maxRetries": 1 } }),
    ]
}

const NAMES: [&str; 10] =
    ["type", "prompt", "nxt", "next", "check", "keywords", "completionKeyword", "parameter", "default", "c1"];

/// Changes the value that `path` leads to: each number chooses a field or an item.
fn change(value: &mut Value, path: &[u8], what: u8) {
    let choose = |length: usize, number: u8| usize::from(number) % length;
    if let [first, rest @ ..] = path {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let number = choose(fields.len(), *first);
                let name = fields.keys().nth(number).cloned().unwrap_or_default();
                return change(&mut fields[&name], rest, what);
            }
            Value::Array(items) if !items.is_empty() => {
                let number = choose(items.len(), *first);
                return change(&mut items[number], rest, what);
            }
            _ => {}
        }
    }
    let replacements = replacements();
    match (what % 4, &mut *value) {
        (0, Value::Object(fields)) if !fields.is_empty() => {
            let name = fields.keys().nth(choose(fields.len(), what / 4)).cloned().unwrap_or_default();
            fields.remove(&name);
        }
        (1, Value::Object(fields)) => {
            let name = NAMES[choose(NAMES.len(), what / 4)];
            fields.insert(name.to_owned(), replacements[choose(replacements.len(), what)].clone());
        }
        _ => *value = replacements[choose(replacements.len(), what / 4)].clone(),
    }
}

fn changes() -> impl Strategy<Value = Vec<(Vec<u8>, u8)>> {
    prop::collection::vec((prop::collection::vec(any::<u8>(), 0..7), any::<u8>()), 1..5)
}

fn check(schema: &Value, file: &'static str, value: Value, parses: impl Fn(&Value) -> bool) {
    let mut reader = ShapeReader::new(schema);
    let fitted = reader.read(file, value.clone());
    let problems: Vec<String> = reader.problems.iter().map(ToString::to_string).collect();
    match problems.as_slice() {
        [] => assert!(parses(&value), "{value:#}"),
        // Serde takes a list for an object, and ignores fields of a condition that has none. The schema does neither.
        problems => {
            let is_wrong = !parses(&value) || !jsonschema::validator_for(schema).unwrap().is_valid(&value);
            assert!(is_wrong, "{value:#} {problems:#?}");
        }
    }
    assert!(parses(&fitted), "{fitted:#}");
    for problem in &problems {
        assert_eq!(
            problems.iter().filter(|other| *other == problem).count(),
            1,
            "{problem} is reported twice"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_agent_is_read_only_as_serde_would_read_it(changes in changes(), with_condition in 0_u8..6) {
        let mut agent = good_agent();
        agent["completion"] = match with_condition {
            0 => json!({ "type": "composite", "mode": "any", "conditions": [
                { "type": "iterate", "maxIterations": 2 }, { "type": "custom", "program": "bin/done" }] }),
            1 => json!({ "type": "externalState", "resource": { "type": "command", "command": "true" } }),
            2 => json!({ "type": "structuredSignal", "requiredFields": { "a": 1 } }),
            3 => json!({ "type": "manual", "completionKeyword": "X" }),
            4 => json!({ "type": "poll:state", "resource": { "type": "file", "path": "a" } }),
            _ => json!({ "type": "stepMachine" }),
        };
        for (path, what) in &changes {
            change(&mut agent, path, *what);
        }
        check(&agent_schema(), "agent.json", agent, |value| serde_json::from_value::<AgentFile>(value.clone()).is_ok());
    }

    #[test]
    fn steps_are_read_only_as_serde_would_read_them(changes in changes()) {
        let mut steps = good_steps();
        for (path, what) in &changes {
            change(&mut steps, path, *what);
        }
        check(&steps_schema(), "steps.json", steps, |value| serde_json::from_value::<StepsFile>(value.clone()).is_ok());
    }
}
