//! Invalid input: one clear sentence, the right exit code, nothing written.

use std::fs;
use std::process::{Output, Stdio};

use super::support::{CliTestProject, always, model, until};

fn run(project: &CliTestProject, args: &[&str]) -> Output {
    let mut command = project.autonoe(None);
    command.env("ANTHROPIC_API_KEY", "test-key-never-real").env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    command.args(args).output().expect("started")
}

#[track_caller]
fn assert_refused(output: &Output, wanted: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for part in wanted {
        assert!(stderr.contains(part), "{stderr:?} lacks {part:?}");
    }
    assert!(!stderr.contains("panicked"), "{stderr}");
    let errors = stderr.lines().filter(|line| line.starts_with("error:")).count();
    assert_eq!(errors, 1, "one clear sentence: {stderr}");
}

#[test]
fn wrong_options_name_the_value_and_the_valid_range() {
    let project = CliTestProject::new();
    for (args, wanted) in [
        (&["--max-iterations", "0"][..], "from 1 to"),
        (&["-n", "-1"], "from 1 to"),
        (&["-n", "abc"], "from 1 to"),
        (&["-n", "5abc"], "from 1 to"),
        (&["-n", "1.5"], "from 1 to"),
        (&["-n", ""], "from 1 to"),
        (&["-n", "99999999999"], "from 1 to"),
        (&["--max-retries", "-1"], "from 0 to"),
        (&["--max-retries", "x"], "from 0 to"),
        (&["--max-cost", "0"], "above 0"),
        (&["--max-cost", "-2"], "above 0"),
        (&["--max-cost", "NaN"], "above 0"),
        (&["--max-cost", "inf"], "above 0"),
        (&["--max-cost", "ten"], "above 0"),
        (&["--max-duration", "0"], "above 0"),
        (&["--max-duration", "-5m"], "not a duration"),
        (&["--max-duration", "NaN"], "not a duration"),
        (&["--max-duration", "soon"], "not a duration"),
        (&["--session-delay", "-1s"], "not a duration"),
        (&["--thinking", "1023"], "from 1024"),
        (&["--thinking", "lots"], "from 1024"),
        (&["--thinking=-1"], "from 1024"),
        (&["--model", ""], "--model"),
        (&["--backend", "nonsense"], "native"),
        (&["--quiet", "--debug"], "cannot be used with"),
        (&["--unknown"], "--unknown"),
        (&["extra"], "extra"),
    ] {
        for command in ["run", "sync"] {
            let output = run(&project, &[&[command], args].concat());
            assert_refused(&output, &[wanted]);
        }
    }
    assert!(!project.path(".autonoe").exists(), "nothing was written");
}

