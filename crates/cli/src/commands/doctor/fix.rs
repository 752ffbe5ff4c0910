//! `autonoe doctor --fix`: what can be repaired without a decision of the user's.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use autonoe_core::clock::Clock as _;
use autonoe_files::find_regular;
use autonoe_store::{LockHolder, Project, ProjectUse};

use super::DoctorFinding;
use crate::environment::Environment;
use crate::lock_project::{describe_locks, lock_project};
use crate::system::SystemClock;

/// Write permissions of the group and of others.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// What was done, and what could not be. `project` is `None` if it cannot be opened.
pub fn fix(project: Option<&Project>, environment: &Environment) -> Vec<DoctorFinding> {
    let mut findings: Vec<_> = protect_config(environment).into_iter().collect();
    findings.extend(project.into_iter().flat_map(recover));
    if findings.is_empty() {
        findings.push(DoctorFinding::Good("fix: there was nothing to fix".into()));
    }
    findings
}

/// Does what the next run would do first: removes what killed processes have left, under the project lock.
fn recover(project: &Project) -> Vec<DoctorFinding> {
    if !project.state_dir().is_dir() {
        return Vec::new();
    }
    let holder = LockHolder {
        pid: std::process::id(),
        command: "doctor --fix".to_owned(),
        since: SystemClock.now(),
        socket: None,
    };
    match lock_project(project, &holder, ProjectUse::Deliverables) {
        Ok(locked) => {
            // Lock files that only the user can judge are among the findings below.
            let left = describe_locks(project);
            let done = locked.messages.iter().filter(|message| !left.contains(message));
            done.map(|message| DoctorFinding::Good(format!("fix: {message}"))).collect()
        }
        Err(fault) => vec![DoctorFinding::Note(format!("fix: nothing was removed. {}", fault.message))],
    }
}

/// A file that others can write stops every run.
fn protect_config(environment: &Environment) -> Option<DoctorFinding> {
    let path = environment.config_home.as_ref()?.join("config.toml");
    let metadata = find_regular(&path).ok()??;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw() && !path.is_symlink();
    if !is_ours || metadata.mode() & WRITABLE_BY_OTHERS == 0 {
        return None;
    }
    let mode = metadata.mode() & 0o7777 & !WRITABLE_BY_OTHERS;
    let path_shown = path.display();
    Some(match fs::set_permissions(&path, fs::Permissions::from_mode(mode)) {
        Ok(()) => DoctorFinding::Good(format!("fix: nobody else can write {path_shown} any more")),
        Err(error) => {
            DoctorFinding::Note(format!("fix: the permissions of {path_shown} cannot be changed: {error}"))
        }
    })
}
