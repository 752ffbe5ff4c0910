//! Reads files of the project and finds programs of the agent. Other processes may change both directories at the same time.

use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use autonoe_core::fault::Fault;
use autonoe_files::{ReadError, open_beneath, read_bytes_beneath};

use crate::faults;

/// The largest file that is read.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The content of a file of the project; `None` if it does not exist. A link is followed if it stays in the project.
pub(super) fn read(root: &Path, path: &str) -> Result<Option<String>, Fault> {
    let error = |why: &str| unreadable(&format!("The file `{path}`"), why);
    if path.is_empty() || path.contains('\0') || Path::new(path).is_absolute() {
        return Err(error("its path must be relative to the project"));
    }
    let root = root.canonicalize().map_err(|cause| error(&cause.to_string()))?;
    let target = match root.join(path).canonicalize() {
        Ok(target) => target,
        Err(cause) if is_absent(&cause) => return Ok(None),
        Err(cause) => return Err(error(&cause.to_string())),
    };
    let Ok(inside) = target.strip_prefix(&root) else {
        return Err(error("it is outside of the project"));
    };
    match read_bytes_beneath(&root, inside, MAX_FILE_BYTES) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(ReadError::Io(error)) if is_absent(&error) => Ok(None),
        Err(cause) => Err(error(&cause.to_string())),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn unreadable(what: &str, why: &str) -> Fault {
    let hint = "Name a regular file of the project, of at most 1 MiB, in `completion` of agent.json.";
    faults::COMPLETION.fault(format!("{what} cannot be read: {why}.")).hint(hint)
}

/// Why a program of the agent cannot be run.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProgramError {
    #[error("`{0}` is not the path of a program in the agent's directory")]
    Outside(String),
    #[error("{} cannot be opened: {cause}", path.display())]
    Open { path: PathBuf, cause: ReadError },
    #[error("{} {cause}", path.display())]
    Io { path: PathBuf, cause: io::Error },
    #[error("{} is not executable; run chmod +x on it", .0.display())]
    NotExecutable(PathBuf),
}

/// The path of a program in the agent's directory.
pub(super) fn executable(directory: &Path, program: &str) -> Result<PathBuf, ProgramError> {
    let path = Path::new(program);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if program.is_empty() || program.contains('\0') || !is_plain {
        return Err(ProgramError::Outside(program.to_owned()));
    }
    let shown = directory.join(path);
    let io = |cause| ProgramError::Io { path: shown.clone(), cause };
    // Opening it follows no link and requires a regular file.
    let file =
        open_beneath(directory, path).map_err(|cause| ProgramError::Open { path: shown.clone(), cause })?;
    let mode = file.metadata().map_err(io)?.permissions().mode();
    if mode & 0o111 == 0 {
        return Err(ProgramError::NotExecutable(shown));
    }
    let directory = fs::canonicalize(directory).map_err(io)?;
    Ok(directory.join(path))
}
