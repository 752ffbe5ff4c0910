//! Reads the directory of an agent and parses its files. `validate` checks whether they are consistent.

mod agents;
mod files;
mod shape;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;

use crate::definition::{AGENT_FILE, AgentDefinition, STEPS_FILE};

use agents::not_found;
pub use agents::{check_name, find, list};
#[cfg(test)]
use files::{FILES_LIMIT, JSON_BYTES_LIMIT, PROMPT_BYTES_LIMIT};

/// Reads the agent in this directory. Follows no symbolic link.
pub fn load(directory: &Path) -> Result<AgentDefinition, Fault> {
    let directory = named(directory);
    if !directory.is_dir() {
        let message = format!("There is no directory {}.", directory.display());
        return Err(not_found(message, directory.parent()));
    }
    let files = files::read(&directory)?;
    let agent = shape::parse(&directory, AGENT_FILE, text(&directory, &files, AGENT_FILE)?)?;
    let steps = shape::parse(&directory, STEPS_FILE, text(&directory, &files, STEPS_FILE)?)?;
    Ok(AgentDefinition { directory, agent, steps, files })
}

fn text<'a>(directory: &Path, files: &'a files::Files, name: &str) -> Result<&'a str, Fault> {
    files.get(name).map(String::as_str).ok_or_else(|| {
        let message = format!("{} is not an agent: it has no {name}.", directory.display());
        not_found(message, directory.parent())
    })
}

/// A directory such as `.` has no name of its own to compare with the agent's.
fn named(directory: &Path) -> PathBuf {
    match directory.file_name() {
        Some(_) => directory.to_owned(),
        None => directory.canonicalize().unwrap_or_else(|_| directory.to_owned()),
    }
}
