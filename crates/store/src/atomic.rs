//! Atomic file writes: a reader sees the old content or the new, never a part.

use std::io::{self, Read};
use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{UntrustedDir, Visibility, WriteFailure, temporary_name};

/// The directory of a project that agents can write where the sandbox cannot keep it read-only.
const SHARED: &str = ".autonoe";

/// Writes to a temporary file beside `path`, syncs it, renames it over `path` and syncs the directory. No link is followed in
/// `.autonoe/`, not even that directory itself.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    write_with(path, content, Visibility::AsBefore)
}

/// Like [`write`], but only this user may read the file, whatever its mode was before.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    write_with(path, content, Visibility::OwnerOnly)
}

fn write_with(path: &Path, content: &[u8], visibility: Visibility) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path has no file name"))?;
    directory_of(path)?.replace(name, content, visibility)
}

/// Removes a file. Nothing at all is fine.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path has no file name"))?;
    match directory_of(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        directory => directory?.remove(name),
    }
}

/// Checks that a file of `size` bytes could be written in place of `path`.
pub(crate) fn probe(path: &Path, size: u64) -> io::Result<()> {
    let (directory, name) = (directory_of(path)?, temporary_name());
    let mut file = directory.create_new(&name, Visibility::OwnerOnly)?;
    // A sparse file would use no space, so real bytes are written.
    let written = io::copy(&mut io::repeat(b' ').take(size), &mut file);
    // Some file systems report a full disk only here.
    let written = written.and_then(|_| file.sync_data());
    directory.remove(&name)?;
    written
}

/// The directory of a file, which is created if it is missing.
fn directory_of(path: &Path) -> io::Result<UntrustedDir> {
    let directory = path.parent().ok_or_else(|| io::Error::other("the path has no parent directory"))?;
    let trusted = directory.ancestors().find(|above| above.file_name().is_some_and(|name| name == SHARED));
    let trusted = trusted.and_then(Path::parent).unwrap_or(directory);
    std::fs::create_dir_all(trusted)?;
    let below = directory.strip_prefix(trusted).map_err(io::Error::other)?;
    UntrustedDir::open(trusted)?.create_missing(below, Visibility::Everyone)
}

/// `then` is added to the hint.
pub(crate) fn write_fault(code: &str, path: &Path, error: &io::Error, then: &str) -> Fault {
    let WriteFailure { why, advice } = WriteFailure::of(path, error);
    Fault::permanent(FaultLayer::System, code, format!("{} cannot be written: {why}.", path.display()))
        .hint(format!("{advice} {then}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::{probe, remove, write};

    #[test]
    fn a_link_in_place_of_our_directory_or_file_is_not_followed() {
        let directory = tempfile::tempdir().expect("directory");
        let (project, user) = (directory.path().join("project"), directory.path().join("user"));
        fs::create_dir(&project).expect("directory");
        fs::create_dir(&user).expect("directory");
        fs::write(user.join("status.json"), "the user's").expect("written");
        symlink(&user, project.join(".autonoe")).expect("link");
        let status = project.join(".autonoe/status.json");
        write(&status, b"ours").expect_err("a link");
        write(&project.join(".autonoe/evidence/x.json"), b"ours").expect_err("a link");
        remove(&status).expect_err("a link");
        probe(&status, 10).expect_err("a link");
        fs::remove_file(project.join(".autonoe")).expect("removed");
        fs::create_dir(project.join(".autonoe")).expect("directory");
        symlink(user.join("status.json"), &status).expect("link");
        write(&status, b"ours").expect("replaced");
        assert_eq!(fs::read_to_string(&status).expect("text"), "ours");
        assert_eq!(fs::read_to_string(user.join("status.json")).expect("text"), "the user's");
        assert_eq!(fs::read_dir(&user).expect("entries").count(), 1);
    }

    #[test]
    fn the_mode_is_kept_and_nothing_is_left() {
        let directory = tempfile::tempdir().expect("directory");
        let file = directory.path().join(".autonoe/status.json");
        let mode = || fs::metadata(&file).expect("metadata").permissions().mode() & 0o7777;
        write(&file, b"one").expect("written");
        assert_eq!(mode(), 0o644);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("changed");
        write(&file, b"two").expect("written");
        probe(&file, 10_000).expect("space");
        assert_eq!(mode(), 0o640);
        assert_eq!(fs::read_dir(directory.path().join(".autonoe")).expect("entries").count(), 1);
        remove(&file).expect("removed");
        remove(&file).expect("nothing there");
    }
}
