//! Links the object files of the user's repository into a directory of ours. That costs no space, and the objects stay
//! available if the user rewrites history, collects garbage or removes the repository.
//!
//! Objects that no commit reaches are linked too: they are the user's own, and no agent has ever written there.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

/// What [`link_objects`] found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkedObjects {
    /// Bytes of files that had to be copied, because they are on another disk or belong to another user.
    pub(crate) copied: u64,
    /// The repository fetches objects only when they are needed, so some are missing.
    pub(crate) is_partial: bool,
}

/// Links the object files in the directories `from` into `into`.
pub(crate) fn link_objects(from: &[PathBuf], into: &Path) -> io::Result<LinkedObjects> {
    let mut linked = LinkedObjects::default();
    for objects in from {
        link_directory(objects, into, &mut linked)?;
    }
    Ok(linked)
}

fn link_directory(objects: &Path, into: &Path, linked: &mut LinkedObjects) -> io::Result<()> {
    for directory in entries(objects)?.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let name = directory.file_name();
        let target = into.join(&name);
        if name == "pack" {
            link_packs(&directory.path(), &target, linked)?;
        } else if is_hex(&name, &[2]) {
            link_files(&directory.path(), &target, linked, |file| is_hex(file, &[38, 62]))?;
        }
    }
    Ok(())
}

fn link_packs(packs: &Path, target: &Path, linked: &mut LinkedObjects) -> io::Result<()> {
    let extension = |file: &OsStr| Path::new(file).extension().map(OsStr::to_owned).unwrap_or_default();
    linked.is_partial |= entries(packs)?.any(|entry| extension(&entry.file_name()) == "promisor");
    // Git looks for a pack only where there is an index, so that comes last.
    for wanted in ["pack", "rev", "idx"] {
        link_files(packs, target, linked, |file| {
            file.as_encoded_bytes().starts_with(b"pack-") && extension(file) == wanted
        })?;
    }
    Ok(())
}

fn link_files(
    from: &Path,
    into: &Path,
    linked: &mut LinkedObjects,
    is_wanted: impl Fn(&OsStr) -> bool,
) -> io::Result<()> {
    let is_file = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    // Most are there already: to list their names costs less than to try each.
    let known: HashSet<OsString> = entries(into)?.map(|entry| entry.file_name()).collect();
    let wanted = entries(from)?.filter(|entry| {
        let name = entry.file_name();
        is_wanted(&name) && !known.contains(&name) && is_file(entry)
    });
    let mut has_directory = false;
    for entry in wanted {
        if !has_directory {
            fs::create_dir_all(into)?;
            has_directory = true;
        }
        let target = into.join(entry.file_name());
        match fs::hard_link(entry.path(), &target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // Removed by git since the directory was listed; what it contained is in a pack now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => linked.copied += copy(&entry.path(), &target)?,
            Ok(()) => {}
        }
    }
    Ok(())
}

/// Copies a file so that it appears at once and complete.
fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    let incomplete = to.with_extension("incomplete");
    // A process that was killed may have left one, which is read-only like the original.
    let _ = fs::remove_file(&incomplete);
    let bytes = fs::copy(from, &incomplete)?;
    fs::rename(&incomplete, to)?;
    Ok(bytes)
}

fn entries(directory: &Path) -> io::Result<impl Iterator<Item = DirEntry>> {
    match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None.into_iter().flatten()),
        entries => Ok(Some(entries?.filter_map(Result::ok)).into_iter().flatten()),
    }
}

fn is_hex(name: &OsStr, lengths: &[usize]) -> bool {
    let bytes = name.as_encoded_bytes();
    lengths.contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_hexdigit)
}

/// The files of a pack directory, for moving a new pack elsewhere.
pub(crate) fn pack_files(packs: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<_> = entries(packs)?.map(|entry| entry.path()).collect();
    // The index comes last.
    files.sort_by_key(|file| file.extension().is_some_and(|extension| extension == "idx"));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::copy;

    #[test]
    fn what_a_killed_copy_has_left_is_not_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("a.pack"), "new").unwrap();
        fs::write(at("other"), "other").unwrap();
        symlink(at("other"), at("b.incomplete")).unwrap();
        copy(&at("a.pack"), &at("b.pack")).unwrap();
        assert_eq!(fs::read_to_string(at("b.pack")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("other")).unwrap(), "other");
    }
}
