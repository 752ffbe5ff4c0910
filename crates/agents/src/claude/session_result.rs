//! The result message of Claude Code. `is_error` decides, not `subtype`, which is `success` even for failed
//! model calls.

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::money::Usd;
use autonoe_core::outcome::SessionEnd;
use autonoe_model::read_quota_message;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

const LOG_IN: &str = "Start `claude` and log in with /login, or set ANTHROPIC_API_KEY.";

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ClaudeResult {
    pub is_error: bool,
    pub cost: Option<Usd>,
    /// The structured answer if a schema was requested, otherwise the last text.
    pub answer: String,
    reason: String,
    subtype: String,
    message: String,
    status: Option<u64>,
    error: String,
}

impl ClaudeResult {
    pub(super) fn read(message: &Value) -> Self {
        let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
        let errors = message["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        let errors: Vec<&str> = errors.iter().filter_map(Value::as_str).collect();
        Self {
            is_error: message["is_error"].as_bool().unwrap_or(true),
            answer: match &message["structured_output"] {
                Value::Null => text("result"),
                answer => answer.to_string(),
            },
            cost: message["total_cost_usd"].as_f64().map(Usd),
            reason: text("terminal_reason"),
            subtype: text("subtype"),
            message: if errors.is_empty() { text("result") } else { errors.join("; ") },
            status: message["api_error_status"].as_u64(),
            error: text("api_error"),
        }
    }

    /// The outcome, given the last rate limit rejection.
    pub(super) fn outcome(&self, limit: Option<&Value>) -> SessionEnd {
        if !self.is_error {
            return SessionEnd::Completed;
        }
        match (self.subtype.as_str(), self.reason.as_str()) {
            ("error_max_turns", _) | (_, "max_turns") => return SessionEnd::MaxTurns,
            ("error_max_budget_usd", _) | (_, "budget_exhausted") => {
                return SessionEnd::BudgetExceeded { limit_usd: self.cost.unwrap_or_default() };
            }
            _ => {}
        }
        if let Some(quota) = self.quota(limit) {
            return quota;
        }
        SessionEnd::ExecutionError { fault: self.fault() }
    }

    fn quota(&self, limit: Option<&Value>) -> Option<SessionEnd> {
        let notice = read_quota_message(&self.message, Timestamp::now(), &TimeZone::system());
        let is_limited = self.error == "usage_limit_reached" || notice.is_some();
        let reported = limit.and_then(|limit| limit["resetsAt"].as_i64());
        let reported = reported.and_then(|second| Timestamp::from_second(second).ok());
        let resets_at = reported.or_else(|| notice.as_ref()?.resets.at());
        is_limited.then(|| SessionEnd::QuotaExceeded { message: self.message.clone(), resets_at })
    }

    fn fault(&self) -> Fault {
        let message = format!("Claude Code failed: {}", self.message);
        if self.subtype == "error_max_structured_output_retries" {
            return Fault::transient(FaultLayer::Agent, "answer_not_valid", message);
        }
        let outage = |code| Fault::outage(FaultLayer::Model, code, message.clone());
        match self.status {
            Some(401 | 403) => Fault::permanent(FaultLayer::Config, "not_logged_in", message).hint(LOG_IN),
            Some(404) => Fault::permanent(FaultLayer::Config, "unknown_model", message)
                .hint("Choose a model that Claude Code supports with --model."),
            Some(429) => outage("rate_limited"),
            Some(529) => outage("overloaded"),
            Some(500..) => outage("service_failed"),
            // Reported by Claude Code itself, without an HTTP status.
            None if self.message.contains("/login") => {
                Fault::permanent(FaultLayer::Config, "not_logged_in", message).hint(LOG_IN)
            }
            Some(_) | None => Fault::transient(FaultLayer::Agent, "agent_failed", message),
        }
    }
}
