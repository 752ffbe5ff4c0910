//! Attributes of files: mode, owner, times and extended attributes change in the writable places only. Bubblewrap needs nothing more
//! than its read-only mounts for that; Landlock needs the guard.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use autonoe_sandbox::{Bounds, SandboxLayer};
use autonoe_test_kit::until;
use tempfile::TempDir;

use crate::support::TestRoom;

/// Calls that only C can make.
const PROGRAM: &str = include_str!("attributes.py");

async fn test_room() -> Option<TestRoom> {
    test_room_with(SandboxLayer::Landlock).await
}

/// A room that can read `outside`; `None` if the machine does not support the layer.
async fn test_room_with(layer: SandboxLayer) -> Option<TestRoom> {
    let read_outside = |bounds: &mut Bounds| {
        fs::write(bounds.root.join("attributes.py"), PROGRAM).unwrap();
        bounds.read.push(bounds.root.with_file_name("outside"));
    };
    TestRoom::on_disk(layer, read_outside).await
}

async fn test_room_with_python() -> Option<TestRoom> {
    with_python(test_room().await?).await
}

/// `None` if there is no Python in the room.
async fn with_python(test_room: TestRoom) -> Option<TestRoom> {
    if test_room.run("command -v python3").await.0 != 0 {
        eprintln!("skipped: no python3");
        return None;
    }
    Some(test_room)
}

