//! The way out of a room, from inside: who is reached, who is refused, and where the key is.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use autonoe_egress::{Key, Route, Rules, SocketRoute};
use autonoe_sandbox::{Bounds, Layer, RoomConfig, Sandbox, SessionSandbox, Stream};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

use crate::support::{PATH, SUPERVISOR};

const KEY: &str = "the-real-key-0123456789";

/// SessionSandbox held by a layer, whose egress proxy has these rules.
fn session_sandbox(layer: Layer, rules: Rules) -> Option<(TempDir, SessionSandbox)> {
    let sandbox = Sandbox::with_layer(Path::new(SUPERVISOR), layer, OsStr::new(PATH)).ok()?;
    let dir = TempDir::new().unwrap();
    std::fs::create_dir(dir.path().join("project")).unwrap();
    let bounds = Bounds::new(dir.path().join("project"), dir.path().join("home"), dir.path().join("tmp"));
    let env = vec![("PATH".to_owned(), PATH.to_owned()), ("API_KEY".to_owned(), "dummy".to_owned())];
    Some((
        dir,
        SessionSandbox::new(RoomConfig {
            sandbox,
            bounds,
            egress: Arc::new(rules),
            env,
            guarded: Arc::default(),
        }),
    ))
}

async fn run(session_sandbox: &SessionSandbox, script: &str) -> String {
    let launch = session_sandbox.command("bash").await.unwrap().args(["-c", script]).cwd("/");
    let mut child = launch.stdout(Stream::Piped).spawn().unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).await.unwrap();
    child.wait().await.unwrap();
    said
}

/// A server for one request: its port, and what it was asked.
fn server() -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 1024];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            let count = client.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..count]);
        }
        client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nanswer").unwrap();
        String::from_utf8(request).unwrap()
    });
    (port, serving)
}

#[tokio::test]
async fn the_key_is_put_in_at_the_egress_and_is_nowhere_inside() {
    for layer in [Layer::Bubblewrap, Layer::Landlock] {
        let (port, serving) = server();
        let key = Key::header("x-api-key", KEY).unwrap();
        let route = Route::new("provider", &format!("http://127.0.0.1:{port}"), key).unwrap();
        let Some((_dir, session_sandbox)) =
            session_sandbox(layer, Rules { routes: vec![route], ..Rules::default() })
        else {
            return;
        };
        assert_eq!(run(&session_sandbox, "echo opened").await, "opened\n");
        let url = session_sandbox.route_url("provider").await.unwrap();
        let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let (host, port) = address.split_once(':').unwrap();
        let script = format!(
            "exec 3<>/dev/tcp/{host}/{port}
             printf 'GET /{path}/v1/models HTTP/1.1\\r\\nHost: x\\r\\nx-api-key: %s\\r\\nConnection: close\\r\\n\\r\\n' $API_KEY >&3
             cat <&3; echo; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; env"
        );
        let inside = run(&session_sandbox, &script).await;
        let asked = serving.join().unwrap().to_lowercase();
        assert!(asked.starts_with("get /v1/models"), "{asked}");
        assert!(asked.contains(&format!("x-api-key: {KEY}")) && !asked.contains("dummy"), "{asked}");
        assert!(inside.contains("answer") && inside.contains("dummy"), "it was asked, with the dummy");
        assert!(!inside.contains(KEY), "the key is not inside");
    }
}

#[tokio::test]
async fn only_who_is_allowed_is_reached_and_the_refused_are_told() {
    for layer in [Layer::Bubblewrap, Layer::Landlock] {
        let (port, serving) = server();
        let allow = vec![format!("127.0.0.1:{port}").parse().unwrap()];
        let how_to_allow = "Ask nicely.".to_owned();
        let Some((_dir, session_sandbox)) =
            session_sandbox(layer, Rules { allow, how_to_allow, ..Rules::default() })
        else {
            return;
        };
        let fetch = |target: &str| {
            format!(
                "exec 3<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}}
                 printf 'GET http://{target}/ HTTP/1.1\\r\\nHost: {target}\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3"
            )
        };
        assert!(run(&session_sandbox, &fetch(&format!("127.0.0.1:{port}"))).await.ends_with("answer"));
        serving.join().unwrap();
        let refused = run(&session_sandbox, &fetch("evil.example.com")).await;
        assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("Ask nicely."), "{refused}");
        let told: Vec<_> =
            session_sandbox.refusals().await.iter().map(|refusal| refusal.host.clone()).collect();
        assert_eq!(told, ["evil.example.com"]);
    }
}

