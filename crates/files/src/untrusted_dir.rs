//! A directory in which others can write: agents, in their private home and in a project.
//!
//! Everything goes through descriptors, one name at a time, and no link is followed, even if someone replaces a part of the path
//! meanwhile. What is in the way of our own files is replaced, so that no session can keep the next one from starting.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, fchmod, fstat, fsync, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::error::ReadError;
use crate::open::{opened_regular, regular};
use crate::read::read_opened;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How often a name is tried that someone else changes at the same time.
const ATTEMPTS: usize = 3;

/// How deep a tree may be that is removed.
const MAX_DEPTH: usize = 256;

/// The names of new files start with this until they are complete. A killed process leaves such files behind.
pub const TEMPORARY: &str = ".tmp-";

/// Names that are looked at for such files.
const MAX_LEFTOVERS: usize = 100_000;

/// Distinguishes new files of this process.
static NEW_FILES: AtomicU64 = AtomicU64::new(0);

/// Who may read a new file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    OwnerOnly,
    Everyone,
    /// Those who may use the file that is replaced; everyone if there is none.
    AsBefore,
}

impl Visibility {
    fn of_file(self) -> Mode {
        match self {
            Self::OwnerOnly => Mode::from_raw_mode(0o600),
            Self::Everyone | Self::AsBefore => Mode::from_raw_mode(0o644),
        }
    }

    fn of_directory(self) -> Mode {
        match self {
            Self::OwnerOnly => Mode::from_raw_mode(0o700),
            Self::Everyone | Self::AsBefore => Mode::from_raw_mode(0o755),
        }
    }
}

/// An open directory. It stays the same one if it is renamed or a link takes its place.
#[derive(Debug)]
pub struct UntrustedDir(OwnedFd);

