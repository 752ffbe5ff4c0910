//! Files of a project that do not travel with commits: SPEC.md, the note and `.autonoe`. A workspace gets them as the user has them
//! now, and only the note comes home (`note_home.rs`).

use std::os::unix::fs::symlink;
use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{
    DOCUMENT_LIMIT, UntrustedDir, Visibility, read_bytes, read_bytes_beneath, replace_beneath,
};

use crate::hub::Hub;
use crate::project_files::{NOTE, OWN_DIRECTORY, SPEC};
use crate::project_revision::ProjectRevision;
use crate::workspace::Workspace;

impl Hub {
    /// Gives a workspace what is the user's and not in its commits.
    pub(crate) fn carry_in(&self, workspace: &Workspace, from: &ProjectRevision) -> Result<(), Fault> {
        // Nothing of the project may be committed yet.
        UntrustedDir::open(&workspace.tree())
            .and_then(|tree| tree.create(workspace.part(), Visibility::Everyone))
            .map_err(|error| self.unwritable(&error))?;
        self.carry_file_in(SPEC, workspace, from)?;
        let note = self.carry_file_in(NOTE, workspace, from)?;
        self.record_known_note(workspace, note.as_deref())?;
        // Rooms that show the workspace at the project's path have the user's directory there.
        if !self.room_config.sandbox.layer().can_move() {
            // Whatever else is there is not used.
            let _ = symlink(self.root().join(OWN_DIRECTORY), workspace.root().join(OWN_DIRECTORY));
        }
        Ok(())
    }

    /// Gives a workspace SPEC.md once more. An agent may have made its files read-only, which only harms itself.
    pub(crate) fn renew_spec(&self, workspace: &Workspace, from: &ProjectRevision) -> Result<(), Fault> {
        match self.carry_file_in(SPEC, workspace, from) {
            Err(fault) if fault.layer == FaultLayer::System => Ok(()),
            renewed => renewed.map(drop),
        }
    }

    /// Gives a workspace a file as the user has it now, committed or not. Returns its content; `None` if the user has none.
    fn carry_file_in(
        &self,
        name: &str,
        workspace: &Workspace,
        from: &ProjectRevision,
    ) -> Result<Option<Vec<u8>>, Fault> {
        let source = self.root().join(name);
        // A link could lead to what agents must not see, and an agent could have made it.
        if source.is_symlink() && !leads_to_seen_file(&source, workspace, from) {
            let message = format!("{} is a link to a file that agents do not see.", source.display());
            return Err(Fault::permanent(FaultLayer::Config, "workspace", message)
                .hint("Make it a regular file, or a link to a committed one."));
        }
        let content = read_bytes(&source, DOCUMENT_LIMIT).map_err(|error| {
            let message = format!("{} cannot be read: {error}.", source.display());
            Fault::permanent(FaultLayer::Config, "workspace", message).hint(error.advice())
        })?;
        let (tree, target) = (workspace.tree(), workspace.part().join(name));
        let now = read_bytes_beneath(&tree, &target, DOCUMENT_LIMIT).ok();
        if let Some(content) = content.as_ref().filter(|content| now.as_ref() != Some(*content)) {
            replace_beneath(&tree, &target, content).map_err(|error| self.unwritable(&error))?;
        }
        Ok(content)
    }
}

/// Whether a link of the user's leads to a file that is in the workspace too.
fn leads_to_seen_file(link: &Path, workspace: &Workspace, from: &ProjectRevision) -> bool {
    let target = link.canonicalize().ok();
    let inside = target.as_deref().and_then(|target| target.strip_prefix(&from.top).ok());
    inside.is_some_and(|inside| read_bytes_beneath(&workspace.tree(), inside, DOCUMENT_LIMIT).is_ok())
}
