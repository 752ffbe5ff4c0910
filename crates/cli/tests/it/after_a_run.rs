//! What the user gets to know at the end of a run and afterwards: what is blocked and why, what it has cost, what happened.

use std::fs;

use autonoe_scripted::ScriptedServer;
use autonoe_test_kit::{PATH, write_program};
use serde_json::Value;

use super::support::{CliTestProject, builder, coding, model};

const REASON: &str = "no STRIPE_KEY; the owner of the account has it";

/// Passes A, and blocks B until the user says that there is a key.
fn blocked_model() -> ScriptedServer {
    let blocked = format!(
        r#"
        [[conversation]]
        name = "blocked"
        when = ["one deliverable", "Open, in order of priority:\n- `B`"]
        plays = 1
          [[conversation.turn]]
          call = [{{ tool = "Bash", input = {{ command = "git push" }} }},
                  {{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "B", status = "blocked", reason = "{REASON}" }} }}]
          [[conversation.turn]]
          text = "B is blocked."
        "#
    );
    model(&[coding("A", "passed"), blocked, coding("B", "passed")].concat())
}

/// Exit code, and what was printed.
fn autonoe(project: &CliTestProject, model: Option<&ScriptedServer>, args: &[&str]) -> (Option<i32>, String) {
    let mut command = project.autonoe(model);
    if model.is_some() {
        command.args(["run", "--in-place", "--backend", "native", "--session-delay", "0s"]);
    }
    let output = command.args(args).output().expect("started");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

#[test]
fn a_blocked_deliverable_says_why_and_is_unblocked() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = blocked_model();
    let (code, screen) = autonoe(&project, Some(&model), &[]);
    assert_eq!(code, Some(0), "{screen}");
    let blocked_line = format!("(B): {REASON}");
    assert_contains(
        &screen,
        &["[BLOCKED]", &blocked_line, "Blocked:\n  B: no STRIPE_KEY", "autonoe unblock B"],
    );
    assert_contains(&screen, &["Cost so far: A $", "Max cost: none; --max-cost 20 sets one"]);
    let (_, status) = autonoe(&project, None, &["status"]);
    assert_contains(&status, &[REASON, "s in 1 session(s)"]);
    let (_, page) = autonoe(&project, None, &["report"]);
    assert_contains(&page, &["is blocked: thing B. no STRIPE", "`autonoe unblock B`"]);
    let (code, answer) = autonoe(&project, None, &["unblock", "A"]);
    assert_eq!(code, Some(2), "{answer}");
    assert_contains(&answer, &["\"A\" is passed, not blocked"]);
    let (code, answer) = autonoe(&project, None, &["unblock", "B", "X"]);
    assert_eq!(code, Some(2), "{answer}");
    assert_eq!(project.statuses()[1].1, "blocked", "all or nothing");
    let (code, answer) = autonoe(&project, None, &["unblock", "B", "--note", "the key is in .env"]);
    assert_eq!(code, Some(0), "{answer}");
    assert!(!project.read(".autonoe/status.json").contains("STRIPE"), "the reason is gone");
    let (_, plan) = autonoe(&project, None, &["plan"]);
    assert_contains(&plan, &["Estimated cost: about $", "(1 at $", "the average of 2 earlier one(s))"]);
    let (code, screen) = autonoe(&project, Some(&model), &[]);
    assert_eq!(code, Some(0), "{screen}");
    assert_contains(&screen, &["[MESSAGE] About B: the key is in .env", "[PASS]"]);
    let told =
        model.requests().iter().any(|request| request.request.to_string().contains("the key is in .env"));
    assert!(told, "the session got the note");
    assert_eq!(autonoe(&project, None, &["unblock", "--all"]).1, "Nothing is blocked.\n");
}

