//! One session, against seed 000's table of error responses and its lifecycle.

use crate::agent::{Instruction, SessionSpec};
use crate::call_watch::{CallWatch, FinishedCall, NoCallWatch, RepetitionVerdict};
use crate::clock::Clock;
use crate::event::{AgentEvent, Usage};
use crate::fault::Fault;
use crate::gate::{GateRuling, ToolCall};
use crate::instruction::Phase;
use crate::money::Usd;
use crate::outcome::SessionEnd;
use crate::plan::Iteration;
use crate::session::{Allowance, DISPOSE_LIMIT, Ledger, Session};
use crate::silence::{MAX_SILENCE, MAX_SILENCE_IN_TOOL};
use crate::sink::Sinks;
use crate::span::{SpanContext, TraceId};
use crate::spending::Spending;
use crate::testing::script::{AgentScript, cannot_open, out_of_quota, permanent, session, transient};
use crate::testing::{LogEntry, START, World, seconds, timestamp};

async fn run_session(world: &World, allowance: Allowance) -> Result<Iteration, Fault> {
    run_watched(world, allowance, &|| Box::new(NoCallWatch)).await
}

async fn run_watched(
    world: &World,
    allowance: Allowance,
    call_watch: &(dyn Fn() -> Box<dyn CallWatch> + Send + Sync),
) -> Result<Iteration, Fault> {
    let sinks = Sinks::default();
    let session = Session {
        backend: world,
        clock: world,
        journal: world,
        sinks: &sinks,
        span: SpanContext::run(1, TraceId(1)).session(1),
        worker: 0,
        interrupt: world.interrupt.clone(),
        halt: world.halt.clone(),
        allowance,
        call_watch,
    };
    let spec = SessionSpec {
        history: None,
        phase: Phase::Coding,
        model: "worker".to_owned(),
        thinking: None,
        answer_schema: None,
        directory: Default::default(),
        gates: Vec::new(),
        stop: world.interrupt.child_token(),
        steering: Default::default(),
    };
    let instruction = Instruction::briefed(Phase::Coding, "coding".to_owned(), None);
    session.run(spec, instruction).await
}

async fn outcome_of(script: AgentScript) -> SessionEnd {
    let world = World::new().sessions([script]);
    run_session(&world, Allowance::default()).await.expect("the journal works").outcome
}

#[tokio::test(start_paused = true)]
async fn seed_000_error_responses_normal_completion() {
    assert_eq!(outcome_of(session().completes()).await, SessionEnd::Completed);
}

#[tokio::test(start_paused = true)]
async fn seed_000_error_responses_execution_error() {
    let fault = transient("broke");
    let expected = SessionEnd::ExecutionError { fault: fault.clone() };
    assert_eq!(outcome_of(session().fails(fault)).await, expected);
}

#[tokio::test(start_paused = true)]
async fn seed_000_error_responses_max_iterations_hit() {
    assert_eq!(outcome_of(session().ends(SessionEnd::MaxTurns)).await, SessionEnd::MaxTurns);
}

#[tokio::test(start_paused = true)]
async fn seed_000_error_responses_budget_exceeded() {
    let expected = SessionEnd::BudgetExceeded { limit_usd: Usd(1.0) };
    assert_eq!(outcome_of(session().ends(expected.clone())).await, expected);
}

#[tokio::test(start_paused = true)]
async fn seed_000_error_responses_quota_exceeded() {
    assert_eq!(outcome_of(session().ends(out_of_quota(None))).await, out_of_quota(None));
}

#[tokio::test(start_paused = true)]
async fn seed_000_error_responses_unhandled_exception() {
    let expected = SessionEnd::ExecutionError { fault: permanent("not_installed") };
    assert_eq!(outcome_of(cannot_open(permanent("not_installed"))).await, expected);
    let SessionEnd::ExecutionError { fault } = outcome_of(session().says("bye")).await else {
        panic!("a stream without an end is not a success");
    };
    assert_eq!((fault.code.as_str(), fault.recoverable()), ("no_end", true));
}

