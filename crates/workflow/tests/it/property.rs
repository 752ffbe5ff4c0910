//! Random agents and random model output: every run ends, its counters are consistent, it follows its definition, and it takes
//! the same path however often its process is killed.

use autonoe_workflow::definition::AgentDefinition;
use autonoe_workflow::graph::reachable;
use autonoe_workflow::validate;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::run_fixture::{FinishedRun, RunFixture, answers, build_agent, definition, exits, says};

/// The names of the steps of a random agent.
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A random agent: each number decides a property of one of its steps.
#[derive(Debug, Clone)]
struct RandomAgent {
    steps: Vec<[u8; 8]>,
    budget: u32,
    limit: u32,
    with_sub_steps: bool,
}

fn random_agent() -> impl Strategy<Value = RandomAgent> {
    let steps = prop::collection::vec(any::<[u8; 8]>(), 1..=NAMES.len());
    (steps, 1_u32..12, 2_u32..6, any::<bool>()).prop_map(|(steps, budget, limit, with_sub_steps)| {
        RandomAgent { steps, budget, limit, with_sub_steps }
    })
}

impl RandomAgent {
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
        if self.with_sub_steps && steps["a"]["type"] != "gateway" {
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

/// The output of the model and the commands, chosen by the number of sessions so far.
fn fixture(choices: Vec<u8>) -> RunFixture {
    let given = choices.clone();
    let fixture = RunFixture::new(move |_, request| {
        let number = given[request.ended % given.len()];
        if request.wants_answer && request.text.starts_with("Good?") {
            return answers(json!({ "passed": number.is_multiple_of(2), "reason": "looks good" }));
        }
        let way = ["left", "right", "up"][usize::from(number) % 3];
        let mut reply = answers(json!({ "way": way }));
        reply.text = says(["bad", "GOOD", "bad", "GOOD", "bad", "bad ENOUGH"][usize::from(number) % 6]).text;
        reply
    });
    let ended = fixture.clone();
    let decide = move || {
        let number = choices[ended.ended_sessions() % choices.len()];
        exits(i32::from(number % 2), "")
    };
    *fixture.host().any_command.lock().unwrap() = Some(Box::new(decide));
    fixture
}

/// Checks the invariants of every run.
fn assert_invariants(finished: &FinishedRun, definition: &AgentDefinition) {
    let agent = finished.report.plan.steps().expect("an agent");
    assert_eq!(finished.result.summaries.len(), finished.result.iterations as usize);
    let reached = reachable(definition);
    for (step, visits) in &agent.visits {
        assert!(reached.contains(step), "{step} cannot be reached");
        let left = agent.path.iter().filter(|left| *left == step).count();
        assert!(left <= *visits as usize, "{step} was left {left} times and entered {visits} times");
    }
    for summary in &finished.result.summaries {
        assert!(agent.visits.contains_key(&summary.step));
    }
    let is_clear = finished.result.success
        || finished.report.outcome.fault().is_some()
        || finished.report.outcome.is_limit();
    assert!(is_clear, "{:?}", finished.report.outcome);
}

fn facts(finished: &FinishedRun) -> Value {
    let agent = finished.report.plan.steps().expect("an agent");
    json!({
        "outcome": finished.report.outcome,
        "path": agent.path,
        "visits": agent.visits,
        "conditions": agent.conditions,
        "iterations": finished.result.iterations,
        "steps": finished.result.summaries.iter().map(|summary| (&summary.step, summary.passed)).collect::<Vec<_>>(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_ends_and_takes_the_same_path_however_often_its_process_is_killed(
        random_agent in random_agent(),
        choices in prop::collection::vec(any::<u8>(), 1..20),
        kills in prop::collection::vec(1_usize..12, 1..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (_dir, definition) = random_agent.definition();
        let result = validate(&definition);
        prop_assert!(result.valid(), "{:?}", result.errors);
        let uninterrupted = runtime.block_on(fixture(choices.clone()).run(build_agent(definition.clone(), &[]).unwrap()));
        assert_invariants(&uninterrupted, &definition);

        let fixture = fixture(choices);
        let finished = runtime.block_on(async {
            for writes in kills {
                fixture.kill_after(writes);
                let resumes = fixture.saved().is_some();
                match fixture.run_or_resume(build_agent(definition.clone(), &[]).unwrap(), resumes).await {
                    Ok(finished) if finished.code() != "killed" => return finished,
                    Ok(_) | Err(_) => {}
                }
            }
            fixture.stay_alive();
            let resumes = fixture.saved().is_some();
            fixture.run_or_resume(build_agent(definition.clone(), &[]).unwrap(), resumes).await.expect("it resumes")
        });
        assert_invariants(&finished, &definition);
        prop_assert_eq!(facts(&finished), facts(&uninterrupted));
    }
}