#[test]
fn seed_002_8_2_project_directory_not_provided_uses_the_current_one() {
    let project = CliTestProject::with_status(&[("A", "passed")]);
    let output = run(&project, &["run"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        String::from_utf8_lossy(&output.stdout)
            .contains(&project.root().canonicalize().expect("path").display().to_string())
    );
}

#[test]
fn seed_002_8_2_project_directory_absolute_or_relative_is_used() {
    let project = CliTestProject::with_status(&[("A", "passed")]);
    for directory in [project.root().display().to_string(), "../project".to_owned(), ".".to_owned()] {
        let output = run(&project, &["run", "--project-dir", &directory]);
        assert_eq!(output.status.code(), Some(0), "{directory}");
    }
}

#[test]
fn seed_002_8_2_project_directory_that_does_not_exist_exits_with_an_error() {
    let project = CliTestProject::new();
    assert_refused(&run(&project, &["run", "-p", "nowhere"]), &["does not exist: nowhere"]);
    project.write("file", "");
    assert_refused(&run(&project, &["run", "-p", "file"]), &["is not a directory"]);
}

#[test]
fn seed_002_8_2_without_a_command_help_is_shown() {
    let output = run(&CliTestProject::new(), &[]);
    assert_eq!(output.status.code(), Some(0));
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(help.contains("Usage: autonoe") && help.contains("Exit codes:"), "{help}");
}

#[test]
fn the_specification_must_be_a_non_empty_text_file() {
    for command in ["run", "sync"] {
        let project = CliTestProject::new();
        fs::remove_file(project.path("SPEC.md")).expect("removed");
        assert_refused(&run(&project, &[command]), &["SPEC.md not found", "autonoe init"]);
        project.write("SPEC.md", " \n\t\n");
        assert_refused(&run(&project, &[command]), &["SPEC.md is empty"]);
        fs::remove_file(project.path("SPEC.md")).expect("removed");
        fs::create_dir(project.path("SPEC.md")).expect("made");
        assert_refused(&run(&project, &[command]), &["SPEC.md", "it is a directory"]);
        fs::remove_dir(project.path("SPEC.md")).expect("removed");
        fs::write(project.path("SPEC.md"), [0xff, 0xfe, 0x00]).expect("written");
        assert_refused(&run(&project, &[command]), &["SPEC.md", "cannot be read", "line 1", "UTF-8"]);
    }
}

#[test]
fn malformed_configuration_names_field_line_and_choices() {
    let project = CliTestProject::new();
    project.write(".autonoe/agent.json", "{\n  \"profile\": \"perl\"\n}");
    assert_refused(&run(&project, &["run"]), &["agent.json", "profile", "perl", "`node`", "line 2"]);
    project.write(".autonoe/agent.json", "{ not json");
    assert_refused(&run(&project, &["run"]), &["agent.json", "line 1"]);
    project.write(".autonoe/agent.json", "{\"allowComands\": []}");
    assert_refused(&run(&project, &["run"]), &["allowComands", "allowCommands"]);
}

#[test]
fn an_invalid_permission_or_tool_is_reported_with_its_position() {
    let project = CliTestProject::new();
    for (text, wanted) in [
        (
            r#"{"permissions": {"allow": ["WebFetch(*)", "Read(../**)"]}}"#,
            &["agent.json", "permissions.allow[1]", "'Read(../**)'", "'..'"][..],
        ),
        (r#"{"permissions": {"allow": ["Bash(npm run *"]}}"#, &["permissions.allow[0]", "parentheses"]),
        (r#"{"permissions": {"allow": ["Read()"]}}"#, &["permissions.allow[0]", "empty", "Read(./docs/**)"]),
        (r#"{"permissions": {"allow": ["Shell(ls)"]}}"#, &["'Shell' is not a tool", "Bash, WebFetch"]),
        (
            r#"{"allowedTools": ["Task", "Bash(ls)"]}"#,
            &["allowedTools[1]", "'Bash(ls)'", "permissions.allow"],
        ),
        (r#"{"allowedTools": ["mcp__*"]}"#, &["allowedTools[0]", "mcp__server__*"]),
    ] {
        project.write(".autonoe/agent.json", text);
        for command in ["run", "sync"] {
            assert_refused(&run(&project, &[command]), wanted);
        }
    }
    assert!(!project.path(".autonoe/status.json").exists(), "nothing was started");
}

#[test]
fn an_empty_override_is_an_error() {
    let project = CliTestProject::new();
    for name in ["initializer", "coding", "sync", "verify"] {
        let file = format!(".autonoe/{name}.md");
        project.write(&file, "  \n");
        assert_refused(&run(&project, &["run"]), &[&format!("{name}.md"), "is empty"]);
        fs::remove_file(project.path(&file)).expect("removed");
    }
}

#[test]
fn an_invalid_status_file_stops_the_run_and_is_kept() {
    let project = CliTestProject::new();
    for (text, wanted) in [
        ("", "line 1"),
        ("{\n \"createdAt\": ", "line 2"),
        ("{\"version\": 7}", "newer version"),
        (
            "{\"createdAt\":\"2026-01-01\",\"updatedAt\":\"2026-01-01\",\"deliverables\":[{\"id\":1}]}",
            "deliverables[0].id",
        ),
    ] {
        project.write(".autonoe/status.json", text);
        for command in ["run", "sync", "status"] {
            assert_refused(&run(&project, &[command]), &["status.json", wanted]);
            assert_eq!(project.read(".autonoe/status.json"), text, "nothing was changed");
        }
    }
}

#[test]
fn a_status_file_damaged_during_a_session_stops_the_run_and_is_kept() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(
        "[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = \
         'echo ready > ready.txt; while [ ! -f go.txt ]; do sleep 0.05; done' } }]\n\
         [[conversation.turn]]\ncall = [{ tool = 'mcp__autonoe__set_status', input = { deliverableId = 'A', status = 'passed' } }]\n\
         [[conversation.turn]]\nexpect = 'cannot be read'\ntext = 'done'",
    ));
    let mut command = project.command(&model, &["run"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("the session runs", || project.agents_path("ready.txt").exists());
    project.write(".autonoe/status.json", "garbage\n");
    fs::write(project.agents_path("go.txt"), "").expect("written");
    let run = super::support::RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("failed", 2);
    assert_eq!(run.outcome()["fault"]["code"], "status_file");
    assert_eq!(
        project.read(".autonoe/status.json"),
        "garbage\n",
        "it is never overwritten as if it were empty"
    );
    super::support::assert_script_followed(&model);
}

#[test]
fn a_missing_key_says_what_to_do() {
    let project = CliTestProject::new();
    let output = project.autonoe(None).args(["run", "--backend", "native"]).output().expect("started");
    assert_refused(&output, &["ANTHROPIC_API_KEY is not set", "autonoe demo"]);
    assert_eq!(output.stdout, b"", "nothing was started");
}

#[test]
fn without_any_agent_the_options_are_listed() {
    let project = CliTestProject::new();
    let output = project.autonoe(None).env("PATH", "/usr/bin:/bin").arg("run").output().expect("started");
    assert_refused(
        &output,
        &["No agent is ready", "claude is not installed", "You can install", "autonoe demo"],
    );
    assert_eq!(output.stdout, b"", "nothing was started");
}

#[test]
fn without_home_the_error_names_the_variable_to_set() {
    let project = CliTestProject::new();
    let output = project.autonoe(None).env_remove("HOME").arg("status").output().expect("started");
    assert_refused(&output, &["XDG_STATE_HOME"]);
}

#[test]
fn an_unwritable_project_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        // Root can write everywhere; a file in place of the directory has the same effect.
        let project = CliTestProject::new();
        project.write(".autonoe", "a file");
        let output = run(&project, &["run"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        return;
    }
    let project = CliTestProject::new();
    fs::set_permissions(project.root(), fs::Permissions::from_mode(0o555)).expect("changed");
    let output = run(&project, &["run"]);
    fs::set_permissions(project.root(), fs::Permissions::from_mode(0o755)).expect("changed back");
    assert_refused(&output, &["not writable"]);
}

#[test]
fn an_unreachable_service_ends_the_run_with_an_error() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let output = run(&project, &["run", "--max-outage", "1ms", "--session-delay", "0s"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{stderr}");
    assert!(stderr.contains("cannot be reached") && stderr.contains("refused"), "{stderr}");
}

#[test]
fn a_damaged_journal_is_a_system_fault() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let output = run(&project, &["run", "--max-outage", "1ms", "--session-delay", "0s"]);
    assert_eq!(output.status.code(), Some(6));
    let journal = project.journal();
    fs::write(&journal, vec![b'x'; 8192]).expect("damaged");
    let output = run(&project, &["run"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("journal.db"), "{stderr}");
    assert_eq!(fs::read(&journal).expect("read").len(), 8192, "it is kept for inspection");
}

#[test]
fn seed_002_9_3_and_5_5_disabling_the_sandbox_is_allowed_with_a_warning() {
    let project = CliTestProject::with_status(&[("A", "passed")]);
    let warned = |args: &[&str], variable: Option<&str>| {
        let mut command = project.autonoe(None);
        if let Some(value) = variable {
            command.env("AUTONOE_NO_SANDBOX", value);
        }
        let output = command.args(args).output().expect("started");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(warned(&["run", "--no-sandbox"], None).contains("disabled by --no-sandbox"));
    assert!(warned(&["run"], Some("1")).contains("disabled by AUTONOE_NO_SANDBOX"));
    assert!(
        warned(&["run", "--no-sandbox"], Some("1")).contains("disabled by --no-sandbox"),
        "the flag takes precedence"
    );
    for other in ["0", "true", "yes"] {
        assert!(!warned(&["run"], Some(other)).contains("disabled by"), "{other} means nothing");
    }
    assert!(warned(&["run", "--allow-destructive"], None).contains("destructive commands"));
}
