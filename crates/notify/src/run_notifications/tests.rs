use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::event::{AgentEvent, Event, RunEvent, Usage, WaitReason};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::gate::GateRuling;
use autonoe_core::money::Usd;
use autonoe_core::notification::{NotificationEvent, NotificationLevel, UserNotification};
use autonoe_core::outcome::{RunOutcome, RunReport};
use autonoe_core::redact::Redactor;
use autonoe_core::sink::Sink as _;
use autonoe_core::span::SpanContext;
use autonoe_core::status::StatusChange;
use autonoe_store::{Outbox, Project};
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::sync::Notify;

use super::{NotifiedRun, RunNotifications};
use crate::target::{Channel, DEFAULT_TIME_LIMIT, NotifyTarget};

struct SinkFixture {
    state: TempDir,
    outbox: Arc<Outbox>,
    warnings: Arc<Mutex<Vec<String>>>,
    events: BTreeSet<NotificationEvent>,
}

impl SinkFixture {
    fn new() -> Self {
        let state = TempDir::new().expect("state");
        let project = Project::open(&std::env::temp_dir(), state.path()).expect("project");
        let outbox = Arc::new(Outbox::open(&project).expect("outbox"));
        Self { state, outbox, warnings: Arc::default(), events: NotificationEvent::ALL.into() }
    }

    /// The sink of a process that works on this run.
    fn process(&self, run: i64) -> RunNotifications {
        let warnings = Arc::clone(&self.warnings);
        RunNotifications::new(NotifiedRun {
            outbox: Arc::clone(&self.outbox),
            targets: vec![NotifyTarget {
                name: "team".to_owned(),
                events: self.events.clone(),
                expire_after: None,
                time_limit: DEFAULT_TIME_LIMIT,
                channel: Channel::Desktop { notify_send: Err("not here".to_owned()) },
            }],
            project: "shop".to_owned(),
            project_path: "/home/ann/shop".to_owned(),
            run,
            denied_threshold: NonZeroU32::new(3).expect("3"),
            redactor: Redactor::new(&["hunter22hunter22".to_owned()]),
            wake: Arc::new(Notify::new()),
            describe_end: |report| format!("It ended: {}.", report.outcome.name()),
            show_time: |at| at.to_string(),
            warn: Box::new(move |sentence| warnings.lock().expect("not poisoned").push(sentence.to_owned())),
        })
    }

    fn recorded(&self) -> Vec<UserNotification> {
        self.outbox.pending().expect("pending").into_iter().map(|delivery| delivery.notification).collect()
    }

    fn events(&self) -> Vec<&'static str> {
        self.recorded().iter().map(|notification| notification.event.name()).collect()
    }
}

fn show(sink: &RunNotifications, event: impl Into<Event>) {
    sink.on(&SpanContext::default(), &event.into());
}

fn started(cost_before: f64, max_cost: Option<f64>) -> RunEvent {
    RunEvent::RunStarted {
        command: "run".to_owned(),
        sessions_before: 0,
        cost_before_usd: Usd(cost_before),
        max_cost_usd: max_cost.map(Usd),
        max_sessions: None,
    }
}

fn usage(cost: f64) -> AgentEvent {
    AgentEvent::Usage(Usage { cost_usd: Some(Usd(cost)), ..Usage::default() })
}

