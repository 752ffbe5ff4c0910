//! How a Codex turn ended.

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::SessionEnd;
use autonoe_model::read_quota_message;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

const LOG_IN: &str = "Run `codex login`, or set OPENAI_API_KEY.";

/// A limit window is exhausted at this percentage.
const ALL_PERCENT: i64 = 100;

/// The final message of a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CodexTurnEnd {
    status: String,
    message: String,
    /// Codex's name of the error.
    code: String,
    /// The HTTP status of the model service.
    http: Option<u64>,
}

impl CodexTurnEnd {
    pub(super) fn completed() -> Self {
        Self { status: "completed".to_owned(), ..Self::default() }
    }

    /// A failed turn with a message only. The HTTP status is parsed from the message.
    pub(super) fn failed(message: String) -> Self {
        let (status, code) = ("failed".to_owned(), String::new());
        Self { status, http: http_status(&message), message, code }
    }

    pub(super) fn read(turn: &Value) -> Self {
        let error = &turn["error"];
        let info = &error["codexErrorInfo"];
        // Either a name, or an object with the name as its only key.
        let (code, http) = match info.as_object().and_then(|info| info.iter().next()) {
            Some((code, detail)) => (code.clone(), detail["httpStatusCode"].as_u64()),
            None => (info.as_str().unwrap_or_default().to_owned(), None),
        };
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        Self { status: turn["status"].as_str().unwrap_or_default().to_owned(), message, code, http }
    }

    /// The outcome, given the last report of the user's limits.
    pub(super) fn outcome(&self, limits: Option<&Value>) -> SessionEnd {
        if self.status == "completed" {
            return SessionEnd::Completed;
        }
        self.quota(limits).unwrap_or_else(|| SessionEnd::ExecutionError { fault: self.fault() })
    }

    fn quota(&self, limits: Option<&Value>) -> Option<SessionEnd> {
        let notice = read_quota_message(&self.message, Timestamp::now(), &TimeZone::system());
        let is_limited = self.code == "usageLimitExceeded" || notice.is_some();
        let resets_at = limits.and_then(reset).or_else(|| notice.as_ref()?.resets.at());
        is_limited.then(|| SessionEnd::QuotaExceeded { message: self.message.clone(), resets_at })
    }

    fn fault(&self) -> Fault {
        let message = match self.message.as_str() {
            "" => format!("Codex ended its turn with status {}.", self.status),
            message => format!("Codex failed: {message}"),
        };
        let outage = |code| Fault::outage(FaultLayer::Model, code, message.clone());
        match (self.code.as_str(), self.http) {
            ("unauthorized", _) | (_, Some(401 | 403)) => {
                Fault::permanent(FaultLayer::Config, "not_logged_in", message).hint(LOG_IN)
            }
            ("modelNotFound", _) | (_, Some(404)) => {
                Fault::permanent(FaultLayer::Config, "unknown_model", message)
                    .hint("Choose a model that Codex supports with --model.")
            }
            ("rateLimitExceeded", _) | (_, Some(429)) => outage("rate_limited"),
            ("serverOverloaded", _) | (_, Some(503 | 529)) => outage("overloaded"),
            ("contextWindowExceeded", _) => {
                Fault::transient(FaultLayer::Model, "context_length_exceeded", message)
            }
            ("internalServerError", _) | (_, Some(500..)) => outage("service_failed"),
            (
                "httpConnectionFailed"
                | "responseStreamConnectionFailed"
                | "responseStreamDisconnected"
                | "responseTooManyFailedAttempts",
                None,
            ) => outage("network_error"),
            _ => Fault::transient(FaultLayer::Agent, "agent_failed", message),
        }
    }
}

/// The status in `unexpected status 401 Unauthorized` and `last status: 429 Too Many Requests`.
fn http_status(message: &str) -> Option<u64> {
    let (_, after) = message.split_once("status")?;
    after.trim_start_matches([':', ' ']).get(..3)?.parse().ok()
}

/// When the last exhausted limit window resets.
fn reset(limits: &Value) -> Option<Timestamp> {
    let windows = ["primary", "secondary"].map(|name| &limits[name]);
    let exhausted = windows.into_iter().filter(|window| window["usedPercent"].as_i64() >= Some(ALL_PERCENT));
    let second = exhausted.filter_map(|window| window["resetsAt"].as_i64()).max()?;
    Timestamp::from_second(second).ok()
}

#[cfg(test)]
mod tests {
    use autonoe_core::outcome::SessionEnd;
    use serde_json::{Value, json};

    use super::CodexTurnEnd;

    fn outcome(info: Value, message: &str, limits: Option<&Value>) -> SessionEnd {
        let error = json!({ "message": message, "codexErrorInfo": info });
        CodexTurnEnd::read(&json!({ "status": "failed", "error": error })).outcome(limits)
    }

    #[test]
    fn failures_are_classified() {
        let http = |name: &str, status: Value| json!({ name: { "httpStatusCode": status } });
        for (info, code, recoverable) in [
            (http("httpConnectionFailed", json!(401)), "not_logged_in", false),
            (json!("unauthorized"), "not_logged_in", false),
            (json!("modelNotFound"), "unknown_model", false),
            (http("responseTooManyFailedAttempts", json!(429)), "rate_limited", true),
            (json!("serverOverloaded"), "overloaded", true),
            (json!("internalServerError"), "service_failed", true),
            (http("httpConnectionFailed", json!(500)), "service_failed", true),
            (http("responseStreamDisconnected", Value::Null), "network_error", true),
            (json!("somethingNew"), "agent_failed", true),
            (Value::Null, "agent_failed", true),
        ] {
            let outcome = outcome(info.clone(), "It broke.", None);
            let fault = outcome.fault().unwrap_or_else(|| panic!("{info}: {outcome:?}"));
            assert_eq!((fault.code.as_str(), fault.recoverable()), (code, recoverable), "{info}");
        }
    }

    #[test]
    fn a_limit_has_its_reset_time() {
        let message = "You’ve hit your usage limit. Upgrade to Pro or try again at 2:15 AM.";
        let limits = json!({
            "primary": { "usedPercent": 100, "resetsAt": 4_102_444_800_i64 },
            "secondary": { "usedPercent": 40, "resetsAt": 4_102_999_999_i64 },
        });
        let SessionEnd::QuotaExceeded { resets_at, .. } =
            outcome(json!("usageLimitExceeded"), message, Some(&limits))
        else {
            panic!("a quota");
        };
        assert_eq!(resets_at.map(|at| at.as_second()), Some(4_102_444_800));
        assert!(
            matches!(outcome(Value::Null, message, None), SessionEnd::QuotaExceeded { .. }),
            "by its message"
        );
    }
}
