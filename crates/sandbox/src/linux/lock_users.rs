//! Linux: finds the process that may need a file or a repository, as far as `/proc` shows it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::in_use::{InUse, identity};

/// Device and inode.
type FileIdentity = (u64, u64);

/// How many parent directories of a process's working directory are checked.
const MAX_STEPS: usize = 64;

/// Variables that make git work on a repository other than the one in its working directory.
const REPOSITORY_VARIABLES: [&str; 4] = ["GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_COMMON_DIR="];

/// Options of git that do so.
const REPOSITORY_OPTIONS: [&str; 2] = ["--git-dir", "--work-tree"];

/// The process that may need a file of git that belongs to `owner`, in a repository with these `directories`.
///
/// Only a process of the same user can have created it. A process of that user that we cannot inspect counts if it is
/// named git.
pub(crate) fn process_using(file: FileIdentity, owner: u32, directories: &[FileIdentity]) -> InUse {
    let Ok(entries) = fs::read_dir("/proc") else {
        return InUse::Unknown;
    };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for pid in pids.filter(|pid| u32::try_from(*pid).is_ok_and(|pid| pid != std::process::id())) {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let is_of_owner = process.metadata().is_ok_and(|metadata| metadata.uid() == owner);
        let uses =
            has_open(&process, file) || (is_git(&process) && may_be_in(&process, directories, is_of_owner));
        if uses {
            let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
            return InUse::By { pid, name: name.trim_end().to_owned() };
        }
    }
    InUse::No
}

/// Compares inodes, not paths: in another mount namespace the file has a different path.
fn has_open(process: &Path, file: FileIdentity) -> bool {
    let descriptors = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    descriptors.into_iter().any(|descriptor| identity(&descriptor.path()).is_ok_and(|open| open == file))
}

fn is_git(process: &Path) -> bool {
    let comm = fs::read(process.join("comm")).unwrap_or_default();
    let program = fs::read_link(process.join("exe")).ok();
    let name = program.as_deref().and_then(Path::file_name).unwrap_or_default();
    comm.starts_with(b"git") || name.as_encoded_bytes().starts_with(b"git")
}

/// Whether a git process may work in one of these directories: in its working directory, or in a repository that it was given. A process
/// that cannot be inspected may.
fn may_be_in(process: &Path, directories: &[FileIdentity], is_of_owner: bool) -> bool {
    let named = named_paths(process);
    // Given a repository and a working tree, git moves to that one, so that relative paths lead elsewhere.
    if named.len() > 1 && named.iter().any(|path| path.is_relative()) {
        return is_of_owner;
    }
    let named = named.iter().map(|path| match path.strip_prefix("/") {
        Ok(path) => process.join("root").join(path),
        Err(_) => process.join("cwd").join(path),
    });
    [process.join("cwd")].into_iter().chain(named).any(|path| match is_within(&path, directories) {
        Ok(is_within) => is_within,
        // The process has exited in the meantime, or the path does not exist for it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => false,
        Err(_) => is_of_owner,
    })
}

/// Whether `directory` is one of `directories` or below one. Its parents are resolved through `/proc`, because the process
/// may see other mounts than we do.
fn is_within(directory: &Path, directories: &[FileIdentity]) -> io::Result<bool> {
    // Beside an index, which may be named, is its lock.
    let directory = if directory.is_file() { directory.parent().unwrap_or(directory) } else { directory };
    let mut path = OsString::from(directory);
    let mut below = None;
    for _ in 0..MAX_STEPS {
        let here = identity(Path::new(&path))?;
        if directories.contains(&here) {
            return Ok(true);
        }
        if below == Some(here) {
            return Ok(false);
        }
        below = Some(here);
        path.push("/..");
    }
    Ok(true)
}

/// The paths of the repository that a git was given in its environment and arguments.
fn named_paths(process: &Path) -> Vec<PathBuf> {
    let words = |file: &str| -> Vec<OsString> {
        let text = fs::read(process.join(file)).unwrap_or_default();
        text.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_owned())).collect()
    };
    let after = |word: &OsString, name: &str| {
        let value = word.as_bytes().strip_prefix(name.as_bytes())?;
        Some(PathBuf::from(OsString::from_vec(value.to_owned())))
    };
    let (environment, arguments) = (words("environ"), words("cmdline"));
    let variables =
        environment.iter().filter_map(|word| REPOSITORY_VARIABLES.iter().find_map(|name| after(word, name)));
    let options = arguments.iter().enumerate().filter_map(|(position, word)| {
        REPOSITORY_OPTIONS.iter().find_map(|name| {
            let value = after(word, name)?;
            match value.as_os_str().as_bytes().strip_prefix(b"=") {
                Some(path) => Some(PathBuf::from(OsString::from_vec(path.to_owned()))),
                None => {
                    value.as_os_str().is_empty().then(|| arguments.get(position + 1).map(PathBuf::from))?
                }
            }
        })
    });
    variables.chain(options).collect()
}
