//! The objects that a commit reaches, and nothing else, in repositories of ours.
//!
//! A repository that agents can write may have anything in it: forged and dangling objects, wrong indexes, other commits. Git lists and
//! packs in one room, which reads that repository, and indexes the pack in another: there, the name of an object is the hash of its
//! content. SPEC.md and `.autonoe/`, which contain the expected results, are left out.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{ReadError, read_bytes_beneath};
use autonoe_git::{GitRoom, Skeleton, pipe};

use crate::commit_source::CommitSource;
use crate::deciding_files::{CommittedEntry, may_decide};
use crate::history::{History, StoredHistory};
use crate::no_commit::{NoCommit, QueryError};
use crate::runner_files::{has_directory, runner_files_of};

/// Lists what the commit `$3` of the repository `$1` reaches, in files of the directory `$2`. The other arguments are commits whose objects we
/// have: what the first of them that is an ancestor reaches is not listed. Prints the commit, that ancestor or `-`, and the hash format.
const LIST: &str = r#"cd "$1" && out=$2 && wanted=$3 || exit 3
shift 3
commit=$(git rev-parse --verify --quiet "$wanted^{commit}") || exit
base=
for known; do
    git merge-base --is-ancestor "$known" "$commit" 2> /dev/null && { base=$known; break; }
done
git rev-list --objects --missing=print "$commit" ${base:+"^$base"} > "$out/objects" &&
    git ls-tree -r --full-tree -z "$commit" > "$out/tree" &&
    git for-each-ref --merged="$commit" --format='%(objectname) %(objecttype) %(refname)' refs/tags > "$out/tags" || exit 5
shallow=$(git rev-parse --git-path shallow) && [ -f "$shallow" ] && cp "$shallow" "$out/shallow"
printf '%s\n' "$commit" "${base:--}"
git rev-parse --show-object-format"#;

/// Exit code of [`LIST`] for objects that cannot be read.
const UNREADABLE: i32 = 5;

/// Lists types and sizes of the objects in `$2`.
const DESCRIBE: &str = r#"cd "$1" && cut -d ' ' -f 1 "$2/wanted" |
    git cat-file --buffer --batch-check='%(objectname) %(objecttype) %(objectsize:disk)' > "$2/described""#;

/// Writes a pack of the objects in `$2`, if there are any.
const PACK: &str = r#"cd "$1" || exit 3
[ ! -s "$2/wanted" ] || git pack-objects --stdout --delta-base-offset --quiet < "$2/wanted""#;

/// Adds the pack on standard input, if `$3` is not 0, to the repository `$1`, and prints the tree of the commit `$2`.
const INDEX: &str = r#"export GIT_DIR="$1"
[ "$3" = 0 ] || git -c core.fsync=none index-pack --stdin > /dev/null || exit 10
git rev-parse --verify --quiet "$2^{tree}""#;

/// The file of an empty blob.
const EMPTY_BLOB: &[u8] =
    &[0x78, 0x9c, 0x4b, 0xca, 0xc9, 0x4f, 0x52, 0x30, 0x60, 0x00, 0x00, 0x09, 0xb0, 0x01, 0xf0];

/// A longer history is kept without the contents of old files.
const MAX_HISTORY: u64 = 256 << 20;

/// Fewer objects than these are not measured.
const MANY_OBJECTS: usize = 20_000;

/// From so many objects on, they are kept for the next time.
const WORTH_KEEPING: usize = 2_000;

/// Maximum size of a list, in bytes: about five million objects.
const MAX_LIST: u64 = 1 << 30;

/// A file of a commit, as git lists it.
struct CommittedFile {
    hash: String,
    is_link: bool,
    is_executable: bool,
    path: String,
}

/// A commit whose objects are in repositories of ours.
pub(crate) struct CommitObjects {
    pub(crate) commit: String,
    pub(crate) tree: String,
    format: String,
    /// Object directories, read-only for checks.
    pub(crate) objects: Vec<PathBuf>,
    /// The contents of `packed-refs`: tags.
    refs: String,
    shallow: Option<String>,
    /// Files that test runners read by themselves.
    pub(crate) runner_files: BTreeSet<String>,
    /// Files that may decide what checks run or show, by their paths from the project.
    pub(crate) deciding: BTreeMap<String, CommittedEntry>,
    /// All files, by their paths from the project.
    pub(crate) paths: BTreeSet<String>,
}

