//! Limits in time, on a clock that jumps ahead whenever everyone waits.

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
use crate::rules::Rules;
use crate::socket::SocketRoute;
use crate::upstream::UpstreamProxy;

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn egress(rules: Rules) -> SocketAddr {
    let (listener, address) = listen().await;
    tokio::spawn(serve(listener, Arc::new(EgressProxy::new(address, rules.into()).unwrap())));
    address
}

async fn connect(egress: SocketAddr, head: &str) -> TcpStream {
    let mut client = TcpStream::connect(egress).await.unwrap();
    client.write_all(head.as_bytes()).await.unwrap();
    client
}

/// About so much has passed on the clock of the test. Before it was paused, real time had passed as well.
fn assert_took(start: Instant, expected: Duration) {
    let took = start.elapsed();
    assert!(took > expected - HEAD_LIMIT / 3 && took < expected + HEAD_LIMIT / 3, "{took:?}");
}

/// Waits for something that a limit must bring about: at once, since the clock jumps, or never.
async fn soon<T>(event: impl Future<Output = T>) -> T {
    timeout(IDLE_LIMIT * 10, event).await.unwrap()
}

async fn read_all(client: &mut TcpStream) -> String {
    let mut text = String::new();
    soon(client.read_to_string(&mut text)).await.unwrap();
    text
}

#[tokio::test]
async fn a_head_that_does_not_end_is_given_up() {
    let mut client = connect(egress(Rules::default()).await, "GET / HTTP/1.1\r\nHost: ").await;
    pause();
    let start = Instant::now();
    read_all(&mut client).await;
    assert_took(start, HEAD_LIMIT);
}

#[tokio::test]
async fn a_tunnel_that_carries_nothing_is_closed_and_one_that_does_is_not() {
    let (listener, target) = listen().await;
    let rules = Rules { allow: vec![target.to_string().parse().unwrap()], ..Rules::default() };
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
async fn a_socket_may_be_silent_for_as_long_as_a_check_takes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("calls.sock");
    let socket = tokio::net::UnixListener::bind(&path).unwrap();
    let rules = Rules { sockets: vec![SocketRoute { name: "calls".to_owned(), path }], ..Rules::default() };
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
async fn no_more_connections_are_served_at_once_than_allowed() {
    let egress = egress(Rules::default()).await;
    let mut held = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        held.push(connect(egress, "GET /").await);
    }
    let mut late = connect(egress, "GET / HTTP/1.1\r\n\r\n").await;
    pause();
    let start = Instant::now();
    assert!(read_all(&mut late).await.starts_with("HTTP/1.1 404"));
    assert_took(start, HEAD_LIMIT);
}

#[tokio::test]
async fn an_upstream_proxy_that_says_nothing_is_given_up() {
    let (listener, proxy) = listen().await;
    let rules = Rules {
        allow: vec!["a.example".parse().unwrap()],
        upstream: Some(UpstreamProxy::new(&format!("http://{proxy}"), "").unwrap()),
        ..Rules::default()
    };
    let mut client = connect(egress(rules).await, "CONNECT a.example:443 HTTP/1.1\r\n\r\n").await;
    let _silent = listener.accept().await.unwrap();
    pause();
    let start = Instant::now();
    assert!(read_all(&mut client).await.starts_with("HTTP/1.1 504"));
    assert_took(start, CONNECT_LIMIT);
}
