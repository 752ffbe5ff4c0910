//! Every contract of seed 004 that this crate keeps, quoted, with what shows it. Those of the executors, and of many harnesses at once, are
//! kept by the crates that start agents.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::event::ProgressVerdict;
use autonoe_core::money::Usd;
use autonoe_harness::alerts::{Alert, AlertManager, AlertType, OnCritical, RECENT, Severity};
use autonoe_harness::control::{HarnessDirectory, HarnessStop, LogLevel, LoopStatus, StatusFile};
use autonoe_harness::handle::{HarnessHandle, HarnessStatus, KILL_TIMEOUT, LOG_TAIL};
use autonoe_harness::progress::{ProgressDetector, ProgressSignal, SessionTrace, TreeSnapshot, WEIGHTS};
use autonoe_harness::recovery::{
    AskPerson, BranchExplorer, LoopContext, ModelEscalator, Mutation, Nudge, PromptMutator, Recovery,
    RecoveryBudget, RecoveryResult, RecoveryState, RecoveryStrategy, Rung,
};
use autonoe_harness::roadmap::{Roadmap, Task};
use autonoe_harness::schedule::{TaskRecord, TaskStatus};
use autonoe_harness::state_view::{Execution, StateManager};
use jiff::Timestamp;

/// Section, quotation, and what shows that it is kept.
const CONTRACTS: [(&str, &str, fn()); 57] = [
    ("Task", "id: str", || assert_eq!(task("").id.as_str(), "cart")),
    ("Task", "description: str", || assert_eq!(task("").description, "Add a cart")),
    ("Task", "goal: str", || {
        assert_eq!(task("").goal, "Add a cart");
        assert_eq!(task("  - goal: A cart that works\n").goal, "A cart that works");
    }),
    ("Task", "success_criteria: Optional[str] = None", || {
        assert_eq!(task("").success_criteria, None);
        assert_eq!(task("  - success: it works\n").success_criteria.as_deref(), Some("it works"));
    }),
    ("Task", "timeout_minutes: int = 30", || assert_eq!(task("").timeout, Duration::from_secs(30 * 60))),
    ("Task", "cwd: Optional[Path] = None", || {
        assert_eq!(task("").cwd, Path::new("./"));
        assert_eq!(task("  - cwd: ./Sub\n").cwd, Path::new("./Sub"));
    }),
    ("Task", "cli: str = \"\"  # Override CLI for this task", || {
        assert!(task("").cli.is_empty());
        assert_eq!(task("  - cli: codex\n").cli, ["codex"]);
    }),
    ("Task", "model: str = \"\"  # Override model for this task", || {
        assert_eq!(task("").model, None);
        assert_eq!(task("  - model: best\n").model.as_deref(), Some("best"));
    }),
    ("_build_prompt", "sections = [f\"## Goal\\n{task.goal}\"]", || {
        assert_eq!(task("").prompt(None), "## Goal\nAdd a cart");
    }),
    ("_build_prompt", "sections.append(f\"## Context\\n{context}\")", || {
        assert_eq!(task("").prompt(Some("x")), "## Goal\nAdd a cart\n\n## Context\nx");
    }),
    ("_build_prompt", "sections.append(f\"## Success Criteria\\n{task.success_criteria}\")", || {
        assert_eq!(task("  - success: ok\n").prompt(None), "## Goal\nAdd a cart\n\n## Success Criteria\nok");
    }),
    ("_build_prompt", "return \"\\n\\n\".join(sections)", || {
        let prompt = task("  - success: ok\n").prompt(Some("x"));
        assert_eq!(prompt.split("\n\n").count(), 3);
    }),
    ("ProgressSignal", "output_diff_score: float      # 0.0 = identical, 1.0 = completely different", || {
        let mut detector = ProgressDetector::default();
        detector.observe(session("same words"));
        assert_eq!(detector.detect("same words", None).output_diff_score, 0.0);
        assert_eq!(detector.detect("123456789", None).output_diff_score, 1.0);
    }),
    ("ProgressSignal", "file_changes_score: float     # 0.0 = no changes, 1.0 = significant", || {
        let directory = tempfile::tempdir().unwrap();
        let mut detector = ProgressDetector::default();
        detector.start(TreeSnapshot::take(directory.path(), None).ok(), BTreeSet::new());
        let score = |detector: &ProgressDetector| {
            detector.detect("", TreeSnapshot::take(directory.path(), None).ok().as_ref()).file_changes_score
        };
        assert_eq!(score(&detector), Some(0.0));
        for name in ["a", "b", "c"] {
            std::fs::write(directory.path().join(name), "x").unwrap();
        }
        assert_eq!(score(&detector), Some(1.0));
    }),
    ("ProgressSignal", "explicit_markers: List[str]   # <progress>...</progress> content", || {
        let signal = ProgressDetector::default().detect("<progress>half</progress>", None);
        assert_eq!(signal.explicit_markers, ["half"]);
    }),
    ("ProgressSignal", "checklist_progress: float     # 0.0 = none, 1.0 = all complete", || {
        let mut detector = ProgressDetector::default();
        detector.observe(session("- [ ] a"));
        assert_eq!(detector.detect("- [ ] a", None).checklist_progress, 0.0);
        assert_eq!(detector.detect("- [x] a", None).checklist_progress, 1.0);
    }),
    ("ProgressDetector", "'output_diff': 0.30", || assert_eq!(score(1.0, 0.0, 0, 0.0), 0.30)),
    ("ProgressDetector", "'file_changes': 0.30", || assert_eq!(score(0.0, 1.0, 0, 0.0), 0.30)),
    ("ProgressDetector", "'explicit_markers': 0.25", || assert_eq!(score(0.0, 0.0, 2, 0.0), 0.25)),
    ("ProgressDetector", "'checklist': 0.15", || {
        assert_eq!(score(0.0, 0.0, 0, 1.0), 0.15);
        let sum = WEIGHTS.output_diff + WEIGHTS.file_changes + WEIGHTS.explicit_markers + WEIGHTS.checklist;
        assert!((sum - 1.0).abs() < 1e-9);
    }),
    ("ProgressDetector", "marker_score = min(1.0, len(signal.explicit_markers) * 0.5)", || {
        assert_eq!(score(0.0, 0.0, 1, 0.0), 0.125);
        assert_eq!(score(0.0, 0.0, 9, 0.0), 0.25);
    }),
    ("ProgressDetector", "Calculate weighted progress score (0.0-1.0).", || {
        assert!((score(1.0, 1.0, 2, 1.0) - 1.0).abs() < 1e-9);
        assert_eq!(score(0.0, 0.0, 0, 0.0), 0.0);
    }),
    ("RecoveryResult", "success: bool", || {
        assert!(apply(&Nudge).success);
        assert!(!apply(&AskPerson).success);
    }),
    ("RecoveryResult", "new_prompt: Optional[str] = None", || {
        assert!(apply(&PromptMutator { mutation: Mutation::Rephrase }).new_prompt.is_some());
        assert_eq!(apply(&AskPerson).new_prompt, None);
    }),
    ("RecoveryResult", "escalated_to: Optional[tuple] = None  # (cli, model)", || {
        let Rung { backend, model } = apply(&ModelEscalator).escalated_to.unwrap();
        assert_eq!((backend.as_str(), model.as_deref()), ("claude", Some("best")));
    }),
    ("RecoveryResult", "branch: Optional[\"ExplorationBranch\"] = None", || {
        assert_eq!(apply(&BranchExplorer).branch.unwrap().branches.len(), 3);
        assert_eq!(apply(&Nudge).branch, None);
    }),
    ("RecoveryResult", "needs_human: bool = False", || {
        assert!(!apply(&Nudge).needs_human);
        assert!(apply(&AskPerson).needs_human);
    }),
    ("RecoveryStrategy", "Implementations: PromptMutator, ModelEscalator, BranchExplorer", || {
        for strategy in strategies() {
            assert!(strategy.can_apply(&context()), "{}", strategy.name());
        }
    }),
    ("RecoveryStrategy", "Name of this recovery strategy.", || {
        let names: BTreeSet<&str> = strategies().iter().map(|strategy| strategy.name()).collect();
        assert_eq!(names.len(), strategies().len());
    }),
    ("RecoveryStrategy", "Return True if this strategy can be applied.", || {
        assert!(!BranchExplorer.can_apply(&LoopContext { can_branch: false, ..context() }));
        assert!(!ModelEscalator.can_apply(&LoopContext { ladder: Vec::new(), ..context() }));
        assert!(!Nudge.can_apply(&LoopContext { sessions_left: 0, ..context() }));
    }),
    ("RecoveryStrategy", "RecoveryResult indicating success and what changed", || {
        for strategy in strategies() {
            let RecoveryResult { success, new_prompt, escalated_to, branch, needs_human, .. } =
                apply(&*strategy);
            assert_eq!(success, new_prompt.is_some() || escalated_to.is_some() || branch.is_some());
            assert_ne!(success, needs_human);
        }
        let mut recovery = Recovery::new(RecoveryBudget::default(), RecoveryState::default());
        recovery.next(&task(""), context());
        recovery.observe(ProgressVerdict::Progressed, Usd::ZERO);
        assert_eq!(recovery.state().summary(), ["nudge: 1 session, worked"]);
    }),
    ("HarnessStatus", "pending running paused completed failed stopped", || {
        let all = [
            HarnessStatus::Pending,
            HarnessStatus::Running,
            HarnessStatus::Paused,
            HarnessStatus::Completed,
            HarnessStatus::Failed,
            HarnessStatus::Stopped,
        ];
        assert_eq!(all.map(HarnessStatus::name).join(" "), "pending running paused completed failed stopped");
    }),
    ("HarnessHandle", "harness_id: str; pid: int; working_dir: Path; state_db: Path", || {
        with_handle(|handle, project| {
            assert_eq!((handle.harness_id.as_str(), handle.pid), ("main", std::process::id()));
            assert_eq!(handle.working_dir, project);
            assert_eq!(handle.state_db, project.join(".harness/main/state.db"));
        });
    }),
    ("HarnessHandle", "progress: float  # 0.0 - 1.0", || {
        with_handle(|handle, project| {
            let (state, _) = StateManager::open(&HarnessDirectory::open(project, "main").unwrap()).unwrap();
            state.save_task(&task(""), record(TaskStatus::Completed)).unwrap();
            handle.refresh();
            assert_eq!(handle.progress, 1.0);
        });
    }),
    ("HarnessHandle", "current_task: Optional[str]", || {
        with_handle(|handle, project| {
            assert_eq!(handle.current_task, None);
            let (state, _) = StateManager::open(&HarnessDirectory::open(project, "main").unwrap()).unwrap();
            state.save_task(&task(""), record(TaskStatus::InProgress)).unwrap();
            handle.refresh();
            assert_eq!(handle.current_task.as_deref(), Some("Add a cart"));
        });
    }),
    ("HarnessHandle", "current_iteration: int", || {
        with_handle(|handle, project| {
            let status = StatusFile { current_iteration: 7, ..StatusFile::default() };
            HarnessDirectory::open(project, "main").unwrap().write_status(&status).unwrap();
            handle.refresh();
            assert_eq!((handle.current_iteration, handle.status), (7, HarnessStatus::Running));
        });
    }),
    ("HarnessHandle", "result: Optional[\"HarnessResult\"] = None; error: Optional[str] = None", || {
        with_handle(|handle, _| assert!(handle.result.is_none() && handle.error.is_none()));
        let project = tempfile::tempdir().unwrap();
        let handle = HarnessHandle::of_child(project.path(), "main", ended("exit 3")).unwrap();
        assert!(!handle.result.unwrap().success);
        assert_eq!(handle.error.as_deref(), Some("Process exited with code 3"));
    }),
    ("HarnessHandle", "Writes to .harness/{id}/inbox/", || {
        with_handle(|handle, project| {
            let name = handle.send_instruction("use sqlite").unwrap();
            let path = project.join(".harness/main/inbox").join(name);
            assert_eq!(std::fs::read_to_string(path).unwrap(), "use sqlite");
        });
    }),
    ("HarnessHandle", "Request pause. Creates .harness/{id}/pause file.", || {
        with_handle(|handle, project| {
            handle.request_pause().unwrap();
            assert!(project.join(".harness/main/pause").is_file());
        });
    }),
    ("HarnessHandle", "Request graceful stop. Creates .harness/{id}/stop file.", || {
        with_handle(|handle, project| {
            handle.request_stop().unwrap();
            assert!(project.join(".harness/main/stop").is_file());
            let requests = HarnessDirectory::open(project, "main").unwrap().requests().unwrap();
            assert_eq!(requests.stop, Some(HarnessStop::AfterSession));
        });
    }),
    ("HarnessHandle", "def force_kill(self, timeout: int = 30)", || {
        assert_eq!(KILL_TIMEOUT, Duration::from_secs(30));
        let project = tempfile::tempdir().unwrap();
        let mut handle = HarnessHandle::of_child(project.path(), "main", shell("read x")).unwrap();
        assert!(handle.force_kill(KILL_TIMEOUT));
        assert_eq!(handle.status, HarnessStatus::Failed);
    }),
    ("HarnessHandle", "def get_logs(self, tail: int = 100) -> List[str]", || {
        assert_eq!(LOG_TAIL, 100);
        with_handle(|handle, project| {
            let harness = HarnessDirectory::open(project, "main").unwrap();
            for number in 0..101 {
                harness.log(LogLevel::Info, number, "x", Timestamp::UNIX_EPOCH).unwrap();
            }
            let lines = handle.get_logs(LOG_TAIL).unwrap();
            assert_eq!((lines.len(), lines[0].as_str()), (100, "[1970-01-01T00:00:00Z] [INFO] [iter=1] x"));
        });
    }),
    ("HarnessHandle", "Get alerts from .harness/{id}/alerts.log.", || {
        with_handle(|handle, project| {
            let harness = HarnessDirectory::open(project, "main").unwrap();
            let mut manager = AlertManager::open(harness.into(), OnCritical::Continue).unwrap();
            manager.alert(alert(AlertType::NoProgress, 3)).unwrap();
            assert!(project.join(".harness/main/alerts.log").is_file());
            assert_eq!(handle.get_alerts().unwrap()[0].iteration, 3);
        });
    }),
    ("HarnessHandle", "Refresh status from subprocess/state.", || {
        let project = tempfile::tempdir().unwrap();
        let harness = HarnessDirectory::create(project.path(), "main").unwrap();
        harness.write_status(&StatusFile { status: LoopStatus::Complete, ..StatusFile::default() }).unwrap();
        let handle = HarnessHandle::of_child(project.path(), "main", ended("exit 0")).unwrap();
        assert_eq!(handle.status, HarnessStatus::Completed);
    }),
    ("StateManager", "def init_harness(self, roadmap_path: Path)", || {
        with_state(|state| state.init_harness(Path::new("ROADMAP.md"), Timestamp::UNIX_EPOCH).unwrap());
    }),
    ("StateManager", "def save_task(self, task: Task)", || {
        with_state(|state| {
            state.save_task(&task(""), record(TaskStatus::Pending)).unwrap();
            state.save_task(&task(""), record(TaskStatus::Failed)).unwrap();
            assert_eq!(state.incomplete_tasks().unwrap().len(), 1, "the same task is not saved twice");
        });
    }),
    ("StateManager", "def load_task(self, task_id: str) -> Optional[Task]", || {
        with_state(|state| {
            state.save_task(&task("  - timeout: 2h\n"), record(TaskStatus::Pending)).unwrap();
            let row = state.load_task("cart").unwrap().unwrap();
            assert_eq!((row.description.as_str(), row.timeout_minutes), ("Add a cart", 120));
            assert_eq!(state.load_task("other").unwrap(), None);
        });
    }),
    ("StateManager", "def update_task_status(task_id, status, output = None, error = None)", || {
        with_state(|state| {
            state.save_task(&task(""), record(TaskStatus::Pending)).unwrap();
            let update = |status, output, error| {
                state.update_task_status("cart", status, output, error, Timestamp::UNIX_EPOCH).unwrap();
            };
            update(TaskStatus::Failed, Some("text"), Some("why"));
            update(TaskStatus::Completed, None, None);
            let row = state.load_task("cart").unwrap().unwrap();
            let expected = (TaskStatus::Completed, "text".to_owned(), "why".to_owned());
            assert_eq!((row.status, row.output, row.error), expected);
        });
    }),
    ("StateManager", "Get tasks that haven't completed.", || {
        with_state(|state| {
            state.save_task(&task(""), record(TaskStatus::Completed)).unwrap();
            assert!(state.incomplete_tasks().unwrap().is_empty());
        });
    }),
    ("StateManager", "def log_execution(task_id, attempt, success, output, error, duration)", || {
        with_state(|state| {
            state.init_harness(Path::new("ROADMAP.md"), Timestamp::UNIX_EPOCH).unwrap();
            state.save_task(&task(""), record(TaskStatus::InProgress)).unwrap();
            let duration = Duration::from_secs(5);
            let execution = Execution {
                task_id: "cart",
                attempt: 1,
                success: false,
                output: "x",
                error: Some("y"),
                duration,
            };
            state.log_execution(&execution, Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!(state.counts().unwrap().total_execution_time, duration);
        });
    }),
    (
        "Alert",
        "type: str; message: str; timestamp: datetime; iteration: int; context: Dict[str, Any]",
        || {
            let alert = serde_json::to_value(alert(AlertType::NoProgress, 3).with("task", "cart")).unwrap();
            assert_eq!((&alert["type"], &alert["message"]), (&"no_progress".into(), &"Look.".into()));
            assert_eq!(
                (&alert["timestamp"], &alert["iteration"]),
                (&"1970-01-01T00:00:00Z".into(), &3.into())
            );
            assert_eq!(alert["context"]["task"], "cart");
        },
    ),
    ("Alert", "severity: Literal[\"INFO\", \"WARNING\", \"CRITICAL\", \"SUCCESS\", \"ERROR\"]", || {
        let all = [Severity::Info, Severity::Warning, Severity::Critical, Severity::Success, Severity::Error];
        let names = all.map(|severity| serde_json::to_value(severity).unwrap());
        assert_eq!(names, ["INFO", "WARNING", "CRITICAL", "SUCCESS", "ERROR"]);
    }),
    ("AlertManager", "Logs to .harness/alerts.log", || {
        with_alerts(|manager, harness| {
            manager.alert(alert(AlertType::NoProgress, 1)).unwrap();
            let text = std::fs::read_to_string(harness.path().join("alerts.log")).unwrap();
            assert_eq!(text.lines().count(), 1);
        });
    }),
    ("AlertManager", "alert_type: Type of alert (e.g., \"no_progress\", \"stuck_recovery\")", || {
        let types = [AlertType::NoProgress, AlertType::StuckRecovery, AlertType::Custom("mine".to_owned())];
        let names: Vec<&str> = types.iter().map(AlertType::name).collect();
        assert_eq!(names, ["no_progress", "stuck_recovery", "mine"]);
    }),
    ("AlertManager", "message: Human-readable message", || {
        assert_eq!(alert(AlertType::GoalComplete, 1).to_string(), "[SUCCESS] goal_complete: Look.");
    }),
    ("AlertManager", "Get alerts, optionally filtered by severity.", || {
        with_alerts(|manager, _| {
            manager.alert(alert(AlertType::NoProgress, 1)).unwrap();
            manager.alert(alert(AlertType::FatalError, 1)).unwrap();
            assert_eq!(manager.alerts(None).count(), 2);
            assert_eq!(manager.alerts(Some(Severity::Error)).count(), 1);
        });
    }),
    ("AlertManager", "def get_recent(self, count: int = 10) -> List[Alert]", || {
        assert_eq!(RECENT, 10);
        with_alerts(|manager, _| {
            for iteration in 0..12 {
                manager.alert(alert(AlertType::NoProgress, iteration)).unwrap();
            }
            assert_eq!(manager.recent(RECENT).map(|alert| alert.iteration).collect::<Vec<_>>()[0], 2);
        });
    }),
];

#[test]
fn every_contract_is_kept() {
    let mut quoted = BTreeSet::new();
    for (section, quotation, check) in CONTRACTS {
        assert!(quoted.insert((section, quotation)), "{section}: {quotation} is there twice");
        let kept = std::panic::catch_unwind(check);
        assert!(kept.is_ok(), "{section}: {quotation}");
    }
}

fn task(lines: &str) -> Task {
    let text = format!("## Tasks\n- [ ] **cart**: Add a cart\n{lines}");
    Roadmap::parse(&text, &["claude", "codex"]).unwrap().tasks.remove(0)
}

fn record(status: TaskStatus) -> TaskRecord {
    TaskRecord { status, attempts: 1 }
}

fn session(output: &str) -> SessionTrace {
    SessionTrace { output: output.to_owned(), ..SessionTrace::default() }
}

fn score(output: f64, files: f64, markers: usize, checklist: f64) -> f64 {
    ProgressDetector::default().calculate_score(&ProgressSignal {
        output_diff_score: output,
        file_changes_score: Some(files),
        explicit_markers: vec!["x".to_owned(); markers],
        checklist_progress: checklist,
    })
}

fn context() -> LoopContext {
    let rung =
        |backend: &str, model: &str| Rung { backend: backend.to_owned(), model: Some(model.to_owned()) };
    LoopContext {
        prompt: "## Goal\nAdd a cart".to_owned(),
        current: rung("codex", "small"),
        ladder: vec![rung("codex", "small"), rung("claude", "best")],
        can_branch: true,
        sessions_left: 20,
        ..LoopContext::default()
    }
}

fn strategies() -> Vec<Box<dyn RecoveryStrategy>> {
    let mut all: Vec<Box<dyn RecoveryStrategy>> =
        vec![Box::new(Nudge), Box::new(ModelEscalator), Box::new(BranchExplorer), Box::new(AskPerson)];
    for mutation in Mutation::ALL {
        all.push(Box::new(PromptMutator { mutation }));
    }
    all
}

fn apply(strategy: &dyn RecoveryStrategy) -> RecoveryResult {
    strategy.apply(&task(""), &context())
}

fn alert(kind: AlertType, iteration: u32) -> Alert {
    Alert::new(kind, "Look.", iteration, Timestamp::UNIX_EPOCH)
}

/// A handle to this very process.
fn with_handle(look: impl FnOnce(&mut HarnessHandle, &Path)) {
    let project = tempfile::tempdir().unwrap();
    HarnessDirectory::create(project.path(), "main").unwrap();
    let mut handle = HarnessHandle::attach(project.path(), "main", std::process::id()).unwrap();
    look(&mut handle, project.path());
}

fn with_state(look: impl FnOnce(&StateManager)) {
    let project = tempfile::tempdir().unwrap();
    let harness = HarnessDirectory::create(project.path(), "main").unwrap();
    look(&StateManager::open(&harness).unwrap().0);
}

fn with_alerts(look: impl FnOnce(&mut AlertManager, &HarnessDirectory)) {
    let project = tempfile::tempdir().unwrap();
    let harness = Arc::new(HarnessDirectory::create(project.path(), "main").unwrap());
    look(&mut AlertManager::open(Arc::clone(&harness), OnCritical::Continue).unwrap(), &harness);
}

fn shell(script: &str) -> Child {
    Command::new("/bin/sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap()
}

fn ended(script: &str) -> Child {
    let mut child = shell(script);
    child.wait().unwrap();
    child
}
