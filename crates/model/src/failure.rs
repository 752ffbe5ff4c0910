//! What a failed model call means: read from the provider's own codes, then from the status, and from words only where
//! a provider offers nothing else.

use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::SessionEnd;
use autonoe_core::quota;
use genai::webc::StreamTimeout;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use reqwest::header::{HeaderMap, LOCATION};

use crate::code::ModelErrorCode::{self, *};
use crate::frames::Noted;
use crate::page::{self, Page};
use crate::provider::{Provider, ProviderKind};
use crate::said::{Said, first_line};
use crate::wait;

/// A rate limit that asks for a longer wait than this is a used-up quota.
pub(crate) const LONGEST_RATE_LIMIT: Duration = Duration::from_secs(60);

/// Google's days end here.
const GOOGLE_ZONE: &str = "America/Los_Angeles";

/// How Anthropic ends a reply that had no more room.
pub(crate) const WINDOW_FULL: &str = "model_context_window_exceeded";

/// What the codes of providers mean. Those that say no more than the status, such as `invalid_request_error` and
/// `server_error`, are not here.
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
    // OpenAI, and many that speak like it
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

/// Where a provider has only words for it.
const WORDS: [(ProviderKind, &str, ModelErrorCode); 14] = [
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

/// A failed call, classified.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    /// Trying again may help.
    Passing(Fault),
    /// It ends the session.
    Final(SessionEnd),
}

/// Whom we asked for what, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    pub provider: &'a Provider,
    pub model: &'a str,
    pub now: Timestamp,
}

/// Classifies an error of the library, with what was noted of the stream.
pub(crate) fn classify(error: &genai::Error, noted: &Noted, site: Site<'_>) -> Failure {
    if let Some(failure) = noted_failure(noted, site) {
        return failure;
    }
    match error {
        genai::Error::WebStream { error, .. } => {
            if let Some(inner) = error.downcast_ref::<genai::Error>() {
                return classify(inner, noted, site);
            }
            match error.downcast_ref::<StreamTimeout>() {
                Some(phase) => {
                    Failure::new(Timeout, format!("The model service fell silent: {phase}."), None, site)
                }
                None => Failure::new(NetworkError, connection_sentence(error.as_ref()), None, site),
            }
        }
        genai::Error::HttpError { status, body, headers, .. } => {
            http(status.as_u16(), headers, &Said::in_body(body), site)
        }
        genai::Error::ChatResponse { .. } if noted.refused => refused(),
        genai::Error::ChatResponse { body, .. } => broken_off(&Said::in_value(body), site),
        genai::Error::StreamParse { serde_error, .. } => broken_json(&serde_error.to_string(), site),
        genai::Error::JsonValueExt(error) => broken_json(&first_line(&error.to_string()), site),
        other => Failure::new(Unknown, first_line(&other.to_string()), None, site),
    }
}

/// What the service itself said went wrong, where the library did not tell.
pub(crate) fn noted_failure(noted: &Noted, site: Site<'_>) -> Option<Failure> {
    if let Some(page) = &noted.page {
        return Some(page::instead_of_stream(page, site));
    }
    match &noted.error {
        Some(error) => Some(broken_off(&Said::in_value(error), site)),
        None => noted.broken.then(|| broken_json("a piece of the stream is cut short", site)),
    }
}

/// A stream that ended before the reply did.
pub(crate) fn cut_off(site: Site<'_>) -> Failure {
    Failure::new(NetworkError, "The model service broke off in the middle of a reply.".into(), None, site)
}

/// A reply that does not end.
pub(crate) fn endless(how: &str, site: Site<'_>) -> Failure {
    Failure::new(Timeout, format!("The model service {how} for one reply."), None, site)
}

/// A stream of nothing but signs of life. Another try would take as long, so it ends the session.
pub(crate) fn only_alive(limit: Duration) -> Failure {
    let message = format!(
        "The model service sent nothing but keep-alives for {}.",
        autonoe_core::duration::format(limit)
    );
    Failure::Final(SessionEnd::ExecutionError {
        fault: Fault::outage(Layer::Model, Timeout.as_str(), message),
    })
}

/// A reply with nothing in it. Silence is not success.
pub(crate) fn empty(site: Site<'_>) -> Failure {
    Failure::new(InvalidResponse, "The model service sent an empty reply.".into(), None, site)
}

/// A reply that ended for a reason that is none.
pub(crate) fn broken(reason: &str, site: Site<'_>) -> Failure {
    let code = if reason == WINDOW_FULL { ContextLengthExceeded } else { InvalidResponse };
    Failure::new(code, format!("The model service broke off its reply: {reason}."), None, site)
}

fn refused() -> Failure {
    let message = "The model service refused to answer on grounds of content.";
    let fault = Fault::passing(Layer::Model, "refused", message);
    Failure::Final(SessionEnd::ExecutionError { fault })
}

fn broken_json(what: &str, site: Site<'_>) -> Failure {
    Failure::new(InvalidResponse, format!("The model service sent broken JSON: {what}."), None, site)
}

/// An error response.
fn http(status: u16, headers: &HeaderMap, said: &Said, site: Site<'_>) -> Failure {
    let code = code(Some(status), said, site.provider.kind);
    let asked = wait::asked(headers, site.now).or(said.wait);
    if code != BillingError
        && let Some(failure) = out_of_quota(code, headers, asked, said, site)
    {
        return failure;
    }
    if let Some(page) = &said.page {
        return answered_by_page(status, code, page, asked, site);
    }
    let message = match code {
        ModelNotFound => {
            format!("The model '{}' is not known to the service ({}).", site.model, said.message)
        }
        ProviderNotConfigured => {
            let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
            format!("The model service answered {status} and points to {to}.")
        }
        _ => format!("The model service answered {status}: {}", said.message),
    };
    Failure::new(code, message, asked, site)
}

