use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::gate::{Decision, Gate, GateContext, ToolCall};
use autonoe_core::hook_runner::{HookEnd, HookRun, HookRunner};
use serde_json::{Value, json};

use super::HookGate;
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
    let mut options = PolicyOptions::new(Mode::Run, "/project");
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
