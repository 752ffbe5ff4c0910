//! The hub: our bare repository of a project, in the state directory. Only our own process writes it.
//!
//! Its own objects come from workspaces, where agents can forge anything, so each of them is checked: a pack of what the branch
//! reaches is made in one room, indexed and checked in another, and only then moved into the hub.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::shown_name;
use autonoe_core::hub_refs;
use autonoe_files::{SETTINGS_LIMIT, WriteFailure, read_text, remove_tree, show_bytes};
use autonoe_git::{Finished, GitRoom, LockedDir, Skeleton, broken, is_hash, pipe, write_ref};
use autonoe_sandbox::{Repository, RoomConfig};

use crate::hub_layout::HubLayout;
use crate::object_files::{link_objects, pack_files};
use crate::project_revision::ProjectRevision;
use crate::reading_room::ReadingRoom;
use crate::workspace::Workspace;
use crate::workspace_head::head_commit;

/// Maximum size of what one fetch brings, in bytes.
const MAX_FETCH: u64 = 2 << 30;

/// Maximum size of the names of all files of a commit, in bytes: some millions of files.
const MAX_NAMES: u64 = 256 << 20;

/// Prints the commit that the repository `$1` is at.
const HEAD_COMMIT: &str = r#"git --git-dir="$1" rev-parse --verify --quiet 'HEAD^{commit}'"#;

/// Writes a pack of what `$2` reaches and the hub does not have. `$1` is a repository that borrows from the workspace and the hub;
/// the other arguments are the commits that the hub has.
const PACK: &str = r#"git_dir=$1; shift
export GIT_DIR="$git_dir"
{ echo "$1"; shift; for known; do echo "^$known"; done; } |
    git pack-objects --revs --stdout --delta-base-offset --quiet"#;

/// Indexes the pack on standard input in the repository `$1`, and checks that `$2` and everything that it reaches is there and
/// what its hash says. `$3` is the maximum size; the other arguments are the commits that the hub has. Exit 10 reports a bad pack, 11 a
/// missing object, 12 a commit whose files have names of more than `$4` bytes: a few objects can stand for any number of files.
const INDEX: &str = r#"export GIT_DIR="$1"; commit=$2; size=$3; names=$4; shift 4
git index-pack --stdin --strict --max-input-size="$size" > /dev/null || exit 10
wanted() { echo "$commit"; for known; do echo "^$known"; done; }
wanted "$@" | git rev-list --objects --stdin --quiet || exit 11
for new in "$commit" $(wanted "$@" | git rev-list --stdin --max-count=100); do
    [ "$(git ls-tree -r -z --name-only "$new" | head -c "$((names + 1))" | wc -c)" -le "$names" ] || exit 12
done"#;

/// Our bare repository of a project.
#[derive(Debug, Clone)]
pub struct Hub {
    /// The user's project, absolute and canonical.
    root: PathBuf,
    pub(crate) layout: HubLayout,
    /// Sandbox, environment and readable paths of the rooms for git.
    pub(crate) room_config: RoomConfig,
    pub users: UsersMachine,
    pub(crate) reading: ReadingRoom,
}

/// Where commits of an agent are until they are checked, and the room in which that happens.
struct Quarantine {
    room: GitRoom,
    directory: LockedDir,
}

/// What decides on the user's machine which files must not land by themselves.
#[derive(Debug, Clone, Default)]
pub struct UsersMachine {
    /// The user's environment.
    pub variables: Vec<(String, String)>,
    /// The home directory, which must not get into a workspace by accident either.
    pub home: Option<PathBuf>,
    pub search_path: Vec<PathBuf>,
    /// Settings of git beside the usual ones, which variables name.
    pub git_settings: Vec<PathBuf>,
    /// Values of variables that name a command, or a file that a shell runs.
    pub commands: Vec<String>,
    pub list_protected: Option<ListProtected>,
}

/// Lists those of some files by which checks judge now, or would judge if they were there, with absolute paths in the user's project.
#[derive(Clone)]
pub struct ListProtected(pub Arc<ListProtectedFn>);

