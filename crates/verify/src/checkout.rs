//! A clean checkout of what is committed, with a room around it that no agent was ever in.
//!
//! The project's repository is written by agents, so none of its settings, hooks and filters are used: the checkout is a
//! repository of its own that borrows the project's objects. Those are written by agents too, so what was checked out is hashed
//! again. Git runs in rooms only. Where there is no repository, the files are copied, and that is said.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};
use autonoe_sandbox::{Bounds, DoorRules, Launch, Premises, Quarters, Repository};
use autonoe_store::sha256_hex;
use ignore::WalkBuilder;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::oracles::directory_within;

/// How long git may take.
const GIT_LIMIT: Duration = Duration::from_secs(120);

/// How much git may say, and how many files it names that are not committed.
const MAX_SAID: u64 = 256 * 1024;
const MAX_NAMED: usize = 20;

/// How much is copied where there is no repository.
const MAX_COPIED_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Git as it comes, without anybody's settings.
const PLAIN_GIT: [(&str, &str); 16] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_CONFIG_COUNT", "5"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_VALUE_0", "*"),
    ("GIT_CONFIG_KEY_1", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_1", "false"),
    // What is checked out is thrown away.
    ("GIT_CONFIG_KEY_2", "core.fsync"),
    ("GIT_CONFIG_VALUE_2", "none"),
    ("GIT_CONFIG_KEY_3", "checkout.workers"),
    ("GIT_CONFIG_VALUE_3", "0"),
    ("GIT_CONFIG_KEY_4", "core.warnAmbiguousRefs"),
    ("GIT_CONFIG_VALUE_4", "false"),
];

/// Asks for a commit, its tree, the kind of its hashes and where objects are, then for what is not committed.
const ASK: &str = r#"exec 2>/dev/null
cd "$1" && commit=$(git rev-parse --verify --quiet "$2^{commit}") && echo "$commit" &&
git rev-parse --verify --quiet "$commit^{tree}" && git rev-parse --show-object-format &&
git rev-parse --git-path objects && git status --porcelain | head -n 50"#;

/// Checks out the tree `$1`. Git does not look whether an object is what its name says, so everything is hashed once more: the
/// directories from their entries, the files as they lie there, and those that git changes on the way by what they are made of.
const FILL: &str = r#"set -e
git ls-tree -rz --full-tree "$1" | git update-index -z --index-info
[ "$(git write-tree)" = "$1" ] || { echo "its directories are not what their hashes say"; exit 1; }
git checkout-index --all --quiet
git update-index --refresh --ignore-submodules -q > /dev/null || {
    git diff-files --ignore-submodules | sed 's/^:[0-7]* [0-7]* \([0-9a-f]*\) .*/\1^{blob}/' |
        xargs -r git rev-parse > /dev/null 2>&1 || { echo "its files are not what their hashes say"; exit 1; }
}"#;

/// Where checkouts are made, and of what.
#[derive(Debug, Clone)]
pub struct Site {
    /// The project's directory.
    pub root: PathBuf,
    /// A directory of ours, outside the project.
    pub scratch: PathBuf,
    /// The sandbox, the environment, and what may be read beside the checkout. Its root and its homes are not used.
    pub premises: Premises,
    /// What may pass the door for checks that need the network, if the user allows that at all.
    pub network: Option<Arc<DoorRules>>,
}

/// What was checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The commit; none where files were copied.
    pub commit: Option<String>,
    /// The hash of all its files.
    pub tree: String,
    /// What is not committed, and was not looked at.
    pub uncommitted: Vec<String>,
    /// Why files were copied, if they were.
    pub copied: Option<&'static str>,
}

impl Revision {
    /// What it is, in words.
    pub fn shown(&self) -> String {
        match (&self.commit, self.copied) {
            (Some(commit), _) => format!("commit {}", &commit[..commit.len().min(10)]),
            (None, Some(why)) => format!("a copy of the files ({why})"),
            (None, None) => "a copy of the files".to_owned(),
        }
    }
}

/// A clean checkout. It is gone when this is dropped.
pub struct Checkout {
    /// What it is of.
    pub revision: Revision,
    /// Its project directory.
    pub root: PathBuf,
    quiet: Quarters,
    connected: Option<Quarters>,
    // Last, so that the rooms are closed before their directory is gone.
    _directory: TempDir,
}

impl Checkout {
    /// Where a check runs; none if it needs a network that it is not given.
    pub fn quarters(&self, network: bool) -> Option<&Quarters> {
        if network { self.connected.as_ref() } else { Some(&self.quiet) }
    }

    /// Ends everything in it.
    pub async fn close(self) {
        self.quiet.close().await;
        if let Some(connected) = &self.connected {
            connected.close().await;
        }
    }
}

