//! The socket of the process that holds the project.

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

use crate::client::{blocking, with_socket_client};
use crate::slow::SlowExaminer;
use crate::support::{ServiceFixture, deliverable};

pub fn socket(fixture: &ServiceFixture) -> PathBuf {
    fixture.dir.path().join("calls.sock")
}

pub fn serve(fixture: &ServiceFixture, path: &Path) -> CallServer {
    CallServer::start(path, Arc::clone(&fixture.service)).unwrap()
}

async fn is_served(path: &Path) -> bool {
    with_socket_client(path, |mut client| !client.call("list", json!({})).1).await
}

#[tokio::test]
async fn a_call_over_the_socket_is_answered_like_a_local_one() {
    let fixture = ServiceFixture::with(Coding, &["A"]).await;
    let path = socket(&fixture);
    let _server = serve(&fixture, &path);
    for (tool, arguments) in [
        ("list", json!({})),
        ("list", Value::Null),
        ("set_status", json!({ "deliverableId": "Z", "status": "passed" })),
        ("create", json!({ "deliverables": [] })),
        ("nonsense\n\"tool\"", json!({ "text": "with\nlines" })),
    ] {
        let here = fixture.call(tool, arguments.clone()).await;
        let there = with_socket_client(&path, move |mut client| client.call(tool, arguments)).await;
        assert_eq!(there, (here.content, here.is_error), "{tool:?}");
    }
    let passed = json!({ "deliverableId": "A", "status": "passed" });
    let (content, failed) = with_socket_client(&path, |mut client| client.call("set_status", passed)).await;
    assert!(!failed, "{content}");
    assert_eq!(fixture.file()[0]["passed"], true);
    assert_eq!(fixture.notified().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_clients_at_once_are_all_served() {
    let fixture = ServiceFixture::new(Initializer).await;
    let path = socket(&fixture);
    let _server = serve(&fixture, &path);
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let path = path.clone();
            let batch = json!({ "deliverables": [deliverable(&format!("D-{number:02}"))] });
            tokio::spawn(async move {
                with_socket_client(&path, move |mut client| client.call("create", batch)).await
            })
        })
        .collect();
    for call in calls {
        let (content, failed) = call.await.unwrap();
        assert!(!failed, "{content}");
    }
    let mut ids: Vec<String> =
        fixture.file().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    assert_eq!(ids, (0..20).map(|number| format!("D-{number:02}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_slow_call_does_not_block_others() {
    let mut fixture = ServiceFixture::with(Review, &["A"]).await;
    let slow = Arc::new(SlowExaminer(Semaphore::new(0)));
    let service = Arc::into_inner(fixture.service).unwrap();
    fixture.service = Arc::new(service.examined_by(Arc::clone(&slow) as _));
    let path = socket(&fixture);
    let _server = serve(&fixture, &path);
    with_socket_client(&path, move |mut client| {
        let review = json!({ "deliverableId": "A", "holds": true, "reason": "I saw it" });
        client.request(1, "tools/call", json!({ "name": "review", "arguments": review }));
        for id in 2..100 {
            client.request(id, "ping", json!({}));
            assert_eq!(client.receive().unwrap()["id"], id);
        }
        client.close();
        slow.0.add_permits(1);
        let last = client.receive().expect("earlier requests are still answered");
        assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(1), &json!(false)), "{last}");
        assert_eq!(client.receive(), None);
    })
    .await;
}

#[tokio::test]
async fn garbage_is_rejected_and_does_no_harm() {
    let fixture = ServiceFixture::with(Sync, &["A"]).await;
    let path = socket(&fixture);
    let _server = serve(&fixture, &path);
    let before = fixture.text();
    for garbage in [&b"garbage"[..], b"\xff\xfe", b"{\"id\":1"] {
        with_socket_client(&path, move |mut client| {
            client.send(garbage);
            let answer = client.receive().unwrap();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)), "{answer}");
            assert!(!client.call("list", json!({})).1, "the same client is still served");
        })
        .await;
    }
    for nothing in [&b""[..], b"[]", b"1", b"{\"tool\":1}"] {
        with_socket_client(&path, move |mut client| {
            client.send(nothing);
            assert!(!client.call("list", json!({})).1, "{nothing:?} has no answer");
        })
        .await;
    }
    assert_eq!(fixture.text(), before);
}

#[tokio::test]
async fn an_endless_line_closes_its_connection() {
    let fixture = ServiceFixture::with(Coding, &["A"]).await;
    let path = socket(&fixture);
    let _server = serve(&fixture, &path);
    let endless = vec![b'x'; 17 * 1024 * 1024];
    let there = path.clone();
    let sent = blocking(move || UnixStream::connect(there).unwrap().write_all(&endless)).await;
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert!(is_served(&path).await, "others are still served");
}

#[tokio::test]
async fn a_server_that_ends_disconnects_its_clients() {
    let fixture = ServiceFixture::with(Coding, &["A"]).await;
    let path = socket(&fixture);
    let server = serve(&fixture, &path);
    let mut client = with_socket_client(&path, |mut client| {
        assert!(!client.call("list", json!({})).1);
        client
    })
    .await;
    drop(server);
    assert!(!path.exists(), "it removes its socket");
    assert_eq!(blocking(move || client.receive()).await, None);
}

#[tokio::test]
async fn only_this_user_may_open_the_socket() {
    let fixture = ServiceFixture::new(Coding).await;
    let path = socket(&fixture);
    let _server = serve(&fixture, &path);
    let metadata = fs::metadata(&path).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_stale_socket_is_replaced() {
    let fixture = ServiceFixture::with(Coding, &["A"]).await;
    let path = socket(&fixture);
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "a socket nobody listens on");
    let server = serve(&fixture, &path);
    assert!(is_served(&path).await);
    drop(server);
    fs::write(&path, "a plain file").unwrap();
    let _server = serve(&fixture, &path);
    assert!(is_served(&path).await);
}

#[tokio::test]
async fn a_path_that_cannot_be_a_socket_is_an_error() {
    let fixture = ServiceFixture::new(Coding).await;
    for path in [fixture.dir.path().join("no/such/directory"), fixture.dir.path().join("x".repeat(200))] {
        assert!(CallServer::start(&path, Arc::clone(&fixture.service)).is_err(), "{}", path.display());
    }
}
