//! The kernel's lock on the project directory itself. It works across users, state directories and paths to
//! the project, and ends with the process that holds it; children do not inherit it.
//!
//! A project inside another one also takes a shared lock on the outer one, so that nothing works on both at
//! once.
//!
//! Two directories are locked: the project, which agents in workspaces of their own share, and its `.autonoe`, which one process at a time
//! writes.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// Autonoe's directory in a project.
const OWN: &str = ".autonoe";

/// Status queries take the lock for a moment, too. So several attempts are made before it counts as taken.
const ATTEMPTS: u32 = 40;
const ATTEMPT_PAUSE: Duration = Duration::from_millis(5);

/// What a process does with a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectUse {
    /// Works on the user's files, so nothing else may use the project.
    Checkout,
    /// Writes the deliverables and works elsewhere; agents in workspaces of their own may work at the same time.
    Deliverables,
    /// An agent in a workspace of its own.
    Agent,
}

#[derive(Debug)]
pub(crate) struct DirectoryLock {
    held: Vec<File>,
    /// Set if other users of this machine would not be stopped.
    pub(crate) warning: Option<String>,
}

/// Another process holds the lock.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Locked {
    /// May be a directory around the project.
    pub(crate) directory: PathBuf,
    /// `None` if the system does not report it.
    pub(crate) pid: Option<u32>,
}

impl DirectoryLock {
    pub(crate) fn take(root: &Path, project_use: ProjectUse) -> Result<Self, Locked> {
        let mut lock = Self { held: Vec::new(), warning: None };
        for around in root.ancestors().skip(1).filter(|directory| is_project(directory)) {
            lock.hold(around, File::try_lock_shared)?;
            let own = around.join(OWN);
            if own.is_dir() {
                lock.hold(&own, File::try_lock_shared)?;
            }
        }
        match project_use {
            ProjectUse::Checkout => lock.hold(root, File::try_lock)?,
            ProjectUse::Deliverables => {
                lock.hold(root, File::try_lock_shared)?;
                lock.hold(&root.join(OWN), File::try_lock)?;
            }
            ProjectUse::Agent => lock.hold(root, File::try_lock_shared)?,
        }
        Ok(lock)
    }

    /// Returns the process that holds the lock of a project.
    pub(crate) fn holder(root: &Path) -> Option<Locked> {
        Self::take(root, ProjectUse::Checkout).err()
    }

    fn hold(
        &mut self,
        directory: &Path,
        take: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<(), Locked> {
        let taken = File::open(directory).map_err(TryLockError::Error).and_then(|file| {
            with_retries(|| take(&file))?;
            Ok(file)
        });
        match taken {
            Ok(file) => self.held.push(file),
            Err(TryLockError::WouldBlock) if is_inherited(directory) => {}
            Err(TryLockError::WouldBlock) => {
                let project = directory.parent().filter(|_| directory.ends_with(OWN)).unwrap_or(directory);
                return Err(Locked { directory: project.to_owned(), pid: holder_of(directory) });
            }
            // Some network file systems do not support this lock.
            Err(TryLockError::Error(error)) => {
                self.warning = Some(format!(
                    "{} cannot be locked ({error}). Autonoe cannot prevent runs by other users, or with another state directory, from \
                     working on it at the same time.",
                    directory.display()
                ));
            }
        }
        Ok(())
    }
}

fn with_retries(take: impl Fn() -> Result<(), TryLockError>) -> Result<(), TryLockError> {
    for _ in 1..ATTEMPTS {
        match take() {
            Err(TryLockError::WouldBlock) => sleep(ATTEMPT_PAUSE),
            done => return done,
        }
    }
    take()
}

/// Whether autonoe could be run there.
fn is_project(directory: &Path) -> bool {
    directory.join("SPEC.md").exists() || directory.join(".autonoe").is_dir()
}

/// Whether our parent took the lock for us, as `flock DIRECTORY autonoe run` does: then one of our own
/// descriptors holds it, although another process took it.
fn is_inherited(directory: &Path) -> bool {
    let Some(name) = inode(directory) else {
        return false;
    };
    let descriptors = fs::read_dir("/proc/self/fdinfo").into_iter().flatten().flatten();
    let mut descriptions = descriptors.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    descriptions.any(|text| {
        let mut locks = text.lines().filter_map(|line| parse_lock(line.strip_prefix("lock:")?, &name));
        locks.any(|pid| pid != std::process::id())
    })
}

/// `None` if the system does not report it.
fn holder_of(directory: &Path) -> Option<u32> {
    let name = inode(directory)?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| parse_lock(line, &name))
}

/// Parses `1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF` and returns the process if the inode matches.
fn parse_lock(line: &str, name: &str) -> Option<u32> {
    let mut words = line.split_ascii_whitespace().skip(1);
    (words.next()? == "FLOCK").then_some(())?;
    let pid = words.nth(2)?.parse().ok()?;
    (words.next()? == name).then_some(pid)
}

/// The name of a file in the kernel's list of locks; `None` where there is no such list.
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

    use super::{DirectoryLock, parse_lock};

    /// Not testable with a real file system here; the reaction to a refusal does not depend on its cause.
    #[test]
    fn a_file_system_without_locks_causes_a_warning_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut lock = DirectoryLock { held: Vec::new(), warning: None };
        let refuses = |_: &_| Err(TryLockError::Error(io::Error::from(io::ErrorKind::Unsupported)));
        assert_eq!(lock.hold(directory.path(), refuses), Ok(()));
        let warning = lock.warning.expect("a warning");
        assert!(warning.contains(&directory.path().display().to_string()), "{warning}");
    }

    #[test]
    fn a_line_of_the_kernels_list_names_the_process() {
        let line = "12: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF";
        assert_eq!(parse_lock(line, "fe:00:131"), Some(4711));
        assert_eq!(parse_lock(line, "fe:00:132"), None);
        assert_eq!(parse_lock("12: POSIX  ADVISORY  WRITE 4711 fe:00:131 0 EOF", "fe:00:131"), None);
        assert_eq!(parse_lock("12:", "fe:00:131"), None);
    }
}
