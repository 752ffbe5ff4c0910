//! Changes a text file in place: keeps its mode, its line endings and its byte order mark, and refuses a file that has
//! changed since the model last read it.

use std::fmt::Display;
use std::fs::File;
use std::io;

use autonoe_files::{ReadError, read_opened};

use crate::failure::ToolFailure;
use crate::workspace::Fingerprint;
use crate::workspace::Workspace;

/// The maximum size of a file to edit, since it is read into memory.
pub const MAX_EDIT_BYTES: u64 = 16 * 1024 * 1024;

/// The new text of a file, and a summary of the change.
pub(crate) struct TextChange<T> {
    pub(crate) text: String,
    pub(crate) summary: T,
}

/// Replaces a file's text with the result of `work`, or leaves the file unchanged if `work` fails. Returns the display path
/// and the summary.
pub(crate) fn change<T, E: Display>(
    workspace: &Workspace,
    path: &str,
    work: impl FnOnce(&str) -> Result<TextChange<T>, E>,
) -> Result<(String, T), ToolFailure> {
    let path = workspace.resolve(path);
    let shown = workspace.show(&path);
    let mut known = workspace.known_files();
    let (entry, old) = workspace.opener().open_existing(&path, &shown)?;
    let bytes = read(&old.file).map_err(|error| ToolFailure::io(&shown, &error))?.ok_or_else(|| {
        ToolFailure::invalid(format!(
            "{shown} is too large to edit: files of at most {MAX_EDIT_BYTES} bytes are supported. Change it with a \
             command such as `sed` in Bash."
        ))
    })?;
    if known.has_changed(&old.real, Fingerprint::of(&bytes)) {
        return Err(has_changed(&shown, "edit"));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        ToolFailure::invalid(format!(
            "{shown} is not UTF-8 text. Change it with a command such as `sed` in Bash."
        ))
    })?;
    let TextChange { text, summary } =
        work(&text).map_err(|why| ToolFailure::invalid(format!("{shown}: {why}")))?;
    entry.replace(text.as_bytes(), Some(&old.metadata)).map_err(|error| ToolFailure::io(&shown, &error))?;
    known.record(old.real, Fingerprint::of(text.as_bytes()));
    Ok((shown, summary))
}

/// The contents of a file; `None` if it is larger than [`MAX_EDIT_BYTES`].
pub(crate) fn read(file: &File) -> io::Result<Option<Vec<u8>>> {
    match read_opened(file, MAX_EDIT_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadError::TooLarge { .. }) => Ok(None),
        Err(ReadError::Io(error)) => Err(error),
        Err(error @ (ReadError::NotRegular(_) | ReadError::NotUtf8 { .. })) => Err(io::Error::other(error)),
    }
}

pub(crate) fn has_changed(shown: &str, verb: &str) -> ToolFailure {
    ToolFailure::invalid(format!(
        "{shown} has changed on disk since you last read or wrote it. Read it again before you {verb} it."
    ))
}
