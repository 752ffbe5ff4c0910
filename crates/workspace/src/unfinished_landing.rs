//! A landing during which the process was killed: some files of the user's checkout are new already, the others and the branch are not.
//!
//! The landing is on record before it begins. The next start finishes it: files that are as the new commit has them are entered in the
//! index, what git had only begun to write is removed, and then the landing is repeated.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use autonoe_core::fault::Fault;
use autonoe_files::{DOCUMENT_LIMIT, read_text};
use autonoe_sandbox::{GitLock, InUse, Repository};
use serde::{Deserialize, Serialize};

use crate::git_room::GitRoom;
use crate::hub::Hub;
use crate::project_revision::ProjectRevision;

/// Longer than a landing can take.
const LONGEST_LANDING: Duration = Duration::from_secs(600);

/// Lists the files in which `$5` differs from `$4`, then those of the working tree `$1` that differ from `$5`.
const COMPARE: &str = r#"cd "$1" || exit 3
export GIT_DIR="$2" GIT_WORK_TREE="$1" GIT_INDEX_FILE="$2/compare"
old=$4; [ "$old" ] || old=$(git hash-object -w -t tree /dev/null)
git diff-tree -r -z --no-renames --no-abbrev "$old" "$5" || exit
printf 'differing\0'
git read-tree "$5" && git update-index -q --refresh > /dev/null
git diff-files -z --name-only"#;

/// Enters the lines on standard input in the index `$3`.
const ENTER: &str = r#"cd "$1" || exit 3
export GIT_DIR="$2" GIT_WORK_TREE="$1" GIT_INDEX_FILE="$3"
git update-index -z --index-info < "$4""#;

/// Exits 0 if the file `$2` of the working tree `$1` is the beginning of the object `$4` in the repository `$3`.
const IS_BEGINNING: &str = r#"cd "$1" || exit 3
size=$(wc -c < "$2") || exit
[ "$(git --git-dir="$3" cat-file blob "$4" | head -c "$size" | git --git-dir="$3" hash-object --stdin)" = \
  "$(git --git-dir="$3" hash-object --no-filters "$2")" ]"#;

/// The record of a landing that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandingRecord {
    /// The user's branch.
    pub(crate) branch: String,
    pub(crate) commit: String,
    /// The commit before; `None` if there was none.
    pub(crate) old: Option<String>,
}

impl LandingRecord {
    pub(crate) fn new(branch: &str, commit: &str, from: &ProjectRevision) -> Self {
        Self { branch: branch.to_owned(), commit: commit.to_owned(), old: from.commit.clone() }
    }
}

impl Hub {
    fn record_file(&self) -> PathBuf {
        self.directory.join("landing.json")
    }

    pub(crate) fn record_landing(&self, record: &LandingRecord) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        serde_json::to_writer(&mut file, record)?;
        file.as_file().sync_all()?;
        file.persist(self.record_file()).map(drop).map_err(|error| error.error)
    }

    pub(crate) fn forget_landing(&self) {
        // Left behind, it only makes the next start look again.
        let _ = fs::remove_file(self.record_file());
    }

    /// The landing that a killed process has left unfinished.
    pub(crate) fn unfinished_landing(&self) -> Option<LandingRecord> {
        let text = read_text(&self.record_file(), DOCUMENT_LIMIT).ok()??;
        serde_json::from_str(&text).ok()
    }

    /// Removes the locks that a killed landing has left, if no process needs them.
    pub(crate) fn remove_locks_of_landing(&self, record: &LandingRecord, repository: &Repository) {
        let Ok(begun) = self.record_file().metadata().and_then(|metadata| metadata.modified()) else {
            return;
        };
        let names =
            ["index.lock".to_owned(), "HEAD.lock".to_owned(), format!("refs/heads/{}.lock", record.branch)];
        let paths =
            repository.directories.iter().flat_map(|directory| names.iter().map(|name| directory.join(name)));
        for lock in paths.filter_map(|path| GitLock::at(&path)) {
            let is_ours = lock.is_ours_between(begun, begun + LONGEST_LANDING);
            if is_ours && lock.in_use(self.root(), repository) == InUse::No {
                // If it stays, git names it.
                let _ = lock.remove();
            }
        }
    }

    /// Enters the files that are as the new commit has them in the index. What git has only begun to write is removed if the process was
    /// killed meanwhile. `git` is a repository of ours that has all objects.
    pub(crate) async fn adopt_landed_files(
        &self,
        room: &GitRoom,
        record: &LandingRecord,
        top: &Path,
        git: &Path,
        index: &Path,
        was_killed: bool,
    ) -> Result<(), Fault> {
        let old = record.old.as_deref().unwrap_or_default();
        let [top_text, git_text, index_text] = [top, git, index].map(|path| path.display().to_string());
        let args = [top_text.as_str(), &git_text, &index_text, old, &record.commit];
        let compared = room.run(COMPARE, args).await?;
        if compared.code != 0 {
            return Err(self.failed(&compared.reason()));
        }
        let (changes, differing) = compared.stdout.split_once("differing\0").unwrap_or_default();
        let differing: HashSet<&str> = differing.split_terminator('\0').collect();
        let mut entries = String::new();
        for change in Change::parse(changes) {
            let is_missing = top.join(change.path).symlink_metadata().is_err();
            if change.is_deletion() {
                if is_missing {
                    entries.push_str(&format!("0 {}\t{}\0", change.hash, change.path));
                }
            } else if !differing.contains(change.path) {
                entries.push_str(&format!("{} {}\t{}\0", change.mode, change.hash, change.path));
            } else if was_killed && !is_missing {
                let args = [top_text.as_str(), change.path, &git_text, change.hash];
                if room.run(IS_BEGINNING, args).await?.code == 0 {
                    fs::remove_file(top.join(change.path))
                        .map_err(|error| self.failed(&error.to_string()))?;
                }
            }
        }
        let list = room.work().join("entries");
        fs::write(&list, entries).map_err(|error| self.unwritable(&error))?;
        let list = list.display().to_string();
        let entered = room.run(ENTER, [top_text.as_str(), &git_text, &index_text, &list]).await?;
        match entered.code {
            0 => Ok(()),
            _ => Err(self.failed(&entered.reason())),
        }
    }
}

/// A changed file, as `git diff-tree` prints it.
struct Change<'a> {
    /// The new mode and hash, all zeros for a deletion.
    mode: &'a str,
    hash: &'a str,
    path: &'a str,
}

impl<'a> Change<'a> {
    fn parse(text: &'a str) -> impl Iterator<Item = Self> {
        let mut fields = text.split_terminator('\0');
        std::iter::from_fn(move || {
            let mut words = fields.next()?.split(' ');
            let (_, mode, _, hash) = (words.next()?, words.next()?, words.next()?, words.next()?);
            Some(Change { mode, hash, path: fields.next()? })
        })
    }

    fn is_deletion(&self) -> bool {
        self.mode == "000000"
    }
}
