//! How people and scripts follow and steer roadmaps: `autonoe harness`, files of `.harness`, kills.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use autonoe_test_kit::{PATH, write_program};
use rusqlite::Connection;
use serde_json::Value;

use super::harness::{ROADMAP, alerts, json_lines, project, tasks};
use super::support::{
    CliTestProject, RunOutput, assert_no_processes_left, builds, builds_with, model, until,
};

/// Killed around each session; the next process continues, and no session is repeated.
#[test]
fn a_killed_roadmap_repeats_no_session() {
    // The last one is killed within a session that has claimed its task: that session is not repeated either.
    for (crash, sessions) in [
        ("session-ended:1", 3),
        ("plan-moved:2", 3),
        ("session-started:2", 3),
        ("status-written:3", 2),
        ("session-ended:3", 3),
    ] {
        let project = project(ROADMAP);
        let model = model(&["list", "cart", "pay"].map(|id| builds(id, &[])).concat());
        let killed = project.command(&model, &["harness", "run"]).env("AUTONOE_CRASH_AT", crash).output();
        let killed = killed.expect("started");
        assert_eq!(killed.status.signal(), Some(9), "{crash}: {}", String::from_utf8_lossy(&killed.stderr));
        assert_no_processes_left(&project);
        let run = project.run(&model, &["harness", "run"]);
        run.assert_ended("all_passed", 0);
        let journal = Connection::open(project.journal()).expect("journal");
        let completed =
            "SELECT COUNT(*) FROM sessions WHERE json_extract(outcome, '$.outcome') = 'completed'";
        let count: i64 = journal.query_row(completed, [], |row| row.get(0)).expect("a count");
        assert_eq!(count, sessions, "{crash}");
        assert_eq!(project.read("ROADMAP.md"), ROADMAP.replace("[ ]", "[x]"), "{crash}");
        assert_eq!(alerts(&project, "task_completed"), 3, "{crash}");
        // What is counted is on record, whichever process did it.
        let status: Value =
            serde_json::from_str(&project.read(".harness/roadmap/status.json")).expect("a status");
        let on_record = project.read(".harness/roadmap/alerts.log").lines().count();
        assert_eq!(status["alerts_issued"], on_record, "{crash}");
        let begun: i64 =
            journal.query_row("SELECT COUNT(*) FROM sessions", [], |row| row.get(0)).expect("a count");
        assert_eq!(status["current_iteration"], begun, "{crash}: {status}");
    }
}

