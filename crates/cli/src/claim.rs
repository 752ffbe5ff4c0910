//! Taking a project: its lock, and what processes left behind in it that were killed.

use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_policy::GitLocks;
use autonoe_sandbox::{GitLock, Needed, Repository, clear_records, locks_on_record};
use autonoe_store::{Holder, Project, ProjectLock};

use crate::scratch::sweep_leftovers;

/// A project that is ours.
pub struct Claim {
    /// Held for as long as this lives.
    _lock: ProjectLock,
    /// What was put right, and what a person should know, as sentences.
    pub told: Vec<String>,
}

/// Takes the lock of a project and puts right what killed processes left behind.
pub fn claim(project: &Project, holder: &Holder) -> Result<Claim, Fault> {
    let lock = ProjectLock::take(project, holder)?;
    let mut told: Vec<String> = lock.warning().map(str::to_owned).into_iter().collect();
    project.make_directory()?;
    told.extend(clear_records(&project.rooms_dir()));
    project.remove_leftovers();
    sweep_leftovers();
    told.extend(left_locks(project));
    Ok(Claim { _lock: lock, told })
}

/// Which lock files of git's an agent may remove: those of the project's repository, also of one that is made in a session.
pub fn removable_locks(project: &Project) -> GitLocks {
    let mut directories = Repository::around(project.root()).directories;
    directories.push(project.root().join(".git"));
    GitLocks { directories, needed_by: Some(needed_by) }
}

fn needed_by(root: &Path, lock: &Path) -> Option<String> {
    match GitLock::at(lock)?.needed(root, &Repository::around(root)) {
        Needed::ByNobody => None,
        Needed::By { pid, name } => Some(format!("{name} (process {pid})")),
        Needed::Unknown => Some("a process that cannot be looked for on this system".to_owned()),
    }
}

/// What to do about each lock file of git's in the project's repository, as sentences.
pub fn left_locks(project: &Project) -> Vec<String> {
    let repository = Repository::around(project.root());
    let ours = locks_on_record(&project.rooms_dir());
    let locks = repository.locks(project.root());
    let told = locks.iter().map(|lock| match ours.contains(lock) {
        true => {
            format!("{} is left of a session that was killed; the next run removes it.", lock.path.display())
        }
        false => told(lock, lock.needed(project.root(), &repository)),
    });
    told.collect()
}

fn told(lock: &GitLock, needed: Needed) -> String {
    let path = lock.path.display();
    match needed {
        Needed::By { pid, name } => {
            format!("{path} belongs to {name} (process {pid}); until that ends, agents cannot commit.")
        }
        Needed::ByNobody | Needed::Unknown => format!(
            "{path} is there, so git refuses to work. If none of your git commands is under way, in another container or on another \
             machine either, remove it: rm '{path}'"
        ),
    }
}
