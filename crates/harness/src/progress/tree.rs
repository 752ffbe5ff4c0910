//! The files of a workspace at one moment, also those that git does not track. What git ignores, and what programs leave behind, does not
//! count.
//!
//! Everything is opened from the directory that it is in, and no link is followed: agents write here. Only files that changed since the
//! last snapshot are read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use autonoe_files::{read_opened, to_text};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::normalise::fingerprint;

/// Files of a workspace that are compared. Larger ones are not.
const MAX_FILES: usize = 200_000;

/// How deep directories are looked at.
const MAX_DEPTH: usize = 64;

/// Larger files are compared by their size and time.
const MAX_READ: u64 = 8 * 1024 * 1024;

/// Bytes of all files that one snapshot reads. Beyond that, files are compared by their size and time.
const MAX_READ_TOGETHER: u64 = 256 * 1024 * 1024;

/// Maximum size of an ignore file, in bytes.
const MAX_IGNORE_FILE: u64 = 256 * 1024;

/// Directories that never count.
const IGNORED_DIRECTORIES: [&str; 10] = [
    ".autonoe",
    ".git",
    ".harness",
    ".mypy_cache",
    ".pytest_cache",
    ".venv",
    "__pycache__",
    "node_modules",
    "venv",
    ".worktrees",
];

/// Ends of names that never count.
const IGNORED_ENDS: [&str; 8] =
    [".pyc", ".pyo", ".swp", ".swo", "~", ".egg-info", ".DS_Store", ".autonoe-note.md"];

/// What a file is recognized by. The kernel sets the time of change, so that no program can set it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    size: u64,
    changed: (i64, u64),
    inode: u64,
    content: u64,
}

impl FileStamp {
    fn is_untouched(&self, stat: &Stat) -> bool {
        (self.size, self.changed, self.inode) == (size(stat), changed(stat), stat.st_ino)
    }
}

#[derive(Debug, Clone)]
pub struct TreeSnapshot {
    /// Sorted by path.
    files: Vec<(Box<[u8]>, FileStamp)>,
    fingerprint: u64,
}

/// How many files differ in content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeChanges {
    pub added: usize,
    pub removed: usize,
    pub changed: usize,
}

impl TreeChanges {
    pub fn count(self) -> usize {
        self.added + self.removed + self.changed
    }
}

impl TreeSnapshot {
    /// Reads what differs from `previous`. An error if the directory cannot be read or has too many files.
    pub fn take(root: &Path, previous: Option<&Self>) -> io::Result<Self> {
        let root = rustix::fs::open(root, DIRECTORY, Mode::empty())?;
        let mut walk = Walk { previous, files: Vec::new(), ignored: Vec::new(), read: 0 };
        walk.directory(root, Vec::new(), 0)?;
        let mut files = walk.files;
        files.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let mut hash = Sha256::new();
        for (path, stamp) in &files {
            hash.update(path);
            hash.update([0]);
            hash.update(stamp.content.to_le_bytes());
        }
        Ok(Self { files, fingerprint: fingerprint(&hash.finalize()) })
    }

    /// Of paths and contents; times do not matter.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub fn changes_since(&self, before: &Self) -> TreeChanges {
        let mut changes = TreeChanges::default();
        let (mut old, mut new) = (before.files.iter().peekable(), self.files.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return changes,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((old, _)), Some((new, _))) => old.cmp(new),
            };
            match order {
                std::cmp::Ordering::Less => {
                    changes.removed += 1;
                    old.next();
                }
                std::cmp::Ordering::Greater => {
                    changes.added += 1;
                    new.next();
                }
                std::cmp::Ordering::Equal => {
                    let contents = [old.next(), new.next()].map(|file| file.map(|(_, stamp)| stamp.content));
                    changes.changed += usize::from(contents[0] != contents[1]);
                }
            }
        }
    }

    fn find(&self, path: &[u8]) -> Option<&FileStamp> {
        let place = self.files.binary_search_by(|(known, _)| known.as_ref().cmp(path)).ok()?;
        Some(&self.files[place].1)
    }
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A pipe without a writer does not block.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

struct Walk<'a> {
    previous: Option<&'a TreeSnapshot>,
    files: Vec<(Box<[u8]>, FileStamp)>,
    /// Rules of the directories from the root to the current one.
    ignored: Vec<Gitignore>,
    /// Bytes read so far.
    read: u64,
}

