//! Walks the files of a directory, without those that git ignores and without `.git`. Symbolic links are not followed, so
//! the walk never leaves its directory.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::vec;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::directory::{DirEntryKind, Directory, ModifiedTime, OpenMode};
use crate::file_opener::FileOpener;
use crate::workspace::Workspace;

const GIT: &str = ".git";
/// The ignore files, highest priority last.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// The maximum number of bytes read of an ignore file.
const MAX_IGNORE_BYTES: u64 = 1024 * 1024;
/// The maximum depth of a walk: each level has an open descriptor.
const MAX_DEPTH: usize = 128;

/// The regular files below `base` that may be read, sorted by path. Directories that cannot be opened are skipped. Ignore
/// files in the directories above `base`, up to the workspace root, apply too.
pub(crate) fn files(workspace: &Workspace, base: Directory) -> FileWalk<'_> {
    let opener = workspace.opener();
    let mut levels = Vec::new();
    if let Ok(below) = base.real().strip_prefix(workspace.root())
        && below != Path::new("")
    {
        let mut outer = Directory::at(workspace.root()).ok();
        for name in below {
            let Some(directory) = outer else { break };
            outer = directory.enter(name).ok();
            levels.push(WalkLevel::above(directory, opener));
        }
    }
    levels.push(WalkLevel::new(base, opener));
    FileWalk { opener, levels }
}

/// A walk through a directory by descriptors: renames during the walk cannot redirect it.
pub(crate) struct FileWalk<'a> {
    opener: &'a FileOpener,
    /// From the outermost directory to the one that is being listed.
    levels: Vec<WalkLevel>,
}

/// A file found by a walk.
pub(crate) struct WalkedFile {
    directory: Rc<Directory>,
    name: OsString,
    /// The real path.
    pub(crate) path: PathBuf,
}

impl WalkedFile {
    /// Opens the file, if it is still a regular file.
    pub(crate) fn open(&self) -> io::Result<File> {
        let file = self.directory.open(&self.name, OpenMode::Read)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// The modification time; `None` if the file no longer exists.
    pub(crate) fn modified(&self) -> Option<ModifiedTime> {
        self.directory.modified(&self.name).ok()
    }
}

impl Iterator for FileWalk<'_> {
    type Item = WalkedFile;

    fn next(&mut self) -> Option<WalkedFile> {
        while let Some(level) = self.levels.last_mut() {
            let Some((name, kind)) = level.left.next() else {
                self.levels.pop();
                continue;
            };
            let directory = Rc::clone(&level.directory);
            let path = directory.real().join(&name);
            if name == GIT || self.is_ignored(&path, kind) || !self.opener.may_read(&path) {
                continue;
            }
            match kind {
                DirEntryKind::File => return Some(WalkedFile { directory, name, path }),
                DirEntryKind::Directory if self.levels.len() < MAX_DEPTH => {
                    let entered = directory.enter(&name);
                    self.levels.extend(entered.map(|directory| WalkLevel::new(directory, self.opener)));
                }
                DirEntryKind::Directory | DirEntryKind::Other => {}
            }
        }
        None
    }
}

impl FileWalk<'_> {
    /// The innermost directory with a matching pattern decides; patterns outside the file's repository do not apply.
    fn is_ignored(&self, path: &Path, kind: DirEntryKind) -> bool {
        for level in self.levels.iter().rev() {
            match level.ignored.matched(path, kind == DirEntryKind::Directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None if level.is_repository => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// One directory of a walk.
struct WalkLevel {
    directory: Rc<Directory>,
    /// The entries that are still to be visited.
    left: vec::IntoIter<(OsString, DirEntryKind)>,
    ignored: Gitignore,
    is_repository: bool,
}

impl WalkLevel {
    fn new(directory: Directory, opener: &FileOpener) -> Self {
        let left = directory.list().unwrap_or_default();
        Self { left: left.into_iter(), ..Self::above(directory, opener) }
    }

    /// A directory that only contributes ignore patterns and is not walked itself.
    fn above(directory: Directory, opener: &FileOpener) -> Self {
        let git = directory.enter(GIT.as_ref()).ok();
        let info = git.as_ref().and_then(|git| git.enter("info".as_ref()).ok());
        let mut ignored = GitignoreBuilder::new(directory.real());
        // Later patterns take precedence.
        let exclude = info.map(|info| lines(&info, "exclude", opener));
        let files = IGNORE_FILES.map(|name| lines(&directory, name, opener));
        for line in exclude.into_iter().chain(files).flatten() {
            // Git ignores invalid patterns too.
            let _ = ignored.add_line(None, &line);
        }
        Self {
            left: Vec::new().into_iter(),
            ignored: ignored.build().unwrap_or_else(|_| Gitignore::empty()),
            is_repository: git.is_some(),
            directory: Rc::new(directory),
        }
    }
}

/// The lines of an ignore file; empty if it cannot be read.
fn lines(directory: &Directory, name: &str, opener: &FileOpener) -> Vec<String> {
    if !opener.may_read(&directory.real().join(name)) {
        return Vec::new();
    }
    let Ok(file) = directory.open(name.as_ref(), OpenMode::Read) else { return Vec::new() };
    let mut bytes = Vec::new();
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => {
            // After an error, the part that was read is used.
            let _ = file.take(MAX_IGNORE_BYTES).read_to_end(&mut bytes);
        }
        Ok(_) | Err(_) => {}
    }
    let text = String::from_utf8_lossy(&bytes);
    text.trim_start_matches('\u{feff}').lines().map(str::to_owned).collect()
}
