//! The journal is written before an effect is trusted and before anyone sees it (invariant 2).

use super::{max_iterations, options, waiting_for_quota};
use crate::deliverable::DeliverableStatus::Pending;
use crate::event::{Activity, AgentEvent, Event, RunEvent};
use crate::instruction::Phase::Coding;
use crate::journal::JournalRecord;
use crate::money::Usd;
use crate::outcome::SessionEnd;
use crate::plan::RunState;
use crate::span::{SpanContext, TraceId};
use crate::testing::script::{AgentScript, out_of_quota, session};
use crate::testing::{LogEntry, World, seconds, timestamp};

fn passes() -> AgentScript {
    session().passes("A").completes()
}

fn world(scripts: impl IntoIterator<Item = AgentScript>) -> World {
    World::with(&[("A", Pending)]).sessions(scripts)
}

fn is_session_started(entry: &LogEntry) -> bool {
    matches!(entry, LogEntry::Recorded(JournalRecord::SessionStarted { .. }))
}

fn is_session_ended(entry: &LogEntry) -> bool {
    matches!(entry, LogEntry::Recorded(JournalRecord::SessionEnded { .. }))
}

fn is_run_ended(entry: &LogEntry) -> bool {
    matches!(entry, LogEntry::Recorded(JournalRecord::RunEnded(_)))
}

fn is_shown(entry: &LogEntry, wanted: fn(&Event) -> bool) -> bool {
    matches!(entry, LogEntry::Shown(_, event) if wanted(event))
}

#[tokio::test(start_paused = true)]
async fn invariant_2_a_session_is_recorded_before_it_is_shown_and_opened() {
    let world = world([passes()]);
    world.run(options()).await;
    let recorded = world.position("record", is_session_started);
    let shown = |event: &Event| matches!(event, Event::Run(RunEvent::SessionStarted { .. }));
    assert!(recorded < world.position("event", |entry| is_shown(entry, shown)));
    assert!(recorded < world.position("opening", |entry| matches!(entry, LogEntry::Opened { .. })));
}

#[tokio::test(start_paused = true)]
async fn invariant_2_the_end_of_a_session_is_recorded_before_it_is_shown() {
    let world = world([passes()]);
    world.run(options()).await;
    let recorded = world.position("record", is_session_ended);
    let shown = |event: &Event| matches!(event, Event::Run(RunEvent::SessionEnded { .. }));
    assert!(recorded < world.position("event", |entry| is_shown(entry, shown)));
    assert!(world.position("disposal", |entry| matches!(entry, LogEntry::Disposed { .. })) < recorded);
}

#[tokio::test(start_paused = true)]
async fn invariant_2_the_end_of_the_run_is_recorded_before_it_is_shown() {
    let world = world([passes()]);
    let report = world.run(options()).await;
    let log = world.log();
    let ending = [
        LogEntry::Recorded(JournalRecord::RunEnded(Box::new(report.clone()))),
        LogEntry::Shown(SpanContext::run(1, TraceId(1)), RunEvent::Outcome(report).into()),
    ];
    assert_eq!(log[log.len() - 2..], ending);
}

#[tokio::test(start_paused = true)]
async fn invariant_2_an_event_is_stored_before_it_is_shown_and_a_cost_is_recorded_at_once() {
    let world = world([session().says("hello").spends(0.5).says("on").passes("A").completes()]);
    world.run(options()).await;
    let text = AgentEvent::Text { text: "hello".to_owned() };
    let stored = world.position("stored text", |entry| *entry == LogEntry::Stored(1, text.clone().into()));
    let span = SpanContext::run(1, TraceId(1)).session(1);
    assert!(
        stored < world.position("text", |entry| *entry == LogEntry::Shown(span.clone(), text.clone().into()))
    );
    let recorded = world.position("cost", |entry| matches!(entry, LogEntry::CostRecorded(1, _)));
    let later = AgentEvent::Text { text: "on".to_owned() };
    assert!(
        recorded
            < world.position(
                "text",
                |entry| matches!(entry, LogEntry::Stored(1, event) if *event == Event::Agent(later.clone()))
            )
    );
}

#[tokio::test(start_paused = true)]
async fn transient_activity_is_shown_and_not_stored() {
    let working = AgentEvent::Working { activity: Activity::Thinking };
    let world = world([session().emits(working.clone()).passes("A").completes()]);
    world.run(options()).await;
    assert!(world.shown().contains(&working.clone().into()));
    assert!(!world.log().contains(&LogEntry::Stored(1, working.into())));
}

