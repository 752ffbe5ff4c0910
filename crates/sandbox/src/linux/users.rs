//! Linux: which process may need a file or a repository, as far as `/proc` shows it to us.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::git_locks::{InUse, identity};

/// Device and inode.
type Identity = (u64, u64);

/// How far up from its working directory it is looked where a process is.
const MAX_STEPS: usize = 64;

/// Settings with which git works on another repository than the one it stands in.
const ELSEWHERE: [&str; 4] = ["GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_COMMON_DIR="];

/// Who may need a file of git's that belongs to `owner`, in a repository with these `places`.
///
/// Only a process of the same user can have made it. One of those that we may not look into counts if it is called git.
pub(crate) fn who_uses(file: Identity, owner: u32, places: &[Identity]) -> InUse {
    let Ok(entries) = fs::read_dir("/proc") else {
        return InUse::Unknown;
    };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for pid in pids.filter(|pid| u32::try_from(*pid).is_ok_and(|pid| pid != std::process::id())) {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let is_of_owner = process.metadata().is_ok_and(|metadata| metadata.uid() == owner);
        let uses = has_open(&process, file) || (is_git(&process) && may_be_in(&process, places, is_of_owner));
        if uses {
            let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
            return InUse::By { pid, name: name.trim_end().to_owned() };
        }
    }
    InUse::No
}

/// The inode is compared, not the name: in another mount namespace the file has another one.
fn has_open(process: &Path, file: Identity) -> bool {
    let descriptors = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    descriptors.into_iter().any(|descriptor| identity(&descriptor.path()).is_ok_and(|open| open == file))
}

fn is_git(process: &Path) -> bool {
    let comm = fs::read(process.join("comm")).unwrap_or_default();
    let program = fs::read_link(process.join("exe")).ok();
    let name = program.as_deref().and_then(Path::file_name).unwrap_or_default();
    comm.starts_with(b"git") || name.as_encoded_bytes().starts_with(b"git")
}

/// Whether a git may work in one of these places. What cannot be looked at may.
fn may_be_in(process: &Path, places: &[Identity], is_of_owner: bool) -> bool {
    match stands_in(&process.join("cwd"), places) {
        Ok(true) => true,
        Ok(false) => names_a_repository(process),
        // It has ended meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(_) => is_of_owner,
    }
}

/// Whether a directory is one of these places or below one. Its ancestors are asked for by the way of the process, which may
/// be another than ours.
fn stands_in(directory: &Path, places: &[Identity]) -> io::Result<bool> {
    let mut path = OsString::from(directory);
    let mut below = None;
    for _ in 0..MAX_STEPS {
        let here = identity(Path::new(&path))?;
        if places.contains(&here) {
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
    let words = |file: &str| fs::read(process.join(file)).unwrap_or_default();
    let (environment, arguments) = (words("environ"), words("cmdline"));
    let set = |word: &[u8]| ELSEWHERE.iter().any(|name| word.starts_with(name.as_bytes()));
    let typed = |word: &[u8]| word.starts_with(b"--git-dir") || word.starts_with(b"--work-tree");
    environment.split(|byte| *byte == 0).any(set) || arguments.split(|byte| *byte == 0).any(typed)
}
