//! The kernel's lock on the project directory itself. It is the same for every user, state directory and path that leads to the
//! project, and ends with the process that holds it; no child inherits it.
//!
//! A project inside another one holds a share of the outer one's lock, so that nobody works on both at once.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// Anyone who only looks holds a lock for a moment, too. So often is tried before it counts as held, with a pause each time.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(5);

/// Held for as long as this value lives.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    held: Vec<File>,
    /// Why another user of this machine would not be stopped, if that is so.
    pub(crate) warning: Option<String>,
}

/// Why the lock cannot be had: another process holds it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Locked {
    /// The directory, which may be around the project.
    pub(crate) directory: PathBuf,
    /// The process that took the lock, where the system tells.
    pub(crate) pid: Option<u32>,
}

impl DirectoryLock {
    /// Takes the lock of a project.
    pub(crate) fn take(root: &Path) -> Result<Self, Locked> {
        let mut lock = Self { held: Vec::new(), warning: None };
        for around in root.ancestors().skip(1).filter(|directory| is_project(directory)) {
            lock.hold(around, File::try_lock_shared)?;
        }
        lock.hold(root, File::try_lock)?;
        Ok(lock)
    }

    /// Who keeps the lock of a project from being taken.
    pub(crate) fn look(root: &Path) -> Option<Locked> {
        Self::take(root).err()
    }

    fn hold(
        &mut self,
        directory: &Path,
        take: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<(), Locked> {
        let taken = File::open(directory).map_err(TryLockError::Error).and_then(|file| {
            patiently(|| take(&file))?;
            Ok(file)
        });
        match taken {
            Ok(file) => self.held.push(file),
            Err(TryLockError::WouldBlock) if is_handed_to_us(directory) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Locked { directory: directory.to_owned(), pid: holder_of(directory) });
            }
            // Some network file systems have no such lock.
            Err(TryLockError::Error(error)) => {
                self.warning = Some(format!(
                    "{} cannot be locked ({error}). Autonoe cannot prevent runs of other users, or with another state directory, from \
                     working on it at the same time.",
                    directory.display()
                ));
            }
        }
        Ok(())
    }
}

fn patiently(take: impl Fn() -> Result<(), TryLockError>) -> Result<(), TryLockError> {
    for _ in 1..TRIES {
        match take() {
            Err(TryLockError::WouldBlock) => sleep(PAUSE),
            done => return done,
        }
    }
    take()
}

/// Whether somebody could run autonoe there.
fn is_project(directory: &Path) -> bool {
    directory.join("SPEC.md").exists() || directory.join(".autonoe").is_dir()
}

/// Whether the lock was taken for us by who started us, as `flock DIRECTORY autonoe run` does: then one of our own descriptors
/// holds it, though another process took it.
fn is_handed_to_us(directory: &Path) -> bool {
    let Some(name) = inode(directory) else {
        return false;
    };
    let descriptors = fs::read_dir("/proc/self/fdinfo").into_iter().flatten().flatten();
    let mut told = descriptors.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    told.any(|text| {
        let mut locks = text.lines().filter_map(|line| of(line.strip_prefix("lock:")?, &name));
        locks.any(|pid| pid != std::process::id())
    })
}

/// The process that took the lock, where the system tells.
fn holder_of(directory: &Path) -> Option<u32> {
    let name = inode(directory)?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| of(line, &name))
}

/// Reads `1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF`, and gives the process if it is that inode.
fn of(line: &str, name: &str) -> Option<u32> {
    let mut words = line.split_ascii_whitespace().skip(1);
    (words.next()? == "FLOCK").then_some(())?;
    let pid = words.nth(2)?.parse().ok()?;
    (words.next()? == name).then_some(pid)
}

/// A file as the kernel names it among its locks; none where it does not list them.
#[cfg(not(target_os = "linux"))]
fn inode(_path: &Path) -> Option<String> {
    None
}

#[cfg(target_os = "linux")]
fn inode(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok()?;
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    Some(format!("{major:02x}:{minor:02x}:{}", metadata.ino()))
}

#[cfg(test)]
mod tests {
    use std::fs::TryLockError;
    use std::io;

    use super::{DirectoryLock, of};

    /// No file system at hand refuses locks; what follows from a refusal does not depend on which it is.
    #[test]
    fn a_file_system_without_locks_is_warned_of_and_no_obstacle() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut lock = DirectoryLock { held: Vec::new(), warning: None };
        let refuses = |_: &_| Err(TryLockError::Error(io::Error::from(io::ErrorKind::Unsupported)));
        assert_eq!(lock.hold(directory.path(), refuses), Ok(()));
        let warning = lock.warning.expect("a warning");
        assert!(warning.contains(&directory.path().display().to_string()), "{warning}");
    }

    #[test]
    fn a_line_of_the_kernel_names_the_process() {
        let line = "12: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF";
        assert_eq!(of(line, "fe:00:131"), Some(4711));
        assert_eq!(of(line, "fe:00:132"), None);
        assert_eq!(of("12: POSIX  ADVISORY  WRITE 4711 fe:00:131 0 EOF", "fe:00:131"), None);
        assert_eq!(of("12:", "fe:00:131"), None);
    }
}
