//! Recorded sessions: shown, exported and replayed as an agent.

use super::support::{CliTestProject, RunOutput, assert_script_followed, builder, model};

#[test]
fn a_recorded_run_can_be_exported_and_replayed() {
    let project = CliTestProject::new();
    let model = model(&builder());
    let recorded = project.run(&model, &["run"]);
    recorded.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    let cassette = project.path("run.jsonl");
    let export =
        project.autonoe(None).args(["sessions", "export", "-o"]).arg(&cassette).output().expect("started");
    assert_eq!(export.status.code(), Some(0), "{}", String::from_utf8_lossy(&export.stderr));

    let elsewhere = CliTestProject::new();
    let mut command = elsewhere.autonoe(None);
    command
        .args(["run", "--json", "--session-delay", "0s", "--backend"])
        .arg(format!("replay:{}", cassette.display()));
    let played = RunOutput::from(command.output().expect("started"));
    played.assert_ended("all_passed", 0);
    assert_eq!(elsewhere.statuses(), project.statuses());
    assert_eq!(played.sessions(), recorded.sessions());
    let texts = |run: &RunOutput| run.of_type("text").map(|event| event["text"].clone()).collect::<Vec<_>>();
    assert_eq!(texts(&played), texts(&recorded));
    assert_eq!(played.outcome()["cost_usd"], 0.0, "nothing is spent");
    assert!(!elsewhere.path("work-A.txt").exists(), "nothing is executed");
}

#[test]
fn a_session_can_be_shown_again() {
    let project = CliTestProject::new();
    let model = model(&builder());
    project.run(&model, &["run", "-n", "1"]);
    let shown = |args: &[&str]| {
        let output = project.autonoe(None).args(["sessions", "replay"]).args(args).output().expect("started");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr),
        )
    };
    for args in [&["1.1"][..], &["1.1", "--timed"]] {
        let (code, text) = shown(args);
        assert_eq!(code, Some(0), "{text}");
        assert!(
            text.contains("Session (initializer") && text.contains("[tool: mcp__autonoe__create]"),
            "{text}"
        );
    }
    let (code, text) = shown(&["1.9"]);
    assert_eq!((code, text.contains("There is no session 1.9")), (Some(2), true), "{text}");
    project.write("bad.jsonl", "garbage");
    let (code, text) = shown(&["bad.jsonl"]);
    assert_eq!((code, text.contains("line 1")), (Some(2), true), "{text}");
}
