//! Copies the files of a project that has no commit to check out.
//!
//! Agents can write everything here: ignore files, links, pipes and huge files. So only regular files are opened, all of them
//! by crate `files`, and number, size and time are bounded.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::vec;

use autonoe_core::file_names::shown_name;
use autonoe_files::{ReadError, open_beneath, read_bytes_beneath, show_bytes};
use autonoe_sandbox::Repository;
use autonoe_store::sha256_hex;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{Match, WalkBuilder};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

/// Maximum size of a copied project.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Maximum number of files and directories, including those that are skipped, and of nested directories.
const MAX_ENTRIES: usize = 500_000;
const MAX_DEPTH: usize = 256;

/// Maximum size of an ignore file; a larger one is not used.
const MAX_IGNORE_BYTES: u64 = 256 * 1024;

/// Number of files named in a message.
const NAMED: usize = 3;

/// The ignore files, highest priority last.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    #[error(
        "it has more than {} of files that git would not ignore; the largest are {largest}",
        show_bytes(MAX_BYTES)
    )]
    TooLarge { largest: String },
    #[error("it has more than {MAX_ENTRIES} files and directories")]
    TooMany,
    #[error("{} cannot be read: {error}", shown_name(&path.display().to_string()))]
    Unreadable { path: PathBuf, error: ReadError },
    #[error("{0}")]
    Unwritable(io::Error),
    #[error("it was cancelled")]
    Cancelled,
}

/// What is copied, by path below the project.
enum CopiedEntry {
    Directory(PathBuf),
    Link(PathBuf),
    File(PathBuf),
}

/// What to copy, each entry after its directory, and directories that cannot be read.
struct ListedEntries {
    entries: Vec<CopiedEntry>,
    left_out: Vec<PathBuf>,
}

/// Ignore files that count, by path, with the hashes of their contents. Those that an agent has written or changed do not.
pub(crate) type IgnoreFiles = BTreeMap<PathBuf, String>;

/// The ignore files of a project as they are now.
pub(crate) fn ignore_files(root: &Path, cancel: &CancellationToken) -> IgnoreFiles {
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(|entry| !is_skipped(entry.file_name()))
        .build();
    let files = walk.take(MAX_ENTRIES).take_while(|_| !cancel.is_cancelled()).filter_map(Result::ok);
    let files = files.filter(|entry| IGNORE_FILES.iter().any(|name| entry.file_name() == *name));
    files
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(root).ok()?.to_owned();
            let text = read_bytes_beneath(root, &path, MAX_IGNORE_BYTES).ok()?;
            Some((path, sha256_hex(&text)))
        })
        .collect()
}

/// What was copied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CopiedTree {
    /// Of all files.
    pub(crate) hash: String,
    /// Files and directories that cannot be read.
    pub(crate) left_out: Vec<PathBuf>,
}

/// Copies the files that git would not ignore.
pub(crate) fn copy_tree(
    from: &Path,
    repository: &Repository,
    ignore: &IgnoreFiles,
    to: &Path,
    cancel: &CancellationToken,
) -> Result<CopiedTree, CopyError> {
    let ListedEntries { entries, mut left_out } = list(from, repository, ignore, cancel)?;
    let (mut left, mut list) = (MAX_BYTES, String::new());
    for entry in entries {
        let described = match &entry {
            CopiedEntry::Directory(path) => {
                fs::create_dir(to.join(path)).map_err(CopyError::Unwritable)?;
                continue;
            }
            CopiedEntry::Link(path) => match fs::read_link(from.join(path)) {
                Err(_) => continue,
                Ok(link) => {
                    symlink(&link, to.join(path)).map_err(CopyError::Unwritable)?;
                    format!("{} link {}", path.display(), link.display())
                }
            },
            CopiedEntry::File(path) => match open_beneath(from, path) {
                // An agent may still be working.
                Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => {
                    left_out.push(path.clone());
                    continue;
                }
                Ok(source) => {
                    let described = copy_file(source, path, &to.join(path), &mut left, cancel)?;
                    format!("{} {described}", path.display())
                }
            },
        };
        list.push_str(&described);
        list.push('\n');
    }
    left_out.sort_unstable();
    list.extend(left_out.iter().map(|path| format!("{} left out\n", path.display())));
    Ok(CopiedTree { hash: sha256_hex(list.as_bytes()), left_out })
}

/// Returns a description that includes the hash.
fn copy_file(
    mut source: File,
    path: &Path,
    target: &Path,
    left: &mut u64,
    cancel: &CancellationToken,
) -> Result<String, CopyError> {
    let unreadable = |error: io::Error| CopyError::Unreadable { path: path.to_owned(), error: error.into() };
    let mode = source.metadata().map_err(unreadable)?.permissions().mode() & 0o111;
    let mut copy = File::create_new(target).map_err(CopyError::Unwritable)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 64 * 1024]);
    loop {
        let count = source.read(&mut buffer).map_err(unreadable)?;
        if count == 0 {
            break;
        }
        if cancel.is_cancelled() {
            return Err(CopyError::Cancelled);
        }
        // It has grown since the files were listed.
        *left = left
            .checked_sub(count as u64)
            .ok_or_else(|| CopyError::TooLarge { largest: shown_name(&path.display().to_string()) })?;
        hash.update(&buffer[..count]);
        copy.write_all(&buffer[..count]).map_err(CopyError::Unwritable)?;
    }
    copy.set_permissions(fs::Permissions::from_mode(0o644 | mode)).map_err(CopyError::Unwritable)?;
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{} {hash}", if mode == 0 { "file" } else { "program" }))
}

