//! Classifies failed model calls: by the provider's own error codes, then by the HTTP status, and by the text
//! of the message only where a provider offers nothing else.

use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::SessionEnd;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use reqwest::header::{HeaderMap, LOCATION};

use crate::code::ModelErrorCode::{self, *};
use crate::frames::StreamNotes;
use crate::provider::{Provider, ProviderKind};
use crate::provider_error::{ProviderError, first_line};
use crate::quota_message::read_quota_message;
use crate::retry_after;
use crate::transport::TransportFailure;
use crate::web_page::{self, WebPage};

/// A rate limit with a longer wait than this counts as an exhausted quota.
pub(crate) const LONGEST_RATE_LIMIT: Duration = Duration::from_secs(60);

/// The time zone in which Google's daily quotas reset.
const GOOGLE_ZONE: &str = "America/Los_Angeles";

/// Anthropic's stop reason when the context window is full.
pub(crate) const WINDOW_FULL: &str = "model_context_window_exceeded";

/// Error codes of providers. Codes that say no more than the HTTP status, such as `invalid_request_error` and
/// `server_error`, are left out.
const CODES: [(&str, ModelErrorCode); 42] = [
    // Anthropic
    ("authentication_error", AuthenticationError),
    ("permission_error", AuthenticationError),
    ("not_found_error", ModelNotFound),
    ("rate_limit_error", RateLimited),
    ("overloaded_error", Overloaded),
    ("timeout_error", Timeout),
    ("request_too_large", ContextLengthExceeded),
    ("billing_error", BillingError),
    // OpenAI and compatible servers
    ("invalid_api_key", AuthenticationError),
    ("incorrect_api_key_provided", AuthenticationError),
    ("invalid_organization", AuthenticationError),
    ("account_deactivated", AuthenticationError),
    ("unsupported_country_region_territory", AuthenticationError),
    ("model_not_found", ModelNotFound),
    ("deployment_not_found", ModelNotFound),
    ("DeploymentNotFound", ModelNotFound),
    ("NotFoundError", ModelNotFound),
    ("context_length_exceeded", ContextLengthExceeded),
    ("string_above_max_length", ContextLengthExceeded),
    ("exceed_context_size_error", ContextLengthExceeded),
    ("insufficient_quota", BillingError),
    ("billing_hard_limit_reached", BillingError),
    ("billing_not_active", BillingError),
    ("insufficient_balance", BillingError),
    ("usage_limit_reached", QuotaExceeded),
    ("rate_limit_exceeded", RateLimited),
    ("too_many_requests", RateLimited),
    ("engine_overloaded", Overloaded),
    ("engine_overloaded_error", Overloaded),
    ("server_overloaded", Overloaded),
    ("server_is_overloaded", Overloaded),
    ("service_unavailable_error", Overloaded),
    ("slow_down", Overloaded),
    ("invalid_function_parameters", InvalidRequest),
    // Google
    ("API_KEY_INVALID", AuthenticationError),
    ("UNAUTHENTICATED", AuthenticationError),
    ("PERMISSION_DENIED", AuthenticationError),
    ("NOT_FOUND", ModelNotFound),
    ("FAILED_PRECONDITION", BillingError),
    ("RESOURCE_EXHAUSTED", RateLimited),
    ("UNAVAILABLE", Overloaded),
    ("DEADLINE_EXCEEDED", Timeout),
];

/// Phrases in error messages, for failures without an error code.
const PHRASES: [(ProviderKind, &str, ModelErrorCode); 14] = [
    (ProviderKind::Anthropic, "prompt is too long", ContextLengthExceeded),
    (ProviderKind::Anthropic, "exceed context limit", ContextLengthExceeded),
    (ProviderKind::Anthropic, "credit balance is too low", BillingError),
    (ProviderKind::OpenAi, "Input tokens exceed the configured limit", ContextLengthExceeded),
    (ProviderKind::OpenAi, "exceeds the context window", ContextLengthExceeded),
    // vLLM, LM Studio, Groq, llama.cpp
    (ProviderKind::OpenAiCompatible, "maximum context length", ContextLengthExceeded),
    (ProviderKind::OpenAiCompatible, "greater than the context length", ContextLengthExceeded),
    (ProviderKind::OpenAiCompatible, "reduce the length of the messages", ContextLengthExceeded),
    (ProviderKind::OpenAiCompatible, "exceeds the available context size", ContextLengthExceeded),
    (ProviderKind::Gemini, "exceeds the maximum number of tokens allowed", ContextLengthExceeded),
    (ProviderKind::Ollama, "exceeds the context length", ContextLengthExceeded),
    (ProviderKind::Ollama, "exceeds maximum context length", ContextLengthExceeded),
    (ProviderKind::Ollama, "exceeds the available context size", ContextLengthExceeded),
    (ProviderKind::Ollama, "usage limit", QuotaExceeded),
];

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ModelFailure {
    Retryable(Fault),
    Final(SessionEnd),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct CallContext<'a> {
    pub provider: &'a Provider,
    pub model: &'a str,
    pub now: Timestamp,
    /// Whether the provider has replied in this run.
    pub has_answered: bool,
}

