//! `autonoe run --agents`: several deliverables are built at the same time, and their commits come together in a queue.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::support::{
    CliTestProject, RunOutput, assert_script_followed, model, signal, until, without_bubblewrap,
};

/// A project with these deliverables, which depend on nothing, and a check of each.
pub fn project(items: &[(&str, &str)]) -> CliTestProject {
    let project = CliTestProject::new().in_workspace();
    let deliverable = |(id, _): &(&str, &str)| json!({ "id": id, "description": format!("thing {id}"), "acceptanceCriteria": ["it works"], "depends": [] });
    let deliverables: Vec<Value> = items.iter().map(deliverable).collect();
    let status =
        json!({ "createdAt": "2026-01-01", "updatedAt": "2026-01-01", "deliverables": deliverables });
    project.write(".autonoe/status.json", &status.to_string());
    let check = |(id, command): &(&str, &str)| json!({ "name": format!("check-{id}"), "deliverable": id, "run": command });
    let checks: Vec<Value> = items.iter().map(check).collect();
    project.write(".autonoe/checks.json", &json!({ "checks": checks }).to_string());
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "the user's\n"), ("list.txt", "first\n")]);
    project
}

/// A session that runs a command for its deliverable and claims it; `rest` is what follows the claim.
pub fn builds(id: &str, command: &str, rest: &str) -> String {
    format!(
        r#"
        [[conversation]]
        name = "builder of {id}"
        when = "Yours is **{id}**"
          [[conversation.turn]]
          call = [{{ tool = "Bash", input = {{ command = '''{command}''' }} }}]
          [[conversation.turn]]
          call = [{{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "{id}", status = "passed" }} }}]
          {rest}
          [[conversation.turn]]
          expect = "marked as passed"
          text = "done"
        "#
    )
}

pub fn commits(id: &str) -> String {
    format!("echo {id} > {id}.txt && git add {id}.txt && git commit -qm 'Build {id}'")
}

fn again(id: &str, expected: &str, command: &str) -> String {
    format!(
        r#"
          [[conversation.turn]]
          expect = ["CHECKS_FAILED", "{expected}", "git merge autonoe/merged"]
          call = [{{ tool = "Bash", input = {{ command = '''{command}''' }} }}]
          [[conversation.turn]]
          call = [{{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "{id}", status = "passed" }} }}]
        "#
    )
}

fn statuses(project: &CliTestProject) -> Vec<(String, bool, String)> {
    let status: Value = serde_json::from_str(&project.read(".autonoe/status.json")).expect("JSON");
    let item = |item: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&item["id"]), item["passed"] == true, text(&item["verification"]["assurance"]))
    };
    status["deliverables"].as_array().expect("deliverables").iter().map(item).collect()
}

pub fn assert_all_verified(project: &CliTestProject) {
    for (id, passed, assurance) in statuses(project) {
        assert!(passed && assurance == "verified", "{id}: {passed} {assurance}");
    }
}

/// A directory in which a test says how things go on, and which agents and checks can read.
pub fn signs(project: &CliTestProject) -> PathBuf {
    let signs = project.home().join("signs");
    fs::create_dir_all(&signs).expect("made");
    let config = project.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("made");
    let settings = format!("[sandbox]\nread = [{:?}]\n", signs.display().to_string());
    fs::write(config.join("config.toml"), settings).expect("written");
    signs
}

/// The working tree of a worker.
pub fn workspace(project: &CliTestProject, worker: &str) -> Option<PathBuf> {
    let projects = fs::read_dir(project.home().join(".local/state/autonoe/projects")).ok()?;
    let state = projects.flatten().next()?.path();
    Some(state.join("hub/workspaces").join(worker).join("tree"))
}

