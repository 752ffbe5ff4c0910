//! Brings the note that an agent has written to the user's project. What the user has written there meanwhile stays.

use std::fs;
use std::io;
use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{DOCUMENT_LIMIT, ReadError, read_bytes, read_bytes_beneath, replace_beneath};

use crate::hub::Hub;
use crate::project_files::NOTE;
use crate::site_event::SiteEvent;
use crate::workspace::Workspace;

/// Larger notes do not come home.
const NOTE_LIMIT: u64 = 1 << 20;

/// The file of a workspace that has the user's note as the agent knows it, out of the agent's reach.
const KNOWN: &str = "note-known";

/// The file of the hub that has the note as an agent's came home last.
const BROUGHT: &str = "note-brought";

/// Between the user's note and the agent's.
const SEPARATOR: &[u8] = b"\n---\n\n";

impl Hub {
    /// Records the user's note as a workspace has it; `None` if the user has none.
    pub(crate) fn record_known_note(&self, workspace: &Workspace, note: Option<&[u8]>) -> Result<(), Fault> {
        let path = workspace.directory.join(KNOWN);
        let recorded = match note {
            Some(note) => fs::write(path, note),
            None => remove_if_there(&path),
        };
        recorded.map_err(|error| self.unwritable(&error))
    }

    /// Gives the user the note that an agent has written, if it is a plain file and not too large. If the user has edited the note since the
    /// agent got it, the agent's comes below.
    pub(crate) fn carry_note_home(&self, workspace: &Workspace) -> Result<Option<SiteEvent>, Fault> {
        let source = workspace.part().join(NOTE);
        let Ok(agents) = read_bytes_beneath(&workspace.tree(), &source, NOTE_LIMIT) else {
            return Ok(None);
        };
        let known = recorded(&workspace.directory.join(KNOWN));
        if known.as_ref() == Some(&agents) {
            return Ok(None);
        }
        let users = match read_bytes_beneath(self.root(), Path::new(NOTE), DOCUMENT_LIMIT) {
            Ok(users) => Some(users),
            Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Ok(Some(SiteEvent::NoteKept { why: error.to_string() })),
        };
        let brought = self.layout.directory().join(BROUGHT);
        let is_edited =
            |users: &Vec<u8>| ![&known, &recorded(&brought)].iter().any(|note| note.as_ref() == Some(users));
        match users {
            Some(users) if users == agents => Ok(None),
            Some(users) if is_edited(&users) => {
                // It is there if the agent could not get the user's text the last time.
                if users.ends_with(&agents) {
                    return Ok(None);
                }
                let both = [users.trim_ascii_end(), b"\n", SEPARATOR, &agents].concat();
                self.write_note(&both)?;
                // If the agent does not get the user's text, it stays one that the agent does not know.
                if replace_beneath(&workspace.tree(), &source, &both).is_ok() {
                    self.record_known_note(workspace, Some(&both))?;
                }
                Ok(Some(SiteEvent::NoteAppended))
            }
            Some(_) | None => {
                self.write_note(&agents)?;
                fs::write(brought, &agents).map_err(|error| self.unwritable(&error))?;
                self.record_known_note(workspace, Some(&agents))?;
                Ok(None)
            }
        }
    }

    fn write_note(&self, note: &[u8]) -> Result<(), Fault> {
        replace_beneath(self.root(), Path::new(NOTE), note).map_err(|error| {
            let message = format!("{} cannot be written: {error}.", self.root().join(NOTE).display());
            Fault::permanent(FaultLayer::System, "landing", message)
        })
    }
}

/// A note that we have recorded; `None` if there is none.
fn recorded(path: &Path) -> Option<Vec<u8>> {
    read_bytes(path, DOCUMENT_LIMIT).ok().flatten()
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