/// Classifies an error of the library.
pub(crate) fn classify(error: &genai::Error, notes: &StreamNotes, context: CallContext<'_>) -> ModelFailure {
    match error {
        genai::Error::WebStream { error, .. } => {
            if let Some(inner) = error.downcast_ref::<genai::Error>() {
                return classify(inner, notes, context);
            }
            let cause = innermost(error.as_ref());
            if cause.is::<std::str::Utf8Error>() || cause.is::<std::string::FromUtf8Error>() {
                let message = format!("The model service sent text that is not UTF-8: {cause}.");
                return ModelFailure::new(InvalidResponse, message, None, context);
            }
            ModelFailure::new(NetworkError, connection_sentence(error.as_ref()), None, context)
        }
        genai::Error::HttpError { status, body, headers, .. } => {
            http(status.as_u16(), headers, &ProviderError::from_body(body), context)
        }
        genai::Error::ChatResponse { .. } if notes.refused => refused(),
        genai::Error::ChatResponse { body, .. } => broken_off(&ProviderError::from_value(body), context),
        genai::Error::StreamParse { serde_error, .. } => broken_json(&serde_error.to_string(), context),
        genai::Error::JsonValueExt(error) => broken_json(&first_line(&error.to_string()), context),
        other => ModelFailure::new(Unknown, first_line(&other.to_string()), None, context),
    }
}

/// The failure that the service reported in the stream and the library dropped.
pub(crate) fn noted_failure(notes: &StreamNotes, context: CallContext<'_>) -> Option<ModelFailure> {
    match &notes.error {
        Some(error) => Some(broken_off(&ProviderError::from_value(error), context)),
        None => notes.broken.then(|| broken_json("a frame of the stream is truncated", context)),
    }
}

/// What came in place of a model's reply, given the beginning of the body; `None` if there was a part of a reply
/// or nothing that is known.
pub(crate) fn instead_of_stream(
    notes: &StreamNotes,
    start: &str,
    context: CallContext<'_>,
) -> Option<ModelFailure> {
    if notes.has_events {
        return None;
    }
    let found = web_page::describe_other_content(start)?;
    let message = format!("The model service answered with {found} in place of a model's reply.");
    // A service that has replied before is cut off by something in between, such as a network login.
    let fault = if context.has_answered { Fault::outage } else { Fault::transient };
    let fault = fault(FaultLayer::Model, InvalidResponse.as_str(), message);
    Some(ModelFailure::Retryable(fault.hint(web_page::hint(context.provider))))
}

pub(crate) fn cut_off(context: CallContext<'_>) -> ModelFailure {
    ModelFailure::new(
        NetworkError,
        "The model service closed the stream in the middle of a reply.".into(),
        None,
        context,
    )
}

pub(crate) fn transport_failed(failure: &TransportFailure, context: CallContext<'_>) -> ModelFailure {
    let (code, message) = match failure {
        TransportFailure::Silent(limit) => {
            let limit = autonoe_core::duration::format(*limit);
            (Timeout, format!("The model service stopped responding: it sent nothing for {limit}."))
        }
        TransportFailure::Broken(error) => (NetworkError, connection_sentence(error.as_ref())),
        TransportFailure::TooLong(excess) => (Timeout, format!("The model service {excess} for one reply.")),
    };
    ModelFailure::new(code, message, None, context)
}

/// A conversation that is not sent.
pub(crate) fn too_large(limit: u64) -> SessionEnd {
    let message = format!("The conversation is larger than {} MiB.", limit >> 20);
    let fault = Fault::transient(FaultLayer::Model, ContextLengthExceeded.as_str(), message);
    SessionEnd::ExecutionError { fault }
}

/// A stream of keep-alives only.
pub(crate) fn keep_alives_only(limit: Duration) -> ModelFailure {
    let limit = autonoe_core::duration::format(limit);
    timed_out(format!("The model service sent nothing but keep-alives for {limit}."))
}

pub(crate) fn too_slow(limit: Duration) -> ModelFailure {
    let limit = autonoe_core::duration::format(limit);
    timed_out(format!("The model service did not complete its reply within {limit}."))
}

