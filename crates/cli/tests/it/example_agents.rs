//! The shipped examples of declarative agents, on the native and on vendors' agents.

use std::process::Command;

use autonoe_scripted::ScriptedServer;
use serde_json::{Value, json};

use super::claude::claude;
use super::codex;
use super::declarative_agents::{agent, conversation, path, says, text};
use super::support::{CliTestProject, RunOutput, assert_script_followed, model};
use super::vendors::TestVendor;

enum ExampleBackend {
    Native,
    Claude(TestVendor),
    Codex(TestVendor),
}

impl ExampleBackend {
    fn command(&self, project: &CliTestProject, model: &ScriptedServer, args: &[&str]) -> Command {
        let with = |vendor: &TestVendor, name| {
            vendor.command(project, model, &[args, &["--backend", name]].concat())
        };
        match self {
            Self::Native => project.command(model, args),
            Self::Claude(vendor) => with(vendor, "claude"),
            Self::Codex(vendor) => with(vendor, "codex"),
        }
    }

    fn run(&self, project: &CliTestProject, model: &ScriptedServer, args: &[&str]) -> RunOutput {
        RunOutput::from(self.command(project, model, args).output().expect("started"))
    }

    fn answers(&self, answer: &Value) -> String {
        match self {
            Self::Native | Self::Codex(_) => format!("[[conversation.turn]]\ntext = '''{answer}'''\n"),
            Self::Claude(_) => {
                let input = inline(answer);
                format!("[[conversation.turn]]\ncall = [{{ tool = 'StructuredOutput', input = {input} }}]\n")
            }
        }
    }

    fn writes(&self, path: &str, content: &str) -> String {
        let call = match self {
            Self::Native | Self::Claude(_) => {
                format!("tool = 'Write', input = {{ file_path = '{path}', content = '{content}' }}")
            }
            Self::Codex(_) => {
                format!(
                    "tool = 'exec_command', input = {{ cmd = \"mkdir -p docs && echo {content} > {path}\" }}"
                )
            }
        };
        format!("[[conversation.turn]]\ncall = [{{ {call} }}]\n")
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name} = {}", inline(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn with_example(example: &str) -> CliTestProject {
    let project = CliTestProject::empty();
    project.git(&["init", "-q", "-b", "main"]);
    let output =
        project.autonoe(None).args(["agent", "init", example, "--from", example]).output().expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    project
}

fn the_issue_fixer_iterates_until_the_tests_pass(backend: &ExampleBackend) {
    let project = with_example("issue-fixer");
    project.write("run-tests.sh", "grep -q fixed code.txt || { echo 'code.txt is still broken'; exit 1; }\n");
    project.write("code.txt", "broken\n");
    let understood = json!({ "cause": "code.txt is broken", "plan": "fix it" });
    let script = [
        conversation("'Find the cause of this issue'", &[backend.answers(&understood)]),
        conversation(
            "['Fix the cause', 'The step did not pass', 'code.txt is still broken']",
            &[backend.writes("code.txt", "fixed"), says("Now it works.")],
        ),
        conversation(
            "['Fix the cause', 'It is broken', 'code.txt is broken', 'fix it']",
            &[backend.writes("code.txt", "changed"), says("I am sure that it works.")],
        ),
    ];
    let model = model(&script.concat());
    let run = backend.run(&project, &model, &["agent", "run", "issue-fixer", "--arg", "issue=It is broken"]);
    run.assert_ended("condition_met", 0);
    assert_eq!(path(&run), ["understand", "fix", "fix"]);
    assert_eq!(project.read("code.txt").trim(), "fixed");
    assert_script_followed(&model);
}

