//! A roadmap and the agents and people around it: other agents, pauses, alerts, forged files, further tasks.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::Value;

use super::codex::{codex, with_own_tool_names};
use super::harness::{project, tasks};
use super::support::{RunOutput, always, assert_script_followed, builds, builds_with, model, until};
use super::webhook_receiver::{Answer, WebhookReceiver};

const REVIEW: &str = r#"
    [[conversation]]
    when = ["an independent review", "1. it reads well"]
      [[conversation.turn]]
      call = [{ tool = "mcp__autonoe__review", input = { deliverableId = "ID", holds = true, reason = "I read it." } }]
      [[conversation.turn]]
      text = "Reviewed."
"#;

const IDLE: &str = "[[conversation.turn]]\ntext = 'I looked around.'\n";

/// Quoted from the executors of other harnesses:
/// "model: Optional model override"
/// "model = model or self.default_model"
/// "cli: str = ""  # Override CLI for this task"
/// "Build CLI command with appropriate flags"
/// "Run command via subprocess"
/// "Capture stdout/stderr"
#[test]
fn a_task_names_its_agent_and_the_run_its_reviewer() {
    let Some(codex) = codex() else { return };
    let roadmap = "## Tasks\n- [ ] **a**: Write a text\n  - cli: codex\n  - check: `test -f a.txt`\n\
                   - [ ] **b**: Write another\n  - model: haiku\n  - success: it reads well\n";
    let project = project(roadmap);
    let script = [with_own_tool_names(&builds("a", &[])), builds("b", &[]), REVIEW.replace("ID", "b")];
    let model = model(&script.concat());
    let run = codex.run(&project, &model, &["harness", "run", "--backend", "native", "--verifier", "codex"]);
    run.assert_ended("all_passed", 0);
    let field = |event: &Value, name: &str| event[name].as_str().expect("a text").to_owned();
    let started: Vec<&Value> = run.of_type("session_started").collect();
    let sessions: Vec<(String, String)> =
        started.iter().map(|event| (field(event, "backend"), field(event, "step"))).collect();
    let expected = [("codex", "a"), ("native", "b"), ("codex", "b")];
    assert_eq!(sessions, expected.map(|(backend, task)| (backend.to_owned(), task.to_owned())));
    assert!(field(started[1], "model").contains("haiku"), "{}", started[1]);
    let status: Value = serde_json::from_str(&project.read(".autonoe/status.json")).expect("JSON");
    let by = &status["deliverables"][1]["review"]["by"];
    assert!(by.as_str().is_some_and(|by| by.starts_with("codex:")), "{by}");
    assert_script_followed(&model);
}

