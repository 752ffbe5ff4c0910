//! Agents of any shape, and models that answer anything: every run ends, its counters agree, it goes only where its definition leads,
//! and it goes the same way however often its process dies.

use autonoe_workflow::definition::AgentDefinition;
use autonoe_workflow::graph::reachable;
use autonoe_workflow::validate;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::stage::{Played, Stage, answers, created, definition, exits, says};

/// The names of the steps that a random agent may have.
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A random agent: each number decides something about one of its steps.
#[derive(Debug, Clone)]
struct Shape {
    steps: Vec<[u8; 8]>,
    budget: u32,
    limit: u32,
    with_parts: bool,
}

fn shape() -> impl Strategy<Value = Shape> {
    let steps = prop::collection::vec(any::<[u8; 8]>(), 1..=NAMES.len());
    (steps, 1_u32..12, 2_u32..6, any::<bool>()).prop_map(|(steps, budget, limit, with_parts)| Shape {
        steps,
        budget,
        limit,
        with_parts,
    })
}

impl Shape {
    fn target(&self, choice: u8) -> Option<&'static str> {
        let choice = usize::from(choice) % (self.steps.len() + 1);
        NAMES[..self.steps.len()].get(choice).copied()
    }

    fn on_fail(&self, how: u8, where_to: u8) -> Value {
        let retries = how % 3;
        match (how / 3 % 5, self.target(where_to)) {
            (0, Some(target)) => json!({ "next": target }),
            (1, Some(target)) => {
                json!({ "retry": { "maxRetries": retries, "onExhausted": "fallback", "fallbackStep": target } })
            }
            (2, _) => json!({ "retry": { "maxRetries": retries, "onExhausted": "skip" } }),
            (3, _) => json!({ "complete": true }),
            _ => json!({ "retry": { "maxRetries": retries } }),
        }
    }

    fn step(&self, [kind, next, check, fail, fail_to, help, branch, part]: [u8; 8], own: &str) -> Value {
        if kind % 5 == 4 {
            let targets = json!({ "left": self.target(next), "right": self.target(branch) });
            let mut step = json!({ "type": "gateway", "prompt": "work.md", "output": { "type": "object" },
                "branch": { "field": "way", "targets": targets } });
            if let Some(default) = self.target(fail_to) {
                step["branch"]["default"] = json!(default);
            }
            return step;
        }
        let mut step = json!({ "prompt": "work.md", "output": { "type": "object" } });
        if let Some(next) = self.target(next) {
            step["next"] = json!(next);
        }
        match check % 4 {
            0 => {}
            1 => step["check"] = json!({ "type": "keyword", "keywords": ["GOOD"] }),
            2 => step["check"] = json!({ "type": "prompt", "prompt": "check.md" }),
            _ => {
                step["actions"] = json!([{ "type": "tests", "command": "tests" }]);
                step["check"] = json!({ "type": "action", "action": "tests" });
            }
        }
        if check % 4 > 0 {
            step["check"]["onFail"] = self.on_fail(fail, fail_to);
        }
        match (help % 4, self.target(branch)) {
            (1, Some(helper)) if helper != own => {
                let flow = ["resume", "abort", "restart"][usize::from(part) % 3];
                step["escalation"] =
                    json!({ "escalateTo": helper, "returnFlow": flow, "maxTimes": 1 + part % 2 });
            }
            (2, _) => {
                step["escalation"] =
                    json!({ "escalateTo": "somebody", "returnFlow": "resume", "maxTimes": 1 })
            }
            _ => {}
        }
        step
    }

    /// The agent, without the steps that cannot be reached.
    fn definition(&self) -> (tempfile::TempDir, AgentDefinition) {
        let mut steps = serde_json::Map::new();
        for (name, numbers) in NAMES.iter().zip(&self.steps) {
            steps.insert((*name).to_owned(), self.step(*numbers, name));
        }
        if self.with_parts && steps["a"]["type"] != "gateway" {
            steps["a"]["subSteps"] = json!(["one", "two"]);
            steps.insert("one".into(), json!({ "type": "subStep", "prompt": "work.md" }));
            let check = json!({ "type": "keyword", "keywords": ["GOOD"], "onFail": { "retry": { "maxRetries": 1, "onExhausted": "skip" } } });
            steps.insert("two".into(), json!({ "type": "subStep", "prompt": "work.md", "check": check }));
        }
        let agent = json!({ "stepLoopLimit": self.limit, "maxIterations": 60, "completion": {
            "type": "composite", "mode": "any", "conditions": [
                { "type": "iterationBudget", "maxIterations": self.budget * 3 },
                { "type": "keywordSignal", "keywords": ["ENOUGH"] },
                { "type": "stepMachine" },
            ],
        } });
        let prompts = [("work.md", "Work {uv-iteration} {uv-visit}."), ("check.md", "Good?")];
        let write = |steps: &serde_json::Map<String, Value>| {
            definition(agent.clone(), json!({ "entryStep": "a", "steps": steps }), &prompts)
        };
        let (_, whole) = write(&steps);
        let reached = reachable(&whole);
        steps.retain(|name, _| reached.contains(name));
        write(&steps)
    }
}