/// The most sessions that were at work at the same time.
fn at_once(run: &RunOutput) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for event in &run.events {
        match event["type"].as_str() {
            Some("session_started") => now += 1,
            Some("session_ended") => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

#[test]
fn independent_deliverables_are_built_at_the_same_time_on_both_layers() {
    for has_bubblewrap in [true, false] {
        let project = project(&[
            ("A", "test -f A.txt"),
            ("B", "test -f B.txt"),
            ("C", "test -f C.txt && test -f kept.txt"),
        ]);
        let script: Vec<String> = ["A", "B", "C"].iter().map(|id| builds(id, &commits(id), "")).collect();
        let model = model(&script.concat());
        let mut command = project.command(&model, &["run", "--agents", "3"]);
        if !has_bubblewrap {
            command.env("PATH", without_bubblewrap(&project));
        }
        let run = RunOutput::from(command.output().expect("started"));
        run.assert_ended("all_passed", 0);
        assert_script_followed(&model);
        assert_eq!(at_once(&run), 3, "{}", run.stderr);
        assert_all_verified(&project);
        for id in ["A", "B", "C"] {
            assert_eq!(project.read(&format!("{id}.txt")), format!("{id}\n"));
        }
        assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
        assert_eq!(run.of_type("session_started").count(), 3);
        // There is no fleet, but there are workspaces.
        let used = project.autonoe(None).args(["fleet", "du", "--json"]).output().expect("started");
        let used: Value = serde_json::from_slice(&used.stdout).expect("JSON");
        let names: Vec<&str> = used["workspaces"]
            .as_array()
            .expect("workspaces")
            .iter()
            .filter(|workspace| workspace["bytes"].as_u64() > Some(0))
            .filter_map(|workspace| workspace["name"].as_str())
            .collect();
        assert_eq!(names, ["run", "worker-1", "worker-2", "worker-3"], "{used}");
    }
}

#[test]
fn conflicts_and_broken_checks_go_back_to_the_session_that_made_them() {
    // B changes the same line as A, and C breaks the check of A although its own passes. They wait for A, so that the order is known.
    let project = project(&[
        ("A", "grep -q A list.txt && ! test -f forbidden.txt"),
        ("B", "grep -q B list.txt"),
        ("C", "test -f C.txt"),
    ]);
    let a = builds("A", "echo A > list.txt && git commit -qam 'Build A'", "");
    let b_again = "git merge -q autonoe/merged; printf 'A\\nB\\n' > list.txt; git commit -qam 'Merge both'";
    let b = builds(
        "B",
        "sleep 3; echo B > list.txt && git commit -qam 'Build B'",
        &again("B", "list.txt", b_again),
    );
    let c_again = "git merge -q autonoe/merged && git rm -q forbidden.txt && git commit -qm 'Repair'";
    let forbidden = "sleep 3; touch forbidden.txt C.txt && git add . && git commit -qm 'Build C'";
    let c = builds("C", forbidden, &again("C", "check-A", c_again));
    let model = model(&[a, b, c].concat());
    let run = RunOutput::from(project.command(&model, &["run", "--agents", "3"]).output().expect("started"));
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_all_verified(&project);
    for said in [
        "B conflicts with what others have finished: list.txt",
        "C breaks checks of what others have finished: A",
    ] {
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
    }
    assert_eq!(run.of_type("session_started").count(), 3, "each once");
    assert_eq!(project.read("list.txt"), "A\nB\n");
    assert!(project.path("C.txt").exists() && !project.path("forbidden.txt").exists());
    assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
}

#[test]
fn an_agent_cannot_speak_for_another_one() {
    let project = project(&[("A", "test -f A.txt"), ("B", "test -f B.txt")]);
    let wrong = r#"
      [[conversation.turn]]
      call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "B", status = "blocked", reason = "mine" } }]
      [[conversation.turn]]
      expect = ["VALIDATION_ERROR", "This session builds"]
      call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
    "#;
    let a = format!(
        "[[conversation]]\nname = 'A'\nwhen = 'Yours is **A**'\n[[conversation.turn]]\n\
         call = [{{ tool = 'Bash', input = {{ command = \"{}\" }} }}]\n{wrong}\n[[conversation.turn]]\ntext = 'done'\n",
        commits("A")
    );
    let model = model(&[a, builds("B", &commits("B"), "")].concat());
    let run = RunOutput::from(project.command(&model, &["run", "--agents", "2"]).output().expect("started"));
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_all_verified(&project);
}

