//! `autonoe demo`: a whole run without a key or network.

use std::process::Command;

use super::support::CliTestProject;

#[test]
fn the_demo_builds_and_verifies_its_project() {
    let project = CliTestProject::new();
    let target = project.home().join("demo");
    let output = project.autonoe(None).args(["demo", "--keep"]).arg(&target).output().expect("started");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stdout}\n{stderr}");
    for line in [
        "The models are scripted",
        "Session 1 started (initializer, anthropic/claude-opus-5)",
        "Session 2 started (coding, demo/scripted-coder)",
        "> mcp__team__conventions",
        "> Skill shell-tests",
        "> Task Review bin/tally",
        "[PASS] Count the lines and words of a file (CLI-001)",
        "The new cases fail",
        "[FAILED] complains-2 of CLI-002: expected exit 2, got 1",
        "The check is right",
        "[PASS] Report invalid input clearly (CLI-002)",
        "[BLOCKED] Publish the counts to the team's dashboard (NET-003)",
        "2/3 deliverables passed (1 blocked)",
        "All achievable deliverables passed. 2 passed: 2 verified, 0 claimed.",
        "Blocked:\n  NET-003: TALLY_DASHBOARD_KEY is not set",
        "Look around",
    ] {
        assert!(stdout.contains(line), "{line:?} is missing in:\n{stdout}");
    }
    let shell = |script: &str| {
        let output = Command::new("sh").args(["-c", script]).current_dir(&target).output().expect("started");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, tests) = shell("sh tests/run.sh");
    assert_eq!(code, Some(0), "the built program passes its tests: {tests}");
    assert_eq!(tests.matches("ok ").count(), 6, "{tests}");
    let (_, log) =
        shell("git log --oneline | wc -l; git status --short -- . ':!.autonoe' ':!.autonoe-note.md'");
    assert_eq!(log.trim(), "5", "five commits and a clean tree");
    let again = project.autonoe(None).args(["verify", "-p"]).arg(&target).output().expect("started");
    let again = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(again.contains("2 of 2 reproduced."), "{again}");
    assert_eq!(shell("printf 'a b\\n' > x; bin/tally x").1, "1 2 x\n");
}

#[test]
fn the_demo_requires_an_empty_directory() {
    let project = CliTestProject::new();
    let output = project.autonoe(None).args(["demo", "--keep", "."]).output().expect("started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("is not empty"), "{stderr}");
}
