//! The directory in which all agents are: which there are, and which one is meant.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;
use autonoe_files::read_bytes_beneath;
use serde_json::Value;

use super::files::JSON_BYTES_LIMIT;
use super::not_found;
use crate::definition::AGENT_FILE;
use crate::faults::{CONFIGURATION_PARSE, CONFIGURATION_VALIDATION};
use crate::names;

/// Whether an agent may have this name.
pub fn check_name(name: &str) -> Result<(), Fault> {
    match names::is_agent(name) {
        true => Ok(()),
        false => Err(CONFIGURATION_VALIDATION
            .fault(format!("'{name}' cannot be the name of an agent."))
            .hint("Use small letters, digits and dashes, and begin with a letter.")),
    }
}

/// The directory of the agent of this name.
pub fn find(agents_dir: &Path, name: &str) -> Result<PathBuf, Fault> {
    if !names::is_agent(name) {
        let what = format!("'{name}' cannot be the name of an agent.");
        return Err(not_found(what, Some(agents_dir)));
    }
    let agents = list(agents_dir)?;
    if let Some(claimants) = claims(&agents).remove(name).filter(|claimants| claimants.len() > 1) {
        let what = format!("{} agents call themselves '{name}': {}.", claimants.len(), shown(&claimants));
        return Err(CONFIGURATION_VALIDATION.fault(what).hint("Give each the name of its own directory."));
    }
    agents.into_iter().find(|agent| agent.file_name().is_some_and(|found| found == name)).ok_or_else(|| {
        let what = format!("There is no agent '{name}' in {}.", agents_dir.display());
        not_found(what, Some(agents_dir))
    })
}

/// The directories of all agents, in the order of their names. Where no agents are kept there are none.
pub fn list(agents_dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let unreadable = |error: io::Error| {
        let what = format!("{} cannot be read: {error}.", agents_dir.display());
        CONFIGURATION_PARSE.fault(what).hint("See to it that it is a directory that you may read.")
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

/// Who calls itself what. Of a file that cannot be read nothing is known here; who loads it will be told.
fn claims(agents: &[PathBuf]) -> BTreeMap<String, Vec<PathBuf>> {
    let mut claims: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for agent in agents {
        if let Some(name) = name_in(&agent.join(AGENT_FILE)) {
            claims.entry(name).or_default().push(agent.clone());
        }
    }
    claims
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
