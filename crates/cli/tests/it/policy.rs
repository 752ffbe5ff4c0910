//! `autonoe policy check` and `autonoe trust`, and their effect on a run.

use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::Value;

use super::support::CliTestProject;

fn check(project: &CliTestProject, args: &[&str]) -> (Option<i32>, String, String) {
    let level: &[&str] = if args.contains(&"--level") { &[] } else { &["--level", "strict"] };
    let output =
        project.autonoe(None).args(["policy", "check"]).args(level).args(args).output().expect("started");
    read(&output)
}

fn read(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_verdict_has_an_exit_code_a_rule_a_reason_and_an_alternative() {
    let project = CliTestProject::new();
    let (code, out, _) = check(&project, &["--", "git", "status"]);
    assert_eq!(code, Some(0));
    assert!(out.starts_with("allowed (git)"), "{out}");
    let (code, out, _) = check(&project, &["wget http://example.com"]);
    assert_eq!(code, Some(3));
    assert!(out.starts_with("denied (command.unknown)") && out.contains("Instead:"), "{out}");
    let (code, _, err) = check(&project, &[]);
    assert_eq!(code, Some(2), "{err}");
    let (code, _, err) = check(&project, &["--profile", "perl", "--", "ls"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("node") && err.contains("php"), "{err}");
}

#[test]
fn mode_profile_and_allow_destructive_change_the_verdict() {
    let project = CliTestProject::new();
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
        (&["--level", "contained", "--", "rm old.txt"], 0),
        (&["--level", "contained", "--", "git push"], 3),
        (&["--level", "contained", "--mode", "sync", "--", "rm old.txt"], 0),
        (&["--level", "contained", "--mode", "sync", "--", "git push"], 3),
        (&["--level", "strict", "--", "rm old.txt"], 3),
    ] {
        assert_eq!(check(&project, args).0, Some(code), "{args:?}");
    }
}

#[test]
fn json_and_batch() {
    let project = CliTestProject::new();
    let (code, out, _) = check(&project, &["--json", "--", "ls | rm x"]);
    assert_eq!(code, Some(3));
    let verdict: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&verdict["command"], &verdict["allowed"]), (&"ls | rm x".into(), &false.into()));
    assert!(verdict["rule"].is_string() && verdict["reason"].is_string(), "{verdict}");

    let (code, out, err) = batch(&project, "\"ls\"\n\"echo a\\nrm x\"\n");
    assert_eq!(code, Some(0), "{err}");
    let allowed: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["allowed"].clone())
        .collect();
    assert_eq!(allowed, [true, false], "a newline separates commands");

    let (code, _, err) = batch(&project, "ls\n");
    assert_eq!(code, Some(2));
    assert!(err.contains("Line 1"), "{err}");
}

fn batch(project: &CliTestProject, input: &str) -> (Option<i32>, String, String) {
    let mut command = project.autonoe(None);
    command.args(["policy", "check", "--level", "strict", "--batch"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("written");
    read(&child.wait_with_output().expect("ended"))
}

#[test]
fn a_repositorys_extra_permissions_need_the_users_approval() {
    let project = CliTestProject::with_status(&[("A", "passed")]);
    project.write(".autonoe/agent.json", r#"{"allowCommands": ["docker"]}"#);
    let run = |args: &[&str]| read(&project.autonoe(None).args(args).output().expect("started"));
    let (code, _, err) = run(&["run"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("docker") && err.contains("autonoe trust"), "{err}");
    let (code, _, _) = run(&["trust"]);
    assert_eq!(code, Some(2), "without a terminal the answer is no");
    let (code, out, err) = run(&["trust", "--yes"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("command in run: docker"), "{out}");
    assert_eq!(run(&["run"]).0, Some(0), "approval is remembered");
    project.write(".autonoe/agent.json", r#"{"allowCommands": ["docker", "ssh"]}"#);
    assert_eq!(run(&["run"]).0, Some(2), "a change needs approval again");
    project.write(".autonoe/agent.json", r#"{"permissions": {"allow": ["Read(/data/**)"]}}"#);
    let (code, _, err) = run(&["run"]);
    assert_eq!(code, Some(2), "a permission rule needs approval");
    assert!(err.contains("permission: Read(/data/**)"), "{err}");
    project.write(".autonoe/agent.json", r#"{"profile": "node"}"#);
    assert_eq!(run(&["run"]).0, Some(0), "restricting needs no approval");
    assert!(run(&["trust"]).1.contains("nothing to approve"));
}
