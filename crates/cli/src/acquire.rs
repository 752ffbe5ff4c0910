//! Acquiring a project: its lock, and the recovery of what killed processes left behind.

use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_policy::GitLocks;
use autonoe_sandbox::{GitLock, InUse, Repository, recover_rooms, stale_locks};
use autonoe_store::{Holder, Project, ProjectLock};

use crate::scratch::sweep_leftovers;

/// A project that this process works on.
pub struct Acquired {
    /// Held for as long as this lives.
    _lock: ProjectLock,
    /// What was recovered, and what a person should know, as sentences.
    pub messages: Vec<String>,
}

/// Takes the lock of a project and recovers what killed processes left behind.
pub fn acquire(project: &Project, holder: &Holder) -> Result<Acquired, Fault> {
    let lock = ProjectLock::take(project, holder)?;
    let mut messages: Vec<String> = lock.warning().map(str::to_owned).into_iter().collect();
    project.make_directory()?;
    messages.extend(recover_rooms(&project.rooms_dir()));
    project.remove_leftovers();
    sweep_leftovers();
    messages.extend(describe_locks(project));
    Ok(Acquired { _lock: lock, messages })
}

/// Which lock files of git's an agent may remove: those of the project's repository, also of one that is made in a session.
pub fn removable_locks(project: &Project) -> GitLocks {
    let mut directories = Repository::around(project.root()).directories;
    directories.push(project.root().join(".git"));
    GitLocks { directories, in_use_by: Some(in_use_by) }
}

fn in_use_by(root: &Path, lock: &Path) -> Option<String> {
    match GitLock::at(lock)?.in_use(root, &Repository::around(root)) {
        InUse::No => None,
        InUse::By { pid, name } => Some(format!("{name} (process {pid})")),
        InUse::Unknown => Some("a process that this system does not show".to_owned()),
    }
}

/// What to do about each lock file of git's in the project's repository, as sentences.
pub fn describe_locks(project: &Project) -> Vec<String> {
    let repository = Repository::around(project.root());
    let ours = stale_locks(&project.rooms_dir());
    let locks = repository.locks(project.root());
    let described = locks.iter().map(|lock| match ours.contains(lock) {
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
            "{path} exists, so git commands fail. If no git command is running, also not in another container or on another machine, \
             remove it: rm '{path}'"
        ),
    }
}