/// No file, no test and no commit: what the agent writes is all there is.
fn the_issue_fixer_writes_the_first_test(project: &CliTestProject) {
    let understood = json!({ "cause": "There is no greeting.", "plan": "Write one, with a test." });
    let commit = "[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = 'git add greeting.txt run-tests.sh && git commit -qm Greet', description = 'Commit' } }]\n";
    let native = ExampleBackend::Native;
    let script = [
        conversation("'Find the cause of this issue'", &[native.answers(&understood)]),
        conversation(
            "['Fix the cause', 'The step did not pass', 'run-tests.sh']",
            &[
                native.writes("run-tests.sh", "grep -q hello greeting.txt"),
                native.writes("greeting.txt", "hello"),
                commit.to_owned(),
                says("There is a test now."),
            ],
        ),
        conversation("['Fix the cause', 'sh ./run-tests.sh', 'no tests yet']", &[says("Nothing to do.")]),
    ];
    let model = model(&script.concat());
    let run = project.run(&model, &["agent", "run", "issue-fixer", "--arg", "issue=Greet me"]);
    run.assert_ended("condition_met", 0);
    assert_eq!(path(&run), ["understand", "fix", "fix"]);
    assert_eq!(project.read("greeting.txt").trim(), "hello");
    assert!(project.git(&["log", "--oneline"]).contains("Greet"));
    assert_script_followed(&model);
}

/// The value is a command of the user's, whole and as it is; it replaces no part of another command.
#[test]
fn the_test_command_of_the_issue_fixer_is_a_parameter() {
    let project = with_example("issue-fixer");
    project.write("code.txt", "broken\n");
    let understood = json!({ "cause": "It is broken.", "plan": "Fix it." });
    let tests = "tests=grep -q \"it's fixed\" code.txt && echo $((40 + 2))";
    let script = [
        conversation("'Find the cause of this issue'", &[ExampleBackend::Native.answers(&understood)]),
        conversation(
            "['Fix the cause', 'grep -q', 'code.txt && echo']",
            &["[[conversation.turn]]\ncall = [{ tool = 'Write', input = { file_path = 'code.txt', content = \"it's fixed\" } }]\n"
                .to_owned(), says("Fixed.")],
        ),
    ];
    let model = model(&script.concat());
    let args = ["agent", "run", "issue-fixer", "--arg", "issue=It is broken", "--arg", tests];
    let rehearsed = text(&agent(&project, &[&args[1..], &["--dry-run"]].concat()));
    assert!(rehearsed.contains("[then runs tests: grep -q \"it's fixed\" code.txt && echo"), "{rehearsed}");
    let run = project.run(&model, &args);
    run.assert_ended("condition_met", 0);
    assert_eq!(path(&run), ["understand", "fix"]);
    assert_script_followed(&model);

    let blank = agent(&project, &["run", "issue-fixer", "--arg", "issue=x", "--arg", "tests= "]);
    let printed = text(&blank);
    assert_eq!(blank.status.code(), Some(2), "{printed}");
    assert!(printed.contains("`tests` is blank") && printed.contains("--arg tests='COMMAND'"), "{printed}");
}

#[test]
fn the_issue_fixer_works_in_an_empty_repository() {
    the_issue_fixer_writes_the_first_test(&with_example("issue-fixer"));
}

#[test]
fn the_issue_fixer_works_in_a_workspace_of_an_empty_repository() {
    the_issue_fixer_writes_the_first_test(&with_example("issue-fixer").in_workspace());
}

#[test]
fn the_native_agent_fixes_an_issue() {
    the_issue_fixer_iterates_until_the_tests_pass(&ExampleBackend::Native);
}

#[test]
fn claude_fixes_an_issue() {
    let Some(vendor) = claude() else { return };
    the_issue_fixer_iterates_until_the_tests_pass(&ExampleBackend::Claude(vendor));
}

#[test]
fn codex_fixes_an_issue() {
    let Some(vendor) = codex::program() else { return };
    the_issue_fixer_iterates_until_the_tests_pass(&ExampleBackend::Codex(vendor));
}

fn the_reviewer_reads_and_gives_a_verdict(backend: &ExampleBackend) {
    let project = with_example("reviewer");
    let verdict = json!({ "verdict": "request_changes", "findings": [{ "file": "a.txt", "line": 1, "finding": "it lies" }] });
    let turns = [backend.writes("a.txt", "x"), backend.answers(&verdict)];
    let model = model(&conversation("'with an eye to security above all'", &turns));
    let run = backend.run(&project, &model, &["agent", "run", "reviewer", "--arg", "focus=security"]);
    run.assert_ended("condition_met", 0);
    assert!(!project.path("a.txt").exists(), "it changes nothing");
    assert_eq!(run.sessions(), ["inspection"]);
    let answers: Vec<_> = run.of_type("answer").collect();
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["value"], verdict);
    assert_script_followed(&model);
}

