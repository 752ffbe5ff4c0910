//! Scenes in which something is refused: by our gates, by the checks, by the agent's service, or because our tools are missing.

use std::fs;

use super::backend::{MatrixBackend, MatrixLayer, Pair};
use crate::checks;
use crate::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, coding, model,
};

const PASS: &str =
    r#"{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }"#;

fn denied(run: &RunOutput) -> usize {
    run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count()
}

/// A write to `.autonoe`, a dangerous command, a denied command in a chain, writes outside the project; then a permitted write.
/// The model gets each reason.
pub fn gates(pair: &Pair) {
    let bash = |command: &str| format!(r#"{{ tool = "Bash", input = {{ command = "{command}" }} }}"#);
    let patch =
        r#"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ../outside.txt\n+x\n*** End Patch\nEOF\n"#;
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let state = if pair.asks_first() { ".autonoe/status.json" } else { ".autonoe/other.json" };
    // Gemini refuses to leave its workspace by itself, and only Codex can patch from a command.
    let (outside, attempts) = match pair.backend {
        MatrixBackend::Native | MatrixBackend::Claude | MatrixBackend::CodexAcp => ("", 4),
        MatrixBackend::Codex => ("The rules of this project do not allow", 5),
        MatrixBackend::Gemini => ("Path not in workspace", 3),
    };
    let mut calls = vec![
        (pair.write(state, "{}"), "Direct writes to .autonoe/"),
        (bash("rm -rf ~"), "'rm' is not allowed"),
        (bash("ls && wget http://127.0.0.1:1/"), "'wget' is not in the list"),
        (pair.write("../outside.txt", "x"), outside),
    ];
    if pair.backend == MatrixBackend::Codex {
        calls.push((bash(patch), outside));
    }
    if pair.asks_first() {
        calls.push((pair.write("inside.txt", "x"), ""));
    }
    calls.push((PASS.to_owned(), ""));
    let mut script = String::new();
    let mut expected = "";
    for (call, reason) in &calls {
        // The reason for a cut-off turn is in the next prompt.
        let expect = if pair.asks_first() { format!("expect = \"{expected}\"\n") } else { String::new() };
        script.push_str(&format!("[[conversation.turn]]\n{expect}call = [{call}]\n"));
        expected = reason;
    }
    script.push_str("[[conversation.turn]]\ntext = \"done\"\n");
    let model = model(&pair.with_own_tool_names(&always(&script)));
    let run = pair.run(&project, &model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions().len(), 1, "the session continues");
    assert_eq!(denied(&run), attempts, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert_eq!(run.stderr.matches("[DENIED] ").count(), attempts, "{}", run.stderr);
    let given = run.of_type("tool_result").filter(|event| event["denied_reason"].is_string()).count();
    assert_eq!(given, attempts, "the gate's own reasons are recorded");
    assert!(!project.path("../outside.txt").exists());
    if pair.asks_first() {
        assert_eq!(project.read("inside.txt").trim_end(), "x");
        assert_script_followed(&model);
    } else {
        let requests: Vec<String> =
            model.requests().iter().map(|logged| logged.request.to_string()).collect();
        for reason in [
            "autonoe's rules, not a person, refused",
            "Direct writes to .autonoe/",
            "'wget' is not in the list",
        ] {
            assert!(requests.iter().any(|request| request.contains(reason)), "{reason}");
        }
    }
}

pub fn sync_changes_nothing(pair: &Pair) {
    let project = CliTestProject::with_status(&[("A", "passed")]).in_workspace();
    // What commands write there is thrown away, where the layer holds the rest.
    let is_contained = pair.layer == MatrixLayer::Bubblewrap;
    let [file, command] = match pair.asks_first() {
        true if is_contained => ["This phase may", ""],
        true => ["This phase may", "Only .autonoe-note.md may be written"],
        false => [""; 2],
    };
    let script = format!(
        "[[conversation.turn]]\ncall = [{}]\n[[conversation.turn]]\nexpect = \"{file}\"\n\
         call = [{{ tool = \"Bash\", input = {{ command = \"echo x > other.txt\" }} }}]\n\
         [[conversation.turn]]\nexpect = \"{command}\"\ntext = \"done\"\n",
        pair.write("src.txt", "x")
    );
    let model = model(&pair.with_own_tool_names(&always(&script)));
    let run = pair.run(&project, &model, &["sync", "-n", "1"]);
    let expected = if is_contained { 1 } else { 2 };
    assert_eq!(denied(&run), expected, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert!(!project.path("src.txt").exists() && !project.path("other.txt").exists());
    assert_script_followed(&model);
}

/// A claim before the commit is refused; after it, the deliverable is verified.
pub fn false_claim(pair: &Pair) {
    let project = checks::project().in_repository();
    let model = model(&pair.with_own_tool_names(&checks::too_early()));
    let run = pair.run(&project, &model, &["run", "-n", "2"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.outcome()["deliverables_verified"], 1);
    let claims = run.of_type("checked").filter(|event| event["purpose"] == "claim");
    let verdicts: Vec<bool> = claims.filter_map(|event| event["passed"].as_bool()).collect();
    assert_eq!(verdicts, [false, false, true, true]);
    assert_script_followed(&model);
}

pub fn quota(pair: &Pair) {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&pair.out_of_quota());
    let run = RunOutput::from(subscribed(pair, &project, &model, &["run"]).output().expect("started"));
    run.assert_ended("quota_exceeded", 5);
    assert_eq!(run.outcome()["resets_at"].is_string(), pair.knows_reset(), "{}", run.outcome());
    if pair.backend == MatrixBackend::Claude {
        assert_eq!(run.outcome()["resets_at"], "2100-01-01T00:00:00Z");
    }
    if pair.backend == MatrixBackend::Codex {
        assert_eq!(model.requests().len(), 1, "it is not retried");
    }
}

pub fn failover(pair: &Pair) {
    let (spent, working) = (model(&pair.out_of_quota()), model(&coding("A", "passed")));
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let mut command = subscribed(pair, &project, &spent, &["run", "--fallback", "native:other/any"]);
    configure(&project, &format!("[providers.other]\nbase_url = '{}'\n", working.base_url()));
    let run = RunOutput::from(command.output().expect("started"));
    run.assert_ended("all_passed", 0);
    let backends: Vec<_> = run.of_type("session_started").map(|event| event["backend"].clone()).collect();
    assert_eq!(backends, [pair.name(), "native"], "{:#?}", run.of_type("session_ended").collect::<Vec<_>>());
    let changes: Vec<_> = run.of_type("backend_changed").collect();
    assert_eq!(changes.len(), 1);
    assert_eq!((&changes[0]["from"], &changes[0]["to"]), (&pair.name().into(), &"native".into()));
    assert_eq!(changes[0]["reason"], "quota_exceeded");
    assert!(run.stderr.contains("switching to native"), "{}", run.stderr);
    assert_script_followed(&working);
}

/// With the login of a subscriber, where that decides what a used-up quota looks like.
fn subscribed(
    pair: &Pair,
    project: &CliTestProject,
    model: &autonoe_scripted::ScriptedServer,
    args: &[&str],
) -> std::process::Command {
    let mut command = pair.command(project, model, args);
    if pair.backend == MatrixBackend::Claude {
        command.env_remove("ANTHROPIC_API_KEY").env("CLAUDE_CODE_OAUTH_TOKEN", "test-token-never-real");
    }
    command
}

/// Adds to the user's config.toml.
fn configure(project: &CliTestProject, text: &str) {
    let config = "../home/.config/autonoe/config.toml";
    let before = fs::read_to_string(project.path(config)).unwrap_or_default();
    project.write(config, &format!("{before}{text}"));
}

pub fn rejected_key(pair: &Pair) {
    let (fault, hint) = match pair.backend {
        MatrixBackend::Native | MatrixBackend::Claude => {
            ("{ kind = 'status', status = 401, message = 'invalid x-api-key', times = 99 }", "/login")
        }
        MatrixBackend::Codex | MatrixBackend::CodexAcp => {
            ("{ kind = 'invalid_key', times = 99 }", "codex login")
        }
        MatrixBackend::Gemini => ("{ kind = 'status', status = 401, times = 99 }", "GEMINI_API_KEY"),
    };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let script = format!("[[conversation.turn]]\nfault = {fault}\n[[conversation.turn]]\ntext = 'never'");
    let run = pair.run(&project, &model(&always(&script)), &["run"]);
    run.assert_ended("failed", 2);
    assert_eq!(run.outcome()["fault"]["code"], "not_logged_in");
    assert!(run.stderr.contains(hint), "{}", run.stderr);
}

/// An agent that starts without our tools is a fault, before the first model request if possible.
pub fn without_tools(pair: &Pair) {
    let (script, requests) = match pair.backend {
        MatrixBackend::Native => return,
        MatrixBackend::Claude => (
            r#"echo '{"mcpServers":{}}' > "$CLAUDE_CONFIG_DIR/autonoe-servers.json"
               sed -u 's/"sdkMcpServers":\["autonoe"\]/"sdkMcpServers":[]/' | REAL "$@""#,
            1,
        ),
        MatrixBackend::Codex => {
            (r#"sed -i 's/__mcp/__nobody/' "$CODEX_HOME/config.toml"; exec REAL "$@""#, 0)
        }
        MatrixBackend::Gemini => (r#"sed -u 's/"__mcp"/"__nobody"/' | REAL "$@""#, 0),
        MatrixBackend::CodexAcp => (r#"sed -u 's/"__mcp"/"__nobody"/' | REAL "$@""#, 1),
    };
    let Some(vendor) = &pair.vendor else { return };
    let project = CliTestProject::new();
    vendor.replace(&project, script);
    let model = model(&always("[[conversation.turn]]\ntext = 'I have nothing to work with.'"));
    let mut command = pair.command(&project, &model, &["run", "--max-retries", "0"]);
    let config = project.home().join(".config/autonoe/config.toml");
    fs::create_dir_all(config.parent().expect("parent")).expect("directory");
    let readable = format!("read = ['{}']", vendor.packages().display());
    let written = fs::read_to_string(&config).unwrap_or_else(|_| "[sandbox]\n".to_owned());
    fs::write(&config, written.replace("[sandbox]", &format!("[sandbox]\n{readable}"))).expect("written");
    let run = RunOutput::from(command.output().expect("started"));
    run.assert_ended("max_retries_exceeded", 6);
    let fault = &run.outcome()["fault"];
    assert_eq!(fault["code"], "tools_missing", "{fault}");
    let message = fault["message"].as_str().expect("a message");
    assert!(message.contains("no deliverable tools") && message.contains("`autonoe`"), "{message}");
    assert_eq!(model.requests().len(), requests, "{message}");
    assert_no_processes_left(&project);
}