fn ended(outcome: RunOutcome) -> RunEvent {
    RunEvent::Outcome(RunReport::without_session(outcome))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

#[test]
fn every_end_but_an_interrupt_is_notified() {
    let fault = || Fault::permanent(FaultLayer::Model, "code", "It broke.");
    let limit = Duration::from_secs(1);
    for (outcome, wanted) in [
        (RunOutcome::AllPassed, Some(("done", NotificationLevel::Success))),
        (RunOutcome::AllVerified, Some(("done", NotificationLevel::Success))),
        (RunOutcome::ConditionMet { reason: "Done.".into() }, Some(("done", NotificationLevel::Success))),
        (RunOutcome::AllBlocked, Some(("blocked", NotificationLevel::Critical))),
        (
            RunOutcome::Stuck { idle_sessions: 10, tried: Vec::new() },
            Some(("stuck", NotificationLevel::Critical)),
        ),
        (RunOutcome::Unverified { claimed: vec!["A".into()] }, Some(("stuck", NotificationLevel::Critical))),
        (RunOutcome::Unreviewed, Some(("stuck", NotificationLevel::Critical))),
        (RunOutcome::MaxIterations { limit: 3 }, Some(("limit", NotificationLevel::Warning))),
        (RunOutcome::BudgetExceeded { limit_usd: Usd(1.0) }, Some(("limit", NotificationLevel::Warning))),
        (RunOutcome::DurationExceeded { limit }, Some(("limit", NotificationLevel::Warning))),
        (
            RunOutcome::QuotaExceeded { message: String::new(), resets_at: None },
            Some(("quota", NotificationLevel::Error)),
        ),
        (RunOutcome::Outage { limit, fault: fault() }, Some(("outage", NotificationLevel::Error))),
        (
            RunOutcome::MaxRetriesExceeded { limit: 3, fault: fault() },
            Some(("failed", NotificationLevel::Error)),
        ),
        (RunOutcome::Failed { fault: fault() }, Some(("failed", NotificationLevel::Error))),
        (RunOutcome::Interrupted, None),
    ] {
        let fixture = SinkFixture::new();
        let sink = fixture.process(1);
        let name = outcome.name();
        show(&sink, started(0.0, None));
        show(&sink, ended(outcome));
        let recorded = fixture.recorded();
        let seen = recorded.first().map(|notification| (notification.event.name(), notification.level));
        assert_eq!(seen, wanted, "{name}");
        for notification in &recorded {
            assert_eq!(notification.text, format!("It ended: {name}."));
            assert!(notification.title.starts_with("shop: "), "{notification:?}");
        }
        assert_eq!(fixture.outbox.open_runs(0).expect("runs"), [0; 0]);
    }
}

#[test]
fn what_happens_once_in_a_run_is_recorded_once_also_after_a_restart() {
    let fixture = SinkFixture::new();
    for _ in 0..2 {
        let sink = fixture.process(7);
        show(&sink, started(7.0, Some(10.0)));
        show(&sink, usage(0.9));
        show(&sink, usage(0.2));
        show(&sink, usage(0.2));
        for _ in 0..7 {
            let denied = GateRuling::Denied { gate: "commands".into(), reason: "no".into() };
            show(&sink, AgentEvent::tool_result("1", "Bash", "", true, denied));
            show(&sink, AgentEvent::tool_result("2", "Bash", "", true, GateRuling::Allowed));
        }
        let waiting = |until| RunEvent::Waiting {
            reason: WaitReason::Quota,
            until,
            remaining: Duration::ZERO,
            resets_at: None,
        };
        [at(60), at(60), at(60), at(120)].map(waiting).into_iter().for_each(|event| show(&sink, event));
        let outage = |tries| RunEvent::Outage {
            since: at(0),
            tries,
            until: at(1),
            pause: Duration::ZERO,
            gives_up_at: at(9),
            message: "Connection refused.".into(),
        };
        [1, 2, 3].map(outage).into_iter().for_each(|event| show(&sink, event));
        for (alert, level) in
            [("no_progress", NotificationLevel::Warning), ("task_completed", NotificationLevel::Success)]
        {
            let (id, message) = (format!("id of {alert}"), "It happened.".to_owned());
            show(&sink, RunEvent::Alert { id, alert: alert.to_owned(), level, message });
        }
        show(&sink, ended(RunOutcome::AllPassed));
    }
    assert_eq!(
        fixture.events(),
        ["budget", "denied_often", "quota", "quota", "outage", "alert", "progress", "done"]
    );
    let texts: Vec<String> = fixture.recorded().into_iter().map(|notification| notification.text).collect();
    assert!(texts[0].contains("$8.10 of $10.00"), "{texts:?}");
    assert!(texts[2].contains(&at(60).to_string()) && texts[4].contains("Connection refused."), "{texts:?}");
    show(&fixture.process(8), ended(RunOutcome::AllPassed));
    assert_eq!(fixture.events().len(), 9, "another run is another event");
}

#[test]
fn a_run_without_a_budget_or_with_an_unknown_price_has_no_part_of_it() {
    let fixture = SinkFixture::new();
    let sink = fixture.process(1);
    show(&sink, started(0.0, None));
    show(&sink, usage(1000.0));
    let sink = fixture.process(2);
    show(&sink, started(0.0, Some(1.0)));
    show(&sink, AgentEvent::Usage(Usage::default()));
    assert_eq!(fixture.events(), [""; 0]);
}

#[test]
fn a_blocked_deliverable_is_notified_each_time_with_its_reason_and_without_secrets() {
    let fixture = SinkFixture::new();
    let sink = fixture.process(1);
    for (id, new) in [
        ("A\nBcc: x", DeliverableStatus::Blocked),
        ("B", DeliverableStatus::Passed),
        ("A\nBcc: x", DeliverableStatus::Pending),
        ("A\nBcc: x", DeliverableStatus::Blocked),
    ] {
        show(
            &sink,
            RunEvent::StatusChanged(StatusChange {
                deliverable_id: id.to_owned(),
                description: "Pay".to_owned(),
                previous: None,
                new,
                reason: Some(format!("the key hunter22hunter22 is\u{1b}[2J wrong {}", "x".repeat(9999))),
                assurance: None,
            }),
        );
    }
    let recorded = fixture.recorded();
    assert_eq!(fixture.events(), ["blocked", "blocked"]);
    assert_ne!(recorded[0].id, recorded[1].id);
    assert_eq!(recorded[0].title, "shop: A Bcc: x is blocked");
    let text = &recorded[0].text;
    assert!(
        text.starts_with("Pay: the key ") && !text.contains("hunter22") && !text.contains('\u{1b}'),
        "{text}"
    );
    assert!(text.chars().count() <= 3000);
}

#[test]
fn a_run_that_fails_outside_of_its_loop_is_notified_unless_it_has_ended() {
    let fixture = SinkFixture::new();
    let fault = Fault::permanent(FaultLayer::System, "code", "It broke.");
    let sink = fixture.process(1);
    show(&sink, ended(RunOutcome::AllPassed));
    sink.run_failed(&fault);
    fixture.process(2).run_failed(&fault);
    assert_eq!(fixture.events(), ["done", "failed"]);
}

#[test]
fn a_target_is_notified_only_of_what_it_asked_for() {
    let mut fixture = SinkFixture::new();
    fixture.events = [NotificationEvent::Stuck].into();
    show(&fixture.process(1), ended(RunOutcome::AllPassed));
    show(&fixture.process(2), ended(RunOutcome::Stuck { idle_sessions: 10, tried: Vec::new() }));
    assert_eq!(fixture.events(), ["stuck"]);
    let delivery = &fixture.outbox.pending().expect("pending")[0];
    let lasts = delivery.expires_at.duration_since(delivery.notification.at);
    assert_eq!(lasts.as_secs(), 24 * 60 * 60);
}

#[test]
fn an_end_that_nobody_recorded_is_caught_up_with_its_own_time() {
    let fixture = SinkFixture::new();
    for run in [1, 2, 3] {
        show(&fixture.process(run), started(0.0, None));
    }
    show(&fixture.process(2), ended(RunOutcome::AllPassed));
    let find_end = |run: i64| {
        assert_ne!(run, 2, "its end is recorded");
        (run == 1).then(|| {
            (at(5), RunReport::without_session(RunOutcome::Stuck { idle_sessions: 10, tried: Vec::new() }))
        })
    };
    for _ in 0..2 {
        fixture.process(4).catch_up(find_end);
    }
    let recorded = fixture.recorded();
    assert_eq!(fixture.events(), ["done", "stuck"]);
    assert_eq!((recorded[1].run, recorded[1].at), (Some(1), at(5)));
    assert_eq!(fixture.outbox.open_runs(0).expect("runs"), [3], "still at work, or to be resumed");
}

#[test]
fn an_outbox_that_cannot_be_written_is_one_warning() {
    let fixture = SinkFixture::new();
    let sink = fixture.process(1);
    let states = fixture.state.path().join("projects");
    let state = std::fs::read_dir(states).expect("state").next().expect("one").expect("entry").path();
    let db = rusqlite::Connection::open(state.join("outbox.db")).expect("opened");
    db.execute_batch("DROP TABLE deliveries; DROP TABLE notifications; DROP TABLE runs").expect("damaged");
    show(&sink, ended(RunOutcome::AllPassed));
    show(&sink, ended(RunOutcome::AllBlocked));
    let warnings = fixture.warnings.lock().expect("not poisoned").clone();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("outbox.db") && warnings[0].contains("Nobody is notified"), "{warnings:?}");
}
