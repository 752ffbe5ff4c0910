//! Writes the `.git` directory of a repository of ours by hand, so that nothing of the user's settings or templates gets into it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A new repository.
#[derive(Debug, Default)]
pub struct Skeleton<'a> {
    /// `sha1` or `sha256`.
    pub format: &'a str,
    pub is_bare: bool,
    /// The branch that HEAD names, and its commit; without a commit it is unborn.
    pub branch: &'a str,
    pub commit: Option<&'a str>,
    /// Object directories that it borrows from.
    pub borrowed: &'a [PathBuf],
    /// The contents of the file `shallow`: commits whose parents are missing.
    pub shallow: Option<&'a str>,
    /// The contents of `packed-refs`.
    pub refs: &'a str,
}

impl Skeleton<'_> {
    /// Writes it into `git`, which may exist.
    pub fn write(&self, git: &Path) -> io::Result<()> {
        for directory in ["info", "objects/info", "objects/pack", "refs/heads", "refs/tags"] {
            fs::create_dir_all(git.join(directory))?;
        }
        let (version, extensions) = match self.format {
            "sha1" => (0, String::new()),
            other => (1, format!("[extensions]\n\tobjectformat = {other}\n")),
        };
        let config = format!(
            "[core]\n\trepositoryformatversion = {version}\n\tbare = {}\n\tlogallrefupdates = true\n{extensions}",
            self.is_bare
        );
        replace(&git.join("config"), &config)?;
        let borrowed: String = self.borrowed.iter().map(|path| format!("{}\n", path.display())).collect();
        replace(&git.join("objects/info/alternates"), &borrowed)?;
        if let Some(shallow) = self.shallow {
            replace(&git.join("shallow"), shallow)?;
        }
        if !self.refs.is_empty() {
            replace(&git.join("packed-refs"), self.refs)?;
        }
        if let Some(commit) = self.commit {
            write_ref(git, &format!("refs/heads/{}", self.branch), commit)?;
        }
        replace(&git.join("HEAD"), &format!("ref: refs/heads/{}\n", self.branch))
    }
}

/// Sets a reference of a repository of ours, at once and completely.
pub fn write_ref(git: &Path, name: &str, commit: &str) -> io::Result<()> {
    let path = git.join(name);
    fs::create_dir_all(path.parent().unwrap_or(git))?;
    replace_file(&path, &format!("{commit}\n"), Durability::Synced)
}

/// Writes a file that another process may be reading, unless it has that content.
fn replace(path: &Path, content: &str) -> io::Result<()> {
    match fs::read(path) {
        Ok(now) if now == content.as_bytes() => Ok(()),
        _ => replace_file(path, content, Durability::Plain),
    }
}

/// Whether a file must be on disk before anything else happens.
#[derive(PartialEq, Eq)]
enum Durability {
    Synced,
    Plain,
}

fn replace_file(path: &Path, content: &str, durability: Durability) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    io::Write::write_all(&mut file, content.as_bytes())?;
    if durability == Durability::Synced {
        file.as_file().sync_all()?;
    }
    file.persist(path).map(drop).map_err(|error| error.error)
}
