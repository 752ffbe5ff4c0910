use std::collections::BTreeMap;

use autonoe_core::fault::Fault;
use serde_json::{Value, json};

use super::{problem_with, read_arguments};
use crate::definition::AgentFile;
use crate::faults;

fn agent(parameters: Value) -> AgentFile {
    serde_json::from_value(json!({
        "version": "1.0.0", "name": "builder", "description": "It is for tests.", "parameters": parameters,
    }))
    .expect("an agent")
}

fn read(parameters: Value, given: &[(&str, &str)]) -> Result<BTreeMap<String, Value>, Fault> {
    let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    read_arguments(&agent(parameters), &given)
}

#[test]
fn values_are_parsed_by_their_declared_type() {
    for (kind, text, expected) in [
        ("string", " 7 ", json!(" 7 ")),
        ("string", "", json!("")),
        ("number", "7", json!(7)),
        ("number", "-3", json!(-3)),
        ("number", "18446744073709551615", json!(u64::MAX)),
        ("number", " 2.5 ", json!(2.5)),
        ("boolean", "true", json!(true)),
        ("boolean", "false", json!(false)),
        ("array", "a, b ,c", json!(["a", "b", "c"])),
        ("array", "a,,b", json!(["a", "", "b"])),
        ("array", " ", json!([])),
    ] {
        let arguments = read(json!({"x": {"type": kind}}), &[("x", text)]).expect(text);
        assert_eq!(arguments["x"], expected, "{kind} {text:?}");
    }
}

#[test]
fn a_value_of_the_wrong_type_is_refused_with_its_name_and_value() {
    for (kind, text, wanted) in [
        ("number", "seven", "not a number"),
        ("number", "", "not a number"),
        ("number", "NaN", "not a number"),
        ("number", "inf", "not a number"),
        ("number", "1e999", "not a number"),
        ("boolean", "yes", "neither true nor false"),
        ("boolean", "TRUE", "neither true nor false"),
    ] {
        let fault = read(json!({"x": {"type": kind}}), &[("x", text)]).expect_err(text);
        assert_eq!(fault.code, faults::CONFIGURATION_VALIDATION.code);
        for part in [&format!("`x` is `{text}`"), wanted, "--arg x=VALUE"] {
            assert!(fault.message.contains(part), "{fault} lacks {part}");
        }
    }
}

#[test]
fn a_missing_argument_has_its_default_or_no_value() {
    let parameters = json!({
        "a": {"type": "number", "default": 3},
        "b": {"type": "array", "default": ["x"], "required": true},
        "c": {"type": "string"},
    });
    let arguments = read(parameters.clone(), &[]).expect("nothing is missing");
    assert_eq!(arguments, BTreeMap::from([("a".to_owned(), json!(3)), ("b".to_owned(), json!(["x"]))]));
    assert_eq!(read(parameters, &[("a", "4")]).expect("given")["a"], json!(4));
}

/// AgentFactory: DependencyResolutionError - 依存解決失敗
#[test]
fn a_missing_required_argument_is_reported_with_its_purpose_and_allowed_values() {
    let parameters = json!({
        "issue": {"type": "number", "required": true, "description": "The issue.", "validation": {"min": 1, "max": 9}},
        "mode": {"type": "string", "required": true, "validation": {"enum": ["fast", "slow"]}},
    });
    let fault = read(parameters, &[]).expect_err("missing");
    assert_eq!(fault.code, faults::DEPENDENCY_RESOLUTION.code);
    for part in [
        "builder",
        "`issue` (The issue) is missing",
        "--arg issue=VALUE, a number from 1 to 9",
        "--arg mode=VALUE, a string that is one of `fast`, `slow`",
    ] {
        assert!(fault.message.contains(part), "{fault} lacks {part}");
    }
}

#[test]
fn all_problems_are_reported_together() {
    let parameters = json!({
        "a": {"type": "number"}, "b": {"type": "boolean"}, "c": {"type": "string", "required": true},
    });
    let given = [("a", "x"), ("b", "y"), ("d", "z"), ("a", "1")];
    let fault = read(parameters, &given).expect_err("several problems");
    assert_eq!(fault.code, faults::CONFIGURATION_VALIDATION.code);
    for part in [
        "`a` is `x`",
        "`b` is `y`",
        "`d` is not a parameter of this agent; it has `a`, `b`, `c`",
        "`a` is given more than once",
        "`c` is missing",
    ] {
        assert!(fault.message.contains(part), "{fault} lacks {part}");
    }
    let fault = read(json!({}), &[("d", "z")]).expect_err("undeclared");
    assert!(fault.message.contains("it has none"), "{fault}");
}

