//! The record of a room: what must be cleaned up in the project when the room has ended. It stays on disk for as long as the
//! room may exist, so that a later start can do the cleanup if we are killed.
//!
//! We and the room's supervisor lock the file: a process that gets the lock knows that the room is gone. The supervisor
//! touches the file every second, so its modification time shows until when the room existed. Git lock files that were
//! created in that period belong to the room.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use autonoe_files::{DOCUMENT_LIMIT, open_regular, read_opened};
use serde::{Deserialize, Serialize};

use crate::bounds::{Bounds, SandboxLayer};
use crate::git::RepositorySnapshot;
use crate::git_locks::GitLock;
use crate::in_use::InUse;
use crate::supervisor::HEARTBEAT;

/// How long to wait for the rooms of a process that was killed: they give their programs a moment to exit.
const WAIT_LIMIT: Duration = Duration::from_secs(3);
const WAIT_PAUSE: Duration = Duration::from_millis(20);

/// The maximum difference between the clocks of two file systems.
const SLACK: Duration = Duration::from_secs(2);

/// What must be cleaned up in the project when a room has ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CleanupPlan {
    /// Empty directories that we created as mount points for protected directories that were missing.
    pub placeholders: Vec<PathBuf>,
    /// The repository before the room was opened; `None` for a room in which no program runs.
    pub before: Option<RepositorySnapshot>,
    opened: SystemTime,
}

/// The record of a room, on disk.
#[derive(Debug)]
pub(crate) struct RoomRecord {
    path: PathBuf,
    file: File,
}

impl CleanupPlan {
    /// The plan for a room with these bounds, from the current state of the project.
    pub(crate) fn of(bounds: &Bounds, layer: SandboxLayer, placeholders: Vec<PathBuf>) -> Self {
        let may_write = |path: &Path| bounds.writable().any(|writable| path.starts_with(writable));
        let mut before = RepositorySnapshot::of(&bounds.root, may_write);
        if bounds.is_users_checkout {
            before = before.with_nested();
            // The other layers cannot forbid to write a part of what may be written.
            if layer != SandboxLayer::Bubblewrap {
                before = before
                    .with_own_hooks(bounds.hooks.iter().filter(|place| may_write(place)).cloned().collect());
            }
        }
        Self { placeholders, before: Some(before), opened: SystemTime::now() }
    }

    /// Nothing to clean up, for a room in which no program runs.
    pub(crate) fn none() -> Self {
        Self { placeholders: Vec::new(), before: None, opened: SystemTime::now() }
    }

    /// Removes the placeholders, changes to the repository that would take effect outside the room, and stale git locks.
    /// Returns one sentence for each repair. The room must have ended by `ended`.
    pub(crate) fn apply(&self, ended: SystemTime) -> Vec<String> {
        for path in &self.placeholders {
            // A directory that is no longer empty is not ours.
            let _ = fs::remove_dir(path);
        }
        let mut notices = self.before.as_ref().map(|before| before.repair(ended + SLACK)).unwrap_or_default();
        notices.extend(self.stale_locks(ended).iter().map(remove_lock));
        notices
    }

    /// Git locks that were created in the room and that no process needs any more.
    fn stale_locks(&self, ended: SystemTime) -> Vec<GitLock> {
        let Some(before) = &self.before else {
            return Vec::new();
        };
        let (root, repositories) = (&before.root, before.repositories());
        let locks = repositories
            .iter()
            .flat_map(|repository| repository.locks(root).into_iter().map(move |lock| (lock, repository)));
        let ours = locks.filter(|(lock, _)| {
            lock.is_ours_between(self.opened - SLACK, ended + SLACK)
                && !before.locks.iter().any(|known| known.is_same_file(lock))
        });
        let free = ours.filter(|(lock, repository)| lock.in_use(root, repository) == InUse::No);
        free.map(|(lock, _)| lock).collect()
    }
}

fn remove_lock(lock: &GitLock) -> String {
    let path = lock.path.display();
    match lock.remove() {
        Ok(()) => format!("Removed {path}, left behind by a git command that was killed during a session."),
        Err(error) => {
            format!(
                "Cannot remove {path}, left behind by a git command that was killed: {error}. Remove it, or git commands will fail."
            )
        }
    }
}

impl RoomRecord {
    /// Writes a record into a directory and takes its lock.
    pub(crate) fn write(directory: &Path, plan: &CleanupPlan) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        for number in 0_u32.. {
            let path = directory.join(format!("{}-{number}.json", std::process::id()));
            let mut file = match File::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            };
            file.lock()?;
            file.write_all(&serde_json::to_vec(plan)?)?;
            return Ok(Self { path, file });
        }
        Err(io::Error::other("there are too many records of rooms"))
    }

    /// A handle for the supervisor, which shares our lock.
    pub(crate) fn share(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Deletes the record once everything is cleaned up.
    pub(crate) fn remove(self) {
        // A record that stays is processed again by a later start, which finds nothing to do.
        let _ = fs::remove_file(self.path);
    }
}

/// Cleans up after rooms whose orchestrator was killed, from the records in `directory`. Waits for rooms that are just
/// ending. Returns one sentence for each repair.
pub fn recover_rooms(directory: &Path) -> Vec<String> {
    let deadline = Instant::now() + WAIT_LIMIT;
    files(directory).flat_map(|path| clear_record(&path, deadline)).collect()
}

/// Like [`recover_rooms`], while other processes have rooms of their own there.
pub fn recover_rooms_of_killed(directory: &Path) -> Vec<String> {
    let deadline = Instant::now() + WAIT_LIMIT;
    let killed = files(directory).filter(|path| !is_owner_alive(path));
    killed.flat_map(|path| clear_record(&path, deadline)).collect()
}

/// Whether the process that wrote a record still runs. We have written none yet.
fn is_owner_alive(record: &Path) -> bool {
    let owner = record.file_stem().and_then(|name| name.to_str()?.split('-').next()?.parse::<u32>().ok());
    owner.is_some_and(|pid| pid != std::process::id() && Path::new("/proc").join(pid.to_string()).exists())
}

/// The git locks that [`recover_rooms`] would remove.
pub fn stale_locks(directory: &Path) -> Vec<GitLock> {
    let ended = files(directory)
        .filter_map(|path| read(&open_regular(&path).ok()?.filter(|file| file.try_lock_shared().is_ok())?));
    ended.flat_map(|(plan, ended)| plan.stale_locks(ended)).collect()
}

fn files(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json"))
}

fn clear_record(path: &Path, deadline: Instant) -> Vec<String> {
    let Ok(Some(file)) = open_regular(path) else {
        return Vec::new();
    };
    while file.try_lock().is_err() {
        if Instant::now() >= deadline {
            let notice = "Processes of an earlier session are still running, so its leftovers in the project were not cleaned up";
            return vec![format!("{notice} ({}).", path.display())];
        }
        sleep(WAIT_PAUSE);
    }
    // An incomplete record belongs to a room that was never opened.
    let notices = read(&file).map(|(plan, ended)| plan.apply(ended)).unwrap_or_default();
    let _ = fs::remove_file(path);
    notices
}

/// The contents of a record, and the latest time at which its room can have ended.
fn read(file: &File) -> Option<(CleanupPlan, SystemTime)> {
    let touched = file.metadata().and_then(|metadata| metadata.modified()).ok()?;
    let plan = serde_json::from_slice(&read_opened(file, DOCUMENT_LIMIT).ok()?).ok()?;
    Some((plan, touched + HEARTBEAT))
}
