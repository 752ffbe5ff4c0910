use std::fs;

use autonoe_core::notification::{NotificationEvent, NotificationLevel, UserNotification};
use jiff::Timestamp;
use tempfile::TempDir;

use super::{DeliveryState, FILE, KEPT, Outbox};
use crate::project::Project;

fn project(state: &TempDir) -> Project {
    Project::open(&std::env::temp_dir(), state.path()).expect("project")
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

fn notification(outbox: &Outbox, run: i64, event: NotificationEvent, subject: &str) -> UserNotification {
    UserNotification {
        id: outbox.id(run, event, subject).expect("an id"),
        event,
        level: NotificationLevel::Info,
        title: "shop: done".to_owned(),
        text: "All passed.".to_owned(),
        project: "shop".to_owned(),
        project_path: "/home/ann/shop".to_owned(),
        run: Some(run),
        at: at(0),
    }
}

#[test]
fn an_event_has_one_id_and_is_recorded_once() {
    let (state, other) = (TempDir::new().expect("state"), TempDir::new().expect("state"));
    let outbox = Outbox::open(&project(&state)).expect("outbox");
    let done = notification(&outbox, 7, NotificationEvent::Done, "");
    assert_eq!(done.id.len(), 32);
    assert!(outbox.record(&done, &[("desk", at(60)), ("team", at(60))]).expect("recorded"));
    drop(outbox);
    let outbox = Outbox::open(&project(&state)).expect("outbox");
    assert_eq!(outbox.id(7, NotificationEvent::Done, "").expect("id"), done.id, "also after a restart");
    assert!(!outbox.record(&done, &[("desk", at(60))]).expect("known"));
    let pending = outbox.pending().expect("pending");
    let targets: Vec<_> = pending.iter().map(|delivery| delivery.key.target.as_str()).collect();
    assert_eq!(targets, ["desk", "team"]);
    assert!(pending.iter().all(|delivery| delivery.notification == done && delivery.attempts == 0));
    for (run, event, subject) in [
        (8, NotificationEvent::Done, ""),
        (7, NotificationEvent::Stuck, ""),
        (7, NotificationEvent::Done, "x"),
    ] {
        assert_ne!(outbox.id(run, event, subject).expect("id"), done.id);
    }
    let elsewhere = Outbox::open(&project(&other)).expect("outbox");
    assert_ne!(elsewhere.id(7, NotificationEvent::Done, "").expect("id"), done.id);
}

#[test]
fn what_was_not_delivered_is_listed_until_it_is() {
    let state = TempDir::new().expect("state");
    let outbox = Outbox::open(&project(&state)).expect("outbox");
    let done = notification(&outbox, 7, NotificationEvent::Done, "");
    outbox.record(&done, &[("desk", at(60)), ("mail", at(60)), ("team", at(60))]).expect("recorded");
    assert_eq!(outbox.undelivered(7).expect("rows"), [], "nothing has failed yet");
    let pending = outbox.pending().expect("pending");
    outbox.settle(&pending[0].key, DeliveryState::Delivered, 1, None).expect("settled");
    outbox.settle(&pending[1].key, DeliveryState::Failed, 1, Some("no sendmail")).expect("settled");
    outbox.postpone(&pending[2].key, 2, at(30), "it answered 500").expect("postponed");
    let rows = outbox.undelivered(7).expect("rows");
    let seen: Vec<_> = rows
        .iter()
        .map(|row| (row.target.as_str(), row.state, row.attempts, row.next_try_at, row.problem.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            ("mail", DeliveryState::Failed, 1, None, Some("no sendmail")),
            ("team", DeliveryState::Pending, 2, Some(at(30)), Some("it answered 500")),
        ]
    );
    let later: Vec<_> = outbox.undelivered(8).expect("rows").into_iter().map(|row| row.target).collect();
    assert_eq!(later, ["team"], "of earlier runs only what is still tried");
    assert_eq!(outbox.newest(2).expect("rows").len(), 2);
    let next = outbox.pending().expect("pending");
    assert_eq!((next.len(), next[0].attempts, next[0].next_try_at), (1, 2, at(30)));
}

#[test]
fn a_retry_includes_what_was_given_up_and_not_what_has_expired() {
    let state = TempDir::new().expect("state");
    let outbox = Outbox::open(&project(&state)).expect("outbox");
    let done = notification(&outbox, 7, NotificationEvent::Done, "");
    outbox.record(&done, &[("a", at(60)), ("b", at(60)), ("c", at(10)), ("d", at(60))]).expect("recorded");
    let pending = outbox.pending().expect("pending");
    outbox.settle(&pending[0].key, DeliveryState::Failed, 8, Some("404")).expect("settled");
    outbox.settle(&pending[1].key, DeliveryState::Delivered, 1, None).expect("settled");
    outbox.settle(&pending[2].key, DeliveryState::Failed, 1, Some("404")).expect("settled");
    outbox.postpone(&pending[3].key, 3, at(50), "500").expect("postponed");
    assert_eq!(outbox.retryable(at(20)).expect("count"), 2);
    assert_eq!(outbox.retry_all(at(20)).expect("retried"), 2);
    let due: Vec<_> = outbox
        .pending()
        .expect("pending")
        .into_iter()
        .map(|delivery| (delivery.key.target, delivery.attempts, delivery.next_try_at))
        .collect();
    assert_eq!(due, [("a".to_owned(), 0, at(20)), ("d".to_owned(), 0, at(20))]);
}

#[test]
fn one_process_delivers_and_any_number_record() {
    let state = TempDir::new().expect("state");
    let (one, other) =
        (Outbox::open(&project(&state)).expect("one"), Outbox::open(&project(&state)).expect("other"));
    let lock = one.try_lock().expect("a lock").expect("free");
    assert!(other.try_lock().expect("a lock").is_none());
    let done = notification(&other, 7, NotificationEvent::Done, "");
    assert!(other.record(&done, &[("desk", at(60))]).expect("recorded"));
    assert_eq!(one.pending().expect("pending").len(), 1);
    drop(lock);
    assert!(other.try_lock().expect("a lock").is_some());
}

#[test]
fn a_run_is_open_until_its_end_is_notified() {
    let state = TempDir::new().expect("state");
    let outbox = Outbox::open(&project(&state)).expect("outbox");
    for run in [1, 2, 3, 2] {
        outbox.begin_run(run).expect("begun");
    }
    outbox.end_run(2).expect("ended");
    assert_eq!(outbox.open_runs(3).expect("runs"), [1]);
    outbox.begin_run(2).expect("begun");
    assert_eq!(outbox.open_runs(3).expect("runs"), [1], "an end stays an end");
}

#[test]
fn old_notifications_are_removed_unless_they_are_tried() {
    let state = TempDir::new().expect("state");
    let outbox = Outbox::open(&project(&state)).expect("outbox");
    // There are many, and this is not about the disk.
    outbox.guard(|db| db.pragma_update(None, "synchronous", "OFF")).expect("set");
    for run in 0..KEPT + 3 {
        outbox
            .record(&notification(&outbox, run, NotificationEvent::Done, ""), &[("desk", at(60))])
            .expect("recorded");
    }
    let pending = outbox.pending().expect("pending");
    for delivery in &pending[1..] {
        outbox.settle(&delivery.key, DeliveryState::Delivered, 1, None).expect("settled");
    }
    drop(outbox);
    let outbox = Outbox::open(&project(&state)).expect("outbox");
    assert_eq!(outbox.newest(2000).expect("rows").len(), usize::try_from(KEPT).expect("small") + 1);
    assert_eq!(outbox.pending().expect("pending").len(), 1);
}

#[test]
fn a_file_that_is_not_an_outbox_is_named() {
    let state = TempDir::new().expect("state");
    let project = project(&state);
    assert!(Outbox::find(&project).expect("none").is_none());
    fs::create_dir_all(project.state_dir()).expect("directory");
    fs::write(project.state_dir().join(FILE), "x".repeat(5000)).expect("written");
    for fault in [Outbox::open(&project).expect_err("not one"), Outbox::find(&project).expect_err("not one")]
    {
        assert!(fault.message.contains(FILE) && fault.hint.is_some(), "{fault}");
    }
    fs::remove_file(project.state_dir().join(FILE)).expect("removed");
    let outbox = Outbox::open(&project).expect("new");
    outbox.guard(|db| db.pragma_update(None, "user_version", 9)).expect("changed");
    drop(outbox);
    let fault = Outbox::open(&project).expect_err("newer");
    assert!(fault.message.contains("another version"), "{fault}");
}