/// An error response that is a page for people. Which model or key was meant, nobody there has read.
fn answered_by_page(
    status: u16,
    code: ModelErrorCode,
    page: &Page,
    asked: Option<Duration>,
    site: Site<'_>,
) -> Failure {
    let message = format!(
        "The model service answered {status} with {} (HTML), not as a model service does.",
        page.shown()
    );
    if code.is_retried() {
        let fault = Fault::passing(Layer::Model, code.as_str(), message).retry_after(asked);
        return Failure::Passing(fault.hint(page::hint(site)));
    }
    let code = if code == ModelNotFound { ProviderNotConfigured } else { code };
    let fault = Fault::lasting(Layer::Config, code.as_str(), message).hint(page::hint(site));
    Failure::Final(SessionEnd::ExecutionError { fault })
}

/// An error within a stream.
fn broken_off(said: &Said, site: Site<'_>) -> Failure {
    let code = code(None, said, site.provider.kind);
    if let Some(failure) = out_of_quota(code, &HeaderMap::new(), said.wait, said, site) {
        return failure;
    }
    let message = format!("The model service broke off with an error: {}", said.message);
    Failure::new(code, message, said.wait, site)
}

/// What the provider's codes mean, else its words, else the status.
fn code(status: Option<u16>, said: &Said, kind: ProviderKind) -> ModelErrorCode {
    let by_words = WORDS
        .iter()
        .find(|(whose, words, _)| *whose == kind && said.message.contains(words))
        .map(|(_, _, meaning)| *meaning);
    let by_code = said
        .codes
        .iter()
        .find_map(|code| CODES.iter().find(|(known, _)| known == code).map(|(_, meaning)| *meaning));
    by_code.or(by_words).unwrap_or_else(|| status.map_or(ServerError, by_status))
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

/// A quota is used up when the provider says so in a header, by a code, in its own words, or by asking for a long wait.
fn out_of_quota(
    code: ModelErrorCode,
    headers: &HeaderMap,
    asked: Option<Duration>,
    said: &Said,
    site: Site<'_>,
) -> Option<Failure> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let rejected = header("anthropic-ratelimit-unified-status") == Some("rejected");
    let daily = said.daily && code == RateLimited;
    let notice = quota::read(&said.message, site.now, &TimeZone::UTC);
    let long_wait = asked.filter(|wait| code == RateLimited && *wait > LONGEST_RATE_LIMIT);
    if !rejected && !daily && code != QuotaExceeded && notice.is_none() && long_wait.is_none() {
        return None;
    }
    let by_header = header("anthropic-ratelimit-unified-reset")
        .and_then(|text| text.parse().ok())
        .and_then(|seconds| Timestamp::from_second(seconds).ok());
    let after = |wait: Duration| site.now.checked_add(SignedDuration::try_from(wait).ok()?).ok();
    let resets_at = by_header
        .or_else(|| notice.and_then(|notice| notice.resets.at()))
        .or_else(|| daily.then(|| end_of_googles_day(site.now)).flatten())
        .or_else(|| long_wait.and_then(after));
    Some(Failure::Final(SessionEnd::QuotaExceeded { message: said.message.clone(), resets_at }))
}

fn end_of_googles_day(now: Timestamp) -> Option<Timestamp> {
    let zone = TimeZone::get(GOOGLE_ZONE).ok()?;
    Some(now.to_zoned(zone).tomorrow().ok()?.start_of_day().ok()?.timestamp())
}

impl Failure {
    fn new(code: ModelErrorCode, message: String, asked: Option<Duration>, site: Site<'_>) -> Self {
        let name = code.as_str();
        if code.is_retried() {
            let fault = if code.is_outage() { Fault::outage } else { Fault::passing };
            return Self::Passing(fault(Layer::Model, name, message).retry_after(asked));
        }
        let fault = match hint(code, site) {
            Some(hint) => Fault::lasting(Layer::Config, name, message).hint(hint),
            None => Fault::passing(Layer::Model, name, message),
        };
        Self::Final(SessionEnd::ExecutionError { fault })
    }
}

/// What a person can do about it; none where a new session may do better.
fn hint(code: ModelErrorCode, site: Site<'_>) -> Option<String> {
    let Provider { name, kind, .. } = site.provider;
    match code {
        AuthenticationError => {
            let built_in = name == kind.name();
            let variables = kind.key_variable().zip(kind.base_url_variable()).filter(|_| built_in);
            let what = match variables {
                Some((key, url)) => format!("{key} and {url}"),
                None => format!("the key and the base URL of the provider '{name}'"),
            };
            Some(format!("Check {what}; `autonoe doctor` shows what is set."))
        }
        ModelNotFound if *kind == ProviderKind::Ollama => {
            Some(format!("Fetch it with `ollama pull {}`, or choose another one with --model.", site.model))
        }
        ModelNotFound => Some("Choose another one with --model or --plan-model.".into()),
        BillingError => Some("Add credit to the account, or use another key.".into()),
        ProviderNotConfigured => Some(format!("Set the base URL of the provider '{name}' to where it is.")),
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

/// The innermost cause is the one a person understands: "Connection refused".
fn connection_sentence(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    format!("The model service cannot be reached: {}.", first_line(&cause.to_string()))
}