impl Walk<'_> {
    fn directory(&mut self, directory: OwnedFd, path: Vec<u8>, depth: usize) -> io::Result<()> {
        let rules = ignore_rules(&directory, &path);
        self.ignored.extend(rules.clone());
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                self.entry(&directory, &path, name, entry.file_type(), depth)?;
            }
        }
        if rules.is_some() {
            self.ignored.pop();
        }
        Ok(())
    }

    fn entry(
        &mut self,
        directory: &OwnedFd,
        above: &[u8],
        name: &[u8],
        kind: FileType,
        depth: usize,
    ) -> io::Result<()> {
        let mut path = above.to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        let os_name = OsStr::from_bytes(name);
        let kind = match kind {
            FileType::Unknown => match statat(directory, os_name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(error) => return gone(error),
            },
            known => known,
        };
        if self.is_ignored(name, &path, kind.is_dir()) {
            return Ok(());
        }
        match kind {
            FileType::Directory if depth < MAX_DEPTH => {
                match openat(directory, os_name, DIRECTORY, Mode::empty()) {
                    Ok(opened) => self.directory(opened, path, depth + 1),
                    Err(error) => gone(error),
                }
            }
            FileType::RegularFile | FileType::Symlink => self.file(directory, os_name, path),
            FileType::Directory
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Ok(()),
        }
    }

    fn file(&mut self, directory: &OwnedFd, name: &OsStr, path: Vec<u8>) -> io::Result<()> {
        let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(error) => return gone(error),
        };
        if self.files.len() >= MAX_FILES {
            return Err(io::Error::other(format!("it has more than {MAX_FILES} files")));
        }
        let known = self.previous.and_then(|previous| previous.find(&path));
        let content = match known.filter(|stamp| stamp.is_untouched(&stat)) {
            Some(stamp) => stamp.content,
            None => self.content(directory, name, &stat),
        };
        let stamp = FileStamp { size: size(&stat), changed: changed(&stat), inode: stat.st_ino, content };
        self.files.push((path.into_boxed_slice(), stamp));
        Ok(())
    }

    /// A fingerprint of the content, or of size and time if it cannot be read.
    fn content(&mut self, directory: &OwnedFd, name: &OsStr, stat: &Stat) -> u64 {
        let by_time = fingerprint(format!("{} {:?}", size(stat), changed(stat)).as_bytes());
        if FileType::from_raw_mode(stat.st_mode).is_symlink() {
            let target = readlinkat(directory, name, Vec::new());
            return target.map_or(by_time, |target| fingerprint(target.to_bytes()));
        }
        if size(stat) > MAX_READ || self.read.saturating_add(size(stat)) > MAX_READ_TOGETHER {
            return by_time;
        }
        self.read += size(stat);
        read_content(directory, name).unwrap_or(by_time)
    }

    fn is_ignored(&self, name: &[u8], path: &[u8], is_directory: bool) -> bool {
        if IGNORED_ENDS.iter().any(|end| name.ends_with(end.as_bytes()))
            || (is_directory && IGNORED_DIRECTORIES.iter().any(|known| known.as_bytes() == name))
        {
            return true;
        }
        let path = Path::new(OsStr::from_bytes(path));
        // The rules of the innermost directory decide.
        let decided = self.ignored.iter().rev().map(|rules| rules.matched(path, is_directory));
        decided.into_iter().find(|found| !found.is_none()).is_some_and(|found| found.is_ignore())
    }
}

