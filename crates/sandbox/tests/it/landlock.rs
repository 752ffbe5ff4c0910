//! What still holds where namespaces cannot be had, and what does not.

use std::fs;

use autonoe_sandbox::Layer;

use crate::support::{House, running_with};

async fn house() -> Option<House> {
    House::held_by(Layer::Landlock, |_| {}).await
}

#[tokio::test]
async fn everyday_work_goes_on() {
    let Some(house) = house().await else { return };
    house
        .done(
            "set -e; mkdir -p src && echo x > src/a && cat src/a && mv src/a src/b && rm src/b
             git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
             echo home > ~/y && cat ~/y; echo x > /dev/null; ls /usr > /dev/null; seq 3 | sort -r
             head -c 8 /dev/urandom | wc -c; cat <(echo fd); cat /etc/os-release > /dev/null",
        )
        .await;
}

#[tokio::test]
async fn nothing_outside_can_be_written_or_read() {
    let Some(house) = house().await else { return };
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
        house.refused(attempt).await;
    }
    assert_eq!(fs::read_to_string(house.outside().join("secret")).unwrap(), "the secret");
}

#[tokio::test]
async fn the_orchestrator_cannot_be_looked_into_or_signalled() {
    let Some(house) = house().await else { return };
    let us = std::process::id();
    house.refused(&format!("grep -q . /proc/{us}/environ")).await;
    house.refused(&format!("ls /proc/{us}/fd/ && readlink /proc/{us}/exe")).await;
    let mark = format!("7{:06}", us);
    let mut bystander = std::process::Command::new("sleep").arg(&mark).spawn().unwrap();
    house.refused(&format!("kill -9 {}", bystander.id())).await;
    assert_eq!(running_with(&format!("sleep\0{mark}")), 1);
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[tokio::test]
async fn nobody_can_be_reached_but_us() {
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let Some(mut house) = house().await else { return };
    house.refused(&format!("echo x > /dev/tcp/127.0.0.1/{port}")).await;
    house.refused("echo x > /dev/tcp/192.0.2.1/443").await;
    house.refused("echo x > /dev/udp/127.0.0.1/53").await;
    let way_out = house.room.take_way_out().unwrap();
    let port = way_out.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let (mut connection, _) = way_out.accept().unwrap();
        std::io::Write::write_all(&mut connection, b"hello\n").unwrap();
    });
    assert_eq!(house.done(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3")).await, "hello\n");
    answering.join().unwrap();
    if house.run("command -v python3").await.0 == 0 {
        let listen = "import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"/run/docker.sock\")";
        assert!(house.refused(&format!("python3 -c '{listen}'")).await.contains("not permitted"));
        let multipath = "import socket; socket.socket(2, 1, 262)";
        assert!(house.refused(&format!("python3 -c '{multipath}'")).await.contains("not permitted"));
    }
}

#[tokio::test]
async fn nothing_outlives_the_room() {
    let Some(house) = house().await else { return };
    let mark = format!("8{:06}", std::process::id());
    house.done(&format!("(setsid sleep {mark} > /dev/null 2>&1 &); sleep {mark} & sleep 0.05")).await;
    house.room.close().await;
    assert_eq!(running_with(&format!("sleep\0{mark}")), 0);
}

#[tokio::test]
async fn a_fork_bomb_is_ended_here_too() {
    let house = House::held_by(Layer::Landlock, |bounds| bounds.limits.processes = 60).await;
    let Some(house) = house else { return };
    let mut child = house.script("for i in $(seq 3000); do sleep 300 & done; wait").spawn().unwrap();
    let ended =
        tokio::time::timeout(std::time::Duration::from_secs(60), child.wait()).await.expect("it ends");
    let error = ended.expect_err("it was ended");
    assert!(error.to_string().contains("more than 60 processes"), "{error}");
}

/// Landlock knows only what is allowed: inside the project it cannot make an exception. The gates still do.
#[tokio::test]
async fn not_held_read_only_places_within_the_project() {
    let house = House::held_by(Layer::Landlock, |bounds| {
        fs::create_dir(bounds.root.join(".autonoe")).unwrap();
        bounds.protected = vec![bounds.root.join(".autonoe")];
    });
    let Some(house) = house.await else { return };
    house.done("echo x > .autonoe/status.json").await;
}