#[tokio::test(start_paused = true)]
async fn events_after_the_end_are_ignored() {
    let world = World::new().sessions([session().completes().spends(5.0).fails(transient("late"))]);
    let finished = run_session(&world, Allowance::default()).await.expect("the journal works");
    assert_eq!((finished.outcome, finished.spent), (SessionEnd::Completed, Ledger::default()));
}

#[tokio::test(start_paused = true)]
async fn seed_000_session_lifecycle_query_then_dispose() {
    let world = World::new().sessions([session().says("hello").completes()]);
    run_session(&world, Allowance::default()).await.expect("the journal works");
    let instructed = LogEntry::Instructed { name: Phase::Coding, text: "coding".to_owned() };
    let instructed = world.position("query", |entry| *entry == instructed);
    assert!(instructed < world.position("disposal", |entry| *entry == LogEntry::Disposed { stopped: true }));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_end_is_dropped_after_a_moment() {
    let world = World::new().sessions([session().never_disposed().completes()]);
    let running = run_session(&world, Allowance::default());
    let finished = tokio::time::timeout(seconds(3_600), running).await.expect("the session hangs");
    assert_eq!(finished.expect("the journal works").outcome, SessionEnd::Completed);
    assert_eq!(world.now(), timestamp(START) + DISPOSE_LIMIT);
}

#[tokio::test(start_paused = true)]
async fn a_cleanup_after_an_interrupt_is_reported() {
    let world =
        World::new().sessions([session().reports_cleanup("a lock was removed").user_interrupts().hangs()]);
    let finished = run_session(&world, Allowance::default()).await.expect("the journal works");
    assert_eq!(finished.outcome, SessionEnd::Interrupted);
    let warning = AgentEvent::Warning { message: "a lock was removed".to_owned() };
    assert!(world.log().contains(&LogEntry::Stored(1, warning.into())), "{:?}", world.log());
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_disposed_of_when_the_journal_fails() {
    let world = World::new().sessions([session().says("hello").completes()]);
    let world = world.journal_refuses(|entry| matches!(entry, LogEntry::Stored(..)));
    let fault = run_session(&world, Allowance::default()).await.expect_err("the journal is full");
    assert_eq!(fault.code, "disk_full");
    assert!(world.log().contains(&LogEntry::Disposed { stopped: true }));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_before_the_session_opens_nothing() {
    let world = World::new();
    world.interrupt.cancel();
    let finished = run_session(&world, Allowance::default()).await.expect("the journal works");
    assert_eq!((finished.outcome, world.phases().len()), (SessionEnd::Interrupted, 0));
}

#[tokio::test(start_paused = true)]
async fn the_cost_before_the_session_counts() {
    let allowance = Allowance { cost: Some((Spending::new(Usd(0.9)), Usd(1.0))), deadline: None };
    let world = World::new().sessions([session().spends(0.2).completes()]);
    let finished = run_session(&world, allowance).await.expect("the journal works");
    assert_eq!(finished.outcome, SessionEnd::BudgetExceeded { limit_usd: Usd(1.0) });
    assert_eq!(finished.spent.total(), Some(Usd(0.2)), "the session's own cost only");
}

#[test]
fn a_ledger_counts_cached_tokens_and_unknown_prices() {
    let mut ledger = Ledger::default();
    let usage = Usage {
        input_tokens: 1,
        output_tokens: 2,
        reasoning_tokens: 1,
        cache_read_tokens: 4,
        cache_write_tokens: 8,
        cost_usd: None,
    };
    ledger.add_usage(&usage);
    ledger.add_usage(&Usage { cost_usd: Some(Usd(0.5)), ..usage });
    assert_eq!((ledger.input_tokens, ledger.output_tokens, ledger.total()), (26, 4, None));
    let mut sum = Ledger { cost: Usd(1.0), ..Ledger::default() };
    assert_eq!(sum.total(), Some(Usd(1.0)));
    sum.add(&ledger);
    assert_eq!((sum.cost, sum.total(), sum.input_tokens, sum.output_tokens), (Usd(1.5), None, 26, 4));
}

#[tokio::test(start_paused = true)]
async fn a_halt_ends_the_session_at_once_and_disposes_of_its_agent() {
    let world = World::new().sessions([session().says("hello").halts(permanent("disk_full")).hangs()]);
    let finished = run_session(&world, Allowance::default()).await.expect("the journal works");
    assert_eq!(finished.outcome, SessionEnd::ExecutionError { fault: permanent("disk_full") });
    assert!(world.log().contains(&LogEntry::Disposed { stopped: true }));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_falls_silent_is_given_up() {
    let world = World::new().sessions([session().says("hello").hangs()]);
    let finished = run_session(&world, Allowance::default()).await.expect("the journal works");
    let fault = finished.outcome.fault().cloned().expect("a fault");
    assert_eq!((fault.code.as_str(), finished.duration), ("agent_silent", MAX_SILENCE));
    assert_eq!(fault.message, "The agent sent no events for 30m while no tool was running.");
}

#[tokio::test(start_paused = true)]
async fn the_silence_limit_is_longer_while_a_tool_runs() {
    let call = ToolCall { id: "1".to_owned(), name: "Bash".to_owned(), input: serde_json::json!({}) };
    let world = World::new().sessions([session().emits(AgentEvent::ToolCall(call)).hangs()]);
    let finished = run_session(&world, Allowance::default()).await.expect("the journal works");
    assert_eq!(finished.duration, MAX_SILENCE_IN_TOOL);
}

/// Tells after the second call and ends after the third one, whatever they are.
struct ThirdCall(u32);

impl CallWatch for ThirdCall {
    fn observe(&mut self, call: FinishedCall<'_>) -> RepetitionVerdict {
        assert_eq!((call.tool, call.input), ("Bash", r#"{"command":"ls"}"#));
        self.0 += 1;
        match self.0 {
            2 => RepetitionVerdict::Tell("Try something else.".to_owned()),
            3 => RepetitionVerdict::End(format!("{} took {:?}.", call.result, call.elapsed)),
            _ => RepetitionVerdict::Fine,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_repeats_itself_is_told_and_then_its_session_ends_as_stuck() {
    let mut script = session();
    for id in ["1", "2", "3", "4"] {
        let (id, name) = (id.to_owned(), "Bash".to_owned());
        let input = serde_json::json!({ "command": "ls" });
        script = script
            .emits(AgentEvent::ToolCall(ToolCall { id: id.clone(), name: name.clone(), input }))
            .takes(seconds(5))
            .emits(AgentEvent::tool_result(id, name, "The call", false, GateRuling::Allowed));
    }
    let world = World::new().sessions([script.hangs()]);
    let finished = run_watched(&world, Allowance::default(), &|| Box::new(ThirdCall(0))).await;
    let finished = finished.expect("the journal works");
    assert_eq!(finished.outcome, SessionEnd::Stuck { reason: "The call took 5s.".to_owned() });
    assert_eq!(finished.output.commands, ["ls", "ls", "ls"]);
    assert_eq!(finished.output.in_commands, seconds(15));
    assert!(finished.counts(), "it is a session like any other");
}

#[tokio::test(start_paused = true)]
async fn calls_within_another_call_are_not_watched() {
    let call = |id: &str, name: &str| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        input: serde_json::json!({ "command": "ls" }),
    };
    let mut script = session().emits(AgentEvent::ToolCall(call("task", "Task")));
    for id in ["1", "2", "3", "4"] {
        script = script.emits(AgentEvent::ToolCall(call(id, "Bash"))).emits(AgentEvent::tool_result(
            id,
            "Bash",
            "The call",
            false,
            GateRuling::Allowed,
        ));
    }
    let world = World::new().sessions([script.completes()]);
    let finished = run_watched(&world, Allowance::default(), &|| Box::new(ThirdCall(0))).await;
    assert_eq!(finished.expect("the journal works").outcome, SessionEnd::Completed);
}