impl CommitObjects {
    /// Whether there is a file or directory of this path from the project.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path) || has_directory(&self.paths, path)
    }

    /// Makes `tree` a repository at this commit, without files.
    pub(crate) fn write_repository(&self, tree: &Path) -> io::Result<()> {
        let git = tree.join(".git");
        let skeleton = Skeleton {
            format: &self.format,
            branch: "none",
            borrowed: &self.objects,
            shallow: self.shallow.as_deref(),
            refs: &self.refs,
            ..Skeleton::default()
        };
        skeleton.write(&git)?;
        fs::write(git.join("HEAD"), format!("{}\n", self.commit))
    }
}

/// Brings commits from a source to repositories of ours.
pub(crate) struct Transfer<'a> {
    pub(crate) source: &'a CommitSource,
    /// May read the source.
    pub(crate) source_room: &'a GitRoom,
    /// May write `target`, and must never have run anything of the project's.
    pub(crate) own_room: &'a GitRoom,
    /// A new repository for objects that are not in the history.
    pub(crate) target: PathBuf,
    pub(crate) history: &'a History,
}

/// What [`LIST`] found.
struct Listed {
    commit: String,
    format: String,
    base: Option<StoredHistory>,
    /// Lines of objects, with their paths.
    wanted: Vec<String>,
    /// Objects that are left out because of their paths.
    hidden: HashSet<String>,
    /// Names of tags.
    tags: String,
    shallow: Option<String>,
}

struct ListedObject {
    hash: String,
    is_blob: bool,
    /// As it is stored.
    bytes: u64,
}

