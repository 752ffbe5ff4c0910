//! The way through the steps.

use serde_json::{Value, json};

use super::{fine, told, validate};
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
fn a_step_that_no_way_leads_to_is_an_error() {
    let result = validate(&of_steps(json!({}), json!({ "a": step(None), "b": step(Some("a")) })));
    told(&result.errors, "steps.json", "$.steps.b", "no way leads here from the entry step, a");
}

#[test]
fn an_agent_that_is_done_when_its_steps_are_through_must_have_a_way_out() {
    let steps = json!({ "a": step(Some("b")), "b": step(Some("c")), "c": step(Some("b")) });
    let composite = |mode: &str, other: Value| json!({ "type": "composite", "mode": mode, "conditions": [{ "type": "stepMachine" }, other] });
    let keyword = json!({ "type": "keywordSignal", "keywords": ["DONE"] });
    for completion in [
        json!({ "type": "stepMachine" }),
        composite("any", json!({ "type": "stepMachine" })),
        composite("all", keyword.clone()),
    ] {
        let result = validate(&of_steps(done(completion), steps.clone()));
        told(&result.errors, "steps.json", "$.steps", "no way out of these: b, c");
    }
    fine(&of_steps(done(keyword.clone()), steps.clone()));
    fine(&of_steps(done(composite("any", keyword)), steps));
}

/// StepTransitionContract: 同一ステップの連続実行（retry除く）が STEP_LOOP_LIMIT を超えた場合、LoopError を発生させる
#[test]
fn a_step_that_is_followed_by_itself_has_no_budget_above_the_limit() {
    let budget = |count: u32| json!({ "type": "iterationBudget", "maxIterations": count });
    for steps in [
        json!({ "a": step(None) }),
        json!({ "a": step(Some("a")) }),
        json!({ "a": step(Some("b")), "b": step(Some("b")) }),
    ] {
        fine(&of_steps(done(budget(10)), steps.clone()));
        let result = validate(&of_steps(done(budget(11)), steps.clone()));
        told(
            &result.errors,
            "agent.json",
            "$.completion.maxIterations",
            "after 10 times in a row, before the 11 iterations",
        );
        let mut wider = done(budget(11));
        wider["stepLoopLimit"] = json!(11);
        fine(&of_steps(wider, steps));
    }
    fine(&of_steps(done(budget(50)), json!({ "a": step(Some("b")), "b": step(None) })));
    let path = "$.completion.conditions[0].maxIterations";
    let composite = |mode: &str| {
        let conditions = json!([budget(11), { "type": "checkBudget", "maxChecks": 2 }]);
        of_steps(
            done(json!({ "type": "composite", "mode": mode, "conditions": conditions })),
            json!({ "a": step(None) }),
        )
    };
    told(&validate(&composite("all")).errors, "agent.json", path, "in a row");
    told(&validate(&composite("any")).warnings, "agent.json", path, "in a row");
}

#[test]
fn what_is_looked_at_was_there_before() {
    let output = json!({ "type": "object" });
    let steps = json!({
        "a": { "type": "gateway", "branch": { "from": "b", "field": "x", "targets": { "y": "b" } } },
        "b": { "prompt": "plan.md", "output": output },
    });
    let result = validate(&of_steps(json!({}), steps.clone()));
    told(&result.warnings, "steps.json", "$.steps.a.branch.from", "b is never run before a");
    let anew = validate(&of_steps(done(json!({ "type": "checkBudget", "maxChecks": 3 })), steps));
    assert!(anew.warnings.is_empty(), "the steps begin anew, and then it was");

    let input = |over: Value| {
        json!({
            "a": { "prompt": "plan.md", "inputs": { "x": over }, "next": "b" },
            "b": { "prompt": "plan.md" },
        })
    };
    let result = validate(&of_steps(json!({}), input(json!({ "from": "b" }))));
    told(&result.errors, "steps.json", "$.steps.a.inputs.x.from", "b is never run before a");
    let result = validate(&of_steps(json!({}), input(json!({ "from": "b", "required": false }))));
    told(&result.warnings, "steps.json", "$.steps.a.inputs.x.from", "b is never run before a");
    assert!(result.valid());
}
