//! How a turn of Codex's ended.

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::SessionEnd;
use autonoe_core::quota;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

/// What to do about a login that is not accepted.
const LOG_IN: &str = "Run `codex login`, or set OPENAI_API_KEY.";

/// A window of the user's limits is used up at this many percent.
const ALL_PERCENT: i64 = 100;

/// The last message of a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ending {
    status: String,
    words: String,
    /// Its name for what went wrong.
    code: String,
    /// What the service answered.
    http: Option<u64>,
}

impl Ending {
    /// A turn that came to its end.
    pub(super) fn completed() -> Self {
        Self { status: "completed".to_owned(), ..Self::default() }
    }

    /// A turn that failed, of which nothing is told but words. What the service answered is in them.
    pub(super) fn failed(words: String) -> Self {
        let (status, code) = ("failed".to_owned(), String::new());
        Self { status, http: http_status(&words), words, code }
    }

    pub(super) fn read(turn: &Value) -> Self {
        let error = &turn["error"];
        let info = &error["codexErrorInfo"];
        // A name, or a name with what belongs to it.
        let (code, http) = match info.as_object().and_then(|info| info.iter().next()) {
            Some((code, detail)) => (code.clone(), detail["httpStatusCode"].as_u64()),
            None => (info.as_str().unwrap_or_default().to_owned(), None),
        };
        let words = error["message"].as_str().unwrap_or_default().to_owned();
        Self { status: turn["status"].as_str().unwrap_or_default().to_owned(), words, code, http }
    }

    /// The outcome, given what was last heard of the user's limits.
    pub(super) fn outcome(&self, limits: Option<&Value>) -> SessionEnd {
        if self.status == "completed" {
            return SessionEnd::Completed;
        }
        self.quota(limits).unwrap_or_else(|| SessionEnd::ExecutionError { fault: self.fault() })
    }

    fn quota(&self, limits: Option<&Value>) -> Option<SessionEnd> {
        let notice = quota::read(&self.words, Timestamp::now(), &TimeZone::system());
        let is_limited = self.code == "usageLimitExceeded" || notice.is_some();
        let resets_at = limits.and_then(reset).or_else(|| notice.as_ref()?.resets.at());
        is_limited.then(|| SessionEnd::QuotaExceeded { message: self.words.clone(), resets_at })
    }

    fn fault(&self) -> Fault {
        let message = match self.words.as_str() {
            "" => format!("Codex ended its turn as {}.", self.status),
            words => format!("Codex failed: {words}"),
        };
        let outage = |code| Fault::outage(Layer::Model, code, message.clone());
        match (self.code.as_str(), self.http) {
            ("unauthorized", _) | (_, Some(401 | 403)) => {
                Fault::lasting(Layer::Config, "not_logged_in", message).hint(LOG_IN)
            }
            ("modelNotFound", _) | (_, Some(404)) => Fault::lasting(Layer::Config, "unknown_model", message)
                .hint("Name a model that Codex knows with --model."),
            ("rateLimitExceeded", _) | (_, Some(429)) => outage("rate_limited"),
            ("serverOverloaded", _) | (_, Some(503 | 529)) => outage("overloaded"),
            ("contextWindowExceeded", _) => Fault::passing(Layer::Model, "context_length_exceeded", message),
            ("internalServerError", _) | (_, Some(500..)) => outage("service_failed"),
            (
                "httpConnectionFailed"
                | "responseStreamConnectionFailed"
                | "responseStreamDisconnected"
                | "responseTooManyFailedAttempts",
                None,
            ) => outage("connection_lost"),
            _ => Fault::passing(Layer::Agent, "agent_failed", message),
        }
    }
}

/// The status in `unexpected status 401 Unauthorized` and `last status: 429 Too Many Requests`.
fn http_status(words: &str) -> Option<u64> {
    let (_, after) = words.split_once("status")?;
    after.trim_start_matches([':', ' ']).get(..3)?.parse().ok()
}

/// When the last of the windows that are used up begins anew.
fn reset(limits: &Value) -> Option<Timestamp> {
    let windows = ["primary", "secondary"].map(|name| &limits[name]);
    let full = windows.into_iter().filter(|window| window["usedPercent"].as_i64() >= Some(ALL_PERCENT));
    let second = full.filter_map(|window| window["resetsAt"].as_i64()).max()?;
    Timestamp::from_second(second).ok()
}

#[cfg(test)]
mod tests {
    use autonoe_core::outcome::SessionEnd;
    use serde_json::{Value, json};

    use super::Ending;

    fn outcome(info: Value, words: &str, limits: Option<&Value>) -> SessionEnd {
        let error = json!({ "message": words, "codexErrorInfo": info });
        Ending::read(&json!({ "status": "failed", "error": error })).outcome(limits)
    }

    #[test]
    fn failures_have_their_codes() {
        let http = |name: &str, status: Value| json!({ name: { "httpStatusCode": status } });
        for (info, code, recoverable) in [
            (http("httpConnectionFailed", json!(401)), "not_logged_in", false),
            (json!("unauthorized"), "not_logged_in", false),
            (json!("modelNotFound"), "unknown_model", false),
            (http("responseTooManyFailedAttempts", json!(429)), "rate_limited", true),
            (json!("serverOverloaded"), "overloaded", true),
            (json!("internalServerError"), "service_failed", true),
            (http("httpConnectionFailed", json!(500)), "service_failed", true),
            (http("responseStreamDisconnected", Value::Null), "connection_lost", true),
            (json!("somethingNew"), "agent_failed", true),
            (Value::Null, "agent_failed", true),
        ] {
            let outcome = outcome(info.clone(), "It broke.", None);
            let fault = outcome.fault().unwrap_or_else(|| panic!("{info}: {outcome:?}"));
            assert_eq!((fault.code.as_str(), fault.recoverable()), (code, recoverable), "{info}");
        }
    }

    #[test]
    fn a_limit_is_told_with_its_reset() {
        let words = "You’ve hit your usage limit. Upgrade to Pro or try again at 2:15 AM.";
        let limits = json!({
            "primary": { "usedPercent": 100, "resetsAt": 4_102_444_800_i64 },
            "secondary": { "usedPercent": 40, "resetsAt": 4_102_999_999_i64 },
        });
        let SessionEnd::QuotaExceeded { resets_at, .. } =
            outcome(json!("usageLimitExceeded"), words, Some(&limits))
        else {
            panic!("a quota");
        };
        assert_eq!(resets_at.map(|at| at.as_second()), Some(4_102_444_800));
        assert!(
            matches!(outcome(Value::Null, words, None), SessionEnd::QuotaExceeded { .. }),
            "by its words"
        );
    }
}
