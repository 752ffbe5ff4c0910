//! A clean checkout of what is committed, with a room around it that no agent was ever in.
//!
//! The project's repository is written by agents, so none of its settings, hooks and filters are used: the checkout is a
//! repository of its own that borrows the project's objects. Those are written by agents too, so what was checked out is
//! hashed again. Git runs in rooms only. Where there is no repository, the files are copied, and that is said.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};
use autonoe_files::{WriteTrouble, open_beneath};
use autonoe_sandbox::{Bounds, EgressRules, Repository, RoomConfig, SessionSandbox};
use autonoe_store::sha256_hex;
use ignore::WalkBuilder;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::git;
use crate::inquiry::{Answer, Inquiry};
use crate::oracles::directory_within;

/// How much is copied where there is no repository.
const MAX_COPIED_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Checks out the tree `$1`.
const FILL: &str = r#"git read-tree "$1" && git checkout-index --all --quiet"#;

/// Where checkouts are made, and of what.
#[derive(Debug, Clone)]
pub struct CheckoutFactory {
    /// The project's directory.
    pub root: PathBuf,
    /// A directory of ours, outside the project.
    pub scratch: PathBuf,
    /// The sandbox, the environment, and what may be read beside the checkout. Its root and its homes are not used.
    pub room_config: RoomConfig,
    /// What may pass the egress proxy for checks that need the network, if the user allows that at all.
    pub network: Option<Arc<EgressRules>>,
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
    /// Its repository's, of which the project may be a part.
    pub(crate) tree: PathBuf,
    quiet: SessionSandbox,
    connected: Option<SessionSandbox>,
    // Last, so that the rooms are closed before their directory is gone.
    _directory: TempDir,
}

impl Checkout {
    /// Where a check runs; none if it needs a network that it is not given.
    pub fn session_sandbox(&self, network: bool) -> Option<&SessionSandbox> {
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

impl CheckoutFactory {
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
        let repository = Repository::around(&self.root);
        let objects = self.objects(&repository)?;
        let directory = self.directory().map_err(|error| self.io_fault(&error))?;
        let tree = directory.path().join("tree");
        let closed = EgressRules {
            how_to_allow: "A check that needs the network says so, and you must allow it.".to_owned(),
            ..EgressRules::default()
        };
        let quiet = self.session_sandbox(directory.path(), objects.as_deref(), &closed);
        let connected = self.network.as_ref();
        let connected =
            connected.map(|egress| self.session_sandbox(directory.path(), objects.as_deref(), egress));

        let asked = match &objects {
            None => Err("there is no git repository"),
            Some(objects) => self.fill(&repository, objects, commit, &tree, &quiet).await?,
        };
        let revision = match asked {
            Ok(revision) => revision,
            Err(_) if commit.is_some() => {
                let message =
                    format!("There is no commit {} in this repository.", commit.unwrap_or_default());
                return Err(Fault::lasting(Layer::Config, "no_commit", message));
            }
            Err(why) => {
                let hash = copy(&self.root, &tree).map_err(|error| self.io_fault(&error))?;
                Revision { commit: None, tree: hash, uncommitted: Vec::new(), copied: Some(why) }
            }
        };
        // A project may be a part of its repository.
        let part = repository.above.as_ref().and_then(|above| self.root.strip_prefix(above).ok());
        let root = match (&revision.commit, part) {
            (Some(_), Some(part)) => directory_within(&tree, part).map_err(|error| self.io_fault(&error))?,
            _ => tree.clone(),
        };
        Ok(Checkout { revision, root, tree, quiet, connected, _directory: directory })
    }

    /// Checks out a commit of the repository into `tree`. An error says why there is none.
    async fn fill(
        &self,
        repository: &Repository,
        objects: &Path,
        commit: Option<&str>,
        tree: &Path,
        session_sandbox: &SessionSandbox,
    ) -> Result<Result<Revision, &'static str>, Fault> {
        let inquiry = self.inquiry(repository).map_err(|error| self.io_fault(&error))?;
        // The room is opened while the repository is asked.
        let (answer, shell) =
            tokio::join!(inquiry.about(commit.unwrap_or("HEAD")), git::script(session_sandbox, FILL));
        let Answer { commit, tree: hash, format } = match answer? {
            Ok(answer) => answer,
            Err(why) => {
                inquiry.session_sandbox.close().await;
                return Ok(Err(why));
            }
        };
        borrow(tree, &commit, objects, &format).map_err(|error| self.io_fault(&error))?;
        let rest = async {
            let uncommitted = inquiry.uncommitted().await;
            inquiry.session_sandbox.close().await;
            uncommitted
        };
        let (filled, uncommitted) = tokio::join!(git::said(shell?.args([&hash]).cwd(tree)), rest);
        let (code, said) = filled?;
        let revision = Revision { commit: Some(commit), tree: hash, uncommitted: uncommitted?, copied: None };
        if code != 0 {
            let message = format!("{} cannot be checked out: {}", revision.shown(), said.trim());
            return Err(Fault::lasting(Layer::System, "checkout", message));
        }
        Ok(Ok(revision))
    }

