//! The project lock: one writer per project. It is the kernel's lock, so it dies with its holder.
//!
//! The lock on the directory decides ([`DirectoryLock`]). The one in the state directory stands beside the file that tells who
//! holds it.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, Layer};
use autonoe_files::{SETTINGS_LIMIT, WriteTrouble, read_text};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::directory_lock::{DirectoryLock, Locked};
use crate::project::Project;

/// Who holds a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its command, e.g. `run`.
    pub command: String,
    /// When it took the lock.
    pub since: Timestamp,
    /// The socket on which it takes deliverable tool calls from its agents.
    pub socket: Option<PathBuf>,
}

/// Held for as long as this value lives.
#[derive(Debug)]
pub struct ProjectLock {
    _file: File,
    directory: DirectoryLock,
    holder_file: PathBuf,
}

/// Whether somebody holds a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// Nobody.
    Free,
    /// A process that uses the same state directory.
    By(Holder),
    /// A process of another user or with another state directory, or one that works on a project inside or around this one.
    Unknown {
        /// Its process id, where the system tells.
        pid: Option<u32>,
    },
}

impl ProjectLock {
    /// Takes the lock, or says who holds it.
    pub fn take(project: &Project, holder: &Holder) -> Result<Self, Fault> {
        let system = |error: std::io::Error| {
            let WriteTrouble { why, advice } = WriteTrouble::of(project.state_dir(), &error);
            let place = project.state_dir().display();
            Fault::lasting(
                Layer::System,
                "lock",
                format!("The project lock in {place} cannot be taken: {why}."),
            )
            .hint(advice)
        };
        fs::create_dir_all(project.state_dir()).map_err(system)?;
        let _turn = take_turn(project.state_dir()).map_err(system)?;
        let file = File::create(project.state_dir().join("lock")).map_err(system)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held_by_another(read_holder(project.state_dir()))),
            Err(TryLockError::Error(error)) => return Err(system(error)),
        }
        let directory =
            DirectoryLock::take(project.root()).map_err(|locked| held_elsewhere(project, &locked))?;
        let holder_file = holder_file(project.state_dir());
        let text = serde_json::to_string(holder).unwrap_or_default();
        crate::atomic::write(&holder_file, text.as_bytes()).map_err(system)?;
        Ok(Self { _file: file, directory, holder_file })
    }

    /// What the lock does not hold on this file system, as a sentence.
    pub fn warning(&self) -> Option<&str> {
        self.directory.warning.as_deref()
    }

    /// Whether somebody holds the project now.
    pub fn held(project: &Project) -> Held {
        if let Some(holder) = Self::holder(project) {
            return Held::By(holder);
        }
        match DirectoryLock::look(project.root()) {
            Some(Locked { pid, .. }) => Held::Unknown { pid },
            None => Held::Free,
        }
    }

    /// Who holds the project now, if that is a process with the same state directory.
    pub fn holder(project: &Project) -> Option<Holder> {
        // Declared first, so that it ends after the look.
        let _turn = take_turn(project.state_dir());
        let file = File::open(project.state_dir().join("lock")).ok()?;
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

/// Who takes the lock and who only looks take turns, a moment each: a look must not make a free project seem held.
fn take_turn(state_dir: &Path) -> std::io::Result<File> {
    let turn = File::create(state_dir.join("turn"))?;
    turn.lock()?;
    Ok(turn)
}

fn read_holder(state_dir: &Path) -> Option<Holder> {
    let text = read_text(&holder_file(state_dir), SETTINGS_LIMIT).ok()??;
    serde_json::from_str(&text).ok()
}

fn holder_file(state_dir: &Path) -> PathBuf {
    state_dir.join("holder.json")
}

fn held_elsewhere(project: &Project, Locked { directory, pid }: &Locked) -> Fault {
    let who = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    let what = match directory == project.root() {
        true => format!(
            "This project, or a project inside it, is locked by {who}, which belongs to another user or uses another state directory."
        ),
        false => format!("{}, the project around this one, is locked by {who}.", directory.display()),
    };
    Fault::lasting(Layer::Config, "project_locked", what)
        .hint("Wait for it to end, or stop it, then start again.")
}

fn held_by_another(holder: Option<Holder>) -> Fault {
    let who = holder.map_or_else(
        || "another autonoe process".to_owned(),
        |holder| format!("`autonoe {}` (process {}, since {})", holder.command, holder.pid, holder.since),
    );
    Fault::lasting(Layer::Config, "project_locked", format!("This project is being worked on by {who}."))
        .hint("Wait for it to end, or stop it, then start again.")
}

#[cfg(test)]
mod tests {
    use super::{Holder, ProjectLock, take_turn};
    use crate::project::Project;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// The race itself cannot be met on purpose; that who looks waits for its turn can be.
    #[test]
    fn a_look_waits_while_another_takes_the_lock() {
        let dir = tempfile::tempdir().expect("a directory");
        let project = Project::open(dir.path(), &dir.path().join("state")).expect("a project");
        let since = jiff::Timestamp::UNIX_EPOCH;
        let holder = Holder { pid: 1, command: "run".to_owned(), since, socket: None };
        drop(ProjectLock::take(&project, &holder).expect("free"));
        let turn = take_turn(project.state_dir()).expect("nobody else is here");
        let looked = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looker = scope.spawn(|| {
                assert_eq!(ProjectLock::holder(&project), None);
                looked.store(true, Ordering::SeqCst);
            });
            for _ in 0..2000 {
                let lock = std::fs::File::open(project.state_dir().join("lock")).expect("a lock file");
                assert!(lock.try_lock().is_ok(), "somebody looks out of turn");
                assert!(!looked.load(Ordering::SeqCst), "somebody looked out of turn");
            }
            drop(turn);
            looker.join().expect("a look");
        });
        assert!(looked.into_inner());
    }
}
