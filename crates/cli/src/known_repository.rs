//! Where the repository of a project is in which agents work in place. That is on record from their first run on: an agent that can write the
//! project could redirect its `.git` to another repository of the user's, which the next run would then open to it.

use std::fs;
use std::path::PathBuf;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::list_names;
use autonoe_files::{DOCUMENT_LIMIT, read_text};
use autonoe_sandbox::Repository;
use autonoe_store::Project;

const RECORD: &str = "repository.json";

/// Refuses a repository outside the project that is not the one of the first run in place.
pub fn check_repository(project: &Project) -> Result<(), Fault> {
    let outside = Repository::around(project.root()).directories;
    let outside = outside.iter().filter(|directory| !directory.starts_with(project.root()));
    let outside: Vec<String> = outside.map(|directory| directory.display().to_string()).collect();
    let record = project.state_dir().join(RECORD);
    let known = read_text(&record, DOCUMENT_LIMIT).ok().flatten();
    let known: Option<Vec<String>> = known.and_then(|text| serde_json::from_str(&text).ok());
    let Some(known) = known else {
        return remember(&record, &outside);
    };
    let new: Vec<&str> = outside.iter().filter(|path| !known.contains(path)).map(String::as_str).collect();
    if new.is_empty() {
        return Ok(());
    }
    let message = format!(
        "The repository of this project is now {}, outside of it, and was not when agents first worked in place; one of them may have \
         redirected it.",
        list_names(new)
    );
    let hint =
        format!("If you have moved it, remove {}. Otherwise look at .git in the project.", record.display());
    Err(Fault::permanent(FaultLayer::Config, "repository_moved", message).hint(hint))
}

fn remember(record: &PathBuf, outside: &[String]) -> Result<(), Fault> {
    let text = serde_json::to_string(outside).unwrap_or_default();
    let written = record.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(record, text));
    written.map_err(|error| {
        let message = format!("{} cannot be written: {error}.", record.display());
        Fault::permanent(FaultLayer::Store, "repository_record", message)
    })
}