impl UntrustedDir {
    /// Opens a directory whose path nobody else can change. The last name may not be a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, DIRECTORY, Mode::empty())?))
    }

    /// Opens an existing directory below this one.
    pub fn existing(&self, path: &Path) -> io::Result<Self> {
        let mut directory = Self(self.0.try_clone()?);
        for name in names(path)? {
            directory = Self(openat(&directory.0, name, DIRECTORY, Mode::empty())?);
        }
        Ok(directory)
    }

    /// Opens a directory below this one. What is missing is created; a link or a file in its place is replaced.
    pub fn create(&self, path: &Path, visibility: Visibility) -> io::Result<Self> {
        self.open_or_create(path, visibility, Obstacle::Replaced)
    }

    /// Like [`Self::create`], but a link or a file in its place is an error.
    pub fn create_missing(&self, path: &Path, visibility: Visibility) -> io::Result<Self> {
        self.open_or_create(path, visibility, Obstacle::Refused)
    }

    fn open_or_create(&self, path: &Path, visibility: Visibility, obstacle: Obstacle) -> io::Result<Self> {
        let mut directory = Self(self.0.try_clone()?);
        for name in names(path)? {
            directory = directory.create_one(name, visibility, obstacle)?;
        }
        Ok(directory)
    }

    fn create_one(&self, name: &OsStr, visibility: Visibility, obstacle: Obstacle) -> io::Result<Self> {
        let mut error = Errno::NOENT;
        for _ in 0..ATTEMPTS {
            match openat(&self.0, name, DIRECTORY, Mode::empty()) {
                Ok(opened) => return Ok(Self(opened)),
                Err(Errno::NOENT) => {}
                Err(Errno::NOTDIR | Errno::LOOP) if obstacle == Obstacle::Replaced => {
                    unlinkat(&self.0, name, AtFlags::empty())?;
                }
                Err(other) => return Err(other.into()),
            }
            match mkdirat(&self.0, name, visibility.of_directory()) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(other) => error = other,
            }
        }
        Err(error.into())
    }

    /// Puts a new file at `name`, which is complete when it is there. What was there is replaced, never opened.
    pub fn replace(&self, name: &OsStr, content: &[u8], visibility: Visibility) -> io::Result<()> {
        let new = temporary_name();
        let mut file = self.create_new(&new, visibility)?;
        let mode = match visibility {
            Visibility::OwnerOnly | Visibility::Everyone => visibility.of_file(),
            Visibility::AsBefore => self.mode_of(name).unwrap_or(visibility.of_file()),
        };
        let written = file.write_all(content).and_then(|()| Ok(fchmod(&file, mode)?));
        let placed = written.and_then(|()| file.sync_all()).and_then(|()| self.rename(&new, name));
        if placed.is_err() {
            // Ignored: the error that matters is the first one.
            let _ = unlinkat(&self.0, &new, AtFlags::empty());
        }
        placed?;
        Ok(fsync(&self.0)?)
    }

    /// Writes a file unless there is something of that name, even a link to nothing. Returns whether it did.
    pub fn write_missing(&self, name: &OsStr, content: &[u8]) -> io::Result<bool> {
        match self.create_exclusive(name, Visibility::Everyone) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            created => created?.write_all(content).map(|()| true),
        }
    }

    /// Creates a file for reading and writing. What a killed process has left at `name` is removed before.
    pub fn create_new(&self, name: &OsStr, visibility: Visibility) -> io::Result<File> {
        self.remove(name)?;
        self.create_exclusive(name, visibility)
    }

    fn create_exclusive(&self, name: &OsStr, visibility: Visibility) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, visibility.of_file())?.into())
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match renameat(&self.0, from, &self.0, to) {
            Err(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST) => {
                self.remove(to)?;
                Ok(renameat(&self.0, from, &self.0, to)?)
            }
            renamed => Ok(renamed?),
        }
    }

    /// The permissions of a regular file; `None` if there is none.
    fn mode_of(&self, name: &OsStr) -> Option<Mode> {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
        is_file.then(|| Mode::from_raw_mode(stat.st_mode & 0o777))
    }

    /// Removes a file, a link itself, or a directory with everything in it. Nothing at all is fine.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        self.remove_tree(name, MAX_DEPTH)
    }

    fn remove_tree(&self, name: &OsStr, depth: usize) -> io::Result<()> {
        match unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::ISDIR | Errno::PERM) if depth > 0 => {}
            Err(error) => return Err(error.into()),
        }
        let directory = self.open_to_empty(name)?;
        for entry in Dir::read_from(&directory.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                directory.remove_tree(as_os_str(name), depth - 1)?;
            }
        }
        match unlinkat(&self.0, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a directory in which everything is to be removed, even if its permissions forbid that to its owner: Go leaves such directories.
    fn open_to_empty(&self, name: &OsStr) -> io::Result<Self> {
        let place = openat(&self.0, name, DIRECTORY | OFlags::PATH, Mode::empty())?;
        if fstat(&place)?.st_mode & 0o700 != 0o700 {
            // A descriptor that only names a place cannot be changed itself.
            rustix::fs::chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)?;
        }
        Ok(Self(openat(&self.0, name, DIRECTORY, Mode::empty())?))
    }

    /// The names in this directory, sorted; at most the first `limit` of those that it lists.
    pub fn names(&self, limit: usize) -> io::Result<Vec<OsString>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." && found.len() < limit {
                found.push(as_os_str(name).to_owned());
            }
        }
        found.sort();
        Ok(found)
    }

    /// Removes the new files that processes have left which were killed before they were complete. What cannot be removed stays.
    pub fn remove_leftovers(&self) {
        for name in self.names(MAX_LEFTOVERS).unwrap_or_default() {
            if is_leftover(&name) {
                // Ignored: leftovers do no harm.
                let _ = self.remove(&name);
            }
        }
    }

    /// Whether there is something of that name, even a link to nothing.
    pub fn has(&self, name: &OsStr) -> bool {
        statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Opens a regular file for reading; `None` if there is nothing of that name.
    pub fn open_file(&self, name: &OsStr) -> Result<Option<File>, ReadError> {
        opened_regular(&self.0, name)
    }

    /// Opens a regular file for reading and for writing at its end, and creates it if there is nothing of that name.
    pub fn open_to_append(&self, name: &OsStr, visibility: Visibility) -> Result<File, ReadError> {
        // Reports what is not a regular file; the rest follows from the flags.
        opened_regular(&self.0, name)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file: File = openat(&self.0, name, flags, visibility.of_file()).map_err(io::Error::from)?.into();
        regular(file.metadata()?)?;
        Ok(file)
    }

    /// Moves a file, or a link itself, into another directory. What is there is replaced.
    pub fn move_to(&self, name: &OsStr, directory: &Self, new_name: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, name, &directory.0, new_name)?)
    }

    /// The content of a regular file in this directory; `None` if there is nothing of that name.
    pub fn read(&self, name: &OsStr, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
        opened_regular(&self.0, name)?.map(|file| read_opened(&file, limit)).transpose()
    }
}

