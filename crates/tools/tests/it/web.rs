//! WebFetch, from servers of our own.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::TcpListener;

use autonoe_tools::{MAX_FETCH_BYTES, ToolErrorCode, ToolOptions};
use serde_json::json;

use crate::support::Bench;

/// Answers each request by its path.
fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
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
    place
}

fn page(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn bench(place: &str) -> Bench {
    Bench::with_options(&ToolOptions { web_hosts: vec![place.to_owned()], ..ToolOptions::default() })
}

#[tokio::test]
async fn pages_are_given_as_text() {
    let place = serve(|path| match path {
        "/html" => page("200 OK", "Content-Type: text/html\r\n", "<h1>Hello</h1><script>no</script><p>World"),
        "/latin" => page("200 OK", "Content-Type: text/plain; charset=latin1\r\n", b"caf\xe9"),
        "/pdf" => page("200 OK", "Content-Type: application/pdf\r\n", crate::rich::pdf(&["from the web"])),
        "/image" => page("200 OK", "Content-Type: image/png\r\n", b"\x89PNG"),
        "/large" => page("200 OK", "Content-Type: text/plain\r\n", "x".repeat(MAX_FETCH_BYTES + 10)),
        "/empty" => page("200 OK", "Content-Type: text/html\r\n", ""),
        "/moved" => page("302 Found", "Location: /html\r\n", ""),
        "/loop" => page("302 Found", "Location: /loop\r\n", ""),
        "/away" => page("301 Moved", "Location: https://elsewhere.example/x\r\n", ""),
        "/slow-down" => page("429 Too Many Requests", "Content-Type: text/plain\r\n", "later"),
        _ => page("404 Not Found", "Content-Type: text/html\r\n", "<p>nothing here"),
    });
    let bench = bench(&place);
    let fetch =
        async |path: &str| bench.call("WebFetch", json!({"url": format!("http://{place}{path}")})).await;
    assert_eq!(fetch("/html").await.output, "# Hello\n\nWorld");
    assert_eq!(fetch("/moved").await.output, "# Hello\n\nWorld");
    assert_eq!(fetch("/latin").await.output, "café");
    assert!(fetch("/pdf").await.output.contains("from the web"));
    assert_eq!(fetch("/empty").await.output, "(the page has no text)");
    let large = fetch("/large").await;
    assert!(large.output.contains("saved at ") && large.output.contains("only its beginning was read"));
    let away = fetch("/away").await;
    assert!(
        !away.is_error() && away.output.contains("redirects to another host: https://elsewhere.example/x")
    );
    for (path, code, said) in [
        ("/no", ToolErrorCode::NotFound, "404 Not Found\nnothing here"),
        ("/slow-down", ToolErrorCode::RateLimited, "later"),
        ("/image", ToolErrorCode::ValidationError, "it is not text, but image/png"),
    ] {
        let output = fetch(path).await;
        assert_eq!(output.error_code(), Some(code), "{}", output.output);
        assert!(output.output.contains(said), "{}", output.output);
    }
    // It ends, and is told as what it is: another redirection.
    assert!(fetch("/loop").await.output.contains("redirects"));
}

#[tokio::test]
async fn addresses_that_are_none_are_told() {
    let bench = bench("example.com");
    for (url, said) in [
        ("", "is not an address"),
        ("example.com", "is not an address"),
        ("file:///etc/passwd", "must begin with http"),
        ("ftp://example.com/", "must begin with http"),
        ("https://user:pass@example.com/", "may not hold a user name"),
    ] {
        let error = bench.fails("WebFetch", json!({"url": url}), ToolErrorCode::ValidationError).await;
        assert!(error.contains(said), "{url}: {error}");
    }
    let long = format!("https://example.com/{}", "x".repeat(10_000));
    assert!(bench.error("WebFetch", json!({"url": long})).await.contains("is too long"));
}

#[tokio::test]
async fn without_a_sandbox_only_named_hosts_are_asked() {
    let place = serve(|_| page("200 OK", "Content-Type: text/plain\r\n", "never"));
    let bench = bench("example.com");
    for url in
        [format!("http://{place}/"), "https://example.com:8443/".into(), "https://a.example.com/".into()]
    {
        let error = bench.fails("WebFetch", json!({"url": url}), ToolErrorCode::PermissionDenied).await;
        assert!(error.contains("only hosts that a permission rule names"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = bench(&place)
        .fails("WebFetch", json!({"url": format!("http://{place}/")}), ToolErrorCode::IoError)
        .await;
    assert!(error.contains("could not be fetched"), "{error}");
}

#[tokio::test]
async fn a_host_that_the_egress_refuses_is_refused_with_its_reason() {
    let bench = Bench::with_bubblewrap();
    for url in ["https://refused.example/x", "http://refused.example/x", "https://refused.example:8443/"] {
        let error = bench.fails("WebFetch", json!({"url": url}), ToolErrorCode::PermissionDenied).await;
        assert!(error.contains("refused.example"), "{error}");
    }
    let refused = bench.session_sandbox.refusals().await;
    assert!(refused.iter().all(|refusal| refusal.host == "refused.example") && !refused.is_empty());
}

#[tokio::test]
async fn what_is_outside_is_not_reached_around_the_egress() {
    let place = serve(|_| page("200 OK", "Content-Type: text/plain\r\n", "the secret"));
    let bench = Bench::with_bubblewrap();
    let output = bench.call("WebFetch", json!({"url": format!("http://{place}/")})).await;
    assert!(output.is_error() && !output.output.contains("the secret"), "{}", output.output);
}
