//! Socket routes: Unix sockets that programs inside the sandbox reach through the proxy.

use std::path::Path;

use autonoe_egress::{Egress, EgressRules, SocketRoute};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener};

use crate::support::{ask, client, read_until, start, status, within};

fn with_socket(path: &Path) -> Egress {
    let sockets = vec![SocketRoute { name: "calls".to_owned(), path: path.to_owned() }];
    start(EgressRules { sockets, ..EgressRules::default() })
}

/// The path of the socket route.
fn path(egress: &Egress) -> String {
    egress.route_url("calls").unwrap().strip_prefix(&egress.proxy_url()).unwrap().to_owned()
}

fn upgrade(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: lines\r\n\r\n")
}

/// A connection that has been upgraded to the socket.
async fn open(egress: &Egress) -> TcpStream {
    let mut client = client(egress).await;
    client.write_all(upgrade(&path(egress)).as_bytes()).await.unwrap();
    let head = read_until(&mut client, "\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 101 ") && head.contains("\r\nupgrade: lines\r\n"), "{head}");
    client
}

#[tokio::test]
async fn bytes_go_both_ways_and_each_side_closes_separately() {
    within(async {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("calls.sock")).unwrap();
        let egress = with_socket(&directory.path().join("calls.sock"));
        let mut client = open(&egress).await;
        let (mut ours, _) = listener.accept().await.unwrap();
        client.write_all(b"question\0\n").await.unwrap();
        client.shutdown().await.unwrap();
        let mut question = Vec::new();
        ours.read_to_end(&mut question).await.unwrap();
        assert_eq!(question, b"question\0\n");
        ours.write_all(b"answer\n").await.unwrap();
        drop(ours);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"answer\n");
    })
    .await;
}

#[tokio::test]
async fn only_the_one_socket_is_reached_and_only_by_its_path() {
    within(async {
        let directory = tempfile::tempdir().unwrap();
        let _listener = UnixListener::bind(directory.path().join("calls.sock")).unwrap();
        let other = UnixListener::bind(directory.path().join("other.sock")).unwrap();
        let egress = with_socket(&directory.path().join("calls.sock"));
        let right = path(&egress);
        let token = right.split('/').nth(1).unwrap();
        let other_path = directory.path().join("other.sock").display().to_string();
        for wrong in [
            "/calls".to_owned(),
            format!("/{}/calls", "0".repeat(token.len())),
            format!("/{token}/other"),
            format!("/{token}"),
            format!("/{token}/"),
            format!("{right}/"),
            format!("{right}/../other.sock"),
            format!("/{token}{other_path}"),
            // As an absolute URL, the way a proxy is used.
            format!("{}{right}", egress.proxy_url()),
        ] {
            let answer = ask(&egress, upgrade(&wrong)).await;
            assert_eq!(status(&answer), 404, "{wrong}: {answer}");
        }
        for not_an_upgrade in [
            format!("GET {right} HTTP/1.1\r\nHost: x\r\n\r\n"),
            format!("POST {right} HTTP/1.1\r\nHost: x\r\nUpgrade: lines\r\nConnection: upgrade\r\n\r\n"),
        ] {
            let answer = ask(&egress, &not_an_upgrade).await;
            assert_eq!(status(&answer), 400, "{not_an_upgrade}: {answer}");
        }
        drop(egress);
        other.into_std().unwrap().accept().expect_err("nothing connected");
    })
    .await;
}

#[tokio::test]
async fn a_socket_without_a_listener_is_a_bad_gateway() {
    within(async {
        let directory = tempfile::tempdir().unwrap();
        let egress = with_socket(&directory.path().join("calls.sock"));
        let answer = ask(&egress, upgrade(&path(&egress))).await;
        assert_eq!(status(&answer), 502, "{answer}");
        assert!(answer.contains("The socket `calls` cannot be reached"), "{answer}");
    })
    .await;
}

#[test]
fn a_socket_and_a_route_cannot_have_the_same_name() {
    let route = autonoe_egress::Route::new("calls", "https://example.org", None).unwrap();
    let socket = SocketRoute { name: "calls".to_owned(), path: "/nowhere".into() };
    let rules = EgressRules { routes: vec![route], sockets: vec![socket], ..EgressRules::default() };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(Egress::start(listener, rules.into()).is_err());
}
