//! Checks end to end: what an agent says is claimed, what our own process has seen is verified.

use std::process::Command;

use serde_json::Value;

use super::support::{Place, always, assert_followed, model};

const SPEC: &str =
    "# Calc\n\n## Adding\n\n```check A\n$ sh calc.sh add 2 3\n5\n$ sh calc.sh add 10 20\n30\n```\n";

/// A turn that writes a calculator, and commits it if told to.
fn writes(body: &str, commits: bool) -> String {
    let commit = if commits {
        r#"[[conversation.turn]]
           call = [{ tool = "Bash", input = { command = "git init -q -b main . && git add calc.sh && git commit -qm calc" } }]"#
    } else {
        ""
    };
    format!(
        r#"[[conversation.turn]]
           call = [{{ tool = "Write", input = {{ file_path = "calc.sh", content = "{body}\n" }} }}]
           {commit}"#
    )
}

const ADDS: &str = "echo $(($2 + $3))";

const PASSES: &str = r#"[[conversation.turn]]
    call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]"#;

fn place() -> Place {
    let place = Place::with_status(&[("A", "pending")]);
    place.write("SPEC.md", SPEC);
    place
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn what_the_checks_show_is_verified() {
    let place = place();
    let model = model(&always(&format!(
        "{}\n{PASSES}\n[[conversation.turn]]\nexpect = \"verified\"\ntext = \"done\"",
        writes(ADDS, true)
    )));
    let run = place.run(&model, &["run", "--strict"]);
    run.assert_ended("all_passed", 0);
    assert_followed(&model);
    let outcome = run.outcome();
    assert_eq!((&outcome["deliverables_verified"], &outcome["deliverables_claimed"]), (&1.into(), &0.into()));
    assert!(run.stderr.contains("1 passed: 1 verified, 0 claimed"), "{}", run.stderr);

    let status = json(&place.read(".autonoe/status.json"));
    let verification = &status["deliverables"][0]["verification"];
    assert_eq!(verification["assurance"], "verified");
    let evidence = json(&place.read(".autonoe/evidence/A.json"));
    assert!(evidence["commit"].is_string(), "{evidence}");
    assert_eq!(evidence["commit"], verification["commit"]);
    assert_eq!(evidence["checks"].as_array().map(Vec::len), Some(2));
    assert_eq!(evidence["checks"][0]["seen"]["verdict"], "passed");
    assert_eq!(evidence["checks"][0]["seen"]["output"], "5\n");
    assert_eq!(evidence["builder"]["backend"], "native");
    let red =
        run.of_type("checked").filter(|event| event["purpose"] == "red_first" && event["passed"] == false);
    assert_eq!(red.count(), 2);
}

#[test]
fn a_claim_that_does_not_hold_is_refused_and_can_be_mended() {
    let place = place();
    let turns = [
        writes("echo 5", true),
        PASSES.to_owned(),
        format!(
            "[[conversation.turn]]\nexpect = [\"do not pass\", \"does not hold `30`\", \"CHECKS_FAILED\"]\n{}",
            r#"call = [
                { tool = "Write", input = { file_path = "calc.sh", content = "echo $(($2 + $3))\n" } },
                { tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }
            ]"#
        ),
        format!(
            "[[conversation.turn]]\nexpect = [\"Not committed, so not looked at: calc.sh\"]\n{}",
            r#"call = [{ tool = "Bash", input = { command = "git commit -qam mended" } }]"#
        ),
        PASSES.to_owned(),
        "[[conversation.turn]]\nexpect = \"verified\"\ntext = \"done\"".to_owned(),
    ];
    let model = model(&always(&turns.join("\n")));
    let run = place.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_followed(&model);
    assert_eq!(run.outcome()["deliverables_verified"], 1);
    assert_eq!(run.of_type("status_changed").count(), 1, "it never passed before it did");
}

