//! Sessions that were recorded: shown again, exported, and played back as an agent.

use super::support::{Place, Run, assert_followed, builder, model};

#[test]
fn a_recorded_run_is_exported_and_played_back_elsewhere() {
    let place = Place::new();
    let model = model(&builder());
    let recorded = place.run(&model, &["run"]);
    recorded.assert_ended("all_passed", 0);
    assert_followed(&model);
    let cassette = place.path("run.jsonl");
    let export =
        place.autonoe(None).args(["sessions", "export", "-o"]).arg(&cassette).output().expect("started");
    assert_eq!(export.status.code(), Some(0), "{}", String::from_utf8_lossy(&export.stderr));

    let elsewhere = Place::new();
    let mut command = elsewhere.autonoe(None);
    command
        .args(["run", "--json", "--session-delay", "0s", "--backend"])
        .arg(format!("replay:{}", cassette.display()));
    let played = Run::from(command.output().expect("started"));
    played.assert_ended("all_passed", 0);
    assert_eq!(elsewhere.statuses(), place.statuses());
    assert_eq!(played.sessions(), recorded.sessions());
    let texts = |run: &Run| run.of_type("text").map(|event| event["text"].clone()).collect::<Vec<_>>();
    assert_eq!(texts(&played), texts(&recorded));
    assert_eq!(played.outcome()["cost_usd"], 0.0, "nothing is spent");
    assert!(!elsewhere.path("work-A.txt").exists(), "nothing is executed");
}

#[test]
fn a_session_is_shown_again() {
    let place = Place::new();
    let model = model(&builder());
    place.run(&model, &["run", "-n", "1"]);
    let shown = |args: &[&str]| {
        let output = place.autonoe(None).args(["sessions", "replay"]).args(args).output().expect("started");
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
    place.write("bad.jsonl", "garbage");
    let (code, text) = shown(&["bad.jsonl"]);
    assert_eq!((code, text.contains("line 1")), (Some(2), true), "{text}");
}
