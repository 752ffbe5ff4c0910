//! Git's lock files: which of them are removed when a room ends.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use autonoe_sandbox::{GitLock, InUse, Repository, Sandbox};

use autonoe_test_kit::{git, until};

use crate::support::{PATH, SUPERVISOR, with_record};

/// A project with a commit, in a temporary directory.
fn project() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().canonicalize().unwrap().join("project");
    fs::create_dir(&project).unwrap();
    git(&project, &["init", "-q", "-b", "main", "."]);
    git(&project, &["commit", "-q", "--allow-empty", "-m", "one"]);
    (dir, project)
}

/// Opens a room, calls `during`, closes the room, and returns its notices.
async fn session(directory: &Path, during: impl FnOnce()) -> Vec<String> {
    let room = Sandbox::none(SUPERVISOR).open(with_record(directory)).await.unwrap();
    during();
    room.close().await
}

#[tokio::test]
async fn locks_created_in_the_session_are_removed() {
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
        "logs/HEAD.lock",
        "logs/refs/heads/main.lock",
    ];
    let notices = session(dir.path(), || {
        for name in names {
            let lock = project.join(".git").join(name);
            fs::create_dir_all(lock.parent().unwrap()).unwrap();
            fs::write(lock, "").unwrap();
        }
        // None of these is a lock of this repository.
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
        assert!(notices.iter().any(|line| line.contains(name)), "{name} is not reported: {notices:?}");
    }
    for kept in
        [".git/config.lock", ".git/worktrees/other/index.lock", "Cargo.lock", ".git/refs/evil/yarn.lock"]
    {
        assert!(project.join(kept).exists(), "{kept} is gone");
    }
    assert_eq!(notices.len(), names.len(), "{notices:?}");
}

#[tokio::test]
async fn locks_of_a_linked_working_tree_are_removed() {
    let (dir, main) = project();
    let linked = dir.path().join("linked");
    git(&main, &["worktree", "add", "-q", "-b", "other", "../linked/project"]);
    let own = main.join(".git/worktrees/project");
    let locks = [
        own.join("index.lock"),
        main.join(".git/packed-refs.lock"),
        main.join(".git/ORIG_HEAD.lock"),
        main.join(".git/refs/heads/x.lock"),
    ];
    let of_main = main.join(".git/index.lock");
    let notices = session(&linked, || {
        locks.iter().chain([&of_main]).for_each(|lock| fs::write(lock, "").unwrap());
    })
    .await;
    assert_eq!(notices.len(), locks.len(), "{notices:?}");
    assert!(!locks.iter().any(|lock| lock.exists()));
    assert!(of_main.exists(), "the index of the main working tree does not belong to the session");
}

#[tokio::test]
async fn locks_of_a_submodule_with_its_own_repository_are_removed() {
    let (dir, project) = project();
    fs::write(project.join(".gitmodules"), "[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib\n").unwrap();
    git(&project, &["init", "-q", "lib"]);
    let lock = project.join("lib/.git/index.lock");
    session(dir.path(), || fs::write(&lock, "").unwrap()).await;
    assert!(!lock.exists());
}

/// A commit by the user, outside every room, with an editor open.
struct UsersCommit {
    git: Child,
    directory: PathBuf,
}

impl UsersCommit {
    fn begin(directory: &Path) -> Self {
        fs::write(directory.join("file"), "one").unwrap();
        git(directory, &["add", "file"]);
        let mut commit = Command::new("git");
        commit.args(["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-a"]);
        commit.env_clear().env("PATH", PATH).env("HOME", "/nonexistent");
        let editor =
            "sh -c 'echo x > editing; while test -e editing; do sleep 0.01; done; echo message > \"$1\"' --";
        let git =
            commit.env("GIT_EDITOR", editor).current_dir(directory).stdout(Stdio::null()).spawn().unwrap();
        until("the editor is open", || directory.join("editing").exists());
        Self { git, directory: directory.to_owned() }
    }

    fn finish(mut self) -> bool {
        fs::remove_file(self.directory.join("editing")).unwrap();
        self.git.wait().unwrap().success()
    }
}

