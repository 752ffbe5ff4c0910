//! A night without agents: 30 tasks are played to the end by the library alone, from what a process would have saved. The process is killed
//! at random moments, and everything happens once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use autonoe_core::event::ProgressVerdict;
use autonoe_core::money::Usd;
use autonoe_harness::alerts::{Alert, AlertManager, AlertType, OnCritical};
use autonoe_harness::control::HarnessDirectory;
use autonoe_harness::progress::{ProgressDetector, SessionTrace};
use autonoe_harness::recovery::{LoopContext, Recovery, RecoveryBudget, RecoveryState, RemedyStep, Rung};
use autonoe_harness::roadmap::{Roadmap, TaskId, set_done};
use autonoe_harness::schedule::{Next, Schedule, TaskRecord, TaskStatus};
use autonoe_harness::state_view::StateManager;
use autonoe_harness::stuck::{StuckDetector, StuckState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

const TASKS: usize = 30;

/// What a process writes to its journal after each session. The rest of it is lost when it is killed.
#[derive(Default, Clone, Serialize, Deserialize)]
struct Saved {
    records: BTreeMap<TaskId, TaskRecord>,
    progress: ProgressDetector,
    stuck: StuckDetector,
    recovery: RecoveryState,
    sessions: Vec<String>,
}

/// What the agent of a session does: each task is finished by a certain remedy only.
fn is_finished_by(task: &str, remedy: Option<&str>) -> bool {
    match task {
        "t3" => remedy == Some("nudge"),
        "t5" => remedy == Some("decompose"),
        "t7" => remedy == Some("escalation"),
        "t9" => remedy == Some("exploration"),
        "t20" => false,
        _ => true,
    }
}

fn roadmap() -> String {
    let task = |number: usize| {
        let depends = match number {
            0 => "none".to_owned(),
            21 | 22 => format!("t{}", number - 1),
            _ => format!("t{}", (number - 1) / 2 % 10),
        };
        format!("- [ ] **t{number}**: Task {number}\r\n  - depends: {depends}\r\n  - max_retries: 1\r\n")
    };
    format!("# Roadmap: Night\r\n## Tasks\r\n{}", (0..TASKS).map(task).collect::<String>())
}

struct Process<'a> {
    project: &'a Path,
    harness: Arc<HarnessDirectory>,
    saved: Saved,
}

impl<'a> Process<'a> {
    fn start(project: &'a Path) -> Self {
        let harness = Arc::new(HarnessDirectory::create(project, "night").unwrap());
        let journal = fs::read_to_string(project.join("journal")).unwrap_or_default();
        let saved = serde_json::from_str(&journal).unwrap_or_default();
        Self { project, harness, saved }
    }

    /// Runs the next session; returns whether there is more to do. With `is_killed` nothing of it is saved but the alerts.
    async fn step(&mut self, is_killed: bool) -> bool {
        let text = fs::read_to_string(self.project.join("ROADMAP.md")).unwrap();
        let roadmap = Roadmap::parse(&text, &[]).unwrap();
        let mut schedule = Schedule::new(&roadmap);
        self.saved.records.iter().for_each(|(id, record)| schedule.set(id.as_str(), *record));
        let id = match schedule.next() {
            Next::Run(id) => id,
            Next::Blocked { .. } | Next::Done => return false,
        };
        let task = roadmap.task(id.as_str()).unwrap();
        let mut recovery = Recovery::new(RecoveryBudget::default(), self.saved.recovery.clone());
        let remedy = match self.saved.stuck.state() {
            StuckState::Stuck | StuckState::Recovering => {
                let result = recovery.next(task, self.context(task.prompt(None)));
                self.saved.recovery = recovery.state().clone();
                if result.needs_human {
                    self.alert(AlertType::StuckUnrecoverable, &id);
                    return self.end_task(&id, TaskStatus::Failed, is_killed);
                }
                self.saved.stuck.begin_recovery();
                recovery.state().current().map(|remedy| remedy.name.clone())
            }
            StuckState::Progressing | StuckState::Warning => None,
        };
        let is_finished = is_finished_by(id.as_str(), remedy.as_deref());
        let output = if is_finished { format!("Finished {id} after all.") } else { "I tried it.".to_owned() };
        let verified = is_finished.then(|| id.to_string()).into_iter().collect::<BTreeSet<_>>();
        let verdict =
            self.saved.progress.observe(SessionTrace { output, verified, ..SessionTrace::default() }).verdict;
        // The first words of an agent are new, but they are not what this night is about.
        let verdict = if is_finished { verdict } else { ProgressVerdict::Idle };
        self.saved.sessions.push(format!("{id} {}", remedy.as_deref().unwrap_or("plain")));
        self.saved.stuck.observe(verdict, "");
        if remedy.is_some() {
            let step = recovery.observe(verdict, Usd::ZERO);
            if step != RemedyStep::Continue {
                self.saved.stuck.end_recovery(step == RemedyStep::Worked);
            }
            self.saved.recovery = recovery.state().clone();
        }
        if is_finished {
            return self.end_task(&id, TaskStatus::Completed, is_killed);
        }
        self.save(is_killed);
        true
    }

