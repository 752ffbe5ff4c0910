//! Changing a text file in place: its mode, its line ends and its byte order mark stay, and a file that has changed since
//! it was read is refused.

use std::fs::File;
use std::io;

use autonoe_files::{ReadError, read_opened};

use crate::Workspace;
use crate::failure::Failure;
use crate::workspace::Fingerprint;

/// The largest file that is edited, since all of it is held in memory.
pub const MAX_EDIT_BYTES: u64 = 16 * 1024 * 1024;

/// A file's new text, and what the caller has to say about it.
pub(crate) struct Change<T> {
    pub(crate) text: String,
    pub(crate) about: T,
}

/// Replaces a file's text by what `work` makes of it, or leaves it as it is if that fails. Gives the path as it is shown.
pub(crate) fn change<T>(
    workspace: &Workspace,
    path: &str,
    work: impl FnOnce(&str) -> Result<Change<T>, String>,
) -> Result<(String, T), Failure> {
    let path = workspace.resolve(path);
    let shown = workspace.show(&path);
    let mut seen = workspace.seen();
    let (spot, old) = workspace.reach().existing(&path, &shown)?;
    let bytes = read(&old.file).map_err(|error| Failure::io(&shown, &error))?.ok_or_else(|| {
        Failure::invalid(format!(
            "A file of at most {MAX_EDIT_BYTES} bytes can be edited; {shown} has more. Change it with a command such as \
             `sed` in Bash."
        ))
    })?;
    if seen.has_changed(&old.real, Fingerprint::of(&bytes)) {
        return Err(has_changed(&shown, "edit"));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::invalid(format!(
            "{shown} is not UTF-8 text. Change it with a command such as `sed` in Bash."
        ))
    })?;
    let Change { text, about } = work(&text).map_err(|why| Failure::invalid(format!("{shown}: {why}")))?;
    spot.put(text.as_bytes(), Some(&old.metadata)).map_err(|error| Failure::io(&shown, &error))?;
    seen.record(old.real, Fingerprint::of(text.as_bytes()));
    Ok((shown, about))
}

/// All of a file, unless it is too large.
pub(crate) fn read(file: &File) -> io::Result<Option<Vec<u8>>> {
    match read_opened(file, MAX_EDIT_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadError::TooLarge { .. }) => Ok(None),
        Err(ReadError::Io(error)) => Err(error),
        Err(error @ (ReadError::NotRegular(_) | ReadError::NotUtf8 { .. })) => Err(io::Error::other(error)),
    }
}

pub(crate) fn has_changed(shown: &str, verb: &str) -> Failure {
    Failure::invalid(format!(
        "{shown} has changed on disk since you last read or wrote it. Read it again before you {verb} it."
    ))
}
