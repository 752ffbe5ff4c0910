//! Routes to providers, with the key inserted by the proxy.

use autonoe_egress::{Egress, EgressRules, Key, Route};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{OriginServer, allowing, ask, client, listen, ok, read_until, start, status, within};

const SECRET: &str = "sk-real-0123456789";

fn with_route(base_url: &str, key: Key) -> Egress {
    let routes = vec![Route::new("provider", base_url, key).unwrap()];
    start(EgressRules { routes, ..EgressRules::default() })
}

fn api_key() -> Key {
    Key::header("x-api-key", SECRET).unwrap()
}

/// The path prefix of the route.
fn path(egress: &Egress) -> String {
    let url = egress.route_url("provider").unwrap();
    url.strip_prefix(&egress.proxy_url()).unwrap().to_owned()
}

#[tokio::test]
async fn the_real_key_replaces_the_key_of_the_client() {
    within(async {
        for (key, header) in [
            (api_key(), format!("x-api-key: {SECRET}")),
            (Key::bearer(SECRET).unwrap(), format!("authorization: Bearer {SECRET}")),
            (Key::header("X-Goog-Api-Key", SECRET).unwrap(), format!("x-goog-api-key: {SECRET}")),
        ] {
            let origin = OriginServer::start(ok("fine")).await;
            let egress = with_route(&format!("http://{}/base", origin.address), key);
            let answer = ask(
                &egress,
                format!(
                    "POST {}/v1/messages?key=dummy&alt=sse HTTP/1.1\r\nHost: x\r\nX-Api-Key: dummy\r\n\
                     Authorization: Bearer dummy\r\nX-GOOG-API-KEY: dummy\r\nAccept-Encoding: gzip\r\nX-Version: 1\r\n\
                     Connection: close, x-api-key, x-hop\r\nX-Hop: dummy\r\nProxy-Authorization: dummy\r\nContent-Length: 2\r\n\r\n{{}}",
                    path(&egress)
                ),
            )
            .await;
            assert!(answer.ends_with("\r\n\r\nfine"), "{answer}");
            let request = origin.only_request();
            assert!(request.starts_with("POST /base/v1/messages?alt=sse HTTP/1.1\r\n"), "{request}");
            assert!(request.contains(&format!("\r\n{header}\r\n")), "{request}");
            assert!(request.contains(&format!("\r\nhost: {}\r\n", origin.address)), "{request}");
            assert!(request.contains("\r\nx-version: 1\r\n") && request.ends_with("\r\n\r\n{}"), "{request}");
            assert!(!request.contains("dummy") && !request.contains("gzip"), "{request}");
            assert_eq!(request.matches(SECRET).count(), 1, "{request}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_route_also_works_for_clients_that_use_the_proxy_for_loopback() {
    within(async {
        let origin = OriginServer::start(ok("fine")).await;
        let egress = with_route(&format!("http://{}", origin.address), api_key());
        let url = egress.route_url("provider").unwrap();
        let answer = ask(&egress, format!("GET {url}/v1/models HTTP/1.1\r\nConnection: close\r\n\r\n")).await;
        assert_eq!(status(&answer), 200, "{answer}");
        let request = origin.only_request().to_lowercase();
        assert!(request.starts_with("get /v1/models http/1.1\r\n"), "{request}");
        assert!(!request.contains("content-length") && !request.contains("transfer-encoding"), "{request}");
    })
    .await;
}

#[tokio::test]
async fn events_are_streamed_one_by_one() {
    within(async {
        let (listener, address) = listen().await;
        let egress = with_route(&format!("http://{address}"), api_key());
        let mut client = client(&egress).await;
        client.write_all(format!("GET {}/events HTTP/1.1\r\n\r\n", path(&egress)).as_bytes()).await.unwrap();
        let (mut origin, _) = listener.accept().await.unwrap();
        read_until(&mut origin, "\r\n\r\n").await;
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        origin.write_all(head.as_bytes()).await.unwrap();
        // Each event is sent only after the previous one has arrived.
        for event in ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"] {
            origin.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await.unwrap();
            let arrived = read_until(&mut client, event).await;
            assert!(!arrived.starts_with("HTTP") || arrived.contains("content-type: text/event-stream\r\n"));
        }
        // A truncated stream must not look like a complete one.
        drop(origin);
        let mut rest = Vec::new();
        let _ = client.read_to_end(&mut rest).await;
        assert!(!rest.ends_with(b"0\r\n\r\n"), "{rest:?}");
    })
    .await;
}

#[tokio::test]
async fn request_bodies_are_streamed() {
    within(async {
        let (listener, address) = listen().await;
        let egress = with_route(&format!("http://{address}"), api_key());
        let mut client = client(&egress).await;
        let head = format!("POST {}/files HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", path(&egress));
        client.write_all(head.as_bytes()).await.unwrap();
        client.write_all(b"5\r\nfirst\r\n").await.unwrap();
        let (mut origin, _) = listener.accept().await.unwrap();
        read_until(&mut origin, "first").await;
        client.write_all(b"6\r\nsecond\r\n0\r\n\r\n").await.unwrap();
        read_until(&mut origin, "0\r\n\r\n").await;
        origin.write_all(ok("stored").as_bytes()).await.unwrap();
        read_until(&mut client, "stored").await;
    })
    .await;
}

#[tokio::test]
async fn large_bodies_arrive_whole() {
    within(async {
        let origin = OriginServer::start("HTTP/1.1 200 OK\r\n\r\n{request}").await;
        let egress = with_route(&format!("http://{}", origin.address), api_key());
        let body = "0123456789abcdef".repeat(128 * 1024);
        let head = format!("POST {}/files HTTP/1.0\r\nContent-Length: {}", path(&egress), body.len());
        let mut connection = client(&egress).await;
        let (mut read, mut write) = connection.split();
        let request = format!("{head}\r\n\r\n{body}");
        let mut answer = String::new();
        let (sent, received) =
            tokio::join!(write.write_all(request.as_bytes()), read.read_to_string(&mut answer));
        sent.unwrap();
        received.unwrap();
        assert!(origin.only_request().ends_with(&format!("\r\n\r\n{body}")));
        assert_eq!(answer.matches("0123456789abcdef").count(), 128 * 1024);
    })
    .await;
}

#[tokio::test]
async fn the_key_is_redacted_from_the_response() {
    within(async {
        let echo = format!("HTTP/1.1 200 OK\r\nX-Echo: key={SECRET}\r\nConnection: close\r\n\r\n{{request}}");
        let origin = OriginServer::start(echo).await;
        let egress = with_route(&format!("http://{}", origin.address), Key::bearer(SECRET).unwrap());
        let answer =
            ask(&egress, format!("GET {}/echo HTTP/1.1\r\nConnection: close\r\n\r\n", path(&egress))).await;
        assert!(origin.only_request().contains(SECRET));
        assert!(
            answer.contains("authorization: Bearer ****") && answer.contains("x-echo: key=****"),
            "{answer}"
        );
        assert!(!answer.contains(SECRET), "{answer}");
        assert!(!format!("{egress:?}").contains(SECRET));
        let trace = ask(&egress, format!("TRACE {}/ HTTP/1.1\r\n\r\n", path(&egress))).await;
        assert_eq!(status(&trace), 501);
    })
    .await;
}

#[tokio::test]
async fn responses_pass_through_unchanged() {
    within(async {
        for (answer, expected) in [
            (
                "HTTP/1.1 302 Found\r\nLocation: http://evil.example/\r\nContent-Length: 0\r\n\r\n",
                "location: http://evil.example/",
            ),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", "\r\n\r\nabc"),
            ("HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 3\r\n\r\nabc", "retry-after: 7"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "content-length: 3\r\n"),
            ("HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n", "x-a: 1"),
        ] {
            let origin = OriginServer::start(answer).await;
            let egress = with_route(&format!("http://{}", origin.address), api_key());
            let got =
                ask(&egress, format!("GET {}/ HTTP/1.1\r\nConnection: close\r\n\r\n", path(&egress))).await;
            assert_eq!(status(&got), status(answer));
            assert!(got.contains(expected), "{got}");
            origin.only_request();
        }
    })
    .await;
}

#[tokio::test]
async fn only_the_route_itself_is_served() {
    within(async {
        let origin = OriginServer::start(ok("reached")).await;
        let egress = with_route(&format!("http://{}/base", origin.address), api_key());
        let path = path(&egress);
        let token = path.split('/').nth(1).unwrap();
        assert_eq!(token.len(), 32);
        for (path, expected) in [
            ("/".to_owned(), 404),
            ("/provider/v1".to_owned(), 404),
            (format!("/{token}"), 404),
            (format!("/{token}/"), 404),
            (format!("/{token}/other/v1"), 404),
            (format!("/{token}/provider2/v1"), 404),
            (format!("/{token}/provider@evil.example/v1"), 404),
            (format!("/{token}/%70rovider/v1"), 404),
            (format!("//{token}/provider/v1"), 404),
            (format!("/{}/provider/v1", "0".repeat(32)), 404),
            (format!("{path}/../secret"), 400),
            (format!("{path}/v1/%2e%2e/../secret"), 400),
        ] {
            let answer = ask(&egress, format!("GET {path} HTTP/1.1\r\n\r\n")).await;
            assert_eq!(status(&answer), expected, "{path}");
            assert!(expected != 404 || answer.contains("the only way out of the sandbox"), "{answer}");
        }
        let upgrade = format!("GET {path}/ws HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
        assert_eq!(status(&ask(&egress, upgrade).await), 501);
        assert_eq!(origin.requests(), [""; 0]);
        assert_eq!(egress.route_url("other"), None);
        // A route does not allow its host for other requests.
        let direct = ask(&egress, format!("CONNECT {} HTTP/1.1\r\n\r\n", origin.address)).await;
        assert_eq!(status(&direct), 403);
    })
    .await;
}

#[tokio::test]
async fn an_unreachable_provider_is_a_bad_gateway() {
    within(async {
        let (listener, address) = listen().await;
        drop(listener);
        let egress = with_route(&format!("http://{address}"), api_key());
        let answer = ask(&egress, format!("GET {}/ HTTP/1.1\r\n\r\n", path(&egress))).await;
        assert_eq!(status(&answer), 502);
        assert!(
            answer.contains("The provider of the route `provider` cannot be reached: Connection refused"),
            "{answer}"
        );
    })
    .await;
}

#[test]
fn two_routes_with_the_same_name_are_rejected() {
    let route = Route::new("a", "http://127.0.0.1", api_key()).unwrap();
    let rules = EgressRules { routes: vec![route.clone(), route], ..allowing(&[]) };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = Egress::start(listener, rules.into()).unwrap_err();
    assert_eq!(error.to_string(), "two routes have the name `a`");
}
