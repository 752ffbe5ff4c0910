//! Attempts to escape from a bubblewrap room, which must fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use autonoe_sandbox::{Bounds, SandboxLayer};

use autonoe_test_kit::{processes_with, until};

use crate::support::TestRoom;

async fn test_room(change: impl FnOnce(&mut Bounds)) -> Option<TestRoom> {
    TestRoom::with_layer(SandboxLayer::Bubblewrap, change).await
}

macro_rules! test_room {
    ($change:expr) => {
        match test_room($change).await {
            Some(test_room) => test_room,
            None => return,
        }
    };
}

#[tokio::test]
async fn everyday_work_succeeds() {
    let test_room = test_room!(|_| {});
    let output = test_room
        .succeeds(
            "set -e; mkdir -p src && echo 'int main(){return 0;}' > src/a.c && cat src/a.c
             git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline
             echo tmp > /tmp/x && cat /tmp/x; echo home > ~/y && cat ~/y; echo $$ > /dev/null
             python3 -c 'print(1+1)' || true; seq 3 | sort -r; ls / > /dev/null; id -u; nproc > /dev/null
             exec 3<> <(echo fd); test -r /proc/self/status; head -c 8 /dev/urandom | wc -c",
        )
        .await;
    assert!(output.contains("home"), "{output}");
    assert!(test_room.project().join("src/a.c").exists());
}

#[tokio::test]
async fn nothing_outside_can_be_written() {
    let test_room = test_room!(|_| {});
    for path in ["/etc/x", "/usr/x", "/x", "/opt/x", "/var/x", "/sys/x", "/root/x", "/home/x"] {
        test_room.fails(&format!("echo x > {path}")).await;
        assert!(!Path::new(path).exists(), "{path}");
    }
    // The kernel runs the program that core_pattern names. The attempt writes the same value, in case it succeeds.
    test_room.fails("cp /proc/sys/kernel/core_pattern x && cat x > /proc/sys/kernel/core_pattern").await;
    test_room.fails("echo s > /proc/sysrq-trigger").await;
    test_room.fails("mkdir -p $OUTSIDE && echo x > $OUTSIDE/secret && exit 1; exit 1").await;
    test_room.fails("ln -s /etc/passwd l && echo x >> l").await;
    assert_eq!(fs::read_to_string(test_room.outside().join("secret")).unwrap(), "the secret");
    // The room has its own /tmp.
    let mark = format!("/tmp/autonoe-mark-{}", std::process::id());
    test_room.succeeds(&format!("echo x > {mark} && cat {mark}")).await;
    assert!(!Path::new(&mark).exists());
}

#[tokio::test]
async fn nothing_private_outside_can_be_read() {
    let test_room = test_room!(|_| {});
    test_room.fails("cat $OUTSIDE/secret").await;
    // The real home directory is not visible, and neither are the keys in it.
    let real_home = std::env::var("HOME").unwrap_or("/root".into());
    for secret in [".ssh", ".aws", ".gnupg", ".netrc", ".config", ".bash_history"] {
        test_room.fails(&format!("ls -d {real_home}/{secret}")).await;
    }
    for secret in ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/run/docker.sock", "/var/run/docker.sock"]
    {
        test_room.fails(&format!("test -s {secret} && cat {secret}")).await;
    }
    test_room.fails("test -e /var/log").await;
    test_room.fails("cat /proc/kcore | head -c 1 | grep -q .").await;
}

/// The orchestrator's environment and memory contain the key of the model provider.
#[tokio::test]
async fn the_orchestrator_cannot_be_inspected() {
    let test_room = test_room!(|_| {});
    let output =
        test_room.succeeds("cat /proc/*/environ | tr '\\0' '\\n'; ls /proc | grep -c '^[0-9]'").await;
    assert!(!output.contains("CARGO"), "{output}");
    let processes: u32 = output.trim().lines().last().unwrap().parse().unwrap();
    assert!(processes < 12, "only processes of the room are visible: {output}");
    test_room.fails(&format!("ls /proc/{}/fd", std::process::id() + 1_000_000)).await;
}

#[tokio::test]
async fn no_process_outside_can_be_signalled_and_the_room_cannot_be_killed() {
    let test_room = test_room!(|_| {});
    let mark = format!("4{:06}", std::process::id());
    let mut bystander = std::process::Command::new("sleep").arg(&mark).spawn().unwrap();
    test_room.run(&format!("kill -9 {}; kill -9 1; kill -STOP 1; true", bystander.id())).await;
    // Signals every process that it can see: this kills its own supervisor, but not the room.
    test_room.script("kill -9 -1; exec sleep 300").spawn().unwrap().wait().await.unwrap_err();
    assert_eq!(processes_with(&[&format!("sleep\0{mark}")]).len(), 1);
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    assert!(test_room.room.is_open());
    test_room.succeeds("true").await;
}