/// Sizes are added up first: copying too much would take a minute to notice it.
fn list(
    from: &Path,
    repository: &Repository,
    ignore: &IgnoreFiles,
    cancel: &CancellationToken,
) -> Result<ListedEntries, CopyError> {
    let mut levels = above(from, repository);
    levels.push(Level::new(from, Path::new(""), repository, ignore)?);
    let outside = levels.len() - 1;
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    let (mut seen, mut bytes, mut largest) = (0, 0_u64, Vec::new());
    while levels.len() > outside {
        let Some(level) = levels.last_mut() else { break };
        let Some(name) = level.left.next() else {
            levels.pop();
            continue;
        };
        seen += 1;
        if seen > MAX_ENTRIES {
            return Err(CopyError::TooMany);
        }
        if cancel.is_cancelled() {
            return Err(CopyError::Cancelled);
        }
        let path = level.path.join(&name);
        let Ok(metadata) = from.join(&path).symlink_metadata() else { continue };
        if is_skipped(&name) || is_ignored(&levels, &from.join(&path), &metadata) {
            continue;
        }
        if metadata.is_symlink() {
            found.push(CopiedEntry::Link(path));
        } else if metadata.is_dir() {
            if levels.len() - outside < MAX_DEPTH {
                match Level::new(from, &path, repository, ignore) {
                    Ok(level) => levels.push(level),
                    Err(CopyError::Unreadable { .. }) => {
                        left_out.push(path);
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            found.push(CopiedEntry::Directory(path));
        } else if metadata.is_file() {
            bytes = bytes.saturating_add(metadata.len());
            largest.push((metadata.len(), path.clone()));
            largest.sort_unstable_by(|one, other| other.cmp(one));
            largest.truncate(NAMED);
            found.push(CopiedEntry::File(path));
        }
    }
    if bytes > MAX_BYTES {
        let named = largest.iter().map(|(size, path)| {
            format!("{} ({})", shown_name(&path.display().to_string()), show_bytes(*size))
        });
        return Err(CopyError::TooLarge { largest: named.collect::<Vec<_>>().join(", ") });
    }
    Ok(ListedEntries { entries: found, left_out })
}

/// Our own files, and what programs have installed or built.
fn is_skipped(name: &OsStr) -> bool {
    [".git", ".autonoe", "node_modules", ".venv", "__pycache__", ".tox"]
        .iter()
        .any(|skipped| name == *skipped)
}

/// The innermost directory with a matching pattern decides; patterns outside the file's repository do not apply.
fn is_ignored(levels: &[Level], path: &Path, metadata: &Metadata) -> bool {
    for level in levels.iter().rev() {
        match level.ignored.matched(path, metadata.is_dir()) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None if level.is_repository => return false,
            Match::None => {}
        }
    }
    false
}

/// One directory that is being listed, or one above the project that only contributes patterns.
struct Level {
    /// Below the project.
    path: PathBuf,
    /// Entries that are still to be visited, sorted.
    left: vec::IntoIter<OsString>,
    ignored: Gitignore,
    is_repository: bool,
}

impl Level {
    fn new(
        root: &Path,
        path: &Path,
        repository: &Repository,
        ignore: &IgnoreFiles,
    ) -> Result<Self, CopyError> {
        let unreadable =
            |error: io::Error| CopyError::Unreadable { path: root.join(path), error: error.into() };
        let mut names = Vec::new();
        for entry in fs::read_dir(root.join(path)).map_err(unreadable)? {
            names.push(entry.map_err(unreadable)?.file_name());
            if names.len() > MAX_ENTRIES {
                return Err(CopyError::TooMany);
            }
        }
        names.sort_unstable();
        Ok(Self {
            path: path.to_owned(),
            left: names.into_iter(),
            ..Self::patterns(root, path, repository, Some(ignore))
        })
    }

    /// Without entries. `None` for `ignore` if no agent can write here.
    fn patterns(root: &Path, path: &Path, repository: &Repository, ignore: Option<&IgnoreFiles>) -> Self {
        let directory = root.join(path);
        let git = directory.join(".git");
        let is_repository = git.symlink_metadata().is_ok();
        let mut ignored = GitignoreBuilder::new(&directory);
        // Later patterns take precedence.
        let exclude = repository.directories.first().filter(|_| directory == repository.top(root));
        let exclude = exclude
            .map(|directory| read_bytes_beneath(directory, Path::new("info/exclude"), MAX_IGNORE_BYTES));
        let files = IGNORE_FILES.map(|name| {
            let file = path.join(name);
            let text = read_bytes_beneath(root, &file, MAX_IGNORE_BYTES).ok()?;
            ignore.is_none_or(|ignore| ignore.get(&file) == Some(&sha256_hex(&text))).then_some(text)
        });
        let exclude = exclude.into_iter().filter_map(Result::ok);
        for text in exclude.chain(files.into_iter().flatten()) {
            for line in String::from_utf8_lossy(&text).trim_start_matches('\u{feff}').lines() {
                // Git ignores invalid patterns too.
                let _ = ignored.add_line(None, line);
            }
        }
        let ignored = ignored.build().unwrap_or_else(|_| Gitignore::empty());
        Self { path: path.to_owned(), left: Vec::new().into_iter(), ignored, is_repository }
    }
}

/// The directories above the project, from the top of its repository.
fn above(root: &Path, repository: &Repository) -> Vec<Level> {
    let Some(top) = &repository.above else {
        return Vec::new();
    };
    let parents = root.ancestors().skip(1).take_while(|parent| parent.starts_with(top));
    let mut levels: Vec<_> =
        parents.map(|parent| Level::patterns(parent, Path::new(""), repository, None)).collect();
    levels.reverse();
    levels
}

#[cfg(test)]
mod tests;
