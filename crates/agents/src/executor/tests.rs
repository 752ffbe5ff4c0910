use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::event::Event;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::Outcome;
use futures::{StreamExt, stream};

use super::{DEFAULT_TIMEOUT, ExecutionResult, Executor, Task};

/// A backend whose sessions say what they are told to, one after the other; `None` never ends.
#[derive(Default)]
struct Stage {
    scripts: Mutex<Vec<Option<Vec<Event>>>>,
    prompts: Arc<Mutex<Vec<(String, String)>>>,
    disposed: Arc<AtomicU32>,
}

struct Actor {
    script: Option<Vec<Event>>,
    model: String,
    prompts: Arc<Mutex<Vec<(String, String)>>>,
    disposed: Arc<AtomicU32>,
}

#[async_trait]
impl Backend for Stage {
    fn name(&self) -> &str {
        "stage"
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        let mut scripts = self.scripts.lock().expect("lock");
        if scripts.is_empty() {
            return Err(Fault::lasting(Layer::Config, "x", "Nobody plays."));
        }
        let (prompts, disposed) = (Arc::clone(&self.prompts), Arc::clone(&self.disposed));
        Ok(Box::new(Actor { script: scripts.remove(0), model: spec.model, prompts, disposed }))
    }
}

#[async_trait]
impl Agent for Actor {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        self.prompts.lock().expect("lock").push((self.model.clone(), instruction.text));
        match self.script.take() {
            Some(events) => stream::iter(events).boxed(),
            None => stream::pending().boxed(),
        }
    }

    async fn dispose(self: Box<Self>) {
        self.disposed.fetch_add(1, Ordering::Relaxed);
    }
}

fn says(text: &str) -> Option<Vec<Event>> {
    let outcome = Outcome::Completed;
    Some(vec![Event::Text { text: text.to_owned() }, Event::End { outcome }])
}

fn stage(scripts: impl IntoIterator<Item = Option<Vec<Event>>>) -> Stage {
    Stage { scripts: Mutex::new(scripts.into_iter().collect()), ..Stage::default() }
}

fn executor(stage: &Stage) -> Executor<'_> {
    Executor { backend: stage, default_model: "usual".to_owned(), gates: Vec::new() }
}

fn task(criteria: Option<&str>) -> Task {
    Task {
        id: "T1".to_owned(),
        goal: "Build it".to_owned(),
        success_criteria: criteria.map(str::to_owned),
        timeout: DEFAULT_TIMEOUT,
        answer: None,
        model: None,
    }
}

fn done(output: &str) -> ExecutionResult {
    let duration = Duration::ZERO;
    let output = output.to_owned();
    ExecutionResult { success: true, output, answer: None, error: None, duration, conversation: None }
}

#[tokio::test(start_paused = true)]
async fn the_prompt_has_the_layout_of_seed_004() {
    let stage = stage([says("done"), says("done")]);
    let executor = executor(&stage);
    assert_eq!(executor.name(), "stage");
    executor.execute(&task(Some("it runs")), Some("a hint"), None).await;
    executor.execute(&task(None), None, Some("other")).await;
    let prompts = stage.prompts.lock().expect("lock").clone();
    let whole = "## Goal\nBuild it\n\n## Context\na hint\n\n## Success Criteria\nit runs";
    let short = "## Goal\nBuild it";
    assert_eq!(prompts, [("usual".to_owned(), whole.to_owned()), ("other".to_owned(), short.to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn failure_is_told_by_the_end_and_not_by_words() {
    let fault = Fault::passing(Layer::Agent, "x", "It broke.");
    let failed = Some(vec![
        Event::Text { text: "all is well".to_owned() },
        Event::End { outcome: Outcome::ExecutionError { fault } },
    ]);
    let silent = Some(vec![Event::Text { text: "bye".to_owned() }]);
    let stage = stage([says("error: fatal: traceback"), failed, silent]);
    let executor = executor(&stage);
    let mut results = Vec::new();
    for _ in 0..4 {
        let result = executor.execute(&task(None), None, None).await;
        results.push((result.success, result.error));
    }
    let error = |text: &str| (false, Some(text.to_owned()));
    assert_eq!(
        results,
        [
            (true, None),
            error("It broke."),
            error("The agent ended without saying how."),
            error("Nobody plays."),
        ]
    );
    assert_eq!(stage.disposed.load(Ordering::Relaxed), 3, "every agent that was opened");
}

#[tokio::test(start_paused = true)]
async fn whoever_is_not_done_in_time_is_ended() {
    let stage = stage([None]);
    let result = executor(&stage).execute(&task(None), None, None).await;
    assert_eq!(result.error.as_deref(), Some("Task timed out after 1800 seconds"));
    assert!(!result.success);
    assert_eq!(stage.disposed.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn success_is_verified_by_another_session_and_only_a_plain_yes_counts() {
    for (said, expected) in [
        ("I looked.\nYES", true),
        ("YES\n\n", true),
        ("NO", false),
        ("yes, but not really", false),
        ("YES\nNO", false),
        ("", false),
    ] {
        let stage = stage([says(said)]);
        assert_eq!(executor(&stage).verify_success(&task(Some("c")), &done("x")).await, expected, "{said:?}");
    }
    let stage = stage([]);
    assert!(
        executor(&stage).verify_success(&task(None), &done("x")).await,
        "no criteria: as the result says"
    );
    let failed = ExecutionResult { success: false, ..done("x") };
    assert!(!executor(&stage).verify_success(&task(Some("c")), &failed).await, "a failure needs no judge");
}