#[tokio::test]
async fn nothing_outside_the_room_can_be_reached() {
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let mut test_room = test_room!(|_| {});
    test_room.fails(&format!("echo x > /dev/tcp/127.0.0.1/{port}")).await;
    test_room.fails("echo x > /dev/tcp/192.0.2.1/80").await;
    test_room.fails("echo x > /dev/udp/192.0.2.1/53").await;
    let output = test_room.succeeds("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | xargs").await;
    assert_eq!(output.trim(), "lo");
    // Only the egress listener leads outside.
    let listener = test_room.room.take_egress_listener().unwrap();
    let port = listener.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut connection, b"hello from outside\n").unwrap();
    });
    let output = test_room.succeeds(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3")).await;
    assert_eq!(output, "hello from outside\n");
    answering.join().unwrap();
}

#[tokio::test]
async fn a_server_started_by_one_command_is_reached_by_the_next() {
    let test_room = test_room!(|_| {});
    if test_room.run("command -v python3").await.0 != 0 {
        return;
    }
    fs::write(test_room.project().join("page.txt"), "served\n").unwrap();
    test_room.succeeds("python3 -m http.server 8123 --bind 127.0.0.1 > server.log 2>&1 &").await;
    let fetch =
        "for i in $(seq 200); do exec 3<>/dev/tcp/127.0.0.1/8123 && break; sleep 0.05; done 2>/dev/null
                 printf 'GET /page.txt HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";
    let output = test_room.succeeds(fetch).await;
    assert!(output.contains("served"), "{output}");
}

