//! Which lock files `rm` may remove.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use autonoe_core::mode::Mode;

use crate::policy::CommandPolicy;
use crate::policy_options::{GitLocks, PolicyOptions};

fn in_use_by(_root: &Path, lock: &Path) -> Option<String> {
    lock.ends_with("HEAD.lock").then(|| "git (process 7)".to_owned())
}

#[test]
fn only_unused_lock_files_may_be_removed() {
    let directory = tempfile::tempdir().expect("directory");
    let root = directory.path().canonicalize().expect("real").join("project");
    let linked = root.parent().expect("parent").join("main/.git/worktrees/x");
    for directory in
        [root.join(".git/refs/heads"), root.join("src"), linked.clone(), directory.path().join("outside")]
    {
        fs::create_dir_all(directory).expect("made");
    }
    for file in [
        ".git/index.lock",
        ".git/HEAD.lock",
        ".git/refs/heads/main.lock",
        ".git/config",
        "src/yarn.lock",
        "Cargo.lock",
    ] {
        fs::write(root.join(file), "").expect("written");
    }
    fs::write(linked.join("index.lock"), "").expect("written");
    fs::write(directory.path().join("outside/yarn.lock"), "").expect("written");
    fs::create_dir(root.join(".git/directory.lock")).expect("made");
    symlink("index.lock", root.join(".git/link.lock")).expect("linked");
    symlink(directory.path().join("outside"), root.join(".git/way")).expect("linked");
    let git_locks =
        GitLocks { directories: vec![root.join(".git"), linked.clone()], in_use_by: Some(in_use_by) };
    let options = PolicyOptions { git_locks, ..PolicyOptions::new(Mode::Run, &root) };
    let is_allowed = |options: &PolicyOptions, command: &str| {
        CommandPolicy::new(options.clone()).check(command).is_allowed()
    };

    let rm_linked = format!("rm -f {}", linked.join("index.lock").display());
    let allowed = [
        "rm -f .git/index.lock",
        "rm .git/index.lock && git status",
        "rm --force -v ./.git/refs/heads/main.lock .git/index.lock",
        "cd src && rm -f ../.git/index.lock",
        &rm_linked,
    ];
    for command in allowed {
        assert!(is_allowed(&options, command), "{command}");
    }
    let denied = [
        "rm -f .git/HEAD.lock",
        "rm -rf .git/index.lock",
        "rm -f .git/*.lock",
        "rm -f .git/{index,HEAD}.lock",
        "rm -f .git/index.lock .git/config",
        "rm -f .git/index.lock Cargo.lock",
        "rm -f Cargo.lock",
        "rm -f src/yarn.lock",
        "rm -f .git/config",
        "rm -rf .git/directory.lock",
        "rm -f .git/directory.lock",
        "rm -f .git/link.lock",
        "rm -f .git/way/yarn.lock",
        "rm -f .git/../Cargo.lock",
        "rm -f .git/missing.lock",
        "rm -f \"$x\".lock",
        "mv .git/index.lock x",
        "rm -f",
    ];
    for command in denied {
        assert!(!is_allowed(&options, command), "{command}");
    }
    let sync = PolicyOptions { mode: Mode::Sync, ..options.clone() };
    assert!(!is_allowed(&sync, allowed[0]), "sync removes nothing");
    let without_process_lookup =
        PolicyOptions { git_locks: GitLocks { in_use_by: None, ..options.git_locks.clone() }, ..options };
    assert!(!is_allowed(&without_process_lookup, allowed[0]), "use cannot be determined");
}