#[tokio::test]
async fn one_socket_of_ours_is_reached_through_the_egress_and_no_other_by_any_way() {
    for layer in [Layer::Bubblewrap, Layer::Landlock] {
        let sockets = TempDir::new().unwrap();
        let [ours, other] = ["calls.sock", "other.sock"].map(|name| sockets.path().join(name));
        let (listener, nobodys) = (UnixListener::bind(&ours).unwrap(), UnixListener::bind(&other).unwrap());
        let rules = vec![SocketRoute { name: "calls".to_owned(), path: ours.clone() }];
        let Some((_dir, session_sandbox)) =
            session_sandbox(layer, Rules { sockets: rules, ..Rules::default() })
        else {
            return;
        };
        assert_eq!(run(&session_sandbox, "echo opened").await, "opened\n");
        let url = session_sandbox.route_url("calls").await.unwrap();
        let answering = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut asked = String::new();
            BufReader::new(client.try_clone().unwrap()).read_line(&mut asked).unwrap();
            client.write_all(format!("heard {asked}").as_bytes()).unwrap();
        });
        let inside = run(&session_sandbox, &format!("{TALK} talk {url} hello")).await;
        assert!(inside.starts_with("HTTP/1.1 101") && inside.ends_with("heard hello\n"), "{inside}");
        answering.join().unwrap();

        let wrong = url.replace("/calls", &other.display().to_string());
        let refused = run(&session_sandbox, &format!("{TALK} talk {wrong} hello")).await;
        assert!(refused.starts_with("HTTP/1.1 404"), "{refused}");
        if run(&session_sandbox, "command -v python3").await.is_empty() {
            continue;
        }
        for path in [&ours, &other] {
            let connect =
                format!("import socket; socket.socket(socket.AF_UNIX).connect(\"{}\")", path.display());
            let said = run(&session_sandbox, &format!("python3 -c '{connect}' 2>&1 || echo refused")).await;
            assert!(said.ends_with("refused\n"), "{said}");
        }
        nobodys.set_nonblocking(true).unwrap();
        nobodys.accept().expect_err("nobody came");
    }
}

/// Connects to a URL, has the connection upgraded, says something, and prints what comes back.
const TALK: &str = r#"talk() {
    local rest=${1#http://}; local host=${rest%%/*}
    exec 3<>/dev/tcp/${host%:*}/${host#*:}
    printf 'GET /%s HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: lines\r\n\r\n%s\n' "${rest#*/}" "$2" >&3
    cat <&3
};"#;

#[tokio::test]
async fn session_sandbox_are_opened_again_when_their_room_was_lost() {
    let Some((_dir, session_sandbox)) = session_sandbox(Layer::Landlock, Rules::default()) else { return };
    assert_eq!(run(&session_sandbox, "echo one").await, "one\n");
    // The room's own process, which only Landlock's layer lets them see and end.
    let launch = session_sandbox.command("bash").await.unwrap();
    let lost = launch
        .args(["-c", "kill -9 $(ps -o ppid= -p $PPID); sleep 300"])
        .cwd("/")
        .spawn()
        .unwrap()
        .wait()
        .await;
    assert!(lost.is_err());
    let again = tokio::time::timeout(std::time::Duration::from_secs(20), async {
        loop {
            match session_sandbox.command("bash").await.unwrap().args(["-c", "exit 7"]).cwd("/").spawn() {
                Ok(mut child) => match child.wait().await {
                    Ok(exit) => return exit.code(),
                    Err(_) => tokio::task::yield_now().await,
                },
                Err(_) => tokio::task::yield_now().await,
            }
        }
    });
    assert_eq!(again.await.expect("opened again"), 7);
}
