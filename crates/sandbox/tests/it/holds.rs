//! What a program in a room of bubblewrap's tries, and does not get.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use autonoe_sandbox::{Bounds, Layer};

use crate::support::{House, running_with, until};

async fn house(change: impl FnOnce(&mut Bounds)) -> Option<House> {
    House::held_by(Layer::Bubblewrap, change).await
}

macro_rules! house {
    ($change:expr) => {
        match house($change).await {
            Some(house) => house,
            None => return,
        }
    };
}

#[tokio::test]
async fn everyday_work_goes_on() {
    let house = house!(|_| {});
    let said = house
        .done(
            "set -e; mkdir -p src && echo 'int main(){return 0;}' > src/a.c && cat src/a.c
             git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline
             echo tmp > /tmp/x && cat /tmp/x; echo home > ~/y && cat ~/y; echo $$ > /dev/null
             python3 -c 'print(1+1)' || true; seq 3 | sort -r; ls / > /dev/null; id -u; nproc > /dev/null
             exec 3<> <(echo fd); test -r /proc/self/status; head -c 8 /dev/urandom | wc -c",
        )
        .await;
    assert!(said.contains("home"), "{said}");
    assert!(house.project().join("src/a.c").exists());
}

#[tokio::test]
async fn nothing_outside_can_be_written() {
    let house = house!(|_| {});
    for place in ["/etc/x", "/usr/x", "/x", "/opt/x", "/var/x", "/sys/x", "/root/x", "/home/x"] {
        house.refused(&format!("echo x > {place}")).await;
        assert!(!Path::new(place).exists(), "{place}");
    }
    // The kernel runs what this names; written back unchanged, should the attempt succeed.
    house.refused("cp /proc/sys/kernel/core_pattern x && cat x > /proc/sys/kernel/core_pattern").await;
    house.refused("echo s > /proc/sysrq-trigger").await;
    house.refused("mkdir -p $OUTSIDE && echo x > $OUTSIDE/secret && exit 1; exit 1").await;
    house.refused("ln -s /etc/passwd l && echo x >> l").await;
    assert_eq!(fs::read_to_string(house.outside().join("secret")).unwrap(), "the secret");
    // Temporary files are its own.
    let mark = format!("/tmp/autonoe-mark-{}", std::process::id());
    house.done(&format!("echo x > {mark} && cat {mark}")).await;
    assert!(!Path::new(&mark).exists());
}

#[tokio::test]
async fn nothing_of_anybody_else_can_be_read() {
    let house = house!(|_| {});
    house.refused("cat $OUTSIDE/secret").await;
    // The whole of home is gone, and with it keys and the like.
    let real_home = std::env::var("HOME").unwrap_or("/root".into());
    for secret in [".ssh", ".aws", ".gnupg", ".netrc", ".config", ".bash_history"] {
        house.refused(&format!("ls -d {real_home}/{secret}")).await;
    }
    for secret in ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/run/docker.sock", "/var/run/docker.sock"]
    {
        house.refused(&format!("test -s {secret} && cat {secret}")).await;
    }
    house.refused("test -e /var/log").await;
    house.refused("cat /proc/kcore | head -c 1 | grep -q .").await;
}

/// The orchestrator's environment and memory hold the key of the model provider.
#[tokio::test]
async fn the_orchestrator_cannot_be_looked_into() {
    let house = house!(|_| {});
    let said = house.done("cat /proc/*/environ | tr '\\0' '\\n'; ls /proc | grep -c '^[0-9]'").await;
    assert!(!said.contains("CARGO"), "{said}");
    let processes: u32 = said.trim().lines().last().unwrap().parse().unwrap();
    assert!(processes < 12, "only its own processes are seen: {said}");
    house.refused(&format!("ls /proc/{}/fd", std::process::id() + 1_000_000)).await;
}

#[tokio::test]
async fn nobody_outside_can_be_signalled_and_the_room_cannot_be_killed() {
    let house = house!(|_| {});
    let mark = format!("4{:06}", std::process::id());
    let mut bystander = std::process::Command::new("sleep").arg(&mark).spawn().unwrap();
    house.run(&format!("kill -9 {}; kill -9 1; kill -STOP 1; true", bystander.id())).await;
    // Everybody whom it sees: its own supervisor, but not the room.
    house.script("kill -9 -1; exec sleep 300").spawn().unwrap().wait().await.unwrap_err();
    assert_eq!(running_with(&format!("sleep\0{mark}")), 1);
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    assert!(house.room.is_open());
    house.done("true").await;
}

