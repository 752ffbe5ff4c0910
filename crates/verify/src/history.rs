//! Histories that are kept between checks, so that a check only needs the objects of the latest commits. Each is a repository with what one
//! commit reaches, so everything in it belongs to every commit after that one. Only our own process writes them.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Hashes of objects that are left out, one per line.
const HIDDEN: &str = "hidden";

/// Number of histories that are kept.
const MAX_STORED: usize = 3;

/// A directory of ours with the histories of a project.
#[derive(Debug, Clone)]
pub struct History {
    pub directory: PathBuf,
}

/// What one commit reaches.
#[derive(Debug, Clone)]
pub(crate) struct StoredHistory {
    directory: PathBuf,
    commit: String,
    made: SystemTime,
}

impl StoredHistory {
    pub(crate) fn commit(&self) -> &str {
        &self.commit
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.directory.join("objects")
    }

    /// Objects that are left out.
    pub(crate) fn hidden(&self) -> io::Result<HashSet<String>> {
        let text = fs::read_to_string(self.directory.join(HIDDEN))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The file `shallow`, if the history is cut off.
    pub(crate) fn shallow(&self) -> Option<String> {
        fs::read_to_string(self.directory.join("shallow")).ok()
    }

    fn packs(&self) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(self.objects().join("pack"))?.map(|entry| Ok(entry?.path())).collect()
    }
}

impl History {
    /// All histories, the last one first.
    pub(crate) fn stored(&self) -> Vec<StoredHistory> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut stored: Vec<StoredHistory> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let commit = name.split('-').next()?.to_owned();
                entry.file_type().ok().filter(fs::FileType::is_dir)?;
                let made = entry.metadata().and_then(|metadata| metadata.modified()).ok()?;
                Some(StoredHistory { directory: entry.path(), commit, made })
            })
            .collect();
        stored.sort_unstable_by_key(|stored| std::cmp::Reverse(stored.made));
        stored
    }

    /// Keeps the repository `git` as the history of a commit, together with the one that it continues.
    pub(crate) fn keep(
        &self,
        commit: &str,
        git: &Path,
        base: Option<&StoredHistory>,
        hidden: &HashSet<String>,
    ) -> io::Result<StoredHistory> {
        fs::create_dir_all(&self.directory)?;
        let packs = git.join("objects/pack");
        for pack in base.map(StoredHistory::packs).transpose()?.into_iter().flatten() {
            if let Some(name) = pack.file_name() {
                fs::hard_link(&pack, packs.join(name)).or_else(ignore_existing)?;
            }
        }
        // What it borrowed is there now.
        fs::write(git.join("objects/info/alternates"), "")?;
        let hidden: String = hidden.iter().map(|hash| format!("{hash}\n")).collect();
        fs::write(git.join(HIDDEN), hidden)?;
        let made = SystemTime::now();
        // Never in the place of another one, which may be in use.
        let since = made.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let directory = self.directory.join(format!("{commit}-{}-{}", since.as_millis(), std::process::id()));
        fs::rename(git, &directory)?;
        Ok(StoredHistory { directory, commit: commit.to_owned(), made })
    }

    /// Removes histories of at least this age, but not the last ones.
    pub(crate) fn remove_old(&self, age: Duration) {
        for StoredHistory { directory, made, .. } in self.stored().into_iter().skip(MAX_STORED) {
            if made.elapsed().is_ok_and(|since| since >= age) {
                // Ignored: leftovers do no harm.
                let _ = fs::remove_dir_all(directory);
            }
        }
    }
}

fn ignore_existing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}
