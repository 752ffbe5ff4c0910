//! A `status.json` that is deleted between two runs is restored from the journal; planning never starts over silently.

use std::fs;

use super::support::{CliTestProject, assert_script_followed, builder, model};

/// A project with A and B passed and its `status.json` deleted, and the deleted text.
fn with_deleted_status() -> (CliTestProject, String) {
    let project = CliTestProject::new();
    project.run(&model(&builder()), &["run", "-n", "3"]).assert_ended("max_iterations", 4);
    let text = project.read(".autonoe/status.json");
    assert_eq!(project.statuses().iter().filter(|(_, status)| *status == "passed").count(), 2);
    fs::remove_file(project.path(".autonoe/status.json")).expect("removed");
    (project, text)
}

#[test]
fn the_next_run_restores_a_deleted_status_file_and_continues() {
    let (project, _) = with_deleted_status();
    let printed = project.autonoe(None).arg("status").output().expect("started").stdout;
    let printed = String::from_utf8_lossy(&printed).into_owned();
    assert!(
        printed.contains("status.json was deleted") && printed.contains("3 deliverable(s), 2 passed"),
        "{printed}"
    );
    let model = model(&builder());
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["coding"], "nothing is planned again");
    let notices: Vec<_> = run.of_type("trouble").filter_map(|event| event["message"].as_str()).collect();
    assert_eq!(notices.len(), 1, "{notices:?}");
    for words in
        ["status.json was deleted", "restored from the journal", "3 deliverable(s), 2 passed", "--start-over"]
    {
        assert!(notices[0].contains(words) && run.stderr.contains(words), "{notices:?}");
    }
    assert_script_followed(&model);
}

#[test]
fn a_finished_project_is_restored_without_an_agent() {
    let project = CliTestProject::new();
    project.run(&model(&builder()), &["run"]).assert_ended("all_passed", 0);
    fs::remove_dir_all(project.path(".autonoe")).expect("removed");
    let output = project.autonoe(None).args(["run", "--backend", "native"]).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(project.statuses().len(), 3);
}

#[test]
fn start_over_plans_again_once() {
    let (project, text) = with_deleted_status();
    fs::write(project.path(".autonoe/status.json"), &text).expect("written");
    let scripted = model(&builder());
    let run = project.run(&scripted, &["run", "--start-over", "-n", "1"]);
    run.assert_ended("max_iterations", 4);
    assert_eq!(run.sessions(), ["initializer"]);
    assert!(project.statuses().iter().all(|(_, status)| *status == "pending"));
    let printed = &run.stderr;
    let backup =
        printed.split("backed up to ").nth(1).and_then(|rest| rest.split(".\n").next()).expect("a path");
    assert_eq!(fs::read_to_string(backup).expect("kept"), text, "nothing is lost");
    let run = project.run(&scripted, &["run", "-n", "1"]);
    assert_eq!(run.sessions(), ["coding"], "the next run continues");
}

#[test]
fn start_over_works_with_a_deleted_status_file() {
    let (project, _) = with_deleted_status();
    let run = project.run(&model(&builder()), &["run", "--start-over", "-n", "1"]);
    assert_eq!(run.sessions(), ["initializer"]);
    assert_eq!(run.of_type("trouble").count(), 0, "{}", run.stderr);
}

#[test]
fn an_older_journal_refuses_to_start_and_says_what_to_do() {
    let (project, _) = with_deleted_status();
    let journal = rusqlite::Connection::open(project.journal()).expect("journal");
    journal.execute("UPDATE status_writes SET after = NULL", []).expect("as it was kept before");
    let runs = |db: &rusqlite::Connection| -> i64 {
        db.query_row("SELECT COUNT(*) FROM runs", [], |row| row.get(0)).expect("count")
    };
    let before = runs(&journal);
    let model = model(&builder());
    let output = project.command(&model, &["run"]).output().expect("started");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(
        printed.contains("is missing")
            && printed.contains("version control")
            && printed.contains("--start-over"),
        "{printed}"
    );
    assert_eq!((model.requests().len(), runs(&journal)), (0, before), "nothing was started");
    project.run(&model, &["run", "--start-over", "-n", "1"]).assert_ended("max_iterations", 4);
}

/// A project with a repository, all of whose deliverables passed, and their `status.json`.
fn finished_in_git() -> (CliTestProject, String) {
    let project = CliTestProject::new();
    init_repository(&project);
    project.run(&model(&builder()), &["run"]).assert_ended("all_passed", 0);
    let text = project.read(".autonoe/status.json");
    (project, text)
}

fn init_repository(project: &CliTestProject) {
    project.git(&["init", "-q", "-b", "main", "."]);
    project.git(&["add", "SPEC.md"]);
    project.git(&["commit", "-q", "-m", &format!("{:?}", std::time::Instant::now())]);
}

fn run_as_another_project(project: &CliTestProject, old: &str, reason: &str) {
    let printed = project.autonoe(None).arg("status").output().expect("started").stdout;
    assert!(String::from_utf8_lossy(&printed).contains("No deliverables yet"));
    let model = model(&builder());
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(
        run.sessions(),
        ["initializer", "coding", "coding", "coding"],
        "everything is planned and built"
    );
    let notices: Vec<_> = run.of_type("trouble").filter_map(|event| event["message"].as_str()).collect();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("another project") && notices[0].contains(reason), "{notices:?}");
    let backup =
        notices[0].split("moved to ").nth(1).and_then(|rest| rest.split(", and").next()).expect("path");
    assert_eq!(fs::read_to_string(backup).expect("kept"), old, "nothing is lost");
    let run = project.run(&model, &["run"]);
    assert_eq!((run.sessions().len(), run.of_type("trouble").count()), (0, 0), "said once");
}

#[test]
fn a_new_project_at_an_old_path_is_planned_from_its_own_specification() {
    let (project, old) = finished_in_git();
    fs::remove_dir_all(project.root()).expect("removed");
    project.write("SPEC.md", "# Another one\n\nBuild other things.\n");
    init_repository(&project);
    run_as_another_project(&project, &old, "SPEC.md is not the one that was planned");
}

#[test]
fn a_new_repository_with_the_same_specification_is_another_project() {
    for has_repository in [true, false] {
        let (project, old) = finished_in_git();
        let spec = project.read("SPEC.md");
        fs::remove_dir_all(project.root()).expect("removed");
        project.write("SPEC.md", &spec);
        if has_repository {
            init_repository(&project);
        }
        run_as_another_project(&project, &old, "does not have commit");
    }
}

#[test]
fn a_killed_run_of_another_project_is_not_resumed() {
    let (project, _) = with_deleted_status();
    let journal = rusqlite::Connection::open(project.journal()).expect("journal");
    journal.execute("UPDATE runs SET ended_at = NULL, report = NULL", []).expect("as if killed");
    project.write("SPEC.md", "# Another one\n");
    let run = project.run(&model(&builder()), &["run", "-n", "1"]);
    assert_eq!(run.sessions(), ["initializer"]);
    assert_eq!(run.of_type("run_started").next().expect("started")["sessions_before"], 0);
}

#[test]
fn a_repository_with_the_recorded_commit_is_the_same_project() {
    let (project, old) = finished_in_git();
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "more"]);
    project.git(&["gc", "-q"]);
    fs::remove_dir_all(project.path(".autonoe")).expect("removed");
    let output = project.autonoe(None).args(["run", "--backend", "native"]).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(project.read(".autonoe/status.json"), old);
}