#[tokio::test]
async fn a_commit_by_the_user_keeps_its_lock_while_the_editor_is_open() {
    let (dir, project) = project();
    let mut users = None;
    let notices = session(dir.path(), || users = Some(UsersCommit::begin(&project))).await;
    let lock = project.join(".git/index.lock");
    assert!(lock.exists() && notices.is_empty(), "{notices:?}");
    let in_use = GitLock::at(&lock).unwrap().in_use(&project, &Repository::around(&project));
    assert!(matches!(in_use, InUse::By { ref name, .. } if name == "git"), "{in_use:?}");
    assert!(users.unwrap().finish());
    assert!(!lock.exists());
}

/// A git that was given its repository works there, wherever it was started.
#[tokio::test]
async fn a_git_that_was_given_its_repository_keeps_only_the_locks_of_that_one() {
    let (dir, given) = project();
    let (other_dir, other) = project();
    let script = "echo x > $HOME/waiting; while test -e $HOME/waiting; do sleep 0.01; done";
    let git_dir = given.join(".git").display().to_string();
    type Give = fn(&mut Command, &str);
    let ways: [(Give, bool); 4] = [
        (|git, path| _ = git.env("GIT_DIR", path), false),
        (|git, path| _ = git.args(["--git-dir", path]), false),
        (|git, path| _ = git.arg(format!("--git-dir={path}")), false),
        // Where a relative path leads cannot be seen.
        (|git, path| _ = git.current_dir(path).env("GIT_DIR", "."), true),
    ];
    for (give, is_unclear) in ways {
        let home = tempfile::tempdir().unwrap();
        let mut git = Command::new("git");
        git.current_dir("/").env_clear().env("PATH", PATH).env("HOME", home.path()).stdout(Stdio::null());
        git.args(["-c", "user.name=T", "-c", "user.email=t@example.invalid", "-c", "core.bare=false"]);
        git.env("GIT_EDITOR", format!("sh -c '{script}' --")).env("GIT_WORK_TREE", home.path());
        give(&mut git, &git_dir);
        let mut git = git.args(["commit", "--allow-empty", "--edit"]).spawn().unwrap();
        until("the editor is open", || home.path().join("waiting").exists());
        for (directory, project, stays) in
            [(dir.path(), &given, true), (other_dir.path(), &other, is_unclear)]
        {
            let lock = project.join(".git/packed-refs.lock");
            session(directory, || fs::write(&lock, "").unwrap()).await;
            assert_eq!(lock.exists(), stays);
            let _ = fs::remove_file(lock);
        }
        git.kill().unwrap();
        git.wait().unwrap();
        fs::remove_file(home.path().join("waiting")).unwrap();
        let _ = fs::remove_file(given.join(".git/index.lock"));
    }
}

/// A shared lock may belong to a git in any working tree.
#[tokio::test]
async fn a_git_in_another_working_tree_keeps_shared_locks() {
    let (dir, main) = project();
    git(&main, &["worktree", "add", "-q", "-b", "other", "../linked/project"]);
    let lock = main.join(".git/packed-refs.lock");
    for (session_in, user_in) in [("linked", "project"), ("", "linked/project")] {
        let mut users = None;
        let notices = session(&dir.path().join(session_in), || {
            users = Some(UsersCommit::begin(&dir.path().join(user_in)));
            fs::write(&lock, "").unwrap();
        })
        .await;
        assert!(lock.exists() && notices.is_empty(), "{notices:?}");
        fs::remove_file(&lock).unwrap();
        assert!(users.unwrap().finish());
    }
}

#[tokio::test]
async fn a_lock_that_a_process_has_open_stays() {
    let (dir, project) = project();
    let lock = project.join(".git/index.lock");
    let mut holder = None;
    let notices = session(dir.path(), || {
        let mut shell = Command::new("bash");
        shell.args(["-c", "exec 9> .git/index.lock; cd /; exec sleep 300"]).current_dir(&project);
        holder = Some(shell.spawn().unwrap());
        until("it is open", || lock.exists());
    })
    .await;
    assert!(lock.exists() && notices.is_empty(), "{notices:?}");
    let mut holder = holder.unwrap();
    holder.kill().unwrap();
    holder.wait().unwrap();
}
