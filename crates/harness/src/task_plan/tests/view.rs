//! The view for others is as complete as the journal, whatever happens to it.

use std::fs;
use std::sync::atomic::Ordering;

use rusqlite::Connection;

use super::{Fixture, PASSED, PENDING};
use crate::control::HarnessDirectory;
use crate::schedule::TaskStatus;
use crate::state_view::{HarnessCounts, StateManager, TaskRow};

/// All that others can read about tasks and attempts, but for when it was read.
fn view(fixture: &Fixture) -> (Vec<TaskRow>, Vec<String>, HarnessCounts) {
    let harness = HarnessDirectory::create(fixture.project.path(), "main").expect("a harness");
    let state = StateManager::find(&harness).expect("usable").expect("a view");
    let tasks = ["a", "b"].map(|id| state.load_task(id).expect("loaded").expect("a task"));
    let db = Connection::open(harness.path().join("state.db")).expect("opened");
    let query = "SELECT concat_ws('|', task_id, timestamp, attempt, success, output, error, duration_seconds) FROM execution_log ORDER BY id";
    let mut query = db.prepare(query).expect("a query");
    let rows = query.query_map([], |row| row.get(0)).expect("rows");
    let mut rows: Vec<String> = rows.map(|row| row.expect("a row")).collect();
    let began = "SELECT started_at FROM harness_state";
    rows.push(db.query_row(began, [], |row| row.get(0)).expect("a time"));
    (tasks.to_vec(), rows, state.counts().expect("counts"))
}

fn damage(fixture: &Fixture) {
    for name in ["state.db", "state.db-wal"] {
        fs::write(fixture.project.path().join(".harness/main").join(name), "garbage".repeat(1000))
            .expect("written");
    }
}

#[tokio::test]
async fn a_view_that_is_lost_is_rebuilt_with_all_attempts_outputs_and_times() {
    let roadmap = "## Tasks\n- [ ] **a**: One\n  - max_iterations: 1\n- [ ] **b**: Two\n";
    let mut fixture = Fixture::new(roadmap);
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan, PENDING).await;
    fixture.play(&mut plan, PASSED).await;
    drop(plan);
    let before = view(&fixture);
    let failed = "|1|0|I tried.|it was not done after 1 session(s)|60";
    assert!(before.1[0].starts_with("a|") && before.1[0].contains(failed), "{:?}", before.1);
    assert!(before.1[1].contains("|2|1|I tried.|60"), "{:?}", before.1);
    assert_eq!((before.0[0].attempts, before.0[0].output.as_str()), (2, "I tried."));
    assert!(before.0[0].completed_at.is_some() && before.0[0].started_at.is_some());
    // Another process continues: it says nothing new.
    let plan = fixture.plan().await;
    assert_eq!(view(&fixture), before);
    // It says of each task again how far it is, and that costs nothing.
    let status = || {
        let path = fixture.project.path().join(".harness/main/status.json");
        std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).expect("a status"))
    };
    let written = status();
    plan.state
        .begun
        .values()
        .filter(|begun| begun.record.status == TaskStatus::Completed)
        .for_each(|begun| plan.raise(begun));
    assert_eq!(status(), written, "the file is replaced when it is written");
    // Lost between two processes.
    drop(plan);
    damage(&fixture);
    let mut plan = fixture.plan().await;
    assert_eq!(view(&fixture), before);
    // Lost while one runs that has not seen the attempts.
    damage(&fixture);
    fixture.next(&mut plan).await;
    let mut after = view(&fixture);
    assert_eq!(after.0[1].status, TaskStatus::InProgress);
    (after.0[1], after.2.current_task) = (before.0[1].clone(), before.2.current_task.clone());
    assert_eq!(after, before);
    // Killed after an attempt was saved and before it was logged.
    fixture.play(&mut plan, PASSED).await;
    let whole = view(&fixture);
    drop(plan);
    let db = Connection::open(fixture.project.path().join(".harness/main/state.db")).expect("opened");
    db.execute_batch(
        "DELETE FROM execution_log WHERE task_id = 'b'; UPDATE tasks SET output = '', completed_at = NULL WHERE id = 'b';
         UPDATE harness_state SET total_execution_time = 120",
    )
    .expect("changed");
    drop(db);
    fixture.plan().await;
    assert_eq!(view(&fixture), whole);
    // The roadmap was completed, so the next run begins without what this one remembers.
    *fixture.world.earlier.lock().expect("no panic") = fixture.world.saved.lock().expect("no panic").take();
    fixture.world.has_finished.store(true, Ordering::Relaxed);
    fixture.write(&roadmap.replace("[ ]", "[x]"));
    damage(&fixture);
    fixture.plan().await;
    assert_eq!(view(&fixture), whole);
    fixture.plan().await;
    assert_eq!(view(&fixture), whole);
}
