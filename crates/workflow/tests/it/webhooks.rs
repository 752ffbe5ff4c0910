use std::io::ErrorKind;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use autonoe_core::fault::Fault;
use autonoe_sandbox::HostPattern;
use autonoe_workflow::machine::{Patience, Signer, Webhooks, check_allowed};
use autonoe_workflow::{HostEffects, Notice, faults};
use ring::hmac;
use serde_json::json;

use crate::service::{Answer, Service};
use crate::support::Bench;

const SECRET: &str = "a secret that nobody sees";

fn hosts(written: &[&str]) -> Vec<HostPattern> {
    written.iter().map(|host| host.parse().unwrap()).collect()
}

/// Tells a service, without pauses between tries.
async fn notify(service: &Service, time_limit: Duration) -> Result<(), Fault> {
    let mut bench = Bench::new();
    bench.machine.webhooks = Webhooks {
        hosts: hosts(&[&format!("127.0.0.1:{}", service.port)]),
        signer: Some(Signer::new(SECRET)),
        proxy: None,
        patience: Patience { time_limit, pauses: vec![Duration::ZERO; 2] },
    };
    let url = format!("http://127.0.0.1:{}/hooks/a?token=hidden", service.port);
    bench.machine.notify(&Notice { url, body: json!({"step": "build", "reason": "it failed"}) }).await
}

/// Far above what anything here needs.
const LONG: Duration = Duration::from_secs(60);

/// エスカレーション契約: webhook: 外部サービスに通知
#[tokio::test]
async fn a_service_gets_the_message_as_json_with_a_signature_that_is_right() {
    let service = Service::start(&[Answer::Head("204 No Content")]).await;
    notify(&service, LONG).await.unwrap();
    let requests = service.requests();
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert_eq!(request.line, "POST /hooks/a?token=hidden HTTP/1.1");
    assert_eq!(request.body, r#"{"step":"build","reason":"it failed"}"#);
    assert_eq!(request.headers["content-type"], "application/json");
    assert_eq!(request.headers["user-agent"], concat!("autonoe/", env!("CARGO_PKG_VERSION")));
    assert_eq!(request.headers["x-autonoe-delivery"].len(), 32);
    let timestamp = &request.headers["x-autonoe-timestamp"];
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert!(timestamp.parse::<u64>().unwrap().abs_diff(now) < 600, "{timestamp}");
    let signature = request.headers["x-autonoe-signature"].strip_prefix("sha256=").unwrap();
    let bytes: Vec<u8> = (0..signature.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&signature[at..at + 2], 16).unwrap())
        .collect();
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    hmac::verify(&key, format!("{timestamp}.{}", request.body).as_bytes(), &bytes)
        .expect("the signature is right");
}

#[tokio::test]
async fn a_failure_that_may_pass_is_tried_again_as_the_same_delivery() {
    for answers in [
        &[Answer::Head("500 Oops"), Answer::Head("200 OK")],
        &[Answer::Head("429 Slower"), Answer::Head("202 Accepted")],
    ] {
        let service = Service::start(answers).await;
        notify(&service, LONG).await.unwrap();
        let requests = service.requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].headers["x-autonoe-delivery"], requests[1].headers["x-autonoe-delivery"]);
        assert_eq!(requests[0].body, requests[1].body);
    }
}

/// Asserts that a service was not notified in so many tries, and that nothing is said that nobody should know.
#[track_caller]
fn assert_not_notified(told: Result<(), Fault>, service: &Service, tries: usize, reason: &str) {
    let fault = told.unwrap_err();
    assert_eq!(fault.code, faults::NOT_NOTIFIED.code);
    assert_eq!(service.requests().len(), tries, "{fault}");
    let times = if tries == 1 { "once".to_owned() } else { format!("{tries} times") };
    for part in [&format!("127.0.0.1:{}", service.port), &times, reason] {
        assert!(fault.message.contains(part), "{fault} lacks {part}");
    }
    for hidden in [SECRET, "hidden", "/hooks"] {
        assert!(!format!("{fault:?}").contains(hidden), "{fault:?}");
    }
}

#[tokio::test]
async fn a_failure_that_does_not_pass_is_told_after_three_tries() {
    let service = Service::start(&[Answer::Head("503 Later")]).await;
    assert_not_notified(notify(&service, LONG).await, &service, 3, "503");
}

#[tokio::test]
async fn a_service_that_never_answers_is_given_up() {
    let service = Service::start(&[Answer::Never]).await;
    let told = notify(&service, Duration::from_millis(500)).await;
    assert_not_notified(told, &service, 3, "no answer within 0.5 s");
}