impl Transfer<'_> {
    /// Brings a commit, or the last one.
    pub(crate) async fn bring(&self, commit: Option<&str>) -> Result<CommitObjects, QueryError> {
        let wanted = commit.unwrap_or(self.source.head);
        let mut listed = self.list(wanted, self.history.stored()).await?;
        if listed.base.as_ref().is_some_and(|base| base.shallow() != listed.shallow) {
            listed = self.list(wanted, Vec::new()).await?;
        }
        let keeps = listed.base.is_none() || listed.wanted.len() >= WORTH_KEEPING;
        if listed.base.is_none() && listed.wanted.len() > MANY_OBJECTS {
            self.leave_out_old_files(&mut listed).await?;
        }
        let borrowed: Vec<PathBuf> = listed.base.iter().map(StoredHistory::objects).collect();
        let skeleton = Skeleton {
            format: &listed.format,
            is_bare: true,
            branch: "none",
            borrowed: &borrowed,
            shallow: listed.shallow.as_deref(),
            ..Skeleton::default()
        };
        skeleton.write(&self.target).map_err(|error| broken(&error))?;
        let tree = self.transfer(&listed).await?;
        let mut objects = vec![self.target.join("objects")];
        objects.extend(borrowed);
        if keeps {
            let stored =
                self.history.keep(&listed.commit, &self.target, listed.base.as_ref(), &listed.hidden);
            objects = vec![stored.map_err(|error| broken(&error))?.objects()];
        }
        // Apart, since git would not accept the real ones beside them.
        let empty = self.target.with_extension("empty");
        write_empty(&empty, &listed.hidden).map_err(|error| broken(&error))?;
        objects.push(empty);
        let (paths, links) = self.paths()?;
        let deciding = self.may_decide()?;
        Ok(CommitObjects {
            commit: listed.commit,
            tree,
            format: listed.format,
            objects,
            refs: listed.tags,
            shallow: listed.shallow,
            runner_files: runner_files_of(&paths, &links),
            deciding,
            paths,
        })
    }

    async fn list(&self, wanted: &str, known: Vec<StoredHistory>) -> Result<Listed, QueryError> {
        let (directory, out) = (self.source.directory.display().to_string(), self.out());
        let names = known.iter().map(StoredHistory::commit);
        let args = [directory.as_str(), &out, wanted].into_iter().chain(names);
        let found = self.source_room.run(LIST, args).await?;
        let mut lines = found.stdout.lines();
        let (commit, base, format) = match (found.code, lines.next(), lines.next(), lines.next()) {
            (0, Some(commit), Some(base), Some(format)) => (commit.to_owned(), base, format.to_owned()),
            (UNREADABLE, ..) => return Err(unreadable(&found.reason()).into()),
            (127, ..) => return Err(NoCommit::NoGit.into()),
            _ => return Err(NoCommit::NothingCommitted.into()),
        };
        let base = known.into_iter().find(|known| known.commit() == base);
        let hidden = base.as_ref().map(StoredHistory::hidden).transpose();
        let hidden = hidden.map_err(|error| broken(&error))?.unwrap_or_default();
        let mut listed =
            Listed { commit, format, base, wanted: Vec::new(), hidden, tags: String::new(), shallow: None };
        let objects = self.read("objects")?.unwrap_or_default();
        let objects = objects.lines().filter(|line| !line.starts_with('?')).map(str::to_owned);
        let is_hidden = |line: &String| line.split_once(' ').is_some_and(|(_, path)| self.is_hidden(path));
        let (hidden, wanted): (Vec<String>, Vec<String>) = objects.partition(is_hidden);
        listed.wanted = wanted;
        for ListedObject { hash, is_blob, .. } in self.describe(&hidden).await? {
            match is_blob {
                true => drop(listed.hidden.insert(hash)),
                // Git needs the directories.
                false => listed.wanted.push(hash),
            }
        }
        // The same content may be in another file, too.
        for CommittedFile { hash, path, .. } in self.tree()? {
            if !self.is_hidden(&path) && listed.hidden.remove(&hash) {
                listed.wanted.push(hash);
            }
        }
        for tag in self.read("tags")?.unwrap_or_default().lines() {
            let mut parts = tag.splitn(3, ' ');
            if let (Some(hash), Some(kind), Some(name)) = (parts.next(), parts.next(), parts.next()) {
                listed.tags.push_str(&format!("{hash} {name}\n"));
                listed.wanted.extend((kind == "tag").then(|| hash.to_owned()));
            }
        }
        listed.shallow = self.read("shallow")?;
        Ok(listed)
    }

    /// Keeps a long history without the contents that are not in the commit itself.
    async fn leave_out_old_files(&self, listed: &mut Listed) -> Result<(), Fault> {
        let objects = self.describe(&listed.wanted).await?;
        if objects.iter().map(|object| object.bytes).sum::<u64>() <= MAX_HISTORY {
            return Ok(());
        }
        let current: HashSet<String> = self.tree()?.into_iter().map(|file| file.hash).collect();
        let is_old = |object: &ListedObject| object.is_blob && !current.contains(&object.hash);
        let old: HashSet<String> = objects.into_iter().filter(is_old).map(|object| object.hash).collect();
        listed.wanted.retain(|line| !old.contains(line.split(' ').next().unwrap_or_default()));
        Ok(())
    }

    /// Types and sizes of objects.
    async fn describe(&self, objects: &[String]) -> Result<Vec<ListedObject>, Fault> {
        if objects.is_empty() {
            return Ok(Vec::new());
        }
        self.write_wanted(objects)?;
        let (directory, out) = (self.source.directory.display().to_string(), self.out());
        self.source_room.run(DESCRIBE, [directory.as_str(), &out]).await?;
        let described = self.read("described")?.unwrap_or_default();
        let rows = described.lines().filter_map(|line| {
            let (hash, rest) = line.split_once(' ')?;
            let (kind, bytes) = rest.split_once(' ')?;
            Some(ListedObject { hash: hash.to_owned(), is_blob: kind == "blob", bytes: bytes.parse().ok()? })
        });
        Ok(rows.collect())
    }

    /// Returns the tree of the commit.
    async fn transfer(&self, listed: &Listed) -> Result<String, Fault> {
        self.write_wanted(&listed.wanted)?;
        let (directory, out) = (self.source.directory.display().to_string(), self.out());
        let pack = self.source_room.script(PACK, [directory.as_str(), &out]).await?;
        let (target, count) = (self.target.display().to_string(), listed.wanted.len().to_string());
        let index = self.own_room.script(INDEX, [target.as_str(), &listed.commit, &count]).await?;
        let (packed, indexed) = pipe(pack, index).await?;
        match (packed.code, indexed.code) {
            (0, 0) => Ok(indexed.stdout.trim().to_owned()),
            (0, 10) => Err(unreadable(&indexed.reason())),
            (0, _) => Err(untrustworthy(&listed.commit)),
            _ => Err(unreadable(&packed.reason())),
        }
    }

    fn is_hidden(&self, path: &str) -> bool {
        let inside = path.strip_prefix(self.source.part.as_str());
        inside.is_some_and(|inside| inside == "SPEC.md" || inside.starts_with(".autonoe/"))
    }

    /// The paths of the commit's files, from the project, and those among them that are links.
    fn paths(&self) -> Result<(BTreeSet<String>, BTreeSet<String>), Fault> {
        let (mut paths, mut links) = (BTreeSet::new(), BTreeSet::new());
        for CommittedFile { is_link, path, .. } in self.tree()? {
            let path = from_project(&self.source.part, &path);
            if is_link {
                links.insert(path.clone());
            }
            paths.insert(path);
        }
        Ok((paths, links))
    }

    /// The files that may decide what checks run or show.
    fn may_decide(&self) -> Result<BTreeMap<String, CommittedEntry>, Fault> {
        let files = self.tree()?.into_iter().filter(|file| !self.is_hidden(&file.path));
        let entries = files.map(|CommittedFile { hash, is_link, is_executable, path }| {
            let from_project = from_project(&self.source.part, &path);
            (from_project, CommittedEntry { from_top: path, hash, is_link, is_executable })
        });
        Ok(entries.filter(|(path, entry)| may_decide(path, entry)).collect())
    }

    /// The files of the commit.
    fn tree(&self) -> Result<Vec<CommittedFile>, Fault> {
        let text = self.read("tree")?.unwrap_or_default();
        let entries = text.split_terminator('\0').filter_map(|entry| {
            let (description, path) = entry.split_once('\t')?;
            let mut words = description.split(' ');
            let mode = words.next();
            let (is_link, is_executable) = (mode == Some("120000"), mode == Some("100755"));
            let (hash, path) = (words.nth(1)?.to_owned(), path.to_owned());
            Some(CommittedFile { hash, is_link, is_executable, path })
        });
        Ok(entries.collect())
    }

    /// The directory for lists.
    fn out(&self) -> String {
        self.source_room.work().display().to_string()
    }

    fn read(&self, name: &str) -> Result<Option<String>, Fault> {
        match read_bytes_beneath(&self.source_room.work(), Path::new(name), MAX_LIST) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(broken(&error)),
        }
    }

    fn write_wanted(&self, wanted: &[String]) -> Result<(), Fault> {
        let text: String = wanted.iter().map(|line| format!("{line}\n")).collect();
        fs::write(self.source_room.work().join("wanted"), text).map_err(|error| broken(&error))
    }
}

