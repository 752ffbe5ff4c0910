//! HTML where an API response is expected: a captive portal, a proxy's error page, a wrong base URL.

use autonoe_core::fault::Remedy;
use autonoe_model::Model;

use crate::stub::{response, serve};
use crate::support::{THINKERS, ask, fault, provider, quick};

const PAGE: &str =
    "<!DOCTYPE html>\n<html><head><title>Sign in to Guest Wi-Fi</title></head>\n\n<body>Hello</body></html>";

#[tokio::test]
async fn a_web_page_is_named_and_the_hint_mentions_base_url_and_proxy() {
    for (kind, name) in THINKERS {
        for (status, remedy) in [
            ("200 OK", Remedy::Retry),
            ("502 Bad Gateway", Remedy::Retry),
            ("511 Network Authentication Required", Remedy::Retry),
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

#[tokio::test]
async fn a_refused_key_is_reported_as_a_sentence() {
    let refused = r#"{"error":{"type":"authentication_error","message":"invalid key"}}"#;
    let (address, _) = serve(vec![response("401 Unauthorized", "application/json", refused)]);
    let (kind, name) = THINKERS[0];
    let fault = fault(ask(&Model::open(&provider(kind, &address), name, &quick()).unwrap()).await);
    assert_eq!(fault.remedy, Remedy::Person);
    assert!(fault.message.ends_with("401: invalid key."), "{fault}");
}
