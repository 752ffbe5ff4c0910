//! Clean checkouts of the last commit: for every check a new one, with a room that nothing was ever in.
//!
//! Agents can write the project's repository, so none of its settings, hooks and filters are used, and no object that the commit does not
//! reach ([`crate::commit_objects`]). Git runs in rooms only. Where there is no repository, the files are copied, and that is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use autonoe_core::check::Check;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::list_names;
use autonoe_core::hub_refs;
use autonoe_core::redact::{Redactor, SecretValues};
use autonoe_files::{UntrustedDir, Visibility, WriteFailure, remove_tree};
use autonoe_git::{Finished, GitRoom};
use autonoe_sandbox::{
    Bounds, EgressRules, Repository, RepositoryProblem, RoomConfig, SandboxLayer, SessionSandbox,
};
use autonoe_store::InPlaceFiles;
use tempfile::TempDir;

use crate::blocking::blocking;
use crate::commit_objects::{CommitObjects, Transfer, from_project, untrustworthy};
use crate::commit_source::{CommitSource, HubObjects, blocked_git};
use crate::copied_tree::{CopiedTree, CopyError, IgnoreFiles, copy_tree, ignore_files};
use crate::deciding_files::{DecidingFile, changed_in_checkout, deciding_files};
use crate::history::History;
use crate::left_changed::CheckoutBefore;
use crate::namesakes::Namesakes;
use crate::new_settings::{remove_settings, set_settings};
use crate::no_commit::{NoCommit, QueryError};
use crate::oracles::{ChangedFiles, Protector};
use crate::runner_files::{built_files_in, decisive_files_in};
use crate::startup_places::{make_startup_places, startup_places};
use crate::test_files::TestPatterns;
use crate::uncommitted::uncommitted;
use crate::withheld::Withheld;

/// Checks out the commit `$2` in the repository `$1`, without the files that are left out of checkouts of the project `$3`.
const FILL: &str = r#"cd "$1" || exit
unset GIT_NO_REPLACE_OBJECTS
git read-tree "$2" &&
    git ls-files -z -- ":(top,literal)$3SPEC.md" ":(top,literal)$3.autonoe" | git update-index -z --skip-worktree --stdin &&
    git checkout-index --all --quiet"#;

/// The same in a repository that has an index already.
const FILL_AGAIN: &str = r#"cd "$1" || exit
unset GIT_NO_REPLACE_OBJECTS
git checkout-index --all --quiet"#;

/// Forgets the files that were removed from the working tree `$1`: `git ls-files` does not list them either.
const FORGET: &str = r#"cd "$1" && git ls-files -z --deleted | git update-index -z --force-remove --stdin"#;

/// Makes the directory `$1` a copy of `$2`.
const COPY: &str = r#"mkdir -p "$1" && cp -a --reflink=auto "$2/." "$1""#;

/// Settings of git for checks, which have a home of their own.
const GIT_SETTINGS: &str = "[user]\n\tname = Autonoe\n\temail = autonoe@localhost\n[safe]\n\tdirectory = *\n\
                            \tbareRepository = all\n[init]\n\tdefaultBranch = main\n";

/// Prints a branch of the repository `$1` that contains the commit `$2`.
const BRANCH: &str =
    r#"cd "$1" && git for-each-ref --count=1 --contains "$2" --format='%(refname)' refs/heads refs/remotes"#;

/// A file in the directory of histories.
const IGNORE_FILES: &str = "ignore-files.json";

/// Fault code of a commit whose files cannot be written.
pub(crate) const UNUSABLE_COMMIT: &str = "unusable_commit";

/// Fault code of files that commands have left and that cannot be copied.
pub(crate) const UNCOPIED_FILES: &str = "uncopied_files";

/// Fault code of a commit that is not in the repository.
pub const NO_COMMIT: &str = "no_commit";

