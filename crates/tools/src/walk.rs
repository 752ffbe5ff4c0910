//! Going through the files of a directory as a developer sees them: without what git ignores and
//! without git's own. Symbolic links are not followed, so the walk never leaves its directory.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::vec;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::Workspace;
use crate::folder::{Changed, Folder, For, Kind};
use crate::reach::Reach;

/// Git's own directory.
const GIT: &str = ".git";
/// The files that say what is ignored, the one that counts more last.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// How much of such a file is read.
const MAX_IGNORE_BYTES: u64 = 1024 * 1024;
/// How many directories deep a walk goes: each of them is held open.
const MAX_DEPTH: usize = 128;

/// The regular files below `base`, in the order of their paths, as far as they may be read. What cannot be
/// opened is left out. What is ignored is also told by the directories above `base`, up to the root.
pub(crate) fn files(workspace: &Workspace, base: Folder) -> Walk<'_> {
    let reach = workspace.reach();
    let mut levels = Vec::new();
    if let Ok(below) = base.real().strip_prefix(workspace.root())
        && below != Path::new("")
    {
        let mut outer = Folder::at(workspace.root()).ok();
        for name in below {
            let Some(folder) = outer else { break };
            outer = folder.enter(name).ok();
            levels.push(Level::above(folder, reach));
        }
    }
    levels.push(Level::new(base, reach));
    Walk { reach, levels }
}

/// A walk through a directory, in descriptors: nothing that moves during it leads it elsewhere.
pub(crate) struct Walk<'a> {
    reach: &'a Reach,
    /// From the outermost directory to the one that is being listed.
    levels: Vec<Level>,
}

/// A file that a walk came to.
pub(crate) struct Listed {
    folder: Rc<Folder>,
    name: OsString,
    /// Its real path.
    pub(crate) path: PathBuf,
}

impl Listed {
    /// Opens it, if it still is a regular file.
    pub(crate) fn open(&self) -> io::Result<File> {
        let file = self.folder.open(&self.name, For::Reading)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// When it changed last, if it still is there.
    pub(crate) fn changed(&self) -> Option<Changed> {
        self.folder.changed(&self.name).ok()
    }
}

impl Iterator for Walk<'_> {
    type Item = Listed;

    fn next(&mut self) -> Option<Listed> {
        while let Some(level) = self.levels.last_mut() {
            let Some((name, kind)) = level.left.next() else {
                self.levels.pop();
                continue;
            };
            let folder = Rc::clone(&level.folder);
            let path = folder.real().join(&name);
            if name == GIT || self.is_ignored(&path, kind) || !self.reach.may_read(&path) {
                continue;
            }
            match kind {
                Kind::File => return Some(Listed { folder, name, path }),
                Kind::Folder if self.levels.len() < MAX_DEPTH => {
                    self.levels.extend(folder.enter(&name).map(|folder| Level::new(folder, self.reach)));
                }
                Kind::Folder | Kind::Other => {}
            }
        }
        None
    }
}

impl Walk<'_> {
    /// The innermost directory that has a word on it decides, and none outside its repository.
    fn is_ignored(&self, path: &Path, kind: Kind) -> bool {
        for level in self.levels.iter().rev() {
            match level.ignored.matched(path, kind == Kind::Folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None if level.is_repository => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// A directory on the way of a walk.
struct Level {
    folder: Rc<Folder>,
    /// What is still to be looked at.
    left: vec::IntoIter<(OsString, Kind)>,
    ignored: Gitignore,
    is_repository: bool,
}

impl Level {
    fn new(folder: Folder, reach: &Reach) -> Self {
        let left = folder.list().unwrap_or_default();
        Self { left: left.into_iter(), ..Self::above(folder, reach) }
    }

    /// A directory that is not walked itself.
    fn above(folder: Folder, reach: &Reach) -> Self {
        let git = folder.enter(GIT.as_ref()).ok();
        let info = git.as_ref().and_then(|git| git.enter("info".as_ref()).ok());
        let mut ignored = GitignoreBuilder::new(folder.real());
        // What comes later counts more.
        let exclude = info.map(|info| lines(&info, "exclude", reach));
        for line in exclude.into_iter().chain(IGNORE_FILES.map(|name| lines(&folder, name, reach))).flatten()
        {
            // A line that is not a pattern is not a pattern for git either.
            let _ = ignored.add_line(None, &line);
        }
        Self {
            left: Vec::new().into_iter(),
            ignored: ignored.build().unwrap_or_else(|_| Gitignore::empty()),
            is_repository: git.is_some(),
            folder: Rc::new(folder),
        }
    }
}

/// The lines of a file that says what is ignored; none if it cannot be read.
fn lines(folder: &Folder, name: &str, reach: &Reach) -> Vec<String> {
    if !reach.may_read(&folder.real().join(name)) {
        return Vec::new();
    }
    let Ok(file) = folder.open(name.as_ref(), For::Reading) else { return Vec::new() };
    let mut bytes = Vec::new();
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => {
            // What was read before an error still counts.
            let _ = file.take(MAX_IGNORE_BYTES).read_to_end(&mut bytes);
        }
        Ok(_) | Err(_) => {}
    }
    let text = String::from_utf8_lossy(&bytes);
    text.trim_start_matches('\u{feff}').lines().map(str::to_owned).collect()
}