/// Quoted from the executors of other harnesses:
/// "Handle timeouts gracefully"
/// "timeout=task.timeout_minutes * 60"
/// "Detect obvious failures in output.", which are "error:", "failed:", "exception:", "traceback" and "fatal:". Here checks decide: a log that
/// mentions errors is not a failure.
#[test]
fn words_of_an_agent_decide_nothing_and_its_time_is_limited() {
    let roadmap = "## Tasks\n- [ ] **slow**: Take long\n  - timeout: 1s\n  - max_retries: 1\n  - check: `test -f slow.txt`\n\
                   - [ ] **loud**: Write a text\n  - check: `test -f loud.txt`\n";
    let project = project(roadmap);
    let slow = r#"
        [[conversation]]
        when = "the task `slow`"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "sleep 30" } }]
          [[conversation.turn]]
          text = "Done."
    "#;
    let loud =
        builds("loud", &[]).replace("I made loud.txt.", "error: failed: exception: Traceback fatal: loud");
    let run = project.run(&model(&[slow, &loud].concat()), &["harness", "run"]);
    run.assert_ended("tasks_blocked", 3);
    assert_eq!(tasks(&run), ["slow", "loud"]);
    let chains = &run.outcome()["chains"];
    assert_eq!(chains, &serde_json::json!(["slow failed in its only attempt"]), "{chains}");
    assert!(run.stderr.contains("it was not done within its time limit of 1s"), "{}", run.stderr);
    assert_eq!(project.read("ROADMAP.md"), roadmap.replace("[ ] **loud**", "[x] **loud**"));
    let view = Connection::open(project.path(".harness/roadmap/state.db")).expect("a view");
    let rows = "SELECT group_concat(task_id || ' ' || success || ' ' || coalesce(error, '-'), '; ') FROM execution_log";
    let rows: String = view.query_row(rows, [], |row| row.get(0)).expect("rows");
    assert_eq!(rows, "slow 0 it was not done within its time limit of 1s; loud 1 -");
    let said = "SELECT output FROM execution_log WHERE task_id = 'loud'";
    let said: String = view.query_row(said, [], |row| row.get(0)).expect("a row");
    assert_eq!(said, "error: failed: exception: Traceback fatal: loud");
    // What the attempt took is the time of its sessions.
    let journal = Connection::open(project.journal()).expect("journal");
    for id in ["slow", "loud"] {
        let sessions =
            format!("SELECT sum(duration_seconds) FROM sessions WHERE instruction = 'coding {id}'");
        let sessions: f64 = journal.query_row(&sessions, [], |row| row.get(0)).expect("a sum");
        let attempt = "SELECT duration_seconds FROM execution_log WHERE task_id = ?1";
        let attempt: f64 = view.query_row(attempt, [id], |row| row.get(0)).expect("a duration");
        assert!(attempt > 0.0 && (attempt - sessions).abs() < 0.01, "{id}: {attempt} and {sessions}");
    }
}

