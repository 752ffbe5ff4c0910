//! Sample runs: events as the runner and the agents send them, with the span contexts that `core` assigns.

use std::time::Duration;

use autonoe_core::event::{AgentEvent, ChunkKind, Event, RunEvent, Usage};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::gate::{GateRuling, ToolCall};
use autonoe_core::instruction::Phase;
use autonoe_core::money::Usd;
use autonoe_core::outcome::{PlanReport, RunOutcome, RunReport, SessionEnd};
use autonoe_core::sink::Sink;
use autonoe_core::span::{SessionSpans, SpanContext, TraceId};
use autonoe_core::status::Tally;
use serde_json::json;

pub const TRACE: TraceId = TraceId(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);

/// The content of the sample run, which must not be sent without opt-in.
pub const CONTENT: [&str; 5] =
    ["build the parser", "I will look first", "let me think", "cat notes.txt", "the notes say"];

pub fn run() -> SpanContext {
    SpanContext::run(7, TRACE)
}

/// Sends the events of a session, each in its span.
pub fn show_session(sink: &dyn Sink, number: u32, events: &[AgentEvent]) {
    let session = run().session(number);
    let mut spans = SessionSpans::new(session.clone());
    sink.on(&session, &started(number));
    sink.on(&session, &RunEvent::Instructed { text: "build the parser".into() }.into());
    for event in events {
        sink.on(&spans.of(event), &event.into());
    }
}

/// A run with one session: two model calls, a successful tool call and a denied one.
pub fn sample_run(sink: &dyn Sink) {
    sink.on(&run(), &run_started("run", 2).into());
    show_session(
        sink,
        3,
        &[
            AgentEvent::ModelCallStarted { model: "claude-sonnet-5".into() },
            AgentEvent::Chunk { kind: ChunkKind::Thought, text: "let me".into() },
            AgentEvent::Thinking { text: "let me think".into() },
            AgentEvent::Text { text: "I will look first".into() },
            AgentEvent::Usage(usage(100, 20, Some(0.5))),
            AgentEvent::ModelCallEnded { fault: None },
            tool("a", "Bash", "cat notes.txt"),
            tool("b", "Write", "notes.txt"),
            tool_result("b", "Write", "no", true, Some("policy")),
            tool_result("a", "Bash", "the notes say hunter2hunter2", false, None),
            AgentEvent::Warning { message: "the notes say so".into() },
            AgentEvent::ModelCallStarted { model: "claude-opus-5".into() },
            AgentEvent::Usage(usage(200, 30, Some(0.25))),
            AgentEvent::ModelCallEnded { fault: None },
            AgentEvent::End { outcome: SessionEnd::Completed },
        ],
    );
    sink.on(&run().session(3), &ended(3, SessionEnd::Completed));
    sink.on(&run(), &RunEvent::Outcome(report(RunOutcome::AllPassed)).into());
}

pub fn many_sessions(sink: &dyn Sink, count: u32) {
    for number in 1..=count {
        show_session(sink, number, &[]);
        sink.on(&run().session(number), &ended(number, SessionEnd::Completed));
    }
}

pub fn started(number: u32) -> Event {
    RunEvent::SessionStarted {
        deliverable: None,
        number,
        instruction: Phase::Coding,
        step: None,
        backend: "native".into(),
        model: "claude-sonnet-5".into(),
    }
    .into()
}

pub fn ended(number: u32, outcome: SessionEnd) -> Event {
    RunEvent::SessionEnded { number, outcome, cost_usd: Some(Usd(0.75)), duration: Duration::from_secs(1) }
        .into()
}

pub fn report(outcome: RunOutcome) -> RunReport {
    RunReport {
        exit_code: outcome.exit_code(),
        outcome,
        iterations: 3,
        duration: Duration::from_secs(2),
        cost_usd: Some(Usd(0.75)),
        plan: PlanReport::Deliverables(Tally { total: 5, passed: 4, verified: 1, ..Tally::default() }),
    }
}

pub fn timeout() -> Fault {
    Fault::transient(FaultLayer::Model, "timeout", "The provider said: the notes say too late.")
}

pub fn usage(input: u64, output: u64, cost: Option<f64>) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: output,
        reasoning_tokens: 2,
        cache_read_tokens: 7,
        cache_write_tokens: 3,
        cost_usd: cost.map(Usd),
    }
}

pub fn tool(id: &str, name: &str, command: &str) -> AgentEvent {
    AgentEvent::ToolCall(ToolCall { id: id.into(), name: name.into(), input: json!({ "command": command }) })
}

pub fn tool_result(
    id: &str,
    name: &str,
    content: &str,
    is_error: bool,
    denied_by: Option<&str>,
) -> AgentEvent {
    let ruling = denied_by
        .map_or(GateRuling::Allowed, |gate| GateRuling::Denied { gate: gate.into(), reason: content.into() });
    AgentEvent::tool_result(id, name, content, is_error, ruling)
}

pub fn run_started(command: &str, sessions_before: u32) -> RunEvent {
    RunEvent::RunStarted {
        command: command.to_owned(),
        sessions_before,
        cost_before_usd: Usd::ZERO,
        max_cost_usd: None,
        max_sessions: None,
    }
}
