//! Failures that no retry fixes, or that retries did not fix: their codes, and who can do something about them.

use std::net::TcpListener;
use std::time::Duration;

use autonoe_core::fault::{Layer, Remedy};
use autonoe_model::{Model, ProviderKind};

use crate::support::{ask, ask_watched, fault, model, model_at, provider, quick, retries, serve_fault};

/// The first call and three retries.
const ALL_TRIES: usize = 4;

fn status(status: u16, message: &str) -> String {
    format!("{{ kind = 'status', status = {status}, message = '{message}', times = 100 }}")
}

#[tokio::test]
async fn what_a_person_must_mend_is_lasting_and_asked_once() {
    let poor = "Your credit balance is too low to access the Anthropic API.";
    for (failure, code, hint) in [
        (status(401, "invalid x-api-key"), "authentication_error", "ANTHROPIC_API_KEY"),
        (status(403, "forbidden"), "authentication_error", "ANTHROPIC_API_KEY"),
        (status(404, "model: claude-sonnet-5"), "model_not_found", "--model"),
        (status(400, poor), "billing_error", "credit"),
        (status(402, "payment required"), "billing_error", "credit"),
    ] {
        let server = serve_fault(&failure);
        let fault = fault(ask(&model(&server)).await);
        assert_eq!(fault.code, code, "{failure}");
        assert_eq!((fault.layer, fault.remedy), (Layer::Config, Remedy::Person), "{failure}");
        assert!(fault.hint.as_ref().is_some_and(|text| text.contains(hint)), "{fault:?}");
        assert_eq!(server.requests().len(), 1, "{failure}");
    }
}

#[tokio::test]
async fn a_message_names_the_status_the_model_and_the_services_own_words() {
    let server = serve_fault(&status(401, "invalid x-api-key"));
    let unauthorized = fault(ask(&model(&server)).await).message;
    assert!(unauthorized.contains("401") && unauthorized.contains("invalid x-api-key"), "{unauthorized}");
    assert!(!unauthorized.contains("test-key"), "{unauthorized}");
    let server = serve_fault(&status(404, "no such model"));
    let unknown = fault(ask(&model_at(&server.base_url(), "claude-imaginary", &quick())).await).message;
    assert!(unknown.contains("claude-imaginary") && unknown.contains("no such model"), "{unknown}");
}

#[tokio::test]
async fn what_a_new_session_may_mend_is_passing_but_not_retried_here() {
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
        assert_eq!((fault.layer, fault.remedy), (Layer::Model, Remedy::Retry), "{failure}");
        assert_eq!(server.requests().len(), 1, "{failure}");
    }
}

#[tokio::test]
async fn what_stays_broken_is_given_up_after_three_retries() {
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
        let (result, told) = ask_watched(&model(&server)).await;
        let fault = fault(result);
        assert_eq!(fault.code, code, "{failure}: {}", fault.message);
        let remedy = if code == "invalid_response" { Remedy::Retry } else { Remedy::Wait };
        assert_eq!((fault.layer, fault.remedy), (Layer::Model, remedy), "{failure}");
        assert_eq!(server.requests().len(), ALL_TRIES, "{failure}");
        let announced: Vec<(u32, &str)> =
            retries(&told).into_iter().map(|(retry, _, fault)| (retry, fault.code.as_str())).collect();
        assert_eq!(announced, [(1, code), (2, code), (3, code)], "{failure}");
    }
}

#[tokio::test]
async fn silence_is_a_timeout() {
    let server = serve_fault("{ kind = 'silence', times = 100 }");
    let tuning = autonoe_model::Tuning { idle_timeout: Duration::from_millis(100), ..quick() };
    let fault = fault(ask(&model_at(&server.base_url(), "sonnet", &tuning)).await);
    assert_eq!(fault.code, "timeout");
    assert_eq!(fault.remedy, Remedy::Wait);
    assert!(fault.message.contains("silent"), "{}", fault.message);
    assert_eq!(server.requests().len(), ALL_TRIES);
}

#[tokio::test]
async fn a_service_that_cannot_be_reached_is_said_to_be_so() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (result, told) = ask_watched(&model_at(&format!("http://{closed}"), "sonnet", &quick())).await;
    let fault = fault(result);
    assert_eq!((fault.code.as_str(), fault.remedy), ("network_error", Remedy::Wait));
    assert!(fault.message.contains("cannot be reached: Connection refused"), "{}", fault.message);
    assert_eq!(retries(&told).len(), 3);
}

#[test]
fn an_address_that_is_none_is_a_fault_and_no_panic() {
    for base_url in ["not a url", "http://", "ftp://127.0.0.1"] {
        let anthropic = provider(ProviderKind::Anthropic, base_url);
        let fault = Model::open(&anthropic, "sonnet", &quick()).expect_err(base_url);
        assert_eq!(
            (fault.layer, fault.code.as_str()),
            (Layer::Config, "provider_not_configured"),
            "{base_url}"
        );
        assert!(fault.message.contains(base_url), "{}", fault.message);
    }
}
