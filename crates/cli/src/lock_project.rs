//! Locks a project and recovers what killed processes left behind.

use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;
use autonoe_policy::GitLocks;
use autonoe_sandbox::{GitLock, InUse, Repository, recover_rooms, stale_locks};
use autonoe_store::{LockHolder, Project, ProjectLock, sha256_hex};

use crate::scratch::sweep_leftovers;

/// Bytes; safely below the system's limit for Unix socket paths.
const MAX_SOCKET_PATH: usize = 100;

pub struct LockedProject {
    _lock: ProjectLock,
    /// Sentences to show to the user: what was recovered, and what needs attention.
    pub messages: Vec<String>,
}

pub fn lock_project(project: &Project, holder: &LockHolder) -> Result<LockedProject, Fault> {
    let lock = ProjectLock::take(project, holder)?;
    let mut messages: Vec<String> = lock.warning().map(str::to_owned).into_iter().collect();
    project.make_directory()?;
    messages.extend(recover_rooms(&project.rooms_dir()));
    project.remove_leftovers();
    // A process that was killed leaves its socket, and nobody answers there.
    let _ = std::fs::remove_file(socket_path(project));
    sweep_leftovers();
    messages.extend(describe_locks(project));
    Ok(LockedProject { _lock: lock, messages })
}

/// The socket for `autonoe mcp`: in the state directory, or in the temporary directory if that path would be too long.
pub fn socket_path(project: &Project) -> PathBuf {
    let usual = project.state_dir().join("calls.sock");
    if usual.as_os_str().len() <= MAX_SOCKET_PATH {
        return usual;
    }
    let hash = sha256_hex(project.state_dir().as_os_str().as_encoded_bytes());
    std::env::temp_dir().join(format!("autonoe-{}.sock", &hash[..16]))
}

/// The git lock files that an agent may remove: those of the project's repository, including one created during the session.
pub fn removable_locks(project: &Project) -> GitLocks {
    let mut directories = Repository::around(project.root()).directories;
    directories.push(project.root().join(".git"));
    GitLocks { directories, in_use_by: Some(in_use_by) }
}

fn in_use_by(root: &Path, lock: &Path) -> Option<String> {
    match GitLock::at(lock)?.in_use(root, &Repository::around(root)) {
        InUse::No => None,
        InUse::By { pid, name } => Some(format!("{name} (process {pid})")),
        InUse::Unknown => Some("a process that is not visible on this system".to_owned()),
    }
}

/// One sentence for each git lock file in the project's repository: who owns it and what to do about it.
pub fn describe_locks(project: &Project) -> Vec<String> {
    let repository = Repository::around(project.root());
    let own_locks = stale_locks(&project.rooms_dir());
    let locks = repository.locks(project.root());
    let described = locks.iter().map(|lock| match own_locks.contains(lock) {
        true => format!("{} was left by a killed session; the next run removes it.", lock.path.display()),
        false => describe(lock, lock.in_use(project.root(), &repository)),
    });
    described.collect()
}

fn describe(lock: &GitLock, in_use: InUse) -> String {
    let path = lock.path.display();
    match in_use {
        InUse::By { pid, name } => {
            format!("{path} is held by {name} (process {pid}); agents cannot commit until it finishes.")
        }
        InUse::No | InUse::Unknown => format!(
            "{path} exists, so git commands fail. If no git command is running, here, in another container or on another machine, \
             remove it: rm '{path}'"
        ),
    }
}