impl Site {
    /// Checks out a commit, or what is committed last.
    pub async fn check_out(&self, commit: Option<&str>) -> Result<Checkout, Fault> {
        fs::create_dir_all(&self.scratch).map_err(|error| self.io_fault(&error))?;
        let repository = Repository::around(&self.root);
        let asked = match repository.directories.is_empty() {
            true => Err("there is no git repository"),
            false => self.ask(&repository, commit.unwrap_or("HEAD")).await?,
        };
        let directory = self.directory().map_err(|error| self.io_fault(&error))?;
        let tree = directory.path().join("tree");
        let (revision, objects) = match asked {
            Ok(Asked { revision, objects, format }) => {
                borrow(&tree, &revision, &objects, &format).map_err(|error| self.io_fault(&error))?;
                (revision, Some(objects))
            }
            Err(_) if commit.is_some() => {
                let message =
                    format!("There is no commit {} in this repository.", commit.unwrap_or_default());
                return Err(Fault::lasting(Layer::Config, "no_commit", message));
            }
            Err(why) => {
                let hash = copy(&self.root, &tree).map_err(|error| self.io_fault(&error))?;
                let revision =
                    Revision { commit: None, tree: hash, uncommitted: Vec::new(), copied: Some(why) };
                (revision, None)
            }
        };

        let quiet = self.quarters(
            directory.path(),
            objects.as_deref(),
            &DoorRules {
                how_to_allow: "A check that needs the network says so, and you must allow it.".to_owned(),
                ..DoorRules::default()
            },
        );
        let connected = self.network.as_ref();
        let connected = connected.map(|door| self.quarters(directory.path(), objects.as_deref(), door));
        if objects.is_some() {
            let shell = quiet.command("sh").await.map_err(|error| no_room(&error))?;
            let shell = shell.args(["-c", FILL, "sh", &revision.tree]).envs(PLAIN_GIT).cwd(&tree);
            let (code, said) = said(shell).await?;
            if code != 0 {
                let message = format!("{} cannot be checked out: {}", revision.shown(), said.trim());
                return Err(Fault::lasting(Layer::System, "checkout", message));
            }
        }
        // A project may be a part of its repository.
        let part = repository.above.as_ref().and_then(|above| self.root.strip_prefix(above).ok());
        let root = match (&revision.commit, part) {
            (Some(_), Some(part)) => directory_within(&tree, part).map_err(|error| self.io_fault(&error))?,
            _ => tree,
        };
        Ok(Checkout { revision, root, quiet, connected, _directory: directory })
    }

    /// A directory for a room, gone when it is dropped.
    fn directory(&self) -> io::Result<TempDir> {
        let directory = tempfile::Builder::new().prefix("checkout-").tempdir_in(&self.scratch)?;
        for name in ["tree", "home", "tmp"] {
            fs::create_dir(directory.path().join(name))?;
        }
        Ok(directory)
    }

    /// Asks the project's repository about a commit, from a room that may read it. Its settings may have git run something, so
    /// nothing of that room is used afterwards.
    async fn ask(&self, repository: &Repository, commit: &str) -> Result<Result<Asked, &'static str>, Fault> {
        let scratch = self.directory().map_err(|error| self.io_fault(&error))?;
        let mut premises = self.premises.clone();
        premises.bounds = self.bounds(scratch.path());
        let top = repository.above.as_ref().unwrap_or(&self.root);
        premises.bounds.read.extend([top.clone()].into_iter().chain(repository.directories.clone()));
        premises.door = Arc::new(DoorRules::default());
        let quarters = Quarters::new(premises);
        let shell = quarters.command("sh").await.map_err(|error| no_room(&error))?;
        let root = self.root.as_os_str();
        let arguments = [OsStr::new("-c"), OsStr::new(ASK), OsStr::new("sh"), root, OsStr::new(commit)];
        let asked = said(shell.args(arguments).envs(PLAIN_GIT).cwd(scratch.path().join("tree"))).await;
        quarters.close().await;
        let (code, said) = asked?;
        let mut lines = said.lines();
        let (Some(commit), Some(tree), Some(format), Some(objects)) =
            (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return match code {
                127 => Ok(Err("git is not installed")),
                _ => Ok(Err(NOTHING_COMMITTED)),
            };
        };
        let objects = self.root.join(objects).canonicalize().map_err(|error| self.io_fault(&error))?;
        if !repository.directories.iter().any(|directory| objects.starts_with(directory)) {
            let message = format!("The objects of the repository are elsewhere, in {}.", objects.display());
            return Err(Fault::lasting(Layer::Config, "checkout", message));
        }
        // What is kept about the work is no part of it.
        let names = lines.filter_map(|line| line.get(3..)).filter(|name| !name.starts_with(".autonoe/"));
        let revision = Revision {
            commit: Some(commit.to_owned()),
            tree: tree.to_owned(),
            uncommitted: names.take(MAX_NAMED).map(str::to_owned).collect(),
            copied: None,
        };
        Ok(Ok(Asked { revision, objects, format: format.to_owned() }))
    }

    fn quarters(&self, directory: &Path, objects: Option<&Path>, door: &DoorRules) -> Quarters {
        let mut premises = self.premises.clone();
        premises.bounds = self.bounds(directory);
        premises.bounds.read.extend(objects.map(Path::to_owned));
        premises.door = Arc::new(door.clone());
        Quarters::new(premises)
    }

    /// What programs around a checkout may touch. The project itself is not among it.
    fn bounds(&self, directory: &Path) -> Bounds {
        let usual = &self.premises.bounds;
        let mut bounds = Bounds::new(directory.join("tree"), directory.join("home"), directory.join("tmp"));
        let is_apart = |path: &&PathBuf| !path.starts_with(&self.root) && !self.root.starts_with(path);
        bounds.read = usual.read.iter().filter(is_apart).cloned().collect();
        bounds.limits = usual.limits;
        bounds
    }

    fn io_fault(&self, error: &io::Error) -> Fault {
        let message = format!("No checkout can be made in {}: {error}.", self.scratch.display());
        Fault::lasting(Layer::System, "checkout", message)
    }
}

