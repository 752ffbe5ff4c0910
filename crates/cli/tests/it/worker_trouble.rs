//! What can go wrong for the agents of `run --agents`: claims that do not fit together, a user who commits meanwhile, programs that end.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::support::{
    CliTestProject, RunOutput, assert_no_processes_left, assert_script_followed, model, until,
};
use super::vendors::{TestVendor, kill_in};
use super::workers::{assert_all_verified, builds, commits, project, signs, workspace};
use super::{claude, codex, gemini};

/// A command that waits until the test makes a file.
fn wait(signs: &Path, sign: &str) -> String {
    format!("until [ -e {}/{sign} ]; do sleep 0.05; done; ", signs.display())
}

fn start(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
}

/// Waits until a commit is in the hub, where a claim brings it first.
fn until_fetched(project: &CliTestProject, subject: &str) {
    let hub = workspace(project, "worker-1").expect("a project").join("../../../hub.git");
    until(&format!("{subject} is fetched"), || {
        let mut git = Command::new("git");
        let listed = git.arg("--git-dir").arg(&hub).args(["for-each-ref", "--format=%(subject)"]).output();
        let listed = listed.expect("started").stdout;
        String::from_utf8_lossy(&listed).lines().any(|line| line == subject)
    });
}

/// While the checks of A run, B and C claim. They are merged and checked together, and the check of B fails with what C has made.
#[test]
fn claims_that_wait_together_are_taken_apart_if_they_do_not_fit() {
    let project = project(&[("A", ""), ("B", ""), ("C", "")]);
    let signs = signs(&project);
    let check = |(id, more): (&str, String)| serde_json::json!({ "name": format!("check-{id}"), "deliverable": id, "run": format!("test -f {id}.txt && {more}") });
    let until_go = format!("{{ {}true; }}", wait(&signs, "go"));
    let checks =
        [("A", until_go), ("B", "! test -f bad.txt".to_owned()), ("C", "true".to_owned())].map(check);
    project.write(".autonoe/checks.json", &serde_json::json!({ "checks": checks }).to_string());
    let again = r#"
          [[conversation.turn]]
          expect = ["CHECKS_FAILED", "check-B", "git merge autonoe/merged"]
          call = [{ tool = "Bash", input = { command = "git merge -q autonoe/merged && git rm -q bad.txt && git commit -qm Repair" } }]
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "C", status = "passed" } }]
        "#;
    let bad = "echo C > C.txt && touch bad.txt && git add . && git commit -qm 'Build C'";
    let model = model(
        &[
            builds("A", &commits("A"), ""),
            builds("B", &(wait(&signs, "a") + &commits("B")), ""),
            builds("C", &(wait(&signs, "b") + bad), again),
        ]
        .concat(),
    );
    let child = start(project.command(&model, &["run", "--agents", "3"]));
    until("the hub exists", || workspace(&project, "worker-3").is_some_and(|tree| tree.exists()));
    for (subject, sign) in [("Build A", "a"), ("Build B", "b"), ("Build C", "go")] {
        until_fetched(&project, subject);
        fs::write(signs.join(sign), "").expect("written");
    }
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_all_verified(&project);
    assert_eq!(run.of_type("session_started").count(), 3, "each once");
    // B was not refused, although its check failed where it was together with C.
    let claims =
        run.of_type("checked").filter(|event| event["check"] == "check-B" && event["purpose"] == "claim");
    assert_eq!(
        claims.map(|event| event["passed"] == true).collect::<Vec<_>>(),
        [false, true],
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("C breaks checks of what others have finished: B"), "{}", run.stderr);
    assert!(!project.path("bad.txt").exists());
}

#[test]
fn a_user_who_commits_meanwhile_keeps_the_branch_and_gets_the_work_on_another_one() {
    let project = project(&[("A", "test -f A.txt"), ("B", "test -f B.txt")]);
    let signs = signs(&project);
    let script = ["A", "B"].map(|id| builds(id, &(wait(&signs, "go") + &commits(id)), ""));
    let model = model(&script.concat());
    let child = start(project.command(&model, &["run", "--agents", "2"]));
    until("both are at work", || {
        ["worker-1", "worker-2"]
            .iter()
            .all(|name| workspace(&project, name).is_some_and(|tree| tree.exists()))
    });
    project.commit(&[("users.txt", "meanwhile\n")]);
    let head = project.git(&["rev-parse", "main"]);
    fs::write(signs.join("go"), "").expect("written");
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_all_verified(&project);
    assert_eq!(project.git(&["rev-parse", "main"]), head, "{}", run.stderr);
    assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
    let landings: Vec<_> = run.of_type("landing").collect();
    assert!(!landings.is_empty());
    assert!(landings.iter().all(|landing| landing["branch"] == "autonoe/1" && landing["why"].is_string()));
    let advice = "git merge --no-overwrite-ignore autonoe/1";
    assert!(run.stderr.contains(advice), "{}", run.stderr);
    project.git(&["merge", "-q", "--no-edit", "--no-overwrite-ignore", "autonoe/1"]);
    for file in ["A.txt", "B.txt", "users.txt"] {
        assert!(project.path(file).exists(), "{file}");
    }
}

