//! The journal is written before the effect is trusted and before anyone is told (invariant 2).

use super::{max_iterations, options, waiting_for_quota};
use crate::deliverable::DeliverableStatus::Pending;
use crate::event::{Activity, AgentEvent, Event, RunEvent};
use crate::instruction::Phase::Coding;
use crate::journal::Record;
use crate::money::Usd;
use crate::outcome::SessionEnd;
use crate::plan::RunState;
use crate::span::{SpanContext, TraceId};
use crate::testing::script::{Script, out_of_quota, session};
use crate::testing::{Entry, World, seconds, timestamp};

fn passes() -> Script {
    session().passes("A").completes()
}

fn world(scripts: impl IntoIterator<Item = Script>) -> World {
    World::with(&[("A", Pending)]).sessions(scripts)
}

fn is_session_started(entry: &Entry) -> bool {
    matches!(entry, Entry::Recorded(Record::SessionStarted { .. }))
}

fn is_session_ended(entry: &Entry) -> bool {
    matches!(entry, Entry::Recorded(Record::SessionEnded { .. }))
}

fn is_run_ended(entry: &Entry) -> bool {
    matches!(entry, Entry::Recorded(Record::RunEnded(_)))
}

fn is_shown(entry: &Entry, wanted: fn(&Event) -> bool) -> bool {
    matches!(entry, Entry::Shown(_, event) if wanted(event))
}

#[tokio::test(start_paused = true)]
async fn invariant_2_a_session_is_recorded_before_it_is_shown_and_opened() {
    let world = world([passes()]);
    world.run(options()).await;
    let recorded = world.position("record", is_session_started);
    let shown = |event: &Event| matches!(event, Event::Run(RunEvent::SessionStarted { .. }));
    assert!(recorded < world.position("event", |entry| is_shown(entry, shown)));
    assert!(recorded < world.position("opening", |entry| matches!(entry, Entry::Opened { .. })));
}

#[tokio::test(start_paused = true)]
async fn invariant_2_the_end_of_a_session_is_recorded_before_it_is_shown() {
    let world = world([passes()]);
    world.run(options()).await;
    let recorded = world.position("record", is_session_ended);
    let shown = |event: &Event| matches!(event, Event::Run(RunEvent::SessionEnded { .. }));
    assert!(recorded < world.position("event", |entry| is_shown(entry, shown)));
    assert!(world.position("disposal", |entry| matches!(entry, Entry::Disposed { .. })) < recorded);
}

#[tokio::test(start_paused = true)]
async fn invariant_2_the_end_of_the_run_is_recorded_before_it_is_shown() {
    let world = world([passes()]);
    let report = world.run(options()).await;
    let log = world.log();
    let ending = [
        Entry::Recorded(Record::RunEnded(Box::new(report.clone()))),
        Entry::Shown(SpanContext::run(1, TraceId(1)), RunEvent::Outcome(report).into()),
    ];
    assert_eq!(log[log.len() - 2..], ending);
}

#[tokio::test(start_paused = true)]
async fn invariant_2_an_event_is_kept_before_it_is_shown_and_a_cost_is_booked_at_once() {
    let world = world([session().says("hello").spends(0.5).says("on").passes("A").completes()]);
    world.run(options()).await;
    let text = AgentEvent::Text { text: "hello".to_owned() };
    let kept = world.position("kept text", |entry| *entry == Entry::Kept(1, text.clone().into()));
    let span = SpanContext::run(1, TraceId(1)).session(1);
    assert!(kept < world.position("text", |entry| *entry == Entry::Shown(span.clone(), text.clone().into())));
    let booked = world.position("cost", |entry| matches!(entry, Entry::Booked(1, _)));
    let later = AgentEvent::Text { text: "on".to_owned() };
    assert!(
        booked
            < world.position(
                "text",
                |entry| matches!(entry, Entry::Kept(1, event) if *event == Event::Agent(later.clone()))
            )
    );
}

#[tokio::test(start_paused = true)]
async fn passing_activity_is_shown_and_not_kept() {
    let working = AgentEvent::Working { activity: Activity::Thinking };
    let world = world([session().tells(working.clone()).passes("A").completes()]);
    world.run(options()).await;
    assert!(world.shown().contains(&working.clone().into()));
    assert!(!world.log().contains(&Entry::Kept(1, working.into())));
}

