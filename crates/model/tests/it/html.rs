//! HTML where an API response is expected: a captive portal, a proxy's error page, a wrong base URL.

use std::io::Write;
use std::net::TcpListener;

use autonoe_core::fault::Remedy;
use autonoe_model::{Model, ModelClient, ProviderKind};
use serde_json::json;

use crate::stub::{read_request, response, serve};
use crate::support::{THINKERS, ask, fault, provider, quick};

const PAGE: &str =
    "<!DOCTYPE html>\n<html><head><title>Sign in to Guest Wi-Fi</title></head>\n\n<body>Hello</body></html>";

#[tokio::test]
async fn a_web_page_is_named_and_the_hint_mentions_base_url_and_proxy() {
    for (kind, name) in THINKERS {
        for (status, remedy) in [
            ("200 OK", Remedy::Retry),
            ("502 Bad Gateway", Remedy::Wait),
            ("503 Service Unavailable", Remedy::Wait),
            ("511 Network Authentication Required", Remedy::Wait),
            ("302 Found", Remedy::Person),
            ("403 Forbidden", Remedy::Person),
            ("404 Not Found", Remedy::Person),
        ] {
            let (address, _) = serve(vec![response(status, "text/html; charset=utf-8", PAGE); 8]);
            let model = Model::open(&provider(kind, &address), name, &quick()).unwrap();
            let fault = fault(ask(&model).await);
            let hint = fault.hint.clone().unwrap_or_default();
            let page = "a web page, 'Sign in to Guest Wi-Fi' (HTML)";
            assert!(fault.message.contains(page), "{kind} {status}: {fault}");
            assert!(status == "200 OK" || fault.message.contains(&status[..3]), "{kind} {status}: {fault}");
            assert!(!fault.message.contains("is unknown"), "{kind} {status}: {fault}");
            assert!(hint.contains(&address) && hint.contains("proxy"), "{kind} {status}: {hint}");
            assert_eq!(fault.remedy, remedy, "{kind} {status}");
        }
    }
}

#[tokio::test]
async fn a_stream_of_comments_is_not_a_web_page() {
    let silent = response("200 OK", "text/event-stream", ": ping\n\n: ping\n\n");
    let (address, _) = serve(vec![silent; 8]);
    let (kind, name) = THINKERS[0];
    let model = Model::open(&provider(kind, &address), name, &quick()).unwrap();
    let fault = fault(ask(&model).await);
    assert!(fault.message.contains("closed the stream"), "{fault}");
}

#[tokio::test]
async fn json_that_is_not_a_stream_is_named() {
    for (kind, name) in THINKERS {
        let (address, _) = serve(vec![response("200 OK", "application/json", "{\"hello\": 1}\n"); 4]);
        let fault = fault(ask(&Model::open(&provider(kind, &address), name, &quick()).unwrap()).await);
        assert!(fault.message.contains("JSON that is not a stream, '{\"hello\": 1}'"), "{kind}: {fault}");
        let hint = fault.hint.unwrap_or_default();
        assert!(hint.contains(&address) && hint.contains("proxy"), "{kind}: {hint}");
    }
}

/// What answers in place of a service that worked before is a network login or a broken proxy.
#[tokio::test]
async fn a_page_from_a_service_that_has_replied_is_an_outage() {
    let reply = [
        json!({ "message": { "role": "assistant", "content": "Yes." }, "done": false }),
        json!({ "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop" }),
    ];
    let reply: String = reply.iter().map(|line| format!("{line}\n")).collect();
    let redirect = "HTTP/1.1 302 Found\r\nlocation: http://login.invalid/\r\ncontent-length: 0\r\n\
                    connection: close\r\n\r\n";
    for answer in ["200 OK", "302 Found", "401 Unauthorized", "403 Forbidden", "404 Not Found"]
        .map(|status| response(status, "text/html", PAGE))
        .into_iter()
        .chain([redirect.to_owned()])
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let first = response("200 OK", "application/x-ndjson", &reply);
        let later = answer.clone();
        std::thread::spawn(move || {
            for answer in std::iter::once(first).chain(std::iter::repeat(later)) {
                let (mut stream, _) = listener.accept().unwrap();
                read_request(&stream);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let models = ModelClient::new().unwrap();
        let provider = provider(ProviderKind::Ollama, &address);
        let text = ask(&models.open(&provider, "qwen3", &quick()).unwrap()).await.expect("a reply").text;
        assert_eq!(text.as_deref(), Some("Yes."));
        let fault = fault(ask(&models.open(&provider, "qwen3", &quick()).unwrap()).await);
        assert_eq!(fault.remedy, Remedy::Wait, "{answer}: {fault}");
        assert!(fault.hint.unwrap_or_default().contains("network login"), "{answer}");
    }
}

#[tokio::test]
async fn a_refused_key_is_reported_as_a_sentence() {
    let refused = r#"{"error":{"type":"authentication_error","message":"invalid key"}}"#;
    let (address, _) = serve(vec![response("401 Unauthorized", "application/json", refused)]);
    let (kind, name) = THINKERS[0];
    let fault = fault(ask(&Model::open(&provider(kind, &address), name, &quick()).unwrap()).await);
    assert_eq!(fault.remedy, Remedy::Person);
    assert!(fault.message.ends_with("401: invalid key."), "{fault}");
}
