//! How a turn of an agent ended, and the usage that it reports.

use agent_client_protocol_schema::v1::StopReason;
use autonoe_core::event::Usage;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::SessionEnd;
use autonoe_model::read_quota_message;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::message::RpcError;

/// The protocol's error code for a missing login.
const AUTH_REQUIRED: i64 = -32000;

/// Phrases in error messages about an invalid login. They do not occur in other errors.
const NOT_LOGGED_IN: [&str; 5] =
    ["API key not valid", "API_KEY_INVALID", "UNAUTHENTICATED", "Unauthorized", "Authentication required"];

/// Phrases in error messages about an exhausted quota without a reset time. They do not occur in other
/// errors.
const QUOTA_EXHAUSTED: [&str; 3] =
    ["exceeded your current quota", "exhausted your daily quota", "quota will reset after"];

/// The agent's name in messages, and a hint how to log in.
#[derive(Debug, Clone)]
pub(super) struct AgentLabel {
    pub name: String,
    pub log_in: String,
}

impl AgentLabel {
    /// The outcome of a turn that ended without an error.
    pub(super) fn outcome(&self, answer: &Value) -> SessionEnd {
        let reason = serde_json::from_value(answer["stopReason"].clone());
        let failed = |code, why: &str| SessionEnd::ExecutionError {
            fault: Fault::transient(FaultLayer::Agent, code, format!("{} {why}.", self.name)),
        };
        match reason {
            Ok(StopReason::EndTurn) => SessionEnd::Completed,
            Ok(StopReason::MaxTurnRequests) => SessionEnd::MaxTurns,
            Ok(StopReason::MaxTokens) => failed("max_tokens", "was cut off at the output limit"),
            Ok(StopReason::Refusal) => failed("agent_refused", "refused to continue"),
            Ok(StopReason::Cancelled) => failed("agent_cancelled", "cancelled its work"),
            Ok(_) | Err(_) => failed(
                "agent_protocol",
                &format!("ended with an unknown stop reason: {}", answer["stopReason"]),
            ),
        }
    }

    /// The outcome of a turn that ended with an error.
    pub(super) fn failure(&self, error: &RpcError) -> SessionEnd {
        let text = &error.message;
        let notice = read_quota_message(text, Timestamp::now(), &TimeZone::system());
        if notice.is_some() || QUOTA_EXHAUSTED.iter().any(|phrase| text.contains(phrase)) {
            let resets_at = notice.and_then(|notice| notice.resets.at());
            return SessionEnd::QuotaExceeded { message: text.clone(), resets_at };
        }
        let message = format!("{} failed: {text}", self.name);
        let is_401 = error.code == 401 || NOT_LOGGED_IN.iter().any(|phrase| text.contains(phrase));
        let fault = match error.code {
            AUTH_REQUIRED => {
                Fault::permanent(FaultLayer::Config, "not_logged_in", message).hint(&self.log_in)
            }
            _ if is_401 => Fault::permanent(FaultLayer::Config, "not_logged_in", message).hint(&self.log_in),
            404 => Fault::permanent(FaultLayer::Config, "unknown_model", message)
                .hint("Choose a model that this agent supports with --model."),
            429 => Fault::outage(FaultLayer::Model, "rate_limited", message),
            503 | 529 => Fault::outage(FaultLayer::Model, "overloaded", message),
            500..=599 => Fault::outage(FaultLayer::Model, "service_failed", message),
            _ => Fault::transient(FaultLayer::Agent, "agent_failed", message),
        };
        SessionEnd::ExecutionError { fault }
    }
}

/// The tokens of a turn by model, if the agent reports them. The protocol has no stable field for them yet.
pub(super) fn usage(answer: &Value) -> Vec<(Option<String>, Usage)> {
    let quota = &answer["_meta"]["quota"];
    let by_model = quota["model_usage"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !by_model.is_empty() {
        let used = by_model
            .iter()
            .map(|used| (used["model"].as_str().map(str::to_owned), tokens(&used["token_count"])));
        return used.collect();
    }
    match &answer["usage"] {
        Value::Object(_) => vec![(None, tokens(&answer["usage"]))],
        _ => Vec::new(),
    }
}

fn tokens(counts: &Value) -> Usage {
    let count = |names: &[&str]| names.iter().find_map(|name| counts[*name].as_u64()).unwrap_or_default();
    Usage {
        input_tokens: count(&["inputTokens", "input_tokens"]),
        output_tokens: count(&["outputTokens", "output_tokens"]),
        reasoning_tokens: count(&["thoughtTokens", "reasoningOutputTokens"]),
        cache_read_tokens: count(&["cachedReadTokens", "cachedInputTokens"]),
        cache_write_tokens: count(&["cachedWriteTokens"]),
        cost_usd: None,
    }
}

#[cfg(test)]
mod tests {
    use autonoe_core::outcome::SessionEnd;
    use serde_json::json;

    use super::{AgentLabel, RpcError, usage};

    fn agent() -> AgentLabel {
        AgentLabel { name: "It".to_owned(), log_in: "Log in.".to_owned() }
    }

    #[test]
    fn every_stop_reason_has_its_outcome() {
        let outcome = |reason: &str| agent().outcome(&json!({ "stopReason": reason }));
        assert_eq!(outcome("end_turn"), SessionEnd::Completed);
        assert_eq!(outcome("max_turn_requests"), SessionEnd::MaxTurns);
        for (reason, code) in [
            ("refusal", "agent_refused"),
            ("cancelled", "agent_cancelled"),
            ("max_tokens", "max_tokens"),
            ("boredom", "agent_protocol"),
        ] {
            let fault = outcome(reason).fault().cloned().expect("a fault");
            assert_eq!((fault.code.as_str(), fault.recoverable()), (code, true));
        }
    }

    #[test]
    fn failures_are_classified() {
        let outcome = |code, message: &str| agent().failure(&RpcError { code, message: message.to_owned() });
        let quota = "You exceeded your current quota, please check your plan and billing details.";
        assert!(matches!(outcome(429, quota), SessionEnd::QuotaExceeded { .. }));
        for (code, message, expected, recoverable) in [
            (-32000, "Authentication required", "not_logged_in", false),
            (401, "no", "not_logged_in", false),
            (500, "API key not valid. Please pass a valid API key.", "not_logged_in", false),
            (404, "no such model", "unknown_model", false),
            (429, "slow down", "rate_limited", true),
            (-32603, "Internal error", "agent_failed", true),
        ] {
            let fault = outcome(code, message).fault().cloned().expect("a fault");
            assert_eq!((fault.code.as_str(), fault.recoverable()), (expected, recoverable), "{message}");
        }
    }

    #[test]
    fn tokens_are_found_in_each_format() {
        let response = json!({ "_meta": { "quota": { "model_usage": [
            { "model": "m", "token_count": { "input_tokens": 5, "output_tokens": 7 } },
        ] } } });
        let found = usage(&response);
        assert_eq!(found[0].0.as_deref(), Some("m"));
        assert_eq!((found[0].1.input_tokens, found[0].1.output_tokens), (5, 7));
        let found =
            usage(&json!({ "usage": { "inputTokens": 1, "outputTokens": 2, "cachedReadTokens": 3 } }));
        assert_eq!((found[0].1.input_tokens, found[0].1.cache_read_tokens), (1, 3));
        assert!(usage(&json!({ "stopReason": "end_turn" })).is_empty());
    }
}
