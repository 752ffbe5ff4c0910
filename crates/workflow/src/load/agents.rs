//! The directory of all agents: listing them, and finding one by name.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;
use autonoe_files::read_bytes_beneath;
use serde_json::Value;

use super::files::JSON_BYTES_LIMIT;
use crate::definition::AGENT_FILE;
use crate::faults::{CONFIGURATION_NOT_FOUND, CONFIGURATION_PARSE, CONFIGURATION_VALIDATION};
use crate::names;

pub fn check_name(name: &str) -> Result<(), Fault> {
    match names::is_agent(name) {
        true => Ok(()),
        false => Err(CONFIGURATION_VALIDATION
            .fault(format!("'{name}' is not a valid agent name."))
            .hint("Use lowercase letters, digits and hyphens, starting with a letter.")),
    }
}

pub fn find(agents_dir: &Path, name: &str) -> Result<PathBuf, Fault> {
    if !names::is_agent(name) {
        let what = format!("'{name}' is not a valid agent name.");
        return Err(not_found(what, Some(agents_dir)));
    }
    let agents = list(agents_dir)?;
    if let Some(directories) =
        directories_by_name(&agents).remove(name).filter(|directories| directories.len() > 1)
    {
        let what = format!("{} agents have the name '{name}': {}.", directories.len(), shown(&directories));
        return Err(CONFIGURATION_VALIDATION.fault(what).hint("Give each the name of its own directory."));
    }
    agents.into_iter().find(|agent| agent.file_name().is_some_and(|found| found == name)).ok_or_else(|| {
        let what = format!("There is no agent '{name}' in {}.", agents_dir.display());
        not_found(what, Some(agents_dir))
    })
}

/// The directories of all agents, sorted by name. Empty if `agents_dir` does not exist.
pub fn list(agents_dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let unreadable = |error: io::Error| {
        let what = format!("{} cannot be read: {error}.", agents_dir.display());
        CONFIGURATION_PARSE.fault(what).hint("Make sure that it is a directory and that you can read it.")
    };
    let entries = match fs::read_dir(agents_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut agents = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !hidden && path.join(AGENT_FILE).symlink_metadata().is_ok() {
            agents.push(path);
        }
    }
    agents.sort();
    Ok(agents)
}

/// The directories by the agent name in their `agent.json`. Files that cannot be read are skipped; loading reports them.
fn directories_by_name(agents: &[PathBuf]) -> BTreeMap<String, Vec<PathBuf>> {
    let mut directories_by_name: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for agent in agents {
        if let Some(name) = name_in(&agent.join(AGENT_FILE)) {
            directories_by_name.entry(name).or_default().push(agent.clone());
        }
    }
    directories_by_name
}

fn name_in(file: &Path) -> Option<String> {
    let text = read_bytes_beneath(file.parent()?, Path::new(file.file_name()?), JSON_BYTES_LIMIT).ok()?;
    let agent: Value = serde_json::from_slice(&text).ok()?;
    Some(agent.get("name")?.as_str()?.to_owned())
}

fn shown(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(" and ")
}

/// A fault whose hint lists the available agents.
pub(super) fn not_found(message: String, agents_dir: Option<&Path>) -> Fault {
    let names: Vec<String> = agents_dir
        .and_then(|agents| list(agents).ok())
        .unwrap_or_default()
        .iter()
        .filter_map(|agent| Some(agent.file_name()?.to_string_lossy().into_owned()))
        .collect();
    let create = "`autonoe agent init NAME` creates a new one.";
    let hint = match names.as_slice() {
        [] => format!("There are no agents yet; {create}"),
        names => format!("Available agents: {}. {create}", names.join(", ")),
    };
    CONFIGURATION_NOT_FOUND.fault(message).hint(hint)
}
