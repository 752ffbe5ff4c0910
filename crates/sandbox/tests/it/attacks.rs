//! Attempts to leave a room by system calls, on every layer: sockets, terminals, shared memory, other processes, modes of files.
//! `attacks.py` makes the calls and prints those that were not refused.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use autonoe_sandbox::{Bounds, SandboxLayer};
use autonoe_test_kit::until;

use crate::support::TestRoom;

const PROGRAM: &str = include_str!("attacks.py");

const BOTH: [SandboxLayer; 2] = [SandboxLayer::Bubblewrap, SandboxLayer::Landlock];

/// Several processes that each fork, leave the session and exit, again and again, so that nobody finds them in the process table.
/// The arguments are a file to write now and then, a number of seconds and the number of processes.
const REPLACE_ITSELF: &str = r#"
    use POSIX (); $SIG{TERM} = $SIG{HUP} = 'IGNORE'; my ($beat, $end) = ($ARGV[0], time + $ARGV[1]);
    for (1..$ARGV[2]) { last unless fork; exit if $_ == $ARGV[2] }
    my $n = 0;
    while (time < $end) { exit if fork; POSIX::setsid(); if (++$n % 20 == 0) { open F, '>', $beat; print F $$; close F } }
    open F, '>', "$beat.over"; close F;
"#;

/// `None` if the machine does not support the layer or has no Python.
async fn test_room(layer: SandboxLayer, change: impl FnOnce(&mut Bounds)) -> Option<TestRoom> {
    let test_room = TestRoom::with_layer(layer, |bounds| {
        with_program(bounds);
        change(bounds);
    })
    .await?;
    if test_room.run("command -v python3").await.0 != 0 {
        eprintln!("skipped: no python3");
        return None;
    }
    Some(test_room)
}

fn with_program(bounds: &mut Bounds) {
    fs::write(bounds.root.join("attacks.py"), PROGRAM).unwrap();
}

async fn landlock_room() -> Option<TestRoom> {
    test_room(SandboxLayer::Landlock, |_| {}).await
}

async fn attack(test_room: &TestRoom, arguments: &str) -> String {
    test_room.succeeds(&format!("python3 attacks.py {arguments} 2> errors")).await
}

#[tokio::test]
async fn calls_of_another_abi_are_refused() {
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |_| {}).await else { continue };
        assert_eq!(attack(&test_room, "x32").await, "", "{layer:?}");
    }
}

/// The outcome of one call that reaches into another process, in a room in which programs may not trace each other, such as
/// that of a check.
async fn refused_call(name: &str) {
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |_| {}).await else { continue };
        let outcomes = attack(&test_room, "memory_of_others").await;
        assert!(outcomes.lines().any(|line| line == format!("{name} EPERM")), "{layer:?}: {outcomes}");
    }
}

#[tokio::test]
async fn pidfd_getfd_is_refused() {
    refused_call("pidfd_getfd").await;
}

#[tokio::test]
async fn process_vm_readv_is_refused() {
    refused_call("process_vm_readv").await;
}

#[tokio::test]
async fn process_vm_writev_is_refused() {
    refused_call("process_vm_writev").await;
}

#[tokio::test]
async fn kcmp_is_refused() {
    refused_call("kcmp").await;
}

#[tokio::test]
async fn ptrace_is_refused_in_rooms_of_checks() {
    refused_call("ptrace").await;
}

#[tokio::test]
async fn debuggers_work_in_rooms_of_sessions() {
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |bounds| bounds.tracing = true).await else { continue };
        assert_eq!(attack(&test_room, "own_child_can_be_traced").await, "done\n", "{layer:?}");
    }
}

#[tokio::test]
async fn tracing_the_first_process_or_a_supervisor_does_not_end_it() {
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |bounds| bounds.tracing = true).await else { continue };
        let room = "$(ps -o ppid= -p $PPID)";
        for target in [room, "$PPID"] {
            assert_eq!(attack(&test_room, &format!("trace {target}")).await, "", "{layer:?} {target}");
        }
        assert!(test_room.room.is_open());
        test_room.succeeds("true").await;
    }
}

