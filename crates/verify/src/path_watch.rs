//! Notices what happens to protected files while a check runs, even if it is undone: that one, or a directory above it, is moved or removed,
//! and that a file which is read by itself is beside them for a moment. A layer that cannot forbid it leaves no trace otherwise: the times of
//! a directory change for honest reasons too.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

use crate::runner_files::{is_code, is_runner_file};

/// Room for some hundred events.
const BUFFER: usize = 32 * 1024;

/// Watches paths until it is asked what changed. A thread takes the events from the kernel, whose queue is short.
pub(crate) struct PathWatch {
    thread: JoinHandle<io::Result<BTreeSet<String>>>,
    /// The thread ends when it is closed.
    open: PipeWriter,
}

/// A directory with protected files, or with a directory above some.
struct WatchedDirectory {
    path: PathBuf,
    /// What must stay.
    names: BTreeSet<OsString>,
    /// Whether everything in it is protected, so that nothing may be added.
    is_closed: bool,
}

impl WatchedDirectory {
    /// Whether tests can have been changed by a name that appeared here, or went. Files of other kinds, caches and what is hidden cannot.
    fn is_suspicious(&self, name: &str, kind: ReadFlags) -> bool {
        let path = format!("{}/{name}", self.path.display());
        if !kind.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            return is_runner_file(&path);
        }
        let is_package = kind.contains(ReadFlags::ISDIR) && !name.starts_with(['.', '_']);
        self.is_closed && (is_package || is_code(&path) || is_runner_file(&path))
    }
}

