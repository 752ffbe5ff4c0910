//! Failures that are not retried, or that retries did not fix: their codes and remedies.

use std::net::TcpListener;
use std::time::Duration;

use autonoe_core::fault::{FaultLayer, Remedy};
use autonoe_model::{Model, ProviderKind};

use crate::support::{ask, ask_watched, fault, model, model_at, provider, quick, retries, serve_fault};

/// The first call and three retries.
const ALL_TRIES: usize = 4;

fn status(status: u16, message: &str) -> String {
    format!("{{ kind = 'status', status = {status}, message = '{message}', times = 100 }}")
}

#[tokio::test]
async fn failures_that_need_a_person_are_not_retried() {
    let no_credit = "Your credit balance is too low to access the Anthropic API.";
    for (failure, code, hint) in [
        (status(401, "invalid x-api-key"), "authentication_error", "ANTHROPIC_API_KEY"),
        (status(403, "forbidden"), "authentication_error", "ANTHROPIC_API_KEY"),
        (status(404, "model: claude-sonnet-5"), "model_not_found", "--model"),
        (status(400, no_credit), "billing_error", "credit"),
        (status(402, "payment required"), "billing_error", "credit"),
    ] {
        let server = serve_fault(&failure);
        let fault = fault(ask(&model(&server)).await);
        assert_eq!(fault.code, code, "{failure}");
        assert_eq!((fault.layer, fault.remedy), (FaultLayer::Config, Remedy::Person), "{failure}");
        assert!(fault.hint.as_ref().is_some_and(|text| text.contains(hint)), "{fault:?}");
        assert_eq!(server.requests().len(), 1, "{failure}");
    }
}

#[tokio::test]
async fn a_message_names_the_status_the_model_and_the_services_message() {
    let server = serve_fault(&status(401, "invalid x-api-key"));
    let unauthorized = fault(ask(&model(&server)).await).message;
    assert!(unauthorized.contains("401") && unauthorized.contains("invalid x-api-key"), "{unauthorized}");
    assert!(!unauthorized.contains("test-key"), "{unauthorized}");
    let server = serve_fault(&status(404, "no such model"));
    let unknown = fault(ask(&model_at(&server.base_url(), "claude-imaginary", &quick())).await).message;
    assert!(unknown.contains("claude-imaginary") && unknown.contains("no such model"), "{unknown}");
}

#[tokio::test]
async fn failures_that_need_a_new_session_are_not_retried_here() {
    for (failure, code) in [
        (status(400, "prompt is too long: 250000 tokens > 200000 maximum"), "context_length_exceeded"),
        (
            status(400, "input length and `max_tokens` exceed context limit: 1 + 2 > 3"),
            "context_length_exceeded",
        ),
        (status(413, "Request exceeds the maximum size"), "context_length_exceeded"),
        (status(400, "messages: something else"), "invalid_request"),
        (status(422, "unprocessable"), "invalid_request"),
    ] {
        let server = serve_fault(&failure);
        let fault = fault(ask(&model(&server)).await);
        assert_eq!(fault.code, code, "{failure}");
        assert_eq!((fault.layer, fault.remedy), (FaultLayer::Model, Remedy::Retry), "{failure}");
        assert_eq!(server.requests().len(), 1, "{failure}");
    }
}

#[tokio::test]
async fn persistent_failures_are_reported_after_three_retries() {
    for (failure, code) in [
        (status(408, "request timeout"), "timeout"),
        (status(429, "slow down"), "rate_limited"),
        (status(500, "internal error"), "server_error"),
        (status(503, "unavailable"), "overloaded"),
        (status(529, "overloaded"), "overloaded"),
        ("{ kind = 'cut', times = 100 }".to_owned(), "network_error"),
        ("{ kind = 'malformed', times = 100 }".to_owned(), "invalid_response"),
    ] {
        let server = serve_fault(&failure);
        let (result, progress) = ask_watched(&model(&server)).await;
        let fault = fault(result);
        assert_eq!(fault.code, code, "{failure}: {}", fault.message);
        let remedy = if code == "invalid_response" { Remedy::Retry } else { Remedy::Wait };
        assert_eq!((fault.layer, fault.remedy), (FaultLayer::Model, remedy), "{failure}");
        assert_eq!(server.requests().len(), ALL_TRIES, "{failure}");
        let announced: Vec<(u32, &str)> =
            retries(&progress).into_iter().map(|(retry, _, fault)| (retry, fault.code.as_str())).collect();
        assert_eq!(announced, [(1, code), (2, code), (3, code)], "{failure}");
    }
}

#[tokio::test]
async fn silence_is_a_timeout() {
    let server = serve_fault("{ kind = 'silence', times = 100 }");
    let tuning = autonoe_model::Tuning { idle_timeout: Duration::from_millis(100), ..quick() };
    let (result, progress) = ask_watched(&model_at(&server.base_url(), "sonnet", &tuning)).await;
    let fault = fault(result);
    assert_eq!(fault.code, "timeout");
    assert_eq!(fault.remedy, Remedy::Wait);
    assert!(fault.message.contains("stopped responding"), "{}", fault.message);
    assert_eq!(retries(&progress).len() + 1, ALL_TRIES);
}

#[tokio::test]
async fn an_unreachable_service_is_reported() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (result, progress) = ask_watched(&model_at(&format!("http://{closed}"), "sonnet", &quick())).await;
    let fault = fault(result);
    assert_eq!((fault.code.as_str(), fault.remedy), ("network_error", Remedy::Wait));
    assert!(fault.message.contains("cannot be reached: Connection refused"), "{}", fault.message);
    assert_eq!(retries(&progress).len(), 3);
}

#[test]
fn an_invalid_base_url_is_a_fault_not_a_panic() {
    for base_url in ["not a url", "http://", "ftp://127.0.0.1"] {
        let anthropic = provider(ProviderKind::Anthropic, base_url);
        let fault = Model::open(&anthropic, "sonnet", &quick()).expect_err(base_url);
        assert_eq!(
            (fault.layer, fault.code.as_str()),
            (FaultLayer::Config, "provider_not_configured"),
            "{base_url}"
        );
        assert!(fault.message.contains(base_url), "{}", fault.message);
    }
}
