//! Finds the directories of the git repository that a project belongs to.

use std::io;
use std::path::{Path, PathBuf};

use autonoe_files::{ReadError, SETTINGS_LIMIT, read_bytes, read_text};
use serde::{Deserialize, Serialize};

/// Maximum size of a repository's config file, in bytes; with ten thousand branches it has about a megabyte.
pub(crate) const CONFIG_LIMIT: u64 = 16 * 1024 * 1024;

/// Maximum number of directories of objects: a repository may borrow from others, and those from more.
const MAX_OBJECT_DIRECTORIES: usize = 64;

/// The directories of the repository that a project belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// The top of the working tree; `None` if it is the project itself.
    pub above: Option<PathBuf>,
    /// The `.git` directory. For a linked working tree two: first the shared one, then its own.
    pub directories: Vec<PathBuf>,
}

impl Repository {
    /// The repository that contains `root`, which must be absolute and canonical.
    pub fn around(root: &Path) -> Self {
        let Some(top) = root.ancestors().find(|directory| is_repository(&directory.join(".git"))) else {
            return Self::default();
        };
        let above = (top != root).then(|| top.to_owned());
        let Some(own) = real_directory(&top.join(".git")) else {
            return Self { above, directories: Vec::new() };
        };
        let shared = read_text(&own.join("commondir"), CONFIG_LIMIT).ok().flatten();
        let shared = shared.and_then(|path| own.join(path.trim_end()).canonicalize().ok());
        Self { above, directories: shared.into_iter().chain([own]).collect() }
    }

    /// The config files.
    pub fn settings(&self) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().map(|directory| directory.join("config"))
    }

    /// The first config file that cannot be read (a pipe, or too large), and why; `None` if all are fine.
    pub fn unreadable_settings(&self) -> Option<(PathBuf, ReadError)> {
        self.settings().find_map(|file| Some((file.clone(), read_bytes(&file, CONFIG_LIMIT).err()?)))
    }

    /// The top of the working tree that `root` belongs to.
    pub fn top<'a>(&'a self, root: &'a Path) -> &'a Path {
        self.above.as_deref().unwrap_or(root)
    }

    /// The directory of the repository's objects, then those that it borrows from; none without a repository.
    pub fn object_directories(&self) -> Result<Vec<PathBuf>, ReadError> {
        let mut all: Vec<PathBuf> =
            self.directories.first().map(|directory| directory.join("objects")).into_iter().collect();
        let mut next = 0;
        while let Some(objects) = all.get(next) {
            let new: Vec<PathBuf> =
                borrowed(objects)?.into_iter().filter(|directory| !all.contains(directory)).collect();
            all.extend(new);
            next += 1;
            if all.len() > MAX_OBJECT_DIRECTORIES {
                let message =
                    format!("it borrows from more than {MAX_OBJECT_DIRECTORIES} directories of objects");
                return Err(io::Error::other(message).into());
            }
        }
        Ok(all)
    }

    /// The hook directories.
    pub fn hooks(&self) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().map(|directory| directory.join("hooks"))
    }
}

/// The existing directories that a directory of objects names as its alternates.
fn borrowed(objects: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let list = read_text(&objects.join("info/alternates"), SETTINGS_LIMIT)?.unwrap_or_default();
    let mut found = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match objects.join(line).canonicalize() {
            Ok(directory) if directory.is_dir() => found.push(directory),
            // Git goes on without it.
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// Whether git would accept it as a repository: a directory with a HEAD, or a file that names such a directory.
fn is_repository(git: &Path) -> bool {
    git.is_file() || git.join("HEAD").symlink_metadata().is_ok()
}

/// The directory that `.git` is or, if it is a file, names.
fn real_directory(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return git.canonicalize().ok();
    }
    let text = read_text(git, CONFIG_LIMIT).ok()??;
    let named = text.strip_prefix("gitdir:")?.trim();
    git.parent()?.join(named).canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::{MAX_OBJECT_DIRECTORIES, Repository};

    #[test]
    fn borrowed_objects_are_found_once_and_in_order() {
        let directory = tempfile::tempdir().expect("directory");
        let base = directory.path().canonicalize().expect("real");
        let objects = |name: &str| base.join(name).join("objects");
        let borrow = |name: &str, lines: &str| {
            fs::create_dir_all(objects(name).join("info")).expect("directory");
            fs::write(objects(name).join("info/alternates"), lines).expect("written");
        };
        borrow("own", "# shared\n../../one/objects\n\n../../missing/objects\n");
        borrow("one", &format!("{}\n{}\n", objects("two").display(), objects("own").display()));
        borrow("two", "../../one/objects\n");
        let repository = Repository { above: None, directories: vec![base.join("own")] };
        let found = repository.object_directories().expect("found");
        assert_eq!(found, ["own", "one", "two"].map(objects));
        assert_eq!(Repository::default().object_directories().expect("none"), Vec::<PathBuf>::new());

        let many: Vec<String> = (0..MAX_OBJECT_DIRECTORIES).map(|number| number.to_string()).collect();
        many.iter().for_each(|name| borrow(name, ""));
        let lines: String = many.iter().map(|name| format!("{}\n", objects(name).display())).collect();
        borrow("own", &lines);
        let error = repository.object_directories().expect_err("too many").to_string();
        assert!(error.contains("more than 64 directories"), "{error}");
    }
}