/// A worker that dies before its first event has failed; if all do, the run ends.
#[test]
fn an_agent_program_that_ends_at_once_ends_the_run_after_its_retries() {
    let project = project(&[("A", "test -f A.txt"), ("B", "test -f B.txt")]);
    let model = model("[[conversation]]\n[[conversation.turn]]\ntext = 'never'\n");
    let args = ["run", "--agents", "2", "--backend", "acp:false", "--max-retries", "1"];
    let run = project.run(&model, &args);
    run.assert_ended("max_retries_exceeded", 6);
    let sessions = run.of_type("session_ended").count();
    assert!((2..=4).contains(&sessions), "{sessions}");
    assert!(run.of_type("session_ended").all(|end| end["outcome"] == "execution_error"));
    assert_no_processes_left(&project);
}

/// The planner alone says what is built: new ids would begin anew with the sessions that a deliverable may have.
#[test]
fn a_worker_cannot_create_deliverables() {
    let project = project(&[("A", "test -f A.txt"), ("B", "test -f B.txt")]);
    let new = "{ id = 'A2', description = 'A once more', acceptanceCriteria = ['it works'] }";
    let a = format!(
        "[[conversation]]\nname = 'A'\nwhen = 'Yours is **A**'\n[[conversation.turn]]\n\
         call = [{{ tool = 'Bash', input = {{ command = \"{}\" }} }}]\n[[conversation.turn]]\n\
         call = [{{ tool = 'mcp__autonoe__create', input = {{ deliverables = [{new}] }} }}]\n[[conversation.turn]]\n\
         call = [{{ tool = 'mcp__autonoe__set_status', input = {{ deliverableId = 'A', status = 'passed' }} }}]\n\
         [[conversation.turn]]\ntext = 'done'\n",
        commits("A")
    );
    let model = model(&[a, builds("B", &commits("B"), "")].concat());
    let run = project.run(&model, &["run", "--agents", "2"]);
    run.assert_ended("all_passed", 0);
    assert!(!project.read(".autonoe/status.json").contains("A2"));
    let refused = run.of_type("tool_result").find(|event| event["name"] == "mcp__autonoe__create");
    assert!(refused.is_some_and(|event| event["is_error"] == true), "{:#?}", run.events);
    assert_all_verified(&project);
}

/// Two workers of a vendor's agent. One of their programs is killed in its session; the deliverable gets another one.
fn assert_built_by(
    agent: &TestVendor,
    name: &str,
    own_tools: fn(&str) -> String,
    command: impl Fn(&CliTestProject, &autonoe_scripted::ScriptedServer) -> Command,
) {
    let project = project(&[("A", "test -f A.txt"), ("B", "test -f B.txt")]);
    let signs = signs(&project);
    let script = ["A", "B"].map(|id| builds(id, &(wait(&signs, "go") + &commits(id)), ""));
    let model = model(&own_tools(&script.concat()));
    agent.offer(&project);
    let child = start(command(&project, &model));
    let waits = || super::support::processes_in(&project.root());
    until("both wait", || waits().iter().filter(|line| line.contains("sleep 0.05")).count() >= 2);
    // Its line begins with its number, and the program may be one of node's.
    kill_in(&project, |line| {
        let program = line.split(' ').nth(1).unwrap_or_default().rsplit('/').next().unwrap_or_default();
        [name, "node"].contains(&program) && line.contains(name)
    });
    fs::write(signs.join("go"), "").expect("written");
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_all_verified(&project);
    let ends: Vec<&str> = run.of_type("session_ended").filter_map(|end| end["outcome"].as_str()).collect();
    assert_eq!(ends.iter().filter(|end| **end == "completed").count(), 2, "{ends:?}\n{}", run.stderr);
    assert_eq!(ends.iter().filter(|end| **end == "execution_error").count(), 1, "{ends:?}\n{}", run.stderr);
    assert_no_processes_left(&project);
}

#[test]
fn several_claudes_build_and_one_is_killed() {
    let Some(agent) = claude::claude() else { return };
    assert_built_by(&agent, "claude", str::to_owned, |project, model| {
        agent.command(project, model, &["run", "--agents", "2", "--backend", "claude"])
    });
}

#[test]
fn several_codexes_build_and_one_is_killed() {
    let Some(agent) = codex::program() else { return };
    assert_built_by(&agent, "codex", codex::with_own_tool_names, |project, model| {
        agent.command(project, model, &["run", "--agents", "2", "--backend", "codex"])
    });
}

#[test]
fn several_geminis_build_and_one_is_killed() {
    let Some(agent) = gemini::gemini() else { return };
    assert_built_by(&agent, "gemini", gemini::with_own_tool_names, |project, model| {
        gemini::command(&agent, project, model, &["run", "--agents", "2"])
    });
}
