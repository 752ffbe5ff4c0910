//! Where a step leads: to steps that exist, in one way only, and to whom it calls for help.

use serde_json::Value;

use super::problem::{Place, ValidationResult};
use super::targets::target;
use crate::address::Address;
use crate::definition::{
    AgentDefinition, Escalation, Notification, OnExhausted, RetryPolicy, Step, Transition,
};

/// How often a step can be tried again at most.
pub const RETRIES_LIMIT: u32 = 1_000;
/// How often a step can call for help at most.
pub const CALLS_LIMIT: u32 = 100;

pub(super) fn check(
    at: &Place,
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
            let what = "what has passed is not tried again";
            result.error(&at.key("retry"), Value::Null, what, "Move it to `onFail`, or name a `next` step.");
        }
    }
    if let Some(on_fail) = check.and_then(|check| check.on_fail()) {
        transition(&at.key("check").key("onFail"), definition, on_fail, result);
    }
    if let Some(escalation) = &step.escalation {
        help(&at.key("escalation"), definition, id, escalation, result);
    }
}

fn transition(at: &Place, definition: &AgentDefinition, to: &Transition, result: &mut ValidationResult) {
    let policy = to.retry.as_ref().and_then(|retry| retry.policy());
    let choices = [to.complete, to.next.is_some(), policy.is_some()];
    let remedy = "Write one of `complete`, `next` and `retry`.";
    match choices.into_iter().filter(|chosen| *chosen).count() {
        0 if to.retry.is_none() => result.error(at, Value::Null, "it leads nowhere", remedy),
        0 | 1 => {}
        _ => result.error(at, Value::Null, "it leads to more than one place", remedy),
    }
    if let Some(next) = &to.next {
        target(&at.key("next"), definition, next, result);
    }
    if let Some(policy) = policy {
        retry(&at.key("retry"), definition, &policy, result);
    }
}

fn retry(at: &Place, definition: &AgentDefinition, policy: &RetryPolicy, result: &mut ValidationResult) {
    if policy.max_retries > RETRIES_LIMIT {
        let remedy = format!("Write a number from 0 to {RETRIES_LIMIT}.");
        result.error(&at.key("maxRetries"), policy.max_retries, "so many are not possible", remedy);
    }
    let at_step = at.key("fallbackStep");
    match (policy.on_exhausted, &policy.fallback_step) {
        (OnExhausted::Fallback, None) => {
            let what = "a fallback needs the step that comes instead";
            result.error(&at_step, Value::Null, what, "Name it in `fallbackStep`.");
        }
        (OnExhausted::Fallback, Some(step)) => target(&at_step, definition, step, result),
        (OnExhausted::Error | OnExhausted::Skip, Some(step)) => {
            let what = "it is never gone to, for `onExhausted` is not `fallback`";
            result.warning(
                &at_step,
                step.as_str(),
                what,
                "Set `onExhausted` to fallback, or take this away.",
            );
            target(&at_step, definition, step, result);
        }
        (OnExhausted::Error | OnExhausted::Skip, None) => {}
    }
}

fn help(
    at: &Place,
    definition: &AgentDefinition,
    id: &str,
    escalation: &Escalation,
    result: &mut ValidationResult,
) {
    if !(1..=CALLS_LIMIT).contains(&escalation.max_times) {
        let remedy = format!("Write a number from 1 to {CALLS_LIMIT}.");
        result.error(&at.key("maxTimes"), escalation.max_times, "so many are not possible", remedy);
    }
    let at = at.key("escalateTo");
    let to = escalation.escalate_to.as_str();
    match escalation.method(&definition.steps) {
        Notification::InAgent if to == id => {
            result.error(&at, to, "a step cannot call itself for help", "Name another step.");
        }
        Notification::InAgent => target(&at, definition, to, result),
        Notification::Webhook => webhook(&at, to, result),
        Notification::Log if to.trim().is_empty() => {
            result.error(&at, to, "nobody is named", "Write a step, an address or a name.");
        }
        Notification::Log => {}
    }
}

fn webhook(at: &Place, address: &str, result: &mut ValidationResult) {
    if let Err(why) = Address::read(address) {
        let what = format!("that cannot be the address of a webhook: {why}");
        let remedy =
            "Write one that begins with https://, without a password; http:// only for this machine itself.";
        // What stands before the host or behind the path may be a secret.
        let shown = if address.contains(['@', '?', '#']) { Value::Null } else { Value::from(address) };
        result.error(at, shown, what, remedy);
    }
}
