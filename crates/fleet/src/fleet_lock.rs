//! The lock of the one supervisor of a project. It ends with its process; harnesses do not inherit it.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use autonoe_files::{UntrustedDir, Visibility};

const HARNESS: &str = ".harness";
const LOCK: &str = "fleet.lock";

const ATTEMPTS: u32 = 20;
const ATTEMPT_PAUSE: Duration = Duration::from_millis(5);

#[derive(Debug, thiserror::Error)]
pub enum FleetLockError {
    #[error("A fleet is at work in {project}{}.", .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Held { project: String, pid: Option<u32> },
    #[error("{path} cannot be locked: {why}.")]
    File { path: String, why: String },
}

#[derive(Debug)]
pub struct FleetLock {
    _file: File,
}

impl FleetLock {
    pub fn take(project: &Path) -> Result<Self, FleetLockError> {
        let path = project.join(HARNESS).join(LOCK);
        let wrong = |why: String| FleetLockError::File { path: path.display().to_string(), why };
        let mut file = open(project).map_err(wrong)?;
        match with_retries(|| file.try_lock()) {
            Ok(()) => {
                // Only for messages, so it may fail.
                let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => Err(FleetLockError::Held {
                project: project.display().to_string(),
                pid: written_pid(&mut file),
            }),
            Err(TryLockError::Error(error)) => Err(wrong(error.to_string())),
        }
    }

    /// The process that has the lock; `None` if nobody has it.
    pub fn holder(project: &Path) -> Option<u32> {
        let mut file = open(project).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(written_pid(&mut file).unwrap_or_default()),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }
}

/// A look at the lock takes it for a moment, so several attempts are made before it counts as taken.
fn with_retries(take: impl Fn() -> Result<(), TryLockError>) -> Result<(), TryLockError> {
    for _ in 1..ATTEMPTS {
        match take() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(ATTEMPT_PAUSE),
            taken => return taken,
        }
    }
    take()
}

fn open(project: &Path) -> Result<File, String> {
    let opened = UntrustedDir::open(project).and_then(|root| {
        let all = root.create_missing(Path::new(HARNESS), Visibility::OwnerOnly)?;
        all.write_missing(OsStr::new(".gitignore"), b"*\n")?;
        Ok(all)
    });
    let directory = opened.map_err(|error| error.to_string())?;
    directory.open_to_append(OsStr::new(LOCK), Visibility::OwnerOnly).map_err(|error| error.to_string())
}

fn written_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::FleetLock;

    #[test]
    fn one_supervisor_at_a_time() {
        let project = tempfile::tempdir().expect("directory");
        assert_eq!(FleetLock::holder(project.path()), None);
        let lock = FleetLock::take(project.path()).expect("free");
        let refused = FleetLock::take(project.path()).expect_err("held").to_string();
        let expected =
            format!("A fleet is at work in {} (process {}).", project.path().display(), std::process::id());
        assert_eq!(refused, expected);
        assert_eq!(FleetLock::holder(project.path()), Some(std::process::id()));
        drop(lock);
        FleetLock::take(project.path()).expect("free again");
    }
}
