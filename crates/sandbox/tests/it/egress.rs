//! The egress proxy from inside a room: which hosts are reached, which are refused, and where the key is.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use autonoe_egress::{EgressRules, Key, Route, SocketRoute};
use autonoe_sandbox::{Bounds, RoomConfig, Sandbox, SandboxLayer, SessionSandbox, StdioTarget};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

use crate::support::{PATH, SUPERVISOR};

const KEY: &str = "the-real-key-0123456789";

/// A session sandbox with this layer and these egress rules; `None` if the machine does not support the layer.
fn session_sandbox(layer: SandboxLayer, rules: EgressRules) -> Option<(TempDir, SessionSandbox)> {
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
            sessions: Default::default(),
        }),
    ))
}

async fn run(session_sandbox: &SessionSandbox, script: &str) -> String {
    let launch = session_sandbox.command("bash").await.unwrap().args(["-c", script]).cwd("/");
    let mut child = launch.stdout(StdioTarget::Piped).spawn().unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).await.unwrap();
    child.wait().await.unwrap();
    output
}

/// A server for one request: its port, and the request that it receives.
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
async fn the_egress_proxy_inserts_the_key_which_is_nowhere_inside() {
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        let (port, serving) = server();
        let key = Key::header("x-api-key", KEY).unwrap();
        let route = Route::new("provider", &format!("http://127.0.0.1:{port}"), key).unwrap();
        let Some((_dir, session_sandbox)) =
            session_sandbox(layer, EgressRules { routes: vec![route], ..EgressRules::default() })
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
        let request = serving.join().unwrap().to_lowercase();
        assert!(request.starts_with("get /v1/models"), "{request}");
        assert!(request.contains(&format!("x-api-key: {KEY}")) && !request.contains("dummy"), "{request}");
        assert!(inside.contains("answer") && inside.contains("dummy"), "the request was sent with the dummy");
        assert!(!inside.contains(KEY), "the key is not inside");
    }
}

#[tokio::test]
async fn only_allowed_hosts_are_reached_and_refused_ones_are_reported() {
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        let (port, serving) = server();
        let allow = vec![format!("127.0.0.1:{port}").parse().unwrap()];
        let how_to_allow = "Ask nicely.".to_owned();
        let Some((_dir, session_sandbox)) =
            session_sandbox(layer, EgressRules { allow, how_to_allow, ..EgressRules::default() })
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
        let refused: Vec<_> =
            session_sandbox.refusals().await.iter().map(|refusal| refusal.host.clone()).collect();
        assert_eq!(refused, ["evil.example.com"]);
    }
}

#[tokio::test]
async fn only_the_routed_socket_is_reached_and_only_through_the_egress_proxy() {
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        let sockets = TempDir::new().unwrap();
        let [ours, other] = ["calls.sock", "other.sock"].map(|name| sockets.path().join(name));
        let (listener, unrouted) = (UnixListener::bind(&ours).unwrap(), UnixListener::bind(&other).unwrap());
        let rules = vec![SocketRoute { name: "calls".to_owned(), path: ours.clone() }];
        let Some((_dir, session_sandbox)) =
            session_sandbox(layer, EgressRules { sockets: rules, ..EgressRules::default() })
        else {
            return;
        };
        assert_eq!(run(&session_sandbox, "echo opened").await, "opened\n");
        let url = session_sandbox.route_url("calls").await.unwrap();
        let answering = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(client.try_clone().unwrap()).read_line(&mut line).unwrap();
            client.write_all(format!("heard {line}").as_bytes()).unwrap();
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
            let output = run(&session_sandbox, &format!("python3 -c '{connect}' 2>&1 || echo refused")).await;
            assert!(output.ends_with("refused\n"), "{output}");
        }
        unrouted.set_nonblocking(true).unwrap();
        unrouted.accept().expect_err("nothing connected");
    }
}

/// Connects to a URL, upgrades the connection, sends a line, and prints the response.
const TALK: &str = r#"talk() {
    local rest=${1#http://}; local host=${rest%%/*}
    exec 3<>/dev/tcp/${host%:*}/${host#*:}
    printf 'GET /%s HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: lines\r\n\r\n%s\n' "${rest#*/}" "$2" >&3
    cat <&3
};"#;

#[tokio::test]
async fn a_lost_room_is_opened_again() {
    let Some((_dir, session_sandbox)) = session_sandbox(SandboxLayer::Landlock, EgressRules::default())
    else {
        return;
    };
    assert_eq!(run(&session_sandbox, "echo one").await, "one\n");
    // Kills the room's own process, which programs can see and signal only with Landlock.
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
