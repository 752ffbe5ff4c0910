//! Locks a project and recovers what killed processes left behind.

use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;
use autonoe_policy::GitLocks;
use autonoe_sandbox::{GitLock, InUse, Repository, recover_rooms, recover_rooms_of_killed, stale_locks};
use autonoe_store::{AgentLock, LockHolder, Others, Project, ProjectLock, ProjectUse, sha256_hex};
use autonoe_workspace::HubLayout;

use crate::scratch::sweep_leftovers;

/// Bytes; safely below the system's limit for Unix socket paths.
const MAX_SOCKET_PATH: usize = 100;

/// The lock of a process that works on a project.
enum HeldLock {
    Project(ProjectLock),
    /// Of an agent in a workspace of its own, which takes no project lock.
    Agent(AgentLock),
}

pub struct LockedProject {
    project: Project,
    lock: HeldLock,
    /// Sentences to show to the user: what was recovered, and what needs attention.
    pub messages: Vec<String>,
}

/// Locks the project for a process that writes the deliverables or works on the user's files.
pub fn lock_project(
    project: &Project,
    holder: &LockHolder,
    project_use: ProjectUse,
) -> Result<LockedProject, Fault> {
    if project_use == ProjectUse::Deliverables {
        project.make_directory()?;
    }
    let lock = ProjectLock::take_for(project, holder, project_use)?;
    let warning = lock.warning().map(str::to_owned);
    LockedProject::recover(project, HeldLock::Project(lock), warning)
}

/// For an agent that may work at the same time as others.
pub fn join_project(project: &Project, agent: AgentLock) -> Result<LockedProject, Fault> {
    let warning = agent.warning().map(str::to_owned);
    LockedProject::recover(project, HeldLock::Agent(agent), warning)
}

impl LockedProject {
    fn recover(project: &Project, lock: HeldLock, warning: Option<String>) -> Result<Self, Fault> {
        project.make_directory()?;
        let mut locked = Self { project: project.clone(), lock, messages: warning.into_iter().collect() };
        let is_alone = locked.with_others(|others| {
            if others.is_empty() {
                project.remove_leftovers();
                remove_sockets(project);
            }
            others.is_empty()
        })?;
        let rooms = project.rooms_dir();
        let recovered = if is_alone { recover_rooms(&rooms) } else { recover_rooms_of_killed(&rooms) };
        let of_landings = HubLayout::in_state(project.state_dir()).remove_stale_locks(project.root());
        sweep_leftovers();
        let recovered = recovered.into_iter().chain(of_landings);
        locked.messages.extend(recovered.chain(describe_locks(project)));
        Ok(locked)
    }

    /// Acts while nobody can begin to work on the project, knowing who else does.
    pub fn with_others<T>(&self, act: impl FnOnce(&Others) -> T) -> Result<T, Fault> {
        match &self.lock {
            HeldLock::Project(lock) => lock.with_others(&self.project, act),
            HeldLock::Agent(lock) => lock.with_others(&self.project, act),
        }
    }

    /// Whether this process has the project lock, and so is the one that writes `status.json`.
    pub fn has_project_lock(&self) -> bool {
        matches!(self.lock, HeldLock::Project(_))
    }

    /// Remembers which run works here, so that it can be resumed.
    pub fn record_run(&mut self, run: i64) -> Result<(), Fault> {
        match &mut self.lock {
            HeldLock::Project(_) => Ok(()),
            HeldLock::Agent(lock) => lock.record_run(&self.project, run),
        }
    }
}

/// A process that was killed leaves its socket, and nobody answers there.
fn remove_sockets(project: &Project) {
    let _ = std::fs::remove_file(socket_path(project, None));
    for entry in std::fs::read_dir(project.state_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("calls-") && name.ends_with(".sock")) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The socket for `autonoe mcp`: in the state directory, or in the temporary directory if that path would be too long. An agent in a workspace of
/// its own has its own.
pub fn socket_path(project: &Project, slot: Option<&str>) -> PathBuf {
    let name = slot.map_or_else(|| "calls.sock".to_owned(), |slot| format!("calls-{slot}.sock"));
    let usual = project.state_dir().join(name);
    if usual.as_os_str().len() <= MAX_SOCKET_PATH {
        return usual;
    }
    let hash = sha256_hex(usual.as_os_str().as_encoded_bytes());
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
    let of_sessions = stale_locks(&project.rooms_dir());
    let of_landings = HubLayout::in_state(project.state_dir()).stale_locks(project.root());
    let locks = repository.locks(project.root());
    let described = locks.iter().map(|lock| {
        let left_by = match lock {
            lock if of_sessions.contains(lock) => "session",
            lock if of_landings.contains(lock) => "landing",
            lock => return describe(lock, lock.in_use(project.root(), &repository)),
        };
        format!("{} was left by a killed {left_by}; the next run removes it.", lock.path.display())
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
