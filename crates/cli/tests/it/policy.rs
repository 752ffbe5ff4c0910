//! `autonoe policy check` and `autonoe trust`, and what a run makes of them.

use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::Value;

use super::support::Place;

fn check(place: &Place, args: &[&str]) -> (Option<i32>, String, String) {
    let output = place.autonoe(None).args(["policy", "check"]).args(args).output().expect("started");
    read(&output)
}

fn read(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_verdict_has_an_exit_code_a_rule_a_reason_and_a_way_out() {
    let place = Place::new();
    let (code, out, _) = check(&place, &["--", "git", "status"]);
    assert_eq!(code, Some(0));
    assert!(out.starts_with("allowed (git)"), "{out}");
    let (code, out, _) = check(&place, &["curl http://example.com"]);
    assert_eq!(code, Some(3));
    assert!(out.starts_with("denied (command.unknown)") && out.contains("Instead:"), "{out}");
    let (code, _, err) = check(&place, &[]);
    assert_eq!(code, Some(2), "{err}");
    let (code, _, err) = check(&place, &["--profile", "perl", "--", "ls"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("node") && err.contains("php"), "{err}");
}

#[test]
fn mode_profile_and_destruction_make_a_difference() {
    let place = Place::new();
    for (args, code) in [
        (&["--", "npm install"][..], 0),
        (&["--mode", "sync", "--", "npm install"], 3),
        (&["--mode", "sync", "--", "npm test"], 0),
        (&["--profile", "python", "--", "npm test"], 3),
        (&["--profile", "python", "--profile", "node", "--", "npm test"], 0),
        (&["--profile", "base", "--", "npm test"], 3),
        (&["--", "rm old.txt"], 3),
        (&["--allow-destructive", "--", "rm old.txt"], 0),
        (&["--mode", "sync", "--allow-destructive", "--", "rm old.txt"], 3),
    ] {
        assert_eq!(check(&place, args).0, Some(code), "{args:?}");
    }
}

#[test]
fn json_and_batch() {
    let place = Place::new();
    let (code, out, _) = check(&place, &["--json", "--", "ls | rm x"]);
    assert_eq!(code, Some(3));
    let verdict: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&verdict["command"], &verdict["allowed"]), (&"ls | rm x".into(), &false.into()));
    assert!(verdict["rule"].is_string() && verdict["reason"].is_string(), "{verdict}");

    let (code, out, err) = batch(&place, "\"ls\"\n\"echo a\\nrm x\"\n");
    assert_eq!(code, Some(0), "{err}");
    let allowed: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["allowed"].clone())
        .collect();
    assert_eq!(allowed, [true, false], "a newline separates commands");

    let (code, _, err) = batch(&place, "ls\n");
    assert_eq!(code, Some(2));
    assert!(err.contains("Line 1"), "{err}");
}

/// Judges every line of `input`.
fn batch(place: &Place, input: &str) -> (Option<i32>, String, String) {
    let mut command = place.autonoe(None);
    command.args(["policy", "check", "--batch"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("written");
    read(&child.wait_with_output().expect("ended"))
}

#[test]
fn what_a_repository_widens_holds_only_after_the_user_agreed() {
    let place = Place::with_status(&[("A", "passed")]);
    place.write(".autonoe/agent.json", r#"{"allowCommands": ["docker"]}"#);
    let run = |args: &[&str]| read(&place.autonoe(None).args(args).output().expect("started"));
    let (code, _, err) = run(&["run"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("docker") && err.contains("autonoe trust"), "{err}");
    let (code, _, _) = run(&["trust"]);
    assert_eq!(code, Some(2), "nobody is there to answer, so it is no");
    let (code, out, err) = run(&["trust", "--yes"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("command in run: docker"), "{out}");
    assert_eq!(run(&["run"]).0, Some(0), "asked once");
    place.write(".autonoe/agent.json", r#"{"allowCommands": ["docker", "ssh"]}"#);
    assert_eq!(run(&["run"]).0, Some(2), "a change asks again");
    place.write(".autonoe/agent.json", r#"{"permissions": {"allow": ["Read(/data/**)"]}}"#);
    let (code, _, err) = run(&["run"]);
    assert_eq!(code, Some(2), "a permission rule widens");
    assert!(err.contains("permission: Read(/data/**)"), "{err}");
    place.write(".autonoe/agent.json", r#"{"profile": "node"}"#);
    assert_eq!(run(&["run"]).0, Some(0), "narrowing asks nothing");
    assert!(run(&["trust"]).1.contains("widens nothing"));
}
