//! The socket between `autonoe mcp` and the process that holds the project.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use autonoe_core::instruction::InstructionName::{Coding, Initializer, Sync};
use autonoe_deliverables::{Answer, CallServer, Caller, SocketCaller};
use serde_json::{Value, json};

use crate::support::{Bench, deliverable};

fn socket(bench: &Bench) -> PathBuf {
    bench.dir.path().join("calls.sock")
}

fn serve(bench: &Bench, path: &Path) -> CallServer {
    CallServer::start(path, Arc::clone(&bench.service) as Arc<dyn Caller>).unwrap()
}

/// Speaks to the socket as a client of another make would, off the runtime's threads.
async fn raw<T: Send + 'static>(path: &Path, talk: impl FnOnce(UnixStream) -> T + Send + 'static) -> T {
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || talk(UnixStream::connect(path).unwrap())).await.unwrap()
}

#[tokio::test]
async fn a_call_over_the_socket_is_answered_as_if_it_were_made_here() {
    let bench = Bench::with(Coding, &["A"]).await;
    let path = socket(&bench);
    let _server = serve(&bench, &path);
    let caller = SocketCaller::new(path);
    for (tool, arguments) in [
        ("list", json!({})),
        ("list", Value::Null),
        ("set_status", json!({ "deliverableId": "Z", "status": "passed" })),
        ("create", json!({ "deliverables": [] })),
        ("nonsense\n\"tool\"", json!({ "text": "with\nlines" })),
    ] {
        let here = bench.call(tool, arguments.clone()).await;
        assert_eq!(caller.call(tool, arguments).await, here, "{tool:?}");
    }
    let answer = caller.call("set_status", json!({ "deliverableId": "A", "status": "passed" })).await;
    assert!(!answer.is_error, "{}", answer.content);
    assert_eq!(bench.file()[0]["passed"], true);
    assert_eq!(bench.told().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_callers_at_once_are_all_served() {
    let bench = Bench::new(Initializer).await;
    let path = socket(&bench);
    let _server = serve(&bench, &path);
    let caller = Arc::new(SocketCaller::new(path));
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let caller = Arc::clone(&caller);
            let batch = json!({ "deliverables": [deliverable(&format!("D-{number:02}"))] });
            tokio::spawn(async move { caller.call("create", batch).await })
        })
        .collect();
    for call in calls {
        let answer = call.await.unwrap();
        assert!(!answer.is_error, "{}", answer.content);
    }
    let mut ids: Vec<String> =
        bench.file().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    assert_eq!(ids, (0..20).map(|number| format!("D-{number:02}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn one_connection_may_make_many_calls() {
    let bench = Bench::with(Coding, &["A"]).await;
    let path = socket(&bench);
    let _server = serve(&bench, &path);
    let answers = raw(&path, |mut stream| {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        (0..3)
            .map(|_| {
                stream.write_all(b"{\"tool\":\"list\",\"arguments\":{}}\n").unwrap();
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                serde_json::from_str::<Answer>(&line).unwrap()
            })
            .collect::<Vec<_>>()
    })
    .await;
    assert!(answers.iter().all(|answer| !answer.is_error && answer.content.contains("What A is")));
}

#[tokio::test]
async fn a_server_that_is_gone_is_said_to_be_so() {
    let bench = Bench::with(Coding, &["A"]).await;
    let path = socket(&bench);
    let caller = SocketCaller::new(path.clone());
    let gone = async || {
        let answer = caller.call("list", json!({})).await;
        assert!(answer.is_error);
        let json: Value = serde_json::from_str(&answer.content).expect("JSON, as every answer is");
        assert_eq!((&json["success"], &json["error"]), (&json!(false), &json!("NO_ANSWER")));
        json["message"].as_str().unwrap().to_owned()
    };
    assert!(gone().await.contains("does not answer"), "never started");

    let server = serve(&bench, &path);
    assert!(!caller.call("list", json!({})).await.is_error);
    drop(server);
    assert!(!path.exists(), "it takes its socket along");
    assert!(gone().await.contains("its run has ended"), "ended");

    drop(UnixListener::bind(&path).unwrap());
    assert!(gone().await.contains("Connection refused"), "died");
}

#[tokio::test]
async fn a_server_that_hangs_up_or_answers_nonsense_is_no_answer() {
    let bench = Bench::new(Coding).await;
    let path = socket(&bench);
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || {
        for response in [&b""[..], b"nonsense\n", b"{\"content\":\"cut o"] {
            let (mut stream, _) = listener.accept().unwrap();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut String::new()).unwrap();
            stream.write_all(response).unwrap();
        }
    });
    for _ in 0..3 {
        let answer = SocketCaller::new(path.clone()).call("list", json!({})).await;
        assert!(answer.is_error && answer.content.contains("NO_ANSWER"), "{}", answer.content);
    }
    server.join().unwrap();
}

#[tokio::test]
async fn garbage_closes_its_connection_and_harms_nobody() {
    let bench = Bench::with(Sync, &["A"]).await;
    let path = socket(&bench);
    let _server = serve(&bench, &path);
    let before = bench.text();
    for garbage in [&b"garbage\n"[..], b"{\"tool\":1}\n", b"[]\n", b"\n", b"\xff\xfe\n", b"{\"tool\":\"li"] {
        let answered = raw(&path, move |mut stream| {
            stream.write_all(garbage).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).unwrap();
            rest
        })
        .await;
        assert_eq!(answered, b"", "{garbage:?}");
    }
    assert_eq!(bench.text(), before);
    assert!(!SocketCaller::new(path).call("list", json!({})).await.is_error, "others are still served");
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
    assert!(!SocketCaller::new(path.clone()).call("list", json!({})).await.is_error);
    drop(server);
    fs::write(&path, "a plain file").unwrap();
    let _server = serve(&bench, &path);
    assert!(!SocketCaller::new(path).call("list", json!({})).await.is_error);
}

#[tokio::test]
async fn a_path_that_cannot_be_a_socket_is_an_error() {
    let bench = Bench::new(Coding).await;
    for path in [bench.dir.path().join("no/such/directory"), bench.dir.path().join("x".repeat(200))] {
        let caller = Arc::clone(&bench.service) as Arc<dyn Caller>;
        assert!(CallServer::start(&path, caller).is_err(), "{}", path.display());
    }
}