#[test]
fn what_no_check_decides_is_claimed_and_strict_does_not_take_it() {
    let place = Place::with_status(&[("A", "pending")]);
    let turns = format!("{PASSES}\n[[conversation.turn]]\nexpect = \"claimed\"\ntext = \"done\"");
    let server = model(&always(&turns));
    let run = place.run(&server, &["run"]);
    run.assert_ended("all_passed", 0);
    assert!(run.stderr.contains("1 passed: 0 verified, 1 claimed"), "{}", run.stderr);

    let place = Place::with_status(&[("A", "pending")]);
    let server = model(&always(&turns));
    let run = place.run(&server, &["run", "--strict"]);
    run.assert_ended("unverified", 7);
    assert_eq!(run.sessions().len(), 1, "it asks instead of looping");
    assert!(run.stderr.contains("nothing has checked A"), "{}", run.stderr);
}

#[test]
fn a_check_that_passes_before_the_work_proves_nothing() {
    let place = Place::with_status(&[("A", "pending")]);
    place.write("SPEC.md", "# Spec\n\n- Check: `true` for A\n");
    let model = model(&always(&format!(
        "{PASSES}\n[[conversation.turn]]\nexpect = \"proves nothing\"\ntext = \"done\""
    )));
    let run = place.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.outcome()["deliverables_claimed"], 1);
    assert!(run.stderr.contains("[VACUOUS]"), "{}", run.stderr);
    assert!(!place.path(".autonoe/evidence/A.json").exists());

    // A person may say that it counts all the same.
    let checks = place.autonoe(None).arg("checks").output().expect("started");
    let said = String::from_utf8_lossy(&checks.stdout).into_owned();
    assert!(said.contains("vacuous") && said.contains("autonoe checks accept spec"), "{said}");
    let accepted = place.autonoe(None).args(["checks", "accept", "spec"]).output().expect("started");
    assert_eq!(accepted.status.code(), Some(0), "{}", String::from_utf8_lossy(&accepted.stderr));
    let run = place.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.outcome()["deliverables_verified"], 1);
}

#[test]
fn files_that_checks_judge_by_cannot_be_changed_and_are_put_back() {
    let place = Place::with_status(&[("A", "pending")]);
    place.write("SPEC.md", "# Spec\n\n```check A protect=tests/**\n$ sh tests/add.sh\nall good\n```\n");
    place.write("tests/add.sh", "[ \"$(sh calc.sh add 2 3)\" = 5 ] && echo all good\n");
    let turns = r#"
        [[conversation.turn]]
        call = [
          { tool = "Write", input = { file_path = "tests/add.sh", content = "echo all good\n" } },
          { tool = "Bash", input = { command = "echo echo all good > tests/add.sh" } },
          { tool = "Write", input = { file_path = "SPEC.md", content = "nothing\n" } },
          { tool = "Bash", input = { command = "git init -q -b main . && git add . && git commit -qm all" } },
          { tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } },
        ]
        [[conversation.turn]]
        expect = ["belongs to the checks", "do not pass"]
        text = "I give up"
    "#;
    let server = model(&always(turns));
    let run = place.run(&server, &["run", "-n", "1"]);
    run.assert_ended("max_iterations", 4);
    assert_followed(&server);
    assert!(place.read("tests/add.sh").contains("calc.sh"), "it is as it was");
    assert_eq!(place.statuses(), [("A".to_owned(), "pending")]);
    let status = json(&place.read(".autonoe/status.json"));
    assert_eq!(status["deliverables"][0]["verification"]["assurance"], "failed");
}

#[test]
fn what_is_committed_decides_not_what_lies_about() {
    let place = place();
    let git = |args: &[&str]| {
        let status = Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@example.invalid"])
            .args(args)
            .current_dir(place.project())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", place.home())
            .status()
            .expect("git");
        assert!(status.success());
    };
    git(&["init", "-q", "-b", "main", "."]);
    git(&["add", "SPEC.md"]);
    git(&["commit", "-qm", "begin"]);
    // It works where it lies, and another thing is committed.
    let turns = [
        writes("echo 5", false),
        r#"[[conversation.turn]]
           call = [{ tool = "Bash", input = { command = "git add calc.sh && git commit -qm calc" } }]"#
            .to_owned(),
        writes(ADDS, false),
        PASSES.to_owned(),
        "[[conversation.turn]]\nexpect = [\"do not pass\", \"calc.sh\"]\ntext = \"done\"".to_owned(),
    ];
    let server = model(&always(&turns.join("\n")));
    place.run(&server, &["run", "-n", "1"]).assert_ended("max_iterations", 4);
    assert_followed(&server);
}
