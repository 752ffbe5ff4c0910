//! Roadmaps, end to end: `autonoe harness`.

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use super::support::{CliTestProject, RunOutput, assert_script_followed, builds, builds_with, model};

pub const ROADMAP: &str = "# Roadmap: Shop\r\n\r\n## Objective\r\nSell books.\r\n\r\n## Constraints\r\n- Use no framework\r\n\r\n## Tasks\r\n\
- [ ] **pay**: Pay by card\r\n  - depends: cart\r\n  - check: `test -f pay.txt`\r\n\
- [ ] **cart**: Add a cart\r\n  - depends: list\r\n  - check: `test -f cart.txt`\r\n\
- [ ] **list**: List the books\r\n  - check: `test -f list.txt`\r\n";

pub fn project(roadmap: &str) -> CliTestProject {
    let project = CliTestProject::empty();
    project.write("ROADMAP.md", roadmap);
    project.in_repository()
}

pub fn tasks(run: &RunOutput) -> Vec<&str> {
    run.of_type("session_started").map(|event| event["step"].as_str().expect("a task")).collect()
}

/// What a command prints on standard output.
pub fn json_lines(project: &CliTestProject, args: &[&str], exit_code: i32) -> Vec<Value> {
    let output = project.autonoe(None).args(args).output().expect("started");
    assert_eq!(output.status.code(), Some(exit_code));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

pub fn alerts(project: &CliTestProject, kind: &str) -> usize {
    let log = project.read(".harness/roadmap/alerts.log");
    log.lines().filter(|line| line.contains(&format!("\"type\":\"{kind}\""))).count()
}

/// What `state.db` says about tasks and attempts.
pub fn view_rows(project: &CliTestProject) -> Vec<String> {
    let view = Connection::open(project.path(".harness/roadmap/state.db")).expect("a view");
    let queries = [
        "SELECT concat_ws('|', id, status, attempts, output, error, ifnull(started_at, 'NULL'), ifnull(completed_at, 'NULL'),
             worktree_branch) FROM tasks ORDER BY id",
        "SELECT concat_ws('|', task_id, attempt, success, output, ifnull(error, 'NULL'), duration_seconds, timestamp)
             FROM execution_log ORDER BY id",
        "SELECT concat_ws('|', started_at, tasks_completed, tasks_failed, total_execution_time, growth_iterations) FROM harness_state",
    ];
    let rows = |query: &str| -> Vec<String> {
        let mut query = view.prepare(query).expect("a query");
        query.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a row")).collect()
    };
    queries.iter().flat_map(|query| rows(query)).collect()
}

