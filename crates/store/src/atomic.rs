//! Writing a file so that a reader sees the old content or the new, never a half.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use autonoe_core::fault::{Fault, Layer};
use autonoe_files::WriteTrouble;

/// How the names of temporary files begin.
pub(crate) const TEMPORARY: &str = ".tmp-";

/// Writes to a temporary file beside `path`, syncs it, renames it over `path` and syncs the directory.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or_else(|| io::Error::other("the path has no parent directory"))?;
    fs::create_dir_all(directory)?;
    let mut temporary = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(directory)?;
    temporary.write_all(content)?;
    if let Ok(existing) = fs::metadata(path) {
        temporary.as_file().set_permissions(existing.permissions())?;
    } else {
        set_ordinary_mode(temporary.as_file())?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|failed| failed.error)?;
    File::open(directory)?.sync_all()
}

/// Makes sure that a file of `size` bytes could be written in place of `path`.
pub(crate) fn probe(path: &Path, size: u64) -> io::Result<()> {
    let directory = path.parent().ok_or_else(|| io::Error::other("the path has no parent directory"))?;
    fs::create_dir_all(directory)?;
    let mut temporary = tempfile::Builder::new().prefix(".tmp-").tempfile_in(directory)?;
    // A hole would take no room, so something is written.
    io::copy(&mut io::repeat(b' ').take(size), temporary.as_file_mut())?;
    // Some file systems find out only then.
    temporary.as_file().sync_data()
}

/// That a file cannot be written: why, what to do, and what the caller has to say beside that.
pub(crate) fn write_fault(code: &str, path: &Path, error: &io::Error, then: &str) -> Fault {
    let WriteTrouble { why, advice } = WriteTrouble::of(path, error);
    Fault::lasting(Layer::System, code, format!("{} cannot be written: {why}.", path.display()))
        .hint(format!("{advice} {then}"))
}

/// Temporary files are private; a file in the user's project is not meant to be.
#[cfg(unix)]
fn set_ordinary_mode(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_ordinary_mode(_: &File) -> io::Result<()> {
    Ok(())
}
