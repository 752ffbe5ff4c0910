use std::io::ErrorKind;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use autonoe_core::fault::Fault;
use autonoe_notify::Signer;
use autonoe_sandbox::HostPattern;
use autonoe_workflow::system_host::{WebhookTiming, Webhooks, check_allowed};
use autonoe_workflow::{HostEffects, WebhookMessage, faults};
use ring::hmac;
use serde_json::json;

use crate::host_fixture::HostFixture;
use crate::webhook_server::{CannedResponse, WebhookServer};

const SECRET: &str = "a secret that nobody sees";

fn hosts(written: &[&str]) -> Vec<HostPattern> {
    written.iter().map(|host| host.parse().unwrap()).collect()
}

/// Notifies a server, without pauses between attempts.
async fn notify(server: &WebhookServer, time_limit: Duration) -> Result<(), Fault> {
    let mut fixture = HostFixture::new();
    fixture.host.webhooks = Webhooks {
        hosts: hosts(&[&format!("127.0.0.1:{}", server.port)]),
        signer: Some(Signer::new(SECRET)),
        proxy: None,
        timing: WebhookTiming { time_limit, pauses: vec![Duration::ZERO; 2] },
    };
    let url = format!("http://127.0.0.1:{}/hooks/a?token=hidden", server.port);
    fixture.host.notify(&WebhookMessage { url, body: json!({"step": "build", "reason": "it failed"}) }).await
}

/// Much longer than any test here needs.
const LONG: Duration = Duration::from_secs(60);

/// エスカレーション契約: webhook: 外部サービスに通知
#[tokio::test]
async fn a_webhook_gets_the_message_as_json_with_a_valid_signature() {
    let server = WebhookServer::start(&[CannedResponse::Head("204 No Content")]).await;
    notify(&server, LONG).await.unwrap();
    let requests = server.requests();
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
        .expect("a valid signature");
}

#[tokio::test]
async fn a_transient_failure_is_retried_with_the_same_delivery_id() {
    for responses in [
        &[CannedResponse::Head("500 Oops"), CannedResponse::Head("200 OK")],
        &[CannedResponse::Head("429 Slower"), CannedResponse::Head("202 Accepted")],
    ] {
        let server = WebhookServer::start(responses).await;
        notify(&server, LONG).await.unwrap();
        let requests = server.requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].headers["x-autonoe-delivery"], requests[1].headers["x-autonoe-delivery"]);
        assert_eq!(requests[0].body, requests[1].body);
    }
}

/// Asserts that a server was not notified after this many attempts, and that the fault contains no secrets.
#[track_caller]
fn assert_not_notified(result: Result<(), Fault>, server: &WebhookServer, tries: usize, reason: &str) {
    let fault = result.unwrap_err();
    assert_eq!(fault.code, faults::NOT_NOTIFIED.code);
    assert_eq!(server.requests().len(), tries, "{fault}");
    let times = if tries == 1 { "once".to_owned() } else { format!("{tries} times") };
    for part in [&format!("127.0.0.1:{}", server.port), &times, reason] {
        assert!(fault.message.contains(part), "{fault} lacks {part}");
    }
    for hidden in [SECRET, "hidden", "/hooks"] {
        assert!(!format!("{fault:?}").contains(hidden), "{fault:?}");
    }
}

#[tokio::test]
async fn a_persistent_failure_is_reported_after_three_attempts() {
    let server = WebhookServer::start(&[CannedResponse::Head("503 Later")]).await;
    assert_not_notified(notify(&server, LONG).await, &server, 3, "503");
}

#[tokio::test]
async fn a_webhook_that_never_answers_times_out() {
    let server = WebhookServer::start(&[CannedResponse::Never]).await;
    let result = notify(&server, Duration::from_millis(500)).await;
    assert_not_notified(result, &server, 3, "no answer within 0.5 s");
}

#[tokio::test]
async fn a_permanent_rejection_is_not_retried() {
    for (answer, reason) in [
        (&[CannedResponse::Head("404 Not Found")], "404"),
        (&[CannedResponse::Head("401 Unauthorized")], "401"),
        (&[CannedResponse::Head("410 Gone")], "410"),
    ] {
        let server = WebhookServer::start(answer).await;
        assert_not_notified(notify(&server, LONG).await, &server, 1, reason);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = WebhookServer::start(&[CannedResponse::Head("307 FakeHost\r\nLocation: /elsewhere")]).await;
    assert_not_notified(notify(&server, LONG).await, &server, 1, "redirects are not followed");
}

#[tokio::test]
async fn the_body_of_the_response_is_not_waited_for() {
    let server = WebhookServer::start(&[CannedResponse::EndlessBody]).await;
    notify(&server, LONG).await.unwrap();
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_unreachable_webhook_is_reported() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut fixture = HostFixture::new();
    fixture.host.webhooks.hosts = hosts(&[&format!("127.0.0.1:{port}")]);
    fixture.host.webhooks.timing.pauses.clear();
    let message = WebhookMessage { url: format!("http://127.0.0.1:{port}/?token=hidden"), body: json!({}) };
    let fault = fixture.host.notify(&message).await.unwrap_err();
    assert_eq!(fault.code, faults::NOT_NOTIFIED.code);
    assert!(fault.message.contains("once") && !fault.message.contains("hidden"), "{fault}");
}

#[tokio::test]
async fn a_host_that_is_not_allowed_is_refused_without_a_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut fixture = HostFixture::new();
    fixture.host.webhooks.hosts = hosts(&["127.0.0.1", "hooks.example.org", "127.0.0.1:1"]);
    let message = WebhookMessage { url: format!("http://127.0.0.1:{port}/?token=hidden"), body: json!({}) };
    let fault = fixture.host.notify(&message).await.unwrap_err();
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
        ("hooks.example.org", faults::CONFIGURATION_VALIDATION, "is invalid"),
        ("", faults::CONFIGURATION_VALIDATION, "is invalid"),
        ("https://hooks.example.org@evil.example/", faults::CONFIGURATION_VALIDATION, "before evil.example"),
        ("https://a:hidden@hooks.example.org/", faults::CONFIGURATION_VALIDATION, "before hooks.example.org"),
    ] {
        let fault = check_allowed(url, &allowed).expect_err(url);
        assert_eq!(fault.code, class.code, "{url}: {fault}");
        assert!(fault.message.contains(wanted) && !fault.message.contains("hidden"), "{url}: {fault}");
        assert!(fault.hint.is_some());
    }
    assert!(check_allowed("https://hooks.example.org/", &[]).is_err(), "no host is allowed by default");
}