#[tokio::test]
async fn settings_of_autonoe_agents_and_git_cannot_be_changed() {
    let test_room = test_room!(|bounds| {
        let root = bounds.root.clone();
        for dir in [".autonoe", ".git/hooks", ".claude"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        fs::write(root.join(".autonoe/status.json"), "{}").unwrap();
        fs::write(root.join(".git/config"), "[core]\n").unwrap();
        fs::write(root.join(".mcp.json"), "{}").unwrap();
        let names = [".autonoe", ".git/hooks", ".git/config", ".claude", ".codex", ".mcp.json"];
        bounds.protected = names.iter().map(|name| root.join(name)).collect();
    });
    for attempt in [
        "echo x > .autonoe/status.json",
        "echo x > .autonoe/new",
        "rm -f .autonoe/status.json",
        "mv .autonoe .aside",
        "rm -rf .autonoe",
        "mkdir aside && mv aside .autonoe/aside",
        "ln -s .autonoe link && echo x > link/status.json",
        "ln .autonoe/status.json hard && echo x > hard",
        "echo x > .git/hooks/pre-commit",
        "mv .git/hooks .git/aside",
        "mv .git aside",
        "rm -rf .git; mkdir .git && mkdir .git/hooks",
        "echo x >> .git/config",
        "mv x .git/config; echo x > y && mv y .git/config",
        "echo x > .claude/settings.json",
        "mkdir .codex/x",
        "rmdir .codex",
        "echo x > .mcp.json",
        "chmod 777 .autonoe && echo x > .autonoe/y",
        "mount -o remount,rw .autonoe",
        "umount .autonoe",
    ] {
        test_room.fails(attempt).await;
    }
    let project = test_room.project();
    assert_eq!(fs::read_to_string(project.join(".autonoe/status.json")).unwrap(), "{}");
    assert_eq!(fs::read_to_string(project.join(".git/config")).unwrap(), "[core]\n");
    assert_eq!(fs::read_dir(project.join(".git/hooks")).unwrap().count(), 0);
    test_room.succeeds("cat .autonoe/status.json && echo x > .git/objects-like && echo y > file").await;
    // The placeholder for a missing directory is removed with the room.
    assert!(project.join(".codex").is_dir());
    test_room.room.close().await;
    assert!(!project.join(".codex").exists());
    assert!(project.join(".claude").is_dir());
}

#[tokio::test]
async fn state_inside_the_project_is_hidden() {
    let test_room = test_room!(|bounds| {
        let state = bounds.root.join("state");
        fs::create_dir(&state).unwrap();
        fs::write(state.join("journal"), "x").unwrap();
        bounds.home = state.join("home");
        bounds.hidden = vec![state];
    });
    test_room.fails("cat state/journal").await;
    test_room.run("echo x > state/new; echo y > state/journal").await;
    assert!(!test_room.project().join("state/new").exists());
    assert_eq!(fs::read_to_string(test_room.project().join("state/journal")).unwrap(), "x");
    test_room.succeeds("echo z > state/home/z").await;
    assert!(test_room.project().join("state/home/z").exists());
}

/// Moves a directory aside and puts another one with the same path in its place.
const REPLACE: &str = r#"replace() { mv "$1" "$1.aside" && mkdir -p "$2" && echo forged > "$2/file"; }"#;

/// A judge that uses an absolute path would run what a program has put there.
#[tokio::test]
async fn directories_above_a_mount_cannot_be_replaced() {
    for place in ["/tmp", "/var/tmp", "/dev/shm"] {
        let dir = tempfile::tempdir_in(place).unwrap();
        let state = dir.path().join("state");
        let test_room = test_room!(|bounds| {
            // Where the commands start.
            bounds.write = vec![bounds.root.clone()];
            bounds.root = state.join("checkouts/tree");
            bounds.home = state.join("checkouts/home");
            bounds.read = vec![state.join("objects/pack")];
            for path in [&bounds.root, &bounds.home, &bounds.read[0]] {
                fs::create_dir_all(path).unwrap();
                fs::write(path.join("file"), "real").unwrap();
            }
        });
        let (state, dir) = (state.display(), dir.path().display());
        for path in ["checkouts/tree", "checkouts/home", "objects/pack"] {
            for above in
                [dir.to_string(), state.to_string(), format!("{state}/checkouts"), format!("{state}/{path}")]
            {
                test_room.fails(&format!("cd /; {REPLACE}; replace {above} {state}/{path}")).await;
            }
            assert_eq!(test_room.succeeds(&format!("cat {state}/{path}/file")).await, "real");
        }
        test_room
            .succeeds(&format!(
                "echo x > {place}/own && cd {state}/checkouts && echo x > tree/x && echo x > home/x"
            ))
            .await;
    }
}

#[tokio::test]
async fn directories_above_hidden_state_cannot_be_replaced() {
    let test_room = test_room!(|bounds| {
        let state = bounds.root.join("me/.local/state");
        fs::create_dir_all(state.join("objects")).unwrap();
        fs::write(state.join("journal"), "x").unwrap();
        fs::write(bounds.root.join("me/.local/guarded"), "x").unwrap();
        bounds.protected = vec![bounds.root.join("me/.local/guarded")];
        bounds.home = state.join("home");
        bounds.read = vec![state.join("objects")];
        bounds.hidden = vec![state];
    });
    for above in ["me", "me/.local", "me/.local/state"] {
        test_room.fails(&format!("{REPLACE}; replace {above} me/.local/state")).await;
    }
    test_room.fails("echo y > me/.local/guarded").await;
    test_room.fails("cat me/.local/state/journal").await;
    test_room
        .succeeds("ls me/.local/state/objects && echo x > me/.local/x && echo x > me/.local/state/home/x")
        .await;
}

#[tokio::test]
async fn paths_that_the_user_added_are_accessible() {
    let test_room = test_room!(|bounds| {
        let parent = bounds.root.parent().unwrap().to_owned();
        fs::create_dir(parent.join("cache")).unwrap();
        bounds.read = vec![parent.join("outside"), parent.join("not-there")];
        bounds.write = vec![parent.join("cache")];
    });
    assert_eq!(test_room.succeeds("cat $OUTSIDE/secret").await, "the secret");
    test_room.fails("echo x > $OUTSIDE/secret").await;
    test_room.succeeds("echo x > $OUTSIDE/../cache/x").await;
    assert!(test_room.dir.path().join("cache/x").exists());
}

#[tokio::test]
async fn no_new_privileges_and_no_new_namespaces() {
    let test_room = test_room!(|_| {});
    let status = test_room.succeeds("cat /proc/self/status").await;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(field("NoNewPrivs:"), "1");
    assert_eq!(field("Seccomp:"), "2");
    assert_eq!(u64::from_str_radix(&field("CapEff:"), 16).unwrap(), 0);
    for attempt in [
        "unshare -U true",
        "unshare -n true",
        "unshare -m true",
        "mount -t tmpfs x /tmp",
        "chroot /tmp",
        "dmesg",
    ] {
        test_room.fails(attempt).await;
    }
    // A program with the set-user-id bit gains nothing.
    let copy = test_room.project().join("id");
    fs::copy("/usr/bin/id", &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
    test_room.succeeds("./id -u").await;
}

#[tokio::test]
async fn only_ordinary_sockets_can_be_opened() {
    let test_room = test_room!(|_| {});
    if test_room.run("command -v python3").await.0 != 0 {
        return;
    }
    let open = |family: i32| {
        format!("python3 -c 'import socket; socket.socket({family}, 1 if {family} != 17 else 3)'")
    };
    for family in [1, 2, 10] {
        test_room.succeeds(&open(family)).await;
    }
    // Vsock, packet sockets, kernel cryptography, Bluetooth.
    for family in [40, 17, 38, 31] {
        let output = test_room.fails(&open(family)).await;
        assert!(output.contains("not permitted"), "{family}: {output}");
    }
}

#[tokio::test]
async fn nothing_outlives_the_room() {
    let test_room = test_room!(|_| {});
    let mark = format!("5{:06}", std::process::id());
    let text = format!(
        "(setsid nohup sleep {mark} > /dev/null 2>&1 &); (trap '' TERM HUP INT; exec sleep {mark}) & sleep 0.01"
    );
    test_room.succeeds(&text).await;
    let sleeping = format!("sleep\0{mark}");
    until("both sleep", || processes_with(&[&sleeping]).len() == 2);
    test_room.room.close().await;
    assert_eq!(processes_with(&[&sleeping]).len(), 0);
}
