//! The project's own instructions: `.autonoe/<name>.md` replaces the built-in text.

use std::path::PathBuf;

use async_trait::async_trait;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::instruction::{Instructions, Phase};
use autonoe_files::{SETTINGS_LIMIT, read_text};

use crate::project::Project;

/// Reads an override each time, so that an edit takes effect with the next session.
pub struct ProjectInstructions {
    directory: PathBuf,
}

impl ProjectInstructions {
    pub fn new(project: &Project) -> Self {
        Self { directory: project.autonoe_dir() }
    }

    pub fn read(&self, name: Phase) -> Result<String, Fault> {
        let path = self.directory.join(format!("{name}.md"));
        let wrong = |message: String| {
            Fault::permanent(FaultLayer::Config, "instruction_override", message)
                .hint("Write the instruction into the file, or delete the file to use the built-in one.")
        };
        match read_text(&path, SETTINGS_LIMIT) {
            Ok(Some(text)) if text.trim().is_empty() => {
                Err(wrong(format!("The instruction override {} is empty.", path.display())))
            }
            Ok(Some(text)) => Ok(text),
            Ok(None) => Ok(name.built_in().to_owned()),
            Err(error) => {
                let message = format!("The instruction override {} cannot be read: {error}.", path.display());
                Err(wrong(message).hint(error.advice()))
            }
        }
    }

    /// Reads all instructions, so that an invalid one is found before anything is spent.
    pub fn check_all(&self) -> Result<(), Fault> {
        Phase::ALL.into_iter().try_for_each(|name| self.read(name).map(drop))
    }
}

#[async_trait]
impl Instructions for ProjectInstructions {
    async fn resolve(&self, name: Phase) -> Result<String, Fault> {
        self.read(name)
    }
}
