//! Scratch directories and sockets in the temporary directory. A killed process leaves them behind; each is locked while in use, and
//! creating the next one removes those that are not.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

const PREFIX: &str = "autonoe-scratch-";
const SOCKET: (&str, &str) = ("autonoe-", ".sock");

/// Younger ones may not be locked yet.
const MIN_AGE: Duration = Duration::from_secs(60);

/// Removed on drop.
pub struct ScratchDir {
    directory: TempDir,
    _lock: File,
}

impl ScratchDir {
    pub fn new() -> io::Result<Self> {
        sweep_leftovers();
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir()?;
        let lock = File::open(directory.path())?;
        lock.lock()?;
        Ok(Self { directory, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes what killed processes of this user left in the temporary directory.
pub fn sweep_leftovers() {
    sweep(&std::env::temp_dir(), MIN_AGE);
}

fn sweep(directory: &Path, age: Duration) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let (Some(name), Ok(metadata)) = (name.to_str(), path.symlink_metadata()) else {
            continue;
        };
        let is_old = metadata.modified().is_ok_and(|at| at.elapsed().is_ok_and(|since| since >= age));
        if !is_old || metadata.uid() != rustix::process::geteuid().as_raw() {
            continue;
        }
        // Failure to remove is harmless.
        if metadata.is_dir() && name.starts_with(PREFIX) {
            if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
                let _ = fs::remove_dir_all(path);
            }
        } else if metadata.file_type().is_socket() && name.starts_with(SOCKET.0) && name.ends_with(SOCKET.1) {
            let refused = UnixStream::connect(&path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
            if refused {
                let _ = fs::remove_file(path);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    use super::{ScratchDir, sweep};

    #[test]
    fn unused_leftovers_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        for name in ["autonoe-scratch-left", "autonoe-scratch-used", "unrelated"] {
            fs::create_dir(at(name)).unwrap();
        }
        let used = File::open(at("autonoe-scratch-used")).unwrap();
        used.lock().unwrap();
        drop(UnixListener::bind(at("autonoe-left.sock")).unwrap());
        let _served = UnixListener::bind(at("autonoe-served.sock")).unwrap();
        sweep(parent.path(), Duration::from_secs(3600));
        assert!(at("autonoe-scratch-left").exists(), "it may not be locked yet");
        sweep(parent.path(), Duration::ZERO);
        for gone in ["autonoe-scratch-left", "autonoe-left.sock"] {
            assert!(!at(gone).exists(), "{gone}");
        }
        for kept in ["autonoe-scratch-used", "unrelated", "autonoe-served.sock"] {
            assert!(at(kept).exists(), "{kept}");
        }
    }

    #[test]
    fn a_scratch_directory_is_removed_on_drop() {
        let scratch = ScratchDir::new().unwrap();
        let path = scratch.path().to_owned();
        assert!(path.is_dir());
        drop(scratch);
        assert!(!path.exists());
    }
}
