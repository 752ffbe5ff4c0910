//! Takes back a landing that failed or was killed half way. Before it began, every file that it changes was as the old commit has it, but
//! those that the user had staged as they are in the new one.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_git::Finished;

use crate::changed_file::ChangedFile;
use crate::landing::{CHANGED, LandingAttempt};
use crate::landing_record::LandingRecord;

/// Lists the files of the working tree that differ from the commit `$6`, also if a git that did so before was ended.
const DIFFERING: &str = r#"export GIT_INDEX_FILE="$2/compare"
rm -f "$2/compare.lock"
git read-tree "$6" && { git update-index -q --refresh > /dev/null; git diff-files -z --name-only; }"#;

/// Removes the file `$6` if it is no more than the beginning of the object `$7`.
const REMOVE_BEGINNING: &str = r#"[ -f "$6" ] && [ ! -h "$6" ] && [ -r "$6" ] || exit 0
here=$(git hash-object --no-filters -- "$6") || exit 0
[ "$(git cat-file --filters --path="$6" "$7" | head -c "$(wc -c < "$6")" | git hash-object --stdin)" != "$here" ] || rm -f -- "$6""#;

/// Lists the files of the commit `$6`.
const LIST: &str = r#"git --git-dir="$2" ls-tree -r -z --full-tree "$6""#;

/// Removes the files that the file `$6` lists, and directories that are then empty. Restores the files that `$7` lists to the commit `$8`,
/// unless a directory of the user's is in their place. Removes the entries in the index that `$9` lists, and restores those of `${10}`.
const TAKE_BACK: &str = r#"export GIT_LITERAL_PATHSPECS=1
xargs -0 rm -f -- < "$6"
xargs -0 sh -c 'for file; do case $file in */*) rmdir -p -- "${file%/*}" 2> /dev/null ;; esac; done' sh < "$6"
xargs -0 sh -c 'for file; do [ -d "$file" ] && [ ! -h "$file" ] || printf "%s\0" "$file"; done' sh < "$7" > "$2/restored"
restore() { file=$1 from=$2; shift 2; [ ! -s "$file" ] || git restore --source="$from" "$@" --pathspec-from-file="$file" --pathspec-file-nul; }
git update-index -z --force-remove --stdin < "$9" && restore "${10}" "$8" --staged && restore "$2/restored" "$8" --staged --worktree"#;

impl LandingAttempt<'_> {
    /// Takes back files that are as the new commit has them, the beginnings of such files, and puts back old ones that were removed. `head` is
    /// the user's commit now. What the user has committed or edited since stays. Returns the files that were taken back.
    pub(crate) async fn take_back(
        &self,
        record: &LandingRecord,
        head: Option<&str>,
    ) -> Result<Vec<String>, Fault> {
        let changed = self.run(CHANGED, &[]).await?;
        if changed.code != 0 {
            // The user has removed the commit from which it began.
            return Ok(Vec::new());
        }
        let same: HashSet<&String> = record.same.iter().collect();
        let changed = ChangedFile::parse(&changed.stdout).into_iter();
        let changed: Vec<_> = changed.filter(|file| !same.contains(&file.path)).collect();
        let differing = self.differing(&record.commit).await?;
        let touched = match &record.old {
            Some(old) => self.differing(old).await?,
            None => HashSet::new(),
        };
        let mut written = Vec::new();
        for file in &changed {
            let is_new = !file.is_deletion() && !differing.contains(&file.path);
            let is_old = !file.is_addition && !touched.contains(&file.path);
            if !file.is_deletion() && !is_new && !is_old && !self.is_missing(file) {
                let removed = self.run_in_tree(REMOVE_BEGINNING, &[&file.path, &file.hash]).await?;
                self.must_succeed(removed)?;
            }
            if is_new || self.is_missing(file) {
                written.push(file);
            }
        }
        let staged = self.staged(&changed).await?;
        let listed = match head {
            Some(head) => self.succeed(LIST, &[head]).await?,
            None => String::new(),
        };
        let has: HashMap<&str, (&str, &str)> =
            listed.split_terminator('\0').filter_map(listed_file).collect();
        // The user may have committed it since.
        written.retain(|file| {
            has.get(&*file.path) != Some(&(&*file.mode, &*file.hash)) || self.is_missing(file)
        });
        let written: Vec<&str> = written.iter().map(|file| &*file.path).collect();
        let (restored, removed): (Vec<_>, Vec<_>) =
            written.into_iter().partition(|path| has.contains_key(path));
        let of_landing: HashSet<&str> = restored.iter().chain(&removed).copied().collect();
        let restored: Vec<&str> =
            restored.into_iter().filter(|path| !self.is_below_file(path, &of_landing)).collect();
        let taken_back = restored.iter().chain(&removed).map(|path| (*path).to_owned()).collect();
        let entries = staged.iter().map(|path| &**path).chain(restored.iter().chain(&removed).copied());
        let (old_entries, new_entries): (Vec<_>, Vec<_>) = entries.partition(|path| has.contains_key(path));
        let list = |name: &str, paths: &[&str]| {
            self.list(name, &paths.iter().map(|path| format!("{path}\0")).collect::<String>())
        };
        let lists = [
            list("removed", &removed)?,
            list("restored", &restored)?,
            head.unwrap_or_default().to_owned(),
            list("new-entries", &new_entries)?,
            list("old-entries", &old_entries)?,
        ];
        let taken = self.run_in_tree(TAKE_BACK, &lists.each_ref().map(String::as_str)).await?;
        if let Some(head) = head.filter(|_| taken.code != 0) {
            self.check_restored(&restored, head, &taken).await?;
        }
        Ok(taken_back)
    }

    /// Whether a file or a link that the landing has not written is where a directory above a file was.
    fn is_below_file(&self, path: &str, of_landing: &HashSet<&str>) -> bool {
        let parents = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
        parents.filter(|parent| !parent.is_empty() && !of_landing.contains(parent)).any(|parent| {
            self.from.top.join(parent).symlink_metadata().is_ok_and(|metadata| !metadata.is_dir())
        })
    }

    /// Fails if one of the files is not as the user's commit has it. A directory of the user's may be in its place.
    async fn check_restored(&self, paths: &[&str], head: &str, taken: &Finished) -> Result<(), Fault> {
        let differing = self.differing(head).await?;
        let is_left = |path: &&&str| differing.contains(**path) && !self.from.top.join(path).is_dir();
        match paths.iter().find(is_left) {
            Some(path) => Err(self.hub.failed(&format!("{path} cannot be restored: {}", taken.reason()))),
            None => Ok(()),
        }
    }

    /// The files of the user's that are not as a commit has them.
    pub(crate) async fn differing(&self, commit: &str) -> Result<HashSet<String>, Fault> {
        let listed = self.must_succeed(self.run_in_tree(DIFFERING, &[commit]).await?)?;
        Ok(listed.split_terminator('\0').map(str::to_owned).collect())
    }
}

/// The path, the mode and the hash in an entry of `git ls-tree`.
fn listed_file(entry: &str) -> Option<(&str, (&str, &str))> {
    let (description, path) = entry.split_once('\t')?;
    let mut words = description.split(' ');
    Some((path, (words.next()?, words.nth(1)?)))
}