#[tokio::test]
async fn a_refusal_is_not_tried_again() {
    for (answer, reason) in [
        (&[Answer::Head("404 Not Found")], "404"),
        (&[Answer::Head("401 Unauthorized")], "401"),
        (&[Answer::Head("410 Gone")], "410"),
    ] {
        let service = Service::start(answer).await;
        assert_not_notified(notify(&service, LONG).await, &service, 1, reason);
    }
}

#[tokio::test]
async fn a_redirection_is_not_followed() {
    let service = Service::start(&[Answer::Head("307 Elsewhere\r\nLocation: /elsewhere")]).await;
    assert_not_notified(notify(&service, LONG).await, &service, 1, "no redirection is followed");
}

#[tokio::test]
async fn what_a_service_answers_beside_its_status_is_not_waited_for() {
    let service = Service::start(&[Answer::Endlessly]).await;
    notify(&service, LONG).await.unwrap();
    assert_eq!(service.requests().len(), 1);
}

#[tokio::test]
async fn a_service_that_is_not_there_is_told() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut bench = Bench::new();
    bench.machine.webhooks.hosts = hosts(&[&format!("127.0.0.1:{port}")]);
    bench.machine.webhooks.patience.pauses.clear();
    let notice = Notice { url: format!("http://127.0.0.1:{port}/?token=hidden"), body: json!({}) };
    let fault = bench.machine.notify(&notice).await.unwrap_err();
    assert_eq!(fault.code, faults::NOT_NOTIFIED.code);
    assert!(fault.message.contains("once") && !fault.message.contains("hidden"), "{fault}");
}

#[tokio::test]
async fn a_host_that_is_not_allowed_is_refused_without_a_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut bench = Bench::new();
    bench.machine.webhooks.hosts = hosts(&["127.0.0.1", "hooks.example.org", "127.0.0.1:1"]);
    let notice = Notice { url: format!("http://127.0.0.1:{port}/?token=hidden"), body: json!({}) };
    let fault = bench.machine.notify(&notice).await.unwrap_err();
    assert_eq!(fault.code, faults::DEPENDENCY_RESOLUTION.code);
    let hint = fault.hint.clone().unwrap();
    assert!(
        hint.contains(&format!("[webhooks] hosts = [\"127.0.0.1:{port}\"]")) && hint.contains("config.toml"),
        "{hint}"
    );
    assert!(!format!("{fault:?}").contains("hidden"));
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn an_address_is_allowed_by_its_host_and_its_port() {
    let allowed =
        hosts(&["hooks.example.org", "*.example.net", "other.example.org:8443", "localhost:80", "[::1]:80"]);
    for url in [
        "https://hooks.example.org/a?b=c",
        "https://HOOKS.example.org./",
        "https://hooks.example.org:443/",
        "https://a.example.net/",
        "https://a.b.example.net/",
        "https://other.example.org:8443/",
        "http://localhost/",
        "http://[::1]/",
    ] {
        assert_eq!(check_allowed(url, &allowed), Ok(()), "{url}");
    }
    for (url, class, wanted) in [
        ("https://example.net/", faults::DEPENDENCY_RESOLUTION, "example.net"),
        ("https://hooks.example.org.evil.example/", faults::DEPENDENCY_RESOLUTION, "evil.example"),
        ("https://hooks.example.org:8443/", faults::DEPENDENCY_RESOLUTION, "hooks.example.org:8443"),
        ("https://other.example.org/", faults::DEPENDENCY_RESOLUTION, "other.example.org"),
        ("http://hooks.example.org/", faults::CONFIGURATION_VALIDATION, "https"),
        ("ftp://hooks.example.org/", faults::CONFIGURATION_VALIDATION, "https"),
        ("file:///etc/passwd", faults::CONFIGURATION_VALIDATION, "no host"),
        ("hooks.example.org", faults::CONFIGURATION_VALIDATION, "cannot be used"),
        ("", faults::CONFIGURATION_VALIDATION, "cannot be used"),
        ("https://hooks.example.org@evil.example/", faults::CONFIGURATION_VALIDATION, "before evil.example"),
        ("https://a:hidden@hooks.example.org/", faults::CONFIGURATION_VALIDATION, "before hooks.example.org"),
    ] {
        let fault = check_allowed(url, &allowed).expect_err(url);
        assert_eq!(fault.code, class.code, "{url}: {fault}");
        assert!(fault.message.contains(wanted) && !fault.message.contains("hidden"), "{url}: {fault}");
        assert!(fault.hint.is_some());
    }
    assert!(check_allowed("https://hooks.example.org/", &[]).is_err(), "nothing is allowed by itself");
}
