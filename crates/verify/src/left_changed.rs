//! Files of the user's checkout of which the last commit has another version.
//!
//! An agent that works in place can change git's settings and attributes, and with them what git calls changed. So a repository of our own with
//! the settings that the user had before is asked, and a file counts as unchanged only if its bytes are those of the commit, or those that a
//! checkout of the commit would give.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{DOCUMENT_LIMIT, read_bytes};
use autonoe_git::{GitRoom, Skeleton};
use autonoe_sandbox::Repository;
use autonoe_store::{InPlaceFiles, sha256_hex};

use crate::head::last_commit;

/// Prints the settings of the repository around `$1` that decide which files count as changed.
const SETTINGS: &str = r#"exec 2> /dev/null
cd "$1" && git config --local --get-regexp '^core\.(filemode|symlinks|ignorecase|autocrlf|eol|precomposeunicode)$'"#;

/// Compares the working tree `$2` with the last commit of the repository `$1`, which is ours. The other arguments are settings.
/// `$1/changed` gets the files that git calls changed, `$1/files` all of them.
const COMPARE: &str = r#"exec 2> /dev/null
export GIT_DIR="$1" GIT_WORK_TREE="$2" GIT_INDEX_FILE="$1/index"
cd "$2" || exit
shift 2
git "$@" read-tree HEAD || exit
git "$@" update-index -q --really-refresh > "$GIT_DIR/unmerged"
git "$@" diff-files --name-only --ignore-submodules > "$GIT_DIR/changed" || exit
exec git "$@" ls-files --stage > "$GIT_DIR/files""#;

/// Prints the hashes of the files in `$1/unchanged`, of the working tree `$2`, as they are.
const HASHES: &str = r#"exec 2> /dev/null
export GIT_DIR="$1"
cd "$2" || exit
exec git hash-object --no-filters --stdin-paths < "$GIT_DIR/unchanged""#;

/// Prints the hashes that the files in `$1/converted` would have in a checkout. No file of the working tree has a say in it.
const CHECKED_OUT: &str = r#"exec 2> /dev/null
export GIT_DIR="$1" GIT_WORK_TREE="$1/nothing" GIT_INDEX_FILE="$1/index"
mkdir -p "$GIT_WORK_TREE" && cd "$GIT_WORK_TREE" || exit
shift
git "$@" checkout-index --quiet --force --prefix="$GIT_DIR/out/" --stdin < "$GIT_DIR/converted"
cd "$GIT_DIR/out" && exec git hash-object --no-filters --stdin-paths < "$GIT_DIR/converted""#;

/// The most files with other bytes than the commit that are compared with a checkout. The others count as changed.
const MAX_CONVERTED: usize = 1_000;

/// The user's checkout when a run began.
#[derive(Debug, Clone, Default)]
pub struct CheckoutBefore {
    /// Arguments of git.
    settings: Vec<String>,
    has_commit: bool,
    /// Files with changes of the user's, with hashes.
    users: BTreeMap<String, String>,
}

impl CheckoutBefore {
    /// `room` can read the repository around `root`. What agents of an earlier run have left there, `known`, is not the user's.
    pub(crate) async fn of(room: &GitRoom, root: &Path, known: Option<&InPlaceFiles>) -> Result<Self, Fault> {
        let listed = room.run(SETTINGS, [root]).await?;
        let setting = |line: &str| line.split_once(' ').map(|(name, value)| format!("{name}={value}"));
        let settings = listed.stdout.lines().filter_map(setting);
        let settings = settings.flat_map(|setting| ["-c".to_owned(), setting]).collect();
        let mut before = Self { settings, has_commit: last_commit(root).is_some(), users: BTreeMap::new() };
        let changed = hashed(root, before.compare(room, root).await?);
        let is_users = |(file, hash): &(String, String)| known.is_none_or(|known| known.is_users(file, hash));
        before.users = changed.into_iter().filter(is_users).collect();
        Ok(before)
    }

    /// To be remembered until the run ends by itself.
    pub(crate) fn in_place(&self) -> InPlaceFiles {
        InPlaceFiles { before: self.users.clone(), left: None }
    }