/// What happens to a link or a file where a directory should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    Replaced,
    Refused,
}

/// A name that no other file of ours has.
pub fn temporary_name() -> OsString {
    let number = NEW_FILES.fetch_add(1, Ordering::Relaxed);
    format!("{TEMPORARY}{}-{number}", std::process::id()).into()
}

/// Whether a file is a new one of a process that does not run any more.
fn is_leftover(name: &OsStr) -> bool {
    let numbers = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY)?.split_once('-'));
    let Some((pid, number)) = numbers else { return false };
    let pid = pid.parse().ok().and_then(Pid::from_raw);
    let has_ended = pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH));
    has_ended && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The plain names of a relative path.
fn names(path: &Path) -> io::Result<Vec<&OsStr>> {
    let plain = |component| match component {
        Component::Normal(name) => Some(Ok(name)),
        Component::CurDir => None,
        Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
            Some(Err(io::Error::from(io::ErrorKind::InvalidInput)))
        }
    };
    path.components().filter_map(plain).collect()
}

fn as_os_str(name: &[u8]) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(name)
}

#[cfg(test)]
mod tests {
    use std::ffi::{OsStr, OsString};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    use super::{UntrustedDir, Visibility};

    /// An agent's home, and a directory of the user's with a file in it.
    struct Homes {
        _directory: tempfile::TempDir,
        home: PathBuf,
        user: PathBuf,
    }

    #[test]
    fn new_files_of_processes_that_were_killed_are_removed() {
        let directory = tempfile::tempdir().expect("directory");
        let mut ended = std::process::Command::new("true").spawn().expect("started");
        ended.wait().expect("ended");
        let (ended, running) = (ended.id(), std::process::id());
        let kept = [format!(".tmp-{running}-0"), format!(".tmp-{ended}-mine"), ".tmp-x-1".to_owned()];
        for name in kept.iter().chain([&format!(".tmp-{ended}-0"), &format!(".tmp-{ended}-12")]) {
            fs::write(directory.path().join(name), "").expect("written");
        }
        let opened = UntrustedDir::open(directory.path()).expect("opened");
        opened.remove_leftovers();
        let mut kept = kept.map(OsString::from).to_vec();
        kept.sort();
        assert_eq!(opened.names(10).expect("names"), kept);
    }

    fn homes() -> Homes {
        let directory = tempfile::tempdir().expect("directory");
        let (home, user) = (directory.path().join("home"), directory.path().join("user"));
        fs::create_dir(&home).expect("directory");
        fs::create_dir_all(user.join("rules")).expect("directory");
        fs::write(user.join("config.toml"), "the user's").expect("written");
        fs::write(user.join("rules/mine"), "the user's").expect("written");
        Homes { _directory: directory, home, user }
    }