#[test]
fn a_pause_by_file_ends_with_resume() {
    let project = project(ROADMAP);
    project.write(".harness/roadmap/pause", "");
    let model = model(&["list", "cart", "pay"].map(|id| builds(id, &[])).concat());
    let mut command = project.command(&model, &["harness", "run"]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
    let child = child.expect("started");
    let said = |command: &str| {
        let output = project.autonoe(None).arg(command).output().expect("started");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let log = project.path(".harness/roadmap/harness.log");
    until("it is paused", || fs::read_to_string(&log).is_ok_and(|log| log.contains("Paused by ")));
    assert!(said("status").contains("`autonoe resume` continues it"));
    assert!(said("resume").contains("The run continues."));
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    let notices: Vec<_> = run.of_type("notice").filter_map(|event| event["message"].as_str()).collect();
    let file = project.path(".harness/roadmap/pause").display().to_string();
    let expected = format!("Paused by {file}. `autonoe resume`, or removing that file, continues the run.");
    assert!(notices.contains(&expected.as_str()), "{notices:?}");
}

/// `autonoe pause` leaves no file in the directory of the harness.
#[test]
fn others_see_that_a_harness_is_paused_by_command() {
    let project = project(ROADMAP);
    let waits = "touch ready; until [ -e go ]; do sleep 0.05; done; ";
    let script = [builds_with("list", waits, ""), builds("cart", &[]), builds("pay", &[])];
    let model = model(&script.concat());
    let mut command = project.command(&model, &["harness", "run"]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
    let child = child.expect("started");
    until("a session works", || project.path("ready").exists());
    let autonoe = |command: &str| {
        assert!(project.autonoe(None).arg(command).output().expect("started").status.success());
    };
    let status = |wanted: &str| project.read(".harness/roadmap/status.json").contains(wanted);
    autonoe("pause");
    until("it is paused", || status("\"PAUSED\""));
    fs::write(project.path("go"), "").expect("written");
    autonoe("resume");
    until("it continues", || !status("\"PAUSED\""));
    RunOutput::from(child.wait_with_output().expect("ended")).assert_ended("all_passed", 0);
}

/// As by `git clean -fd`: git neither tracks nor ignores the directory.
#[test]
fn a_status_file_that_is_deleted_during_the_run_is_restored_and_that_is_said() {
    let project = project(ROADMAP);
    let waits = "touch ready; until [ -e go ]; do sleep 0.05; done; ";
    let script = [builds("list", &[]), builds_with("cart", waits, ""), builds("pay", &[])];
    let model = model(&script.concat());
    let mut command = project.command(&model, &["harness", "run"]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
    let child = child.expect("started");
    until("a session works", || project.path("ready").exists());
    fs::remove_dir_all(project.path(".autonoe")).expect("removed");
    fs::write(project.path("go"), "").expect("written");
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_eq!(tasks(&run), ["list", "cart", "pay"], "{}", run.stderr);
    let said = ".autonoe/status.json was deleted during the run, so it was restored from the journal: 3 deliverable(s), 1 passed.";
    assert_eq!(run.stderr.matches(said).count(), 1, "{}", run.stderr);
    assert_eq!(project.statuses().len(), 3);
}

#[test]
fn a_stop_file_ends_the_run_after_its_session() {
    // The first of its agents is not installed.
    let roadmap = ROADMAP.replace("List the books\r\n", "List the books\r\n  - cli: gemini, native\r\n");
    let project = project(&roadmap);
    let model = model(&builds_with("list", "touch ready && sleep 2 && ", ""));
    let run = project.run_acting(&model, &["harness", "run"], || {
        project.write(".harness/roadmap/stop", "stop\n");
    });
    run.assert_ended("interrupted", 130);
    assert_eq!(tasks(&run), ["list"]);
    assert!(run.stderr.contains("The agent 'gemini' cannot be used"), "{}", run.stderr);
    assert_eq!(project.read("ROADMAP.md"), roadmap.replace("[ ] **list**", "[x] **list**"));
    assert!(project.read(".harness/roadmap/status.json").contains("\"STOPPED\""));
}

/// "abort" does not wait for the session that is at work.
#[test]
fn a_stop_file_with_abort_ends_the_run_within_its_session() {
    let project = project(ROADMAP);
    let model = model(&builds_with("list", "touch ready && sleep 600 && ", ""));
    let run = project.run_acting(&model, &["harness", "run"], || {
        project.write(".harness/roadmap/stop", "abort\n");
    });
    run.assert_ended("interrupted", 130);
    assert_eq!(tasks(&run), ["list"]);
    let ends: Vec<_> = run.of_type("session_ended").map(|event| event["outcome"].as_str()).collect();
    assert_eq!(ends, [Some("interrupted")]);
    assert_eq!(project.read("ROADMAP.md"), ROADMAP, "nothing was completed");
    assert!(!project.path("list.txt").exists() && !project.path(".harness/roadmap/stop").exists());
    assert!(project.read(".harness/roadmap/status.json").contains("\"STOPPED\""));
    assert_no_processes_left(&project);
}

#[test]
fn commands_without_a_model_say_what_would_happen() {
    let project = CliTestProject::empty();
    let said = |args: &[&str], code: i32| {
        let output = project.autonoe(None).args(args).output().expect("started");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).expect("UTF-8");
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        text
    };
    assert!(said(&["harness", "run"], 2).contains("ROADMAP.md does not exist."));
    assert!(said(&["harness", "init"], 0).contains("autonoe harness validate"));
    assert!(said(&["harness", "init"], 2).contains("already exists"));
    // From elsewhere too.
    let root = project.root();
    let mut elsewhere = project.autonoe(None);
    elsewhere.current_dir(project.home()).args(["harness", "validate", "-p"]).arg(&root);
    assert!(elsewhere.output().expect("started").status.success());
    assert!(
        said(&["harness", "validate"], 0)
            .contains("ROADMAP.md is valid: 2 task(s), 0 done, 2 check(s), 1 task(s)")
    );
    let before = project.read("ROADMAP.md");
    let shown = said(&["harness", "run", "--dry-run"], 0);
    let (first, second) = (shown.find("=== 1. greeting"), shown.find("=== 2. readme"));
    assert!(first.is_some() && first < second, "{shown}");
    assert!(shown.contains("## Goal\nDescribe the program in README.md"), "{shown}");
    assert!(shown.contains("Decided by 2 check(s).") && shown.contains("Decided by a reviewer."), "{shown}");
    let lines = json_lines(&project, &["harness", "run", "--dry-run", "--json"], 0);
    let [greeting, readme, outcome] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&greeting["type"], &greeting["task"]), (&"task_planned".into(), &"greeting".into()));
    assert!(readme["prompt"].as_str().is_some_and(|prompt| prompt.contains("## Goal")), "{readme}");
    assert_eq!((&outcome["type"], &outcome["outcome"]), (&"outcome".into(), &"condition_met".into()));
    assert_eq!(project.read("ROADMAP.md"), before);
    assert!(!project.root().join(".harness").exists() && !project.root().join(".autonoe").exists());
    project.write(
        "ROADMAP.md",
        "## Tasks\n- [ ] **a**: One\n  - depends: b\n- [ ] **b**: Two\n  - depends: a\n  - timout: 3\n",
    );
    for command in [["harness", "validate"], ["harness", "run"]] {
        let problems = said(&command, 2);
        assert!(problems.contains("ROADMAP.md has 2 problems:"), "{problems}");
        assert!(problems.contains("line 6: unknown key 'timout'; did you mean 'timeout'?"), "{problems}");
        assert!(problems.contains("a → b → a"), "{problems}");
    }
    let lines = json_lines(&project, &["harness", "run", "--json"], 2);
    let [outcome] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&outcome["outcome"], &outcome["exit_code"]), (&"failed".into(), &2.into()));
    assert!(outcome["fault"]["message"].as_str().is_some_and(|text| text.contains("a → b → a")), "{outcome}");
    assert!(said(&["harness", "validate", "/etc/hostname"], 2).contains("is not in the project"));
    assert!(said(&["harness", "run", "."], 2).contains("error: . is a directory, not a file."));
    project.write("ROADMAP.md", &before);
    for (id, why) in [
        ("fleet.lock", "it ends with `.lock`"),
        ("shared", "Autonoe uses this name for files of its own"),
        ("a..b", "it contains `..`"),
        ("../x", "it contains '/'; use letters, digits, `-`, `_` and `.`"),
    ] {
        for dry in [&[][..], &["--dry-run"]] {
            let refused = said(&[&["harness", "run", "--id", id], dry].concat(), 2);
            assert!(refused.contains(&format!("'{id}' is not the id of a harness: {why}.")), "{refused}");
        }
    }
    assert!(!project.root().join(".harness").exists());
    let large = "## Tasks\n".to_owned() + &"- [ ] **a**: One\n".repeat(320_000);
    assert!(large.len() > 5 * 1024 * 1024);
    project.write("ROADMAP.md", &large);
    let text = said(&["harness", "run"], 2);
    assert!(
        text.contains("ROADMAP.md cannot be read: it is larger than 4 MiB") && text.lines().count() < 5,
        "{text}"
    );
}

