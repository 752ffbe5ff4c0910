//! The relay between a client and the process that holds the project.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use autonoe_core::instruction::Phase::{Coding, Verify};
use autonoe_deliverables::{CallAddress, relay};
use serde_json::{Value, json};

use crate::client::{LineClient, blocking};
use crate::socket::{serve, socket};
use crate::support::ServiceFixture;

/// A client, and a relay that forwards its messages to a socket.
struct RelayedClient {
    client: LineClient,
    relay: JoinHandle<()>,
}

impl RelayedClient {
    fn start(path: &Path) -> Self {
        Self::at(CallAddress::Socket(path.to_owned()))
    }

    fn at(calls: CallAddress) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let relay = std::thread::spawn(move || {
            relay(&calls, theirs.try_clone().unwrap(), &theirs).unwrap();
            theirs.shutdown(Shutdown::Both).unwrap();
        });
        Self { client: LineClient::new(ours), relay }
    }

    /// The error message for a request that gets no answer.
    fn request_error(&mut self, id: impl Into<Value>) -> String {
        let id = id.into();
        self.client.request(id.clone(), "ping", json!({}));
        error_message(&self.client.receive().expect("an answer"), &id)
    }

    fn end(mut self) {
        self.client.close();
        assert_eq!(self.client.receive(), None, "nothing more");
        self.relay.join().unwrap();
    }
}

fn error_message(answer: &Value, id: &Value) -> String {
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), id), "{answer}");
    assert_eq!(answer["error"]["code"], -32000);
    answer["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn requests_and_answers_are_relayed_unchanged() {
    let fixture = ServiceFixture::with(Verify, &["A"]).await;
    let path = socket(&fixture);
    let _server = serve(&fixture, &path);
    blocking(move || {
        let mut relayed = RelayedClient::start(&path);
        relayed.client.request("hello", "initialize", json!({ "protocolVersion": "2025-06-18" }));
        assert_eq!(relayed.client.receive().unwrap()["result"]["serverInfo"]["name"], "autonoe");
        relayed.client.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let (content, failed) = relayed.client.call("verify", json!({ "deliverableId": "A" }));
        assert!(!failed && content.contains("A marked as verified"), "{content}");
        let (content, failed) = relayed.client.call("create", json!({ "padding": "x".repeat(1_000_000) }));
        assert!(failed && content.contains("NOT_AVAILABLE"), "the run's phase decides: {content}");
        relayed.client.send(b"garbage");
        assert_eq!(relayed.client.receive().unwrap()["error"]["code"], -32700);
        relayed.end();
    })
    .await;
}

#[tokio::test]
async fn a_client_that_has_closed_its_side_still_gets_the_answers() {
    let fixture = ServiceFixture::with(Coding, &["A"]).await;
    let path = socket(&fixture);
    let _server = serve(&fixture, &path);
    blocking(move || {
        let mut relayed = RelayedClient::start(&path);
        for id in 0..10 {
            relayed.client.request(id, "tools/call", json!({ "name": "list" }));
        }
        relayed.client.close();
        let mut received: Vec<_> =
            (0..10).map(|_| relayed.client.receive().unwrap()["id"].as_u64().unwrap()).collect();
        received.sort_unstable();
        assert_eq!(received, (0..10).collect::<Vec<_>>());
        relayed.end();
    })
    .await;
}

#[tokio::test]
async fn a_process_that_is_gone_is_said_to_be_so_and_found_again() {
    let fixture = ServiceFixture::with(Coding, &["A"]).await;
    let path = socket(&fixture);
    let mut relayed = RelayedClient::start(&path);
    let ask = |mut relayed: RelayedClient, id: u64| {
        blocking(move || {
            let message = relayed.request_error(id);
            (relayed, message)
        })
    };
    let list = |mut relayed: RelayedClient| {
        blocking(move || {
            assert!(!relayed.client.call("list", json!({})).1);
            relayed
        })
    };
    let mut message;
    (relayed, message) = ask(relayed, 1).await;
    assert!(message.contains("does not answer"), "never started: {message}");
    let server = serve(&fixture, &path);
    relayed = list(relayed).await;
    drop(server);
    (relayed, message) = ask(relayed, 2).await;
    assert!(message.contains("its run has ended"), "ended: {message}");
    drop(UnixListener::bind(&path).unwrap());
    (relayed, message) = ask(relayed, 3).await;
    assert!(message.contains("Connection refused"), "died: {message}");
    let _server = serve(&fixture, &path);
    list(relayed).await.end();
}

/// Reads the head of a request and nothing after it.
fn head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    String::from_utf8(head).unwrap()
}

#[test]
fn the_relay_works_through_a_proxy() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/token/calls", proxy.local_addr().unwrap());
    let mut relayed = RelayedClient::at(CallAddress::read(url.as_ref()));
    relayed.client.request(1, "ping", json!({}));
    let (mut stream, _) = proxy.accept().unwrap();
    let request = head(&mut stream);
    assert!(
        request.starts_with("GET /token/calls HTTP/1.1\r\n") && request.contains("\r\nUpgrade: "),
        "{request}"
    );
    stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").unwrap();
    let message = error_message(&relayed.client.receive().unwrap(), &json!(1));
    assert!(message.contains("502 Bad Gateway"), "{message}");

    relayed.client.request(2, "ping", json!({}));
    let (mut stream, _) = proxy.accept().unwrap();
    head(&mut stream);
    stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n").unwrap();
    let mut line = String::new();
    BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["id"], 2);
    stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n").unwrap();
    assert_eq!(relayed.client.receive().unwrap()["result"], json!({}));
    relayed.end();
}

#[test]
fn an_address_parses_back() {
    for address in [
        CallAddress::Socket("/state/calls.sock".into()),
        CallAddress::Socket("http".into()),
        CallAddress::Proxy("http://127.0.0.1:1/token/calls".to_owned()),
    ] {
        assert_eq!(CallAddress::read(address.to_string().as_ref()), address);
    }
}

#[test]
fn pending_requests_fail_when_the_process_disconnects() {
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join("calls.sock");
    let listener = UnixListener::bind(&path).unwrap();
    for response in [&b""[..], b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\"id\":2,\"res"] {
        let mut relayed = RelayedClient::start(&path);
        for id in [json!(1), json!(2), json!("three")] {
            relayed.client.request(id, "ping", json!({}));
        }
        relayed.client.send(br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
        let (mut stream, _) = listener.accept().unwrap();
        let mut received = BufReader::new(stream.try_clone().unwrap()).lines();
        (0..4).for_each(|_| drop(received.next().unwrap().unwrap()));
        stream.write_all(response).unwrap();
        drop((stream, received));
        if !response.is_empty() {
            assert_eq!(relayed.client.receive().unwrap(), json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
        } else {
            error_message(&relayed.client.receive().unwrap(), &json!(1));
        }
        error_message(&relayed.client.receive().unwrap(), &json!(2));
        error_message(&relayed.client.receive().unwrap(), &json!("three"));
        relayed.end();
    }
}