#[tokio::test(start_paused = true)]
async fn a_session_is_recorded_with_what_it_was_and_what_it_did() {
    let script = session().spends(0.5).takes(seconds(20)).passes("A").completes();
    let world = world([session().completes(), script]);
    world.run_from(RunState { sessions: 4, ..RunState::default() }, options()).await;
    let started = |number| Record::SessionStarted {
        number,
        instruction: Coding,
        step: None,
        backend: "scripted".to_owned(),
        model: "worker".to_owned(),
    };
    let records = world.records();
    assert_eq!(records.len(), 5);
    assert_eq!((&records[0], &records[2]), (&started(5), &started(6)));
    let Record::SessionEnded { number: 6, outcome: SessionEnd::Completed, spent, duration, .. } = &records[3]
    else {
        panic!("{:?}", records[3]);
    };
    assert_eq!((spent.total(), *duration), (Some(Usd(0.5)), seconds(20)));
    assert_eq!((spent.input_tokens, spent.output_tokens), (10, 2));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_tells_its_own_cost_and_time() {
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
async fn a_quota_wait_is_recorded_before_the_wait_and_even_if_nobody_waits() {
    let reset = Some(timestamp("2026-01-10T10:00:00Z"));
    let used_up = || session().ends(out_of_quota(reset));
    let is_wait =
        |entry: &Entry| matches!(entry, Entry::Recorded(Record::QuotaWait(wait)) if wait.resets_at == reset);
    let waiting = world([used_up(), passes()]);
    waiting.run(waiting_for_quota()).await;
    let recorded = waiting.position("wait", is_wait);
    assert!(recorded < waiting.position("sleep", |entry| matches!(entry, Entry::Slept(_))));
    let leaving = world([used_up()]);
    leaving.run(options()).await;
    assert!(leaving.position("wait", is_wait) < leaving.position("end", is_run_ended));
}

/// Which journal writes fail, and how many agents are opened until the run stops.
async fn assert_stops(refused: fn(&Entry) -> bool, agents: usize) {
    let world = world((0..agents).map(|_| session().says("hello").spends(0.5).completes()));
    let world = world.journal_refuses(refused);
    let report = world.run(max_iterations(5)).await;
    assert_eq!(report.outcome.name(), "failed");
    assert_eq!(report.outcome.fault().map(|fault| fault.code.as_str()), Some("disk_full"));
    assert_eq!(world.phases().len(), agents);
    assert!(world.records().iter().any(|record| matches!(record, Record::RunEnded(_))));
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
async fn an_event_that_cannot_be_kept_stops_the_run() {
    assert_stops(|entry| matches!(entry, Entry::Kept(..)), 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_cost_that_cannot_be_booked_stops_the_run() {
    assert_stops(|entry| matches!(entry, Entry::Booked(..)), 1).await;
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
    let world = world.journal_refuses(|entry| matches!(entry, Entry::Recorded(Record::QuotaWait(_))));
    assert_eq!(world.run(waiting_for_quota()).await.outcome.name(), "failed");
}

#[tokio::test(start_paused = true)]
async fn an_end_of_the_run_that_cannot_be_recorded_is_an_error_and_people_are_told_once() {
    let world = world([passes()]).journal_refuses(is_run_ended);
    let report = world.run(options()).await;
    assert_eq!(report.outcome.fault().map(|fault| fault.code.as_str()), Some("disk_full"));
    let told: Vec<RunEvent> =
        world.run_events().into_iter().filter(|event| matches!(event, RunEvent::Outcome(_))).collect();
    assert_eq!(told, [RunEvent::Outcome(report)]);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_takes_nothing_opens_no_session_and_is_an_error() {
    let world = world([]).journal_refuses(|_| true);
    let report = world.run(options()).await;
    assert_eq!(report.outcome.fault().map(|fault| fault.code.as_str()), Some("disk_full"));
}

#[tokio::test(start_paused = true)]
async fn what_a_session_spent_is_told_even_if_its_end_cannot_be_recorded() {
    let world = world([session().spends(0.5).completes()]).journal_refuses(is_session_ended);
    assert_eq!(world.run(options()).await.cost_usd, Some(Usd(0.5)));
}