/// The rules in the `.gitignore` of a directory; `None` if there are none that can be read.
fn ignore_rules(directory: &OwnedFd, path: &[u8]) -> Option<Gitignore> {
    let file = open_regular(directory, OsStr::new(".gitignore"))?;
    let text = to_text(read_opened(&file, MAX_IGNORE_FILE).ok()?).ok()?;
    let mut builder = GitignoreBuilder::new(Path::new(OsStr::from_bytes(path)));
    for line in text.lines() {
        // Ignored: a line that is not a pattern, as git does.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

fn read_content(directory: &OwnedFd, name: &OsStr) -> Option<u64> {
    let mut file = open_regular(directory, name)?.take(MAX_READ);
    let (mut hash, mut buffer) = (Sha256::new(), [0; 16 * 1024]);
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(fingerprint(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}

fn open_regular(directory: &OwnedFd, name: &OsStr) -> Option<File> {
    // Checked before opening: opening a device may have side effects.
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return None;
    }
    let opened = openat(directory, name, FILE, Mode::empty()).ok()?;
    let is_file = FileType::from_raw_mode(fstat(&opened).ok()?.st_mode).is_file();
    is_file.then(|| opened.into())
}

/// What is removed while we look is not there; a directory that cannot be read is left out.
fn gone(error: Errno) -> io::Result<()> {
    match error {
        Errno::NOENT | Errno::ACCESS | Errno::LOOP | Errno::NOTDIR => Ok(()),
        other => Err(other.into()),
    }
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

#[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
fn changed(stat: &Stat) -> (i64, u64) {
    (stat.st_ctime as i64, stat.st_ctime_nsec as u64)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::{TreeChanges, TreeSnapshot};

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("created");
        fs::write(path, text).expect("written");
    }

    #[test]
    fn new_and_untracked_files_count_and_what_is_ignored_does_not() {
        let directory = tempfile::tempdir().expect("directory");
        let root = directory.path();
        write(root, ".gitignore", "/target\n*.log\n");
        write(root, "src/main.rs", "fn main() {}\n");
        write(root, "src/.gitignore", "!keep.log\n");
        symlink("/etc", root.join("link")).expect("link");
        let before = TreeSnapshot::take(root, None).expect("a snapshot");
        for path in [
            "target/debug/x",
            "a.log",
            ".git/HEAD",
            ".harness/x/stop",
            "node_modules/x/y.js",
            "venv/z",
            "m.egg-info/x",
            "__pycache__/m.pyc",
            "m.pyc",
            "a.swp",
            "b.txt~",
            ".DS_Store",
        ] {
            write(root, path, "x");
        }
        let ignored = TreeSnapshot::take(root, Some(&before)).expect("a snapshot");
        assert_eq!(ignored.changes_since(&before).count(), 0);
        assert_eq!(ignored.fingerprint(), before.fingerprint());
        write(root, "src/new.rs", "x");
        write(root, "src/keep.log", "x");
        write(root, "src/main.rs", "fn main() { }");
        fs::remove_file(root.join("link")).expect("removed");
        let after = TreeSnapshot::take(root, Some(&ignored)).expect("a snapshot");
        assert_eq!(after.changes_since(&before), TreeChanges { added: 2, removed: 1, changed: 1 });
    }

    #[test]
    fn a_file_that_is_written_again_has_not_changed() {
        let directory = tempfile::tempdir().expect("directory");
        write(directory.path(), "a", "one");
        let before = TreeSnapshot::take(directory.path(), None).expect("a snapshot");
        write(directory.path(), "a", "two");
        let between = TreeSnapshot::take(directory.path(), Some(&before)).expect("a snapshot");
        assert_eq!(between.changes_since(&before).changed, 1, "the size is the same");
        write(directory.path(), "a", "one");
        let after = TreeSnapshot::take(directory.path(), Some(&between)).expect("a snapshot");
        assert_eq!(after.fingerprint(), before.fingerprint());
        assert_eq!(after.changes_since(&before).count(), 0);
    }

    #[test]
    fn special_files_do_not_block_and_links_are_not_followed() {
        let directory = tempfile::tempdir().expect("directory");
        let outside = tempfile::tempdir().expect("directory");
        write(outside.path(), "secret", "x");
        let fifo = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        for name in [".gitignore", "pipe"] {
            rustix::fs::mknodat(rustix::fs::CWD, directory.path().join(name), fifo, mode, 0).expect("a pipe");
        }
        symlink(outside.path(), directory.path().join("out")).expect("link");
        symlink(directory.path(), directory.path().join("loop")).expect("link");
        let snapshot = TreeSnapshot::take(directory.path(), None).expect("a snapshot");
        let paths: Vec<&[u8]> = snapshot.files.iter().map(|(path, _)| path.as_ref()).collect();
        assert_eq!(paths, [&b"loop"[..], b"out"]);
        TreeSnapshot::take(&directory.path().join("missing"), None).expect_err("nothing there");
    }
}
