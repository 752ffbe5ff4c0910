//! Linux: finds the process that may need a file or a repository, as far as `/proc` shows it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::in_use::{InUse, identity};

/// Device and inode.
type FileIdentity = (u64, u64);

/// How many parent directories of a process's working directory are checked.
const MAX_STEPS: usize = 64;

/// Variables that make git work on a repository other than the one in its working directory.
const REPOSITORY_VARIABLES: [&str; 4] = ["GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_COMMON_DIR="];

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

/// Whether a git process may work in one of these directories. A process that cannot be inspected may.
fn may_be_in(process: &Path, directories: &[FileIdentity], is_of_owner: bool) -> bool {
    match is_within(&process.join("cwd"), directories) {
        Ok(true) => true,
        Ok(false) => names_a_repository(process),
        // The process has exited in the meantime.
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(_) => is_of_owner,
    }
}

/// Whether `directory` is one of `directories` or below one. Its parents are resolved through `/proc`, because the process
/// may see other mounts than we do.
fn is_within(directory: &Path, directories: &[FileIdentity]) -> io::Result<bool> {
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

fn names_a_repository(process: &Path) -> bool {
    let read = |file: &str| fs::read(process.join(file)).unwrap_or_default();
    let (environment, arguments) = (read("environ"), read("cmdline"));
    let is_variable = |word: &[u8]| REPOSITORY_VARIABLES.iter().any(|name| word.starts_with(name.as_bytes()));
    let is_option = |word: &[u8]| word.starts_with(b"--git-dir") || word.starts_with(b"--work-tree");
    environment.split(|byte| *byte == 0).any(is_variable) || arguments.split(|byte| *byte == 0).any(is_option)
}