#[tokio::test]
async fn how_other_processes_run_cannot_be_changed() {
    let Some(test_room) = landlock_room().await else { return };
    let mut bystander = Command::new("sleep").arg("60").spawn().unwrap();
    assert_eq!(attack(&test_room, &format!("priorities {}", bystander.id())).await, "");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[tokio::test]
async fn a_program_cannot_change_the_limits_of_its_judge() {
    for layer in BOTH {
        for tracing in [false, true] {
            let Some(test_room) = test_room(layer, |bounds| bounds.tracing = tracing).await else { continue };
            let judge = "python3 attacks.py limits; echo verdict > verdict && cat verdict";
            assert_eq!(test_room.succeeds(judge).await, "verdict\n", "{layer:?}");
        }
    }
}

#[tokio::test]
async fn signals_from_inside_do_not_stop_the_room() {
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |_| {}).await else { continue };
        for signal in ["TERM", "INT", "HUP", "QUIT"] {
            test_room.succeeds(&format!("kill -{signal} $(ps -o ppid= -p $PPID); sleep 0.1")).await;
        }
        assert!(test_room.room.is_open(), "{layer:?}");
        test_room.succeeds("true").await;
    }
}

#[tokio::test]
async fn only_the_proxy_itself_can_be_connected_to_at_its_port() {
    let Some(mut test_room) = landlock_room().await else { return };
    let proxy = test_room.room.take_egress_listener().unwrap();
    let port = proxy.local_addr().unwrap().port();
    let other = TcpListener::bind(("127.0.0.2", port)).unwrap();
    // Ends with the process; a queue that nobody empties would be full soon.
    std::thread::spawn(move || proxy.incoming().for_each(drop));
    for host in ["127.0.0.2", "::ffff:127.0.0.2", "192.0.2.1", "0.0.0.0"] {
        assert_eq!(attack(&test_room, &format!("connect {host} {port}")).await, "");
    }
    assert_eq!(attack(&test_room, &format!("racing_connect 127.0.0.1 127.0.0.2 {port}")).await, "");
    other.set_nonblocking(true).unwrap();
    other.accept().expect_err("nothing connected");
    for host in ["127.0.0.1", "::ffff:127.0.0.1"] {
        let connected = attack(&test_room, &format!("connect {host} {port}")).await;
        assert_eq!(connected, format!("connected to {host}\n"));
    }
}

#[tokio::test]
async fn servers_listen_on_loopback_only() {
    let Some(test_room) = landlock_room().await else { return };
    assert_eq!(attack(&test_room, "listen").await, "");
    assert_eq!(attack(&test_room, "listen_locally").await, "listens\n");
}

#[tokio::test]
async fn programs_reach_their_own_servers() {
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |_| {}).await else { continue };
        assert_eq!(attack(&test_room, "own_servers").await, "served\n", "{layer:?}");
        assert_eq!(attack(&test_room, "deaf_server").await, "works\n", "{layer:?}");
    }
}

#[tokio::test]
async fn servers_of_others_are_neither_reached_nor_joined() {
    let Some(test_room) = landlock_room().await else { return };
    let reusable = "import socket; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1); \
                    s.bind(('127.0.0.1', 0)); s.listen(5); print(s.getsockname()[1], flush=True); input()";
    let owner =
        Command::new("python3").args(["-c", reusable]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut owner) = owner else { return };
    let mut port = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut port).unwrap();
    assert_eq!(attack(&test_room, &format!("foreign_server {}", port.trim())).await, "");
    drop(owner.stdin.take());
    owner.wait().unwrap();
}

#[tokio::test]
async fn no_connection_waits_for_a_later_server() {
    let Some(test_room) = landlock_room().await else { return };
    assert_eq!(attack(&test_room, "pending_connections").await, "");
}