type ListProtectedFn = dyn Fn(&[PathBuf]) -> Result<HashSet<PathBuf>, Fault> + Send + Sync;

impl fmt::Debug for ListProtected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ListProtected")
    }
}

impl Hub {
    pub fn new(root: PathBuf, layout: HubLayout, room_config: RoomConfig, users: UsersMachine) -> Self {
        Self { root, layout, room_config, users, reading: ReadingRoom::default() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.users.home.as_deref()
    }

    pub(crate) fn contains_home(&self, directory: &Path) -> bool {
        self.users.home.as_ref().is_some_and(|home| home.starts_with(directory))
    }

    pub(crate) fn repository(&self) -> Repository {
        Repository::around(&self.root)
    }

    pub(crate) fn room(
        &self,
        read: impl IntoIterator<Item = PathBuf>,
        write: impl IntoIterator<Item = PathBuf>,
    ) -> Result<GitRoom, Fault> {
        GitRoom::new(&self.room_config, &self.layout.scratch(), read, write)
            .map_err(|error| self.unwritable(&error))
    }

    /// Removes what killed processes have left, but no workspaces while others work here. Who begins to work first needs a turn, so none
    /// begins in between.
    pub async fn sweep_unless(&self, others_work: impl Fn() -> Result<bool, Fault>) -> Result<(), Fault> {
        LockedDir::sweep(&self.layout.scratch());
        let _turn = self.landing_turn().await?;
        if others_work()? {
            return Ok(());
        }
        let is_old = |path: &PathBuf| path.extension().is_some_and(|end| end == "old");
        let workspaces = fs::read_dir(self.layout.workspaces()).into_iter().flatten().flatten();
        for workspace in workspaces.map(|entry| entry.path()).filter(is_old) {
            // Ignored: leftovers do no harm.
            let _ = remove_tree(&workspace);
        }
        Ok(())
    }

    /// Reads the state of the user's repository and links its objects.
    pub async fn update(&self) -> Result<ProjectRevision, Fault> {
        let repository = self.repository();
        if repository.directories.is_empty() {
            return Err(
                self.refused("it is not in a git repository", "Run `git init` and commit what there is.")
            );
        }
        let top = repository.top(&self.root).to_owned();
        if top != self.root && self.contains_home(&top) {
            return Err(self.refused(
                &format!("its repository is {}, which contains your home directory", top.display()),
                "Run `git init` in the project and commit what there is.",
            ));
        }
        let objects = repository.object_directories().map_err(|error| {
            self.refused(
                &format!("the objects that its repository borrows cannot be read: {error}"),
                error.advice(),
            )
        })?;
        let base = self.layout.base_objects();
        let into = base.clone();
        let linking = tokio::task::spawn_blocking(move || link_objects(&objects, &into)).await;
        let linked = linking.map_err(|error| broken(&error))?.map_err(|error| self.unwritable(&error))?;
        let readable = [top, base.clone()].into_iter().chain(repository.directories.iter().cloned());
        let room = self.room(readable, [])?;
        let ignored = self.write_users_ignore_patterns(&room.work())?;
        let reading = ProjectRevision::read(&room, &self.root, &repository, &base, &ignored);
        let (revision, ()) = tokio::join!(reading, self.open_reading_room());
        room.close().await;
        let revision = revision?;
        if revision.has_submodules {
            return Err(self.refused("it has submodules", IN_PLACE));
        }
        if linked.is_partial {
            return Err(self.refused("it is a partial clone", "Get all objects with `git fetch --refetch`."));
        }
        let shallow = self.shallow(&repository)?;
        let skeleton = Skeleton {
            format: &revision.format,
            is_bare: true,
            branch: "none",
            borrowed: &[base],
            shallow: shallow.as_deref(),
            refs: &revision.packed_tags(),
            ..Skeleton::default()
        };
        let written = skeleton.write(&self.layout.git_dir()).and_then(|()| match &revision.commit {
            Some(commit) => write_ref(&self.layout.git_dir(), hub_refs::BASE, commit),
            None => Ok(()),
        });
        written.map_err(|error| self.unwritable(&error))?;
        Ok(revision)
    }

    /// The user's file `shallow`, if the repository was cloned without all of its history.
    pub(crate) fn shallow(&self, repository: &Repository) -> Result<Option<String>, Fault> {
        let Some(shared) = repository.directories.first() else {
            return Ok(None);
        };
        let file = shared.join("shallow");
        read_text(&file, SETTINGS_LIMIT).map_err(|error| {
            let message = format!("{} cannot be read: {error}.", file.display());
            Fault::permanent(FaultLayer::Config, "workspace", message).hint(error.advice())
        })
    }

    /// As [`Self::fetch`]. If there is nothing beyond the base and what was fetched before, git is not asked whether it can use the workspace.
    pub async fn fetch_new(&self, workspace: &Workspace) -> Result<String, Fault> {
        match head_commit(&workspace.tree()) {
            Some(commit) if self.known(workspace).contains(&commit) => {
                self.set_current(workspace, &commit)?;
                Ok(commit)
            }
            _ => self.fetch(workspace).await,
        }
    }

    /// Brings the commit that a workspace is at, and all that it reaches, into the hub. Returns the commit.
    pub async fn fetch(&self, workspace: &Workspace) -> Result<String, Fault> {
        if let Some(problem) = workspace.problem() {
            return Err(self.unusable(workspace, &problem));
        }
        let room = self.room(self.layout.readable().into_iter().chain([workspace.tree()]), [])?;
        let fetched = self.fetch_in(&room, workspace).await;
        room.close().await;
        fetched
    }

    /// Nothing of the agent's may have run in `room`: we write there from outside.
    async fn fetch_in(&self, room: &GitRoom, workspace: &Workspace) -> Result<String, Fault> {
        let quarantine = self.quarantine()?;
        let (head, ()) = tokio::join!(room.run(HEAD_COMMIT, [workspace.git_dir()]), quarantine.room.open());
        let head = head?;
        let commit = head.stdout.trim().to_owned();
        if head.code != 0 || !is_hash(&commit) {
            return Err(self.unusable(workspace, "its repository has no commit that HEAD names"));
        }
        self.fetch_through(quarantine, room, workspace, &commit).await?;
        Ok(commit)
    }

    /// Fetches a commit of the workspace's repository, also one that its HEAD does not have.
    pub(crate) async fn fetch_commit(
        &self,
        room: &GitRoom,
        workspace: &Workspace,
        commit: &str,
    ) -> Result<(), Fault> {
        self.fetch_through(self.quarantine()?, room, workspace, commit).await
    }

    async fn fetch_through(
        &self,
        quarantine: Quarantine,
        room: &GitRoom,
        workspace: &Workspace,
        commit: &str,
    ) -> Result<(), Fault> {
        let Quarantine { room: checking, directory } = quarantine;
        let known: Vec<String> = self.known(workspace);
        let fetched = match known.iter().any(|known| known == commit) {
            true => Ok(()),
            false => self.transfer([room, &checking], directory.path(), workspace, commit, &known).await,
        };
        checking.close().await;
        fetched?;
        self.set_current(workspace, commit)
    }

    fn quarantine(&self) -> Result<Quarantine, Fault> {
        let directory = LockedDir::new_in(&self.layout.scratch(), "fetch-");
        let directory = directory.map_err(|error| self.unwritable(&error))?;
        let room = self.room(self.layout.readable(), [directory.path().to_owned()])?;
        Ok(Quarantine { room, directory })
    }

    /// Makes a commit that the hub has the one of the workspace, which checks look at.
    pub(crate) fn set_current(&self, workspace: &Workspace, commit: &str) -> Result<(), Fault> {
        let branch = format!("refs/heads/{}", workspace.branch());
        let written = write_ref(&self.layout.git_dir(), &branch, commit);
        written.map_err(|error| self.unwritable(&error))?;
        // No check looks at the commits of other agents, which may work at the same time.
        if workspace.is_of_run() { self.show_checks(commit) } else { Ok(()) }
    }

    /// Makes a commit that the hub has the one that checks look at.
    pub(crate) fn show_checks(&self, commit: &str) -> Result<(), Fault> {
        let written = write_ref(&self.layout.git_dir(), hub_refs::CURRENT, commit);
        written.map_err(|error| self.unwritable(&error))
    }

    /// Packs a commit in one room, checks it in another, where `quarantine` becomes a repository, and keeps it.
    async fn transfer(
        &self,
        [packing, checking]: [&GitRoom; 2],
        quarantine: &Path,
        workspace: &Workspace,
        commit: &str,
        known: &[String],
    ) -> Result<(), Fault> {
        let borrower = packing.work().join("pack.git");
        let skeleton = Skeleton {
            format: workspace.format(),
            is_bare: true,
            branch: "none",
            borrowed: &[
                workspace.git_dir().join("objects"),
                self.layout.objects(),
                self.layout.base_objects(),
            ],
            ..Skeleton::default()
        };
        let written = skeleton.write(&borrower).and_then(|()| {
            let borrowed = [self.layout.objects(), self.layout.base_objects()];
            Skeleton { borrowed: &borrowed, ..skeleton }.write(quarantine)
        });
        written.map_err(|error| self.unwritable(&error))?;

        let known = || known.iter().map(String::as_str);
        let path = |path: &Path| path.display().to_string();
        let (borrower, own) = (path(&borrower), path(quarantine));
        let (size, names) = (MAX_FETCH.to_string(), MAX_NAMES.to_string());
        let pack = packing.script(PACK, [borrower.as_str(), commit].into_iter().chain(known())).await?;
        let index =
            checking.script(INDEX, [own.as_str(), commit, &size, &names].into_iter().chain(known())).await?;
        let (packed, indexed) = pipe(pack, index).await?;
        match indexed.code {
            0 => self.keep(quarantine).map_err(|error| self.unwritable(&error)),
            _ => Err(self
                .no_room(workspace, &indexed)
                .unwrap_or_else(|| self.unusable(workspace, &why_refused(&packed, &indexed)))),
        }
    }

    /// That the hub has no room for a pack, if that is why it could not be indexed. The work itself is as good as before, and stays.
    fn no_room(&self, workspace: &Workspace, indexed: &Finished) -> Option<Fault> {
        let is_full = ["No space left on device", "Disk quota exceeded", "Out of diskspace"]
            .iter()
            .any(|words| indexed.stderr.contains(words));
        let directory = self.layout.directory();
        let failure = match is_full {
            true => Some(WriteFailure::full(directory)),
            false => WriteFailure::of_space(directory, 1, 1),
        };
        let (WriteFailure { why, advice }, tree) = (failure?, workspace.tree());
        let message =
            format!("There is no room to fetch the work of the agent in {}: {why}.", tree.display());
        let hint = format!("{advice} The work stays there, and the next run takes it up.");
        Some(Fault::permanent(FaultLayer::System, "workspace", message).hint(hint))
    }

    /// Moves a checked pack into the hub.
    pub(crate) fn keep(&self, quarantine: &Path) -> io::Result<()> {
        let packs = self.layout.objects().join("pack");
        for file in pack_files(&quarantine.join("objects/pack"))? {
            let Some(name) = file.file_name() else { continue };
            File::open(&file)?.sync_all()?;
            fs::rename(&file, packs.join(name))?;
        }
        File::open(&packs)?.sync_all()
    }

    /// The commits that need not be transferred: the base of the workspace, and what was fetched from it before.
    fn known(&self, workspace: &Workspace) -> Vec<String> {
        workspace.base().map(str::to_owned).into_iter().chain(self.last_fetched(workspace)).collect()
    }

    /// Whether workers have finished something that the run's own workspace does not have.
    pub(crate) fn is_behind(&self, workspace: &Workspace) -> bool {
        let merged = self.commit_of(hub_refs::MERGED);
        merged.is_some() && merged == self.last_fetched(workspace) && head_commit(&workspace.tree()) != merged
    }

    /// From now on the run's own workspace goes on from where the workers were.
    pub(crate) fn forget_merged(&self) -> io::Result<()> {
        match fs::remove_file(self.layout.git_dir().join(hub_refs::MERGED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub(crate) fn commit_of(&self, reference: &str) -> Option<String> {
        let commit = read_text(&self.layout.git_dir().join(reference), SETTINGS_LIMIT).ok().flatten()?;
        Some(commit.trim().to_owned()).filter(|commit| is_hash(commit))
    }

    pub(crate) fn last_fetched(&self, workspace: &Workspace) -> Option<String> {
        self.commit_of(&format!("refs/heads/{}", workspace.branch()))
    }

    /// `room` must be able to read the hub.
    pub(crate) fn refused(&self, why: &str, advice: &str) -> Fault {
        let message = format!("No workspace can be made of {}: {why}.", self.root.display());
        Fault::permanent(FaultLayer::Config, "workspace", message).hint(advice)
    }

    pub(crate) fn unusable(&self, workspace: &Workspace, why: &str) -> Fault {
        let tree = workspace.tree().display().to_string();
        let why = why.replace(&format!("{tree}/"), "");
        let message = format!("The work of the agent in {tree} cannot be used: {why}.");
        Fault::transient(FaultLayer::System, UNUSABLE, message)
            .hint("Your project is unchanged. What was fetched before is kept.")
    }

    pub(crate) fn unwritable(&self, error: &io::Error) -> Fault {
        let WriteFailure { why, advice } = WriteFailure::of(self.layout.directory(), error);
        let message = format!("Cannot write {}: {why}.", self.layout.directory().display());
        Fault::permanent(FaultLayer::System, "workspace", message).hint(advice)
    }
}

/// Fault code of work that an agent has made unusable.
pub(crate) const UNUSABLE: &str = "workspace_unusable";

const IN_PLACE: &str = "Use `--in-place` to let agents work in your checkout.";

fn why_refused(packed: &Finished, indexed: &Finished) -> String {
    if indexed.stderr.contains("maximum allowed size") || indexed.stderr.contains("max-input-size") {
        return format!("it is larger than {}", show_bytes(MAX_FETCH));
    }
    // What does not pass is not packed to its end, and git is silent about that.
    let is_packed = packed.code == 0 || packed.stderr.trim().is_empty();
    if let Some(why) = malformed(&indexed.stderr).filter(|_| is_packed) {
        return why;
    }
    match (packed.code, indexed.code) {
        (0, 12) => format!("a commit has more files than {} of names can list", show_bytes(MAX_NAMES)),
        (0, 11) => format!("an object is missing or not what its hash says ({})", indexed.reason()),
        (0, _) => format!("an object is malformed ({})", indexed.reason()),
        _ if is_packed => format!("its objects cannot be read ({})", indexed.reason()),
        _ => format!("its objects cannot be read ({})", packed.reason()),
    }
}

/// What git says about an object that it does not accept, as `error: object <hash>: <kind>: <why>`. The kind is named after the file that the object
/// is, if it is one that git reads.
fn malformed(stderr: &str) -> Option<String> {
    let found = stderr.lines().find_map(|line| line.trim().strip_prefix("error: object "));
    let (object, rest) = found?.split_once(": ")?;
    let (kind, why) = rest.split_once(": ").unwrap_or((rest, rest));
    let why = shown_name(why);
    let file = ["gitmodules", "gitattributes"].into_iter().find(|file| kind.starts_with(file));
    Some(match file {
        Some(file) => format!("git does not accept its .{file}: {why}"),
        None => format!("git does not accept the object {}: {why}", shown_name(object)),
    })
}