/// Not retried, since another attempt would take as long.
fn timed_out(message: String) -> ModelFailure {
    ModelFailure::Final(SessionEnd::ExecutionError {
        fault: Fault::outage(FaultLayer::Model, Timeout.as_str(), message),
    })
}

pub(crate) fn empty(context: CallContext<'_>) -> ModelFailure {
    ModelFailure::new(InvalidResponse, "The model service sent an empty reply.".into(), None, context)
}

/// A reply whose stop reason is an error.
pub(crate) fn broken(reason: &str, context: CallContext<'_>) -> ModelFailure {
    let code = if reason == WINDOW_FULL { ContextLengthExceeded } else { InvalidResponse };
    ModelFailure::new(code, format!("The model service aborted the reply: {reason}."), None, context)
}

fn refused() -> ModelFailure {
    let message = "The model service refused to answer because of the content.";
    let fault = Fault::transient(FaultLayer::Model, "refused", message);
    ModelFailure::Final(SessionEnd::ExecutionError { fault })
}

fn broken_json(detail: &str, context: CallContext<'_>) -> ModelFailure {
    ModelFailure::new(
        InvalidResponse,
        format!("The model service sent malformed JSON: {detail}."),
        None,
        context,
    )
}

fn http(status: u16, headers: &HeaderMap, error: &ProviderError, context: CallContext<'_>) -> ModelFailure {
    let code = code(Some(status), error, context.provider.kind);
    let retry_after = retry_after::read(headers, context.now).or(error.wait);
    if code != BillingError
        && let Some(failure) = out_of_quota(code, headers, retry_after, error, context)
    {
        return failure;
    }
    if let Some(page) = &error.page {
        return answered_by_page(status, code, page, retry_after, context);
    }
    let message = match code {
        ModelNotFound => {
            format!("The model '{}' is unknown to the model service ({}).", context.model, error.message)
        }
        ProviderNotConfigured => {
            let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("another address");
            let message = format!("The model service answered {status} with a redirect to {to}.");
            if context.has_answered {
                return intercepted(message, context);
            }
            message
        }
        _ => format!("The model service answered {status}: {}", sentence(&error.message)),
    };
    ModelFailure::new(code, message, retry_after, context)
}

/// An error response that is an HTML page. It does not come from the model API, so it says nothing about the
/// model or the key.
fn answered_by_page(
    status: u16,
    code: ModelErrorCode,
    page: &WebPage,
    retry_after: Option<Duration>,
    context: CallContext<'_>,
) -> ModelFailure {
    let message = format!(
        "The model service answered {status} with {} (HTML), not with an API response.",
        page.describe()
    );
    if code.is_retried() {
        let fault = if code.is_outage() { Fault::outage } else { Fault::transient };
        let fault = fault(FaultLayer::Model, code.as_str(), message).retry_after(retry_after);
        return ModelFailure::Retryable(fault.hint(web_page::hint(context.provider)));
    }
    // A proxy's page about a request that is too large is about the request.
    if context.has_answered && code != ContextLengthExceeded {
        return intercepted(message, context);
    }
    let code = if code == ModelNotFound { ProviderNotConfigured } else { code };
    let fault =
        Fault::permanent(FaultLayer::Config, code.as_str(), message).hint(web_page::hint(context.provider));
    ModelFailure::Final(SessionEnd::ExecutionError { fault })
}

/// Something between us and a service that has replied before answers in its place, such as a network login.
fn intercepted(message: String, context: CallContext<'_>) -> ModelFailure {
    let fault = Fault::outage(FaultLayer::Model, NetworkError.as_str(), message);
    ModelFailure::Retryable(fault.hint(web_page::hint(context.provider)))
}

fn broken_off(error: &ProviderError, context: CallContext<'_>) -> ModelFailure {
    let code = code(None, error, context.provider.kind);
    if let Some(failure) = out_of_quota(code, &HeaderMap::new(), error.wait, error, context) {
        return failure;
    }
    let message = format!("The model service reported an error: {}", sentence(&error.message));
    ModelFailure::new(code, message, error.wait, context)
}

fn code(status: Option<u16>, error: &ProviderError, kind: ProviderKind) -> ModelErrorCode {
    let by_phrase = PHRASES
        .iter()
        .find(|(provider, phrase, _)| *provider == kind && error.message.contains(phrase))
        .map(|(_, _, meaning)| *meaning);
    let by_code = error
        .codes
        .iter()
        .find_map(|code| CODES.iter().find(|(known, _)| known == code).map(|(_, meaning)| *meaning));
    by_code.or(by_phrase).unwrap_or_else(|| status.map_or(ServerError, by_status))
}