    #[test]
    fn links_are_replaced_and_what_they_lead_to_stays() {
        let Homes { home, user, .. } = &homes();
        symlink(user, home.join(".codex")).expect("link");
        let root = UntrustedDir::open(home).expect("opened");
        let settings = root.create(Path::new(".codex"), Visibility::OwnerOnly).expect("created");
        settings.replace(OsStr::new("config.toml"), b"ours", Visibility::OwnerOnly).expect("replaced");
        settings.remove(OsStr::new("rules")).expect("nothing there");
        assert_eq!(fs::read_to_string(home.join(".codex/config.toml")).expect("text"), "ours");
        assert_eq!(fs::read_to_string(user.join("config.toml")).expect("text"), "the user's");
        assert_eq!(fs::read_to_string(user.join("rules/mine")).expect("text"), "the user's");
        let mode = |path: &str| fs::metadata(home.join(path)).expect("metadata").permissions().mode() & 0o777;
        assert_eq!((mode(".codex"), mode(".codex/config.toml")), (0o700, 0o600));
    }

    #[test]
    fn a_link_in_place_of_a_file_is_neither_read_nor_written() {
        let Homes { home, user, .. } = &homes();
        symlink(user.join("config.toml"), home.join("file")).expect("link");
        let root = UntrustedDir::open(home).expect("opened");
        root.read(OsStr::new("file"), 100).expect_err("a link");
        root.replace(OsStr::new("file"), b"ours", Visibility::Everyone).expect("replaced");
        assert_eq!(root.read(OsStr::new("file"), 100).expect("read").as_deref(), Some(&b"ours"[..]));
        assert_eq!(fs::read_to_string(user.join("config.toml")).expect("text"), "the user's");
        assert!(root.read(OsStr::new("missing"), 100).expect("nothing").is_none());
    }

    #[test]
    fn a_directory_in_place_of_a_file_gives_way_and_its_links_are_not_followed() {
        let Homes { home, user, .. } = &homes();
        fs::create_dir_all(home.join("file/deeper")).expect("directory");
        symlink(user, home.join("file/deeper/link")).expect("link");
        let root = UntrustedDir::open(home).expect("opened");
        root.replace(OsStr::new("file"), b"ours", Visibility::Everyone).expect("replaced");
        assert_eq!(fs::read_to_string(home.join("file")).expect("text"), "ours");
        assert!(user.join("rules/mine").exists());
        assert_eq!(fs::read_dir(home).expect("entries").count(), 1, "nothing is left");
    }

    #[test]
    fn only_regular_files_are_appended_to() {
        let Homes { home, user, .. } = &homes();
        symlink(user.join("config.toml"), home.join("link")).expect("link");
        let root = UntrustedDir::open(home).expect("opened");
        root.open_to_append(OsStr::new("link"), Visibility::OwnerOnly).expect_err("a link");
        for text in ["one", "two"] {
            let mut file = root.open_to_append(OsStr::new("log"), Visibility::OwnerOnly).expect("opened");
            std::io::Write::write_all(&mut file, text.as_bytes()).expect("written");
        }
        assert_eq!(fs::read_to_string(home.join("log")).expect("text"), "onetwo");
        assert_eq!(fs::read_to_string(user.join("config.toml")).expect("text"), "the user's");
        assert_eq!(root.names(10).expect("names"), ["link", "log"]);
        let processed = root.create_missing(Path::new("processed"), Visibility::OwnerOnly).expect("created");
        root.move_to(OsStr::new("link"), &processed, OsStr::new("moved")).expect("moved");
        assert_eq!((root.names(10).expect("names").len(), processed.has(OsStr::new("moved"))), (2, true));
        assert!(user.join("config.toml").exists(), "the link was moved, not its target");
    }

    #[test]
    fn a_pipe_does_not_block_and_no_path_leads_out() {
        let Homes { home, .. } = &homes();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            home.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .expect("a pipe");
        let root = UntrustedDir::open(home).expect("opened");
        root.read(OsStr::new("pipe"), 100).expect_err("a pipe");
        root.create(Path::new("pipe"), Visibility::OwnerOnly).expect("replaced by a directory");
        for path in ["..", "a/../../user", "/etc"] {
            root.create(Path::new(path), Visibility::OwnerOnly).expect_err(path);
            root.existing(Path::new(path)).expect_err(path);
        }
    }
}
