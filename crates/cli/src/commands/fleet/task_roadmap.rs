//! The roadmap that `autonoe fleet up` makes of a task.

use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{UntrustedDir, Visibility};
use autonoe_store::{Project, sha256_hex};

use crate::write_fault::cannot_write;

const HARNESS: &str = ".harness";

/// The roadmap of a task, which is not written before the fleet is about to begin.
pub struct TaskRoadmap {
    /// In `.harness/`.
    name: String,
    pub text: String,
}

impl TaskRoadmap {
    pub fn of(text: String) -> Self {
        Self { name: format!("task-{}.md", &sha256_hex(text.as_bytes())[..8]), text }
    }

    pub fn path(&self) -> PathBuf {
        Path::new(HARNESS).join(&self.name)
    }

    /// Returns whether it was missing.
    pub fn write(&self, project: &Project) -> Result<bool, Fault> {
        let written = UntrustedDir::open(project.root())
            .and_then(|root| root.create_missing(Path::new(HARNESS), Visibility::OwnerOnly))
            .and_then(|all| {
                all.write_missing(".gitignore".as_ref(), b"*\n")?;
                let is_new = !all.has(self.name.as_ref());
                all.replace(self.name.as_ref(), self.text.as_bytes(), Visibility::OwnerOnly)?;
                Ok(is_new)
            });
        let directory = project.root().join(HARNESS);
        written.map_err(|error| cannot_write(FaultLayer::System, "fleet", &directory, &error))
    }

    /// Of a fleet that does not begin.
    pub fn remove(&self, project: &Project) {
        // Ignored: what is left does no harm.
        let _ = UntrustedDir::open(project.root())
            .and_then(|root| root.existing(Path::new(HARNESS)))
            .and_then(|all| all.remove(self.name.as_ref()));
    }
}
