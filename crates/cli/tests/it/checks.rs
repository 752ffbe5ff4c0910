//! Checks end to end: an agent's word makes a deliverable claimed, a check that we ran makes it verified.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use super::support::{
    CliTestProject, RunOutput, always, assert_script_followed, model, processes_in, runs_and_passes, signal,
    until,
};

const SPEC: &str =
    "# Calc\n\n## Adding\n\n```check A\n$ sh calc.sh add 2 3\n5\n$ sh calc.sh add 10 20\n30\n```\n";

/// A turn that writes a calculator, and optionally one that commits it.
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

pub fn project() -> CliTestProject {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("SPEC.md", SPEC);
    project
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn passing_checks_verify_a_deliverable() {
    let project = project();
    let model = model(&always(&format!(
        "{}\n{PASSES}\n[[conversation.turn]]\nexpect = \"verified\"\ntext = \"done\"",
        writes(ADDS, true)
    )));
    let run = project.run(&model, &["run", "--strict"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    let outcome = run.outcome();
    assert_eq!((&outcome["deliverables_verified"], &outcome["deliverables_claimed"]), (&1.into(), &0.into()));
    assert!(run.stderr.contains("1 passed: 1 verified, 0 claimed"), "{}", run.stderr);

    let status = json(&project.read(".autonoe/status.json"));
    let verification = &status["deliverables"][0]["verification"];
    assert_eq!(verification["assurance"], "verified");
    let evidence = json(&project.read(".autonoe/evidence/A.json"));
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
fn without_a_check_a_deliverable_is_claimed_and_strict_refuses_it() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let turns = format!("{PASSES}\n[[conversation.turn]]\nexpect = \"claimed\"\ntext = \"done\"");
    let server = model(&always(&turns));
    let run = project.run(&server, &["run"]);
    run.assert_ended("all_passed", 0);
    assert!(run.stderr.contains("1 passed: 0 verified, 1 claimed"), "{}", run.stderr);

    let project = CliTestProject::with_status(&[("A", "pending")]);
    let server = model(&always(&turns));
    let run = project.run(&server, &["run", "--strict"]);
    run.assert_ended("unverified", 7);
    assert_eq!(run.sessions().len(), 1, "the run ends instead of looping");
    assert!(run.stderr.contains("no valid check confirms A"), "{}", run.stderr);
}

#[test]
fn a_check_that_passes_before_the_work_does_not_count() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("SPEC.md", "# Spec\n\n- Check: `true` for A\n");
    let model = model(&always(&format!(
        "{PASSES}\n[[conversation.turn]]\nexpect = \"proves nothing\"\ntext = \"done\""
    )));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.outcome()["deliverables_claimed"], 1);
    assert!(run.stderr.contains("[VACUOUS]"), "{}", run.stderr);
    assert!(!project.path(".autonoe/evidence/A.json").exists());

    // The user can accept it anyway.
    let checks = project.autonoe(None).arg("checks").output().expect("started");
    let printed = String::from_utf8_lossy(&checks.stdout).into_owned();
    assert!(printed.contains("vacuous") && printed.contains("autonoe checks accept spec"), "{printed}");
    let accepted = project.autonoe(None).args(["checks", "accept", "spec"]).output().expect("started");
    assert_eq!(accepted.status.code(), Some(0), "{}", String::from_utf8_lossy(&accepted.stderr));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.outcome()["deliverables_verified"], 1);
}

#[test]
fn protected_files_cannot_be_changed() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("SPEC.md", "# Spec\n\n```check A protect=tests/**\n$ sh tests/add.sh\nall good\n```\n");
    project.write("tests/add.sh", "[ \"$(sh calc.sh add 2 3)\" = 5 ] && echo all good\n");
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
        expect = ["is used by the checks", "do not pass"]
        text = "I give up"
    "#;
    let server = model(&always(turns));
    let run = project.run(&server, &["run", "-n", "1"]);
    run.assert_ended("max_iterations", 4);
    assert_script_followed(&server);
    assert!(project.read("tests/add.sh").contains("calc.sh"), "the file is unchanged");
    assert_eq!(project.statuses(), [("A".to_owned(), "pending")]);
    let status = json(&project.read(".autonoe/status.json"));
    assert_eq!(status["deliverables"][0]["verification"]["assurance"], "failed");
}

