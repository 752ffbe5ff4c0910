//! HarnessHandle Interface.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use autonoe_harness::alerts::{AlertManager, AlertType, OnCritical};
use autonoe_harness::control::{HarnessDirectory, HarnessStop, LogLevel, LoopStatus, StatusFile};
use autonoe_harness::handle::{HarnessHandle, HarnessStatus, KILL_TIMEOUT, LOG_TAIL};
use autonoe_harness::schedule::TaskStatus;
use autonoe_harness::state_view::StateManager;
use jiff::Timestamp;

use super::{Contract, alert, record, task};

pub const CONTRACTS: &[Contract] = &[
    ("PENDING = \"pending\"", || assert_eq!(HarnessStatus::Pending.name(), "pending")),
    ("RUNNING = \"running\"", || assert_eq!(HarnessStatus::Running.name(), "running")),
    ("PAUSED = \"paused\"", || assert_eq!(HarnessStatus::Paused.name(), "paused")),
    ("COMPLETED = \"completed\"", || assert_eq!(HarnessStatus::Completed.name(), "completed")),
    ("FAILED = \"failed\"", || assert_eq!(HarnessStatus::Failed.name(), "failed")),
    ("STOPPED = \"stopped\"", || assert_eq!(HarnessStatus::Stopped.name(), "stopped")),
    ("harness_id: str", || with_handle(|handle, _| assert_eq!(handle.harness_id, "main"))),
    ("pid: int", || with_handle(|handle, _| assert_eq!(handle.pid, std::process::id()))),
    ("working_dir: Path", || with_handle(|handle, project| assert_eq!(handle.working_dir, project))),
    ("state_db: Path", || {
        with_handle(|handle, project| {
            assert_eq!(handle.state_db, project.join(".harness/main/state.db"));
        });
    }),
    ("status: HarnessStatus", || {
        with_handle(|handle, project| {
            assert_eq!(handle.status, HarnessStatus::Pending);
            HarnessDirectory::open(project, "main").unwrap().write_status(&StatusFile::default()).unwrap();
            handle.refresh();
            assert_eq!(handle.status, HarnessStatus::Running);
            handle.request_pause().unwrap();
            handle.refresh();
            assert_eq!(handle.status, HarnessStatus::Paused);
        });
    }),
    ("Properties are updated by polling the subprocess.", || {
        with_handle(|handle, project| {
            let status = StatusFile { current_iteration: 9, ..StatusFile::default() };
            HarnessDirectory::open(project, "main").unwrap().write_status(&status).unwrap();
            assert_eq!(handle.current_iteration, 0, "not before it is looked at");
            handle.refresh();
            assert_eq!(handle.current_iteration, 9);
        });
    }),
    ("Handle to control and monitor a sub-harness.", || {
        let project = tempfile::tempdir().unwrap();
        assert!(HarnessHandle::attach(project.path(), "main", std::process::id()).is_err(), "there is none");
        let child = HarnessHandle::of_child(project.path(), "main", ended("exit 0")).unwrap();
        assert!(child.status.is_over() && project.path().join(".harness/main").is_dir());
    }),
    ("progress: float  # 0.0 - 1.0", || {
        with_handle(|handle, project| {
            let (state, _) = StateManager::open(&HarnessDirectory::open(project, "main").unwrap()).unwrap();
            state.save_task(&task(""), record(TaskStatus::Completed)).unwrap();
            handle.refresh();
            assert_eq!(handle.progress, 1.0);
        });
    }),
    ("current_task: Optional[str]", || {
        with_handle(|handle, project| {
            assert_eq!(handle.current_task, None);
            let (state, _) = StateManager::open(&HarnessDirectory::open(project, "main").unwrap()).unwrap();
            state.save_task(&task(""), record(TaskStatus::InProgress)).unwrap();
            handle.refresh();
            assert_eq!(handle.current_task.as_deref(), Some("Add a cart"));
        });
    }),
    ("current_iteration: int", || {
        with_handle(|handle, project| {
            let status = StatusFile { current_iteration: 7, ..StatusFile::default() };
            HarnessDirectory::open(project, "main").unwrap().write_status(&status).unwrap();
            handle.refresh();
            assert_eq!((handle.current_iteration, handle.status), (7, HarnessStatus::Running));
        });
    }),
    ("result: Optional[\"HarnessResult\"] = None", || {
        with_handle(|handle, _| assert_eq!(handle.result, None));
        let project = tempfile::tempdir().unwrap();
        let handle = HarnessHandle::of_child(project.path(), "main", ended("exit 3")).unwrap();
        assert!(!handle.result.unwrap().success);
    }),
    ("error: Optional[str] = None", || {
        with_handle(|handle, _| assert_eq!(handle.error, None));
        let project = tempfile::tempdir().unwrap();
        let handle = HarnessHandle::of_child(project.path(), "main", ended("exit 3")).unwrap();
        assert_eq!(handle.error.as_deref(), Some("Process exited with code 3"));
    }),
    ("Send instruction to sub-harness.", || {
        with_handle(|handle, project| {
            handle.send_instruction("use sqlite").unwrap();
            let requests = HarnessDirectory::open(project, "main").unwrap().requests().unwrap();
            let texts: Vec<String> = requests.instructions.iter().map(|next| next.prompt()).collect();
            assert_eq!(texts, ["use sqlite"]);
        });
    }),
    ("Writes to .harness/{id}/inbox/", || {
        with_handle(|handle, project| {
            let name = handle.send_instruction("use sqlite").unwrap();
            let path = project.join(".harness/main/inbox").join(name);
            assert_eq!(std::fs::read_to_string(path).unwrap(), "use sqlite");
        });
    }),
    ("Request pause. Creates .harness/{id}/pause file.", || {
        with_handle(|handle, project| {
            handle.request_pause().unwrap();
            assert!(project.join(".harness/main/pause").is_file());
        });
    }),
    ("Request graceful stop. Creates .harness/{id}/stop file.", || {
        with_handle(|handle, project| {
            handle.request_stop().unwrap();
            assert!(project.join(".harness/main/stop").is_file());
            let requests = HarnessDirectory::open(project, "main").unwrap().requests().unwrap();
            assert_eq!(requests.stop, Some(HarnessStop::AfterSession));
        });
    }),
    ("def force_kill(self, timeout: int = 30)", || {
        assert_eq!(KILL_TIMEOUT, Duration::from_secs(30));
        let project = tempfile::tempdir().unwrap();
        let mut handle =
            HarnessHandle::of_child(project.path(), "main", shell("read x", project.path())).unwrap();
        assert!(handle.force_kill(KILL_TIMEOUT));
        assert_eq!(handle.status, HarnessStatus::Failed);
    }),
    ("def get_logs(self, tail: int = 100) -> List[str]", || {
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
    ("Get alerts from .harness/{id}/alerts.log.", || {
        with_handle(|handle, project| {
            let harness = HarnessDirectory::open(project, "main").unwrap();
            let mut manager = AlertManager::open(harness.into(), OnCritical::Continue).unwrap();
            manager.alert(alert(AlertType::NoProgress, 3)).unwrap();
            assert!(project.join(".harness/main/alerts.log").is_file());
            assert_eq!(handle.get_alerts().unwrap()[0].iteration, 3);
        });
    }),
    ("Refresh status from subprocess/state.", || {
        let project = tempfile::tempdir().unwrap();
        let harness = HarnessDirectory::create(project.path(), "main").unwrap();
        harness.write_status(&StatusFile { status: LoopStatus::Complete, ..StatusFile::default() }).unwrap();
        let handle = HarnessHandle::of_child(project.path(), "main", ended("exit 0")).unwrap();
        assert_eq!(handle.status, HarnessStatus::Completed);
    }),
    ("Force kill subprocess after timeout.", || {
        let project = tempfile::tempdir().unwrap();
        let deaf = shell("trap '' TERM; echo ready > ready; while :; do sleep 1; done", project.path());
        while !project.path().join("ready").exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut handle = HarnessHandle::of_child(project.path(), "main", deaf).unwrap();
        assert!(handle.force_kill(Duration::from_millis(100)));
        assert_eq!(handle.error.as_deref(), Some("Process was ended by signal 9"));
    }),
];

/// A handle to this very process.
fn with_handle(look: impl FnOnce(&mut HarnessHandle, &Path)) {
    let project = tempfile::tempdir().unwrap();
    HarnessDirectory::create(project.path(), "main").unwrap();
    let mut handle = HarnessHandle::attach(project.path(), "main", std::process::id()).unwrap();
    look(&mut handle, project.path());
}

fn shell(script: &str, directory: &Path) -> Child {
    let mut command = Command::new("/bin/sh");
    // What outlives its shell by a moment must not hold the output of the test.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.args(["-c", script]).current_dir(directory).stdin(Stdio::piped()).spawn().unwrap()
}

fn ended(script: &str) -> Child {
    let mut child = shell(script, Path::new("/"));
    child.wait().unwrap();
    child
}
