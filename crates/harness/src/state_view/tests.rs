use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::{Execution, StateFound, StateManager};
use crate::control::HarnessDirectory;
use crate::roadmap::Roadmap;
use crate::schedule::{TaskRecord, TaskStatus};

const ROADMAP: &str = "## Tasks\n### Phase 1: Basics\n- [ ] **a**: First\n  - timeout: 90s\n- [ ] **b**: Second\n  - depends: a\n  - cli: codex,gemini\n  - success: it works\n  - issue: 12\n";

fn now() -> Timestamp {
    "2026-01-02T03:04:05.678901Z".parse().expect("a time")
}

fn roadmap() -> Roadmap {
    Roadmap::parse(ROADMAP, &["codex", "gemini"]).expect("a roadmap")
}

fn saved(state: &StateManager) {
    state.init_harness(Path::new("/project/ROADMAP.md"), now()).expect("begun");
    for task in &roadmap().tasks {
        state.save_task(task, TaskRecord::default()).expect("saved");
    }
}

#[test]
fn tasks_and_attempts_can_be_read_back() {
    let project = tempfile::tempdir().expect("directory");
    let harness = HarnessDirectory::create(project.path(), "main").expect("a harness");
    let (state, found) = StateManager::open(&harness).expect("opened");
    assert_eq!(found, StateFound::Nothing);
    saved(&state);
    let second = state.load_task("b").expect("loaded").expect("a task");
    assert_eq!((second.phase.as_str(), &second.depends[..]), ("Basics", &["a".to_owned()][..]));
    assert_eq!((second.cli.as_str(), second.timeout_minutes, second.max_retries), ("codex,gemini", 30, 3));
    assert_eq!((second.success_criteria.as_str(), second.status), ("it works", TaskStatus::Pending));
    assert_eq!(state.load_task("a").expect("loaded").expect("a task").timeout_minutes, 2, "rounded up");
    assert_eq!(state.load_task("c").expect("loaded"), None);

    state.update_task_status("a", TaskStatus::InProgress, None, None, now()).expect("updated");
    assert_eq!(state.counts().expect("counts").current_task.as_deref(), Some("First"));
    let output = "ä".repeat(20_000);
    let execution = Execution {
        task_id: "a",
        attempt: 1,
        success: true,
        output: &output,
        error: None,
        duration: Duration::from_millis(1500),
    };
    state.log_execution(&execution, now()).expect("logged");
    state.log_execution(&Execution { attempt: 2, ..execution }, now()).expect("logged");
    state.update_task_status("a", TaskStatus::Completed, Some("done"), None, now()).expect("updated");
    let first = state.load_task("a").expect("loaded").expect("a task");
    assert_eq!((first.status, first.output.as_str()), (TaskStatus::Completed, "done"));
    assert_eq!(first.started_at.as_deref(), Some("2026-01-02T03:04:05"), "UTC without a zone");
    assert_eq!(first.completed_at, first.started_at);
    let left: Vec<String> =
        state.incomplete_tasks().expect("tasks").into_iter().map(|task| task.id).collect();
    assert_eq!(left, ["b"]);
    let counts = state.counts().expect("counts");
    assert_eq!((counts.tasks, counts.completed, counts.failed, counts.progress()), (2, 1, 0, 0.5));
    assert_eq!(counts.total_execution_time, Duration::from_secs(3), "it is added up");
    let longest: i64 = state
        .run(|db| db.query_row("SELECT max(length(output)) FROM execution_log", [], |row| row.get(0)))
        .expect("a number");
    assert_eq!(longest, 10_000);

    let (state, found) = StateManager::open(&harness).expect("opened again");
    assert_eq!((found, state.incomplete_tasks().expect("tasks").len()), (StateFound::State, 1));
    state.reset().expect("reset");
    assert_eq!(state.counts().expect("counts").tasks, 0);
}

#[test]
fn a_damaged_file_is_put_aside_and_written_anew() {
    for damage in [&b"not a database, but long enough to look like one"[..], &[0; 5000]] {
        let project = tempfile::tempdir().expect("directory");
        let harness = HarnessDirectory::create(project.path(), "main").expect("a harness");
        let (state, _) = StateManager::open(&harness).expect("opened");
        saved(&state);
        drop(state);
        fs::write(harness.state_db(), damage).expect("damaged");
        let (state, found) = StateManager::open(&harness).expect("opened");
        assert_eq!((found, state.counts().expect("counts").tasks), (StateFound::Damaged, 0));
        saved(&state);
        assert_eq!(state.incomplete_tasks().expect("tasks").len(), 2);
        assert_eq!(fs::read(harness.path().join("state.db.damaged")).expect("kept"), damage);
    }
}

#[test]
fn a_page_of_garbage_and_a_file_of_another_program_are_not_used() {
    let project = tempfile::tempdir().expect("directory");
    let harness = HarnessDirectory::create(project.path(), "main").expect("a harness");
    let (state, _) = StateManager::open(&harness).expect("opened");
    saved(&state);
    state.run(|db| db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")).expect("written");
    drop(state);
    let mut bytes = fs::read(harness.state_db()).expect("bytes");
    bytes[4096..].fill(0x55);
    fs::write(harness.state_db(), bytes).expect("damaged");
    let (state, found) = StateManager::open(&harness).expect("opened");
    assert_eq!(found, StateFound::Damaged);
    drop(state);
    fs::remove_file(harness.state_db()).expect("removed");
    let other = rusqlite::Connection::open(harness.state_db()).expect("opened");
    other.execute_batch("CREATE TABLE tasks (x)").expect("written");
    drop(other);
    assert_eq!(StateManager::open(&harness).expect("opened").1, StateFound::Damaged);
}

#[test]
fn a_link_in_its_place_is_not_followed() {
    let project = tempfile::tempdir().expect("directory");
    let harness = HarnessDirectory::create(project.path(), "main").expect("a harness");
    assert!(StateManager::find(&harness).expect("none yet").is_none());
    let outside = tempfile::tempdir().expect("directory");
    symlink(outside.path().join("x.db"), harness.state_db()).expect("link");
    let Err(error) = StateManager::open(&harness) else { panic!("a link") };
    assert!(error.to_string().ends_with("state.db is a symbolic link, not a regular file."), "{error}");
    assert_eq!(fs::read_dir(outside.path()).expect("entries").count(), 0);
}