    /// Where the objects of a repository are, if there is one.
    pub(crate) fn objects(&self, repository: &Repository) -> Result<Option<PathBuf>, Fault> {
        let Some(directory) = repository.directories.first() else {
            return Ok(None);
        };
        let objects = directory.join("objects").canonicalize().map_err(|error| self.io_fault(&error))?;
        if !objects.starts_with(directory) {
            let message = format!("The objects of the repository are elsewhere, in {}.", objects.display());
            return Err(Fault::lasting(Layer::Config, "checkout", message));
        }
        Ok(Some(objects))
    }

    /// A directory for a room, gone when it is dropped.
    pub(crate) fn directory(&self) -> io::Result<TempDir> {
        fs::create_dir_all(&self.scratch)?;
        spread(&self.scratch);
        let directory = tempfile::Builder::new().prefix("checkout-").tempdir_in(&self.scratch)?;
        for name in ["tree", "home", "tmp"] {
            fs::create_dir(directory.path().join(name))?;
        }
        Ok(directory)
    }

    /// A room that may read the project's repository.
    pub(crate) fn inquiry(&self, repository: &Repository) -> io::Result<Inquiry> {
        let directory = self.directory()?;
        let mut room_config = self.room_config.clone();
        room_config.bounds = self.bounds(directory.path());
        let top = repository.above.as_ref().unwrap_or(&self.root);
        room_config.bounds.read.extend([top.clone()].into_iter().chain(repository.directories.clone()));
        room_config.egress = Arc::new(EgressRules::default());
        Ok(Inquiry { root: self.root.clone(), session_sandbox: SessionSandbox::new(room_config), directory })
    }

    pub(crate) fn session_sandbox(
        &self,
        directory: &Path,
        objects: Option<&Path>,
        egress: &EgressRules,
    ) -> SessionSandbox {
        let mut room_config = self.room_config.clone();
        room_config.bounds = self.bounds(directory);
        room_config.bounds.read.extend(objects.map(Path::to_owned));
        room_config.egress = Arc::new(egress.clone());
        SessionSandbox::new(room_config)
    }

    /// A room that may look at a tree, too.
    pub(crate) fn looking_at(
        &self,
        directory: &Path,
        objects: &Path,
        tree: &Path,
        egress: &EgressRules,
    ) -> SessionSandbox {
        let mut room_config = self.room_config.clone();
        room_config.bounds = self.bounds(directory);
        room_config.bounds.read.extend([objects.to_owned(), tree.to_owned()]);
        room_config.egress = Arc::new(egress.clone());
        SessionSandbox::new(room_config)
    }

    /// What programs around a checkout may touch. The project itself is not among it.
    fn bounds(&self, directory: &Path) -> Bounds {
        let usual = &self.room_config.bounds;
        let mut bounds = Bounds::new(directory.join("tree"), directory.join("home"), directory.join("tmp"));
        let is_apart = |path: &&PathBuf| !path.starts_with(&self.root) && !self.root.starts_with(path);
        bounds.read = usual.read.iter().filter(is_apart).cloned().collect();
        bounds.limits = usual.limits;
        bounds
    }

    pub(crate) fn io_fault(&self, error: &io::Error) -> Fault {
        let WriteTrouble { why, advice } = WriteTrouble::of(&self.scratch, error);
        let message = format!("No checkout can be made in {}: {why}.", self.scratch.display());
        Fault::lasting(Layer::System, "checkout", message).hint(advice)
    }
}

/// Asks the file system to lay what is made in a directory far apart. Ext4 looks at each file that was removed nearby a moment ago
/// before it makes another: without this a checkout after a checkout takes several times as long.
fn spread(directory: &Path) {
    #[cfg(target_os = "linux")]
    if let Ok(directory) = File::open(directory)
        && let Ok(flags) = rustix::fs::ioctl_getflags(&directory)
        && !flags.contains(rustix::fs::IFlags::TOPDIR)
    {
        // Other file systems do not know it, and nothing depends on it.
        let _ = rustix::fs::ioctl_setflags(&directory, flags | rustix::fs::IFlags::TOPDIR);
    }
}

/// Makes a repository with nothing but a commit, whose objects are another's.
pub(crate) fn borrow(tree: &Path, commit: &str, objects: &Path, format: &str) -> io::Result<()> {
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
    fs::write(git.join("HEAD"), format!("{commit}\n"))
}

/// Copies one file of so many bytes at most. Returns its size, and what it is in a word.
fn copy_file(mut source: File, target: &Path, most: u64) -> io::Result<(u64, String)> {
    let mode = source.metadata()?.permissions().mode() & 0o111;
    let mut copy = File::create(target)?;
    let (mut size, mut hash, mut buffer) = (0, Sha256::new(), vec![0; 64 * 1024]);
    loop {
        let count = source.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        size += count as u64;
        if size > most {
            return Err(io::Error::other(format!("the project is larger than {MAX_COPIED_BYTES} bytes")));
        }
        hash.update(&buffer[..count]);
        copy.write_all(&buffer[..count])?;
    }
    copy.set_permissions(fs::Permissions::from_mode(0o644 | mode))?;
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((size, format!("{} {hash}", if mode == 0 { "file" } else { "program" })))
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
            // Anyone who wrote it may be at work still.
            let opened = open_beneath(from, path).map_err(io::Error::other)?;
            let (size, described) = copy_file(opened, &target, MAX_COPIED_BYTES - total)?;
            total += size;
            described
        } else {
            continue;
        };
        list.push_str(&format!("{} {described}\n", path.display()));
    }
    Ok(sha256_hex(list.as_bytes()))
}
