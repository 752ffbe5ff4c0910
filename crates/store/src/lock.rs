//! The project lock: one writer per project. It is a kernel lock, so it ends with its holder.
//!
//! The lock on the directory decides ([`DirectoryLock`]). The one in the state directory belongs to the file
//! that names the holder.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{ReadError, SETTINGS_LIMIT, WriteFailure, open_or_create, open_regular, read_text};

use crate::agents_at_work::{AgentRecord, Others, at_work};
use crate::directory_lock::{DirectoryLock, Locked, ProjectUse};
use crate::lock_holder::LockHolder;
use crate::project::Project;

/// How long to wait for a turn, and between attempts.
const TURN_LIMIT: Duration = Duration::from_secs(10);
const TURN_PAUSE: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub struct ProjectLock {
    _file: File,
    directory: DirectoryLock,
    holder_file: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockStatus {
    Free,
    /// A process with the same state directory.
    By(LockHolder),
    /// A process of another user or with another state directory, or one that works on a project inside or
    /// around this one.
    Unknown {
        /// `None` if the system does not report it.
        pid: Option<u32>,
    },
}

impl ProjectLock {
    /// Takes it for work on the user's files. On failure the fault names the holder.
    pub fn take(project: &Project, holder: &LockHolder) -> Result<Self, Fault> {
        Self::take_for(project, holder, ProjectUse::Checkout)
    }

    /// For [`ProjectUse::Deliverables`], `.autonoe` must exist. On failure the fault names the holder.
    pub fn take_for(project: &Project, holder: &LockHolder, project_use: ProjectUse) -> Result<Self, Fault> {
        let system = |error: std::io::Error| {
            let WriteFailure { why, advice } = WriteFailure::of(project.state_dir(), &error);
            not_taken(project, &why, &advice)
        };
        fs::create_dir_all(project.state_dir()).map_err(system)?;
        let _turn = take_turn(project)?;
        let file = open_lock(project, "lock")?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held_by_another(read_holder(project.state_dir()))),
            Err(TryLockError::Error(error)) => return Err(system(error)),
        }
        let directory = DirectoryLock::take(project.root(), project_use);
        let directory = directory.map_err(|locked| match at_work(project, None).into_iter().next() {
            Some(agent) => held_by_another(Some(agent.holder)),
            None => held_elsewhere(project, &locked),
        })?;
        let holder_file = holder_file(project.state_dir());
        let text = serde_json::to_string(holder).unwrap_or_default();
        crate::atomic::write(&holder_file, text.as_bytes()).map_err(system)?;
        Ok(Self { _file: file, directory, holder_file })
    }

    /// A limitation of the lock on this file system, as a sentence.
    pub fn warning(&self) -> Option<&str> {
        self.directory.warning.as_deref()
    }

    pub fn status(project: &Project) -> LockStatus {
        if let Some(holder) =
            Self::holder(project).or_else(|| Some(Self::agents(project).into_iter().next()?.holder))
        {
            return LockStatus::By(holder);
        }
        match DirectoryLock::holder(project.root()) {
            Some(Locked { pid, .. }) => LockStatus::Unknown { pid },
            None => LockStatus::Free,
        }
    }

    /// The holder, if it uses the same state directory.
    pub fn holder(project: &Project) -> Option<LockHolder> {
        // Declared first, so that it is released last.
        let _turn = take_turn(project);
        Self::holder_in_turn(project)
    }

    /// Acts while nobody can begin to work on the project, knowing who else does.
    pub fn with_others<T>(&self, project: &Project, act: impl FnOnce(&Others) -> T) -> Result<T, Fault> {
        let _turn = take_turn(project)?;
        Ok(act(&Others { agents: at_work(project, None), has_project_lock: false }))
    }

    fn agents(project: &Project) -> Vec<AgentRecord> {
        let _turn = take_turn(project);
        at_work(project, None)
    }

    /// The same as [`Self::holder`] for a caller that has a turn.
    pub(crate) fn holder_in_turn(project: &Project) -> Option<LockHolder> {
        let file = open_regular(&project.state_dir().join("lock")).ok()??;
        if file.try_lock_shared().is_ok() {
            return None;
        }
        read_holder(project.state_dir())
    }
}

impl Drop for ProjectLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.holder_file);
    }
}

/// Serializes taking the lock and querying it: a query must not make a free project seem locked. A turn takes
/// milliseconds, so a process that keeps it for longer is stopped or hangs.
pub(crate) fn take_turn(project: &Project) -> Result<File, Fault> {
    let turn = open_lock(project, "turn")?;
    let deadline = Instant::now() + TURN_LIMIT;
    loop {
        match turn.try_lock() {
            Ok(()) => return Ok(turn),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(TURN_PAUSE),
            Err(TryLockError::WouldBlock) => {
                let why = format!(
                    "another process has kept the file turn there locked for {} s",
                    TURN_LIMIT.as_secs()
                );
                return Err(not_taken(project, &why, "End that process; `fuser turn` names it."));
            }
            Err(TryLockError::Error(error)) => {
                let WriteFailure { why, advice } = WriteFailure::of(project.state_dir(), &error);
                return Err(not_taken(project, &why, &advice));
            }
        }
    }
}

