//! What a failed model call means: read from status, headers and the provider's error type, never guessed.

use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::Outcome;
use autonoe_core::quota;
use genai::webc::StreamTimeout;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use reqwest::header::HeaderMap;
use serde_json::Value;

/// A rate limit that asks for a longer wait than this is a used-up quota.
pub(crate) const LONGEST_RATE_LIMIT: Duration = Duration::from_secs(60);

/// A failed call, classified.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    /// Trying again may help.
    Passing(Fault),
    /// It ends the session.
    Final(Outcome),
}

impl Failure {
    fn lasting(code: &str, message: String, hint: &str) -> Self {
        Self::Final(Outcome::ExecutionError {
            fault: Fault::lasting(Layer::Config, code, message).hint(hint),
        })
    }

    fn passing(code: &str, message: String) -> Self {
        Self::Passing(Fault::passing(Layer::Model, code, message))
    }
}

/// Classifies an error of the library.
pub(crate) fn classify(error: &genai::Error, model: &str, now: Timestamp) -> Failure {
    match error {
        genai::Error::WebStream { error, cause, .. } => {
            if let Some(inner) = error.downcast_ref::<genai::Error>() {
                return classify(inner, model, now);
            }
            if error.downcast_ref::<StreamTimeout>().is_some() {
                return Failure::passing("timeout", format!("The model service fell silent: {cause}."));
            }
            let sentence = connection_sentence(error.as_ref());
            Failure::passing("network_error", sentence)
        }
        genai::Error::HttpError { status, body, headers, .. } => {
            http(status.as_u16(), headers, body, model, now)
        }
        genai::Error::ChatResponse { body, .. } => stream_error(body),
        genai::Error::StreamParse { serde_error, .. } => Failure::passing(
            "invalid_response",
            format!("The model service sent broken JSON: {serde_error}."),
        ),
        other => Failure::passing("unknown", first_line(&other.to_string())),
    }
}

/// A stream that ended before the reply did.
pub(crate) fn cut_off() -> Failure {
    Failure::passing("network_error", "The model service broke off in the middle of a reply.".into())
}

fn http(status: u16, headers: &HeaderMap, body: &str, model: &str, now: Timestamp) -> Failure {
    let (kind, said) = provider_error(body);
    let message = format!("The model service answered {status}: {said}");
    if let Some(failure) = out_of_quota(status, headers, &said, now) {
        return failure;
    }
    match status {
        401 | 403 => Failure::lasting(
            "authentication_error",
            message,
            "Check ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL; `autonoe doctor` shows what is set.",
        ),
        404 => Failure::lasting(
            "model_not_found",
            format!("The model '{model}' is not known to the service ({said})."),
            "Choose another one with --model or --plan-model.",
        ),
        402 => billing(message),
        400 if said.contains("credit balance") => billing(message),
        400 | 413 if is_context_length(&kind, &said) => Failure::Final(Outcome::ExecutionError {
            fault: Fault::passing(Layer::Model, "context_length_exceeded", message),
        }),
        429 => Failure::Passing(
            Fault::passing(Layer::Model, "rate_limited", message).retry_after(retry_after(headers)),
        ),
        408 => Failure::passing("timeout", message),
        500..=599 => Failure::Passing(
            Fault::passing(Layer::Model, if status == 529 { "overloaded" } else { "server_error" }, message)
                .retry_after(retry_after(headers)),
        ),
        _ => Failure::Final(Outcome::ExecutionError {
            fault: Fault::passing(Layer::Model, "unknown", message),
        }),
    }
}

fn billing(message: String) -> Failure {
    Failure::lasting("billing_error", message, "Add credit to the account, or use another key.")
}

/// An `error` event inside a stream.
fn stream_error(body: &Value) -> Failure {
    let (kind, said) = provider_error(&body.to_string());
    let code = match kind.as_str() {
        "overloaded_error" => "overloaded",
        "rate_limit_error" => "rate_limited",
        _ => "server_error",
    };
    Failure::passing(code, format!("The model service broke off with an error: {said}"))
}

/// A quota is used up when the provider says so in a header, in its own words, or by asking for a long wait.
fn out_of_quota(status: u16, headers: &HeaderMap, said: &str, now: Timestamp) -> Option<Failure> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let rejected = header("anthropic-ratelimit-unified-status") == Some("rejected");
    let notice = quota::read(said, now, &TimeZone::UTC);
    let long_wait = retry_after(headers).filter(|wait| status == 429 && *wait > LONGEST_RATE_LIMIT);
    if !rejected && notice.is_none() && long_wait.is_none() {
        return None;
    }
    let by_header = header("anthropic-ratelimit-unified-reset")
        .and_then(|text| text.parse().ok())
        .and_then(|seconds| Timestamp::from_second(seconds).ok());
    let resets_at = by_header
        .or_else(|| notice.and_then(|notice| notice.resets.at()))
        .or_else(|| long_wait.and_then(|wait| now.checked_add(SignedDuration::try_from(wait).ok()?).ok()));
    Some(Failure::Final(Outcome::QuotaExceeded { message: said.to_owned(), resets_at }))
}

/// `retry-after-ms`, or `retry-after` in seconds.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|millis| millis / 1000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Anthropic's two wordings of a prompt that is too long.
fn is_context_length(kind: &str, said: &str) -> bool {
    kind == "request_too_large"
        || said.contains("prompt is too long")
        || said.contains("exceed context limit")
}

/// The provider's error type and message, or the beginning of whatever came instead.
fn provider_error(body: &str) -> (String, String) {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let field = |name: &str| parsed.as_ref()?.pointer(&format!("/error/{name}"))?.as_str().map(str::to_owned);
    let message = field("message").unwrap_or_else(|| first_line(body));
    (field("type").unwrap_or_default(), message)
}

fn first_line(text: &str) -> String {
    const LONGEST: usize = 300;
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() { "no details were given".into() } else { line.chars().take(LONGEST).collect() }
}

/// The innermost cause is the one a person understands: "Connection refused".
fn connection_sentence(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    format!("The model service cannot be reached: {}.", first_line(&cause.to_string()))
}