/// The agent does nothing, and says so in the same words.
#[test]
fn a_critical_alert_pauses_the_run_and_every_alert_is_delivered_once() {
    let roadmap = "## Tasks\n- [ ] **a**: Do it\n  - stuck_after: 4\n  - max_iterations: 6\n  - max_retries: 1\n  - check: `test -f never`\n";
    let project = project(roadmap);
    let receiver = WebhookReceiver::start(&[Answer::Status(204)]);
    let events = "events = ['alert', 'progress', 'blocked']";
    let target = format!("[notify.targets.all]\nkind = 'webhook'\nurl = '{}'\n{events}\n", receiver.url);
    project.write("../home/.config/autonoe/config.toml", &target);
    let model = model(&always(IDLE));
    let mut command = project.command(&model, &["harness", "run", "--id", "night", "--pause-on-critical"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let (pause, status) = (project.path(".harness/night/pause"), ".harness/night/status.json");
    until("the same output five times has paused it", || pause.exists());
    until("it says so", || project.read(status).contains("\"PAUSED\""));
    let log = project.read(".harness/night/alerts.log");
    assert!(log.contains("The last 5 sessions ended with the same output."), "{log}");
    // Nothing happens until somebody has looked.
    std::thread::sleep(Duration::from_millis(700));
    let now: Value = serde_json::from_str(&project.read(status)).expect("JSON");
    assert_eq!(now["current_iteration"], 5);
    fs::remove_file(&pause).expect("removed");
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("tasks_blocked", 3);
    assert!(!pause.exists(), "the next run would wait at once");
    assert_eq!(tasks(&run).len(), 6);
    let remedies: Vec<_> = run.of_type("remedy").map(|event| event["idle_sessions"].as_u64()).collect();
    assert_eq!(remedies.first(), Some(&Some(4)), "`stuck_after` of the task counts");
    assert!(run.stderr.contains("[ALERT] 2 sessions in a row made no progress."), "{}", run.stderr);
    let count = |kind: &str| {
        let log = project.read(".harness/night/alerts.log");
        log.matches(&format!("\"type\":\"{kind}\"")).count()
    };
    for kind in ["no_progress", "runaway_detected", "task_blocked", "stuck_unrecoverable"] {
        assert_eq!(count(kind), 1, "{kind}");
    }
    assert_eq!(count("stuck_recovery"), remedies.len());
    let name = project.root().file_name().expect("a name").to_string_lossy().into_owned();
    let received = || -> Vec<(String, String)> {
        let title = |body: &Value| body["title"].as_str().expect("a title").replace(&name, "P");
        let of = receiver.received();
        of.iter().map(|message| (message.event().to_owned(), title(&message.body))).collect()
    };
    let all = 4 + remedies.len();
    until("all are delivered", || received().len() >= all);
    let received = received();
    assert_eq!(received.len(), all, "{received:?}");
    for (event, title) in [
        ("alert", "P: no progress"),
        ("alert", "P: runaway detected"),
        ("alert", "P: stuck recovery"),
        ("blocked", "P: a is blocked"),
        ("blocked", "P: tasks are blocked"),
    ] {
        assert!(received.contains(&(event.to_owned(), title.to_owned())), "{title}: {received:?}");
    }
}

#[test]
fn a_roadmap_that_an_agent_commits_is_not_obeyed() {
    let roadmap = "## Tasks\n- [ ] **one**: First\n  - check: `test -f one.txt`\n- [ ] **two**: Second\n  - check: `test -f two.txt`\n";
    let project = project(roadmap).in_workspace();
    let forged = "git update-index --cacheinfo 100644,$(printf '## Tasks\\\\n- [ ] **evil**: x\\\\n' | git hash-object -w --stdin),ROADMAP.md && echo done";
    let model = model(&[builds("one", &[]).replacen("echo done", forged, 1), builds("two", &[])].concat());
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(tasks(&run), ["one", "two"]);
    assert_eq!(project.read("ROADMAP.md"), roadmap.replace("[ ]", "[x]"), "the user's file is not replaced");
    let landing = run.of_type("landing").last().expect("a landing");
    assert!(landing["why"].as_str().is_some_and(|why| why.contains("ROADMAP.md")), "{landing}");
    assert_script_followed(&model);
}

/// A reviewer decides after the commits are there, so no box is in their way when they land.
#[test]
fn a_roadmap_that_an_agent_commits_does_not_land() {
    let roadmap = "## Tasks\n- [ ] **one**: First\n  - success: it reads well\n";
    let project = project(roadmap).in_workspace();
    let forged = "git update-index --cacheinfo 100644,$(printf '## Tasks\\\\n- [ ] **evil**: x\\\\n' | git hash-object -w --stdin),ROADMAP.md && git update-index --skip-worktree ROADMAP.md && echo done";
    let script = [builds("one", &[]).replacen("echo done", forged, 1), REVIEW.replace("ID", "one")];
    let model = model(&script.concat());
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(tasks(&run), ["one", "one"]);
    assert_eq!(project.read("ROADMAP.md"), roadmap.replace("[ ]", "[x]"), "the user's file is not replaced");
    let landing = run.of_type("landing").last().expect("a landing");
    assert_eq!(landing["why"], "they change ROADMAP.md, which agents must not edit");
    assert_eq!(
        landing["advice"],
        "`autonoe diff` shows them, `autonoe land` lands them on the branch that is checked out"
    );
    assert_script_followed(&model);
}

/// The file is edited while the first and while the last session work. What lands does not touch it.
#[test]
fn edits_of_the_user_are_taken_over_whatever_lands_meanwhile() {
    let task = |id: &str, words: &str| format!("- [ ] **{id}**: {words}\n  - check: `test -f {id}.txt`\n");
    let roadmap = format!("## Tasks\n{}{}", task("one", "First"), task("two", "Second"));
    let project = project(&roadmap).in_workspace();
    let waits = "touch ready; until [ -e go ]; do sleep 0.05; done; rm ready go; ";
    let script = [
        builds_with("one", waits, ""),
        builds("two", &["## Goal\nSecond, better"]),
        builds_with("three", waits, ""),
        builds("four", &[]),
    ];
    let model = model(&script.concat());
    let mut running = project.command(&model, &["harness", "run"]);
    let running = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let mut edited = roadmap.replace("Second", "Second, better");
    for new in ["three", "four"] {
        until("a session waits", || project.workspace().is_some_and(|tree| tree.join("ready").exists()));
        edited.push_str(&task(new, "More"));
        project.write("ROADMAP.md", &edited);
        fs::write(project.agents_path("go"), "").expect("written");
        until("it continues", || !project.agents_path("go").exists());
        // The boxes that the run has checked until the next session waits.
        edited = edited.replace("[ ] **one**", "[x] **one**").replace("[ ] **two**", "[x] **two**");
    }
    let run = RunOutput::from(running.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_eq!(tasks(&run), ["one", "two", "three", "four"]);
    assert_eq!(project.read("ROADMAP.md"), edited.replace("[ ]", "[x]"));
    for said in
        ["ROADMAP.md was edited: description of two changed; three was added.", "edited: four was added."]
    {
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    assert!(project.root().join("four.txt").exists(), "it has landed");
    assert_script_followed(&model);
}

/// Also: an edit of the user's keeps the boxes out of commits.
#[test]
fn further_tasks_are_found_only_if_the_user_asks_for_them() {
    let roadmap =
        "## Tasks\n- [ ] **one**: First\n  - check: `test -f one.txt`\n\n## Growth Mode\n1. Look for gaps\n";
    let project = project(roadmap).in_workspace();
    let edited = format!("{roadmap}\nA note of mine.\n");
    project.write("ROADMAP.md", &edited);
    let proposes = r#"
        [[conversation]]
        when = ["propose further tasks", "Look for gaps", "at most 2 further task(s)"]
          [[conversation.turn]]
          text = '{"tasks":[{"description":"Second","goal":"Do it.","success":"it reads well"}]}'
    "#;
    let script = [
        builds("one", &[]),
        proposes.to_owned(),
        builds("growth-1", &["## Goal\nSecond\n> Do it."]),
        REVIEW.replace("ID", "growth-1"),
    ];
    let model = model(&script.concat());
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    let said = "`## Growth Mode` of ROADMAP.md is not used without --growth.";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    assert_eq!(tasks(&run), ["one"]);
    assert_eq!(project.read("ROADMAP.md"), edited.replace("[ ]", "[x]"));
    assert_eq!(project.git(&["log", "--format=%s"]), "one\nwork", "the user's edit is not committed");
    // Killed between the session and what becomes of its proposals: nothing is asked or added twice.
    let mut killed = project.command(&model, &["harness", "run", "--growth", "2"]);
    let killed = killed.env("AUTONOE_CRASH_AT", "session-ended:1").output().expect("started");
    assert_eq!(killed.status.signal(), Some(9), "{}", String::from_utf8_lossy(&killed.stderr));
    let run = project.run(&model, &["harness", "run", "--growth", "2"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(tasks(&run), ["growth-1", "growth-1"]);
    let task = "- [x] **growth-1**: Second\n  - success: it reads well\n  - goal: Second\n    > Do it.\n";
    let grown = edited.replace("[ ]", "[x]").replace("## Growth", &format!("### Growth\n{task}\n## Growth"));
    assert_eq!(project.read("ROADMAP.md"), grown);
    assert_script_followed(&model);
    let dry = project.autonoe(None).args(["harness", "run", "--dry-run", "--growth", "101"]).output();
    let dry = String::from_utf8(dry.expect("started").stderr).expect("UTF-8");
    assert!(dry.contains("expected a whole number from 1 to 100"), "{dry}");
}

#[test]
fn boxes_of_further_tasks_are_committed_too() {
    let project = project("## Tasks\n- [ ] **one**: First\n  - check: `test -f one.txt`\n").in_workspace();
    let proposes = r#"
        [[conversation]]
        when = "propose further tasks"
          [[conversation.turn]]
          text = '{"tasks":[{"description":"Second","goal":"Do it.","success":"it reads well"}]}'
    "#;
    let script =
        [builds("one", &[]), proposes.to_owned(), builds("growth-1", &[]), REVIEW.replace("ID", "growth-1")];
    let model = model(&script.concat());
    let run = project.run(&model, &["harness", "run", "--growth", "1"]);
    run.assert_ended("all_passed", 0);
    assert!(project.read("ROADMAP.md").contains("- [x] **growth-1**"));
    assert_eq!(project.git(&["status", "--porcelain", "--untracked-files=no"]), "");
    // Each edit is committed at once, not with the next landing.
    let subjects = "Mark the task growth-1 as completed\ngrowth-1\nUpdate ROADMAP.md\nMark the task one as completed\none\nwork";
    assert_eq!(project.git(&["log", "--format=%s"]), subjects);
    assert_script_followed(&model);
}

#[test]
fn a_view_that_is_damaged_during_the_run_is_written_anew() {
    let roadmap = "## Tasks\n- [ ] **one**: First\n  - check: `test -f one.txt`\n- [ ] **two**: Second\n  - check: `test -f two.txt`\n";
    let project = project(roadmap);
    let model = model(&[builds("one", &[]), builds_with("two", "touch ready && sleep 2 && ", "")].concat());
    let run = project.run_acting(&model, &["harness", "run"], || {
        for name in ["state.db", "state.db-wal"] {
            project.write(&format!(".harness/roadmap/{name}"), &"garbage".repeat(2000));
        }
    });
    run.assert_ended("all_passed", 0);
    let said = "state.db was damaged; it is kept as state.db.damaged, and written anew.";
    assert_eq!(run.stderr.matches(said).count(), 1, "{}", run.stderr);
    let view = Connection::open(project.root().join(".harness/roadmap/state.db")).expect("a view");
    let query = "SELECT count(*) FROM tasks WHERE status = 'completed'";
    let completed: i64 = view.query_row(query, [], |row| row.get(0)).expect("a count");
    assert_eq!(completed, 2);
}

/// Also the words of a remedy cost money. The process before was killed when it was about to ask for them.
#[test]
fn a_paused_run_that_is_continued_asks_no_model() {
    let roadmap = "## Tasks\n- [ ] **a**: Do it\n  - max_iterations: 8\n  - max_retries: 1\n  - check: `test -f never`\n";
    let project = project(roadmap);
    let model = model(&always(IDLE));
    let mut killed = project.command(&model, &["harness", "run"]);
    let killed = killed.env("AUTONOE_CRASH_AT", "session-started:6").output().expect("started");
    assert_eq!(killed.status.signal(), Some(9), "{}", String::from_utf8_lossy(&killed.stderr));
    let sessions = || -> Vec<String> {
        let journal = Connection::open(project.journal()).expect("journal");
        let mut query = journal.prepare("SELECT instruction FROM sessions").expect("a query");
        query.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a row")).collect()
    };
    let before = sessions();
    assert!(before.last().is_some_and(|last| last.starts_with("rewriting")), "{before:?}");
    project.write(".harness/roadmap/pause", "");
    let mut command = project.command(&model, &["harness", "run"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let status = ".harness/roadmap/status.json";
    until("it is paused", || project.read(status).contains("\"PAUSED\""));
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(sessions(), before);
    fs::remove_file(project.path(".harness/roadmap/pause")).expect("removed");
    RunOutput::from(child.wait_with_output().expect("ended")).assert_ended("tasks_blocked", 3);
    assert!(sessions().len() > before.len());
}

#[test]
fn a_killed_session_counts_toward_its_attempt() {
    let roadmap = "## Tasks\n- [ ] **a**: Do it\n  - max_iterations: 1\n  - max_retries: 1\n  - check: `test -f never`\n";
    let project = project(roadmap);
    let model = model(&always(IDLE));
    let mut killed = project.command(&model, &["harness", "run"]);
    let killed = killed.env("AUTONOE_CRASH_AT", "session-ended:1").output().expect("started");
    assert_eq!(killed.status.signal(), Some(9));
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("tasks_blocked", 3);
    assert_eq!(tasks(&run), Vec::<&str>::new(), "its only session was used up");
    let journal = Connection::open(project.journal()).expect("journal");
    let sessions: i64 =
        journal.query_row("SELECT COUNT(*) FROM sessions", [], |row| row.get(0)).expect("a count");
    assert_eq!(sessions, 1);
    let log = project.read(".harness/roadmap/alerts.log");
    assert_eq!(log.matches("\"task_blocked\"").count(), 1, "{log}");
}
