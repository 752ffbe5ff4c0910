//! The project's own instructions: `.autonoe/<name>.md` replaces the built-in text.

use std::fs;
use std::io;
use std::path::PathBuf;

use async_trait::async_trait;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::instruction::{InstructionName, Instructions};

use crate::project::Project;

/// Looks for an override each time, so that an edit takes effect with the next session.
pub struct ProjectInstructions {
    directory: PathBuf,
}

impl ProjectInstructions {
    /// The instructions of a project.
    pub fn new(project: &Project) -> Self {
        Self { directory: project.autonoe_dir() }
    }

    /// The text for one instruction.
    pub fn read(&self, name: InstructionName) -> Result<String, Fault> {
        let path = self.directory.join(format!("{name}.md"));
        let wrong = |message: String| {
            Fault::lasting(Layer::Config, "instruction_override", message)
                .hint("Write the instruction into the file, or delete the file to use the built-in one.")
        };
        match fs::read_to_string(&path) {
            Ok(text) if text.trim().is_empty() => {
                Err(wrong(format!("The instruction override {} is empty.", path.display())))
            }
            Ok(text) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(name.built_in().to_owned()),
            Err(error) => {
                Err(wrong(format!("The instruction override {} cannot be read: {error}.", path.display())))
            }
        }
    }

    /// Reads all four, so that a wrong one is found before anything is spent.
    pub fn check_all(&self) -> Result<(), Fault> {
        InstructionName::ALL.into_iter().try_for_each(|name| self.read(name).map(drop))
    }
}

#[async_trait]
impl Instructions for ProjectInstructions {
    async fn resolve(&self, name: InstructionName) -> Result<String, Fault> {
        self.read(name)
    }
}
