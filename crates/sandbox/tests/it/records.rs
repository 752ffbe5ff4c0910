//! What a room leaves in the project is put right by a later start, anyone who was killed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use autonoe_sandbox::{Bounds, Layer, Sandbox, recover_rooms};

use crate::support::{LAYERS, Orchestrator, PATH, SUPERVISOR, git, until};

fn records(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory.join("rooms")).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// A project with a commit, a lock that is somebody's, and a script in a room that makes more.
fn begin(test: &str, layer: Layer, directory: &Path) -> Option<(PathBuf, Orchestrator)> {
    let project = directory.join("project");
    fs::create_dir_all(&project).unwrap();
    git(&project, &["init", "-q", "-b", "main", "."]);
    fs::remove_dir_all(project.join(".git/hooks")).unwrap();
    fs::write(project.join(".git/packed-refs.lock"), "not ours").unwrap();
    let script = "touch .git/index.lock .git/refs/heads/main.lock Cargo.lock
                  git config core.fsmonitor ./x; echo x > ready; sleep 300";
    let orchestrator = Orchestrator::start(test, layer, directory, script)?;
    until("the script has come to its end", || project.join("ready").exists());
    Some((project, orchestrator))
}

fn check(project: &Path, told: &[String]) {
    let told = told.join("\n");
    for gone in [".git/index.lock", ".git/refs/heads/main.lock", ".claude", ".git/hooks"] {
        assert!(!project.join(gone).exists(), "{gone} is left: {told}");
    }
    for kept in [".git/packed-refs.lock", "Cargo.lock"] {
        assert!(project.join(kept).exists(), "{kept} was not ours to remove: {told}");
    }
    assert!(
        told.contains("index.lock") && told.contains("main.lock") && !told.contains("packed-refs"),
        "{told}"
    );
    let settings = fs::read_to_string(project.join(".git/config")).unwrap();
    assert!(!settings.contains("fsmonitor") && told.contains("config"), "{settings}{told}");
    assert_eq!(records(project.parent().unwrap()), Vec::<PathBuf>::new());
    assert_eq!(recover_rooms(&project.parent().unwrap().join("rooms")), Vec::<String>::new());
}

#[tokio::test]
async fn the_orchestrator_was_killed() {
    Orchestrator::play().await;
    for layer in LAYERS {
        let dir = tempfile::tempdir().unwrap();
        let Some((project, orchestrator)) = begin("records::the_orchestrator_was_killed", layer, dir.path())
        else {
            continue;
        };
        assert_eq!(project.join(".claude").exists(), layer == Layer::Bubblewrap, "only a mount needs it");
        orchestrator.kill();
        // The room may be ending still: that is waited for.
        check(&project, &recover_rooms(&dir.path().join("rooms")));
    }
}

#[tokio::test]
async fn everything_was_killed() {
    Orchestrator::play().await;
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
async fn a_room_that_is_there_is_left_alone() {
    Orchestrator::play().await;
    let dir = tempfile::tempdir().unwrap();
    let test = "records::a_room_that_is_there_is_left_alone";
    let Some((project, orchestrator)) = begin(test, Layer::None, dir.path()) else { return };
    let told = recover_rooms(&dir.path().join("rooms"));
    assert!(told.iter().any(|line| line.contains("still running")), "{told:?}");
    assert!(project.join(".git/index.lock").exists());
    orchestrator.kill();
}

/// The sandbox is tried in a room of its own, wherever we stand.
#[tokio::test]
async fn trying_the_sandbox_touches_nothing() {
    const HERE: &str = "AUTONOE_TEST_TRIES_HERE";
    if let Some(scratch) = std::env::var_os(HERE) {
        let found = Sandbox::find(Path::new(SUPERVISOR), OsStr::new(PATH), Path::new(&scratch)).await;
        found.expect("a sandbox");
        // Its room ends while we go on; this one is opened and closed after it.
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
    let mut ourselves = Command::new(std::env::current_exe().unwrap());
    ourselves.args(["records::trying_the_sandbox_touches_nothing", "--exact"]).env(HERE, &scratch);
    assert!(ourselves.current_dir(&project).output().unwrap().status.success());
    assert!(fs::read_to_string(project.join(".git/config")).unwrap().contains("mine"));
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "nothing is made for it");
}