/// Why the files of a repository without a commit are copied.
pub(crate) const NOTHING_COMMITTED: &str = "nothing is committed yet";

/// What a repository said.
struct Asked {
    revision: Revision,
    objects: PathBuf,
    format: String,
}

/// Makes a repository with nothing but a commit, whose objects are another's.
fn borrow(tree: &Path, revision: &Revision, objects: &Path, format: &str) -> io::Result<()> {
    let git = tree.join(".git");
    for directory in ["objects/info", "objects/pack", "refs/heads"] {
        fs::create_dir_all(git.join(directory))?;
    }
    let settings = match format {
        "sha1" => "[core]\n\trepositoryformatversion = 0\n\tbare = false\n".to_owned(),
        other => {
            format!(
                "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = {other}\n"
            )
        }
    };
    fs::write(git.join("config"), settings)?;
    fs::write(git.join("objects/info/alternates"), format!("{}\n", objects.display()))?;
    fs::write(git.join("HEAD"), format!("{}\n", revision.commit.as_deref().unwrap_or_default()))
}

/// Copies the files that git would not ignore. Returns a hash of them all.
fn copy(from: &Path, to: &Path) -> io::Result<String> {
    let is_ours = |name: &OsStr| name == ".git" || name == ".autonoe";
    let walk = WalkBuilder::new(from)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| !is_ours(entry.file_name()))
        .build();
    let mut total = 0;
    let mut list = String::new();
    for entry in walk {
        let entry = entry.map_err(io::Error::other)?;
        let path = entry.path().strip_prefix(from).unwrap_or(entry.path());
        let Some(kind) = entry.file_type().filter(|_| path != Path::new("")) else {
            continue;
        };
        let target = to.join(path);
        if kind.is_dir() {
            fs::create_dir(&target)?;
            continue;
        }
        let described = if kind.is_symlink() {
            let link = fs::read_link(entry.path())?;
            std::os::unix::fs::symlink(&link, &target)?;
            format!("link {}", link.display())
        } else if kind.is_file() {
            total += fs::copy(entry.path(), &target)?;
            sha256_hex(&fs::read(&target)?)
        } else {
            continue;
        };
        if total > MAX_COPIED_BYTES {
            return Err(io::Error::other(format!("the project is larger than {MAX_COPIED_BYTES} bytes")));
        }
        list.push_str(&format!("{} {described}\n", path.display()));
    }
    Ok(sha256_hex(list.as_bytes()))
}

/// Runs a program and returns its exit code and what it said.
async fn said(launch: Launch) -> Result<(i32, String), Fault> {
    let broken = |error: &dyn std::fmt::Display| {
        Fault::passing(
            Layer::System,
            "checkout",
            format!("A program in the room of a checkout failed: {error}."),
        )
    };
    let (reader, writer) = io::pipe().map_err(|error| broken(&error))?;
    let launch = launch.stderr(writer.try_clone().map_err(|error| broken(&error))?).stdout(writer);
    let mut child = launch.spawn().map_err(|error| broken(&error))?;
    let work = async {
        let mut bytes = Vec::new();
        let reader = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into())?;
        reader.take(MAX_SAID).read_to_end(&mut bytes).await?;
        let exit = child.wait().await?;
        io::Result::Ok((exit.code(), String::from_utf8_lossy(&bytes).into_owned()))
    };
    match timeout(GIT_LIMIT, work).await {
        Ok(said) => said.map_err(|error| broken(&error)),
        Err(_) => Err(broken(&"it took too long")),
    }
}

fn no_room(error: &dyn std::fmt::Display) -> Fault {
    Fault::passing(Layer::System, "room", format!("The room of a checkout cannot be opened: {error}."))
}