/// What the model and the tests say, by how much had happened before.
fn stage(answers_given: Vec<u8>) -> Stage {
    let given = answers_given.clone();
    let stage = Stage::new(move |_, asked| {
        let number = given[asked.ended % given.len()];
        if asked.wants_answer && asked.text.starts_with("Good?") {
            return answers(json!({ "passed": number.is_multiple_of(2), "reason": "so it is" }));
        }
        let way = ["left", "right", "up"][usize::from(number) % 3];
        let mut reply = answers(json!({ "way": way }));
        reply.text = says(["bad", "GOOD", "bad", "GOOD", "bad", "bad ENOUGH"][usize::from(number) % 6]).text;
        reply
    });
    let ended = stage.clone();
    let decide = move || {
        let number = answers_given[ended.ended() % answers_given.len()];
        exits(i32::from(number % 2), "")
    };
    *stage.outside().decides.lock().unwrap() = Some(Box::new(decide));
    stage
}

/// What must be true of every run.
fn hold(played: &Played, definition: &AgentDefinition) {
    let agent = played.report.agent.as_ref().expect("an agent");
    assert_eq!(played.result.summaries.len(), played.result.iterations as usize);
    let reached = reachable(definition);
    for (step, visits) in &agent.visits {
        assert!(reached.contains(step), "{step} cannot be reached");
        let left = agent.path.iter().filter(|left| *left == step).count();
        assert!(left <= *visits as usize, "{step} was left {left} times and entered {visits} times");
    }
    for summary in &played.result.summaries {
        assert!(agent.visits.contains_key(&summary.step));
    }
    let is_clear =
        played.result.success || played.report.outcome.fault().is_some() || played.report.outcome.is_limit();
    assert!(is_clear, "{:?}", played.report.outcome);
}

fn facts(played: &Played) -> Value {
    let agent = played.report.agent.as_ref().expect("an agent");
    json!({
        "outcome": played.report.outcome,
        "path": agent.path,
        "visits": agent.visits,
        "conditions": agent.conditions,
        "iterations": played.result.iterations,
        "steps": played.result.summaries.iter().map(|summary| (&summary.step, summary.passed)).collect::<Vec<_>>(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_ends_and_goes_the_same_way_however_often_its_process_dies(
        shape in shape(),
        said in prop::collection::vec(any::<u8>(), 1..20),
        deaths in prop::collection::vec(1_usize..12, 1..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (_place, definition) = shape.definition();
        let found = validate(&definition);
        prop_assert!(found.valid(), "{:?}", found.errors);
        let at_once = runtime.block_on(stage(said.clone()).play(created(definition.clone(), &[]).unwrap()));
        hold(&at_once, &definition);

        let stage = stage(said);
        let played = runtime.block_on(async {
            for writes in deaths {
                stage.dies_after(writes);
                let resumes = stage.kept().is_some();
                match stage.go(created(definition.clone(), &[]).unwrap(), resumes).await {
                    Ok(played) if played.code() != "killed" => return played,
                    Ok(_) | Err(_) => {}
                }
            }
            stage.lives();
            let resumes = stage.kept().is_some();
            stage.go(created(definition.clone(), &[]).unwrap(), resumes).await.expect("it goes on")
        });
        hold(&played, &definition);
        prop_assert_eq!(facts(&played), facts(&at_once));
    }
}
