//! The record of a room: what must be put right in the project when the room has ended. It is on disk for as long as the room may be
//! there, so that a later start can do it if we are killed.
//!
//! We and the room's supervisor hold the kernel's lock on it: who gets that lock knows that the room is gone. The supervisor touches it
//! every second, so that it also tells until when the room was there. Git's lock files that came to be in that time, and were not there
//! before, are the room's.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::git::Before;
use crate::git_locks::{GitLock, InUse};
use crate::supervisor::HEARTBEAT;

/// How long is waited for the rooms of a process that was killed: they give their programs a moment to end.
const WAIT_LIMIT: Duration = Duration::from_secs(3);
const WAIT_PAUSE: Duration = Duration::from_millis(20);

/// By how much the times of two file systems may differ.
const SLACK: Duration = Duration::from_secs(2);

/// What must be put right in the project when a room has ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Traces {
    /// Empty directories that stand in for such that are not there.
    pub placeholders: Vec<PathBuf>,
    /// The repository as it was; none for a room in which nobody but ourselves is.
    pub before: Option<Before>,
    /// When the room was opened.
    opened: SystemTime,
}

/// The record of a room, on disk.
#[derive(Debug)]
pub(crate) struct Record {
    path: PathBuf,
    file: File,
}

impl Traces {
    /// What the project is like now.
    pub(crate) fn of(bounds: &Bounds, placeholders: Vec<PathBuf>) -> Self {
        let may_write = |place: &Path| bounds.writable().any(|writable| place.starts_with(writable));
        let before = Some(Before::of(&bounds.root, may_write));
        Self { placeholders, before, opened: SystemTime::now() }
    }

    /// Nothing, for a room in which nobody but ourselves is.
    pub(crate) fn none() -> Self {
        Self { placeholders: Vec::new(), before: None, opened: SystemTime::now() }
    }

    /// Takes away what stood in, what would act outside, and git's locks that nobody needs any more; says what that was. The room
    /// must have ended, at the time that is given at the latest.
    pub(crate) fn clear(&self, ended: SystemTime) -> Vec<String> {
        for path in &self.placeholders {
            // What is no longer empty is not ours.
            let _ = fs::remove_dir(path);
        }
        let mut told = self.before.as_ref().map(|before| before.repair(ended + SLACK)).unwrap_or_default();
        told.extend(self.stale_locks(ended).iter().map(removed));
        told
    }

    /// Git's locks that came to be in the room, and that nobody needs any more.
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
                && !before.locks.iter().any(|known| known.is(lock))
        });
        let free = ours.filter(|(lock, repository)| lock.in_use(root, repository) == InUse::No);
        free.map(|(lock, _)| lock).collect()
    }
}

fn removed(lock: &GitLock) -> String {
    let path = lock.path.display();
    match lock.remove() {
        Ok(()) => format!("Removed {path}, which a git command left that was killed during a session."),
        Err(error) => {
            format!(
                "{path} was left by a git command that was killed, and cannot be removed: {error}. Remove it, or git commands fail."
            )
        }
    }
}

impl Record {
    /// Writes a record into a directory and takes its lock.
    pub(crate) fn write(directory: &Path, traces: &Traces) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        for number in 0_u32.. {
            let path = directory.join(format!("{}-{number}.json", std::process::id()));
            let mut file = match File::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            };
            file.lock()?;
            file.write_all(&serde_json::to_vec(traces)?)?;
            return Ok(Self { path, file });
        }
        Err(io::Error::other("there are too many records of rooms"))
    }

    /// For the supervisor, which holds the same lock by it.
    pub(crate) fn share(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Everything is put right.
    pub(crate) fn remove(self) {
        // One that stays is looked at again, and finds nothing to do.
        let _ = fs::remove_file(self.path);
    }
}

/// Puts right what rooms have left behind whose processes were killed, as the records in `directory` tell. Says what that was. Waits
/// for rooms that are just ending.
pub fn recover_rooms(directory: &Path) -> Vec<String> {
    let deadline = Instant::now() + WAIT_LIMIT;
    files(directory).flat_map(|path| clear_record(&path, deadline)).collect()
}

/// Git's locks that [`recover_rooms`] would remove.
pub fn stale_locks(directory: &Path) -> Vec<GitLock> {
    let ended = files(directory)
        .filter_map(|path| read(&File::open(path).ok().filter(|file| file.try_lock_shared().is_ok())?));
    ended.flat_map(|(traces, ended)| traces.stale_locks(ended)).collect()
}

fn files(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json"))
}

fn clear_record(path: &Path, deadline: Instant) -> Vec<String> {
    let Ok(file) = File::open(path) else {
        return Vec::new();
    };
    while file.try_lock().is_err() {
        if Instant::now() >= deadline {
            let what = "Processes of an earlier session are still running, so what it left in the project was not cleaned up";
            return vec![format!("{what} ({}).", path.display())];
        }
        sleep(WAIT_PAUSE);
    }
    // One that was never written as a whole is of a room that was never opened.
    let told = read(&file).map(|(traces, ended)| traces.clear(ended)).unwrap_or_default();
    let _ = fs::remove_file(path);
    told
}

/// What a record says, and when its room had ended at the latest.
fn read(file: &File) -> Option<(Traces, SystemTime)> {
    let touched = file.metadata().and_then(|metadata| metadata.modified()).ok()?;
    let traces = serde_json::from_str(&io::read_to_string(file).ok()?).ok()?;
    Some((traces, touched + HEARTBEAT))
}