fn by_status(status: u16) -> ModelErrorCode {
    match status {
        300..=399 => ProviderNotConfigured,
        401 | 403 => AuthenticationError,
        402 => BillingError,
        404 => ModelNotFound,
        408 | 504 => Timeout,
        413 => ContextLengthExceeded,
        429 => RateLimited,
        503 | 529 => Overloaded,
        500..=599 => ServerError,
        400..=499 => InvalidRequest,
        _ => Unknown,
    }
}

/// A quota is exhausted when the provider says so in a header, by a code or in its message, or asks for a
/// long wait.
fn out_of_quota(
    code: ModelErrorCode,
    headers: &HeaderMap,
    retry_after: Option<Duration>,
    error: &ProviderError,
    context: CallContext<'_>,
) -> Option<ModelFailure> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let rejected = header("anthropic-ratelimit-unified-status") == Some("rejected");
    let daily = error.daily && code == RateLimited;
    let notice = read_quota_message(&error.message, context.now, &TimeZone::UTC);
    let long_wait = retry_after.filter(|wait| code == RateLimited && *wait > LONGEST_RATE_LIMIT);
    if !rejected && !daily && code != QuotaExceeded && notice.is_none() && long_wait.is_none() {
        return None;
    }
    let by_header = header("anthropic-ratelimit-unified-reset")
        .and_then(|text| text.parse().ok())
        .and_then(|seconds| Timestamp::from_second(seconds).ok());
    let after = |wait: Duration| context.now.checked_add(SignedDuration::try_from(wait).ok()?).ok();
    let resets_at = by_header
        .or_else(|| notice.and_then(|notice| notice.resets.at()))
        .or_else(|| daily.then(|| end_of_googles_day(context.now)).flatten())
        .or_else(|| long_wait.and_then(after));
    Some(ModelFailure::Final(SessionEnd::QuotaExceeded { message: error.message.clone(), resets_at }))
}

fn end_of_googles_day(now: Timestamp) -> Option<Timestamp> {
    let zone = TimeZone::get(GOOGLE_ZONE).ok()?;
    Some(now.to_zoned(zone).tomorrow().ok()?.start_of_day().ok()?.timestamp())
}

impl ModelFailure {
    fn new(
        code: ModelErrorCode,
        message: String,
        retry_after: Option<Duration>,
        context: CallContext<'_>,
    ) -> Self {
        let name = code.as_str();
        if code.is_retried() {
            let fault = if code.is_outage() { Fault::outage } else { Fault::transient };
            return Self::Retryable(fault(FaultLayer::Model, name, message).retry_after(retry_after));
        }
        let fault = match hint(code, context) {
            Some(hint) => Fault::permanent(FaultLayer::Config, name, message).hint(hint),
            None => Fault::transient(FaultLayer::Model, name, message),
        };
        Self::Final(SessionEnd::ExecutionError { fault })
    }
}

/// What a person can do about it; `None` where a new session may succeed.
fn hint(code: ModelErrorCode, context: CallContext<'_>) -> Option<String> {
    let Provider { name, kind, .. } = context.provider;
    match code {
        AuthenticationError => {
            let built_in = name == kind.name();
            let variables = kind.key_variable().zip(kind.base_url_variable()).filter(|_| built_in);
            let settings = match variables {
                Some((key, url)) => format!("{key} and {url}"),
                None => format!("the key and the base URL of the provider '{name}'"),
            };
            Some(format!("Check {settings}; `autonoe doctor` shows what is set."))
        }
        ModelNotFound if *kind == ProviderKind::Ollama => {
            Some(format!("Run `ollama pull {}`, or choose another model with --model.", context.model))
        }
        ModelNotFound => Some("Choose another model with --model or --plan-model.".into()),
        BillingError => Some("Add credit to the account, or use another key.".into()),
        ProviderNotConfigured => Some(format!("Correct the base URL of the provider '{name}'.")),
        ProviderNotSupported
        | RateLimited
        | ContextLengthExceeded
        | NetworkError
        | Timeout
        | InvalidResponse
        | InvalidRequest
        | Overloaded
        | ServerError
        | QuotaExceeded
        | Unknown => None,
    }
}

/// The text with a full stop, unless it ends with punctuation.
fn sentence(text: &str) -> String {
    let ends = text.ends_with(['.', '!', '?', '…', ':', ';']);
    if ends { text.to_owned() } else { format!("{text}.") }
}

fn connection_sentence(error: &(dyn std::error::Error + 'static)) -> String {
    format!("The model service cannot be reached: {}.", first_line(&innermost(error).to_string()))
}

/// The innermost cause, such as "Connection refused", which is the one a person understands.
fn innermost<'a>(error: &'a (dyn std::error::Error + 'static)) -> &'a (dyn std::error::Error + 'static) {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause
}