#[test]
fn costs_are_added_up_over_projects_and_deliverables() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let planned = project.read(".autonoe/status.json");
    let (_, nothing) = autonoe(&project, None, &["cost"]);
    assert_eq!(nothing, "No sessions yet.\n");
    let model = blocked_model();
    autonoe(&project, Some(&model), &[]);
    let rows = |by: &str| -> Value {
        let (code, text) = autonoe(&project, None, &["cost", "--by", by, "--json"]);
        assert_eq!(code, Some(0), "{text}");
        serde_json::from_str(&text).expect("JSON")
    };
    let root = project.root().display().to_string();
    let by_project = rows("project");
    assert_eq!(by_project["rows"][0]["key"], root);
    assert_eq!(by_project["total"]["sessions"], 2.0);
    let total = by_project["total"]["cost_usd"].as_f64().expect("a number");
    assert!(total > 0.0);
    let by_deliverable = rows("deliverable");
    let keys: Vec<_> =
        by_deliverable["rows"].as_array().expect("rows").iter().map(|row| &row["key"]).collect();
    assert_eq!(keys.len(), 2, "{keys:?}");
    let sum: f64 = by_deliverable["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| row["cost_usd"].as_f64())
        .sum();
    assert!((sum - total).abs() < 1e-9, "{sum} {total}");
    let second = project.path("../second");
    fs::create_dir_all(second.join(".autonoe")).expect("made");
    fs::copy(project.path("SPEC.md"), second.join("SPEC.md")).expect("copied");
    fs::write(second.join(".autonoe/status.json"), planned).expect("written");
    let mut command = project.autonoe(Some(&model));
    command.args(["run", "--in-place", "--backend", "native", "--session-delay", "0s", "-n", "1"]);
    let output = command.current_dir(&second).output().expect("started");
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let status = |args: &[&str]| {
        let output =
            project.autonoe(None).arg("status").args(args).current_dir(&second).output().expect("started");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_contains(&status(&[]), &["thing A", "s in 1 session(s)", "thing B  estimated: $"]);
    let json: Value = serde_json::from_str(&status(&["--json"])).expect("JSON");
    let [a, b] = [&json["deliverables"][0], &json["deliverables"][1]];
    assert!(a["seconds"].as_f64() > Some(0.0) && a["estimated_seconds"].is_null(), "{a}");
    assert_eq!((&b["seconds"], &b["estimated_seconds"]), (&Value::Null, &a["seconds"]), "the average of one");
    assert_eq!(b["estimated_cost_usd"], a["cost_usd"]);
    let by_project = rows("project");
    let projects: Vec<_> =
        by_project["rows"].as_array().expect("rows").iter().map(|row| &row["sessions"]).collect();
    assert_eq!(projects, [&Value::from(2.0), &Value::from(1.0)], "the more expensive one comes first");
    for by in ["day", "model"] {
        let rows = rows(by);
        assert_eq!(rows["rows"].as_array().map(Vec::len), Some(1), "{rows}");
        assert_eq!(rows["rows"][0]["sessions"], 3.0, "{rows}");
        assert_eq!(rows["total"], by_project["total"]);
    }
    assert_eq!(rows("model")["rows"][0]["key"], "claude-sonnet-5");
    let day = rows("day")["rows"][0]["key"].as_str().map(str::len);
    assert_eq!(day, Some("2026-11-16".len()));
    let (_, table) = autonoe(&project, None, &["cost", "--by", "backend", "--since", "1h"]);
    assert_contains(&table, &["BACKEND", "native", "total"]);
    let (_, before) = autonoe(&project, None, &["cost", "--since", "2999-01-01"]);
    assert_eq!(before, "No sessions yet.\n");
    let (code, wrong) = autonoe(&project, None, &["cost", "--since", "yesterday"]);
    assert_eq!(code, Some(2), "{wrong}");
}

#[test]
fn planning_is_no_cost_of_a_deliverable() {
    let project = CliTestProject::new();
    project.run(&model(&builder()), &["run"]).assert_ended("all_passed", 0);
    let (_, text) = autonoe(&project, None, &["cost", "--by", "deliverable", "--json"]);
    let rows: Value = serde_json::from_str(&text).expect("JSON");
    let sessions: Vec<_> =
        rows["rows"].as_array().expect("rows").iter().map(|row| (&row["key"], &row["sessions"])).collect();
    assert_eq!(sessions.len(), 4, "{sessions:?}");
    for id in ["A", "B", "C"] {
        let key = format!("{}: {id}", project.root().display());
        assert!(sessions.contains(&(&key.into(), &1.0.into())), "{id}: {sessions:?}");
    }
}

#[test]
fn sessions_are_readable() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = blocked_model();
    autonoe(&project, Some(&model), &[]);
    let (_, text) = autonoe(&project, None, &["sessions", "show", "1.1"]);
    assert_contains(&text, &["I build A.", "> Bash echo built", "[END] completed, cost=$"]);
    let (_, errors) = autonoe(&project, None, &["sessions", "show", "1.1", "--errors"]);
    assert!(!errors.contains("> Bash"), "{errors}");
    let (_, errors) = autonoe(&project, None, &["sessions", "show", "1.2", "--errors"]);
    assert_contains(&errors, &["> Bash git push\n            DENIED by commands: "]);
    assert!(!errors.contains("set_status"), "{errors}");
    let (_, list) = autonoe(&project, None, &["sessions", "list", "--deliverable", "B"]);
    assert_contains(&list, &["1.2"]);
    assert!(!list.contains("1.1"), "{list}");
    let (_, list) = autonoe(&project, None, &["sessions", "list", "--errors"]);
    assert_eq!(list, "No sessions yet.\n");
}