/// Quoted from the executors of other harnesses:
/// "Execute a task using this CLI."
/// "task: The task to execute"
/// "context: Optional context to include in prompt"
/// "ExecutionResult with success/failure and output"
/// "Return structured result"
#[test]
fn tasks_run_in_the_order_of_their_dependencies_and_their_boxes_are_checked() {
    let project = project(ROADMAP).in_workspace();
    // SPEC.md is for `autonoe run`; here its checks decide nothing.
    project.commit(&[("SPEC.md", "# Spec\n\nBuild A.\n\n```check A\n$ test -f a.txt\n```\n")]);
    // From yesterday.
    project.write(".harness/roadmap/stop", "abort");
    project.write(".harness/roadmap/inbox/001-hint.txt", "Mind the tests.");
    project.write(".harness/roadmap/inbox/big.txt", &"x".repeat(10_000_000));
    std::os::unix::fs::symlink("/etc/passwd", project.path(".harness/roadmap/inbox/link.txt")).expect("link");
    let first = builds(
        "list",
        &[
            "## Goal\nList the books",
            "Objective: Sell books.",
            "Constraint: Use no framework",
            "[HIGH] Mind the tests.",
        ],
    );
    let then = builds("cart", &["### list\nI made list.txt."]);
    let model = model(&[first, then, builds("pay", &["### cart\nI made cart.txt."])].concat());
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(tasks(&run), ["list", "cart", "pay"]);
    assert_script_followed(&model);
    assert_eq!(
        (&run.outcome()["deliverables_total"], &run.outcome()["deliverables_verified"]),
        (&3.into(), &3.into())
    );
    assert_eq!(project.read("ROADMAP.md"), ROADMAP.replace("[ ]", "[x]"), "no other byte has changed");
    assert!(project.root().join("pay.txt").exists(), "it has landed");
    for said in
        ["stop was there before the start; it was removed", "big.txt is not used", "link.txt is not used"]
    {
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    // Each box is in a commit of its own, on top of the work.
    let subjects = "Mark the task pay as completed\npay\nMark the task cart as completed\ncart\n\
                    Mark the task list as completed\nlist";
    assert_eq!(project.git(&["log", "-6", "--format=%s"]), subjects);
    assert_eq!(project.git(&["log", "--format=%s", "--", "ROADMAP.md"]).lines().count(), 4);
    assert_eq!(project.git(&["show", "--format=", "--name-only", "HEAD"]), "ROADMAP.md");
    assert_eq!(project.git(&["status", "--porcelain", "--untracked-files=no"]), "");
    let status = project.autonoe(None).arg("status").output().expect("started");
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(!status.contains("no check has seen"), "{status}");
    assert_eq!((alerts(&project, "task_completed"), alerts(&project, "goal_complete")), (3, 1));
    let inbox = project.root().join(".harness/roadmap/inbox");
    assert_eq!(fs::read_dir(inbox.join("processed")).expect("a directory").count(), 1);
    assert_eq!(fs::read_dir(inbox.join("refused")).expect("a directory").count(), 2);
    let status = project.read(".harness/roadmap/status.json");
    assert!(status.contains("\"COMPLETE\""), "{status}");
    let view = Connection::open(project.root().join(".harness/roadmap/state.db")).expect("a view");
    let completed: i64 =
        view.query_row("SELECT tasks_completed FROM harness_state", [], |row| row.get(0)).expect("a count");
    assert_eq!(completed, 3);
    drop(view);
    let before = view_rows(&project);
    assert_eq!(before.iter().filter(|row| row.contains("|1|1|I made ")).count(), 3, "attempts: {before:?}");
    assert_eq!(
        before.iter().filter(|row| row.contains("|completed|1|I made ")).count(),
        3,
        "tasks: {before:?}"
    );
    // Nothing is left to do; the view for others was damaged meanwhile.
    project.write(".harness/roadmap/state.db", &"not a database".repeat(1000));
    let again = project.run(&model, &["harness", "run"]);
    again.assert_ended("all_passed", 0);
    assert_eq!(tasks(&again), Vec::<&str>::new());
    assert!(
        again.stderr.contains("state.db was damaged; it is kept as state.db.damaged"),
        "{}",
        again.stderr
    );
    let view = Connection::open(project.root().join(".harness/roadmap/state.db")).expect("a view");
    let tasks: i64 = view.query_row("SELECT count(*) FROM tasks", [], |row| row.get(0)).expect("a count");
    assert_eq!(tasks, 3);
    assert_eq!(view_rows(&project), before, "nothing is lost");
    // SPEC.md was never planned.
    let spec = project.run(&model, &["run", "-n", "1"]);
    assert_eq!(spec.sessions(), ["sync"]);
}

/// Quoted from the executors of other harnesses:
/// "Verify if task was completed successfully."
/// "Check success_criteria if defined"
/// "May re-run CLI to verify"
/// "Return boolean"
#[test]
fn a_task_that_fails_is_retried_then_blocked_and_what_waits_for_it_is_named() {
    let roadmap = "## Tasks\n\
        - [ ] **bad**: Do what cannot be done\n  - max_retries: 2\n  - max_iterations: 1\n  - check: `test -f never.txt`\n\
        - [ ] **after**: Go on\n  - depends: bad\n\
        - [ ] **good**: Write a text\n  - success: the text is good\n";
    let project = project(roadmap);
    let claims = r#"
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "bad", status = "passed" } }]
          [[conversation.turn]]
          expect = "CHECKS_FAILED"
          text = "I could not do it."
    "#;
    let retry = format!(
        "[[conversation]]\nwhen = [\"the task `bad`\", \"Attempt 1 of 2 failed: it was not done after 1 session(s)\", \"I could not do it.\"]\n{claims}"
    );
    let first = format!("[[conversation]]\nwhen = \"the task `bad`\"\n{claims}");
    let reviews = |holds: bool, phrase: &str| {
        format!(
            r#"
        [[conversation]]
        name = "review {holds}"
        when = ["an independent review", "1. the text is good", "{phrase}"]
          [[conversation.turn]]
          call = [{{ tool = "mcp__autonoe__review", input = {{ deliverableId = "good", holds = {holds}, reason = "I read it." }} }}]
          [[conversation.turn]]
          text = "Reviewed."
        "#
        )
    };
    let model = model(&[retry, first, builds("good", &[]), reviews(true, "Write a text")].concat());
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("tasks_blocked", 3);
    assert_eq!(tasks(&run), ["bad", "bad", "good", "good"]);
    let chains = serde_json::json!([
        "bad failed in all of its 2 attempts",
        "after waits for bad, which failed in all of its 2 attempts"
    ]);
    assert_eq!(run.outcome()["chains"], chains);
    assert!(run.stderr.contains("2 task(s) of the roadmap are not completed: bad failed"), "{}", run.stderr);
    let boxes = project.read("ROADMAP.md");
    assert_eq!(boxes, roadmap.replace("[ ] **good**", "[x] **good**"));
    assert_eq!((alerts(&project, "task_blocked"), alerts(&project, "stuck_unrecoverable")), (1, 1));
    assert_script_followed(&model);
}