#[tokio::test(start_paused = true)]
async fn a_session_is_recorded_with_its_parameters_and_results() {
    let script = session().spends(0.5).takes(seconds(20)).passes("A").completes();
    let world = world([session().completes(), script]);
    world.run_from(RunState { sessions: 4, ..RunState::default() }, options()).await;
    let started = |number| JournalRecord::SessionStarted {
        number,
        instruction: Coding,
        step: None,
        backend: "scripted".to_owned(),
        model: "worker".to_owned(),
    };
    let records = world.records();
    assert_eq!(records.len(), 5);
    assert_eq!((&records[0], &records[2]), (&started(5), &started(6)));
    let JournalRecord::SessionEnded { number: 6, outcome: SessionEnd::Completed, spent, duration, .. } =
        &records[3]
    else {
        panic!("{:?}", records[3]);
    };
    assert_eq!((spent.total(), *duration), (Some(Usd(0.5)), seconds(20)));
    assert_eq!((spent.input_tokens, spent.output_tokens), (10, 2));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_reports_its_own_cost_and_time() {
    let world = world([
        session().spends(0.25).takes(seconds(20)).completes(),
        session().spends(None).passes("A").completes(),
    ]);
    world.run(options()).await;
    let ended = |number, cost_usd, duration| RunEvent::SessionEnded {
        number,
        outcome: SessionEnd::Completed,
        cost_usd,
        duration: seconds(duration),
    };
    assert!(world.run_events().contains(&ended(1, Some(Usd(0.25)), 20)));
    assert!(world.run_events().contains(&ended(2, None, 0)));
}

#[tokio::test(start_paused = true)]
async fn a_quota_wait_is_recorded_before_the_wait_and_even_without_waiting() {
    let reset = Some(timestamp("2026-01-10T10:00:00Z"));
    let used_up = || session().ends(out_of_quota(reset));
    let is_wait = |entry: &LogEntry| matches!(entry, LogEntry::Recorded(JournalRecord::QuotaWait(wait)) if wait.resets_at == reset);
    let waiting = world([used_up(), passes()]);
    waiting.run(waiting_for_quota()).await;
    let recorded = waiting.position("wait", is_wait);
    assert!(recorded < waiting.position("sleep", |entry| matches!(entry, LogEntry::Slept(_))));
    let leaving = world([used_up()]);
    leaving.run(options()).await;
    assert!(leaving.position("wait", is_wait) < leaving.position("end", is_run_ended));
}

/// `refused`: journal writes that fail; `agents`: agents opened until the run stops.
async fn assert_stops(refused: fn(&LogEntry) -> bool, agents: usize) {
    let world = world((0..agents).map(|_| session().says("hello").spends(0.5).completes()));
    let world = world.journal_refuses(refused);
    let report = world.run(max_iterations(5)).await;
    assert_eq!(report.outcome.name(), "failed");
    assert_eq!(report.outcome.fault().map(|fault| fault.code.as_str()), Some("disk_full"));
    assert_eq!(world.phases().len(), agents);
    assert!(world.records().iter().any(|record| matches!(record, JournalRecord::RunEnded(_))));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_recorded_is_not_opened() {
    assert_stops(is_session_started, 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_end_cannot_be_recorded_stops_the_run() {
    assert_stops(is_session_ended, 1).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_be_stored_stops_the_run() {
    assert_stops(|entry| matches!(entry, LogEntry::Stored(..)), 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_cost_that_cannot_be_recorded_stops_the_run() {
    assert_stops(|entry| matches!(entry, LogEntry::CostRecorded(..)), 1).await;
}

#[tokio::test(start_paused = true)]
async fn an_end_of_a_session_that_is_not_recorded_is_not_shown() {
    let world = world([session().completes()]).journal_refuses(is_session_ended);
    world.run(options()).await;
    assert!(!world.shown().iter().any(|event| matches!(event, Event::Run(RunEvent::SessionEnded { .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_quota_wait_that_cannot_be_recorded_stops_the_run() {
    let world = world([session().ends(out_of_quota(None))]);
    let world =
        world.journal_refuses(|entry| matches!(entry, LogEntry::Recorded(JournalRecord::QuotaWait(_))));
    assert_eq!(world.run(waiting_for_quota()).await.outcome.name(), "failed");
}

#[tokio::test(start_paused = true)]
async fn an_end_of_the_run_that_cannot_be_recorded_is_reported_once_as_an_error() {
    let world = world([passes()]).journal_refuses(is_run_ended);
    let report = world.run(options()).await;
    assert_eq!(report.outcome.fault().map(|fault| fault.code.as_str()), Some("disk_full"));
    let outcomes: Vec<RunEvent> =
        world.run_events().into_iter().filter(|event| matches!(event, RunEvent::Outcome(_))).collect();
    assert_eq!(outcomes, [RunEvent::Outcome(report)]);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_refuses_everything_opens_no_session_and_is_an_error() {
    let world = world([]).journal_refuses(|_| true);
    let report = world.run(options()).await;
    assert_eq!(report.outcome.fault().map(|fault| fault.code.as_str()), Some("disk_full"));
}

#[tokio::test(start_paused = true)]
async fn the_cost_of_a_session_is_reported_even_if_its_end_cannot_be_recorded() {
    let world = world([session().spends(0.5).completes()]).journal_refuses(is_session_ended);
    assert_eq!(world.run(options()).await.cost_usd, Some(Usd(0.5)));
}