/// Creates checkouts of a project.
#[derive(Debug, Clone)]
pub struct CheckoutFactory {
    pub root: PathBuf,
    /// A directory of ours, outside the project.
    pub scratch: PathBuf,
    /// A directory of ours for what is kept between checks.
    pub history: PathBuf,
    /// Sandbox, environment and readable paths. Its root and homes are not used.
    pub room_config: RoomConfig,
    /// Where the commits of agents are, if they work in a workspace.
    pub hub: Option<HubObjects>,
    /// The project's repository when the run began, which must still be there, unless agents work in a workspace.
    pub repository: Option<PathBuf>,
    /// Egress rules for checks that need the network; `None` if the user does not allow it.
    pub network: Option<Arc<EgressRules>>,
    /// Values that are not kept of what checks print.
    pub secrets: SecretValues,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// `None` where files were copied.
    pub commit: Option<String>,
    /// Hash of all files.
    pub tree: String,
    /// Uncommitted files, which were not checked.
    pub uncommitted: Vec<String>,
    /// Reason for copying files, if they were copied.
    pub copied: Option<NoCommit>,
    /// Files that cannot be read and so were not copied.
    pub left_out: Vec<String>,
}

impl Revision {
    /// For messages.
    pub fn describe(&self) -> String {
        match (&self.commit, self.copied) {
            (Some(commit), _) => format!("commit {}", &commit[..commit.len().min(10)]),
            (None, Some(why)) if self.left_out.is_empty() => format!("a copy of the files ({why})"),
            (None, Some(why)) => {
                let left_out = list_names(&self.left_out);
                format!("a copy of the files ({why}) without what cannot be read: {left_out}")
            }
            (None, None) => "a copy of the files".to_owned(),
        }
    }
}

/// A commit, ready to be checked out any number of times.
pub struct Checkout {
    pub revision: Revision,
    factory: CheckoutFactory,
    content: Content,
    /// The project within its repository, with a slash at the end; empty if it is the whole.
    pub(crate) part: String,
    /// Where git makes checkouts; nothing of the project ever runs in it.
    own_room: GitRoom,
    /// Files of the commit that are not checked out, or without what they say to test runners, from the project.
    pub(crate) without: Vec<String>,
    /// Manifests of Cargo that say about tests what these say.
    pub(crate) manifests: BTreeMap<String, String>,
    /// What is ready for the next check.
    pub(crate) prepared: tokio::sync::Mutex<Option<PreparedFiles>>,
    /// Protected files that the commit has changed, once a check was prepared.
    pub(crate) changed: OnceLock<ChangedFiles>,
    /// Links to directories that the commit has, or a command of a check has made, and where they lead.
    pub(crate) links: Mutex<BTreeMap<String, String>>,
    /// Files of the commit that decide what checks run or show, once it was checked out.
    deciding: OnceLock<BTreeMap<String, DecidingFile>>,
    /// The index of a clean checkout, once there was one.
    index: OnceLock<Vec<u8>>,
    /// Files that test runners read by themselves, and that commands of checks made.
    found_by_checks: Mutex<BTreeSet<String>>,
    /// Files of the commit that commands of checks would build with `make`.
    built: Mutex<BTreeSet<String>>,
    /// Files that decide what checks run and that commands of checks changed, each with a hash of what mattered in it then.
    changed_by_checks: Mutex<BTreeSet<(String, String)>>,
    // Last, so that rooms are closed before their directory is gone.
    directory: TempDir,
}

/// What is checked out.
enum Content {
    Commit(CommitObjects),
    /// Copied files, which are not changed.
    Files(PathBuf),
}

/// The files of a clean checkout. Removed when dropped.
pub struct CheckoutFiles {
    /// The project directory.
    pub root: PathBuf,
    /// What commands have made unreadable, and we have opened.
    withheld: Mutex<Withheld>,
    directory: TempDir,
}

/// The files of a checkout while a copy of them is in their place.
pub(crate) struct FilesAside {
    directory: PathBuf,
    withheld: Withheld,
}

/// A checkout in which commands have run that prepare checks.
pub(crate) struct PreparedFiles {
    pub(crate) commands: Vec<String>,
    /// Whose protected files are in it.
    pub(crate) protector: Protector,
    pub(crate) files: CheckoutFiles,
}

impl PreparedFiles {
    pub(crate) fn is_for(&self, check: &Check) -> bool {
        self.commands == check.setup && self.protector == Protector::of(check)
    }
}

impl Drop for CheckoutFiles {
    fn drop(&mut self) {
        // Ignored: leftovers are removed later.
        let _ = remove_tree(self.directory.path());
    }
}

