//! Where a file really is, and putting content there: the whole of it or nothing.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What a new file may be, before the umask takes its share.
const NEW_FILE_MODE: u32 = 0o666;
/// As many symbolic links as Linux itself follows.
const MAX_LINKS: usize = 40;

/// What goes wrong with a path, in words for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error("{0} does not exist. Relative paths start at the workspace root; look with Glob.")]
    Missing(String),
    #[error("{0} is a directory, not a file. List its files with Glob, or with `ls` in Bash.")]
    Directory(String),
    #[error("{0} is not a regular file (a device, socket or pipe); it cannot be used this way.")]
    Special(String),
    #[error("{path}: {source}.")]
    Io { path: String, source: io::Error },
}

impl PlaceError {
    pub(crate) fn io(shown: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::NotFound => Self::Missing(shown.to_owned()),
            _ => Self::Io { path: shown.to_owned(), source },
        }
    }
}

impl From<PlaceError> for String {
    fn from(error: PlaceError) -> Self {
        error.to_string()
    }
}

/// An existing regular file: its canonical path and what the system says about it.
pub(crate) fn existing(path: &Path, shown: &str) -> Result<(PathBuf, Metadata), PlaceError> {
    let path = path.canonicalize().map_err(PlaceError::io(shown))?;
    let metadata = path.metadata().map_err(PlaceError::io(shown))?;
    if metadata.is_dir() {
        Err(PlaceError::Directory(shown.to_owned()))
    } else if !metadata.is_file() {
        // Opening a pipe or a terminal could wait for ever.
        Err(PlaceError::Special(shown.to_owned()))
    } else {
        Ok((path, metadata))
    }
}

/// Makes ready for a new file at `path` and says where its content is to be put: symbolic links are
/// followed, also to what does not exist yet, since renaming over a link would replace the link.
pub(crate) fn prepare(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else {
            fs::create_dir_all(parent(&path))?;
            return Ok(path);
        };
        path = parent(&path).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// Replaces or creates the file at `path`, which is no link, in one step. An existing file's mode
/// is kept; one that may not be written is refused, though renaming over it would succeed.
pub(crate) fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    let mode = match File::options().write(true).open(path) {
        Ok(file) => Some(file.metadata()?.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut temporary = tempfile::Builder::new()
        .prefix(".autonoe-")
        .permissions(Permissions::from_mode(NEW_FILE_MODE))
        .tempfile_in(parent(path))?;
    temporary.write_all(content)?;
    if let Some(mode) = mode {
        temporary.as_file().set_permissions(mode)?;
    }
    temporary.persist(path).map_err(|error| error.error)?;
    Ok(())
}