#[tokio::test]
async fn programs_reach_their_own_unix_servers() {
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |_| {}).await else { continue };
        assert_eq!(attack(&test_room, "own_unix_servers").await, "served\n", "{layer:?}");
        assert_eq!(attack(&test_room, "abandoned_connections").await, "connected\n", "{layer:?}");
    }
}

#[tokio::test]
async fn unix_servers_outside_are_not_reached() {
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |_| {}).await else { continue };
        let path = test_room.outside().join("server");
        let server = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(
            attack(&test_room, &format!("foreign_unix_server {}", path.display())).await,
            "",
            "{layer:?}"
        );
        server.set_nonblocking(true).unwrap();
        server.accept().expect_err("nobody connected");
    }
}

#[tokio::test]
async fn an_address_that_is_changed_while_it_is_judged_binds_no_other_socket() {
    let Some(test_room) = landlock_room().await else { return };
    assert_eq!(attack(&test_room, "changed_bind").await, "");
}

/// As `flock DIRECTORY autonoe run` leaves its lock open.
#[tokio::test]
async fn what_we_were_started_with_stays_outside() {
    let directory = rustix::fs::open("/", rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |_| {}).await else { continue };
        assert_eq!(attack(&test_room, "inherited").await, "", "{layer:?}: {directory:?}");
    }
}

#[tokio::test]
async fn unix_datagrams_do_not_leave_the_room() {
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |_| {}).await else { continue };
        let path = test_room.outside().join("log");
        let server = UnixDatagram::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(attack(&test_room, &format!("datagram {}", path.display())).await, "", "{layer:?}");
        server.set_nonblocking(true).unwrap();
        server.recv(&mut [0; 16]).expect_err("nothing came");
        assert_eq!(attack(&test_room, "pairs").await, "works\n", "{layer:?}");
    }
}

#[tokio::test]
async fn terminals_of_others_stay_closed_and_own_ones_work() {
    let open = "import os; m, s = os.openpty(); print(os.ttyname(s), flush=True); input()";
    let owner =
        Command::new("python3").args(["-c", open]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut owner) = owner else { return };
    let mut path = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut path).unwrap();
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |_| {}).await else { continue };
        assert_eq!(attack(&test_room, &format!("terminal {}", path.trim())).await, "", "{layer:?}");
        assert_eq!(attack(&test_room, "own_terminal").await, "inside\n", "{layer:?}");
    }
    drop(owner.stdin.take());
    owner.wait().unwrap();
}

#[tokio::test]
async fn memory_that_programs_outside_share_is_not_there() {
    let name = format!("autonoe-test-{}", std::process::id());
    let file = std::path::Path::new("/dev/shm").join(&name);
    if fs::write(&file, "of another program").is_err() {
        eprintln!("skipped: no /dev/shm");
        return;
    }
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |_| {}).await else { continue };
        let output = attack(&test_room, &format!("shared_memory {name}")).await;
        assert!(!output.contains("of another program"), "{layer:?}: {output}");
        assert!(!file.with_file_name(format!("{name}-new")).exists(), "{layer:?}");
    }
    fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn system_v_memory_and_message_queues_of_the_machine_cannot_be_used() {
    let Some(test_room) = landlock_room().await else { return };
    assert_eq!(attack(&test_room, "system_v 1094861647 4096").await, "");
}

#[tokio::test]
async fn processes_that_replace_themselves_end_with_the_room() {
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |bounds| bounds.limits.processes = 4000).await else {
            continue;
        };
        let beat = test_room.project().join("beat");
        if test_room.run("command -v perl").await.0 != 0 {
            continue;
        }
        fs::write(test_room.project().join("replace.pl"), REPLACE_ITSELF).unwrap();
        // They end by themselves after a minute, in case nothing else ends them, and say so.
        test_room.run(&format!("perl replace.pl {} 60 60", beat.display())).await;
        until("it runs", || beat.exists());
        test_room.room.close().await;
        assert!(!beat.with_extension("over").exists(), "{layer:?}: closing waited until they had ended");
        let closed = SystemTime::now();
        std::thread::sleep(Duration::from_millis(300));
        let last = fs::metadata(&beat).unwrap().modified().unwrap();
        assert!(last <= closed, "{layer:?}: it still runs");
    }
}