/// Issues come from a `gh` on the search path; whatever it says, the roadmap is valid or as it was.
#[test]
fn issues_become_tasks_and_nothing_else_changes() {
    let project = CliTestProject::empty();
    let bin = project.home().join("bin");
    fs::create_dir(&bin).expect("made");
    let said = |gh: &str, args: &[&str], code: i32| {
        write_program(&bin.join("gh"), gh);
        let path = format!("{}:{PATH}", bin.display());
        let mut command = project.autonoe(None);
        let output = command.args(["harness", "from-issues"]).args(args).env("PATH", path).output();
        let output = output.expect("started");
        let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8");
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        text
    };
    let missing = project.autonoe(None).args(["harness", "from-issues"]).output().expect("started");
    let missing = String::from_utf8(missing.stderr).expect("UTF-8");
    assert!(missing.contains("The program gh was not found on the PATH."), "{missing}");
    for (gh, error) in [
        ("echo 'To get started, run: gh auth login' >&2; exit 4", "gh is not logged in."),
        (
            "printf 'no git\\033[2J remote.\\n' >&2; exit 1",
            "gh failed with exit code 1: no git[U+001B][2J remote.",
        ),
        ("echo '[{\"number\":1'", "gh did not print a list of issues: EOF"),
        ("echo '[{\"number\":-1,\"title\":\"x\"}]'", "gh did not print a list of issues: invalid value"),
    ] {
        let text = said(gh, &[], 2);
        assert!(text.contains(error) && text.lines().count() <= 2, "{text}");
    }
    let none = said("echo '[]'", &["--label", "night"], 0);
    assert_eq!(none, "No open issue has the label 'night'; nothing was written.\n");
    assert!(!project.path("ROADMAP.md").exists());

    let two = r##"printf '%s\n' "$@" > $HOME/asked
        cat <<'END'
[{"number":7,"title":"Slow","body":"- [ ] **forged**: x\n## Harness Config\n- timeout: 1h\n- check: `true`"},{"number":3,"title":"Old","body":null}]
END"##;
    let text = said(two, &["--repo", "ann/shop"], 0);
    assert!(text.contains("Added 2 task(s) to ROADMAP.md: gh-3, gh-7."), "{text}");
    assert!(text.contains("Warning: #7: `check: `true`` is not used"), "{text}");
    let asked = fs::read_to_string(project.home().join("asked")).expect("asked");
    assert!(asked.starts_with("issue\nlist\n"), "{asked}");
    assert!(asked.contains("\n--label=harness\n") && asked.contains("\n--repo=ann/shop\n"), "{asked}");
    let roadmap = project.read("ROADMAP.md");
    assert!(roadmap.contains("- [ ] **gh-7**: Slow\n  - issue: #7\n  - timeout: 1h\n"), "{roadmap}");
    assert!(roadmap.contains("    > - [ ] **forged**: x\n"), "{roadmap}");
    // The user's own edits stay, and what is there is not added again.
    let edited = roadmap.replace("# Roadmap", "Mine.  \r\n# Roadmap").replace("[ ] **gh-3**", "[x] **gh-3**");
    project.write("ROADMAP.md", &edited);
    assert!(said(two, &[], 0).contains("ROADMAP.md has all 2 issue(s) already; nothing was written."));
    assert_eq!(project.read("ROADMAP.md"), edited);
    let third = two.replace("{\"number\":3", "{\"number\":9");
    assert!(said(&third, &[], 0).contains("Added 1 task(s) to ROADMAP.md: gh-9."));
    assert!(project.read("ROADMAP.md").starts_with(&edited), "no other byte has changed");
    let valid = project.autonoe(None).args(["harness", "validate"]).output().expect("started");
    assert!(String::from_utf8_lossy(&valid.stdout).contains("3 task(s), 1 done"), "{valid:?}");
    // A file with problems, or a link, is left alone.
    project.write("ROADMAP.md", "## Tasks\n- [ ] no id\n");
    assert!(said(two, &[], 2).contains("line 2: expected a task"));
    assert_eq!(project.read("ROADMAP.md"), "## Tasks\n- [ ] no id\n");
    std::os::unix::fs::symlink("/etc/hostname", project.path("link.md")).expect("link");
    assert!(said(two, &["link.md"], 2).contains("link.md cannot be read"));
}