    /// Files that were changed since, and not committed, with hashes. Without Autonoe's own.
    pub(crate) async fn left_changed(
        &self,
        room: &GitRoom,
        root: &Path,
    ) -> Result<BTreeMap<String, String>, Fault> {
        let mut now = hashed(root, self.compare(room, root).await?);
        // What the user had changed may have been changed again.
        now.retain(|file, hash| self.users.get(file) != Some(hash));
        Ok(now)
    }

    async fn compare(&self, room: &GitRoom, root: &Path) -> Result<BTreeSet<String>, Fault> {
        let unknown = || BTreeSet::from(["all files, since git cannot compare them".to_owned()]);
        let Some(commit) = last_commit(root) else {
            return Ok(if self.has_commit { unknown() } else { BTreeSet::new() });
        };
        let (repository, git) = (Repository::around(root), room.work().join("compared"));
        let objects = repository.object_directories().map_err(|error| fault(&error))?;
        let skeleton = Skeleton {
            format: if commit.len() == 64 { "sha256" } else { "sha1" },
            branch: "compared",
            commit: Some(&commit),
            borrowed: &objects,
            ..Skeleton::default()
        };
        skeleton.write(&git).map_err(|error| fault(&error))?;
        let top = repository.top(root);
        let arguments = [git.as_os_str(), top.as_os_str()];
        let settings = || self.settings.iter().map(AsRef::as_ref);
        if room.run(COMPARE, arguments.into_iter().chain(settings())).await?.code != 0 {
            return Ok(unknown());
        }
        let list = |name: &str| fs::read_to_string(git.join(name)).map_err(|error| fault(&error));
        let mut changed: BTreeSet<String> = list("changed")?.lines().map(str::to_owned).collect();
        let files = list("files")?;
        let unchanged: Vec<(&str, &str)> =
            files.lines().filter_map(regular_file).filter(|(path, _)| !changed.contains(*path)).collect();
        let write = |name: &str, paths: &[&str]| {
            fs::write(git.join(name), paths.iter().map(|path| format!("{path}\n")).collect::<String>())
                .map_err(|error| fault(&error))
        };
        write("unchanged", &unchanged.iter().map(|(path, _)| *path).collect::<Vec<_>>())?;
        let hashed = room.run(HASHES, arguments).await?;
        let mut hashes = hashed.stdout.lines();
        // A file that cannot be hashed has none, and neither have those behind it.
        let now: HashMap<&str, &str> =
            unchanged.iter().map(|(path, _)| (*path, hashes.next().unwrap_or_default())).collect();
        let converted: Vec<&str> =
            unchanged.iter().filter(|(path, hash)| now[path] != *hash).map(|(path, _)| *path).collect();
        let compared = &converted[..converted.len().min(MAX_CONVERTED)];
        write("converted", compared)?;
        let mut expected = String::new();
        if !compared.is_empty() {
            expected = room.run(CHECKED_OUT, [git.as_os_str()].into_iter().chain(settings())).await?.stdout;
        }
        let mut expected = expected.lines();
        let is_changed = |path: &&&str| expected.next().is_none_or(|hash| hash != now[**path]);
        changed.extend(converted.iter().filter(is_changed).map(|path| (*path).to_owned()));
        let is_own = |name: &String| {
            name.split('/').any(|part| part == ".autonoe") || name.ends_with(".autonoe-note.md")
        };
        changed.retain(|name| !is_own(name));
        Ok(changed)
    }
}

/// Files of the repository around `root`, with hashes of their content.
fn hashed(root: &Path, files: BTreeSet<String>) -> BTreeMap<String, String> {
    let repository = Repository::around(root);
    let top = repository.top(root).to_owned();
    let hash = |file: &str| match read_bytes(&top.join(file), DOCUMENT_LIMIT) {
        Ok(content) => sha256_hex(&content.unwrap_or_default()),
        Err(error) => error.to_string(),
    };
    files.into_iter().map(|file| (file.clone(), hash(&file))).collect()
}

/// The path and the hash in a line of `git ls-files --stage`; `None` for links and repositories.
fn regular_file(line: &str) -> Option<(&str, &str)> {
    let (entry, path) = line.split_once('\t')?;
    let mut words = entry.split(' ');
    let is_file = words.next()?.starts_with("100");
    is_file.then_some((path, words.next()?))
}

fn fault(error: &dyn std::fmt::Display) -> Fault {
    let message = format!("The files of your checkout cannot be compared with its last commit: {error}.");
    Fault::transient(FaultLayer::System, "checkout", message)
}