#[test]
fn named_variables_reach_commands_and_are_redacted() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let script = r#"
    [[conversation]]
      [[conversation.turn]]
      call = [{ tool = "Bash", input = { command = "echo $TODO_TOKEN $OTHER_TOKEN $UNNAMED | tee tokens.txt" } }]
      [[conversation.turn]]
      call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
      [[conversation.turn]]
      text = "A is passed."
    "#;
    let model = model(script);
    let config = project.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("directory");
    fs::write(
        config.join("config.toml"),
        "[sandbox]\nenv = [\"OTHER_TOKEN\", \"NOT_SET\"]\n[run]\nmax_cost = 5\n",
    )
    .expect("written");
    let mut command = project.autonoe(Some(&model));
    command.args([
        "run",
        "--in-place",
        "--backend",
        "native",
        "--session-delay",
        "0s",
        "--env",
        "TODO_TOKEN",
        "-d",
    ]);
    command
        .env("TODO_TOKEN", "tok-1234567890")
        .env("OTHER_TOKEN", "tok-0987654321")
        .env("UNNAMED", "tok-unnamed-1");
    let output = command.output().expect("started");
    let screen = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(0), "{screen}");
    assert_contains(
        &screen,
        &["Max cost: $5.00", "[redacted]", "NOT_SET is not set, although your config.toml"],
    );
    assert_eq!(project.read("tokens.txt"), "tok-1234567890 tok-0987654321\n");
    for secret in ["tok-1234567890", "tok-0987654321"] {
        assert!(!screen.contains(secret), "{screen}");
        let journal = fs::read(project.journal()).expect("journal");
        assert!(!String::from_utf8_lossy(&journal).contains(secret), "in the journal");
    }
    let (code, answer) = autonoe(&project, Some(&model), &["--env", "MISSING"]);
    assert_eq!(code, Some(2), "{answer}");
    assert_contains(&answer, &["--env MISSING: this variable is not set."]);
    let (code, answer) = autonoe(&project, Some(&model), &["--env", "A=1"]);
    assert_eq!(code, Some(2), "{answer}");
}

#[test]
fn a_report_opens_in_the_browser() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    autonoe(&project, Some(&model(&coding("A", "passed"))), &[]);
    let bin = project.home().join("bin");
    fs::create_dir_all(&bin).expect("made");
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    for (script, said) in
        [("cat \"$1\" > opened.html", "Opened "), ("exit 3", "No browser could be started. ")]
    {
        write_program(&bin.join(opener), script);
        let mut command = project.autonoe(None);
        command.args(["report", "--open"]).env("PATH", format!("{}:{PATH}", bin.display()));
        let output = command.output().expect("started");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(text.starts_with(said) && text.ends_with("/reports/run-1.html\n"), "{text}");
    }
    assert!(project.read("opened.html").contains("thing A"));
}