#[test]
fn values_are_checked_against_their_constraints() {
    for (parameter, text, wanted) in [
        (json!({"type": "number", "validation": {"min": 1, "max": 3}}), "0", Some("below 1")),
        (json!({"type": "number", "validation": {"min": 1, "max": 3}}), "1", None),
        (json!({"type": "number", "validation": {"min": 1, "max": 3}}), "3", None),
        (json!({"type": "number", "validation": {"min": 1, "max": 3.5}}), "3.6", Some("above 3.5")),
        (json!({"type": "number", "validation": {"enum": [1, 2.0]}}), "2", None),
        (json!({"type": "number", "validation": {"enum": [1, 2]}}), "3", Some("not among `1`, `2`")),
        (json!({"type": "string", "validation": {"enum": ["a", "b"]}}), "a", None),
        (json!({"type": "string", "validation": {"enum": ["a", "b"]}}), "A", Some("not among `a`, `b`")),
        (json!({"type": "string", "validation": {"pattern": "a|ab"}}), "ab", None),
        (json!({"type": "string", "validation": {"pattern": "a|ab"}}), "abc", Some("pattern `a|ab`")),
        (json!({"type": "string", "validation": {"pattern": "[a-z]+"}}), "abc\n", Some("pattern")),
        (
            json!({"type": "string", "validation": {"pattern": "("}}),
            "a",
            Some("not a valid regular expression"),
        ),
        (json!({"type": "array", "validation": {"pattern": "[a-z]+"}}), "a,b", None),
        (
            json!({"type": "array", "validation": {"pattern": "[a-z]+"}}),
            "a,B",
            Some("whose item 2 does not match"),
        ),
        (
            json!({"type": "array", "validation": {"enum": ["a"]}}),
            "a,b",
            Some("whose item 2 is not among `a`"),
        ),
    ] {
        match (read(json!({"x": parameter}), &[("x", text)]), wanted) {
            (Ok(_), None) => {}
            (Err(fault), Some(wanted)) => assert!(fault.message.contains(wanted), "{fault} lacks {wanted}"),
            (read, wanted) => panic!("{parameter} {text:?}: {read:?} instead of {wanted:?}"),
        }
    }
}

#[test]
fn a_default_is_checked_against_its_parameter() {
    let agent = agent(json!({"x": {"type": "number", "validation": {"min": 1}}, "y": {"type": "array"}}));
    assert_eq!(problem_with(&agent.parameters["x"], &json!(1)), None);
    assert!(
        problem_with(&agent.parameters["x"], &json!("1")).is_some_and(|what| what.contains("not a number"))
    );
    assert!(problem_with(&agent.parameters["x"], &json!(0)).is_some_and(|what| what.contains("below 1")));
    assert!(
        problem_with(&agent.parameters["y"], &json!("a")).is_some_and(|what| what.contains("not a list"))
    );
}

#[test]
fn at_most_200_characters_of_a_value_are_shown() {
    let long = "ü".repeat(100_000);
    for parameter in [
        json!({"type": "number"}),
        json!({"type": "string", "validation": {"enum": ["a"]}}),
        json!({"type": "string", "validation": {"pattern": "a"}}),
        json!({"type": "array", "validation": {"enum": ["a"]}}),
    ] {
        let fault = read(json!({"x": parameter}), &[("x", &long)]).expect_err("wrong");
        assert!(fault.message.matches('ü').count() < 200, "{fault}");
        assert!(fault.message.contains('…'), "{fault}");
    }
    let fault = read(json!({}), &[(&long, "x")]).expect_err("undeclared");
    assert!(fault.message.matches('ü').count() < 200, "{fault}");
    let fault = read(json!({"x": {"type": "number"}}), &[("x", "a\u{1b}[31m\nb")]).expect_err("wrong");
    assert!(!fault.message.contains(char::is_control), "{fault}");
}
