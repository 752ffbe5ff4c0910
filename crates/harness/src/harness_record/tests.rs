use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::event::{AgentEvent, Event, ProgressVerdict, RunEvent, Usage};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::instruction::Phase;
use autonoe_core::money::Usd;
use autonoe_core::outcome::{RunOutcome, RunReport};
use autonoe_core::sink::Sink;
use autonoe_core::span::{SpanContext, TraceId};
use jiff::Timestamp;

use super::HarnessRecord;
use crate::alerts::{AlertType, OnCritical};
use crate::control::HarnessDirectory;
use crate::roadmap::Roadmap;
use crate::schedule::{TaskRecord, TaskStatus};

/// A process of the run 7, whose earlier processes have spent `cost`.
fn process(project: &Path, cost: f64, on_critical: OnCritical) -> HarnessRecord {
    process_after(project, 0, cost, on_critical)
}

/// The same, after so many sessions.
fn process_after(project: &Path, sessions: u32, cost: f64, on_critical: OnCritical) -> HarnessRecord {
    let harness = Arc::new(HarnessDirectory::create(project, "main").expect("a harness"));
    let (record, _) = HarnessRecord::open(harness, on_critical, Timestamp::now()).expect("opened");
    on(
        &record,
        &RunEvent::RunStarted {
            command: "harness run ROADMAP.md".to_owned(),
            sessions_before: sessions,
            cost_before_usd: Usd(cost),
            max_cost_usd: Some(Usd(10.0)),
            max_sessions: Some(10),
        },
    );
    record
}

fn on(record: &HarnessRecord, event: &RunEvent) {
    record.on(&SpanContext::run(7, TraceId(1)), &Event::Run(event.clone()));
}

fn remedy(number: u32, deliverable: &str, escalated_to: Option<&str>) -> RunEvent {
    RunEvent::Remedy {
        number,
        name: "nudge".to_owned(),
        idle_sessions: 3,
        deliverable: Some(deliverable.to_owned()),
        prompt: String::new(),
        escalated_to: escalated_to.map(str::to_owned),
    }
}

fn said(record: &HarnessRecord) -> Vec<String> {
    record.harness().read_alerts().expect("alerts").iter().map(ToString::to_string).collect()
}

fn spend(record: &HarnessRecord, cost: f64) {
    let usage = Usage { cost_usd: Some(Usd(cost)), ..Usage::default() };
    record.on(&SpanContext::run(7, TraceId(1)), &Event::Agent(AgentEvent::Usage(usage)));
}

fn start_session(record: &HarnessRecord, number: u32) {
    let [backend, model] = ["native", "best"].map(str::to_owned);
    let instruction = Phase::Coding;
    let started =
        RunEvent::SessionStarted { number, instruction, step: None, deliverable: None, backend, model };
    on(record, &started);
}

fn near_limits(record: &HarnessRecord) -> Vec<String> {
    let alerts = record.harness().read_alerts().expect("alerts").into_iter();
    let near = alerts.filter(|alert| alert.kind == AlertType::ApproachingLimit);
    near.map(|alert| alert.message).collect()
}

/// "approaching_limit WARNING (at 80 %)", for each limit that ends a run.
#[test]
fn every_limit_that_is_near_is_said_once_also_after_a_crash() {
    let project = tempfile::tempdir().expect("directory");
    let record = process(project.path(), 0.0, OnCritical::Continue);
    record.limit_time(Duration::from_secs(1000), Duration::from_secs(799));
    record.look_at_time();
    start_session(&record, 7);
    spend(&record, 7.9);
    assert_eq!(near_limits(&record), Vec::<String>::new());
    spend(&record, 0.1);
    spend(&record, 0.1);
    let cost = "80 % of the maximum cost of $10.00 is used.";
    assert_eq!(near_limits(&record), [cost]);
    // Another process, in a later session.
    let record = process(project.path(), 8.1, OnCritical::Continue);
    record.limit_time(Duration::from_secs(1000), Duration::from_secs(801));
    start_session(&record, 8);
    spend(&record, 0.1);
    record.look_at_time();
    record.look_at_time();
    let time = "80 % of the maximum duration of 16m 40s is used.";
    assert_eq!(near_limits(&record), [cost, "8 of 10 sessions are used.", time]);
    let record = process(project.path(), 8.2, OnCritical::Continue);
    record.limit_time(Duration::from_secs(1000), Duration::from_secs(900));
    start_session(&record, 9);
    spend(&record, 0.1);
    record.look_at_time();
    assert_eq!(near_limits(&record).len(), 3);
}

