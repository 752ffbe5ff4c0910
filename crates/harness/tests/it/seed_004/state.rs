//! State Manager Interface.

use std::path::Path;
use std::time::Duration;

use autonoe_harness::control::HarnessDirectory;
use autonoe_harness::schedule::TaskStatus;
use autonoe_harness::state_view::{Execution, StateManager};
use jiff::Timestamp;
use rusqlite::Connection;

use super::{Contract, record, task};

pub const CONTRACTS: &[Contract] = &[
    ("Implementations: StateManager (SQLite), MetaStateManager", || {
        with_state(|_, db| {
            let tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('harness_state', 'tasks', 'execution_log')";
            assert_eq!(number(db, tables), 3);
        });
    }),
    ("def init_harness(self, roadmap_path: Path):", || {
        with_state(|state, db| {
            state.init_harness(Path::new("ROADMAP.md"), Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!(text(db, "SELECT roadmap_path FROM harness_state WHERE id = 1"), "ROADMAP.md");
        });
    }),
    ("Initialize harness state.", || {
        with_state(|state, db| {
            let (start, later) = (Timestamp::UNIX_EPOCH, Timestamp::from_second(3600).unwrap());
            state.init_harness(Path::new("ROADMAP.md"), start).unwrap();
            state.init_harness(Path::new("ROADMAP.md"), later).unwrap();
            let row = "SELECT started_at || ' ' || last_activity FROM harness_state";
            assert_eq!(text(db, row), "1970-01-01T00:00:00 1970-01-01T01:00:00", "it is continued");
        });
    }),
    ("def save_task(self, task: Task):", || {
        with_state(|state, _| {
            state.save_task(&task(""), record(TaskStatus::Pending)).unwrap();
            state.save_task(&task(""), record(TaskStatus::Failed)).unwrap();
            assert_eq!(state.incomplete_tasks().unwrap().len(), 1, "the same task is not saved twice");
        });
    }),
    ("Save task state.", || {
        with_state(|state, _| {
            state.save_task(&task(""), record(TaskStatus::Failed)).unwrap();
            let row = state.load_task("cart").unwrap().unwrap();
            assert_eq!((row.status, row.attempts), (TaskStatus::Failed, 1));
        });
    }),
    ("def load_task(self, task_id: str) -> Optional[Task]:", || {
        with_state(|state, _| {
            state.save_task(&task("  - timeout: 2h\n"), record(TaskStatus::Pending)).unwrap();
            let row = state.load_task("cart").unwrap().unwrap();
            assert_eq!((row.description.as_str(), row.timeout_minutes), ("Add a cart", 120));
            assert_eq!(state.load_task("other").unwrap(), None);
        });
    }),
    ("Load task state.", || {
        with_state(|state, _| {
            let lines = "  - success: ok\n  - cwd: ./Sub\n  - cli: codex\n  - model: best\n";
            state.save_task(&task(lines), record(TaskStatus::Pending)).unwrap();
            let row = state.load_task("cart").unwrap().unwrap();
            let fields = [row.success_criteria, row.cwd, row.cli, row.model];
            assert_eq!(fields, ["ok", "./Sub", "codex", "best"]);
        });
    }),
    ("def update_task_status(", || {
        with_state(|state, _| {
            state.save_task(&task(""), record(TaskStatus::Pending)).unwrap();
            update(state, TaskStatus::Completed, None, None);
            assert_eq!(state.load_task("cart").unwrap().unwrap().status, TaskStatus::Completed);
        });
    }),
    ("output: Optional[str] = None,", || {
        with_state(|state, _| {
            state.save_task(&task(""), record(TaskStatus::Pending)).unwrap();
            update(state, TaskStatus::Failed, Some("text"), None);
            update(state, TaskStatus::Failed, None, None);
            assert_eq!(state.load_task("cart").unwrap().unwrap().output, "text");
        });
    }),
    ("error: Optional[str] = None", || {
        with_state(|state, _| {
            state.save_task(&task(""), record(TaskStatus::Pending)).unwrap();
            update(state, TaskStatus::Failed, None, Some("why"));
            update(state, TaskStatus::InProgress, None, None);
            assert_eq!(state.load_task("cart").unwrap().unwrap().error, "why");
        });
    }),
    ("Get tasks that haven't completed.", || {
        with_state(|state, _| {
            for status in
                [TaskStatus::Pending, TaskStatus::InProgress, TaskStatus::Failed, TaskStatus::Blocked]
            {
                state.save_task(&task(""), record(status)).unwrap();
                assert_eq!(state.incomplete_tasks().unwrap().len(), 1, "{status:?}");
            }
            state.save_task(&task(""), record(TaskStatus::Completed)).unwrap();
            assert!(state.incomplete_tasks().unwrap().is_empty());
        });
    }),
    ("def log_execution(", || {
        with_state(|state, db| {
            log(state, 1, false);
            log(state, 2, true);
            assert_eq!(number(db, "SELECT count(*) FROM execution_log WHERE task_id = 'cart'"), 2);
        });
    }),
    ("attempt: int,", || {
        with_state(|state, db| {
            log(state, 7, false);
            assert_eq!(number(db, "SELECT attempt FROM execution_log"), 7);
        });
    }),
    ("duration: float", || {
        with_state(|state, _| {
            log(state, 1, false);
            log(state, 2, true);
            assert_eq!(state.counts().unwrap().total_execution_time, Duration::from_secs(10), "both");
        });
    }),
];

fn update(state: &StateManager, status: TaskStatus, output: Option<&str>, error: Option<&str>) {
    state.update_task_status("cart", status, output, error, Timestamp::UNIX_EPOCH).unwrap();
}

fn log(state: &StateManager, attempt: u32, success: bool) {
    state.init_harness(Path::new("ROADMAP.md"), Timestamp::UNIX_EPOCH).unwrap();
    state.save_task(&task(""), record(TaskStatus::InProgress)).unwrap();
    let (output, error, duration) = ("x", Some("y"), Duration::from_secs(5));
    let execution = Execution { task_id: "cart", attempt, success, output, error, duration };
    state.log_execution(&execution, Timestamp::UNIX_EPOCH).unwrap();
}

/// The manager, and the file as other programs see it.
fn with_state(look: impl FnOnce(&StateManager, &Connection)) {
    let project = tempfile::tempdir().unwrap();
    let harness = HarnessDirectory::create(project.path(), "main").unwrap();
    let (state, _) = StateManager::open(&harness).unwrap();
    look(&state, &Connection::open(harness.path().join("state.db")).unwrap());
}

fn number(db: &Connection, query: &str) -> i64 {
    db.query_row(query, [], |row| row.get(0)).unwrap()
}

fn text(db: &Connection, query: &str) -> String {
    db.query_row(query, [], |row| row.get(0)).unwrap()
}