#[test]
fn the_next_run_keeps_what_was_merged_and_takes_up_what_was_not() {
    for sent in [Signal::KILL, Signal::INT] {
        keeps_what_was_merged_after(sent);
    }
}

fn keeps_what_was_merged_after(sent: Signal) {
    let project = project(&[("A", "test -f A.txt"), ("B", "test -f B.txt && test -f half.txt")]);
    let half = "test -f half.txt || { echo half > half.txt; git add .; git commit -qm half; sleep 60; }; ";
    let b = builds("B", &format!("{half}{}", commits("B")), "");
    let model = model(&[builds("A", &commits("A"), ""), b].concat());
    let mut command = project.command(&model, &["run", "--agents", "2"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("A is verified, and B is half done", || {
        let is_merged = statuses(&project)[0].2 == "verified";
        is_merged && workspace(&project, "worker-2").is_some_and(|tree| tree.join("half.txt").exists())
    });
    signal(&child, sent);
    child.wait().expect("reaped");
    let run = RunOutput::from(project.command(&model, &["run", "--agents", "2"]).output().expect("started"));
    run.assert_ended("all_passed", 0);
    assert_all_verified(&project);
    for file in ["A.txt", "B.txt", "half.txt"] {
        assert!(project.path(file).exists(), "{file}: {}", run.stderr);
    }
    let subjects = project.git(&["log", "--format=%s"]);
    assert_eq!(
        subjects.lines().filter(|line| *line == "half").count(),
        1,
        "taken up, not begun anew after {sent:?}: {subjects}"
    );
}

#[test]
fn verified_work_that_has_not_landed_is_not_built_again() {
    let project = project(&[("A", "test -f A.txt"), ("B", "test -f B.txt")]);
    let script: Vec<String> = ["A", "B"].iter().map(|id| builds(id, &commits(id), "")).collect();
    let model = model(&script.concat());
    let run = |args: &[&str]| {
        RunOutput::from(
            project.command(&model, &[&["run", "--agents", "2"], args].concat()).output().expect("started"),
        )
    };
    run(&["--land", "never"]).assert_ended("all_passed", 0);
    assert!(!project.path("A.txt").exists());
    let second = run(&[]);
    second.assert_ended("all_passed", 0);
    assert_eq!(second.of_type("session_started").count(), 0, "{}", second.stderr);
    assert_all_verified(&project);
}

#[test]
fn what_has_no_check_lands_as_it_is_left() {
    let project = project(&[("A", "test -f A.txt"), ("B", "test -f B.txt"), ("C", "test -f C.txt")]);
    project.write(".autonoe/checks.json", r#"{ "checks": [] }"#);
    let uncommitted = builds("B", "echo B > B.txt", "");
    let model = model(&[builds("A", &commits("A"), ""), uncommitted, builds("C", "true", "")].concat());
    let run = RunOutput::from(project.command(&model, &["run", "--agents", "3"]).output().expect("started"));
    run.assert_ended("all_passed", 0);
    for id in ["A", "B"] {
        assert_eq!(project.read(&format!("{id}.txt")), format!("{id}\n"), "{}", run.stderr);
    }
    assert_eq!(project.git(&["branch", "--format=%(refname:short)"]), "main", "nothing is left apart");
}

/// Claims its deliverable without having built it, as often as it is asked.
const CLAIMS_B: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "B", status = "passed" } }]
  [[conversation.turn]]
  expect = "CHECKS_FAILED"
  text = "It is done, trust me."
"#;

