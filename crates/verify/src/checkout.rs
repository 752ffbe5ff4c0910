//! A clean checkout of what is committed, with a room around it that no agent was ever in.
//!
//! The project's repository is written by agents, so none of its settings, hooks and filters are used: the checkout is a
//! repository of its own that borrows the project's objects. Git runs in rooms only. Where there is no repository, the files
//! are copied, and that is said.

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

/// How long git may take.
const GIT_LIMIT: Duration = Duration::from_secs(120);

/// How much git may say, and how many files it names that are not committed.
const MAX_SAID: u64 = 256 * 1024;
const MAX_NAMED: usize = 20;

/// How much is copied where there is no repository.
const MAX_COPIED_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Git as it comes, without anybody's settings.
pub(crate) const PLAIN_GIT: [(&str, &str); 10] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_CONFIG_COUNT", "2"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_VALUE_0", "*"),
    ("GIT_CONFIG_KEY_1", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_1", "false"),
];

/// Asks for a commit, its tree, the kind of its hashes and where objects are, then for what is not committed.
const ASK: &str = r#"cd "$1" && git rev-parse --verify --quiet "$2^{commit}" && git rev-parse --verify --quiet "$2^{tree}" &&
git rev-parse --show-object-format && git rev-parse --git-path objects && git status --porcelain | head -n 50"#;

/// Asks for the commit that is last.
const HEAD: &str = r#"cd "$1" && git rev-parse --verify --quiet 'HEAD^{commit}'"#;

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
    /// Removes checkouts that a killed process left behind, if they are at least this old.
    pub fn forget_leftovers(&self, age: Duration) {
        let entries = fs::read_dir(&self.scratch).into_iter().flatten().flatten();
        for entry in entries {
            let touched = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            if touched.is_none_or(|at| at.elapsed().is_ok_and(|since| since >= age)) {
                // What cannot be removed is in nobody's way.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Checks out a commit, or what is committed last.
    pub async fn check_out(&self, commit: Option<&str>) -> Result<Checkout, Fault> {
        let directory = self.directory()?;
        let tree = directory.path().join("tree");

        let repository = Repository::around(&self.root);
        let asked = match repository.directories.is_empty() {
            true => Err("there is no git repository"),
            false => self.ask(&repository, commit.unwrap_or("HEAD"), directory.path()).await?,
        };
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
            let git = quiet.command("git").await.map_err(|error| no_room(&error))?;
            let git = git.args(["reset", "--hard", "--quiet"]).envs(PLAIN_GIT).cwd(&tree);
            let (code, said) = said(git, MAX_SAID).await?;
            if code != 0 {
                let message = format!("{} cannot be checked out: {}", revision.shown(), said.trim());
                return Err(Fault::lasting(Layer::System, "checkout", message));
            }
        }
        // A project may be a part of its repository.
        let part = repository.above.as_ref().and_then(|above| self.root.strip_prefix(above).ok());
        let root = match (&revision.commit, part) {
            (Some(_), Some(part)) => tree.join(part),
            _ => tree,
        };
        Ok(Checkout { revision, root, quiet, connected, _directory: directory })
    }

    /// The commit that is last; none where nothing is committed.
    pub async fn head(&self) -> Result<Option<String>, Fault> {
        let repository = Repository::around(&self.root);
        if repository.directories.is_empty() {
            return Ok(None);
        }
        let directory = self.directory()?;
        let (code, said) = self.read(&repository, HEAD, "", directory.path()).await?;
        Ok((code == 0).then(|| said.trim().to_owned()))
    }

    /// Asks the project's repository about a commit.
    pub(crate) async fn ask(
        &self,
        repository: &Repository,
        commit: &str,
        scratch: &Path,
    ) -> Result<Result<Asked, &'static str>, Fault> {
        let (code, said) = self.read(repository, ASK, commit, scratch).await?;
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

    /// Has a script read the project's repository, in a room that may do that and nothing else.
    async fn read(
        &self,
        repository: &Repository,
        script: &str,
        argument: &str,
        scratch: &Path,
    ) -> Result<(i32, String), Fault> {
        let mut premises = self.premises.clone();
        premises.bounds = self.bounds(scratch);
        let top = repository.above.as_ref().unwrap_or(&self.root);
        premises.bounds.read.extend([top.clone()].into_iter().chain(repository.directories.clone()));
        premises.door = Arc::new(DoorRules::default());
        let quarters = Quarters::new(premises);
        let shell = quarters.command("sh").await.map_err(|error| no_room(&error))?;
        let root = self.root.as_os_str();
        let arguments = [OsStr::new("-c"), OsStr::new(script), OsStr::new("sh"), root, OsStr::new(argument)];
        let answer = said(shell.args(arguments).envs(PLAIN_GIT).cwd(scratch.join("tree")), MAX_SAID).await;
        quarters.close().await;
        answer
    }

    /// A directory of ours with what a room needs.
    pub(crate) fn directory(&self) -> Result<TempDir, Fault> {
        let make = || {
            fs::create_dir_all(&self.scratch)?;
            let directory = tempfile::Builder::new().prefix("checkout-").tempdir_in(&self.scratch)?;
            for name in ["tree", "home", "tmp"] {
                fs::create_dir(directory.path().join(name))?;
            }
            Ok(directory)
        };
        make().map_err(|error: io::Error| self.io_fault(&error))
    }

    pub(crate) fn quarters(&self, directory: &Path, objects: Option<&Path>, door: &DoorRules) -> Quarters {
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

    pub(crate) fn io_fault(&self, error: &io::Error) -> Fault {
        let message = format!("No checkout can be made in {}: {error}.", self.scratch.display());
        Fault::lasting(Layer::System, "checkout", message)
    }
}

/// Why the files of a repository without a commit are copied.
pub(crate) const NOTHING_COMMITTED: &str = "nothing is committed yet";

/// What a repository said.
pub(crate) struct Asked {
    pub(crate) revision: Revision,
    pub(crate) objects: PathBuf,
    pub(crate) format: String,
}

/// Makes a repository with nothing but a commit, whose objects are another's.
pub(crate) fn borrow(tree: &Path, revision: &Revision, objects: &Path, format: &str) -> io::Result<()> {
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

/// Runs a program and returns its exit code and what it said, up to so many bytes.
pub(crate) async fn said(launch: Launch, limit: u64) -> Result<(i32, String), Fault> {
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
        reader.take(limit).read_to_end(&mut bytes).await?;
        let exit = child.wait().await?;
        io::Result::Ok((exit.code(), String::from_utf8_lossy(&bytes).into_owned()))
    };
    match timeout(GIT_LIMIT, work).await {
        Ok(said) => said.map_err(|error| broken(&error)),
        Err(_) => Err(broken(&"it took too long")),
    }
}

pub(crate) fn no_room(error: &dyn std::fmt::Display) -> Fault {
    Fault::passing(Layer::System, "room", format!("The room of a checkout cannot be opened: {error}."))
}
