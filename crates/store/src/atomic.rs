//! Atomic file writes: a reader sees the old content or the new, never a part.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::WriteFailure;

/// Name prefix of temporary files.
pub(crate) const TEMPORARY: &str = ".tmp-";

/// Writes to a temporary file beside `path`, syncs it, renames it over `path` and syncs the directory.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    write_with(path, content, |file| match fs::metadata(path) {
        Ok(existing) => file.set_permissions(existing.permissions()),
        Err(_) => set_ordinary_mode(file),
    })
}

/// Like [`write`], but only this user may read the file, whatever its mode was before.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    // Temporary files have mode 0600.
    write_with(path, content, |_| Ok(()))
}

fn write_with(path: &Path, content: &[u8], set_mode: impl Fn(&File) -> io::Result<()>) -> io::Result<()> {
    let directory = path.parent().ok_or_else(|| io::Error::other("the path has no parent directory"))?;
    fs::create_dir_all(directory)?;
    let mut temporary = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(directory)?;
    temporary.write_all(content)?;
    set_mode(temporary.as_file())?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|failed| failed.error)?;
    File::open(directory)?.sync_all()
}

/// Checks that a file of `size` bytes could be written in place of `path`.
pub(crate) fn probe(path: &Path, size: u64) -> io::Result<()> {
    let directory = path.parent().ok_or_else(|| io::Error::other("the path has no parent directory"))?;
    fs::create_dir_all(directory)?;
    let mut temporary = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(directory)?;
    // A sparse file would use no space, so real bytes are written.
    io::copy(&mut io::repeat(b' ').take(size), temporary.as_file_mut())?;
    // Some file systems report a full disk only here.
    temporary.as_file().sync_data()
}

/// `then` is added to the hint.
pub(crate) fn write_fault(code: &str, path: &Path, error: &io::Error, then: &str) -> Fault {
    let WriteFailure { why, advice } = WriteFailure::of(path, error);
    Fault::permanent(FaultLayer::System, code, format!("{} cannot be written: {why}.", path.display()))
        .hint(format!("{advice} {then}"))
}

/// Temporary files are private; a file in the user's project should not be.
#[cfg(unix)]
fn set_ordinary_mode(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_ordinary_mode(_: &File) -> io::Result<()> {
    Ok(())
}
