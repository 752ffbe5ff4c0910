//! Events: secrets never reach the disk, long ones are truncated and marked, old ones are deleted.

use autonoe_core::event::{AgentEvent, Event};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::gate::{GateRuling, ToolCall};
use autonoe_core::journal::{Journal as _, JournalRecord};
use autonoe_core::outcome::{RunOutcome, SessionEnd};
use autonoe_store::journal::JournalOptions;
use autonoe_store::journal::history::{EventRow, History};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::{SPEC, StoreFixture, end_run, ended, report, session, started, usage};

const MAX_BYTES: usize = 64 * 1024;

fn text(text: impl Into<String>) -> Event {
    AgentEvent::Text { text: text.into() }.into()
}

fn events_of(fixture: &StoreFixture, run: i64, number: u32) -> Vec<EventRow> {
    let history = History::open(&fixture.project.journal_file()).unwrap().unwrap();
    history.session(run, number).unwrap().unwrap().1
}

/// Stores one event and reads it back.
async fn stored(event: &Event) -> Value {
    let fixture = StoreFixture::new();
    let (journal, start) = fixture.begin("run").await;
    journal.record(started(1)).await.unwrap();
    journal.event(1, event).await.unwrap();
    drop(journal);
    let mut events = events_of(&fixture, start.run, 1);
    assert_eq!(events.len(), 1);
    events.remove(0).event
}

#[tokio::test]
async fn a_secret_never_reaches_the_disk() {
    let secrets = ["sk-ant-secret-0123456789", "with \"quotes\" and\nlines"];
    let fault = || {
        Fault::permanent(
            FaultLayer::Model,
            "authentication_error",
            format!("{} is wrong: {}", secrets[0], secrets[1]),
        )
        .hint(secrets[0])
    };
    let fixture = StoreFixture::new();
    let options =
        JournalOptions { secrets: secrets.map(str::to_owned).to_vec().into(), ..JournalOptions::default() };
    let (journal, _) = fixture.try_begin("run", SPEC, Timestamp::now(), options).await.unwrap();
    journal.record(started(1)).await.unwrap();
    for secret in secrets {
        let content = json!({ "env": { "KEY": secret } });
        let call = ToolCall { id: "1".to_owned(), name: "Bash".to_owned(), input: content.clone() };
        for event in [
            text(format!("The key is {secret}, I repeat: {secret}.")),
            AgentEvent::Thinking { text: secret.to_owned() }.into(),
            AgentEvent::Warning { message: secret.to_owned() }.into(),
            AgentEvent::ToolCall(call).into(),
            AgentEvent::tool_result("1", "Bash", content.to_string(), false, GateRuling::Allowed).into(),
            AgentEvent::End { outcome: SessionEnd::ExecutionError { fault: fault() } }.into(),
            text(format!("{}{secret}{}", "x".repeat(MAX_BYTES - 10), "y".repeat(MAX_BYTES))),
        ] {
            journal.event(1, &event).await.unwrap();
        }
    }
    let quota = SessionEnd::QuotaExceeded { message: secrets[0].to_owned(), resets_at: None };
    journal.record(ended(1, quota, 1)).await.unwrap();
    journal
        .record(JournalRecord::RunEnded(Box::new(report(RunOutcome::Failed { fault: fault() }))))
        .await
        .unwrap();

    let assert_clean = |when: &str| {
        let bytes = fixture.state_bytes();
        for trace in
            ["sk-ant-secret", "with \"quotes", "with \\\"quotes", "with \\\\\\\"quotes", "and\\nlines"]
        {
            let found = bytes.windows(trace.len()).any(|window| window == trace.as_bytes());
            assert!(!found, "{trace:?} is on disk {when}");
        }
        assert!(bytes.windows(10).any(|window| window == b"[redacted]"), "nothing was written {when}");
    };
    assert_clean("while the journal is open");
    drop(journal);
    assert_clean("after the journal was closed");
}

#[tokio::test]
async fn text_with_the_shape_of_a_secret_is_not_stored() {
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let input = json!({ "command": format!("curl -H 'Authorization: Bearer {token}' x"), "env": { "DB_PASSWORD": "x7Kq2Zr9Lm4T" } });
    let call = ToolCall { id: "1".to_owned(), name: "Bash".to_owned(), input };
    let stored = stored(&AgentEvent::ToolCall(call).into()).await;
    assert_eq!(
        stored["input"],
        json!({
            "command": "curl -H 'Authorization: Bearer [redacted: GitHub token]' x",
            "env": { "DB_PASSWORD": "[redacted: secret]" },
        })
    );
    let before_the_cut =
        text(format!("{} {token}{}", "x ".repeat(MAX_BYTES / 2 - 20), " y".repeat(MAX_BYTES)));
    let fixture = StoreFixture::new();
    let (journal, _) = fixture.begin("run").await;
    journal.record(started(1)).await.unwrap();
    journal.event(1, &before_the_cut).await.unwrap();
    let fault =
        Fault::permanent(FaultLayer::Model, "authentication_error", format!("{token} is wrong")).hint(&token);
    journal.record(ended(1, SessionEnd::ExecutionError { fault }, 1)).await.unwrap();
    drop(journal);
    assert!(
        !fixture.state_bytes().windows(8).any(|window| window == &token.as_bytes()[..8]),
        "a part is on disk"
    );
}

