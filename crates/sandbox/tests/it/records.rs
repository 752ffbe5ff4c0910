//! A later start cleans up what a room has left in the project, whichever process was killed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use autonoe_sandbox::{Bounds, Sandbox, SandboxLayer, recover_rooms};

use autonoe_test_kit::{git, until};

use crate::support::{LAYERS, Orchestrator, PATH, SUPERVISOR};

fn records(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory.join("rooms")).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// A project with a lock that is not ours, and a script in a room that creates more locks.
fn begin(test: &str, layer: SandboxLayer, directory: &Path) -> Option<(PathBuf, Orchestrator)> {
    let project = directory.join("project");
    fs::create_dir_all(&project).unwrap();
    git(&project, &["init", "-q", "-b", "main", "."]);
    fs::remove_dir_all(project.join(".git/hooks")).unwrap();
    fs::write(project.join(".git/packed-refs.lock"), "not ours").unwrap();
    let script = "touch .git/index.lock .git/refs/heads/main.lock Cargo.lock
                  git config core.fsmonitor ./x; echo x > ready; sleep 300";
    let orchestrator = Orchestrator::start(test, layer, directory, script)?;
    until("the script has created its files", || project.join("ready").exists());
    Some((project, orchestrator))
}

fn check(project: &Path, notices: &[String]) {
    let notices = notices.join("\n");
    for gone in [".git/index.lock", ".git/refs/heads/main.lock", ".claude", ".git/hooks"] {
        assert!(!project.join(gone).exists(), "{gone} is left: {notices}");
    }
    for kept in [".git/packed-refs.lock", "Cargo.lock"] {
        assert!(project.join(kept).exists(), "{kept} is not ours but was removed: {notices}");
    }
    assert!(
        notices.contains("index.lock") && notices.contains("main.lock") && !notices.contains("packed-refs"),
        "{notices}"
    );
    let settings = fs::read_to_string(project.join(".git/config")).unwrap();
    assert!(!settings.contains("fsmonitor") && notices.contains("config"), "{settings}{notices}");
    assert_eq!(records(project.parent().unwrap()), Vec::<PathBuf>::new());
    assert_eq!(recover_rooms(&project.parent().unwrap().join("rooms")), Vec::<String>::new());
}

#[tokio::test]
async fn the_orchestrator_was_killed() {
    Orchestrator::run_if_requested().await;
    for layer in LAYERS {
        let dir = tempfile::tempdir().unwrap();
        let Some((project, orchestrator)) = begin("records::the_orchestrator_was_killed", layer, dir.path())
        else {
            continue;
        };
        assert_eq!(
            project.join(".claude").exists(),
            layer == SandboxLayer::Bubblewrap,
            "only a mount needs it"
        );
        orchestrator.kill();
        // The room may still be ending: recovery waits for that.
        check(&project, &recover_rooms(&dir.path().join("rooms")));
    }
}

#[tokio::test]
async fn everything_was_killed() {
    Orchestrator::run_if_requested().await;
    for layer in LAYERS {
        let dir = tempfile::tempdir().unwrap();
        let Some((project, orchestrator)) = begin("records::everything_was_killed", layer, dir.path()) else {
            continue;
        };
        orchestrator.kill_everything();
        check(&project, &recover_rooms(&dir.path().join("rooms")));
    }
}

#[tokio::test]
async fn a_running_room_is_left_alone() {
    Orchestrator::run_if_requested().await;
    let dir = tempfile::tempdir().unwrap();
    let test = "records::a_running_room_is_left_alone";
    let Some((project, orchestrator)) = begin(test, SandboxLayer::None, dir.path()) else { return };
    let notices = recover_rooms(&dir.path().join("rooms"));
    assert!(notices.iter().any(|line| line.contains("still running")), "{notices:?}");
    assert!(project.join(".git/index.lock").exists());
    orchestrator.kill();
}

/// The sandbox is probed with a room around a scratch directory, not around the working directory.
#[tokio::test]
async fn probing_the_sandbox_changes_nothing() {
    const HERE: &str = "AUTONOE_TEST_TRIES_HERE";
    if let Some(scratch) = std::env::var_os(HERE) {
        let found = Sandbox::find(Path::new(SUPERVISOR), OsStr::new(PATH), Path::new(&scratch)).await;
        found.expect("a sandbox");
        // The probe's room ends in the background; this one is opened and closed after it.
        let bounds = Bounds::new(&scratch, &scratch, &scratch);
        Sandbox::none(SUPERVISOR).open(bounds).await.unwrap().close().await;
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (project, scratch) = (dir.path().join("project"), dir.path().join("scratch"));
    fs::create_dir(&project).unwrap();
    fs::create_dir(&scratch).unwrap();
    git(&project, &["init", "-q", "."]);
    git(&project, &["config", "core.pager", "mine"]);
    let mut own_binary = Command::new(std::env::current_exe().unwrap());
    own_binary.args(["records::probing_the_sandbox_changes_nothing", "--exact"]).env(HERE, &scratch);
    assert!(own_binary.current_dir(&project).output().unwrap().status.success());
    assert!(fs::read_to_string(project.join(".git/config")).unwrap().contains("mine"));
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "nothing is created in it");
}