/// Workers fail at B, and so does one agent alone, until it is told what was tried. C needs B and is built by a worker again.
#[test]
fn what_workers_do_not_get_done_is_left_to_one_agent_and_its_remedies() {
    let project = project(&[("A", "test -f A.txt"), ("B", "test -f B.txt"), ("C", "test -f C.txt")]);
    let mut status: Value = serde_json::from_str(&project.read(".autonoe/status.json")).expect("JSON");
    status["deliverables"][2]["depends"] = json!(["B"]);
    project.write(".autonoe/status.json", &status.to_string());
    let nudged = builds("B", &commits("B"), "").replace("Yours is **B**", "Do not repeat what was tried");
    let fails = |when: &str| format!("[[conversation]]\nname = 'fails: {when}'\nwhen = '{when}'\n{CLAIMS_B}");
    let script = [
        builds("A", &commits("A"), ""),
        builds("C", &commits("C"), ""),
        fails("Yours is **B**"),
        nudged,
        fails("one deliverable"),
    ];
    let model = model(&script.concat());
    let run = project.run(&model, &["run", "--agents", "2"]);
    run.assert_ended("all_passed", 0);
    assert_all_verified(&project);
    let remedies: Vec<_> = run.of_type("remedy").map(|event| event["name"].clone()).collect();
    assert_eq!(remedies, ["nudge"]);
    let steps: Vec<_> = run.of_type("session_started").map(|event| event["step"].clone()).collect();
    assert_eq!(steps.iter().filter(|step| **step == "B").count(), 6, "{steps:?}");
    assert_eq!(steps.last().expect("sessions"), "C", "{steps:?}");
    assert_eq!(project.git(&["log", "--format=%s", "-3"]).lines().collect::<Vec<_>>()[0], "Build C");
    assert_script_followed(&model);
}

#[test]
fn wrong_numbers_of_agents_are_refused() {
    let project = project(&[("A", "test -f A.txt")]);
    for (args, words) in [
        (["run", "--agents", "0"].as_slice(), "from 1 to 32"),
        (&["run", "--agents", "33"], "from 1 to 32"),
        (&["run", "--agents", "2", "--in-place"], "--in-place"),
    ] {
        let output = project.autonoe(None).args(args).output().expect("started");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    }
}

/// What a worker commits after its claim is examined, before it begins another deliverable.
#[test]
fn what_is_committed_after_a_claim_is_merged_or_named() {
    for (after, lands) in [("echo more > more.txt", true), ("echo broken > A.txt", false)] {
        let project = project(&[("A", "grep -x A A.txt"), ("B", "grep -x B B.txt")]);
        let mut status: Value = serde_json::from_str(&project.read(".autonoe/status.json")).expect("JSON");
        status["deliverables"][1]["depends"] = json!(["A"]);
        project.write(".autonoe/status.json", &status.to_string());
        let rest = format!(
            "[[conversation.turn]]\ncall = [{{ tool = 'Bash', input = {{ command = \"{after}; git add -A; git commit -qm 'After the claim'; \
             echo marked as passed\" }} }}]"
        );
        let model = model(&[builds("A", &commits("A"), &rest), builds("B", &commits("B"), "")].concat());
        let run = project.run(&model, &["run", "--agents", "2"]);
        run.assert_ended("all_passed", 0);
        assert_script_followed(&model);
        assert_all_verified(&project);
        assert_eq!(project.read("A.txt"), "A\n");
        assert_eq!(project.git(&["log", "--format=%s"]).contains("After the claim"), lands);
        let apart: Vec<&Value> = run.of_type("landing").filter(|event| !event["why"].is_null()).collect();
        assert_eq!(apart.len(), usize::from(!lands), "{:?}", run.events);
        for event in apart {
            let branch = event["branch"].as_str().expect("branch");
            assert_eq!(project.git(&["log", "-1", "--format=%s", branch]).trim(), "After the claim");
        }
    }
}
