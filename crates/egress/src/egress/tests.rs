//! Time limits, on a paused clock that advances whenever all tasks are idle.

#![allow(clippy::unwrap_used)]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, pause, timeout};

use super::serve;
use crate::limits::{CONNECT_LIMIT, HEAD_LIMIT, IDLE_LIMIT, MAX_CONNECTIONS};
use crate::proxy::EgressProxy;
use crate::rules::EgressRules;
use crate::socket::SocketRoute;
use crate::upstream::UpstreamProxy;

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn egress(rules: EgressRules) -> SocketAddr {
    let (listener, address) = listen().await;
    tokio::spawn(serve(listener, Arc::new(EgressProxy::new(address, rules.into()).unwrap())));
    address
}

async fn connect(egress: SocketAddr, head: &str) -> TcpStream {
    let mut client = TcpStream::connect(egress).await.unwrap();
    client.write_all(head.as_bytes()).await.unwrap();
    client
}

/// Asserts that about `expected` has passed on the test's clock. The tolerance covers the real time before it was paused.
fn assert_took(start: Instant, expected: Duration) {
    let took = start.elapsed();
    assert!(took > expected - HEAD_LIMIT / 3 && took < expected + HEAD_LIMIT / 3, "{took:?}");
}

/// Waits for an effect of a limit. With the paused clock it happens at once or never.
async fn soon<T>(event: impl Future<Output = T>) -> T {
    timeout(IDLE_LIMIT * 10, event).await.unwrap()
}

async fn read_all(client: &mut TcpStream) -> String {
    let mut text = String::new();
    soon(client.read_to_string(&mut text)).await.unwrap();
    text
}

#[tokio::test]
async fn an_unfinished_head_times_out() {
    let mut client = connect(egress(EgressRules::default()).await, "GET / HTTP/1.1\r\nHost: ").await;
    pause();
    let start = Instant::now();
    read_all(&mut client).await;
    assert_took(start, HEAD_LIMIT);
}

#[tokio::test]
async fn an_idle_tunnel_is_closed_and_an_active_one_is_not() {
    let (listener, target) = listen().await;
    let rules = EgressRules { allow: vec![target.to_string().parse().unwrap()], ..EgressRules::default() };
    let mut client = connect(egress(rules).await, &format!("CONNECT {target} HTTP/1.1\r\n\r\n")).await;
    let (mut origin, _) = listener.accept().await.unwrap();
    let mut buffer = [0; 1000];
    let count = client.read(&mut buffer).await.unwrap();
    assert!(buffer[..count].starts_with(b"HTTP/1.1 200"));
    pause();
    let start = Instant::now();
    for _ in 0..3 {
        tokio::time::sleep(IDLE_LIMIT / 2).await;
        origin.write_all(b"x").await.unwrap();
        assert_eq!(client.read(&mut buffer).await.unwrap(), 1);
    }
    assert_eq!(soon(client.read(&mut buffer)).await.unwrap(), 0);
    assert_took(start, IDLE_LIMIT / 2 * 3 + IDLE_LIMIT);
}

#[tokio::test]
async fn a_socket_has_no_idle_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("calls.sock");
    let socket = tokio::net::UnixListener::bind(&path).unwrap();
    let rules = EgressRules {
        sockets: vec![SocketRoute { name: "calls".to_owned(), path }],
        ..EgressRules::default()
    };
    let (listener, address) = listen().await;
    let egress = Arc::new(EgressProxy::new(address, rules.into()).unwrap());
    let head = format!("GET /{}/calls HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", egress.token);
    tokio::spawn(serve(listener, egress));
    let mut client = connect(address, &head).await;
    let (mut ours, _) = socket.accept().await.unwrap();
    let mut buffer = [0; 1000];
    let count = client.read(&mut buffer).await.unwrap();
    assert!(buffer[..count].starts_with(b"HTTP/1.1 101"));
    pause();
    tokio::time::sleep(IDLE_LIMIT * 5).await;
    ours.write_all(b"x").await.unwrap();
    assert_eq!(soon(client.read(&mut buffer)).await.unwrap(), 1);
}

#[tokio::test]
async fn connections_over_the_maximum_wait() {
    let egress = egress(EgressRules::default()).await;
    let mut open = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        open.push(connect(egress, "GET /").await);
    }
    let mut late = connect(egress, "GET / HTTP/1.1\r\n\r\n").await;
    pause();
    let start = Instant::now();
    assert!(read_all(&mut late).await.starts_with("HTTP/1.1 404"));
    assert_took(start, HEAD_LIMIT);
}

#[tokio::test]
async fn a_silent_upstream_proxy_times_out() {
    let (listener, proxy) = listen().await;
    let rules = EgressRules {
        allow: vec!["a.example".parse().unwrap()],
        upstream: Some(UpstreamProxy::new(&format!("http://{proxy}"), "").unwrap()),
        ..EgressRules::default()
    };
    let mut client = connect(egress(rules).await, "CONNECT a.example:443 HTTP/1.1\r\n\r\n").await;
    let _silent = listener.accept().await.unwrap();
    pause();
    let start = Instant::now();
    assert!(read_all(&mut client).await.starts_with("HTTP/1.1 504"));
    assert_took(start, CONNECT_LIMIT);
}
