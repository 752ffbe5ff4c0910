//! The WebFetch tool, with test servers.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::TcpListener;

use autonoe_tools::{MAX_FETCH_BYTES, ToolErrorCode, ToolOptions};
use serde_json::json;

use crate::support::ToolFixture;

/// Starts a server that answers each request by its path, and returns its address.
fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(count @ 1..) => request.extend_from_slice(&buffer[..count]),
                    _ => break,
                }
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default();
            let _ = stream.write_all(&answer(path));
        }
    });
    address
}

fn page(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn fixture_with_host(address: &str) -> ToolFixture {
    ToolFixture::with_options(&ToolOptions { web_hosts: vec![address.to_owned()], ..ToolOptions::default() })
}

#[tokio::test]
async fn pages_are_returned_as_text() {
    let address = serve(|path| match path {
        "/html" => page("200 OK", "Content-Type: text/html\r\n", "<h1>Hello</h1><script>no</script><p>World"),
        "/latin" => page("200 OK", "Content-Type: text/plain; charset=latin1\r\n", b"caf\xe9"),
        "/pdf" => {
            page("200 OK", "Content-Type: application/pdf\r\n", crate::rich_files::pdf(&["from the web"]))
        }
        "/image" => page("200 OK", "Content-Type: image/png\r\n", b"\x89PNG"),
        "/large" => page("200 OK", "Content-Type: text/plain\r\n", "x".repeat(MAX_FETCH_BYTES + 10)),
        "/empty" => page("200 OK", "Content-Type: text/html\r\n", ""),
        "/moved" => page("302 Found", "Location: /html\r\n", ""),
        "/loop" => page("302 Found", "Location: /loop\r\n", ""),
        "/away" => page("301 Moved", "Location: https://elsewhere.example/x\r\n", ""),
        "/slow-down" => page("429 Too Many Requests", "Content-Type: text/plain\r\n", "later"),
        _ => page("404 Not Found", "Content-Type: text/html\r\n", "<p>nothing here"),
    });
    let fixture = fixture_with_host(&address);
    let fetch =
        async |path: &str| fixture.call("WebFetch", json!({"url": format!("http://{address}{path}")})).await;
    assert_eq!(fetch("/html").await.output, "# Hello\n\nWorld");
    assert_eq!(fetch("/moved").await.output, "# Hello\n\nWorld");
    assert_eq!(fetch("/latin").await.output, "café");
    let pdf = if cfg!(feature = "pdf") { "from the web" } else { "without the feature `pdf`" };
    assert!(fetch("/pdf").await.output.contains(pdf));
    assert_eq!(fetch("/empty").await.output, "(the page has no text)");
    let large = fetch("/large").await;
    assert!(large.output.contains("saved at ") && large.output.contains("only its start was read"));
    let away = fetch("/away").await;
    assert!(
        !away.is_error() && away.output.contains("redirects to another host: https://elsewhere.example/x")
    );
    for (path, code, text) in [
        ("/no", ToolErrorCode::NotFound, "404 Not Found\nnothing here"),
        ("/slow-down", ToolErrorCode::RateLimited, "later"),
        ("/image", ToolErrorCode::ValidationError, "it is not text, but image/png"),
    ] {
        let output = fetch(path).await;
        assert_eq!(output.error_code(), Some(code), "{}", output.output);
        assert!(output.output.contains(text), "{}", output.output);
    }
    // A loop stops at the limit and is reported as a redirect.
    assert!(fetch("/loop").await.output.contains("redirects"));
}

#[tokio::test]
async fn invalid_urls_are_rejected() {
    let fixture = fixture_with_host("example.com");
    for (url, text) in [
        ("", "is not a valid URL"),
        ("example.com", "is not a valid URL"),
        ("file:///etc/passwd", "must start with http"),
        ("ftp://example.com/", "must start with http"),
        ("https://user:pass@example.com/", "must not contain a user name"),
    ] {
        let error = fixture.fails("WebFetch", json!({"url": url}), ToolErrorCode::ValidationError).await;
        assert!(error.contains(text), "{url}: {error}");
    }
    let long = format!("https://example.com/{}", "x".repeat(10_000));
    assert!(fixture.error("WebFetch", json!({"url": long})).await.contains("is too long"));
}

#[tokio::test]
async fn without_a_sandbox_only_hosts_of_permission_rules_are_fetched() {
    let address = serve(|_| page("200 OK", "Content-Type: text/plain\r\n", "never"));
    let fixture = fixture_with_host("example.com");
    for url in
        [format!("http://{address}/"), "https://example.com:8443/".into(), "https://a.example.com/".into()]
    {
        let error = fixture.fails("WebFetch", json!({"url": url}), ToolErrorCode::PermissionDenied).await;
        assert!(error.contains("only hosts that a permission rule names"), "{error}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = fixture_with_host(&address)
        .fails("WebFetch", json!({"url": format!("http://{address}/")}), ToolErrorCode::IoError)
        .await;
    assert!(error.contains("could not be fetched"), "{error}");
}

#[tokio::test]
async fn a_host_that_the_egress_proxy_refuses_is_reported_with_the_reason() {
    let fixture = ToolFixture::with_bubblewrap();
    for url in ["https://refused.example/x", "http://refused.example/x", "https://refused.example:8443/"] {
        let error = fixture.fails("WebFetch", json!({"url": url}), ToolErrorCode::PermissionDenied).await;
        assert!(error.contains("refused.example"), "{error}");
    }
    let refused = fixture.session_sandbox.refusals().await;
    assert!(refused.iter().all(|refusal| refusal.host == "refused.example") && !refused.is_empty());
}

#[tokio::test]
async fn nothing_outside_is_reached_without_the_egress_proxy() {
    let address = serve(|_| page("200 OK", "Content-Type: text/plain\r\n", "the secret"));
    let fixture = ToolFixture::with_bubblewrap();
    let output = fixture.call("WebFetch", json!({"url": format!("http://{address}/")})).await;
    assert!(output.is_error() && !output.output.contains("the secret"), "{}", output.output);
}