/// Everything that the calls change.
fn attributes(path: &Path) -> Vec<String> {
    let file = fs::symlink_metadata(path).unwrap();
    let mut names = [0_u8; 4096];
    let length = rustix::fs::listxattr(path, &mut names).unwrap_or(0);
    let owner = (file.uid(), file.gid());
    let times = (file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
    vec![
        format!("{:o} {owner:?} {times:?}", file.mode()),
        String::from_utf8_lossy(&names[..length]).into_owned(),
    ]
}

/// A file in `outside` with an attribute that the calls try to remove.
fn outside_file(test_room: &TestRoom) -> std::path::PathBuf {
    let secret = test_room.outside().join("secret");
    let _ = rustix::fs::setxattr(&secret, "user.kept", b"1", rustix::fs::XattrFlags::empty());
    secret
}

#[tokio::test]
async fn no_call_changes_a_file_outside_by_any_route() {
    for (layer, function) in [(SandboxLayer::Landlock, "outside"), (SandboxLayer::Bubblewrap, "read_only")] {
        let Some(test_room) = test_room_with(layer).await else { continue };
        let Some(test_room) = with_python(test_room).await else { continue };
        let secret = outside_file(&test_room);
        let before = (attributes(&secret), attributes(&test_room.outside()));
        let attempts = format!("python3 attributes.py {function} $OUTSIDE/secret");
        assert_eq!(test_room.succeeds(&attempts).await, "");
        assert_eq!((attributes(&secret), attributes(&test_room.outside())), before);
    }
}

#[tokio::test]
async fn a_race_does_not_change_a_file_outside() {
    let Some(test_room) = test_room_with_python().await else { return };
    let secret = outside_file(&test_room);
    let before = attributes(&secret);
    assert_eq!(test_room.succeeds("python3 attributes.py race $OUTSIDE/secret").await, "");
    assert_eq!(attributes(&secret), before);
}

#[tokio::test]
async fn every_call_works_in_the_writable_places() {
    let Some(test_room) = test_room_with_python().await else { return };
    assert_eq!(test_room.succeeds("mkdir d && python3 attributes.py inside d").await, "");
    assert_eq!(test_room.succeeds("mkdir ~/d && python3 attributes.py inside ~/d").await, "");
}

#[tokio::test]
async fn everyday_programs_change_attributes() {
    let Some(test_room) = test_room().await else { return };
    test_room
        .succeeds(
            r#"set -e; echo 'echo ran' > a.sh; chmod +x a.sh; ./a.sh; chmod 600 a.sh; chmod u+x ./../project/a.sh
             touch -d '2001-02-03 04:05:06 UTC' a.sh; test "$(stat -c %Y a.sh)" = 981173106
             cp -p a.sh b.sh; test "$(stat -c %Y%a b.sh)" = 981173106700; cp -a . ~/copy; ln -s a.sh l; touch -h l
             tar cf t.tar a.sh b.sh l; mkdir x; tar xpf t.tar -C x; test "$(stat -c %Y%a x/b.sh)" = 981173106700
             install -m 640 a.sh c.sh; test "$(stat -c %a c.sh)" = 640; sed -i s/ran/run/ a.sh; mkdir -m 700 d; chmod 2755 d
             chown "$(id -u):$(id -g)" a.sh; chmod -R u+rwX .; cd d; chmod 755 .; chmod -R go-w .."#,
        )
        .await;
    if test_room.run("python3 -c 'import venv'").await.0 == 0 {
        test_room.succeeds("python3 -m venv --without-pip v && v/bin/python -c ''").await;
    }
}

#[tokio::test]
async fn everyday_programs_change_nothing_outside() {
    let Some(test_room) = test_room().await else { return };
    let secret = outside_file(&test_room);
    let before = attributes(&secret);
    for attempt in [
        "chmod 666 $OUTSIDE/secret",
        "chmod 666 ../outside/secret",
        "ln -s $OUTSIDE/secret l; chmod 666 l",
        "touch -d 2001-02-03 $OUTSIDE/secret",
        "touch -c $OUTSIDE/secret",
        "ln $OUTSIDE/secret hard && chmod 666 hard",
        "chmod 666 /etc/hostname",
        "chmod 666 /dev/null",
        "chmod 777 ..",
        "chmod 777 /proc/self",
    ] {
        test_room.fails(attempt).await;
    }
    assert_eq!(attributes(&secret), before);
}

#[tokio::test]
async fn protected_and_hidden_paths_keep_their_attributes() {
    let protect = |bounds: &mut Bounds| {
        fs::create_dir_all(bounds.root.join(".git/hooks")).unwrap();
        fs::write(bounds.root.join(".git/hooks/pre-commit"), "").unwrap();
        bounds.protected = vec![bounds.root.join(".git/hooks"), bounds.root.join(".claude")];
        bounds.hidden = vec![bounds.root.join("private")];
    };
    let Some(test_room) = TestRoom::on_disk(SandboxLayer::Landlock, protect).await else { return };
    for attempt in [
        "chmod +x .git/hooks/pre-commit",
        "chmod 777 .git/hooks",
        "ln -s .git/hooks h; chmod +x h/pre-commit",
        "mkdir -p private; chmod 777 private",
        "mkdir -p .claude; touch .claude/x; chmod 777 .claude/x",
    ] {
        test_room.fails(attempt).await;
    }
    test_room.succeeds("chmod 700 .git; mkdir .claude2; chmod 700 .claude2").await;
}

#[tokio::test]
async fn signals_do_not_interrupt_a_call() {
    let Some(test_room) = test_room_with_python().await else { return };
    assert_eq!(test_room.succeeds("python3 attributes.py signals").await, "");
}

#[tokio::test]
async fn a_call_that_a_signal_interrupts_has_not_happened() {
    let Some(test_room) = test_room_with_python().await else { return };
    assert_eq!(test_room.succeeds("python3 attributes.py interrupted").await, "");
}

#[tokio::test]
async fn callers_that_are_killed_do_not_stop_the_others() {
    let Some(test_room) = test_room().await else { return };
    test_room
        .succeeds(
            "touch a; for i in 1 2 3 4; do (while :; do chmod 600 a; touch a; done) & done; sleep 0.5
             kill -9 $(jobs -p); wait; touch b; chmod 640 b; test $(stat -c %a b) = 640",
        )
        .await;
}

#[tokio::test]
async fn the_guard_ends_with_the_room_and_its_listener_is_not_inside() {
    let Some(test_room) = test_room().await else { return };
    let is_guard = |task: fs::DirEntry| {
        fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == "call-guard")
    };
    let guards = || fs::read_dir("/proc/self/task").unwrap().flatten().any(is_guard);
    // A thread sets its name itself.
    until("the guard runs", guards);
    let descriptors = test_room.run("ls -l /proc/[0-9]*/fd 2>/dev/null").await.1;
    assert!(descriptors.contains("pipe:"), "{descriptors}");
    assert!(!descriptors.contains("seccomp"), "{descriptors}");
    test_room.room.close().await;
    until("the guard ends", || !guards());
}

/// The kernel allows one listener per process, so a program can neither replace ours nor run a room of its own in this one.
#[tokio::test]
async fn a_program_cannot_answer_calls_itself() {
    let Some(test_room) = test_room_with_python().await else { return };
    assert_eq!(test_room.succeeds("python3 attributes.py listener").await, "EBUSY\n");
}

/// Programs of a plain user, and an orchestrator without capabilities.
#[test]
fn the_same_holds_for_a_plain_user() {
    const NOBODY: u32 = 65534;
    let supervisor = Command::new(crate::support::SUPERVISOR).uid(NOBODY).gid(NOBODY).arg("x").output();
    if !rustix::process::getuid().is_root() || supervisor.is_err() {
        eprintln!("skipped: cannot run as another user");
        return;
    }
    let dir = TempDir::new().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let tests = [
        "attributes::no_call_changes_a_file_outside_by_any_route",
        "attributes::every_call_works_in_the_writable_places",
        "attributes::everyday_programs_change_attributes",
        "attributes::everyday_programs_change_nothing_outside",
    ];
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(tests)
        .args(["--exact", "--test-threads=1"])
        .env("TMPDIR", dir.path())
        .env("HOME", dir.path());
    let output = command.current_dir(dir.path()).uid(NOBODY).gid(NOBODY).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("4 passed"), "{text}");
}
