//! `autonoe demo`: the main job with no key and no network.

use std::process::Command;

use super::support::Place;

#[test]
fn the_demo_does_what_it_says() {
    let place = Place::new();
    let target = place.home().join("demo");
    let output = place.autonoe(None).args(["demo", "--keep"]).arg(&target).output().expect("started");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stdout}\n{stderr}");
    for line in [
        "The models are scripted",
        "Session 1 started (initializer, anthropic/claude-opus-5)",
        "Session 2 started (coding, workshop/scripted-coder)",
        "> mcp__house__rules",
        "> Skill shell-tests",
        "> Task Review bin/tally",
        "[PASS] Count the lines and words of a file (CLI-001)",
        "The new cases fail",
        "[FAILED] complains-2 of CLI-002: exit code 1 instead of 2",
        "Refused, and rightly so",
        "[PASS] Say clearly what is wrong with the input (CLI-002)",
        "[BLOCKED] Publish the counts to the team's dashboard (NET-003)",
        "2/3 deliverables passed (1 blocked)",
        "All achievable deliverables passed. 2 passed: 2 verified, 0 claimed.",
        ".autonoe/evidence/CLI-002.json",
        "Look around",
    ] {
        assert!(stdout.contains(line), "{line:?} is missing in:\n{stdout}");
    }
    let shell = |script: &str| {
        let output = Command::new("sh").args(["-c", script]).current_dir(&target).output().expect("started");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, tests) = shell("sh tests/run.sh");
    assert_eq!(code, Some(0), "what was built passes its tests: {tests}");
    assert_eq!(tests.matches("ok ").count(), 6, "{tests}");
    let (_, log) = shell("git log --oneline | wc -l; git status --short -- . ':!.autonoe'");
    assert_eq!(log.trim(), "5", "five commits and a clean tree");
    let again = place.autonoe(None).args(["verify", "-p"]).arg(&target).output().expect("started");
    let again = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(again.contains("2 of 2 reproduced."), "{again}");
    assert_eq!(shell("printf 'a b\\n' > x; bin/tally x").1, "1 2 x\n");
}

#[test]
fn the_demo_wants_an_empty_directory() {
    let place = Place::new();
    let output = place.autonoe(None).args(["demo", "--keep", "."]).output().expect("started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("is not empty"), "{stderr}");
}