impl CheckoutFiles {
    /// Opens what commands have made unreadable. Nothing runs here now.
    pub(crate) async fn open_withheld(&self) {
        let tree = self.directory.path().join("tree");
        let opened = blocking(move |_: &_| Withheld::open(&tree)).await;
        *self.withheld.lock().unwrap_or_else(PoisonError::into_inner) = opened;
    }

    /// Leaves it as commands left it, except for what judges, and for the directories above that.
    pub(crate) fn close_withheld(&self, judges: &[PathBuf]) {
        let tree = self.directory.path().join("tree");
        let is_kept =
            |path: &Path| judges.iter().any(|file| file.starts_with(path) || path.starts_with(file));
        self.withheld.lock().unwrap_or_else(PoisonError::into_inner).close(&tree, is_kept);
    }

    /// What is above everything that a check may write.
    #[cfg(target_os = "linux")]
    pub(crate) fn top(&self) -> &Path {
        self.directory.path()
    }
}

impl Checkout {
    /// Files that test runners read by themselves.
    pub(crate) fn runner_files(&self) -> BTreeSet<String> {
        match &self.content {
            Content::Commit(objects) => objects.runner_files.clone(),
            Content::Files(_) => BTreeSet::new(),
        }
    }

    /// Files of the commit that decide what checks run or show; none before it was checked out.
    pub(crate) fn deciding_files(&self) -> BTreeMap<String, DecidingFile> {
        self.deciding.get().cloned().unwrap_or_default()
    }

    /// Whether it is known which these are.
    pub(crate) fn is_looked_at(&self) -> bool {
        self.deciding.get().is_some()
    }

    /// Whether the commit has a file or directory of this path.
    pub(crate) fn has_entry(&self, path: &str) -> bool {
        match &self.content {
            Content::Commit(objects) => objects.has(path),
            Content::Files(files) => files.join(path).symlink_metadata().is_ok(),
        }
    }

    /// Files of the commit that test runners load because of the commands of checks.
    pub(crate) fn tests_of(&self, patterns: &TestPatterns) -> Vec<String> {
        match &self.content {
            Content::Commit(objects) if !patterns.is_empty() => {
                objects.paths.iter().filter(|path| patterns.is_match(path)).cloned().collect()
            }
            Content::Commit(_) | Content::Files(_) => Vec::new(),
        }
    }

    /// Files of the commit with the names of accepted ones elsewhere.
    pub(crate) fn namesakes(&self, names: &Namesakes) -> Vec<String> {
        match &self.content {
            Content::Commit(objects) => {
                objects.paths.iter().filter(|path| names.has(path)).cloned().collect()
            }
            Content::Files(_) => Vec::new(),
        }
    }

    /// Where the commit has what is at a path, which may go through a link; `None` if it is not there.
    pub(crate) fn committed_path(&self, path: String) -> Option<String> {
        if self.has_entry(&path) {
            return Some(path);
        }
        let deciding = self.deciding_files();
        deciding.get(&path).map(|file| from_project(&self.part, &file.from_top))
    }