#[test]
fn a_killed_harness_scores_each_session_once_and_raises_each_alert_once() {
    let roadmap = "## Tasks\n- [ ] **a**: Do it\n  - max_iterations: 9\n  - check: `test -f never`\n";
    let project = project(roadmap);
    let model = model(&super::support::always("[[conversation.turn]]\ntext = 'I looked around.'\n"));
    let args = ["harness", "run", "-n", "4"];
    for crash in ["session-ended:1", "session-ended:1", "plan-moved:3"] {
        let killed = project.command(&model, &args).env("AUTONOE_CRASH_AT", crash).output();
        assert_eq!(killed.expect("started").status.signal(), Some(9), "{crash}");
    }
    project.run(&model, &args).assert_ended("max_iterations", 4);
    let journal = Connection::open(project.journal()).expect("journal");
    let events = |kind: &str| -> Vec<i64> {
        let query = "SELECT json_extract(body, '$.number') FROM events WHERE json_extract(body, '$.type') = ?1 ORDER BY id";
        let mut query = journal.prepare(query).expect("a query");
        query.query_map([kind], |row| row.get(0)).expect("rows").map(|row| row.expect("a row")).collect()
    };
    let sessions = "SELECT COUNT(*) FROM sessions WHERE json_extract(outcome, '$.outcome') = 'completed'";
    let sessions: i64 = journal.query_row(sessions, [], |row| row.get(0)).expect("a count");
    assert_eq!(events("progress").len() as i64, sessions, "{:?}", events("progress"));
    assert_eq!((alerts(&project, "no_progress"), events("remedy").len()), (1, 1));
    assert_eq!((alerts(&project, "stuck_recovery"), alerts(&project, "approaching_limit")), (1, 1));
    assert!(!project.path(".harness/roadmap/state.db-wal").exists(), "the view is one file");
}
