//! The public reference servers of the protocol.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use autonoe_mcp::McpServers;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};

use autonoe_test_kit::until_async;

use crate::support::{McpFixture, call, names, package, path, tool};

fn node(entry: &str, args: Value) -> Option<Value> {
    let entry = package(entry)?;
    let mut all = vec![json!(entry)];
    all.extend(args.as_array().unwrap().iter().cloned());
    Some(json!({"command": "node", "args": all}))
}

#[tokio::test]
async fn everything_over_standard_streams() {
    let Some(config) = node("server-everything/dist/index.js", json!(["stdio"])) else { return };
    let fixture = McpFixture::new();
    let servers = fixture.settled(config).await;
    use_everything(&servers).await;
    // It gets the root and shows it.
    until_async("it has asked for the roots", || {
        names(&servers).contains(&"mcp__x__get-roots-list".to_owned())
    })
    .await;
    let roots = call(&servers, "mcp__x__get-roots-list", json!({})).await;
    assert!(roots.output.contains(fixture.root().to_str().unwrap()), "{}", roots.output);
    servers.close().await;
    assert!(servers.problems().is_empty());
}

#[tokio::test]
async fn everything_over_http() {
    let Some(entry) = package("server-everything/dist/index.js") else { return };
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let home = TempDir::new().unwrap();
    let mut node = Command::new("node");
    node.arg(entry)
        .arg("streamableHttp")
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    node.env("PATH", path()).env("HOME", home.path());
    let _node = KillOnDrop(node.env("PORT", port.to_string()).spawn().expect("node starts"));
    until_reachable(port).await;
    let fixture = McpFixture::new();
    let servers =
        fixture.settled(json!({"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")})).await;
    use_everything(&servers).await;
    servers.close().await;
    assert!(servers.problems().is_empty());
}

async fn use_everything(servers: &McpServers) {
    assert!(servers.tools().len() > 8, "{:?}; {:?}", names(servers), servers.problems());
    let sum = call(servers, "mcp__x__get-sum", json!({"a": 2, "b": 3})).await;
    assert!(sum.output.contains('5') && !sum.is_error(), "{}", sum.output);
    let image = call(servers, "mcp__x__get-tiny-image", json!({})).await;
    assert_eq!(image.attachments.len(), 1, "{}", image.output);
    assert!(image.attachments[0].data.starts_with(b"\x89PNG"));
    let weather = call(servers, "mcp__x__get-structured-content", json!({"location": "New York"})).await;
    assert!(weather.output.contains("temperature"), "{}", weather.output);
    let resource = json!({"resourceType": "Text", "resourceId": 1});
    let resource = call(servers, "mcp__x__get-resource-reference", resource).await;
    assert!(resource.output.contains("[resource demo://"), "{}", resource.output);
    let wrong = call(servers, "mcp__x__get-sum", json!({"a": "two"})).await;
    assert!(wrong.is_error(), "{}", wrong.output);
    let long = json!({"duration": 0.2, "steps": 2});
    let long = call(servers, "mcp__x__trigger-long-running-operation", long).await;
    assert!(long.output.contains("completed"), "{}", long.output);
}

#[tokio::test]
async fn the_file_system_server_stays_within_its_directory() {
    let fixture = McpFixture::new();
    let Some(config) = node("server-filesystem/dist/index.js", json!([fixture.root()])) else { return };
    fs::write(fixture.root().join("a.txt"), "alpha").unwrap();
    let servers = fixture.settled(config).await;
    assert!(tool(&servers, "mcp__x__read_text_file").spec().read_only);
    assert!(!tool(&servers, "mcp__x__write_file").spec().read_only);
    let read = call(&servers, "mcp__x__read_text_file", json!({"path": fixture.root().join("a.txt")})).await;
    assert_eq!(read.output, "alpha");
    let written = json!({"path": fixture.root().join("b.txt"), "content": "beta"});
    assert!(!call(&servers, "mcp__x__write_file", written).await.is_error());
    assert_eq!(fs::read_to_string(fixture.root().join("b.txt")).unwrap(), "beta");
    let outside = call(&servers, "mcp__x__read_text_file", json!({"path": "/etc/passwd"})).await;
    assert!(outside.is_error() && outside.output.contains("denied"), "{}", outside.output);
}

#[tokio::test]
async fn a_room_confines_a_server_whatever_its_arguments() {
    let Some(entry) = package("server-filesystem/dist/index.js") else { return };
    let packages = entry.ancestors().nth(5).unwrap().to_owned();
    let Some(fixture) = McpFixture::with_bubblewrap(|bounds| bounds.read.extend([packages, home_of("node")]))
    else {
        return;
    };
    let secret = fixture.dir.path().join("secret");
    fs::write(&secret, "the secret").unwrap();
    fs::write(fixture.root().join("a.txt"), "alpha").unwrap();
    let everything = json!({"command": "node", "args": [entry, "/"]});
    let servers = fixture.settled(everything).await;
    let read = call(&servers, "mcp__x__read_text_file", json!({"path": fixture.root().join("a.txt")})).await;
    assert_eq!(read.output, "alpha");
    let stolen = call(&servers, "mcp__x__read_text_file", json!({"path": secret})).await;
    assert!(stolen.is_error() && !stolen.output.contains("the secret"), "{}", stolen.output);
    servers.close().await;
    fixture.host.session_sandbox.close().await;
}

/// The installation directory of a program.
fn home_of(program: &str) -> PathBuf {
    let candidates = std::env::split_paths(&path()).map(|path| path.join(program)).collect::<Vec<_>>();
    let found = candidates.iter().find_map(|path| path.canonicalize().ok()).expect("it is installed");
    found.ancestors().nth(2).unwrap().to_owned()
}

async fn until_reachable(port: u16) {
    loop {
        if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// A process that is killed with its test.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