/// A path of the repository as it is named in the project, which is the `part` of it: what is above begins with `../`.
pub(crate) fn from_project(part: &str, path: &str) -> String {
    let (mut inside, mut rest) = (part, path);
    while let (Some((directory, below)), Some((next, further))) =
        (inside.split_once('/'), rest.split_once('/'))
        && directory == next
    {
        (inside, rest) = (below, further);
    }
    "../".repeat(inside.matches('/').count()) + rest
}

/// Gives objects the content of an empty file, so that git works as if they were there.
fn write_empty(objects: &Path, hashes: &HashSet<String>) -> io::Result<()> {
    fs::create_dir_all(objects)?;
    for (directory, file) in hashes.iter().filter_map(|hash| hash.split_at_checked(2)) {
        fs::create_dir_all(objects.join(directory))?;
        fs::write(objects.join(directory).join(file), EMPTY_BLOB)?;
    }
    Ok(())
}

fn broken(error: &dyn std::fmt::Display) -> Fault {
    let message = format!("The objects of the commit cannot be brought to a checkout: {error}.");
    Fault::permanent(FaultLayer::System, "checkout", message)
}

fn unreadable(why: &str) -> Fault {
    let message = format!("The objects of the commit cannot be read: {why}.");
    Fault::permanent(FaultLayer::System, "checkout", message).hint("Check the repository with `git fsck`.")
}

/// Something that the commit needs is missing where every object is named by its own hash.
pub(crate) fn untrustworthy(commit: &str) -> Fault {
    let message = format!(
        "Commit {} is not trustworthy: an object is missing or not what its hash says.",
        &commit[..commit.len().min(10)]
    );
    Fault::permanent(FaultLayer::System, "checkout", message).hint("Check the repository with `git fsck`.")
}

#[cfg(test)]
mod tests {
    use super::from_project;

    #[test]
    fn paths_are_named_as_in_the_project() {
        for (part, path, named) in [
            ("", "a/b", "a/b"),
            ("a/", "a/b/c", "b/c"),
            ("a/", "x", "../x"),
            ("a/b/", "a/c/x", "../c/x"),
            ("a/b/", "b/x", "../../b/x"),
            ("a/b/", "a", "../../a"),
        ] {
            assert_eq!(from_project(part, path), named);
        }
    }
}