#[tokio::test]
async fn nothing_can_be_reached_but_the_room_itself() {
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let mut house = house!(|_| {});
    house.refused(&format!("echo x > /dev/tcp/127.0.0.1/{port}")).await;
    house.refused("echo x > /dev/tcp/192.0.2.1/80").await;
    house.refused("echo x > /dev/udp/192.0.2.1/53").await;
    let said = house.done("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | xargs").await;
    assert_eq!(said.trim(), "lo");
    // The one way out leads to us.
    let way_out = house.room.take_way_out().unwrap();
    let port = way_out.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let (mut connection, _) = way_out.accept().unwrap();
        std::io::Write::write_all(&mut connection, b"hello from outside\n").unwrap();
    });
    let said = house.done(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3")).await;
    assert_eq!(said, "hello from outside\n");
    answering.join().unwrap();
}

#[tokio::test]
async fn a_server_started_by_one_command_is_reached_by_the_next() {
    let house = house!(|_| {});
    if house.run("command -v python3").await.0 != 0 {
        return;
    }
    fs::write(house.project().join("page.txt"), "served\n").unwrap();
    house.done("python3 -m http.server 8123 --bind 127.0.0.1 > server.log 2>&1 &").await;
    let fetch =
        "for i in $(seq 200); do exec 3<>/dev/tcp/127.0.0.1/8123 && break; sleep 0.05; done 2>/dev/null
                 printf 'GET /page.txt HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";
    let said = house.done(fetch).await;
    assert!(said.contains("served"), "{said}");
}

#[tokio::test]
async fn what_steers_us_agents_and_git_cannot_be_changed() {
    let house = house!(|bounds| {
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
        house.refused(attempt).await;
    }
    let project = house.project();
    assert_eq!(fs::read_to_string(project.join(".autonoe/status.json")).unwrap(), "{}");
    assert_eq!(fs::read_to_string(project.join(".git/config")).unwrap(), "[core]\n");
    assert_eq!(fs::read_dir(project.join(".git/hooks")).unwrap().count(), 0);
    house.done("cat .autonoe/status.json && echo x > .git/objects-like && echo y > file").await;
    // What stood in for a missing directory goes with the room.
    assert!(project.join(".codex").is_dir());
    house.room.close().await;
    assert!(!project.join(".codex").exists());
    assert!(project.join(".claude").is_dir());
}

#[tokio::test]
async fn state_within_reach_is_hidden() {
    let house = house!(|bounds| {
        let state = bounds.root.join("state");
        fs::create_dir(&state).unwrap();
        fs::write(state.join("journal"), "x").unwrap();
        bounds.home = state.join("home");
        bounds.hidden = vec![state];
    });
    house.refused("cat state/journal").await;
    house.run("echo x > state/new; echo y > state/journal").await;
    assert!(!house.project().join("state/new").exists());
    assert_eq!(fs::read_to_string(house.project().join("state/journal")).unwrap(), "x");
    house.done("echo z > state/home/z").await;
    assert!(house.project().join("state/home/z").exists());
}

#[tokio::test]
async fn what_the_user_added_can_be_used() {
    let house = house!(|bounds| {
        let parent = bounds.root.parent().unwrap().to_owned();
        fs::create_dir(parent.join("cache")).unwrap();
        bounds.read = vec![parent.join("outside"), parent.join("not-there")];
        bounds.write = vec![parent.join("cache")];
    });
    assert_eq!(house.done("cat $OUTSIDE/secret").await, "the secret");
    house.refused("echo x > $OUTSIDE/secret").await;
    house.done("echo x > $OUTSIDE/../cache/x").await;
    assert!(house.dir.path().join("cache/x").exists());
}

#[tokio::test]
async fn no_new_privileges_and_no_new_namespaces() {
    let house = house!(|_| {});
    let status = house.done("cat /proc/self/status").await;
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
        house.refused(attempt).await;
    }
    // A program with the set-user-id bit gains nothing.
    let copy = house.project().join("id");
    fs::copy("/usr/bin/id", &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
    house.done("./id -u").await;
}

#[tokio::test]
async fn only_ordinary_sockets_can_be_opened() {
    let house = house!(|_| {});
    if house.run("command -v python3").await.0 != 0 {
        return;
    }
    let open = |family: i32| {
        format!("python3 -c 'import socket; socket.socket({family}, 1 if {family} != 17 else 3)'")
    };
    for family in [1, 2, 10] {
        house.done(&open(family)).await;
    }
    // The hypervisor's, packets, the kernel's cryptography, Bluetooth.
    for family in [40, 17, 38, 31] {
        let said = house.refused(&open(family)).await;
        assert!(said.contains("not permitted"), "{family}: {said}");
    }
}

#[tokio::test]
async fn nothing_outlives_the_room() {
    let house = house!(|_| {});
    let mark = format!("5{:06}", std::process::id());
    let text = format!(
        "(setsid nohup sleep {mark} > /dev/null 2>&1 &); (trap '' TERM HUP INT; exec sleep {mark}) & sleep 0.01"
    );
    house.done(&text).await;
    let sleeping = format!("sleep\0{mark}");
    until("both sleep", || running_with(&sleeping) == 2);
    house.room.close().await;
    assert_eq!(running_with(&sleeping), 0);
}
