//! The flow of the steps.

use serde_json::{Value, json};

use super::{assert_reported, assert_valid, validate};
use crate::samples::of_steps;

fn step(next: Option<&str>) -> Value {
    match next {
        Some(next) => json!({ "prompt": "plan.md", "next": next }),
        None => json!({ "prompt": "plan.md" }),
    }
}

fn done(completion: Value) -> Value {
    json!({ "completion": completion })
}

#[test]
fn an_unreachable_step_is_an_error() {
    let result = validate(&of_steps(json!({}), json!({ "a": step(None), "b": step(Some("a")) })));
    assert_reported(&result.errors, "steps.json", "$.steps.b", "cannot be reached from the entry step, a");
}

#[test]
fn an_agent_that_is_done_when_its_steps_are_finished_needs_an_exit() {
    let steps = json!({ "a": step(Some("b")), "b": step(Some("c")), "c": step(Some("b")) });
    let composite = |mode: &str, other: Value| json!({ "type": "composite", "mode": mode, "conditions": [{ "type": "stepMachine" }, other] });
    let keyword = json!({ "type": "keywordSignal", "keywords": ["DONE"] });
    for completion in [
        json!({ "type": "stepMachine" }),
        composite("any", json!({ "type": "stepMachine" })),
        composite("all", keyword.clone()),
    ] {
        let result = validate(&of_steps(done(completion), steps.clone()));
        assert_reported(&result.errors, "steps.json", "$.steps", "these never reach the end: b, c");
    }
    assert_valid(&of_steps(done(keyword.clone()), steps.clone()));
    assert_valid(&of_steps(done(composite("any", keyword)), steps));
}

/// StepTransitionContract: 同一ステップの連続実行（retry除く）が STEP_LOOP_LIMIT を超えた場合、LoopError を発生させる
#[test]
fn the_budget_of_a_step_that_repeats_itself_is_at_most_the_loop_limit() {
    let budget = |count: u32| json!({ "type": "iterationBudget", "maxIterations": count });
    for steps in [
        json!({ "a": step(None) }),
        json!({ "a": step(Some("a")) }),
        json!({ "a": step(Some("b")), "b": step(Some("b")) }),
    ] {
        assert_valid(&of_steps(done(budget(10)), steps.clone()));
        let result = validate(&of_steps(done(budget(11)), steps.clone()));
        assert_reported(
            &result.errors,
            "agent.json",
            "$.completion.maxIterations",
            "after 10 times in a row, before the 11 iterations",
        );
        let mut wider = done(budget(11));
        wider["stepLoopLimit"] = json!(11);
        assert_valid(&of_steps(wider, steps));
    }
    assert_valid(&of_steps(done(budget(50)), json!({ "a": step(Some("b")), "b": step(None) })));
    let path = "$.completion.conditions[0].maxIterations";
    let composite = |mode: &str| {
        let conditions = json!([budget(11), { "type": "checkBudget", "maxChecks": 2 }]);
        of_steps(
            done(json!({ "type": "composite", "mode": mode, "conditions": conditions })),
            json!({ "a": step(None) }),
        )
    };
    assert_reported(&validate(&composite("all")).errors, "agent.json", path, "in a row");
    assert_reported(&validate(&composite("any")).warnings, "agent.json", path, "in a row");
}

#[test]
fn answers_exist_before_they_are_used() {
    let output = json!({ "type": "object" });
    let steps = json!({
        "a": { "type": "gateway", "branch": { "from": "b", "field": "x", "targets": { "y": "b" } } },
        "b": { "prompt": "plan.md", "output": output },
    });
    let result = validate(&of_steps(json!({}), steps.clone()));
    assert_reported(&result.warnings, "steps.json", "$.steps.a.branch.from", "b never runs before a");
    let restarted = validate(&of_steps(done(json!({ "type": "checkBudget", "maxChecks": 3 })), steps));
    assert!(restarted.warnings.is_empty(), "the steps start again, so b has run before");

    let input = |over: Value| {
        json!({
            "a": { "prompt": "plan.md", "inputs": { "x": over }, "next": "b" },
            "b": { "prompt": "plan.md" },
        })
    };
    let result = validate(&of_steps(json!({}), input(json!({ "from": "b" }))));
    assert_reported(&result.errors, "steps.json", "$.steps.a.inputs.x.from", "b never runs before a");
    let result = validate(&of_steps(json!({}), input(json!({ "from": "b", "required": false }))));
    assert_reported(&result.warnings, "steps.json", "$.steps.a.inputs.x.from", "b never runs before a");
    assert!(result.valid());
}
