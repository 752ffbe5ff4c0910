//! The errors that OpenAI's two APIs have in common.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::reason;
use crate::reply::{ServiceError, ServiceErrorKind};

/// How each of the two APIs refers to its input.
pub(super) struct InputWording {
    pub param: &'static str,
    pub too_long: &'static str,
}

pub(super) fn error(error: &ServiceError, model: &str, input: &InputWording) -> (StatusCode, Value) {
    const INVALID: &str = "invalid_request_error";
    let null = Value::Null;
    let (status, kind, code, param, default_message) = match error.kind {
        ServiceErrorKind::InvalidKey | ServiceErrorKind::Status(StatusCode::UNAUTHORIZED) => {
            (401, INVALID, json!("invalid_api_key"), null, INVALID_KEY.to_owned())
        }
        ServiceErrorKind::Quota => {
            (429, "insufficient_quota", json!("insufficient_quota"), null, QUOTA.to_owned())
        }
        ServiceErrorKind::ContextLength => {
            let code = json!("context_length_exceeded");
            (400, INVALID, code, json!(input.param), input.too_long.to_owned())
        }
        ServiceErrorKind::Overloaded | ServiceErrorKind::Status(StatusCode::SERVICE_UNAVAILABLE) => {
            (503, "service_unavailable_error", json!("server_is_overloaded"), null, OVERLOADED.to_owned())
        }
        ServiceErrorKind::Status(status) => {
            let (kind, code, default_message) = match status.as_u16() {
                403 => (
                    INVALID,
                    null.clone(),
                    "You have insufficient permissions for this operation.".to_owned(),
                ),
                404 => {
                    let default_message =
                        format!("The model `{model}` does not exist or you do not have access to it.");
                    (INVALID, json!("model_not_found"), default_message)
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
            (status.as_u16(), kind, code, null, default_message)
        }
    };
    let message = error.message.clone().unwrap_or(default_message);
    let body = json!({ "error": { "message": message, "type": kind, "param": param, "code": code } });
    (StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), body)
}

const INVALID_KEY: &str = "Incorrect API key provided: scripted. You can find your API key at https://platform.openai.com/account/api-keys.";
const QUOTA: &str = "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.";
const OVERLOADED: &str = "Our servers are currently overloaded. Please try again later.";
const SERVER_ERROR: &str = "The server had an error while processing your request. Sorry about that!";