/// An agent that claims too early, is refused, and fixes it.
pub fn too_early() -> String {
    let commands = [
        "echo 'echo $(($2 + $3))' > calc.sh && git init -q -b main && git add SPEC.md && git commit -qm begin",
        "git add calc.sh && git commit -qm calc",
    ];
    let [write, commit] = commands.map(|command| {
        format!(
            "[[conversation.turn]]\ncall = [{{ tool = \"Bash\", input = {{ command = \"{command}\" }} }}]"
        )
    });
    let turns = [
        &write,
        PASSES,
        &commit.replace("call", "expect = [\"do not pass\", \"Not committed\", \"calc.sh\"]\ncall"),
        PASSES,
        "[[conversation.turn]]\nexpect = \"verified\"\ntext = \"done\"",
    ];
    always(&turns.join("\n"))
}

#[test]
fn another_agent_reviews_the_deliverables() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    project.write("SPEC.md", SPEC);
    let build = |id: &str| {
        format!(
            r#"
            [[conversation]]
            name = "coding {id}"
            when = ["one deliverable", "Open, in order of priority:\n- `{id}`"]
              [[conversation.turn]]
              call = [{{ tool = "Bash", input = {{ command = "git init -q -b main; echo 'echo $(($2 + $3))' > calc.sh && git add -A && git commit -qm {id}; true" }} }}]
              [[conversation.turn]]
              call = [{{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "{id}", status = "passed" }} }}]
              [[conversation.turn]]
              text = "done"
            "#
        )
    };
    let review = r#"
        [[conversation]]
        name = "review"
        when = ["an independent review", "`B`: thing B", "+echo $(($2 + $3))"]
          [[conversation.turn]]
          call = [
            { tool = "Write", input = { file_path = "calc.sh", content = "fixed" } },
            { tool = "mcp__autonoe__set_status", input = { deliverableId = "B", status = "pending" } },
            { tool = "mcp__autonoe__review", input = { deliverableId = "A", holds = true, reason = "It adds." } },
            { tool = "mcp__autonoe__review", input = { deliverableId = "B", holds = false, reason = "There is no B." } },
          ]
          [[conversation.turn]]
          expect = ["may write only", "review of A is recorded", "review of B is recorded"]
          text = "done"
    "#;
    let server = model(&[build("A"), build("B"), review.to_owned()].concat());
    let run = project.run(&server, &["run", "--verifier", "native:opus"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&server);
    assert_eq!(run.sessions(), ["coding", "coding", "review"]);
    let status = json(&project.read(".autonoe/status.json"));
    let [a, b] = [0, 1].map(|index| status["deliverables"][index]["review"].clone());
    assert_eq!((&a["holds"], &b["holds"]), (&true.into(), &false.into()));
    assert!(a["by"].as_str().is_some_and(|by| by.starts_with("native:") && by.contains("opus")), "{a}");
    assert_eq!(run.outcome()["deliverables_doubted"], 1);
    assert!(
        run.stderr.contains("2 passed: 1 verified, 1 claimed (1 doubted by the independent review)"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_deliverable_that_breaks_later_becomes_pending_again() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    project.write("SPEC.md", SPEC);
    let turn = |command: &str, id: &str, rest: &str| {
        format!(
            r#"
            [[conversation]]
            when = ["one deliverable", "Open, in order of priority:\n- `{id}`"]
            plays = 1
              [[conversation.turn]]
              call = [{{ tool = "Bash", input = {{ command = "{command}" }} }}]
              [[conversation.turn]]
              call = [{{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "{id}", status = "passed" }} }}]
              [[conversation.turn]]
              {rest}text = "done"
            "#
        )
    };
    let right = "echo 'echo $(($2 + $3))' > calc.sh && git add calc.sh && git commit -qm right";
    let server = model(
        &[
            turn(&format!("git init -q -b main && {right}"), "A", "expect = \"verified\"\n"),
            turn("echo 'echo 5' > calc.sh && git add calc.sh && git commit -qm wrong", "B", ""),
            turn(right, "A", "expect = \"verified\"\n"),
        ]
        .concat(),
    );
    let run = project.run(&server, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&server);
    assert_eq!(run.sessions().len(), 3);
    let of_a = run.of_type("status_changed").filter(|event| event["deliverable_id"] == "A");
    let of_a: Vec<&str> = of_a.filter_map(|event| event["new"].as_str()).collect();
    assert_eq!(of_a, ["passed", "pending", "passed"]);
    assert_eq!(
        (&run.outcome()["deliverables_verified"], &run.outcome()["deliverables_claimed"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn the_user_accepts_or_rejects_changed_files() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write(
        "SPEC.md",
        "# Spec\n\n```check A name=tests protect=tests/**\n$ sh tests/add.sh\nall good\n```\n",
    );
    project.write("tests/add.sh", "[ \"$(sh calc.sh add 2 3)\" = 5 ] && echo all good\n");
    let server = model(&always(&format!(
        "{}\n{PASSES}\n[[conversation.turn]]\nexpect = \"verified\"\ntext = \"done\"",
        writes(ADDS, true)
    )));
    project.run(&server, &["run"]).assert_ended("all_passed", 0);

    // A test is changed and another added outside of any session.
    project.write("tests/add.sh", "echo all good\n");
    project.write("tests/more.sh", "echo more\n");
    let run = project.run(&server, &["run"]);
    run.assert_ended("all_passed", 0);
    let disputed: Vec<&str> = run.of_type("disputed").filter_map(|event| event["path"].as_str()).collect();
    assert_eq!(disputed, ["tests/add.sh", "tests/more.sh"]);
    let decide = |args: &[&str]| {
        let output = project.autonoe(None).arg("checks").args(args).output().expect("started");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let listed = decide(&[]);
    assert!(listed.contains("Disputed: tests/add.sh") && listed.contains("failed first"), "{listed}");
    decide(&["reject", "tests/add.sh"]);
    assert!(project.read("tests/add.sh").contains("calc.sh"), "the accepted version is restored");
    decide(&["accept", "tests/more.sh"]);
    assert!(!decide(&[]).contains("Disputed"));
    assert_eq!(project.run(&server, &["run"]).of_type("disputed").count(), 0);

    let output = project.autonoe(None).args(["checks", "accept", "nothing"]).output().expect("started");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("There is no check or disputed file 'nothing'"));
}

#[test]
fn a_kill_during_a_check_leaves_nothing_behind() {
    let project = project();
    project.write(
        "SPEC.md",
        "# Spec\n\n```check A name=slow\n$ test ! -e calc.sh || sleep 300\n```\n\n```check A\n$ sh calc.sh add 2 3\n5\n```\n",
    );
    let turns = format!("{}\n{PASSES}\n[[conversation.turn]]\ntext = \"done\"", writes(ADDS, true));
    let server = model(&always(&turns));
    let mut command = project.command(&server, &["run"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    let state = project.home().join(".local/state");
    until("the check runs", || {
        state.exists() && processes_in(&state).iter().any(|line| line.contains("sleep 300"))
    });
    child.kill().expect("killed");
    child.wait().expect("ended");
    until("nothing runs any more", || processes_in(&state).is_empty());
    assert_eq!(project.statuses(), [("A".to_owned(), "pending")], "its status is unchanged");

    // The user fixes the check.
    project.write("SPEC.md", SPEC);
    let accepted = project.autonoe(None).args(["checks", "accept", "SPEC.md"]).output().expect("started");
    assert!(accepted.status.success(), "{}", String::from_utf8_lossy(&accepted.stderr));
    let server = model(&always(
        &turns
            .replace("git init -q -b main . && git add calc.sh && git commit", "git commit -q --allow-empty"),
    ));
    let run = project.run(&server, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.outcome()["deliverables_verified"], 1, "one of its checks failed first, before the kill");
    let state_dir = project.journal().parent().expect("state").to_owned();
    let checks = state_dir.ancestors().nth(2).expect("state of all projects").join("checks");
    let places: Vec<_> =
        std::fs::read_dir(checks).expect("checks").map(|place| place.expect("read").path()).collect();
    let [place] = &places[..] else { panic!("{places:?}") };
    assert_eq!(std::fs::read_dir(place).expect("read").count(), 0, "no checkout is left behind");
}

#[test]
fn an_interrupt_does_not_wait_for_a_check() {
    let project = project();
    project.write("SPEC.md", "# Spec\n\n- Check: `sleep 300` for A\n");
    let server = model(&always("[[conversation.turn]]\ntext = \"done\""));
    let mut command = project.command(&server, &["run"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let state = project.home().join(".local/state");
    until("the check runs", || {
        state.exists() && processes_in(&state).iter().any(|line| line.contains("sleep 300"))
    });
    signal(&child, Signal::INT);
    RunOutput::from(child.wait_with_output().expect("ended")).assert_ended("interrupted", 130);
    until("nothing runs any more", || processes_in(&state).is_empty());
}

#[test]
fn codex_reviews_the_native_agents_work() {
    let Some(codex) = super::codex::codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let server = model(
        r#"
        [[conversation]]
        name = "coding"
        when = "one deliverable"
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
          [[conversation.turn]]
          text = "done"
        [[conversation]]
        name = "review"
        when = ["an independent review", "`A`: thing A"]
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__review", input = { deliverableId = "A", holds = true, reason = "I have looked." } }]
          [[conversation.turn]]
          expect = "review of A is recorded"
          text = "done"
        "#,
    );
    let run = codex.run(&project, &server, &["run", "--backend", "native", "--verifier", "codex"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&server);
    let backends: Vec<&str> =
        run.of_type("session_started").filter_map(|event| event["backend"].as_str()).collect();
    assert_eq!(backends, ["native", "codex"]);
    let status = json(&project.read(".autonoe/status.json"));
    let by = &status["deliverables"][0]["review"]["by"];
    assert!(by.as_str().is_some_and(|by| by.starts_with("codex:")), "{by}");
}

#[test]
fn a_forged_test_does_not_land_without_the_users_word() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]).in_workspace();
    project.write("SPEC.md", "# Spec\n\n```check A protect=tests/**\n$ sh tests/a.sh\n```\n\n```check B\n$ cat b.txt\nbuilt\n```\n");
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("tests/a.sh", "test -f a.txt\n")]);
    // It goes around the read-only file, through git alone.
    let model = model(&always(
        r#"
          [[conversation.turn]]
          call = [
            { tool = "Bash", input = { command = "git update-index --cacheinfo 100644,$(echo true | git hash-object -w --stdin),tests/a.sh && echo built > b.txt && git add b.txt && git commit -qm B && git show --stat" } },
          ]
          [[conversation.turn]]
          expect = "tests/a.sh"
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "B", status = "passed" } }]
          [[conversation.turn]]
          expect = "verified"
          text = "done"
        "#,
    ));
    let run = project.run(&model, &["run", "-n", "1"]);
    let landing = run.of_type("landing").last().expect("a landing").clone();
    assert_eq!(landing["why"], "they change files that your checks judge by: tests/a.sh", "{}", run.stderr);
    assert_eq!(project.read("tests/a.sh"), "test -f a.txt\n");

    let land = |option: &[&str]| {
        let output =
            project.autonoe(None).args(["land", "--checked"]).args(option).output().expect("started");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, said) = land(&[]);
    assert!(code == Some(7) && said.contains("`autonoe land --accept-protected` lands them"), "{said}");
    let (code, said) = land(&["--accept-protected"]);
    assert!(code == Some(0) && said.contains("[LANDED]"), "{said}");
    assert_eq!(project.read("tests/a.sh"), "true\n");
}

