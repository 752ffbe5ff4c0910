//! The state of the user's repository from which a workspace is made.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_git::{Finished, GitRoom};
use autonoe_sandbox::Repository;

/// Exit code of [`FACTS`] if the last commit cannot be read.
const IS_INCOMPLETE: i32 = 5;

/// Prints what is needed about the repository around `$1`, a line each, then its tags. `-` stands for what it does not have. `$2` is an
/// object directory with all of its objects, since it may borrow some from places that are not in the room. The file `$3` has what the user's git
/// ignores beside what `.gitignore` files say.
const FACTS: &str = r#"cd "$1" || exit 3
export GIT_ALTERNATE_OBJECT_DIRECTORIES="$2"
if facts=$(git rev-parse --show-object-format 'HEAD^{commit}' 'HEAD^{tree}' 2> /dev/null); then
    format=${facts%%
*} head=${facts#*
}
else
    git rev-parse --git-dir > /dev/null || exit 4
    git rev-parse --verify --quiet HEAD > /dev/null && { git rev-parse --verify 'HEAD^{tree}' > /dev/null || exit 5; }
    format=$(git rev-parse --show-object-format) head='-
-'
fi
echo "$format"
git symbolic-ref --quiet HEAD || echo -
echo "$head"
git ls-files --stage | grep -c '^160000'
if [ "$(git rev-parse --show-prefix)" ] && [ -z "$(git ls-files | head -n 1)" ] && git -c core.excludesFile="$3" check-ignore --quiet .
then echo true; else echo false; fi
[ "${head%%-*}" ] && git for-each-ref --count=10000 --merged HEAD --format='%(objectname) %(refname)' refs/tags
exit 0"#;

/// Lists the tracked files that have changes, separated by NUL bytes, with two letters and a space before each name. Where `git status` cannot
/// read the repository's own patterns, which it needs for nothing here, the index is compared with the commit and with the files.
const CHANGED: &str = r#"export GIT_ALTERNATE_OBJECT_DIRECTORIES="$2" LC_ALL=C
cd "$1" || exit 3
git --no-optional-locks status --porcelain -z --no-renames --untracked-files=no 2> /dev/null && exit
git ls-files -s -z > "$3.entries" || exit
if git rev-parse --verify --quiet 'HEAD^{tree}' > /dev/null; then
    git ls-tree -r -z --format='%(objectmode) %(objectname) 0%x09%(path)' HEAD >> "$3.entries" || exit
fi
sort -z "$3.entries" | uniq -z -u | sed -z 's/^[^\t]*\t/M  /' || exit
git --no-optional-locks diff-files -z --name-only > "$3.changed" || exit
sed -z 's/^/ M /' "$3.changed""#;

/// Lists the files of the working tree `$1` that are neither tracked nor ignored, separated by NUL bytes. The file `$3` has what the user's git
/// ignores beside what `.gitignore` files say. `git status` would read the repository's own patterns too, which may be a link to a place that
/// the room does not have.
const UNTRACKED: &str = r#"export GIT_ALTERNATE_OBJECT_DIRECTORIES="$2"
cd "$1" && git ls-files -z --others --exclude-per-directory=.gitignore --exclude-from="$3""#;

/// The state of the user's repository from which a workspace is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRevision {
    /// The top of the working tree, which contains the project.
    pub top: PathBuf,
    /// The checked-out branch, such as `main`; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// `None` if nothing is committed yet.
    pub commit: Option<String>,
    pub tree: Option<String>,
    /// `sha1` or `sha256`.
    pub format: String,
    pub has_submodules: bool,
    /// Whether git ignores the project, and has no file of it.
    pub is_ignored: bool,
    /// The reachable tags, as a `packed-refs` file has them.
    pub tags: String,
    /// Files of the user that are not committed, relative to `top`.
    pub uncommitted: Vec<String>,
}

impl ProjectRevision {
    /// The same repository with another commit, which the hub has.
    pub(crate) fn at(&self, commit: &str) -> Self {
        Self { commit: Some(commit.to_owned()), tree: Some(commit.to_owned()), ..self.clone() }
    }

    /// The contents of a `packed-refs` file with the tags; empty if there are none.
    pub(crate) fn packed_tags(&self) -> String {
        match self.tags.as_str() {
            "" => String::new(),
            tags => format!("# pack-refs with: \n{tags}"),
        }
    }

    /// `room` must be able to read the repository and `objects`, which has all of its objects. `ignored` has what the user's git ignores
    /// beside what `.gitignore` files say.
    pub(crate) async fn read(
        room: &GitRoom,
        root: &Path,
        repository: &Repository,
        objects: &Path,
        ignored: &Path,
    ) -> Result<Self, Fault> {
        let top = repository.top(root);
        let args = [top, objects, ignored];
        let (facts, changed, untracked) = tokio::join!(
            room.run(FACTS, [root, objects, ignored]),
            room.run(CHANGED, args),
            room.run(UNTRACKED, args)
        );
        let (facts, changed, untracked) = (facts?, changed?, untracked?);
        if let Some(failed) = [&facts, &changed, &untracked].into_iter().find(|finished| finished.code != 0) {
            return Err(unreadable(root, failed));
        }
        let mut lines = facts.stdout.lines();
        let mut next = || lines.next().unwrap_or("-");
        let known = |line: &str| (line != "-").then(|| line.to_owned());
        let format = next().to_owned();
        let branch = known(next()).map(|name| name.trim_start_matches("refs/heads/").to_owned());
        let (commit, tree) = (known(next()), known(next()));
        let (has_submodules, is_ignored) = (next() != "0", next() == "true");
        let tags = lines.map(|line| format!("{line}\n")).collect();
        let changed = changed.stdout.split_terminator('\0').filter_map(|entry| entry.get(3..));
        let uncommitted = changed.chain(untracked.stdout.split_terminator('\0'));
        // A file that was removed from the index and is still there has two entries.
        let mut known = HashSet::new();
        let uncommitted = uncommitted.filter(|name| known.insert(*name));
        Ok(Self {
            top: top.to_owned(),
            branch,
            commit,
            tree,
            format,
            has_submodules,
            is_ignored,
            tags,
            uncommitted: uncommitted.map(str::to_owned).collect(),
        })
    }
}

fn unreadable(root: &Path, facts: &Finished) -> Fault {
    let (why, hint) = match facts.code {
        IS_INCOMPLETE => (
            "an object of the last commit is missing or damaged".to_owned(),
            "`git fsck --full` there names it; get it from another clone, such as with `git fetch --refetch`.",
        ),
        _ => (facts.reason(), "Run `git status` there."),
    };
    let message = format!("The repository of {} cannot be read: {why}.", root.display());
    Fault::permanent(FaultLayer::Config, "workspace", message).hint(hint)
}
