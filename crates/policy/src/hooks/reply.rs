//! What a hook says: its exit code, and the JSON that it may print.

use autonoe_core::duration::format as format_duration;
use autonoe_core::hook_runner::{HookEnd, HookRun};
use serde::Deserialize;
use serde_json::Value;

use crate::hook_rule::HookRule;

/// The exit code that denies a call, with standard error as the reason.
const EXIT_DENY: i32 = 2;

/// The number of characters of a hook's text that a reason quotes.
const MAX_QUOTED_CHARS: usize = 2_000;

/// The number of characters of a command that a reason names it by.
const MAX_COMMAND_CHARS: usize = 200;

/// Fields that only inform, such as `systemMessage`, are ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HookOutput {
    #[serde(rename = "continue")]
    may_continue: Option<bool>,
    stop_reason: Option<String>,
    /// The older form of `permission_decision`.
    decision: Option<OlderDecision>,
    reason: Option<String>,
    hook_specific_output: Option<PreToolUseOutput>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreToolUseOutput {
    hook_event_name: Option<HookEventName>,
    permission_decision: Option<PermissionDecision>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
}

#[derive(Debug, Deserialize)]
enum HookEventName {
    PreToolUse,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PermissionDecision {
    Allow,
    Deny,
    Ask,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OlderDecision {
    Approve,
    Block,
}

/// Why the call must not run.
#[derive(Debug, PartialEq)]
enum HookObjection {
    /// The hook says so; its reason may be empty.
    Denied(String),
    /// The hook wants a person to decide; its reason may be empty.
    Asked(String),
    Failed(String),
}

/// The reason to deny the call, worded for the agent; `None` if the hook has no objection.
pub(super) fn objection(rule: &HookRule, run: &HookRun) -> Option<String> {
    let command = cut(&rule.command, MAX_COMMAND_CHARS);
    Some(match judge(rule, run)? {
        HookObjection::Denied(reason) => {
            format!("The hook `{command}` denied the call: {}", or_no_reason(&reason))
        }
        HookObjection::Asked(reason) => format!(
            "The hook `{command}` wants a person to decide, and nobody is there to ask, so the call is denied: {}",
            or_no_reason(&reason)
        ),
        HookObjection::Failed(what) => {
            format!("The hook `{command}` failed, and a failed hook denies the call: {what}.")
        }
    })
}

fn judge(rule: &HookRule, run: &HookRun) -> Option<HookObjection> {
    let failed = |what: String| Some(HookObjection::Failed(what));
    match &run.end {
        HookEnd::Exit(0) => judge_output(&run.stdout),
        HookEnd::Exit(EXIT_DENY) => Some(HookObjection::Denied(quoted(&run.stderr))),
        HookEnd::Exit(code) => {
            let stderr = quoted(&run.stderr);
            let stderr = if stderr.is_empty() { stderr } else { format!(" ({stderr})") };
            failed(format!("it exited with code {code}{stderr}"))
        }
        HookEnd::TimedOut => failed(format!("it did not finish within {}", format_duration(rule.time_limit))),
        HookEnd::TooMuchOutput { limit } => failed(format!("it printed more than {limit} bytes")),
        HookEnd::NotRun { why } => failed(format!("it could not be run: {why}")),
    }
}

fn judge_output(stdout: &str) -> Option<HookObjection> {
    if stdout.trim().is_empty() {
        return None;
    }
    let output: HookOutput = match serde_json::from_str(stdout) {
        Ok(output) => output,
        Err(error) => {
            let what = format!("its output is not the JSON of a hook ({error}): {}", quoted(stdout));
            return Some(HookObjection::Failed(what));
        }
    };
    if output.may_continue == Some(false) {
        let reason = output.stop_reason.or(output.reason).unwrap_or_default();
        return Some(HookObjection::Denied(quoted(&reason)));
    }
    if let Some(OlderDecision::Block) = output.decision {
        return Some(HookObjection::Denied(quoted(&output.reason.unwrap_or_default())));
    }
    let PreToolUseOutput {
        hook_event_name: Some(HookEventName::PreToolUse) | None,
        permission_decision,
        permission_decision_reason,
        updated_input,
    } = output.hook_specific_output?;
    let reason = quoted(&permission_decision_reason.unwrap_or_default());
    match permission_decision {
        Some(PermissionDecision::Deny) => Some(HookObjection::Denied(reason)),
        Some(PermissionDecision::Ask) => Some(HookObjection::Asked(reason)),
        // The call would run with another input than the hook agreed to.
        Some(PermissionDecision::Allow) | None if updated_input.is_some() => Some(HookObjection::Failed(
            "it wants to change the input (updatedInput), which is not supported".into(),
        )),
        Some(PermissionDecision::Allow) | None => None,
    }
}

fn quoted(text: &str) -> String {
    cut(text.trim(), MAX_QUOTED_CHARS)
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn or_no_reason(reason: &str) -> &str {
    if reason.is_empty() { "it gave no reason." } else { reason }
}