/// Checks do not see it until the user accepts it, so it can do no harm there.
#[test]
fn a_new_file_beside_protected_ones_lands_and_judges_nothing() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]).in_workspace();
    let check = |id: &str, file: &str| {
        format!("```check {id} name={file} protect=tests/**\n$ sh tests/{file}.sh\n```\n\n")
    };
    project.write("SPEC.md", &format!("# Spec\n\n{}{}", check("A", "a"), check("B", "b")));
    project.git(&["init", "-q", "-b", "main", "."]);
    let judge = |file: &str| format!("[ ! -e tests/more.sh ] && test -f {file}.txt\n");
    project.commit(&[("tests/a.sh", &judge("a")), ("tests/b.sh", &judge("b"))]);
    let session = |command: &str, id: &str| {
        model(&always(&format!(
            r#"
              [[conversation.turn]]
              call = [{{ tool = "Bash", input = {{ command = "{command}; git add . && git commit -qm {id}" }} }}]
              [[conversation.turn]]
              call = [{{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "{id}", status = "passed" }} }}]
              [[conversation.turn]]
              expect = "verified"
              text = "done"
            "#
        )))
    };
    let model = session("echo > a.txt; echo true > tests/more.sh", "A");
    let run = project.run(&model, &["run", "-n", "1"]);
    assert!(run.stderr.contains("[LANDED]"), "{}", run.stderr);
    assert_eq!(project.read("tests/more.sh"), "true\n");
    // Nor does another pattern of the user's accept it.
    let spec = project
        .read("SPEC.md")
        .replace("check B name=b protect=tests/**", "check B name=b protect=tests/*.sh");
    project.write("SPEC.md", &spec);
    let model = session("echo > b.txt", "B");
    let accepted = project.autonoe(None).args(["checks", "accept", "b"]).output().expect("started");
    assert!(accepted.status.success(), "{accepted:?}");
    let run = project.run(&model, &["run", "-n", "1"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    let output = project.autonoe(None).arg("checks").output().expect("started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("tests/more.sh") && said.contains("do not see it until you decide"), "{said}");
}

#[test]
fn a_passed_variable_is_nowhere_in_what_checks_and_agents_say() {
    const VALUE: &str = "swordfish-8417-never-real";
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]).in_repository();
    let check = serde_json::json!({ "name": "a", "deliverable": "A", "run": "cat a.txt && env", "output": ["built"] });
    project.write(".autonoe/checks.json", &serde_json::json!({ "checks": [check] }).to_string());
    let model = model(&always(
        r#"
          [[conversation.turn]]
          call = [
            { tool = "Bash", input = { command = "echo built > a.txt; git add a.txt; git commit -qm \"$TOKEN\"" } },
            { tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } },
            { tool = "mcp__autonoe__set_status", input = { deliverableId = "B", status = "blocked", reason = "It refuses swordfish-8417-never-real" } },
          ]
          [[conversation.turn]]
          text = "done"
        "#,
    ));
    // The later commands know of it only because its name is kept.
    let mut run = project.command(&model, &["run", "-n", "1", "--env", "TOKEN"]);
    let run = RunOutput::from(run.env("TOKEN", VALUE).output().expect("started"));
    assert_eq!(
        project.statuses(),
        [("A".to_owned(), "passed"), ("B".to_owned(), "blocked")],
        "{}",
        run.stderr
    );
    for args in [&["status"][..], &["status", "--json"], &["report"], &["verify", "--json"]] {
        let output = project.autonoe(None).args(args).env("TOKEN", VALUE).output().expect("started");
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!shown.contains(VALUE) && shown.contains("[redacted]"), "{args:?}: {shown}");
    }
    for file in [".autonoe/evidence/A.json", ".autonoe/status.json"] {
        assert!(!project.read(file).contains(VALUE), "{file}");
    }
}

