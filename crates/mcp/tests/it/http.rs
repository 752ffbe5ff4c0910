//! Servers over HTTP: the requests they receive, and the problems that are reported.

use autonoe_mcp::McpServers;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::McpFixture;

/// Answers one request with `answer`. Returns the URL and a task that yields the request.
async fn serve(answer: impl Into<String>) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let answer = answer.into();
    let first = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 64 * 1024];
        let count = stream.read(&mut request).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request[..count]).into_owned()
    });
    (url, first)
}

async fn connect(config: Value) -> McpServers {
    McpFixture::new().settled(config).await
}

#[tokio::test]
async fn headers_are_sent_and_their_rejection_is_reported() {
    let challenge = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n";
    let (url, request) = serve(challenge).await;
    let headers = json!({"X-Key": "secret", "Authorization": "Bearer token"});
    let servers = connect(json!({"type": "http", "url": url, "headers": headers})).await;
    let request = request.await.unwrap().to_lowercase();
    assert!(
        request.contains("x-key: secret") && request.contains("authorization: bearer token"),
        "{request}"
    );
    assert_eq!(
        servers.problems(),
        ["MCP server `x` could not be started: it rejected the `Authorization` header of its configuration."]
    );
}

#[tokio::test]
async fn a_required_login_is_reported_with_the_command() {
    let (url, _) =
        serve("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n").await;
    let servers = connect(json!({"type": "http", "url": url})).await;
    assert_eq!(
        servers.problems(),
        [
            "MCP server `x` could not be started: it requires a login; log in with `autonoe mcp login x`, or put a \
          token into its headers."
        ]
    );
}

#[tokio::test]
async fn other_kinds_of_authorization_are_sent_unchanged() {
    let (url, request) = serve("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n").await;
    let servers =
        connect(json!({"type": "http", "url": url, "headers": {"Authorization": "Basic abc"}})).await;
    assert!(request.await.unwrap().to_lowercase().contains("authorization: basic abc"));
    let problems = servers.problems();
    assert!(problems.len() == 1 && problems[0].contains("500"), "{problems:?}");
}

#[tokio::test]
async fn headers_are_not_sent_to_another_host() {
    let other_host = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let other_address = other_host.local_addr().unwrap();
    let (url, _) =
        serve(format!("HTTP/1.1 307 Go\r\nLocation: http://{other_address}/\r\nContent-Length: 0\r\n\r\n"))
            .await;
    let servers = connect(json!({"type": "http", "url": url, "headers": {"X-Key": "secret"}})).await;
    let problems = servers.problems();
    assert!(problems.len() == 1 && problems[0].contains("another host is not followed"), "{problems:?}");
    let connection = tokio::time::timeout(std::time::Duration::ZERO, other_host.accept()).await;
    assert!(connection.is_err(), "nothing connected");
}

#[tokio::test]
async fn an_unreachable_server_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let problems = connect(json!({"type": "http", "url": url})).await.problems();
    assert!(problems.len() == 1 && problems[0].contains("Connection refused"), "{problems:?}");
}

#[tokio::test]
async fn a_web_page_instead_of_a_server_is_reported() {
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello";
    let (url, _) = serve(page).await;
    let problems = connect(json!({"type": "http", "url": url})).await.problems();
    assert!(problems.len() == 1 && problems[0].contains("text/html"), "{problems:?}");
}

#[tokio::test]
async fn an_invalid_header_is_reported() {
    let headers = json!({"bad name": "x"});
    let problems =
        connect(json!({"type": "http", "url": "http://127.0.0.1:1/", "headers": headers})).await.problems();
    assert_eq!(
        problems,
        ["MCP server `x` could not be started: `headers.bad name` is not a valid header name."]
    );
}
