//! The small commands: status, sessions, init, doctor, man, completions, version.

use serde_json::Value;

use super::support::{CliTestProject, builder, model};

fn text(project: &CliTestProject, args: &[&str]) -> (Option<i32>, String, String) {
    let output = project.autonoe(None).args(args).output().expect("started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn status_before_during_and_after() {
    let project = CliTestProject::new();
    let (code, out, _) = text(&project, &["status"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("No deliverables yet"), "{out}");
    let model = model(&builder());
    project.run(&model, &["run", "-n", "2"]);
    let (_, out, _) = text(&project, &["status"]);
    for line in [
        "[PASS]    A  thing A",
        "[PENDING] B  thing B",
        "1/3 deliverables passed",
        "Last run: run, max_iterations",
    ] {
        assert!(out.contains(line), "{line:?} is missing in:\n{out}");
    }
    let (_, out, _) = text(&project, &["status", "--json"]);
    let json: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&json["passed"], &json["total"]), (&1.into(), &3.into()));
    assert_eq!(json["last_run"]["report"]["outcome"], "max_iterations");
    assert_eq!(json["deliverables"][0]["status"], "passed");
    assert!(json["cost_usd"].as_f64().expect("known") > 0.0);
}

#[test]
fn sessions_are_listed_and_shown() {
    let (project, model) = (CliTestProject::new(), model(&builder()));
    let (_, out, _) = text(&project, &["sessions", "list"]);
    assert_eq!(out, "No sessions yet.\n");
    project.run(&model, &["run", "-n", "2"]);
    let (_, out, _) = text(&project, &["sessions", "list"]);
    assert!(out.contains("1.2") && out.contains("coding") && out.contains("completed"), "{out}");
    let (_, out, _) = text(&project, &["sessions", "show", "1.2"]);
    assert!(out.contains("echo built >> work-A.txt"), "{out}");
    let (_, out, _) = text(&project, &["sessions", "show", "1.2", "--json"]);
    assert!(out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{out}");
    let (code, _, err) = text(&project, &["sessions", "show", "9.9"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("no session 9.9"), "{err}");
    let (code, _, err) = text(&project, &["sessions", "show", "nonsense"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("like 3.2"), "{err}");
}

#[test]
fn init_creates_only_missing_files() {
    let project = CliTestProject::new();
    let (code, out, _) = text(&project, &["init"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("SPEC.md: already exists") && out.contains("agent.json: created"), "{out}");
    assert!(project.read("SPEC.md").contains("A, B and C"));
    let (_, out, _) = text(&project, &["doctor"]);
    assert!(
        out.contains("ok   SPEC.md") && out.contains("ok   .autonoe/agent.json: profiles base, node"),
        "{out}"
    );
}

#[test]
fn the_untouched_template_is_not_built() {
    let project = CliTestProject::empty();
    assert_eq!(text(&project, &["init"]).0, Some(0));
    let model = model(&builder());
    for command in ["run", "plan", "sync"] {
        let output = project.command(&model, &[command]).output().expect("started");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {err}");
        assert!(err.contains("SPEC.md is still the template of `autonoe init`"), "{command}: {err}");
    }
    assert!(model.requests().is_empty(), "nothing was spent");
    let (code, out, _) = text(&project, &["doctor"]);
    assert_eq!(code, Some(2));
    assert!(out.contains("BAD  SPEC.md: SPEC.md is still the template"), "{out}");
    project.write("SPEC.md", &project.read("SPEC.md").replace("For example:", "Build A, B and C."));
    project.run(&model, &["run"]).assert_ended("all_passed", 0);
}

#[test]
fn doctor_reports_missing_requirements() {
    let project = CliTestProject::new();
    let (code, out, _) = text(&project, &["doctor"]);
    assert_eq!(code, Some(2));
    assert!(out.contains("BAD  no agent is ready"), "{out}");
    let output = project
        .autonoe(None)
        .arg("doctor")
        .env("ANTHROPIC_API_KEY", "test-key-never-real")
        .output()
        .expect("started");
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert!(out.contains("ready to start") && !out.contains("never-real"), "{out}");
}

#[test]
fn version_man_and_completions() {
    let project = CliTestProject::new();
    let (code, out, _) = text(&project, &["--version"]);
    assert_eq!((code, out.as_str()), (Some(0), concat!("autonoe ", env!("CARGO_PKG_VERSION"), "\n")));
    let (code, out, _) = text(&project, &["--version", "--verbose"]);
    assert!(
        code == Some(0) && out.starts_with(concat!("autonoe ", env!("CARGO_PKG_VERSION"), "\ncommit: ")),
        "{out}"
    );
    assert!(out.contains("\ntarget: ") && out.contains("-linux-") && out.contains("\nfeatures: "), "{out}");
    let (code, _, err) = text(&project, &["--verbose"]);
    assert!(code == Some(2) && err.contains("--version"), "{err}");
    // Where the whole search path is below the project.
    let in_root = project.autonoe(None).arg("--version").current_dir("/").output().expect("started");
    assert!(in_root.status.success(), "{}", String::from_utf8_lossy(&in_root.stderr));
    let without_home = project.autonoe(None).arg("--version").env_clear().output().expect("started");
    assert!(without_home.status.success(), "{}", String::from_utf8_lossy(&without_home.stderr));
    assert!(text(&project, &["man"]).1.contains(".TH autonoe"));
    assert!(text(&project, &["man", "run"]).1.contains("max\\-cost"));
    assert_eq!(text(&project, &["man", "nonsense"]).0, Some(2));
    assert!(text(&project, &["man", "sessions", "show"]).1.contains("autonoe\\-sessions\\-show"));
    let (code, _, err) = text(&project, &["man", "sessions", "nonsense"]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("There is no command 'autonoe sessions nonsense'") && err.contains("replay"),
        "{err}"
    );
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, out, _) = text(&project, &["completions", shell]);
        assert!(code == Some(0) && out.contains("AUTONOE_COMPLETE"), "{shell}: {out}");
    }
    let (code, out, _) = text(&project, &["run", "--help"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("Exit codes:") && out.contains("--wait-for-quota"), "{out}");
}

#[test]
fn output_to_a_pipe_is_plain_lines() {
    let (project, model) = (CliTestProject::new(), model(&builder()));
    let mut command = project.autonoe(Some(&model));
    let output =
        command.args(["run", "--backend", "native", "--session-delay", "0s"]).output().expect("started");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(!out.contains('\u{1b}') && !out.contains('\r'), "no escapes into a pipe: {out:?}");
    for line in [
        "Starting coding agent session...",
        "Session 1 started (initializer, claude-opus-5)",
        "[PASS] thing A (A)",
        "Overall: 4 session(s), 3/3 deliverables passed, cost=",
        "All achievable deliverables passed.",
    ] {
        assert!(out.contains(line), "{line:?} is missing in:\n{out}");
    }
    let project = CliTestProject::new();
    let mut command = project.autonoe(Some(&model));
    let output = command
        .args(["run", "--backend", "native", "--quiet", "--session-delay", "0s"])
        .output()
        .expect("started");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "All achievable deliverables passed. 3 passed: 0 verified, 3 claimed.\n"
    );
}

#[test]
fn the_pages_of_all_commands_are_written() {
    let project = CliTestProject::empty();
    let (code, out, err) = text(&project, &["man", "--output-dir", "man/man1"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("Wrote ") && out.contains(" pages to man/man1"), "{out}");
    for page in ["autonoe.1", "autonoe-sessions.1", "autonoe-sessions-show.1", "autonoe-mcp-login.1"] {
        assert!(project.read(&format!("man/man1/{page}")).contains(".TH"), "{page}");
    }
    project.write("file", "");
    let (code, _, err) = text(&project, &["man", "--output-dir", "file"]);
    assert_ne!(code, Some(0));
    assert!(err.contains("file"), "{err}");
}

#[test]
fn a_typo_gets_the_nearest_command() {
    let project = CliTestProject::empty();
    for (args, tip) in [
        (&["rnu"][..], Some("similar subcommand exists: 'run'")),
        (&["statsu"], Some("'status'")),
        (&["sessions", "lsit"], Some("similar subcommand exists: 'list'")),
        (&["nonsense"], None),
    ] {
        let (code, _, err) = text(&project, args);
        assert_eq!(code, Some(2));
        match tip {
            Some(tip) => assert!(err.contains(tip), "{err}"),
            None => assert!(!err.contains("similar"), "{err}"),
        }
    }
}

/// What bash is offered for the last of these words.
fn completed(project: &CliTestProject, words: &[&str]) -> Vec<String> {
    let mut command = project.autonoe(None);
    command.env("AUTONOE_COMPLETE", "bash").env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_SPACE", "false");
    command.env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string()).env("_CLAP_COMPLETE_COMP_TYPE", "9");
    let output = command.arg("--").args(words).output().expect("started");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn completions_know_agents_and_ids() {
    let (project, model) = (CliTestProject::new(), model(&builder()));
    project.run(&model, &["run", "-n", "2"]);
    let config = project.home().join(".config/autonoe");
    std::fs::create_dir_all(&config).expect("made");
    std::fs::write(config.join("config.toml"), "[agents.mine]\ncommand = [\"x\"]\n").expect("written");
    assert!(text(&project, &["agent", "init", "fixer"]).0 == Some(0));
    assert_eq!(
        completed(&project, &["autonoe", "run", "--backend", ""]),
        ["auto", "claude", "codex", "gemini", "native", "mine"]
    );
    assert_eq!(completed(&project, &["autonoe", "run", "--backend", "c"]), ["claude", "codex"]);
    assert_eq!(completed(&project, &["autonoe", "sessions", "show", "1"]), ["1.2", "1.1"]);
    assert_eq!(completed(&project, &["autonoe", "agent", "run", "f"]), ["fixer"]);
    let ids = completed(&project, &["autonoe", "unblock", ""]);
    assert!(["A", "B", "C"].iter().all(|id| ids.iter().any(|found| found == id)), "{ids:?}");
    assert_eq!(completed(&project, &["autonoe", "doc"]), ["doctor"]);
    assert!(completed(&CliTestProject::empty(), &["autonoe", "sessions", "show", "1"]).is_empty());
}
