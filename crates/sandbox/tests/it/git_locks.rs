//! Git's lock files: which of them a room that ends takes along.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use autonoe_sandbox::{GitLock, Needed, Repository, Sandbox};

use crate::support::{KEEPER, PATH, git, until, with_record};

/// A project with a commit, in a directory of its own.
fn project() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().canonicalize().unwrap().join("project");
    fs::create_dir(&project).unwrap();
    git(&project, &["init", "-q", "-b", "main", "."]);
    git(&project, &["commit", "-q", "--allow-empty", "-m", "one"]);
    (dir, project)
}

/// Has something happen while a room is open, closes it, and gives what was told.
async fn session(directory: &Path, during: impl FnOnce()) -> Vec<String> {
    let room = Sandbox::none(KEEPER).open(with_record(directory)).await.unwrap();
    during();
    room.close().await
}

#[tokio::test]
async fn what_came_to_be_in_the_session_goes_with_it() {
    let (dir, project) = project();
    fs::write(project.join(".git/config.lock"), "").unwrap();
    let outside = dir.path().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    let names = [
        "HEAD.lock",
        "AUTO_MERGE.lock",
        "objects/maintenance.lock",
        "refs/heads/feature/x.lock",
        "modules/sub/index.lock",
    ];
    let told = session(dir.path(), || {
        for name in names {
            let lock = project.join(".git").join(name);
            fs::create_dir_all(lock.parent().unwrap()).unwrap();
            fs::write(lock, "").unwrap();
        }
        // None of these is a lock of this repository's.
        fs::write(outside.join("yarn.lock"), "").unwrap();
        symlink(&outside, project.join(".git/refs/evil")).unwrap();
        symlink(outside.join("yarn.lock"), project.join(".git/shallow.lock")).unwrap();
        fs::create_dir_all(project.join(".git/worktrees/other")).unwrap();
        fs::write(project.join(".git/worktrees/other/index.lock"), "").unwrap();
        fs::write(project.join("Cargo.lock"), "").unwrap();
    })
    .await;
    for name in names {
        assert!(!project.join(".git").join(name).exists(), "{name} is left");
        assert!(told.iter().any(|line| line.contains(name)), "{name} is not told: {told:?}");
    }
    for kept in
        [".git/config.lock", ".git/worktrees/other/index.lock", "Cargo.lock", ".git/refs/evil/yarn.lock"]
    {
        assert!(project.join(kept).exists(), "{kept} is gone");
    }
    assert_eq!(told.len(), names.len(), "{told:?}");
}

#[tokio::test]
async fn a_linked_working_tree_has_its_locks_elsewhere() {
    let (dir, main) = project();
    let linked = dir.path().join("linked");
    git(&main, &["worktree", "add", "-q", "-b", "other", "../linked/project"]);
    let own = main.join(".git/worktrees/project");
    let told = session(&linked, || {
        for lock in [own.join("index.lock"), main.join(".git/packed-refs.lock"), main.join(".git/index.lock")]
        {
            fs::write(lock, "").unwrap();
        }
    })
    .await;
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(!own.join("index.lock").exists() && !main.join(".git/packed-refs.lock").exists());
}

#[tokio::test]
async fn a_submodule_with_a_repository_of_its_own_is_looked_at() {
    let (dir, project) = project();
    fs::write(project.join(".gitmodules"), "[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib\n").unwrap();
    git(&project, &["init", "-q", "lib"]);
    let lock = project.join("lib/.git/index.lock");
    session(dir.path(), || fs::write(&lock, "").unwrap()).await;
    assert!(!lock.exists());
}

/// What the user does at the same time, outside every room, is theirs.
#[tokio::test]
async fn the_users_own_commit_keeps_its_lock_while_the_editor_is_open() {
    let (dir, project) = project();
    fs::write(project.join("file"), "one").unwrap();
    git(&project, &["add", "file"]);
    let mut commit = Command::new("git");
    commit.args(["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-a"]);
    commit.env_clear().env("PATH", PATH).env("HOME", "/nonexistent");
    commit.env(
        "GIT_EDITOR",
        "sh -c 'echo x > editing; while test -e editing; do sleep 0.01; done; echo message > \"$1\"' --",
    );
    let mut users = None;
    let told = session(dir.path(), || {
        users = Some(commit.current_dir(&project).stdout(Stdio::null()).spawn().unwrap());
        until("the editor is open", || project.join("editing").exists());
    })
    .await;
    let lock = project.join(".git/index.lock");
    assert!(lock.exists() && told.is_empty(), "{told:?}");
    let needed = GitLock::at(&lock).unwrap().needed(&project, &Repository::around(&project));
    assert!(matches!(needed, Needed::By { ref name, .. } if name == "git"), "{needed:?}");
    fs::remove_file(project.join("editing")).unwrap();
    assert!(users.unwrap().wait().unwrap().success(), "the user's commit is made");
    assert!(!lock.exists());
}

#[tokio::test]
async fn a_lock_that_somebody_has_open_stays() {
    let (dir, project) = project();
    let lock = project.join(".git/index.lock");
    let mut holder = None;
    let told = session(dir.path(), || {
        let mut shell = Command::new("bash");
        shell.args(["-c", "exec 9> .git/index.lock; cd /; exec sleep 300"]).current_dir(&project);
        holder = Some(shell.spawn().unwrap());
        until("it is open", || lock.exists());
    })
    .await;
    assert!(lock.exists() && told.is_empty(), "{told:?}");
    let mut holder = holder.unwrap();
    holder.kill().unwrap();
    holder.wait().unwrap();
}