#[test]
fn verify_passes_variables_and_says_that_a_check_was_changed_since() {
    const TOKEN: (&str, &str) = ("TOKEN", "swordfish-8417-never-real");
    let project = CliTestProject::with_status(&[("A", "pending")]).in_repository();
    let write_checks = |output: &str, more: &[Value]| {
        let run = "test -n \"$TOKEN\" && cat a.txt";
        let check = serde_json::json!({ "name": "a", "deliverable": "A", "run": run, "output": [output] });
        let checks = [&[check], more].concat();
        project.write(".autonoe/checks.json", &serde_json::json!({ "checks": checks }).to_string());
    };
    write_checks("built", &[]);
    let model = model(&always(
        r#"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "echo built > a.txt; git add a.txt; git commit -qm built" } }]
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
          [[conversation.turn]]
          expect = "verified"
          text = "done"
        "#,
    ));
    let mut run = project.command(&model, &["run", "--env", "TOKEN"]);
    RunOutput::from(run.env(TOKEN.0, TOKEN.1).output().expect("started")).assert_ended("all_passed", 0);
    let autonoe = |args: &[&str]| {
        let output = project.autonoe(None).args(args).env(TOKEN.0, TOKEN.1).output().expect("started");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let verified = || {
        let (_, said) = autonoe(&["status", "--json"]);
        serde_json::from_str::<Value>(&said).expect("JSON")["verified"].as_u64()
    };
    assert_eq!(autonoe(&["verify"]).0, Some(7), "the check needs the variable");
    for args in ["status", "report"] {
        let (_, said) = autonoe(&[args]);
        assert!(
            said.contains(" later look at A failed on ") && said.contains("0 verified, 1 claimed"),
            "{said}"
        );
    }
    let (code, said) = autonoe(&["verify", "--env", "TOKEN"]);
    assert!(code == Some(0) && !said.contains("was changed"), "{said}");
    let (_, said) = autonoe(&["status"]);
    assert!(!said.contains("later look"), "{said}");

    assert_eq!(verified(), Some(1));
    write_checks("b", &[]);
    for args in [&["verify", "--env", "TOKEN"][..], &["status"], &["checks"], &["report"]] {
        let (_, said) = autonoe(args);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("our check 'a' was changed"), "{args:?}: {said}");
    }
    assert_eq!(verified(), Some(0));
    let (code, said) = autonoe(&["verify", "--env", "TOKEN"]);
    assert!(code == Some(7) && said.contains("A: OUT OF DATE") && said.contains("0 of 1"), "{said}");

    write_checks(
        "built",
        &[serde_json::json!({ "name": "new", "deliverable": "A", "run": "test -f a.txt" })],
    );
    assert_eq!(verified(), Some(0));
    for args in [&["verify", "--env", "TOKEN"][..], &["status"]] {
        let (_, said) = autonoe(args);
        assert!(said.contains("your check 'new' of A is new and has not run"), "{args:?}: {said}");
    }
    let mut run = project.command(&model, &["run", "--env", "TOKEN"]);
    RunOutput::from(run.env(TOKEN.0, TOKEN.1).output().expect("started")).assert_ended("all_passed", 0);
    assert_eq!(verified(), Some(1));
    assert_eq!(autonoe(&["verify", "--env", "TOKEN"]).0, Some(0));

    project.write(".autonoe/checks.json", r#"{"checks":[]}"#);
    for name in ["a", "new"] {
        autonoe(&["checks", "accept", name]);
    }
    for args in [&["verify", "--env", "TOKEN"][..], &["status"]] {
        let (_, said) = autonoe(args);
        assert!(said.contains("the checks that verified A are gone"), "{args:?}: {said}");
    }
    assert_eq!(verified(), Some(0));
}

#[test]
fn verify_names_the_layer_and_fails_with_a_check_of_the_whole_project() {
    let layer = autonoe_honesty::Layer::landlock().expect("links");
    let project = CliTestProject::with_status(&[("A", "pending")]).in_repository();
    let checks = serde_json::json!({ "checks": [
        { "name": "a", "deliverable": "A", "run": "cat a.txt", "output": ["built"] },
        { "name": "whole", "run": "test -f whole.txt" },
        { "name": "lost", "deliverable": "Z", "run": "test -f lost.txt" },
    ] });
    project.write(".autonoe/checks.json", &checks.to_string());
    let model = model(&runs_and_passes("echo built > a.txt; git add a.txt; git commit -qm built"));
    let mut run = project.command(&model, &["run", "-n", "1"]);
    run.env("PATH", layer.path()).output().expect("started");
    let verify = |args: &[&str]| {
        let mut command = project.autonoe(None);
        let output = command.arg("verify").args(args).env("PATH", layer.path()).output().expect("started");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, said) = verify(&[]);
    let end = "\n1 of 1 reproduced, but 2 of your other checks FAIL.\n";
    assert!(said.contains("A: reproduced on Landlock, on ") && said.ends_with(end), "{said}");
    let whole = "Your checks of the whole project FAIL:\n  whole: expected exit 0, got 1\n";
    assert!(code == Some(7) && said.contains(whole), "{said}");
    let lost = "Your checks of deliverables that do not exist, or are deprecated, FAIL:\n  lost, written for Z: expected exit 0, got 1\n";
    assert!(said.contains(lost), "{said}");
    let (code, said) = verify(&["--json"]);
    let shown: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((code, &shown["project_checks"][0]["check"]), (Some(7), &Value::from("whole")), "{said}");
    assert_eq!(shown["project_checks"][1]["deliverable"], "Z", "{said}");
    let (code, said) = verify(&["A"]);
    assert!(code == Some(0) && !said.contains("whole"), "{said}");
}

#[test]
fn files_to_look_at_are_named_wherever_it_is_called_verified() {
    let project = CliTestProject::with_status(&[("A", "pending")]).in_repository();
    let check = r#"{ "checks": [{ "name": "a", "deliverable": "A", "run": ": make; cat a.txt", "output": ["built"] }] }"#;
    project.write(".autonoe/checks.json", check);
    let work = r#"echo built > a.txt; echo x > Makefile; mkdir 'n\nx'; echo x > 'n\nx/.npmrc'; git add .; git commit -qm built"#;
    let run = project.command(&model(&runs_and_passes(work)), &["run", "-n", "1"]).output().expect("started");
    let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    assert!(
        said.contains("A: What the checks run was written or changed with the work: Makefile."),
        "{said}"
    );
    assert!(
        said.contains(
            "A: Test runners and other tools read these new files by themselves: n[U+000A]x/.npmrc."
        ),
        "{said}"
    );
    for command in [&["status"][..], &["verify"], &["report"], &["status", "--json"]] {
        let output = project.autonoe(None).args(command).output().expect("started");
        let said = String::from_utf8_lossy(&output.stdout).to_lowercase();
        let run = "what the checks run, which was written or changed with the work: makefile";
        assert!(said.contains("look") && said.contains(run), "{command:?}: {said}");
        let is_escaped = said.contains("n[u+000a]x/.npmrc") || said.contains("n\\[u+000a\\]x/.npmrc");
        assert!(is_escaped, "{command:?}: {said}");
    }
}

#[test]
fn a_new_check_judges_by_the_users_files_not_by_commits_that_have_not_landed() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("tests/t.sh", "[ \"$(sh a.sh)\" = hi ] && echo good\n");
    let project = project.in_repository().in_workspace();
    let script = |command: &str, more: &str| {
        format!(
            "[[conversation]]\n[[conversation.turn]]\n\
             call = [{{ tool = 'Bash', input = {{ command = '{command}' }} }}]\n{more}\n[[conversation.turn]]\ntext = 'done'\n"
        )
    };
    let own_test = "echo \"[ -f z ] && echo good\" > tests/t.sh; echo \"echo no\" > a.sh; git add .; git commit -qm tests";
    let first =
        project.command(&model(&script(own_test, "")), &["run", "-n", "1"]).output().expect("started");
    assert_eq!(first.status.code(), Some(4));
    project.write(
        ".autonoe/checks.json",
        r#"{ "checks": [{ "name": "t", "deliverable": "A", "run": "sh tests/t.sh", "output": ["good"], "protect": ["tests/**"] }] }"#,
    );
    let claim = "[[conversation.turn]]\n\
        call = [{ tool = 'mcp__autonoe__set_status', input = { deliverableId = 'A', status = 'passed' } }]\n\
        [[conversation.turn]]\nexpect = 'do not pass'\ntext = 'no'\n";
    let model = model(&script("touch z; git add .; git commit -qm z", claim));
    let second = RunOutput::from(project.command(&model, &["run", "-n", "1"]).output().expect("started"));
    second.assert_ended("max_iterations", 4);
    assert_eq!(project.statuses(), [("A".to_owned(), "pending")], "{}", second.stderr);
}