/// Where the session starts is where its agent's commands run; the checks run in the root, as the documentation says.
#[test]
fn a_session_starts_in_the_directory_of_its_task() {
    let roadmap = "## Tasks\n- [ ] **a**: One\n  - cwd: ./shop/cart\n  - check: `test -f shop/cart/a.txt`\n\
        - [ ] **b**: Two\n  - cwd: ./missing\n  - check: `test -f b.txt`\n\
        - [ ] **c**: Three\n  - cwd: ./out\n  - check: `test -f c.txt`\n";
    let project = project(roadmap).in_workspace();
    std::os::unix::fs::symlink("/", project.path("out")).expect("link");
    project.git(&["add", "out"]);
    project.commit(&[("shop/cart/README", "x\n")]);
    let tasks = [builds("a", &["Working directory: ./shop/cart"]), builds("b", &[]), builds("c", &[])];
    let model = model(&tasks.concat());
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    let made = ["shop/cart/a.txt", "b.txt", "c.txt"].map(|name| project.read(name));
    assert_eq!(made, ["done\n"; 3], "what is missing or leads out of the project is not entered");
    assert_script_followed(&model);
}

#[test]
fn a_task_that_makes_progress_gets_all_sessions_of_its_attempt() {
    let project =
        project("## Tasks\n- [ ] **long**: Do much\n  - max_iterations: 20\n  - check: `test -f long.txt`\n")
            .in_workspace();
    let steps = "[[conversation]]\nname = 'a step'\nwhen = 'the task `long`'\nplays = 12\n[[conversation.turn]]\n\
        call = [{ tool = 'Bash', input = { command = 'n=$(ls | wc -l); for i in 1 2 3; do echo $n > $n-$i.txt; done; git add .; git commit -qm step' } }]\n\
        [[conversation.turn]]\ntext = '<progress>one more part</progress>'\n";
    let model = model(&[steps.to_owned(), builds("long", &[])].concat());
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    assert!(tasks(&run).len() >= 13, "{}", run.stderr);
    assert!(!run.stderr.contains("Attempt 1 of"), "one attempt is enough: {}", run.stderr);
}

/// It would begin without a session of its own, and before what it waits for.
#[test]
fn an_agent_speaks_for_its_own_task_only() {
    let project = project(ROADMAP);
    let speaks = r#"
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "pay", status = "blocked", reason = "no card" } }]
          [[conversation.turn]]
          expect = ["VALIDATION_ERROR", "This session builds"]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "cart", status = "passed" } }]
    "#;
    let first = builds_with("list", "", speaks);
    let model = model(&[first, builds("cart", &[]), builds("pay", &[])].concat());
    let run = project.run(&model, &["harness", "run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(tasks(&run), ["list", "cart", "pay"]);
}

/// A restart is no way around a limit: attempts, their sessions and remedies are those of the roadmap, not of a process.
#[test]
fn the_next_run_continues_the_attempts_of_one_that_ended_at_a_limit() {
    let roadmap = "## Tasks\n- [ ] **a**: Do it\n  - max_iterations: 2\n  - max_retries: 2\n  - check: `test -f never`\n";
    let project = project(roadmap);
    let model = model(&super::support::always("[[conversation.turn]]\ntext = 'I looked around.'\n"));
    let run =
        |more: &[&str]| project.run(&model, &[&["harness", "run", "--pause-on-critical"], more].concat());
    for _ in 0..3 {
        run(&["-n", "1"]).assert_ended("max_iterations", 4);
    }
    let fourth = run(&["-n", "1"]);
    let said = "Continuing where the last run ended: a is in attempt 2 of 2, after 1 session(s).";
    assert!(fourth.stderr.contains(said), "{}", fourth.stderr);
    fourth.assert_ended("tasks_blocked", 3);
    assert_eq!(alerts(&project, "task_blocked"), 1);
    // Nothing is new, so nothing is raised again, and nothing waits for a person.
    let again = run(&[]);
    again.assert_ended("tasks_blocked", 3);
    assert_eq!((tasks(&again).len(), alerts(&project, "task_blocked")), (0, 1));
    let unblocked = project.autonoe(None).args(["unblock", "a"]).output().expect("started");
    assert!(unblocked.status.success());
    let unblocked = run(&["-n", "1"]);
    assert_eq!(tasks(&unblocked), ["a"]);
    let fresh = run(&["-n", "1", "--fresh"]);
    assert!(!fresh.stderr.contains("Continuing where"), "{}", fresh.stderr);
    let edited = project.read("ROADMAP.md").replace("Do it", "Do it well");
    project.write("ROADMAP.md", &edited);
    let edited = run(&["-n", "1"]);
    assert!(!edited.stderr.contains("Continuing where"), "{}", edited.stderr);
}