#[test]
fn a_pause_by_an_alert_ends_with_its_run_and_that_of_a_person_does_not() {
    let project = tempfile::tempdir().expect("directory");
    let pause = project.path().join(".harness/main/pause");
    let outcome = RunOutcome::TasksBlocked { chains: vec!["a failed".to_owned()] };
    let ended = RunEvent::Outcome(RunReport::without_session(outcome));
    let record = process(project.path(), 0.0, OnCritical::Pause);
    on(&record, &ended);
    assert_eq!(record.harness().read_alerts().expect("alerts").len(), 1);
    assert!(!pause.exists(), "the next run would wait at once");
    fs::write(&pause, "").expect("written");
    on(&process(project.path(), 0.0, OnCritical::Pause), &ended);
    assert!(pause.exists());
}

#[test]
fn a_run_that_ends_at_a_limit_has_not_failed_fatally() {
    let project = tempfile::tempdir().expect("directory");
    let record = process(project.path(), 0.0, OnCritical::Continue);
    let outcome = RunOutcome::BudgetExceeded { limit_usd: Usd(10.0) };
    on(&record, &RunEvent::Outcome(RunReport::without_session(outcome)));
    assert_eq!(said(&record), ["[WARNING] limit_reached: Stopped: the cost limit of $10.00 was reached."]);
}

#[test]
fn sessions_without_progress_are_counted_across_processes_and_said_once() {
    let project = tempfile::tempdir().expect("directory");
    let raised = |record: &HarnessRecord| {
        let alerts = record.harness().read_alerts().expect("alerts").into_iter();
        alerts.filter(|alert| alert.kind == AlertType::NoProgress).count()
    };
    let idle = |number: u32| RunEvent::Progress { number, score: 0.0, verdict: ProgressVerdict::Idle };
    let remedy = remedy(3, "cart", None);
    // Each process is killed after its session, and shows again what the one before may not have shown.
    for session in 1..=6 {
        let record = process_after(project.path(), session - 1, 0.0, OnCritical::Continue);
        on(&record, &idle(session - 1));
        on(&record, &idle(session));
        if session >= 3 {
            on(&record, &remedy);
        }
        assert_eq!(raised(&record), usize::from(session >= 2), "{session}");
        record.show_status();
        let status = record.harness().read_status().expect("read").expect("a status");
        assert_eq!((status.idle_sessions, status.scored_iteration), (session, session));
        assert_eq!(status.recovery_attempts, u32::from(session >= 3), "{session}");
    }
    let log = fs::read_to_string(project.path().join(".harness/main/harness.log")).expect("text");
    assert_eq!(log.matches(" scored ").count(), 6, "{log}");
}

/// Progress ends a recovery, so the same attempt may be stuck several times.
#[test]
fn an_attempt_that_is_stuck_again_raises_the_same_alerts_once() {
    let project = tempfile::tempdir().expect("directory");
    let roadmap = Roadmap::parse("## Tasks\n- [ ] **cart**: Add a cart\n", &[]).expect("a roadmap");
    let record = process(project.path(), 0.0, OnCritical::Continue);
    let mut number = 0;
    for attempts in 1..=2 {
        let at_work = TaskRecord { status: TaskStatus::InProgress, attempts };
        record.task_changed(&roadmap.tasks[0], at_work, "", None, Timestamp::now());
        for _ in 0..3 {
            for verdict in [ProgressVerdict::Idle, ProgressVerdict::Idle, ProgressVerdict::Progressed] {
                number += 1;
                on(&record, &RunEvent::Progress { number, score: 0.0, verdict });
            }
            on(&record, &remedy(number, "cart", None));
        }
        let alerts = record.harness().read_alerts().expect("alerts");
        let of_kind = |kind| alerts.iter().filter(|alert| alert.kind == kind).count();
        let expected = attempts as usize;
        assert_eq!((of_kind(AlertType::NoProgress), of_kind(AlertType::StuckRecovery)), (expected, expected));
    }
    assert_eq!(record.written().status.recovery_attempts, 6);
}