impl PathWatch {
    /// Watches files and the directories above them, as far as they are below `top`. Nothing may be added to the `closed` directories.
    pub(crate) fn start(
        top: &Path,
        files: impl Iterator<Item = PathBuf>,
        closed: &[PathBuf],
    ) -> io::Result<Self> {
        let mut watched: BTreeMap<PathBuf, BTreeSet<OsString>> = BTreeMap::new();
        for file in files {
            for path in file.ancestors().take_while(|path| *path != top && path.starts_with(top)) {
                if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
                    watched.entry(parent.to_owned()).or_default().insert(name.to_owned());
                }
            }
        }
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut directories = BTreeMap::new();
        for (path, names) in watched {
            let changes =
                WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::DELETE;
            match inotify::add_watch(&events, &path, changes | WatchFlags::ONLYDIR) {
                // Links can make one directory of two.
                Ok(watch) => {
                    let is_closed = closed.iter().any(|closed| path.starts_with(closed));
                    let new = || WatchedDirectory { path, names: BTreeSet::new(), is_closed };
                    directories.entry(watch).or_insert_with(new).names.extend(names);
                }
                // A file that was accepted and is in no directory yet cannot be moved.
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (end, open) = io::pipe()?;
        let thread = std::thread::Builder::new()
            .name("protected files".to_owned())
            .spawn(move || collect(&events, &directories, &end))?;
        Ok(Self { thread, open })
    }

    /// The paths that were moved, removed or added so far. If there was more than the system can tell, that is said instead.
    pub(crate) fn changed(self) -> io::Result<BTreeSet<String>> {
        drop(self.open);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that watches them ended")))
    }
}

/// What happens in the directories, until the other side of the pipe is closed.
fn collect(
    events: &OwnedFd,
    directories: &BTreeMap<i32, WatchedDirectory>,
    end: &PipeReader,
) -> io::Result<BTreeSet<String>> {
    let mut changed = BTreeSet::new();
    loop {
        let mut ready = [PollFd::new(events, PollFlags::IN), PollFd::new(end, PollFlags::IN)];
        match poll(&mut ready, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        // What happened before the end is still read.
        let ended = !ready[1].revents().is_empty();
        read(events, directories, &mut changed)?;
        if ended {
            return Ok(changed);
        }
    }
}

fn read(
    events: &OwnedFd,
    directories: &BTreeMap<i32, WatchedDirectory>,
    changed: &mut BTreeSet<String>,
) -> io::Result<()> {
    let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
    let mut reader = Reader::new(events, &mut buffer);
    loop {
        let event = match reader.next() {
            Ok(event) => event,
            Err(rustix::io::Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let kind = event.events();
        if kind.contains(ReadFlags::QUEUE_OVERFLOW) {
            changed.insert("more files than can be watched".to_owned());
        }
        let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
        let (Some(directory), Some(name)) = (directories.get(&event.wd()), name) else { continue };
        let is_moved = directory.names.contains(name) && !kind.contains(ReadFlags::CREATE);
        if is_moved || name.to_str().is_some_and(|name| directory.is_suspicious(name, kind)) {
            changed.insert(directory.path.join(name).display().to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A project with one protected test, in a directory in which everything is protected.
    struct Tree {
        top: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            let top = tempfile::tempdir().unwrap();
            fs::create_dir_all(top.path().join("a/tests")).unwrap();
            fs::write(top.path().join("a/tests/one.sh"), "").unwrap();
            Self { top }
        }

        fn at(&self, path: &str) -> PathBuf {
            self.top.path().join(path)
        }

        /// What is noticed of what `work` does.
        fn noticed(&self, work: impl FnOnce()) -> Vec<String> {
            let file = [self.at("a/tests/one.sh")].into_iter();
            let watch = PathWatch::start(self.top.path(), file, &[self.at("a/tests")]).unwrap();
            work();
            let prefix = format!("{}/", self.top.path().display());
            let changed = watch.changed().unwrap();
            changed.iter().map(|path| path.strip_prefix(&prefix).unwrap_or(path).to_owned()).collect()
        }
    }

    #[test]
    fn moves_and_removals_of_the_paths_and_what_is_above_them_count() {
        let tree = Tree::new();
        for path in ["a/tests/one.sh", "a/tests", "a"] {
            let there_and_back = || {
                fs::rename(tree.at(path), tree.at("aside")).unwrap();
                fs::rename(tree.at("aside"), tree.at(path)).unwrap();
            };
            assert_eq!(tree.noticed(there_and_back), [path]);
        }
    }

    #[test]
    fn honest_work_beside_them_does_not_count() {
        let tree = Tree::new();
        let work = || {
            fs::write(tree.at("a/tests/other"), "").unwrap();
            fs::rename(tree.at("a/tests/other"), tree.at("a/tests/output.txt")).unwrap();
            fs::remove_file(tree.at("a/tests/output.txt")).unwrap();
            fs::create_dir(tree.at("a/tests/__pycache__")).unwrap();
            fs::create_dir(tree.at("build")).unwrap();
            fs::write(tree.at("a/generated.py"), "").unwrap();
            fs::remove_file(tree.at("a/generated.py")).unwrap();
        };
        assert_eq!(tree.noticed(work), <[&str; 0]>::default());
    }

    #[test]
    fn code_beside_them_counts_even_if_it_is_gone_again() {
        let tree = Tree::new();
        for path in ["a/tests/subprocess.py", "a/tests/helper.js", "a/conftest.py", "json.py"] {
            let for_a_moment = || {
                fs::write(tree.at(path), "").unwrap();
                fs::remove_file(tree.at(path)).unwrap();
            };
            assert_eq!(tree.noticed(for_a_moment), [path]);
        }
        let package = || {
            fs::create_dir(tree.at("a/tests/helper")).unwrap();
            fs::remove_dir(tree.at("a/tests/helper")).unwrap();
        };
        assert_eq!(tree.noticed(package), ["a/tests/helper"]);
    }

    #[test]
    fn many_other_files_do_not_hide_anything() {
        let tree = Tree::new();
        let churn = || {
            // As fast as a program that does something with them, also if the machine has other work.
            for _ in 0..80 {
                for _ in 0..250 {
                    fs::write(tree.at("one"), "").unwrap();
                    fs::rename(tree.at("one"), tree.at("two")).unwrap();
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        };
        assert_eq!(tree.noticed(churn), <[&str; 0]>::default());
    }
}
