//! What OpenAI's two APIs have in common: the shape and the words of their errors.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::reason;
use crate::reply::{Complaint, Trouble};

/// How one of the two speaks of what it was sent.
pub(super) struct Input {
    pub param: &'static str,
    pub too_long: &'static str,
}

pub(super) fn error(complaint: &Complaint, model: &str, input: &Input) -> (StatusCode, Value) {
    const INVALID: &str = "invalid_request_error";
    let null = Value::Null;
    let (status, kind, code, param, words) = match complaint.trouble {
        Trouble::InvalidKey | Trouble::Status(StatusCode::UNAUTHORIZED) => {
            (401, INVALID, json!("invalid_api_key"), null, INVALID_KEY.to_owned())
        }
        Trouble::Quota => (429, "insufficient_quota", json!("insufficient_quota"), null, QUOTA.to_owned()),
        Trouble::ContextLength => {
            let code = json!("context_length_exceeded");
            (400, INVALID, code, json!(input.param), input.too_long.to_owned())
        }
        Trouble::Overloaded | Trouble::Status(StatusCode::SERVICE_UNAVAILABLE) => {
            (503, "service_unavailable_error", json!("server_is_overloaded"), null, OVERLOADED.to_owned())
        }
        Trouble::Status(status) => {
            let (kind, code, words) = match status.as_u16() {
                403 => (
                    INVALID,
                    null.clone(),
                    "You have insufficient permissions for this operation.".to_owned(),
                ),
                404 => {
                    let words =
                        format!("The model `{model}` does not exist or you do not have access to it.");
                    (INVALID, json!("model_not_found"), words)
                }
                429 => (
                    "requests",
                    json!("rate_limit_exceeded"),
                    format!(
                        "Rate limit reached for {model} on requests per min (RPM): Limit 3, Used 3, Requested 1."
                    ),
                ),
                500.. => ("server_error", json!("server_error"), SERVER_ERROR.to_owned()),
                ..500 => (INVALID, null.clone(), reason(status)),
            };
            (status.as_u16(), kind, code, null, words)
        }
    };
    let message = complaint.message.clone().unwrap_or(words);
    let body = json!({ "error": { "message": message, "type": kind, "param": param, "code": code } });
    (StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), body)
}

const INVALID_KEY: &str = "Incorrect API key provided: scripted. You can find your API key at https://platform.openai.com/account/api-keys.";
const QUOTA: &str = "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.";
const OVERLOADED: &str = "Our servers are currently overloaded. Please try again later.";
const SERVER_ERROR: &str = "The server had an error while processing your request. Sorry about that!";