/// A lock file in the state directory. Anything but a regular file is refused, without waiting for it.
pub(crate) fn open_lock(project: &Project, name: &str) -> Result<File, Fault> {
    let path = project.state_dir().join(name);
    open_or_create(&path).map_err(|error| match error {
        ReadError::Io(error) => {
            let WriteFailure { why, advice } = WriteFailure::of(&path, &error);
            not_taken(project, &why, &advice)
        }
        error => not_taken(project, &format!("{name} cannot be used: {error}"), "Remove that file."),
    })
}

pub(crate) fn not_taken(project: &Project, why: &str, advice: &str) -> Fault {
    let directory = project.state_dir().display();
    let message = format!("The project lock in {directory} cannot be taken: {why}.");
    Fault::permanent(FaultLayer::System, "lock", message).hint(advice)
}

fn read_holder(state_dir: &Path) -> Option<LockHolder> {
    let text = read_text(&holder_file(state_dir), SETTINGS_LIMIT).ok()??;
    serde_json::from_str(&text).ok()
}

fn holder_file(state_dir: &Path) -> PathBuf {
    state_dir.join("holder.json")
}

pub(crate) fn held_elsewhere(project: &Project, Locked { directory, pid }: &Locked) -> Fault {
    let who = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    let what = match directory == project.root() {
        true => format!(
            "This project, or a project inside it, is locked by {who}, which belongs to another user or uses another state directory."
        ),
        false => format!("{}, a project that contains this one, is locked by {who}.", directory.display()),
    };
    Fault::permanent(FaultLayer::Config, "project_locked", what)
        .hint("Wait for it to end, or stop it, then start again.")
}

pub(crate) fn held_by_another(holder: Option<LockHolder>) -> Fault {
    let who = holder.map_or_else(
        || "another autonoe process".to_owned(),
        |holder| format!("`autonoe {}` (process {}, since {})", holder.command, holder.pid, holder.since),
    );
    Fault::permanent(FaultLayer::Config, "project_locked", format!("This project is in use by {who}."))
        .hint("Wait for it to end, or stop it, then start again.")
}

#[cfg(test)]
mod tests {
    use super::{LockHolder, ProjectLock, take_turn};
    use crate::project::Project;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// The race itself cannot be provoked; that a query waits for its turn can be tested.
    #[test]
    fn a_query_waits_while_another_process_takes_the_lock() {
        let dir = tempfile::tempdir().expect("a directory");
        let project = Project::open(dir.path(), &dir.path().join("state")).expect("a project");
        let since = jiff::Timestamp::UNIX_EPOCH;
        let holder = LockHolder { pid: 1, command: "run".to_owned(), since, socket: None };
        drop(ProjectLock::take(&project, &holder).expect("free"));
        let turn = take_turn(&project).expect("no contention");
        let queried = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let query = scope.spawn(|| {
                assert_eq!(ProjectLock::holder(&project), None);
                queried.store(true, Ordering::SeqCst);
            });
            for _ in 0..2000 {
                let lock = std::fs::File::open(project.state_dir().join("lock")).expect("a lock file");
                assert!(lock.try_lock().is_ok(), "the query did not wait for its turn");
                assert!(!queried.load(Ordering::SeqCst), "the query did not wait for its turn");
            }
            drop(turn);
            query.join().expect("a query");
        });
        assert!(queried.into_inner());
    }

    #[test]
    fn a_lock_file_that_is_a_pipe_is_refused_at_once() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        for name in ["turn", "lock"] {
            let dir = tempfile::tempdir().expect("a directory");
            let project = Project::open(dir.path(), &dir.path().join("state")).expect("a project");
            std::fs::create_dir_all(project.state_dir()).expect("a directory");
            let mode = Mode::RUSR | Mode::WUSR;
            mknodat(CWD, project.state_dir().join(name), FileType::Fifo, mode, 0).expect("a pipe");
            let holder = LockHolder {
                pid: 1,
                command: "run".to_owned(),
                since: jiff::Timestamp::UNIX_EPOCH,
                socket: None,
            };
            let fault = ProjectLock::take(&project, &holder).expect_err("a pipe");
            let words = format!("{name} cannot be used: it is a named pipe");
            assert!(fault.message.contains(&words), "{fault}");
            assert_eq!(ProjectLock::status(&project), super::LockStatus::Free);
        }
    }
}
