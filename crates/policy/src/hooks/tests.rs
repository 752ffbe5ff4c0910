use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::gate::{Decision, Gate, GateContext, ToolCall};
use autonoe_core::hook_runner::{HookEnd, HookRun, HookRunner};
use autonoe_files::PathMapping;
use serde_json::{Value, json};

use super::HookGate;
use crate::approved_file::ApprovedFile;
use crate::hook_rule::{HookMatcher, HookRule};
use crate::policy_options::PolicyOptions;
use autonoe_core::mode::Mode;

/// Answers commands that are written as `EXIT:STDOUT:STDERR`.
#[derive(Default)]
struct FakeRunner {
    inputs: Mutex<Vec<String>>,
}

#[async_trait]
impl HookRunner for FakeRunner {
    async fn run(&self, command: &str, input: &str, _: Duration) -> HookRun {
        self.inputs.lock().expect("lock").push(input.to_owned());
        let mut parts = command.splitn(3, '\u{1}').map(str::to_owned);
        let end = match parts.next().expect("an end").as_str() {
            "timeout" => HookEnd::TimedOut,
            "flood" => HookEnd::TooMuchOutput { limit: 10 },
            "missing" => HookEnd::NotRun { why: "no room".into() },
            code => HookEnd::Exit(code.parse().expect("a code")),
        };
        HookRun { end, stdout: parts.next().unwrap_or_default(), stderr: parts.next().unwrap_or_default() }
    }
}

fn gate(hooks: &[(&str, &str)]) -> HookGate {
    gate_of(hooks, PolicyOptions::new(Mode::Run, "/project"))
}

fn gate_of(hooks: &[(&str, &str)], mut options: PolicyOptions) -> HookGate {
    let rule = |(matcher, command): &(&str, &str)| HookRule {
        matcher: HookMatcher::parse(matcher).expect("valid"),
        command: (*command).to_owned(),
        time_limit: Duration::from_secs(10),
    };
    options.hooks = hooks.iter().map(rule).collect();
    HookGate::new(&options, "run-1-session-2".to_owned()).expect("hooks")
}

async fn check(hooks: &[(&str, &str)], tool: &str) -> (Decision, Vec<Value>) {
    let runner = FakeRunner::default();
    let call = ToolCall { id: "call-1".into(), name: tool.into(), input: json!({ "file_path": "a" }) };
    let context = GateContext { hook_runner: Some(&runner), ..GateContext::default() };
    let decision = gate(hooks).check_in(&call, context).await;
    let inputs = runner.inputs.into_inner().expect("lock");
    (decision, inputs.iter().map(|input| serde_json::from_str(input).expect("JSON")).collect())
}

/// The reason why a hook with this result denies a call; `None` if it does not.
async fn denial(end: &str, stdout: &str, stderr: &str) -> Option<String> {
    match check(&[("*", &format!("{end}\u{1}{stdout}\u{1}{stderr}"))], "Write").await.0 {
        Decision::Deny(reason) => Some(reason),
        Decision::Abstain => None,
        Decision::Allow => panic!("a hook never allows"),
    }
}

#[tokio::test]
async fn a_hook_reads_the_call() {
    let (decision, inputs) = check(&[("Write", "0")], "Write").await;
    assert_eq!(decision, Decision::Abstain);
    let expected = json!({
        "session_id": "run-1-session-2", "cwd": "/project", "hook_event_name": "PreToolUse",
        "tool_name": "Write", "tool_input": { "file_path": "a" }, "tool_use_id": "call-1",
    });
    assert_eq!(inputs, [expected]);
}

#[tokio::test]
async fn all_matching_hooks_run_and_one_objection_is_enough() {
    let hooks = [("Write", "0"), ("Bash|Write", "2\u{1}\u{1}no"), ("Edit", "2"), ("*", "0")];
    let (decision, inputs) = check(&hooks, "Write").await;
    assert!(matches!(decision, Decision::Deny(reason) if reason.ends_with("denied the call: no")));
    assert_eq!(inputs.len(), 3);
    let (decision, inputs) = check(&[("Edit", "2")], "Write").await;
    assert_eq!((decision, inputs.len()), (Decision::Abstain, 0));
}

