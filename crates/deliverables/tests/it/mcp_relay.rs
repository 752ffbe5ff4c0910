//! The relay between a client and the process that holds the project.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use autonoe_core::instruction::Phase::{Coding, Verify};
use autonoe_deliverables::{CallAddress, carry};
use serde_json::{Value, json};

use crate::client::{Client, off_the_runtime};
use crate::socket::{serve, socket};
use crate::support::Bench;

/// A client, and a relay that carries its messages to a socket.
struct Carried {
    client: Client,
    relay: JoinHandle<()>,
}

impl Carried {
    fn start(path: &Path) -> Self {
        Self::at(CallAddress::Socket(path.to_owned()))
    }

    fn at(calls: CallAddress) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let relay = std::thread::spawn(move || {
            carry(&calls, theirs.try_clone().unwrap(), &theirs).unwrap();
            theirs.shutdown(Shutdown::Both).unwrap();
        });
        Self { client: Client::new(ours), relay }
    }

    /// What a request is told to which there is no answer.
    fn told(&mut self, id: impl Into<Value>) -> String {
        let id = id.into();
        self.client.ask(id.clone(), "ping", json!({}));
        complaint(&self.client.hear().expect("an answer"), &id)
    }

    fn end(mut self) {
        self.client.close();
        assert_eq!(self.client.hear(), None, "nothing more");
        self.relay.join().unwrap();
    }
}

fn complaint(answer: &Value, id: &Value) -> String {
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), id), "{answer}");
    assert_eq!(answer["error"]["code"], -32000);
    answer["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_is_asked_and_answered_is_carried_as_it_is() {
    let bench = Bench::with(Verify, &["A"]).await;
    let path = socket(&bench);
    let _server = serve(&bench, &path);
    off_the_runtime(move || {
        let mut carried = Carried::start(&path);
        carried.client.ask("hello", "initialize", json!({ "protocolVersion": "2025-06-18" }));
        assert_eq!(carried.client.hear().unwrap()["result"]["serverInfo"]["name"], "autonoe");
        carried.client.say(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let (content, failed) = carried.client.call("verify", json!({ "deliverableId": "A" }));
        assert!(!failed && content.contains("A marked as verified"), "{content}");
        let (content, failed) = carried.client.call("create", json!({ "padding": "x".repeat(1_000_000) }));
        assert!(failed && content.contains("NOT_AVAILABLE"), "the run's phase decides: {content}");
        carried.client.say(b"garbage");
        assert_eq!(carried.client.hear().unwrap()["error"]["code"], -32700);
        carried.end();
    })
    .await;
}

#[tokio::test]
async fn a_client_that_has_said_everything_still_hears_the_answers() {
    let bench = Bench::with(Coding, &["A"]).await;
    let path = socket(&bench);
    let _server = serve(&bench, &path);
    off_the_runtime(move || {
        let mut carried = Carried::start(&path);
        for id in 0..10 {
            carried.client.ask(id, "tools/call", json!({ "name": "list" }));
        }
        carried.client.close();
        let mut heard: Vec<_> =
            (0..10).map(|_| carried.client.hear().unwrap()["id"].as_u64().unwrap()).collect();
        heard.sort_unstable();
        assert_eq!(heard, (0..10).collect::<Vec<_>>());
        carried.end();
    })
    .await;
}

#[tokio::test]
async fn a_process_that_is_gone_is_said_to_be_so_and_found_again() {
    let bench = Bench::with(Coding, &["A"]).await;
    let path = socket(&bench);
    let mut carried = Carried::start(&path);
    let ask = |mut carried: Carried, id: u64| {
        off_the_runtime(move || {
            let told = carried.told(id);
            (carried, told)
        })
    };
    let list = |mut carried: Carried| {
        off_the_runtime(move || {
            assert!(!carried.client.call("list", json!({})).1);
            carried
        })
    };
    let mut told;
    (carried, told) = ask(carried, 1).await;
    assert!(told.contains("does not answer"), "never started: {told}");
    let server = serve(&bench, &path);
    carried = list(carried).await;
    drop(server);
    (carried, told) = ask(carried, 2).await;
    assert!(told.contains("its run has ended"), "ended: {told}");
    drop(UnixListener::bind(&path).unwrap());
    (carried, told) = ask(carried, 3).await;
    assert!(told.contains("Connection refused"), "died: {told}");
    let _server = serve(&bench, &path);
    list(carried).await.end();
}

/// Reads the head of a request and nothing behind it.
fn head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    String::from_utf8(head).unwrap()
}

#[test]
fn through_a_proxy_it_is_the_same() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/token/calls", proxy.local_addr().unwrap());
    let mut carried = Carried::at(CallAddress::read(url.as_ref()));
    carried.client.ask(1, "ping", json!({}));
    let (mut stream, _) = proxy.accept().unwrap();
    let asked = head(&mut stream);
    assert!(asked.starts_with("GET /token/calls HTTP/1.1\r\n") && asked.contains("\r\nUpgrade: "), "{asked}");
    stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").unwrap();
    let told = complaint(&carried.client.hear().unwrap(), &json!(1));
    assert!(told.contains("502 Bad Gateway"), "{told}");

    carried.client.ask(2, "ping", json!({}));
    let (mut stream, _) = proxy.accept().unwrap();
    head(&mut stream);
    stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n").unwrap();
    let mut line = String::new();
    BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["id"], 2);
    stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n").unwrap();
    assert_eq!(carried.client.hear().unwrap()["result"], json!({}));
    carried.end();
}

#[test]
fn an_address_is_read_as_it_was_written() {
    for address in [
        CallAddress::Socket("/state/calls.sock".into()),
        CallAddress::Socket("http".into()),
        CallAddress::Proxy("http://127.0.0.1:1/token/calls".to_owned()),
    ] {
        assert_eq!(CallAddress::read(address.to_string().as_ref()), address);
    }
}

#[test]
fn whoever_waits_when_the_process_hangs_up_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join("calls.sock");
    let listener = UnixListener::bind(&path).unwrap();
    for response in [&b""[..], b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\"id\":2,\"res"] {
        let mut carried = Carried::start(&path);
        for id in [json!(1), json!(2), json!("three")] {
            carried.client.ask(id, "ping", json!({}));
        }
        carried.client.say(br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = BufReader::new(stream.try_clone().unwrap()).lines();
        (0..4).for_each(|_| drop(heard.next().unwrap().unwrap()));
        stream.write_all(response).unwrap();
        drop((stream, heard));
        if !response.is_empty() {
            assert_eq!(carried.client.hear().unwrap(), json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
        } else {
            complaint(&carried.client.hear().unwrap(), &json!(1));
        }
        complaint(&carried.client.hear().unwrap(), &json!(2));
        complaint(&carried.client.hear().unwrap(), &json!("three"));
        carried.end();
    }
}