#[tokio::test]
async fn redacted_events_are_still_events() {
    let fixture = StoreFixture::new();
    let options =
        JournalOptions { secrets: vec!["hunter2-\"x\"".to_owned()].into(), ..JournalOptions::default() };
    let (journal, start) = fixture.try_begin("run", SPEC, Timestamp::now(), options).await.unwrap();
    journal.record(started(1)).await.unwrap();
    journal.event(1, &text("it is hunter2-\"x\"!")).await.unwrap();
    drop(journal);
    let events = events_of(&fixture, start.run, 1);
    assert_eq!(events[0].event, json!({ "type": "text", "text": "it is [redacted]!" }));
}

#[tokio::test]
async fn an_event_of_the_maximum_size_is_stored_whole() {
    let overhead = serde_json::to_string(&text("")).unwrap().len();
    let event = text("x".repeat(MAX_BYTES - overhead));
    assert_eq!(stored(&event).await, serde_json::to_value(&event).unwrap());
    let longer = stored(&text("x".repeat(MAX_BYTES - overhead + 1))).await;
    assert_eq!(longer["type"], "text");
    assert_eq!(longer["cut_bytes"], 1);
}

#[tokio::test]
async fn a_longer_event_is_cut_at_a_character_and_marked() {
    for shift in 0..4 {
        let event = text(format!("{}{}", "x".repeat(shift), "é🦀".repeat(30_000)));
        let whole = serde_json::to_string(&event).unwrap();
        let cut = stored(&event).await;
        assert_eq!(cut["type"], "text");
        let beginning = cut["beginning"].as_str().unwrap();
        assert!(whole.starts_with(beginning), "shift {shift}");
        assert!((MAX_BYTES - 3..=MAX_BYTES).contains(&beginning.len()), "{} bytes", beginning.len());
        assert_eq!(cut["cut_bytes"], whole.len() - beginning.len());
    }
}

#[tokio::test]
async fn events_keep_their_order_and_their_session() {
    let fixture = StoreFixture::new();
    let (journal, start) = fixture.begin("run").await;
    for number in [1, 2] {
        journal.record(started(number)).await.unwrap();
        for at in 0..300 {
            journal.event(number, &text(format!("{number}-{at}"))).await.unwrap();
        }
    }
    drop(journal);
    for number in [1, 2] {
        let texts: Vec<Value> =
            events_of(&fixture, start.run, number).into_iter().map(|row| row.event["text"].clone()).collect();
        assert_eq!(texts, (0..300).map(|at| json!(format!("{number}-{at}"))).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_record_makes_the_events_before_it_durable() {
    let fixture = StoreFixture::new();
    let (journal, _) = fixture.begin("run").await;
    journal.record(started(1)).await.unwrap();
    for at in 0..10 {
        journal.event(1, &text(at.to_string())).await.unwrap();
    }
    journal.record(ended(1, SessionEnd::Completed, 1)).await.unwrap();
    assert_eq!(fixture.count("events"), 10, "seen by another connection while the journal is open");
}

#[tokio::test]
async fn only_the_latest_fifty_runs_keep_their_events() {
    let fixture = StoreFixture::new();
    let mut ids = Vec::new();
    for _ in 0..52 {
        let (journal, start) = fixture.begin("run").await;
        session(&journal, 1, SessionEnd::Completed).await;
        journal.event(1, &text("said")).await.unwrap();
        journal.cost(1, &usage(Some(0.5))).await.unwrap();
        end_run(&journal, RunOutcome::AllPassed).await;
        ids.push(start.run);
    }
    let (journal, _) = fixture.begin("run").await;
    drop(journal);
    let with_events: Vec<i64> =
        ids.iter().copied().filter(|run| !events_of(&fixture, *run, 1).is_empty()).collect();
    assert_eq!(with_events, ids[2..], "of 52 runs the oldest two lost theirs");
    assert_eq!(fixture.count("sessions"), 52);
    assert_eq!(fixture.count("costs"), 52);
    let history = History::open(&fixture.project.journal_file()).unwrap().unwrap();
    assert_eq!(history.total_cost().unwrap(), (26.0, false));
}
