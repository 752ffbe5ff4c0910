//! The socket at which the process that holds the project answers.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use autonoe_core::instruction::Phase::{Coding, Initializer, Review, Sync};
use autonoe_deliverables::CallServer;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::client::{at_the_socket, off_the_runtime};
use crate::slow::Slow;
use crate::support::{Bench, deliverable};

pub fn socket(bench: &Bench) -> PathBuf {
    bench.dir.path().join("calls.sock")
}

pub fn serve(bench: &Bench, path: &Path) -> CallServer {
    CallServer::start(path, Arc::clone(&bench.service)).unwrap()
}

async fn is_served(path: &Path) -> bool {
    at_the_socket(path, |mut client| !client.call("list", json!({})).1).await
}

#[tokio::test]
async fn a_call_over_the_socket_is_answered_as_if_it_were_made_here() {
    let bench = Bench::with(Coding, &["A"]).await;
    let path = socket(&bench);
    let _server = serve(&bench, &path);
    for (tool, arguments) in [
        ("list", json!({})),
        ("list", Value::Null),
        ("set_status", json!({ "deliverableId": "Z", "status": "passed" })),
        ("create", json!({ "deliverables": [] })),
        ("nonsense\n\"tool\"", json!({ "text": "with\nlines" })),
    ] {
        let here = bench.call(tool, arguments.clone()).await;
        let there = at_the_socket(&path, move |mut client| client.call(tool, arguments)).await;
        assert_eq!(there, (here.content, here.is_error), "{tool:?}");
    }
    let passed = json!({ "deliverableId": "A", "status": "passed" });
    let (content, failed) = at_the_socket(&path, |mut client| client.call("set_status", passed)).await;
    assert!(!failed, "{content}");
    assert_eq!(bench.file()[0]["passed"], true);
    assert_eq!(bench.told().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_clients_at_once_are_all_served() {
    let bench = Bench::new(Initializer).await;
    let path = socket(&bench);
    let _server = serve(&bench, &path);
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let path = path.clone();
            let batch = json!({ "deliverables": [deliverable(&format!("D-{number:02}"))] });
            tokio::spawn(
                async move { at_the_socket(&path, move |mut client| client.call("create", batch)).await },
            )
        })
        .collect();
    for call in calls {
        let (content, failed) = call.await.unwrap();
        assert!(!failed, "{content}");
    }
    let mut ids: Vec<String> =
        bench.file().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    assert_eq!(ids, (0..20).map(|number| format!("D-{number:02}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_takes_long_holds_nothing_else_up() {
    let mut bench = Bench::with(Review, &["A"]).await;
    let slow = Arc::new(Slow(Semaphore::new(0)));
    let service = Arc::into_inner(bench.service).unwrap();
    bench.service = Arc::new(service.examined_by(Arc::clone(&slow) as _));
    let path = socket(&bench);
    let _server = serve(&bench, &path);
    at_the_socket(&path, move |mut client| {
        let look = json!({ "deliverableId": "A", "holds": true, "reason": "I saw it" });
        client.ask(1, "tools/call", json!({ "name": "review", "arguments": look }));
        for id in 2..100 {
            client.ask(id, "ping", json!({}));
            assert_eq!(client.hear().unwrap()["id"], id);
        }
        client.close();
        slow.0.add_permits(1);
        let last = client.hear().expect("what was asked before is still answered");
        assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(1), &json!(false)), "{last}");
        assert_eq!(client.hear(), None);
    })
    .await;
}

#[tokio::test]
async fn garbage_is_said_to_be_so_and_harms_nobody() {
    let bench = Bench::with(Sync, &["A"]).await;
    let path = socket(&bench);
    let _server = serve(&bench, &path);
    let before = bench.text();
    for garbage in [&b"garbage"[..], b"\xff\xfe", b"{\"id\":1"] {
        at_the_socket(&path, move |mut client| {
            client.say(garbage);
            let answer = client.hear().unwrap();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)), "{answer}");
            assert!(!client.call("list", json!({})).1, "the same client is still served");
        })
        .await;
    }
    for nothing in [&b""[..], b"[]", b"1", b"{\"tool\":1}"] {
        at_the_socket(&path, move |mut client| {
            client.say(nothing);
            assert!(!client.call("list", json!({})).1, "{nothing:?} has no answer");
        })
        .await;
    }
    assert_eq!(bench.text(), before);
}

#[tokio::test]
async fn a_line_without_end_closes_its_connection() {
    let bench = Bench::with(Coding, &["A"]).await;
    let path = socket(&bench);
    let _server = serve(&bench, &path);
    let endless = vec![b'x'; 17 * 1024 * 1024];
    let there = path.clone();
    let sent = off_the_runtime(move || UnixStream::connect(there).unwrap().write_all(&endless)).await;
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert!(is_served(&path).await, "others are still served");
}

#[tokio::test]
async fn a_server_that_ends_hangs_up() {
    let bench = Bench::with(Coding, &["A"]).await;
    let path = socket(&bench);
    let server = serve(&bench, &path);
    let mut client = at_the_socket(&path, |mut client| {
        assert!(!client.call("list", json!({})).1);
        client
    })
    .await;
    drop(server);
    assert!(!path.exists(), "it takes its socket along");
    assert_eq!(off_the_runtime(move || client.hear()).await, None);
}

#[tokio::test]
async fn only_this_user_may_open_the_socket() {
    let bench = Bench::new(Coding).await;
    let path = socket(&bench);
    let _server = serve(&bench, &path);
    let metadata = fs::metadata(&path).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn what_a_dead_process_left_is_replaced() {
    let bench = Bench::with(Coding, &["A"]).await;
    let path = socket(&bench);
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "a socket nobody listens on");
    let server = serve(&bench, &path);
    assert!(is_served(&path).await);
    drop(server);
    fs::write(&path, "a plain file").unwrap();
    let _server = serve(&bench, &path);
    assert!(is_served(&path).await);
}

#[tokio::test]
async fn a_path_that_cannot_be_a_socket_is_an_error() {
    let bench = Bench::new(Coding).await;
    for path in [bench.dir.path().join("no/such/directory"), bench.dir.path().join("x".repeat(200))] {
        assert!(CallServer::start(&path, Arc::clone(&bench.service)).is_err(), "{}", path.display());
    }
}
