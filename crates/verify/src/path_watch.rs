//! Notices when a protected file, or a directory above it, is moved or removed while a check runs, even if that is undone. A layer that
//! cannot forbid it leaves no trace otherwise: the times of a directory change for honest reasons too.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

/// Room for some hundred events.
const BUFFER: usize = 32 * 1024;

/// Watches paths until it is dropped.
pub(crate) struct PathWatch {
    events: OwnedFd,
    /// Names that must stay, by the watched directory.
    names: BTreeMap<i32, (PathBuf, BTreeSet<OsString>)>,
}

impl PathWatch {
    /// Watches files and the directories above them, as far as they are below `top`.
    pub(crate) fn start(top: &Path, files: impl Iterator<Item = PathBuf>) -> io::Result<Self> {
        let mut watched: BTreeMap<PathBuf, BTreeSet<OsString>> = BTreeMap::new();
        for file in files {
            for path in file.ancestors().take_while(|path| *path != top && path.starts_with(top)) {
                if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
                    watched.entry(parent.to_owned()).or_default().insert(name.to_owned());
                }
            }
        }
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut names = BTreeMap::new();
        for (directory, own) in watched {
            let changes = WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO | WatchFlags::DELETE;
            match inotify::add_watch(&events, &directory, changes | WatchFlags::ONLYDIR) {
                // Links can make one directory of two.
                Ok(watch) => {
                    names.entry(watch).or_insert_with(|| (directory, BTreeSet::new())).1.extend(own);
                }
                // A file that was accepted and is in no directory yet cannot be moved.
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self { events, names })
    }

    /// The paths that were moved or removed so far. If there was more than the system can tell, that is said instead.
    pub(crate) fn changed(&self) -> io::Result<BTreeSet<String>> {
        let mut changed = BTreeSet::new();
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&self.events, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(rustix::io::Errno::AGAIN) => return Ok(changed),
                Err(error) => return Err(error.into()),
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                changed.insert("more files than can be watched".to_owned());
            }
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            if let (Some((directory, names)), Some(name)) = (self.names.get(&event.wd()), name)
                && names.contains(name)
            {
                changed.insert(directory.join(name).display().to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_moves_and_removals_of_the_paths_and_what_is_above_them_count() {
        let top = tempfile::tempdir().unwrap();
        let (tests, file) = (top.path().join("a/tests"), top.path().join("a/tests/one.sh"));
        fs::create_dir_all(&tests).unwrap();
        fs::write(&file, "").unwrap();
        let watch = || PathWatch::start(top.path(), [file.clone()].into_iter()).unwrap();

        let honest = watch();
        fs::write(tests.join("other"), "").unwrap();
        fs::rename(tests.join("other"), tests.join("another")).unwrap();
        fs::remove_file(tests.join("another")).unwrap();
        fs::create_dir(top.path().join("build")).unwrap();
        assert_eq!(honest.changed().unwrap(), BTreeSet::new());

        for path in [&file, &tests, &top.path().join("a")] {
            let watch = watch();
            fs::rename(path, top.path().join("aside")).unwrap();
            fs::rename(top.path().join("aside"), path).unwrap();
            assert_eq!(watch.changed().unwrap(), BTreeSet::from([path.display().to_string()]));
        }
    }
}