    /// Files that test runners read by themselves and that commands of checks made, and what was in the way of what they had made.
    pub(crate) fn found_by_checks(&self) -> BTreeSet<String> {
        self.found_by_checks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Files of the commit that are in the place of what checks build with `make`.
    pub(crate) fn built(&self) -> BTreeSet<String> {
        self.built.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Files that decide what checks run and that commands of checks changed, with what stands for the change.
    pub(crate) fn changed_by_checks(&self) -> Vec<(String, String)> {
        let changed = self.changed_by_checks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let described = |(path, hash)| (format!("{path} (changed by a check's command to {hash})"), path);
        changed.into_iter().map(described).map(|(change, path)| (path, change)).collect()
    }

    /// Notes which such files are in a checkout in which a check has run.
    pub(crate) async fn note_decisive_files(&self, check: &Check, files: &CheckoutFiles) {
        let (root, check) = (files.root.clone(), check.clone());
        let (tree, deciding) = (files.directory.path().join("tree"), self.deciding_files());
        let (found, built, changed) = blocking(move |cancel: &_| {
            let found = decisive_files_in(&root, &check, cancel);
            (found, built_files_in(&root, &check, cancel), changed_in_checkout(&tree, &deciding))
        })
        .await;
        self.changed_by_checks.lock().unwrap_or_else(PoisonError::into_inner).extend(changed);
        let built = built.into_iter().filter(|path| self.has_entry(path));
        self.built.lock().unwrap_or_else(PoisonError::into_inner).extend(built);
        let committed = self.runner_files();
        let found = found.into_iter().filter(|path| !committed.contains(path));
        self.found_by_checks.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    }

    /// Makes a clean checkout.
    pub async fn files(&self) -> Result<CheckoutFiles, Fault> {
        let directory = self.factory.directory_in(self.directory.path());
        let directory = directory.map_err(|error| self.factory.io_fault(&error))?;
        let tree = directory.path().join("tree");
        let filled = match &self.content {
            Content::Commit(objects) => {
                objects.write_repository(&tree).map_err(|error| self.factory.io_fault(&error))?;
                self.fill(&tree, objects).await?
            }
            Content::Files(files) => self.own_room.run(COPY, [&tree, files]).await?,
        };
        if filled.code != 0 {
            return Err(match &self.content {
                Content::Commit(objects)
                    if ["unable to read", "cannot read"]
                        .iter()
                        .any(|words| filled.stderr.contains(words)) =>
                {
                    untrustworthy(&objects.commit)
                }
                _ => {
                    let message =
                        format!("{} cannot be checked out: {}.", self.revision.describe(), filled.reason());
                    // Otherwise it is due to what is committed, such as an impossible name.
                    let code = if is_disk_full(&filled.stderr) { "checkout" } else { UNUSABLE_COMMIT };
                    Fault::permanent(FaultLayer::System, code, message)
                }
            });
        }
        if let (Content::Commit(objects), None) = (&self.content, self.deciding.get()) {
            let (clean, entries) = (tree.clone(), objects.deciding.clone());
            let deciding = blocking(move |_: &_| deciding_files(&clean, &entries)).await;
            // Another one has found the same.
            let _ = self.deciding.set(deciding);
        }
        let root: PathBuf = tree.join(&self.part).components().collect();
        // The commit may not contain it.
        UntrustedDir::open(&tree)
            .and_then(|tree| tree.create(Path::new(&self.part), Visibility::Everyone))
            .map_err(|error| self.factory.io_fault(&error))?;
        for path in &self.without {
            remove_settings(&root.join(path)).map_err(|error| self.factory.io_fault(&error))?;
        }
        for (path, before) in &self.manifests {
            set_settings(&root.join(path), before).map_err(|error| self.factory.io_fault(&error))?;
        }
        if let (Content::Commit(_), false) = (&self.content, self.without.is_empty()) {
            self.own_room.run(FORGET, [&tree]).await?;
        }
        Ok(CheckoutFiles { root, withheld: Mutex::default(), directory })
    }

    /// Fills a repository that has no files yet. All have the same index, which is made once.
    async fn fill(&self, tree: &Path, objects: &CommitObjects) -> Result<Finished, Fault> {
        let (index, known) = (tree.join(".git/index"), self.index.get());
        if let Some(known) = known {
            fs::write(index, known).map_err(|error| self.factory.io_fault(&error))?;
            return self.own_room.run(FILL_AGAIN, [tree]).await;
        }
        let args = [tree.as_os_str(), objects.commit.as_ref(), self.part.as_ref()];
        let filled = self.own_room.run(FILL, args).await?;
        if let (0, Ok(made)) = (filled.code, fs::read(index)) {
            // Another one has made the same.
            let _ = self.index.set(made);
        }
        Ok(filled)
    }

    /// A room for a checkout, in which `read_only` cannot be changed. `None` if it needs a network that is not allowed.
    pub(crate) fn room(
        &self,
        files: &CheckoutFiles,
        network: bool,
        read_only: Vec<PathBuf>,
    ) -> Option<SessionSandbox> {
        let egress = match network {
            true => self.factory.network.clone()?,
            false => Arc::new(EgressRules {
                how_to_allow: "A check that needs the network must declare it, and you must allow it."
                    .to_owned(),
                ..EgressRules::default()
            }),
        };
        let mut room_config = self.factory.room_config.clone();
        room_config.bounds = self.factory.bounds(files.directory.path());
        if let Content::Commit(objects) = &self.content {
            room_config.bounds.read.extend(objects.objects.iter().cloned());
        }
        room_config.env.extend(PYTHON_ENV.map(|(name, value)| (name.to_owned(), value.to_owned())));
        if let Some(stream) = self.output_stream(files) {
            room_config.bounds.read.extend(stream.parent().map(Path::to_owned));
        }
        let places = startup_places(&files.directory.path().join("home"), self.factory.search_path());
        let read_only = read_only.into_iter().chain(places).collect();
        room_config.egress = egress;
        room_config.guarded = Arc::new(RwLock::new(read_only));
        Some(SessionSandbox::new(room_config))
    }

    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::default().sharing(&self.factory.secrets)
    }

    /// The named pipe to which a check prints; `None` where that would protect nothing.
    ///
    /// Any process of a room can open an ordinary pipe again by its place in `/proc`, take what the judge prints, and print something else.
    /// This one can only be written, and nobody in the room can change that, because it is opened where everything is read-only.
    pub(crate) fn output_stream(&self, files: &CheckoutFiles) -> Option<PathBuf> {
        let is_read_only = self.factory.room_config.sandbox.layer() == SandboxLayer::Bubblewrap;
        is_read_only.then(|| files.directory.path().join("output/stream"))
    }

    /// Leaves a copy of the files of a checkout in its place, with a new home: what a setup leaves at home could act on whatever judges its work.
    pub(crate) async fn set_aside(&self, files: &CheckoutFiles) -> Result<FilesAside, Fault> {
        let directory = files.directory.path();
        let aside = directory.with_extension("aside");
        let prepared = fs::rename(directory, &aside)
            .and_then(|()| fs::create_dir(directory))
            .and_then(|()| make_room_directories(directory, self.factory.search_path()));
        prepared.map_err(|error| self.factory.io_fault(&error))?;
        let copied = self.own_room.run(COPY, [directory.join("tree"), aside.join("tree")]).await?;
        match copied.code {
            0 => {
                let withheld = files.withheld.lock().unwrap_or_else(PoisonError::into_inner).clone();
                Ok(FilesAside { directory: aside, withheld })
            }
            _ => {
                // Ignored: leftovers are removed later.
                let _ = remove_tree(&aside);
                // Otherwise it is due to what commands have left there.
                let is_disk_full = is_disk_full(&copied.stderr);
                let code = if is_disk_full { "checkout" } else { UNCOPIED_FILES };
                let message = format!("A checkout cannot be copied: {}.", copied.reason());
                Err(Fault::permanent(FaultLayer::System, code, message))
            }
        }
    }

    /// Undoes [`Self::set_aside`].
    pub(crate) fn put_back(&self, aside: FilesAside, files: &CheckoutFiles) -> Result<(), Fault> {
        let directory = files.directory.path();
        let put_back = remove_tree(directory).and_then(|()| fs::rename(aside.directory, directory));
        *files.withheld.lock().unwrap_or_else(PoisonError::into_inner) = aside.withheld;
        put_back.map_err(|error| self.factory.io_fault(&error))
    }

    pub async fn close(self) {
        self.own_room.close().await;
    }
}

impl CheckoutFactory {
    /// Removes checkouts left by killed processes, if they are at least this old.
    pub fn remove_leftovers(&self, age: Duration) {
        let entries = fs::read_dir(&self.scratch).into_iter().flatten().flatten();
        for entry in entries {
            let touched = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            if touched.is_none_or(|at| at.elapsed().is_ok_and(|since| since >= age)) {
                // Ignored: leftovers do no harm.
                let _ = remove_tree(&entry.path());
            }
        }
        History { directory: self.history.clone() }.remove_old(age);
    }