const MIB: u64 = 1 << 20;

#[tokio::test]
async fn shared_memory_counts() {
    for layer in BOTH {
        for attempt in ["map_shared", "write_memory_files"] {
            let Some(test_room) = test_room(layer, |bounds| bounds.limits.memory = 96 * MIB).await else {
                continue;
            };
            assert!(attack(&test_room, &format!("{attempt} 32")).await.contains("used"), "{layer:?}");
            let mut child = test_room.script(&format!("python3 attacks.py {attempt} 192")).spawn().unwrap();
            let error = child.wait().await.expect_err("it was killed").to_string();
            assert!(error.contains("more than 96 MiB of shared memory"), "{layer:?}: {error}");
        }
    }
}

/// Directories in memory that are not limited could use all of the machine's.
#[tokio::test]
async fn every_directory_in_memory_is_limited_or_read_only() {
    let hide = |bounds: &mut Bounds| {
        bounds.hidden = vec![bounds.root.join("hidden")];
        fs::create_dir(bounds.root.join("hidden")).unwrap();
        bounds.limits.temp_size = 8 * MIB;
    };
    let Some(test_room) = test_room(SandboxLayer::Bubblewrap, hide).await else { return };
    let mounts = test_room.succeeds("cat /proc/self/mounts").await;
    for line in mounts.lines().filter(|line| line.split(' ').nth(2) == Some("tmpfs")) {
        let fields: Vec<_> = line.split(' ').collect();
        let options: Vec<_> = fields[3].split(',').collect();
        let is_limited = options.iter().any(|option| option.starts_with("size="));
        assert!(options.contains(&"ro") || is_limited, "{line}");
    }
    for (path, mebibytes) in [("/tmp", 9), ("/var/tmp", 3), ("/dev/shm", 3)] {
        test_room.fails(&format!("head -c {mebibytes}M /dev/zero > {path}/x")).await;
        test_room.succeeds(&format!("rm {path}/x")).await;
    }
    for path in ["/dev", "/run", "hidden", "/"] {
        test_room.fails(&format!("echo x > {path}/x")).await;
    }
    test_room.succeeds("echo x > /dev/null; echo y > /dev/shm/y; head -c 1M /dev/zero > /var/tmp/z").await;
}

/// Root's files with this bit would give root's rights to every user of the machine.
#[tokio::test]
async fn set_user_id_bits_are_refused() {
    for layer in BOTH {
        let Some(test_room) = test_room(layer, |_| {}).await else { continue };
        assert_eq!(attack(&test_room, "setuid file").await, "", "{layer:?}");
        test_room.succeeds("cp file other; chmod 755 other; mkdir d; chmod 2755 d; test -g d").await;
    }
}

/// Such a file need not be changed by a room to be dangerous: others write it, such as the file tools.
#[tokio::test]
async fn files_are_not_created_with_set_id_bits() {
    for layer in BOTH {
        let Some(test_room) = TestRoom::on_disk(layer, with_program).await else { continue };
        assert_eq!(attack(&test_room, "set_id_files").await, "", "{layer:?}");
        assert_eq!(attack(&test_room, "usual_files").await, "", "{layer:?}");
        // A program that copies one leaves the bit out.
        test_room
            .succeeds("set -e; mkdir -m 2755 g; mkfifo p; if test -e /bin/su; then cp /bin/su su; fi")
            .await;
    }
}

/// A lease on a file that a room can only read would stop the user's own programs that open it.
#[tokio::test]
async fn leases_on_files_are_refused() {
    for layer in BOTH {
        let Some(test_room) = test_room(layer, with_program).await else { continue };
        test_room.succeeds("echo x > file").await;
        assert_eq!(attack(&test_room, "leases $PWD/file").await, "", "{layer:?}");
    }
}