#[test]
fn the_native_agent_reviews() {
    the_reviewer_reads_and_gives_a_verdict(&ExampleBackend::Native);
}

#[test]
fn claude_reviews() {
    let Some(vendor) = claude() else { return };
    the_reviewer_reads_and_gives_a_verdict(&ExampleBackend::Claude(vendor));
}

#[test]
fn a_verdict_is_printed_as_text() {
    let project = with_example("reviewer");
    let verdict_with = |key: &str| json!({ "verdict": "approve", "findings": [{ "file": "a.txt", "line": 1, "finding": format!("it says {key}") }] });
    let turn = ExampleBackend::Native.answers(&verdict_with("test-key-never-real"));
    let verdict = verdict_with("[redacted]");
    let model = model(&conversation("'with an eye to correctness'", &[turn]));
    let output = project
        .autonoe(Some(&model))
        .args(["agent", "run", "reviewer", "--backend", "native", "--quiet"])
        .output()
        .expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let start = text.find('{').expect("JSON");
    assert_eq!(serde_json::from_str::<Value>(&text[start..]).expect("JSON"), verdict, "{text}");
}

fn the_docs_writer_runs_parts_checks_and_escalation(backend: &ExampleBackend) {
    let project = with_example("docs-writer");
    project.write("README.md", "x\n");
    project.git(&["add", "README.md"]);
    project.git(&["commit", "-qm", "first"]);
    let commit = match backend {
        ExampleBackend::Native | ExampleBackend::Claude(_) => {
            "[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = 'git add docs && git commit -qm docs', description = 'Commit' } }]\n"
        }
        ExampleBackend::Codex(_) => {
            "[[conversation.turn]]\ncall = [{ tool = 'exec_command', input = { cmd = 'git add docs && git commit -qm docs' } }]\n"
        }
    };
    let opinion = |passed: bool| backend.answers(&json!({ "passed": passed, "reason": "It was read." }));
    let script = [
        conversation(
            "'make an outline of a page about gates'",
            &[says("OUTLINE of gates"), backend.writes("docs/guide.md", "gates"), says("It is drafted.")],
        ),
        conversation(
            "['make it shorter and clearer', 'Previous iterations', 'It is drafted']",
            &[says("It is polished.")],
        ),
        format!(
            "{}plays = 2\n{}",
            "[[conversation]]\nname = 'doubts'\nwhen = ['Has it passed', 'It is polished']\n",
            opinion(false)
        ),
        conversation("'Has it passed'", &[opinion(true)]),
        conversation("'was not accepted'", &[says("I took out what I could not show.")]),
        conversation("'Commit docs/guide.md'", &[commit.to_owned(), says("PAGE_COMMITTED")]),
    ];
    let model = model(&script.concat());
    let run = backend.run(&project, &model, &["agent", "run", "docs-writer", "--arg", "topic=gates"]);
    run.assert_ended("condition_met", 0);
    let parts = ["outline", "draft", "polish"];
    let expected = [&parts[..], &parts, &["simplify"], &parts, &["write", "file"]].concat();
    assert_eq!(path(&run), expected);
    assert_eq!(run.of_type("escalated").count(), 1);
    let report = text(&project.autonoe(None).arg("report").output().expect("started"));
    for part in ["`autonoe agent run docs-writer`", "## Steps", "escalated", "simplify", "docs/guide.md"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(project.git(&["log", "--oneline"]).contains("docs"));
    assert_script_followed(&model);
}

#[test]
fn the_native_agent_writes_documentation() {
    the_docs_writer_runs_parts_checks_and_escalation(&ExampleBackend::Native);
}

#[test]
fn claude_writes_documentation() {
    let Some(vendor) = claude() else { return };
    the_docs_writer_runs_parts_checks_and_escalation(&ExampleBackend::Claude(vendor));
}
