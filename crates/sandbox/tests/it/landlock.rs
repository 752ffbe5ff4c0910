//! Which restrictions apply without namespaces, and which do not.

use std::fs;

use autonoe_sandbox::SandboxLayer;

use autonoe_test_kit::processes_with;

use crate::support::TestRoom;

async fn test_room() -> Option<TestRoom> {
    TestRoom::with_layer(SandboxLayer::Landlock, |_| {}).await
}

#[tokio::test]
async fn everyday_work_succeeds() {
    let Some(test_room) = test_room().await else { return };
    test_room
        .succeeds(
            "set -e; mkdir -p src && echo x > src/a && cat src/a && mv src/a src/b && rm src/b
             git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
             echo home > ~/y && cat ~/y; echo x > /dev/null; ls /usr > /dev/null; seq 3 | sort -r
             head -c 8 /dev/urandom | wc -c; cat <(echo fd); cat /etc/os-release > /dev/null",
        )
        .await;
}

#[tokio::test]
async fn files_can_be_renamed_and_linked_between_directories() {
    let Some(test_room) = test_room().await else { return };
    test_room
        .succeeds(
            "set -e; mkdir -p a/deep b; echo x > a/x
             python3 -c \"import os; os.rename('a/x', 'b/x'); os.link('b/x', 'a/deep/y'); os.rename('a/deep', 'b/deep')\"
             cat b/x b/deep/y; python3 -c \"import os; os.rename('b/x', '$HOME/x')\"; cat ~/x
             git init -q . && git add b && git mv b/deep a && ls a/deep/y",
        )
        .await;
    let outside = |call| format!("python3 -c \"import os; os.{call}\"");
    test_room.fails(&outside("link('$OUTSIDE/secret', 'secret')")).await;
    test_room.fails(&outside("link('/etc/hostname', 'hostname')")).await;
    test_room.fails(&outside("rename('b', '$OUTSIDE/b')")).await;
}

#[tokio::test]
async fn nothing_outside_can_be_written_or_read() {
    let Some(test_room) = test_room().await else { return };
    for attempt in [
        "echo x > /etc/x",
        "echo x > /tmp/autonoe-x",
        "echo x >> $OUTSIDE/secret",
        "cat $OUTSIDE/secret",
        "ln -s $OUTSIDE/secret l && cat l",
        "mv $OUTSIDE/secret .",
        "truncate -s 0 $OUTSIDE/secret",
        "ls ~root/.ssh",
        "cat /etc/shadow",
        "cat /etc/sudoers",
    ] {
        test_room.fails(attempt).await;
    }
    assert_eq!(fs::read_to_string(test_room.outside().join("secret")).unwrap(), "the secret");
}

#[tokio::test]
async fn the_orchestrator_cannot_be_inspected_or_signalled() {
    let Some(test_room) = test_room().await else { return };
    let us = std::process::id();
    test_room.fails(&format!("grep -q . /proc/{us}/environ")).await;
    test_room.fails(&format!("ls /proc/{us}/fd/ && readlink /proc/{us}/exe")).await;
    let mark = format!("7{:06}", us);
    let mut bystander = std::process::Command::new("sleep").arg(&mark).spawn().unwrap();
    test_room.fails(&format!("kill -9 {}", bystander.id())).await;
    assert_eq!(processes_with(&[&format!("sleep\0{mark}")]).len(), 1);
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[tokio::test]
async fn only_the_egress_listener_can_be_reached() {
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let Some(mut test_room) = test_room().await else { return };
    test_room.fails(&format!("echo x > /dev/tcp/127.0.0.1/{port}")).await;
    test_room.fails("echo x > /dev/tcp/192.0.2.1/443").await;
    test_room.fails("echo x > /dev/udp/127.0.0.1/53").await;
    let listener = test_room.room.take_egress_listener().unwrap();
    let port = listener.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut connection, b"hello\n").unwrap();
    });
    assert_eq!(test_room.succeeds(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3")).await, "hello\n");
    answering.join().unwrap();
    if test_room.run("command -v python3").await.0 == 0 {
        let multipath = "import socket; socket.socket(2, 1, 262)";
        assert!(test_room.fails(&format!("python3 -c '{multipath}'")).await.contains("not permitted"));
    }
}

#[tokio::test]
async fn nothing_outlives_the_room() {
    let Some(test_room) = test_room().await else { return };
    let mark = format!("8{:06}", std::process::id());
    test_room.succeeds(&format!("(setsid sleep {mark} > /dev/null 2>&1 &); sleep {mark} & sleep 0.05")).await;
    test_room.room.close().await;
    assert_eq!(processes_with(&[&format!("sleep\0{mark}")]).len(), 0);
}

#[tokio::test]
async fn a_fork_bomb_is_killed_here_too() {
    let test_room = TestRoom::with_layer(SandboxLayer::Landlock, |bounds| bounds.limits.processes = 60).await;
    let Some(test_room) = test_room else { return };
    let mut child = test_room.script("for i in $(seq 3000); do sleep 300 & done; wait").spawn().unwrap();
    let ended =
        tokio::time::timeout(std::time::Duration::from_secs(60), child.wait()).await.expect("it ends");
    let error = ended.expect_err("it was killed");
    assert!(error.to_string().contains("more than 60 processes"), "{error}");
}

/// Landlock rules only allow: they cannot except a path inside the project. The gates still can.
#[tokio::test]
async fn read_only_paths_within_the_project_are_not_enforced() {
    let test_room = TestRoom::with_layer(SandboxLayer::Landlock, |bounds| {
        fs::create_dir(bounds.root.join(".autonoe")).unwrap();
        bounds.protected = vec![bounds.root.join(".autonoe")];
    });
    let Some(test_room) = test_room.await else { return };
    test_room.succeeds("echo x > .autonoe/status.json").await;
}
