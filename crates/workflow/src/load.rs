//! Reads the directory of an agent and parses its files. `validate` checks whether they are consistent.

mod agents;
mod files;
mod positions;
mod shape;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::definition::{AGENT_FILE, AgentDefinition, STEPS_FILE};
use crate::faults::{CONFIGURATION_NOT_FOUND, CONFIGURATION_PARSE};
use crate::json_location::JsonLocation;
use crate::problem::Problem;
use crate::schema::{agent_schema, steps_schema};
use crate::unread::Unread;

use agents::not_found;
pub use agents::{check_name, find, list};
#[cfg(test)]
use files::{FILES_LIMIT, JSON_BYTES_LIMIT, PROMPT_BYTES_LIMIT};
use positions::{Positions, positions};
use shape::ShapeReader;

/// An agent's directory, as far as it could be read.
pub(crate) struct ReadDefinition {
    /// With placeholders for what could not be read.
    pub(crate) definition: AgentDefinition,
    /// Everything that could not be read.
    pub(crate) problems: Vec<Problem>,
    pub(crate) unread: Unread,
    lines: Vec<(&'static str, Positions)>,
}

impl ReadDefinition {
    /// Adds its line to each problem that has none.
    pub(crate) fn add_lines(&self, problems: &mut [Problem]) {
        for problem in problems.iter_mut().filter(|problem| problem.line.is_none()) {
            let of_file = self.lines.iter().find(|(file, _)| *file == problem.file);
            problem.line = of_file.and_then(|(_, positions)| positions.line_of(&problem.path));
        }
    }
}

/// Reads the agent in this directory. Follows no symbolic link.
pub(crate) fn read(directory: &Path) -> Result<ReadDefinition, Fault> {
    let directory = named(directory);
    if !directory.is_dir() {
        let message = format!("There is no directory {}.", directory.display());
        return Err(not_found(message, directory.parent()));
    }
    let found = files::read(&directory)?;
    let is_known = |name: &str| found.files.contains_key(name) || found.is_unreadable(name);
    if !is_known(AGENT_FILE) {
        let message = format!("{} is not an agent: it has no {AGENT_FILE}.", directory.display());
        return Err(not_found(message, directory.parent()));
    }
    let mut unread = Unread::default();
    found.problems.iter().for_each(|problem| unread.insert_file(&problem.file));
    let mut reader = FileReader { found: &found, problems: Vec::new(), unread, lines: Vec::new() };
    let agent = reader.read(AGENT_FILE, &agent_schema())?;
    let steps = reader.read(STEPS_FILE, &steps_schema())?;
    let FileReader { problems, unread, lines, .. } = reader;
    let problems = [found.problems, problems].concat();
    let definition = AgentDefinition { directory, agent, steps, files: found.files };
    Ok(ReadDefinition { definition, problems, unread, lines })
}

/// Reads the JSON files and gathers their problems.
struct FileReader<'a> {
    found: &'a files::FoundFiles,
    problems: Vec<Problem>,
    unread: Unread,
    lines: Vec<(&'static str, Positions)>,
}

impl FileReader<'_> {
    fn read<T: DeserializeOwned>(&mut self, name: &'static str, schema: &Value) -> Result<T, Fault> {
        let value = self.value(name);
        if value.is_none() {
            self.unread.insert(JsonLocation::root(name));
        }
        let is_read = value.is_some();
        let mut shape = ShapeReader::new(schema);
        let fitted = shape.read(name, value.unwrap_or_else(|| json!({})));
        if is_read {
            self.problems.append(&mut shape.problems);
            self.unread.extend(shape.unread);
        }
        serde_path_to_error::deserialize(&fitted).map_err(|error| {
            let what = format!("{name}, {}: {}.", error.path(), error.inner());
            CONFIGURATION_PARSE
                .fault(what)
                .hint("`autonoe agent schema` prints the JSON Schemas of the files.")
        })
    }

    /// The JSON value of a file; `None` with a problem if it is missing or not JSON.
    fn value(&mut self, name: &'static str) -> Option<Value> {
        let Some(text) = self.found.files.get(name) else {
            if !self.found.is_unreadable(name) {
                let remedy = "Create it; `autonoe agent init NAME` creates a complete agent.";
                let problem = Problem::of_file(CONFIGURATION_NOT_FOUND, name, "the file is missing", remedy);
                self.problems.push(problem);
            }
            return None;
        };
        match json_of(name, text) {
            Ok(value) => {
                let positions = positions(name, text.trim_start_matches('\u{feff}'));
                self.duplicates(&positions);
                self.lines.push((name, positions));
                Some(value)
            }
            Err(problem) => {
                self.problems.push(*problem);
                None
            }
        }
    }

    fn duplicates(&mut self, positions: &Positions) {
        for (at, name, line) in &positions.duplicates {
            let what = format!("duplicate field `{name}`");
            let remedy = "Remove or rename one of them.".to_owned();
            let problem = at.problem(CONFIGURATION_PARSE, Value::Null, what, remedy);
            self.problems.push(Problem { line: Some(*line), ..problem });
        }
    }
}

fn not_json(name: &str, error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    let what = format!("it is not JSON: {what}, at column {}", error.column());
    let remedy = "Check that position and the text just before it.";
    Problem { line: Some(error.line()), ..Problem::of_file(CONFIGURATION_PARSE, name, what, remedy) }
}

/// The text files of a directory, and those that cannot be read.
pub(crate) fn read_files(directory: &Path) -> Result<(BTreeMap<String, String>, Vec<Problem>), Fault> {
    files::read(directory).map(|found| (found.files, found.problems))
}

/// Parses a JSON file.
pub(crate) fn json_of(name: &str, text: &str) -> Result<Value, Box<Problem>> {
    serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text))
        .map_err(|error| Box::new(not_json(name, &error)))
}

/// A directory such as `.` has no name of its own to compare with the agent's.
pub(crate) fn named(directory: &Path) -> PathBuf {
    match directory.file_name() {
        Some(_) => directory.to_owned(),
        None => directory.canonicalize().unwrap_or_else(|_| directory.to_owned()),
    }
}
