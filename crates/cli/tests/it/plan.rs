//! The plan before it is built: shown, approved, edited.

use std::fs;
use std::process::Stdio;

use super::support::{CliTestProject, RunOutput, builder, coding, model, until};

/// Exit code, and what was printed.
fn autonoe(project: &CliTestProject, editor: &str, args: &[&str]) -> (Option<i32>, String) {
    let output = project.autonoe(None).env("EDITOR", editor).args(args).output().expect("started");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn a_plan_is_made_without_building_anything() {
    let project = CliTestProject::new().in_workspace().in_repository();
    let model = model(&builder());
    let run = project.run(&model, &["plan"]);
    run.assert_ended("condition_met", 0);
    assert_eq!(run.sessions(), ["initializer"]);
    let prompt = model.requests()[0].request.to_string();
    assert!(prompt.contains("## Only plan"), "{prompt}");
    assert_eq!(project.git(&["log", "--format=%s"]).lines().count(), 1, "nothing is built");
    assert_eq!(project.statuses().len(), 3);
    let (code, text) = autonoe(&project, "", &["plan"]);
    assert_eq!(code, Some(0), "{text}");
    for line in
        ["Plan: 3 deliverable(s)", "  A  thing A", "      1. a works [no check]", "Estimated cost: unknown"]
    {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["coding", "coding", "coding"], "the plan is built");
}

#[test]
fn a_run_shows_its_plan_and_waits_for_approval() {
    let project = CliTestProject::new();
    let model = model(&builder());
    let mut command = project.command(&model, &["run", "--approve-plan"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("there is a plan", || project.path(".autonoe/status.json").exists());
    let state = project.journal().parent().expect("the state directory").join("control/pause");
    until("it asks", || state.exists());
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(project.statuses().iter().all(|(_, status)| *status == "pending"), "nothing is built");
    // Without C; the run is paused, so it may be edited.
    let editor = "sed -i -e /thing.C/d -e /c.works/d";
    let (code, text) = autonoe(&project, editor, &["plan", "--edit"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(project.statuses().len(), 2);
    assert_eq!(autonoe(&project, "", &["resume"]).0, Some(0));
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["initializer", "coding", "coding"]);
    for line in ["Plan: 3 deliverable(s)", "autonoe resume"] {
        assert!(run.stderr.contains(line), "{}", run.stderr);
    }
}

#[test]
fn an_edited_plan_that_is_nonsense_is_kept() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let before = project.read(".autonoe/status.json");
    let (code, text) = autonoe(&project, "sed -i s/.A./A/", &["plan", "--edit"]);
    assert_eq!(code, Some(2), "{text}");
    for part in ["was not changed", "line 9: expected", "opens it again"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert_eq!(project.read(".autonoe/status.json"), before);
    let (code, text) = autonoe(&project, "sed -i s/^A/[A]/", &["plan", "--edit"]);
    assert_eq!(code, Some(0), "what was edited before is opened: {text}");
    let (_, text) = autonoe(&project, "true", &["plan", "--edit"]);
    assert_eq!(text, "Nothing was changed.\n");
    let (code, text) = autonoe(&project, "false", &["plan", "--edit"]);
    assert_eq!((code, text.contains("The editor `false` failed")), (Some(2), true), "{text}");
    fs::remove_file(project.path(".autonoe/status.json")).expect("removed");
    let (code, text) = autonoe(&project, "true", &["plan", "--edit"]);
    assert_eq!((code, text.contains("There is no plan to edit yet")), (Some(2), true), "{text}");
}

/// Adds D when the specification has changed.
fn syncing() -> String {
    let sync = r#"
    [[conversation]]
    name = "sync"
    when = "bring the list in line"
      [[conversation.turn]]
      call = [{ tool = "mcp__autonoe__create", input = { deliverables = [
        { id = "D", description = "thing D", acceptanceCriteria = ["d works"] },
      ] } }]
      [[conversation.turn]]
      text = "Added."
    "#;
    [&builder(), sync, &coding("D", "passed")].concat()
}

#[test]
fn a_changed_specification_is_planned_before_the_run_goes_on() {
    let project = CliTestProject::new();
    let model = model(&syncing());
    project.run(&model, &["run"]).assert_ended("all_passed", 0);
    let spec = project.read("SPEC.md");
    fs::write(project.path("SPEC.md"), format!("{spec}\n```check A\n$ true\n```\n")).expect("written");
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), Vec::<&str>::new(), "a check changes no plan");
    fs::write(project.path("SPEC.md"), format!("{spec}\nAnd D.\n")).expect("written");
    for command in ["status", "plan"] {
        let (_, said) = autonoe(&project, "", &[command]);
        assert!(said.contains("SPEC.md has changed since"), "{command}: {said}");
    }
    let run = project.run(&model, &["run", "--no-sync"]);
    run.assert_ended("all_passed", 0);
    assert!(run.stderr.contains("the run continues with the old ones"), "{}", run.stderr);
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["sync", "coding"]);
    assert!(run.stderr.contains("the first session updates them"), "{}", run.stderr);
    assert_eq!(project.statuses().len(), 4);
    let run = project.run(&model, &["run"]);
    assert_eq!(run.sessions(), Vec::<&str>::new(), "it is planned now");
    let (_, status) = autonoe(&project, "", &["status"]);
    assert!(!status.contains("SPEC.md has changed"), "{status}");
}

#[test]
fn a_plan_that_is_there_or_was_updated_needs_approval_too() {
    let project = CliTestProject::new();
    let model = model(&syncing());
    project.run(&model, &["plan"]).assert_ended("condition_met", 0);
    let spec = project.read("SPEC.md");
    fs::write(project.path("SPEC.md"), format!("{spec}\nAnd D.\n")).expect("written");
    for (sessions, answer) in [(&["sync"][..], "stop"), (&[], "stop"), (&["coding"; 4], "resume")] {
        let mut command = project.command(&model, &["run", "--approve-plan"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        let pause = project.journal().parent().expect("the state directory").join("control/pause");
        until("it asks", || pause.exists());
        assert!(project.statuses().iter().all(|(_, status)| *status == "pending"), "nothing is built");
        assert_eq!(autonoe(&project, "", &[answer]).0, Some(0));
        let run = RunOutput::from(child.wait_with_output().expect("ended"));
        assert_eq!(run.sessions(), sessions, "{}", run.stderr);
        assert!(run.stderr.contains("Plan: 4 deliverable(s)"), "{}", run.stderr);
        assert!(!run.stderr.contains("was left for an earlier run"), "{}", run.stderr);
    }
}