/// A user who looks after the run must learn why, not only one who watched it.
#[test]
fn why_a_check_does_not_count_is_said_afterwards_too() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending"), ("C", "pending")]);
    let checks = serde_json::json!({ "checks": [
        { "name": "lucky", "deliverable": "A", "run": "test -f a.txt && test \"$LUCK\" = yes" },
        { "name": "empty", "deliverable": "B", "run": "true" },
        { "name": "absent", "deliverable": "C", "run": "sh tests/c.sh", "protect": ["tests/**"] },
        { "name": "whole", "run": "true" },
    ] });
    project.write(".autonoe/checks.json", &checks.to_string());
    let project = project.in_repository();
    let claim = |id: &str| {
        format!(
            "{{ tool = 'mcp__autonoe__set_status', input = {{ deliverableId = '{id}', status = 'passed' }} }}"
        )
    };
    let build = "{ tool = 'Bash', input = { command = 'mkdir -p tests; touch a.txt tests/c.sh; git add a.txt tests; git commit -qm a; true' } }";
    let calls = format!("{build}, {}, {}, {}", claim("A"), claim("B"), claim("C"));
    let model = model(&always(&format!(
        "[[conversation.turn]]\ncall = [{calls}]\n[[conversation.turn]]\ntext = 'done'"
    )));
    for (luck, outcome, code) in [("no", "max_iterations", 4), ("yes", "unverified", 7)] {
        let mut run = project.command(&model, &["run", "--strict", "-n", "1", "--env", "LUCK"]);
        RunOutput::from(run.env("LUCK", luck).output().expect("started")).assert_ended(outcome, code);
    }
    for command in ["checks", "status", "report"] {
        let output = project.autonoe(None).arg(command).output().expect("started");
        let said = String::from_utf8_lossy(&output.stdout).replace(['`', '\\'], "");
        for words in [
            "lucky does not count: it is flaky, which does not count with --strict: it failed 1 of",
            "empty does not count: it passed before the work began",
            "absent does not count: files it relies on did not exist: tests/**",
            "whole does not count: it passed before the work began",
        ] {
            assert!(said.contains(words), "{command}: no {words:?} in {said}");
        }
    }
    let output = project.autonoe(None).args(["status", "--json"]).output().expect("started");
    let reason =
        &json(&String::from_utf8_lossy(&output.stdout))["deliverables"][0]["checks"][0]["why_not_counted"];
    assert!(reason.as_str().is_some_and(|reason| reason.contains("flaky")), "{reason}");
    // The user's word ends the doubt.
    project.autonoe(None).args(["checks", "accept", "lucky"]).output().expect("started");
    let output = project.autonoe(None).arg("status").output().expect("started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!said.contains("lucky does not count"), "{said}");
}