#[tokio::test]
async fn what_a_hook_prints_decides() {
    for stdout in [
        "",
        " \n",
        "{}",
        r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}"#,
        r#"{"decision": "approve", "reason": "fine"}"#,
        r#"{"continue": true, "suppressOutput": true, "systemMessage": "seen"}"#,
        r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "x"}}"#,
    ] {
        assert_eq!(denial("0", stdout, "a note").await, None, "{stdout}");
    }
    for (stdout, part) in [
        (
            r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                "permissionDecisionReason": "not here"}}"#,
            "denied the call: not here",
        ),
        (r#"{"hookSpecificOutput": {"permissionDecision": "deny"}}"#, "it gave no reason"),
        (
            r#"{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}}"#,
            "nobody is there to ask, so the call is denied: sure?",
        ),
        (r#"{"decision": "block", "reason": "old"}"#, "denied the call: old"),
        (r#"{"continue": false, "stopReason": "enough"}"#, "denied the call: enough"),
        (r#"{"continue": false, "decision": "approve", "reason": "both"}"#, "denied the call: both"),
        (
            r#"{"decision": "block", "hookSpecificOutput": {"permissionDecision": "allow"}}"#,
            "denied the call: it gave no reason",
        ),
        (r#"{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {}}}"#, "updatedInput"),
        (r#"{"hookSpecificOutput": {"permissionDecision": "defer"}}"#, "a failed hook denies the call"),
        (r#"{"hookSpecificOutput": {"hookEventName": "Stop"}}"#, "a failed hook denies the call"),
        (r#"{"decision": true}"#, "a failed hook denies the call"),
        ("{\"decision\": \"app", "not the JSON of a hook"),
        ("ok", "not the JSON of a hook"),
        ("[]", "not the JSON of a hook"),
        ("{} {}", "not the JSON of a hook"),
    ] {
        let reason = denial("0", stdout, "").await.expect(stdout);
        assert!(reason.contains(part), "{reason}");
    }
}

#[tokio::test]
async fn a_hook_that_fails_denies() {
    for (end, stdout, stderr, part) in [
        ("2", "", "because", "denied the call: because"),
        ("2", r#"{"decision": "approve"}"#, "", "denied the call: it gave no reason"),
        ("1", r#"{"decision": "approve"}"#, "oops\n", "exited with code 1 (oops)"),
        ("127", "", "", "exited with code 127."),
        ("137", "", "", "exited with code 137."),
        ("timeout", "", "", "did not finish within 10s"),
        ("flood", "{}", "", "more than 10 bytes"),
        ("missing", "", "", "could not be run: no room"),
    ] {
        let reason = denial(end, stdout, stderr).await.expect(end);
        assert!(reason.contains(part), "{reason}");
    }
    let long = denial("2", "", &"x".repeat(100_000)).await.expect("denied");
    assert!(long.len() < 3_000, "{}", long.len());
}

#[tokio::test]
async fn without_a_room_a_hook_denies() {
    let call = ToolCall { id: String::new(), name: "Write".into(), input: json!({}) };
    assert!(
        matches!(gate(&[("*", "0")]).check(&call).await, Decision::Deny(reason) if reason.contains("no room"))
    );
}

/// Swaps the directory of a hook's script while it runs, and puts it back.
struct SwappingRunner(PathBuf);

#[async_trait]
impl HookRunner for SwappingRunner {
    async fn run(&self, _: &str, _: &str, _: Duration) -> HookRun {
        let [there, aside, other] = ["scripts", "aside", "other"].map(|name| self.0.join(name));
        for (from, to) in [(&there, &aside), (&other, &there), (&there, &other), (&aside, &there)] {
            fs::rename(from, to).unwrap();
        }
        HookRun { end: HookEnd::Exit(0), stdout: String::new(), stderr: String::new() }
    }
}

/// A workspace with the script of a hook, and options that know the user's version of it.
fn workspace_with_script() -> (tempfile::TempDir, PathBuf, PolicyOptions) {
    let dir = tempfile::tempdir().unwrap();
    let [users, root] = ["users", "root"].map(|name| dir.path().canonicalize().unwrap().join(name));
    for (directory, content) in
        [(users.join("scripts"), "exit 0"), (root.join("scripts"), "exit 0"), (root.join("other"), "exit 1")]
    {
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("check.sh"), content).unwrap();
    }
    let named = root.join("scripts/check.sh");
    let mut options = PolicyOptions::new(Mode::Run, &root);
    let approved = ApprovedFile::read(&users.join("scripts/check.sh"), named.clone(), named).unwrap();
    options.hook_files = vec![approved];
    (dir, root, options)
}

async fn reason(options: &PolicyOptions, runner: &dyn HookRunner) -> Option<String> {
    let call = ToolCall { id: String::new(), name: "Bash".into(), input: json!({}) };
    let context = GateContext { hook_runner: Some(runner), ..GateContext::default() };
    match gate_of(&[("*", "0")], options.clone()).check_in(&call, context).await {
        Decision::Deny(reason) => Some(reason),
        Decision::Abstain | Decision::Allow => None,
    }
}

#[tokio::test]
async fn a_script_that_is_not_the_users_denies() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("another content", |root| fs::write(root.join("scripts/check.sh"), "exit 0 # changed").unwrap()),
        ("another content", |root| fs::write(root.join("scripts/check.sh"), "").unwrap()),
        ("not there", |root| fs::rename(root.join("scripts"), root.join("gone")).unwrap()),
        ("another content", |root| {
            fs::rename(root.join("scripts"), root.join("gone")).unwrap();
            std::os::unix::fs::symlink("other", root.join("scripts")).unwrap();
        }),
        ("cannot be read", |root| {
            fs::remove_file(root.join("scripts/check.sh")).unwrap();
            fs::create_dir(root.join("scripts/check.sh")).unwrap();
        }),
    ];
    for (part, change) in changes {
        let (_dir, root, options) = workspace_with_script();
        assert_eq!(reason(&options, &FakeRunner::default()).await, None);
        change(&root);
        let runner = FakeRunner::default();
        let reason = reason(&options, &runner).await.expect(part);
        assert!(reason.contains(part) && reason.contains("The file scripts/check.sh"), "{reason}");
        assert!(runner.inputs.lock().expect("lock").is_empty(), "the hook does not run");
    }
}

#[tokio::test]
async fn a_script_that_is_swapped_while_the_hook_runs_denies() {
    let (_dir, root, options) = workspace_with_script();
    let reason = reason(&options, &SwappingRunner(root)).await.expect("denied");
    assert!(reason.contains("while the hook ran"), "{reason}");
}

/// A program that has the script open could change it after the comparison.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_script_that_another_program_can_write_denies() {
    let (_dir, root, mut options) = workspace_with_script();
    let script = root.join("scripts/check.sh");
    let writer = fs::OpenOptions::new().write(true).open(&script).unwrap();
    assert_eq!(reason(&options, &FakeRunner::default()).await, None, "the room keeps agents from writing");
    options.can_agents_write_hook_files = true;
    let runner = FakeRunner::default();
    let denial = reason(&options, &runner).await.expect("denied");
    assert!(denial.contains("another program has it open or mapped for writing"), "{denial}");
    assert!(runner.inputs.lock().expect("lock").is_empty(), "the hook does not run");
    drop(writer);
    assert_eq!(reason(&options, &runner).await, None);
    let denial = reason(&options, &WritingRunner(script)).await.expect("denied");
    assert!(denial.contains("tried to write it while the hook ran"), "{denial}");
}

/// Opens a hook's script for writing while the hook runs.
struct WritingRunner(PathBuf);

#[async_trait]
impl HookRunner for WritingRunner {
    async fn run(&self, _: &str, _: &str, _: Duration) -> HookRun {
        use std::os::unix::fs::OpenOptionsExt;
        let without_waiting = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let writer = fs::OpenOptions::new().write(true).custom_flags(without_waiting).open(&self.0);
        assert!(writer.is_err(), "a writer waits until the hook has ended");
        HookRun { end: HookEnd::Exit(0), stdout: String::new(), stderr: String::new() }
    }
}

/// The link `.autonoe` of a workspace leads to the user's files, and a copy of them is the agent's.
#[tokio::test]
async fn a_link_that_leads_to_a_copy_denies() {
    let (dir, root, mut options) = workspace_with_script();
    let users = dir.path().canonicalize().unwrap().join("users");
    let script = users.join("scripts/check.sh");
    std::os::unix::fs::symlink(users.join("scripts"), root.join(".autonoe")).unwrap();
    let approved = ApprovedFile::read(&script, script.clone(), root.join(".autonoe/check.sh")).unwrap();
    options.hook_files = vec![approved];
    assert_eq!(reason(&options, &FakeRunner::default()).await, None);
    fs::remove_file(root.join(".autonoe")).unwrap();
    fs::rename(root.join("scripts"), root.join(".autonoe")).unwrap();
    let denial = reason(&options, &FakeRunner::default()).await.expect("denied");
    assert!(denial.contains("another file is in its place"), "{denial}");
}

/// Rooms that show the project at its own path have the user's `.autonoe` there, so what the workspace has does not matter.
#[tokio::test]
async fn a_script_of_the_user_is_looked_for_where_rooms_have_it() {
    let (dir, root, mut options) = workspace_with_script();
    let users = dir.path().canonicalize().unwrap().join("users");
    let script = users.join("scripts/check.sh");
    let approved = ApprovedFile::read(&script, script.clone(), root.join(".autonoe/check.sh")).unwrap();
    options.hook_files = vec![approved];
    assert!(
        reason(&options, &FakeRunner::default()).await.is_some(),
        "there is no such file in the workspace"
    );
    options.mapping = Some(PathMapping { real: root, shown: users });
    assert_eq!(reason(&options, &FakeRunner::default()).await, None);
}