    fn end_task(&mut self, id: &TaskId, status: TaskStatus, is_killed: bool) -> bool {
        self.saved.records.insert(id.clone(), TaskRecord { status, attempts: 1 });
        (self.saved.stuck, self.saved.recovery) = Default::default();
        if status == TaskStatus::Completed {
            self.alert(AlertType::GoalComplete, id);
        }
        self.save(is_killed);
        if !is_killed {
            let path = self.project.join("ROADMAP.md");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, set_done(&text, id.as_str(), status == TaskStatus::Completed).unwrap()).unwrap();
        }
        true
    }

    fn context(&self, prompt: String) -> LoopContext {
        let rung = |backend: &str| Rung { backend: backend.to_owned(), model: None };
        LoopContext {
            prompt,
            current: rung("codex"),
            ladder: vec![rung("codex"), rung("claude")],
            can_branch: true,
            ..LoopContext::default()
        }
    }

    /// Alerts are written at once, so that a killed process has raised them.
    fn alert(&self, kind: AlertType, id: &TaskId) {
        let iteration = u32::try_from(self.saved.sessions.len()).unwrap();
        let alert =
            Alert::new(kind, format!("{id}."), iteration, Timestamp::UNIX_EPOCH).with("task", id.as_str());
        AlertManager::open(Arc::clone(&self.harness), OnCritical::Continue).unwrap().alert(alert).unwrap();
    }

    fn save(&self, is_killed: bool) {
        if !is_killed {
            fs::write(self.project.join("journal"), serde_json::to_string(&self.saved).unwrap()).unwrap();
        }
    }
}

/// Plays the night; `kills` says whether the process is killed in its next session.
async fn play(mut kills: impl FnMut() -> bool) -> (String, Vec<String>, Vec<String>, usize) {
    let project = tempfile::tempdir().unwrap();
    fs::write(project.path().join("ROADMAP.md"), roadmap()).unwrap();
    let (mut process, mut killed) = (Process::start(project.path()), 0);
    loop {
        let is_killed = kills();
        let goes_on = process.step(is_killed).await;
        if is_killed {
            killed += 1;
            process = Process::start(project.path());
        } else if !goes_on {
            break;
        }
    }
    let text = fs::read_to_string(project.path().join("ROADMAP.md")).unwrap();
    let alerts = AlertManager::open(Arc::clone(&process.harness), OnCritical::Continue).unwrap();
    let alerts = alerts.alerts(None).map(ToString::to_string).collect();
    (text, process.saved.sessions, alerts, killed)
}

#[tokio::test]
async fn a_night_with_kills_ends_like_one_without() {
    let calm = play(|| false).await;
    let mut seed = 42_u64;
    let stormy = play(move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33).is_multiple_of(2)
    })
    .await;
    assert!(stormy.3 >= 50, "{} kills", stormy.3);
    let (text, sessions, alerts, _) = calm;
    assert_eq!((&text, &sessions, &alerts), (&stormy.0, &stormy.1, &stormy.2));

    let roadmap = Roadmap::parse(&text, &[]).unwrap();
    let open: Vec<&str> =
        roadmap.tasks.iter().filter(|task| !task.done).map(|task| task.id.as_str()).collect();
    assert_eq!(open, ["t20", "t21", "t22"], "one is beyond help, and two wait for it");
    assert_eq!(text.len(), self::roadmap().len(), "only boxes have changed");
    let of = |task: &str| -> Vec<&str> {
        sessions.iter().filter_map(|session| session.strip_prefix(&format!("{task} "))).collect()
    };
    assert_eq!(of("t3"), ["plain", "plain", "plain", "nudge"]);
    assert_eq!(of("t5")[3..], ["nudge", "rephrase", "decompose"]);
    assert_eq!(of("t7").last(), Some(&"escalation"));
    assert_eq!(of("t9").last(), Some(&"exploration"));
    assert_eq!(of("t20").len(), 3 + 1 + 5 + 2 + 6, "the budget was used, and no more");
    assert_eq!(alerts.iter().filter(|alert| alert.starts_with("[SUCCESS]")).count(), 27);
    assert_eq!(alerts.iter().filter(|alert| alert.contains("stuck_unrecoverable: t20.")).count(), 1);
    assert_eq!(alerts.len(), 28, "each alert once");
}

#[tokio::test]
async fn the_view_is_written_anew_from_the_roadmap() {
    let project = tempfile::tempdir().unwrap();
    let harness = HarnessDirectory::create(project.path(), "night").unwrap();
    fs::write(harness.state_db(), "garbage that is not a database at all").unwrap();
    let (state, _) = StateManager::open(&harness).unwrap();
    for task in &Roadmap::parse(&roadmap(), &[]).unwrap().tasks {
        state.save_task(task, TaskRecord::default()).unwrap();
    }
    assert_eq!(state.incomplete_tasks().unwrap().len(), TASKS);
}
