//! Connections through an upstream proxy.

use autonoe_egress::{Egress, EgressRules, Key, Route, UpstreamProxy};
use tokio::io::AsyncWriteExt;

use crate::support::{
    OriginServer, allowing, ask, listen, ok, open_tunnel, read_until, start, status, within,
};

/// `user:pa%40ss` as sent to the proxy.
const CREDENTIALS: &str = "proxy-authorization: Basic dXNlcjpwYUBzcw==\r\n";

fn behind(proxy: impl ToString, no_proxy: &str, rules: EgressRules) -> Egress {
    let url = format!("http://user:pa%40ss@{}", proxy.to_string());
    start(EgressRules { upstream: Some(UpstreamProxy::new(&url, no_proxy).unwrap()), ..rules })
}

fn example() -> EgressRules {
    allowing(&["*.example".to_owned()])
}

#[tokio::test]
async fn tunnels_use_the_upstream_proxy() {
    within(async {
        let (listener, proxy) = listen().await;
        let egress = behind(proxy, "", example());
        let serve = async {
            let (mut proxy, _) = listener.accept().await.unwrap();
            let head = read_until(&mut proxy, "\r\n\r\n").await;
            assert!(head.starts_with("CONNECT registry.example:443 HTTP/1.1\r\n"), "{head}");
            assert!(head.contains(CREDENTIALS) && head.contains("host: registry.example:443\r\n"), "{head}");
            proxy.write_all(b"HTTP/1.1 200 Connection established\r\n\r\nhello").await.unwrap();
            proxy
        };
        let (mut client, mut proxy) = tokio::join!(open_tunnel(&egress, "registry.example:443"), serve);
        read_until(&mut client, "hello").await;
        client.write_all(b"question").await.unwrap();
        read_until(&mut proxy, "question").await;
    })
    .await;
}

#[tokio::test]
async fn plain_http_uses_the_upstream_proxy() {
    within(async {
        let proxy = OriginServer::start(ok("hello")).await;
        let egress = behind(proxy.address, "", example());
        let request = "GET http://a.example/x?y HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: Basic mine\r\n\
                       Connection: close\r\n\r\n";
        assert!(ask(&egress, request).await.ends_with("\r\n\r\nhello"));
        let request = proxy.only_request();
        assert!(request.starts_with("GET http://a.example:80/x?y HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("host: a.example\r\n") && request.contains(CREDENTIALS), "{request}");
        assert!(!request.contains("evil") && !request.contains("mine"), "{request}");
    })
    .await;
}

#[tokio::test]
async fn routes_use_the_upstream_proxy() {
    within(async {
        let proxy = OriginServer::start(ok("hello")).await;
        let key = Key::header("x-api-key", "sk-secret").unwrap();
        let routes = vec![Route::new("provider", "http://provider.example/v1", key).unwrap()];
        let egress = behind(proxy.address, "", EgressRules { routes, ..EgressRules::default() });
        let url = egress.route_url("provider").unwrap();
        let answer = ask(&egress, format!("GET {url}/models HTTP/1.1\r\nConnection: close\r\n\r\n")).await;
        assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
        let request = proxy.only_request();
        assert!(request.starts_with("GET http://provider.example/v1/models HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("x-api-key: sk-secret\r\n") && request.contains(CREDENTIALS), "{request}");
    })
    .await;
}

#[tokio::test]
async fn patterns_are_checked_before_the_upstream_proxy_is_contacted() {
    within(async {
        let proxy = OriginServer::start(ok("reached")).await;
        let egress = behind(proxy.address, "", example());
        for (request, expected) in [
            ("CONNECT evil.org:443", 403),
            ("CONNECT a.example:22", 403),
            ("CONNECT 127.0.0.1:443", 403),
            ("CONNECT [::ffff:127.0.0.1]:443", 403),
            ("CONNECT 0x7f.1:443", 400),
            ("GET http://evil.org/", 403),
            ("GET http://169.254.169.254/", 403),
            ("GET http://2852039166/", 400),
            ("TRACE http://a.example/", 501),
        ] {
            assert_eq!(
                status(&ask(&egress, format!("{request} HTTP/1.1\r\n\r\n")).await),
                expected,
                "{request}"
            );
        }
        assert_eq!(proxy.requests(), [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn excluded_hosts_are_reached_without_it() {
    within(async {
        let proxy = OriginServer::start(ok("from the proxy")).await;
        let origin = OriginServer::start(ok("from the origin")).await;
        let rules = allowing(&[format!("localhost:{}", origin.port()), "localhost".to_owned()]);
        let egress = behind(proxy.address, "other.example, LocalHost,10.0.0.0/8", rules);
        let request =
            format!("GET http://localhost:{}/ HTTP/1.1\r\nConnection: close\r\n\r\n", origin.port());
        assert!(ask(&egress, request).await.ends_with("from the origin"));
        open_tunnel(&egress, &format!("localhost:{}", origin.port())).await;
        // Without the upstream proxy, addresses are checked again.
        assert_eq!(status(&ask(&egress, "CONNECT localhost:443 HTTP/1.1\r\n\r\n").await), 403);
        assert_eq!(proxy.requests(), [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn an_upstream_proxy_that_refuses_is_a_bad_gateway_without_credentials() {
    within(async {
        let answer = "HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n";
        let proxy = OriginServer::start(answer).await;
        let egress = behind(proxy.address, "", example());
        for request in ["CONNECT a.example:443 HTTP/1.1\r\n\r\n", "GET http://a.example/ HTTP/1.1\r\n\r\n"] {
            let answer = ask(&egress, request).await;
            assert_eq!(status(&answer), 502);
            assert!(answer.contains("a.example") && answer.contains("upstream proxy"), "{answer}");
            assert!(!answer.contains("dXNl") && !answer.contains("pa@ss"), "{answer}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_unreachable_upstream_proxy_is_a_bad_gateway() {
    within(async {
        let (listener, address) = listen().await;
        drop(listener);
        let egress = behind(address, "", example());
        let answer = ask(&egress, "CONNECT a.example:443 HTTP/1.1\r\n\r\n").await;
        assert_eq!(status(&answer), 502);
        assert!(answer.contains("The upstream proxy cannot be reached: Connection refused"), "{answer}");
    })
    .await;
}

#[test]
fn errors_for_invalid_urls_do_not_contain_the_password() {
    for (url, problem) in [
        ("https://u:hunter2@proxy.example", "must start with http://"),
        ("socks5://u:hunter2@proxy.example", "must start with http://"),
        ("http://u:hunter2@proxy.example/path", "must end after the port"),
        ("http://u:hunter2@", "is invalid"),
        ("http://u:hunter2@proxy.example:99999", "is invalid"),
        ("", "is invalid"),
    ] {
        let error = UpstreamProxy::new(url, "").unwrap_err().to_string();
        assert!(error.contains(problem) && !error.contains("hunter2"), "{url}: {error}");
    }
    let proxy = UpstreamProxy::new("u:hunter2@proxy.example:3128", "*").unwrap();
    assert!(!format!("{proxy:?}").contains("hunter2"));
}
