//! Transitions: their targets exist, each has exactly one, and escalations are possible.

use autonoe_notify::WebhookAddress;
use serde_json::Value;

use super::targets::target;
use crate::definition::{
    AgentDefinition, Escalation, Notification, OnExhausted, RetryPolicy, Step, Transition,
};
use crate::json_location::JsonLocation;
use crate::problem::ValidationResult;

/// The highest `maxRetries`.
pub const RETRIES_LIMIT: u32 = 1_000;
/// The highest `maxTimes` of an escalation.
pub const ESCALATIONS_LIMIT: u32 = 100;

pub(super) fn check(
    at: &JsonLocation,
    definition: &AgentDefinition,
    id: &str,
    step: &Step,
    result: &mut ValidationResult,
) {
    if let Some(next) = &step.next {
        target(&at.key("next"), definition, next, result);
    }
    let check = step.check.as_ref();
    if let Some(on_pass) = check.and_then(|check| check.on_pass()) {
        let at = at.key("check").key("onPass");
        transition(&at, definition, on_pass, result);
        if on_pass.retry.as_ref().is_some_and(|retry| retry.policy().is_some()) {
            let what = "a step that passed is not retried";
            result.error(&at.key("retry"), Value::Null, what, "Move it to `onFail`, or name a `next` step.");
        }
    }
    if let Some(on_fail) = check.and_then(|check| check.on_fail()) {
        transition(&at.key("check").key("onFail"), definition, on_fail, result);
    }
    if let Some(escalation) = &step.escalation {
        check_escalation(&at.key("escalation"), definition, id, escalation, result);
    }
}

fn transition(
    at: &JsonLocation,
    definition: &AgentDefinition,
    to: &Transition,
    result: &mut ValidationResult,
) {
    let policy = to.retry.as_ref().and_then(|retry| retry.policy());
    let choices = [to.complete, to.next.is_some(), policy.is_some()];
    let remedy = "Write one of `complete`, `next` and `retry`.";
    match choices.into_iter().filter(|chosen| *chosen).count() {
        0 if result.unread.touches(at) => {}
        0 if to.retry.is_none() => result.error(at, Value::Null, "it has no target", remedy),
        0 | 1 => {}
        _ => result.error(at, Value::Null, "it has more than one target", remedy),
    }
    if let Some(next) = &to.next {
        target(&at.key("next"), definition, next, result);
    }
    if let Some(policy) = policy {
        retry(&at.key("retry"), definition, &policy, result);
    }
}

fn retry(
    at: &JsonLocation,
    definition: &AgentDefinition,
    policy: &RetryPolicy,
    result: &mut ValidationResult,
) {
    if policy.max_retries > RETRIES_LIMIT {
        let remedy = format!("Write a number from 0 to {RETRIES_LIMIT}.");
        result.error(&at.key("maxRetries"), policy.max_retries, "the number is out of range", remedy);
    }
    let at_step = at.key("fallbackStep");
    match (policy.on_exhausted, &policy.fallback_step) {
        (OnExhausted::Fallback, None) => {
            let what = "`fallback` needs a step to continue with";
            result.error(&at_step, Value::Null, what, "Name it in `fallbackStep`.");
        }
        (OnExhausted::Fallback, Some(step)) => target(&at_step, definition, step, result),
        (OnExhausted::Error | OnExhausted::Skip, Some(step)) => {
            let what = "it is never used, because `onExhausted` is not `fallback`";
            result.warning(&at_step, step.as_str(), what, "Set `onExhausted` to fallback, or remove this.");
            target(&at_step, definition, step, result);
        }
        (OnExhausted::Error | OnExhausted::Skip, None) => {}
    }
}

fn check_escalation(
    at: &JsonLocation,
    definition: &AgentDefinition,
    id: &str,
    escalation: &Escalation,
    result: &mut ValidationResult,
) {
    if !(1..=ESCALATIONS_LIMIT).contains(&escalation.max_times) {
        let remedy = format!("Write a number from 1 to {ESCALATIONS_LIMIT}.");
        result.error(&at.key("maxTimes"), escalation.max_times, "the number is out of range", remedy);
    }
    let at = at.key("escalateTo");
    let to = escalation.escalate_to.as_str();
    match escalation.method(&definition.steps) {
        Notification::InAgent if to == id => {
            result.error(&at, to, "a step cannot escalate to itself", "Name another step.");
        }
        Notification::InAgent => target(&at, definition, to, result),
        Notification::Webhook => webhook(&at, to, result),
        Notification::Log if to.trim().is_empty() => {
            result.error(
                &at,
                to,
                "the target is blank",
                "Write a step, the URL of a webhook or a name for the log.",
            );
        }
        Notification::Log => {}
    }
}

fn webhook(at: &JsonLocation, address: &str, result: &mut ValidationResult) {
    if let Err(why) = WebhookAddress::parse(address) {
        let what = format!("it is not a valid webhook URL: {why}");
        let remedy = "Use an https:// URL without a password; http:// is allowed only for this machine.";
        // The user info and the query may contain secrets.
        let shown = if address.contains(['@', '?', '#']) { Value::Null } else { Value::from(address) };
        result.error(at, shown, what, remedy);
    }
}
