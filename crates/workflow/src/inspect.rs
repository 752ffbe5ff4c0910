//! All problems of an agent's directory at once: what cannot be read, and what of the rest is not consistent.

#[cfg(test)]
mod tests;

use std::path::Path;

use autonoe_core::fault::Fault;

use crate::definition::AgentDefinition;
use crate::load::read;
use crate::problem::{self, Problem, ValidationResult};
use crate::validate::validate_read;

/// An agent's directory and its problems.
pub struct Inspection {
    /// `None` if parts of it could not be read.
    pub definition: Option<AgentDefinition>,
    pub result: ValidationResult,
}

/// Finds all problems of the agent in this directory. A fault means that there is no agent, or that it is too large.
pub fn inspect(directory: &Path) -> Result<Inspection, Fault> {
    let mut read = read(directory)?;
    let unreadable = std::mem::take(&mut read.problems);
    let mut result = validate_read(&read.definition, std::mem::take(&mut read.unread));
    let is_read = unreadable.is_empty();
    result.errors.splice(0..0, unreadable);
    for problems in [&mut result.errors, &mut result.warnings] {
        read.add_lines(problems);
        Problem::in_order(problems);
    }
    Ok(Inspection { definition: is_read.then_some(read.definition), result })
}

/// Reads the agent in this directory. If parts of it cannot be read, the fault lists all of its errors.
pub fn load(directory: &Path) -> Result<AgentDefinition, Fault> {
    let Inspection { definition, result } = inspect(directory)?;
    definition.ok_or_else(|| {
        let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        problem::fault(&name, &result.errors)
    })
}