    /// Remembers the ignore files of a project without a repository, before the first agent could write some. They decide what is copied.
    pub async fn remember_ignore_files(&self) -> Result<(), Fault> {
        let has_repository = !Repository::around(&self.root).directories.is_empty();
        if self.hub.is_some() || has_repository || self.remembered_ignore_files().is_some() {
            return Ok(());
        }
        let root = self.root.clone();
        let files = blocking(move |cancel| ignore_files(&root, cancel)).await;
        let text = serde_json::to_string(&files).unwrap_or_default();
        let written =
            fs::create_dir_all(&self.history).and_then(|()| fs::write(self.history.join(IGNORE_FILES), text));
        written.map_err(|error| self.io_fault(&error))
    }

    fn remembered_ignore_files(&self) -> Option<IgnoreFiles> {
        let text = fs::read_to_string(self.history.join(IGNORE_FILES)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Prepares checkouts of a commit, or the last one.
    pub async fn check_out(&self, commit: Option<&str>) -> Result<Checkout, Fault> {
        let source = self.source()?;
        let directory = self.directory().map_err(|error| self.io_fault(&error))?;
        // Nobody but us writes the hub, so one room is enough for what it has and for what becomes of it.
        let hub = source.iter().filter(|_| self.hub.is_some()).flat_map(|source| source.readable.clone());
        let own_room =
            self.git_room([self.history.clone()].into_iter().chain(hub), [directory.path().to_owned()])?;
        let brought = match &source {
            None => Err(NoCommit::NoRepository.into()),
            Some(source) => self.bring(source, &own_room, directory.path(), commit).await,
        };
        let (revision, content) = match brought {
            Ok((objects, uncommitted)) => {
                let (commit, tree) = (Some(objects.commit.clone()), objects.tree.clone());
                let (copied, left_out) = (None, Vec::new());
                (Revision { commit, tree, uncommitted, copied, left_out }, Content::Commit(objects))
            }
            Err(QueryError::Fault(fault)) => return Err(self.explain(fault)),
            Err(QueryError::NoCommit(_)) if commit.is_some() => {
                let message =
                    format!("Commit {} does not exist in this repository.", commit.unwrap_or_default());
                return Err(Fault::permanent(FaultLayer::Config, NO_COMMIT, message));
            }
            Err(QueryError::NoCommit(why)) => {
                let files = directory.path().join("files");
                let CopiedTree { hash: tree, left_out } = self.copy(&files, why).await?;
                let left_out = left_out.iter().map(|path| path.display().to_string()).collect();
                let (commit, uncommitted, copied) = (None, Vec::new(), Some(why));
                let revision = Revision { commit, tree, uncommitted, copied, left_out };
                (revision, Content::Files(files))
            }
        };
        let part = match (&content, source) {
            (Content::Commit(_), Some(source)) => source.part,
            _ => String::new(),
        };
        Ok(Checkout {
            revision,
            factory: self.clone(),
            content,
            part,
            own_room,
            without: Vec::new(),
            manifests: BTreeMap::new(),
            prepared: Default::default(),
            changed: OnceLock::new(),
            links: Mutex::default(),
            deciding: OnceLock::new(),
            index: OnceLock::new(),
            found_by_checks: Default::default(),
            built: Default::default(),
            changed_by_checks: Default::default(),
            directory,
        })
    }

    /// Prepares checkouts of what the user has given to the run, without anything that agents have done since.
    pub(crate) async fn check_out_users(&self) -> Result<Checkout, Fault> {
        self.check_out(self.hub.as_ref().map(|_| hub_refs::USERS)).await
    }

    /// Says that no branch of the project's repository contains a commit; `None` if one does, or without a commit.
    pub async fn why_unreachable(&self, commit: Option<&str>) -> Result<Option<String>, Fault> {
        let (Some(commit), Some(source)) = (commit, self.source()?) else {
            return Ok(None);
        };
        let room = self.git_room(source.readable.clone(), [])?;
        let found = room.run(BRANCH, [source.directory.as_os_str(), commit.as_ref()]).await;
        room.close().await;
        let is_reachable = !found?.stdout.trim().is_empty();
        Ok((!is_reachable).then(|| "its commit is on no branch: git may remove it".to_owned()))
    }

    /// Where commits come from; `None` without a repository.
    pub(crate) fn source(&self) -> Result<Option<CommitSource>, Fault> {
        let now = Repository::around(&self.root).directories.into_iter().next();
        if let Some(repository) = self.repository.as_ref().filter(|_| self.hub.is_none())
            && now.as_ref() != Some(repository)
        {
            let message =
                format!("The project's repository {} was removed, moved or replaced.", repository.display());
            return Err(Fault::permanent(FaultLayer::Config, "repository_gone", message)
                .hint("Restore it; without it there is nothing that checks could be run on."));
        }
        let Bounds { home, temp, write, .. } = &self.room_config.bounds;
        let temporary: Vec<&PathBuf> = [home, temp].into_iter().chain(write).collect();
        CommitSource::find(&self.root, self.hub.as_ref(), &temporary)
    }

    async fn bring(
        &self,
        source: &CommitSource,
        own_room: &GitRoom,
        directory: &Path,
        commit: Option<&str>,
    ) -> Result<(CommitObjects, Vec<String>), QueryError> {
        let agents = match self.hub {
            Some(_) => None,
            None => Some(self.git_room(source.readable.clone(), [])?),
        };
        let history = History { directory: self.history.clone() };
        let target = directory.join("objects.git");
        let source_room = agents.as_ref().unwrap_or(own_room);
        let transfer = Transfer { source, source_room, own_room, target, history: &history };
        let (brought, uncommitted) = tokio::join!(transfer.bring(commit), self.uncommitted());
        if let Some(room) = agents {
            room.close().await;
        }
        Ok((brought?, uncommitted?))
    }

    async fn uncommitted(&self) -> Result<Vec<String>, Fault> {
        let room = self.repository_room()?;
        let listed = uncommitted(&room, &self.root).await;
        room.close().await;
        listed
    }

    /// The user's checkout as it is now.
    pub(crate) async fn before(&self, known: Option<&InPlaceFiles>) -> Result<CheckoutBefore, Fault> {
        let room = self.repository_room()?;
        let before = CheckoutBefore::of(&room, &self.root, known).await;
        room.close().await;
        before
    }

    /// Files of the user's checkout that were changed since then, and not committed, with hashes.
    pub(crate) async fn left_changed(
        &self,
        before: &CheckoutBefore,
    ) -> Result<BTreeMap<String, String>, Fault> {
        let room = self.repository_room()?;
        let changed = before.left_changed(&room, &self.root).await;
        room.close().await;
        changed
    }

    /// The files, with hashes, that an earlier run has left in the user's checkout, at `root`, and that nobody has changed or committed since. If
    /// that run did not end by itself, all that the user had not changed before it.
    pub(crate) async fn still_left(
        &self,
        root: &Path,
        earlier: &InPlaceFiles,
    ) -> Result<BTreeMap<String, String>, Fault> {
        if earlier.left.as_ref().is_some_and(BTreeMap::is_empty) {
            return Ok(BTreeMap::new());
        }
        let users = Self { root: root.to_owned(), hub: None, ..self.clone() };
        let mut changed = users.before(None).await?.in_place().before;
        changed.retain(|file, hash| !earlier.is_users(file, hash));
        Ok(changed)
    }

    /// A room that can read the repository where agents work.
    fn repository_room(&self) -> Result<GitRoom, Fault> {
        let repository = Repository::around(&self.root);
        let top = repository.top(&self.root).to_owned();
        let hub = self.hub.iter().flat_map(|hub| [hub.git_dir.clone(), hub.base.clone()]);
        self.git_room([top].into_iter().chain(repository.directories).chain(hub), [])
    }

    /// `why`: the reason for copying.
    async fn copy(&self, to: &Path, why: NoCommit) -> Result<CopiedTree, Fault> {
        let (root, repository, to) = (self.root.clone(), Repository::around(&self.root), to.to_owned());
        let remembered = self.remembered_ignore_files();
        let copied = blocking(move |cancel| {
            fs::create_dir(&to).map_err(CopyError::Unwritable)?;
            let ignore = remembered.unwrap_or_else(|| ignore_files(&root, cancel));
            copy_tree(&root, &repository, &ignore, &to, cancel)
        });
        copied.await.map_err(|error| {
            let advice = match &error {
                CopyError::Unwritable(error) => return self.io_fault(error),
                CopyError::TooLarge { .. } | CopyError::TooMany | CopyError::Cancelled => {
                    "Commit the project to git, or list what checks do not need in .gitignore."
                }
                CopyError::Unreadable { error, .. } => error.advice(),
            };
            let message = format!("The project cannot be copied for its checks ({why}): {error}.");
            Fault::permanent(FaultLayer::Config, "checkout", message).hint(advice)
        })
    }

    pub(crate) fn git_room(
        &self,
        read: impl IntoIterator<Item = PathBuf>,
        write: impl IntoIterator<Item = PathBuf>,
    ) -> Result<GitRoom, Fault> {
        GitRoom::new(&self.room_config, &self.scratch, read, write).map_err(|error| self.io_fault(&error))
    }

    /// A directory for checkouts, removed when dropped.
    fn directory(&self) -> io::Result<TempDir> {
        fs::create_dir_all(&self.scratch)?;
        fs::create_dir_all(&self.history)?;
        spread(&self.scratch);
        tempfile::Builder::new().prefix("").tempdir_in(&self.scratch)
    }

    /// A directory for a room, removed when dropped.
    fn directory_in(&self, parent: &Path) -> io::Result<TempDir> {
        let directory = tempfile::Builder::new().prefix("").tempdir_in(parent)?;
        make_room_directories(directory.path(), self.search_path())?;
        Ok(directory)
    }

    /// What programs in a checkout may access. The project itself is not included.
    fn bounds(&self, directory: &Path) -> Bounds {
        let usual = &self.room_config.bounds;
        let mut bounds = Bounds::new(directory.join("tree"), directory.join("home"), directory.join("tmp"));
        let is_outside_project =
            |path: &&PathBuf| !path.starts_with(&self.root) && !self.root.starts_with(path);
        bounds.read = usual.read.iter().filter(is_outside_project).cloned().collect();
        bounds.hidden = usual.hidden.iter().filter(|path| bounds.has_read_only(path)).cloned().collect();
        bounds.limits = usual.limits;
        bounds
    }

    /// Names the file for which git waits, if that is why it did not finish.
    fn explain(&self, fault: Fault) -> Fault {
        match fault.code == autonoe_git::TIMED_OUT {
            true => RepositoryProblem::search(&self.root).map_or(fault, |problem| blocked_git(&problem)),
            false => fault,
        }
    }

    /// Where commands of checks are looked for.
    fn search_path(&self) -> &str {
        let path = self.room_config.env.iter().rfind(|(name, _)| name == "PATH");
        path.map_or("/usr/local/bin:/usr/bin:/bin", |(_, path)| path)
    }

    pub(crate) fn io_fault(&self, error: &io::Error) -> Fault {
        let WriteFailure { why, advice } = WriteFailure::of(&self.scratch, error);
        let message = format!("Cannot create a checkout in {}: {why}.", self.scratch.display());
        Fault::permanent(FaultLayer::System, "checkout", message).hint(advice)
    }
}

fn is_disk_full(errors: &str) -> bool {
    errors.contains("No space left") || errors.contains("quota")
}

/// Compiled files beside the sources, or where the tested program can write, could stand in for them; below this path there is nothing.
/// The user's packages would be in the home directory of the check, which is writable too.
const PYTHON_ENV: [(&str, &str); 3] = [
    ("PYTHONPYCACHEPREFIX", "/dev/null/pycache"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTHONNOUSERSITE", "1"),
];

/// What a room for a check needs: files, a home, a place for temporary files and one for the stream of its output.
fn make_room_directories(directory: &Path, search_path: &str) -> io::Result<()> {
    for name in ["tree", "home", "tmp", "output"] {
        fs::create_dir(directory.join(name))?;
    }
    make_startup_places(&directory.join("home"), search_path)?;
    fs::write(directory.join("home/.gitconfig"), GIT_SETTINGS)
}

/// Asks the file system to spread out what is created in a directory. Ext4 scans recently removed files
/// nearby before it creates another: without this, repeated checkouts take several times as long.
fn spread(directory: &Path) {
    #[cfg(target_os = "linux")]
    if let Ok(directory) = File::open(directory)
        && let Ok(flags) = rustix::fs::ioctl_getflags(&directory)
        && !flags.contains(rustix::fs::IFlags::TOPDIR)
    {
        // Other file systems do not support it, and nothing depends on it.
        let _ = rustix::fs::ioctl_setflags(&directory, flags | rustix::fs::IFlags::TOPDIR);
    }
}