/// "iteration_milestone INFO (every 10)", "model_escalation INFO", "fatal_error ERROR".
#[test]
fn milestones_escalations_and_fatal_errors_are_said_once_also_after_a_crash() {
    let project = tempfile::tempdir().expect("directory");
    let fault = Fault::permanent(FaultLayer::Model, "key", "The key was refused.");
    let changed = RunEvent::BackendChanged {
        from: "native".to_owned(),
        to: "codex".to_owned(),
        from_model: String::new(),
        to_model: String::new(),
        reason: "quota_exceeded".to_owned(),
    };
    let expected = [
        "[INFO] iteration_milestone: 10 sessions have begun.",
        "[WARNING] stuck_recovery: 3 sessions in a row made no progress; trying: nudge.",
        "[INFO] model_escalation: codex/gpt-5 takes over for the next sessions (escalation).",
        "[INFO] model_escalation: codex takes over from native (quota_exceeded).",
        "[ERROR] fatal_error: The key was refused.",
    ];
    for _ in 0..2 {
        let record = process_after(project.path(), 9, 0.0, OnCritical::Continue);
        record.written().max_sessions = None;
        start_session(&record, 10);
        on(&record, &remedy(10, "cart", Some("codex/gpt-5")));
        let span = SpanContext::run(7, TraceId(1)).session(10);
        record.on(&span, &Event::Run(changed.clone()));
        let report = RunReport::without_session(RunOutcome::Failed { fault: fault.clone() });
        on(&record, &RunEvent::Outcome(report));
        assert_eq!(said(&record), expected);
    }
    let alerts = process(project.path(), 0.0, OnCritical::Continue).harness().read_alerts().expect("alerts");
    let about: Vec<_> = alerts.iter().map(|alert| (alert.iteration, alert.context.get("task"))).collect();
    let cart = serde_json::Value::from("cart");
    assert_eq!(about[..4], [(10, None), (10, Some(&cart)), (10, Some(&cart)), (10, None)]);
}

/// The process before was killed after the remedy had helped, and before that was on record.
#[test]
fn an_event_that_is_shown_again_raises_the_same_alert_whatever_has_become_of_its_task() {
    let project = tempfile::tempdir().expect("directory");
    let roadmap = Roadmap::parse("## Tasks\n- [ ] **cart**: Add a cart\n", &[]).expect("a roadmap");
    let at_work = TaskRecord { status: TaskStatus::InProgress, attempts: 1 };
    let record = process(project.path(), 0.0, OnCritical::Continue);
    record.task_changed(&roadmap.tasks[0], at_work, "", None, Timestamp::now());
    on(&record, &remedy(1, "cart", None));
    let first = record.harness().read_alerts().expect("alerts");
    drop(record);
    let record = process_after(project.path(), 2, 0.0, OnCritical::Continue);
    assert_eq!(record.current_task(), Some("cart".to_owned()));
    record.task_changed(
        &roadmap.tasks[0],
        TaskRecord { status: TaskStatus::Completed, ..at_work },
        "Done.",
        None,
        Timestamp::now(),
    );
    on(&record, &remedy(1, "cart", None));
    assert_eq!(record.harness().read_alerts().expect("alerts"), first);
    assert_eq!(first[0].context["task"], "cart");
}

/// A process may be killed after it has begun a session and before it has said something about it.
#[test]
fn what_a_killed_process_had_to_say_about_the_number_of_its_session_is_said_by_the_next_one() {
    let project = tempfile::tempdir().expect("directory");
    let record = process_after(project.path(), 10, 0.0, OnCritical::Continue);
    record.written().max_sessions = Some(12);
    start_session(&record, 11);
    let expected = [
        "[INFO] iteration_milestone: 10 sessions have begun.",
        "[WARNING] approaching_limit: 10 of 12 sessions are used.",
    ];
    assert_eq!(said(&record), expected);
}

#[test]
fn a_log_of_alerts_that_became_a_link_is_not_followed_and_that_is_said() {
    let project = tempfile::tempdir().expect("directory");
    let record = process(project.path(), 0.0, OnCritical::Continue);
    let (log, other) = (project.path().join(".harness/main/alerts.log"), project.path().join("other"));
    fs::write(&other, "mine\n").expect("written");
    std::os::unix::fs::symlink(&other, &log).expect("link");
    start_session(&record, 10);
    assert_eq!(fs::read_to_string(&other).expect("text"), "mine\n");
    let problem = record.take_problem().expect("a problem");
    assert!(problem.contains("alerts.log cannot be used"), "{problem}");
    assert_eq!(record.take_problem(), None, "it is said once");
}
