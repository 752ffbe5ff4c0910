//! Brings files of the user that are not committed into a workspace in which no agent is at work.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path};

use autonoe_core::fault::Fault;
use autonoe_core::file_names::shown_name;
use autonoe_files::{UntrustedDir, Visibility, show_bytes};
use autonoe_git::Skeleton;

use crate::hub::Hub;
use crate::project_files::{NOTE, OWN_DIRECTORY};
use crate::project_revision::ProjectRevision;
use crate::workspace::Workspace;

/// The most bytes that `.worktreeinclude` may bring along.
const MAX_INCLUDED: u64 = 1 << 30;

/// Lists the untracked files of the working tree `$1` that match a pattern in its `.worktreeinclude` and that git ignores, separated by NUL
/// bytes. The file `$2` has what the user's git ignores beside what `.gitignore` files say; `$3` is a repository of ours.
const INCLUDED: &str = r#"cd "$1" || exit 3
[ -f .worktreeinclude ] || exit 0
case=$(git config --type=bool --default false core.ignoreCase)
git ls-files -z --others --ignored --exclude-from=.worktreeinclude -- . ':(exclude).autonoe' |
    git --git-dir="$3" --work-tree=. -c core.ignoreCase="$case" -c core.excludesFile="$2" check-ignore -z --no-index --stdin ||
    [ $? = 1 ]"#;

impl Hub {
    /// Copies the files that `.worktreeinclude` names, such as `.env`, which git ignores and work needs.
    pub(crate) async fn copy_included(
        &self,
        workspace: &Workspace,
        revision: &ProjectRevision,
    ) -> Result<(), Fault> {
        if !revision.top.join(".worktreeinclude").is_file() {
            return Ok(());
        }
        let repository = self.repository();
        let room = self.room([revision.top.clone()].into_iter().chain(repository.directories), [])?;
        let patterns = self.write_users_ignore_patterns(&room.work())?;
        let git = room.work().join("ignoring.git");
        let skeleton = Skeleton { format: &revision.format, branch: "none", ..Skeleton::default() };
        skeleton.write(&git).map_err(|error| self.unwritable(&error))?;
        let args = [revision.top.as_os_str(), patterns.as_os_str(), git.as_os_str()];
        let listed = room.run(INCLUDED, args).await;
        room.close().await;
        let listed = listed?;
        if listed.code != 0 {
            return Err(self.refused(&format!(".worktreeinclude cannot be used ({})", listed.reason()), ""));
        }
        let paths: Vec<String> = listed.stdout.split_terminator('\0').map(str::to_owned).collect();
        self.check_size(&revision.top, &paths)?;
        self.exclude_included(workspace, &paths).map_err(|error| self.unwritable(&error))?;
        let advice = "Make it readable, or take it out of .worktreeinclude.";
        self.copy_files(workspace, revision, paths, advice).await
    }

    /// Refuses to copy more than a disk should have twice.
    fn check_size(&self, top: &Path, paths: &[String]) -> Result<(), Fault> {
        let mut sizes: BTreeMap<&str, u64> = BTreeMap::new();
        for path in paths {
            let size = top.join(path).symlink_metadata().map_or(0, |metadata| metadata.len());
            *sizes.entry(path.split('/').next().unwrap_or_default()).or_default() += size;
        }
        let all: u64 = sizes.values().sum();
        if all <= MAX_INCLUDED {
            return Ok(());
        }
        let (largest, size) = sizes.into_iter().max_by_key(|(_, size)| *size).unwrap_or_default();
        let why = format!(
            ".worktreeinclude names {} of ignored files, {} of it in {}; at most {} are copied",
            show_bytes(all),
            show_bytes(size),
            shown_name(largest),
            show_bytes(MAX_INCLUDED)
        );
        let advice = format!(
            "Name single files there, such as `.env`, or patterns that do not match {}; agents install packages and build by themselves.",
            shown_name(largest)
        );
        Err(self.refused(&why, &advice))
    }

    /// Makes the files of a workspace the same as the user's, with all uncommitted changes. `advice` is for a file that cannot be read.
    pub(crate) async fn copy_uncommitted(
        &self,
        workspace: &Workspace,
        revision: &ProjectRevision,
        advice: &str,
    ) -> Result<(), Fault> {
        let ours = |path: &String| path.split('/').any(|part| [OWN_DIRECTORY, NOTE].contains(&part));
        let paths = revision.uncommitted.iter().filter(|path| !ours(path)).cloned().collect();
        self.copy_files(workspace, revision, paths, advice).await
    }

    async fn copy_files(
        &self,
        workspace: &Workspace,
        revision: &ProjectRevision,
        paths: Vec<String>,
        advice: &str,
    ) -> Result<(), Fault> {
        let (from, to) = (revision.top.clone(), workspace.tree());
        let copying = move || paths.iter().try_for_each(|path| copy_file(&from, &to, Path::new(path)));
        let copied =
            tokio::task::spawn_blocking(copying).await.map_err(|error| autonoe_git::broken(&error))?;
        copied.map_err(|error| match error {
            CopyError::Unreadable(file) => self.refused(&file.to_string(), advice),
            CopyError::Unwritable(error) => self.unwritable(&error),
        })
    }
}

/// A file of the user's that we cannot read, and why.
#[derive(Debug)]
pub(crate) struct UnreadableFile {
    path: String,
    error: io::Error,
}

impl UnreadableFile {
    /// The first of these files below `top` that cannot be read; `None` if all can be.
    pub(crate) fn find<'a>(top: &Path, paths: impl Iterator<Item = &'a str>) -> Option<Self> {
        let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
        let mut files = paths.filter(|path| is_file(&top.join(path)));
        files.find_map(|path| Self::check(top, Path::new(path)).err())
    }

    fn check(top: &Path, path: &Path) -> Result<(), Self> {
        match File::open(top.join(path)) {
            Ok(_) => Ok(()),
            Err(error) => Err(Self { path: path.display().to_string(), error }),
        }
    }
}

impl fmt::Display for UnreadableFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = shown_name(&self.path);
        match self.error.kind() {
            io::ErrorKind::PermissionDenied => write!(f, "you have no permission to read {path}"),
            _ => write!(f, "{path} cannot be read: {}", self.error),
        }
    }
}

/// Why a file of the user's could not be copied.
enum CopyError {
    Unreadable(UnreadableFile),
    Unwritable(io::Error),
}

impl From<io::Error> for CopyError {
    fn from(error: io::Error) -> Self {
        Self::Unwritable(error)
    }
}

/// Makes a path of one tree the same as in another.
fn copy_file(from: &Path, to: &Path, path: &Path) -> Result<(), CopyError> {
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || path.starts_with(".git") {
        return Ok(());
    }
    let (source, target) = (from.join(path), to.join(path));
    let metadata = source.symlink_metadata().ok();
    if metadata.as_ref().is_some_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    UntrustedDir::open(to)?.create(path.parent().unwrap_or(Path::new("")), Visibility::Everyone)?;
    match target.symlink_metadata() {
        Ok(there) if there.is_dir() => fs::remove_dir_all(&target)?,
        Ok(_) => fs::remove_file(&target)?,
        Err(_) => {}
    }
    match metadata {
        Some(metadata) if metadata.is_symlink() => symlink(fs::read_link(source)?, target)?,
        Some(metadata) if metadata.is_file() => {
            UnreadableFile::check(from, path).map_err(CopyError::Unreadable)?;
            fs::copy(source, target)?;
        }
        // Pipes, sockets and devices are left out; a deleted file stays deleted.
        _ => {}
    }
    Ok(())
}