#[test]
fn verify_names_checks_of_deliverables_that_have_not_passed() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    project.write("SPEC.md", &format!("{SPEC}\n- Check: `test -f b.txt` for B\n"));
    let blocks = r#"[[conversation.turn]]
        call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "B", status = "blocked", reason = "no key" } }]"#;
    let turns = format!("{}\n{PASSES}\n{blocks}\n[[conversation.turn]]\ntext = \"done\"", writes(ADDS, true));
    project.run(&model(&always(&turns)), &["run"]).assert_ended("all_passed", 0);
    let verify = project.autonoe(None).arg("verify").output().expect("started");
    let said = String::from_utf8_lossy(&verify.stdout).into_owned();
    assert!(said.contains("Your checks of deliverables that have not passed were not run: "), "{said}");
    assert_eq!(verify.status.code(), Some(0), "{said}");
}

#[test]
fn files_that_checks_do_not_see_are_named_by_verify_and_refused_by_strict() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("data/a", "");
    project.write("tests/t.sh", "[ \"$(sh count.sh)\" = 1 ] && echo good\n");
    project.write(
        ".autonoe/checks.json",
        r#"{ "checks": [{ "name": "t", "deliverable": "A", "run": "sh tests/t.sh", "output": ["good"], "protect": ["tests/**", "data/**"] }] }"#,
    );
    let project = project.in_repository();
    let work = "echo 'ls data | wc -l' > count.sh; touch data/b; git add .; git commit -qm count";
    let model = model(&runs_and_passes(work));
    project.run(&model, &["run", "-n", "1"]).assert_ended("all_passed", 0);
    let verify = |args: &[&str]| {
        let output = project.autonoe(None).arg("verify").args(args).output().expect("started");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let disputed = "Disputed: data/b: it was added, and there is no accepted version of it";
    let (code, said) = verify(&[]);
    assert!(code == Some(0) && said.contains(disputed), "{said}");
    let (code, said) = verify(&["--strict"]);
    assert!(code == Some(7) && said.contains(disputed), "{said}");
    assert!(said.contains("A: NOT reproduced, on ") && said.contains("hide from it (data/b)"), "{said}");
    let (code, said) = verify(&["--strict", "--json"]);
    let shown = json(&said);
    assert_eq!((code, &shown["deliverables"][0]["reproduced"]), (Some(7), &false.into()), "{said}");
    assert!(shown["disputed"]["data/b"].is_string(), "{said}");
    project.run(&model, &["run", "--strict", "-n", "1"]).assert_ended("unverified", 7);
}
