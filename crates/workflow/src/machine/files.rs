//! Files of the project, which are read, and programs of the agent, which are run. Others may be at work in both places.

use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use autonoe_core::fault::Fault;
use autonoe_files::{ReadError, open_beneath, read_bytes_beneath};

use crate::faults;

/// The largest file that is read.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// What a file of the project holds; none if there is no such file. A link is followed if it stays in the project.
pub(super) fn read(root: &Path, path: &str) -> Result<Option<String>, Fault> {
    let wrong = |why: &str| unreadable(&format!("The file `{path}`"), why);
    if path.is_empty() || path.contains('\0') || Path::new(path).is_absolute() {
        return Err(wrong("its path must be relative to the project"));
    }
    let root = root.canonicalize().map_err(|error| wrong(&error.to_string()))?;
    let place = match root.join(path).canonicalize() {
        Ok(place) => place,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(wrong(&error.to_string())),
    };
    let Ok(inside) = place.strip_prefix(&root) else {
        return Err(wrong("it leads out of the project"));
    };
    match read_bytes_beneath(&root, inside, MAX_FILE_BYTES) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(ReadError::Io(error)) if is_absent(&error) => Ok(None),
        Err(error) => Err(wrong(&error.to_string())),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// That a file cannot be read, and why.
pub(super) fn unreadable(what: &str, why: &str) -> Fault {
    let hint = "Name a regular file of the project, of at most 1 MiB, in `completion` of agent.json.";
    faults::COMPLETION.fault(format!("{what} cannot be read: {why}.")).hint(hint)
}

/// Where a program of the agent is, or why it cannot be run.
pub(super) fn executable(directory: &Path, program: &str) -> Result<PathBuf, String> {
    let path = Path::new(program);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if program.is_empty() || program.contains('\0') || !is_plain {
        return Err(format!("`{program}` is not the path of a program in the agent's directory"));
    }
    let shown = directory.join(path);
    let wrong = |why: &str| format!("{} {why}", shown.display());
    // Of a file that nobody may read nothing else can be seen either.
    let file = open_beneath(directory, path).map_err(|error| wrong(&format!("cannot be opened: {error}")))?;
    let mode = file.metadata().map_err(|error| wrong(&error.to_string()))?.permissions().mode();
    if mode & 0o111 == 0 {
        return Err(wrong("is not executable; make it so with chmod +x"));
    }
    let directory = fs::canonicalize(directory).map_err(|error| wrong(&error.to_string()))?;
    Ok(directory.join(path))
}
