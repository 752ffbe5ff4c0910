//! Turns an agent of climpt into one of ours. Only files are read; nothing of them is run.
//!
//! climpt has had several formats: `agent.json` with `behavior`, later with `runner`, and four kinds of `steps_registry.json`.
//! What has no counterpart here is left out, and the report says so.

mod access;
mod agent_file;
mod completion;
mod flow;
mod gates;
mod names;
mod outputs;
mod parameters;
mod prompts;
mod report;
mod settings;
mod source;
mod step_flow;
mod step_maps;
#[cfg(test)]
mod tests;
mod variables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::definition::{AGENT_FILE, AgentDefinition, PROMPTS_DIR, STEPS_FILE};
use crate::faults::CONFIGURATION_VALIDATION;
use crate::problem;
use crate::validate::validate;

use names::StepNames;
pub use report::{ImportNote, ImportReport};
pub use source::find_climpt_agents;
use source::{ClimptAgent, StepsDialect};

/// How to import an agent.
#[derive(Debug, Default, Clone, Copy)]
pub struct ImportOptions<'a> {
    /// The new name; `None` for the one that it has.
    pub name: Option<&'a str>,
    /// The first step, as climpt names it; `None` for the one that its completion type selects.
    pub entry: Option<&'a str>,
}

/// An agent of climpt in our format. Nothing is written yet.
#[derive(Debug)]
pub struct ImportedAgent {
    /// Valid. Its directory is that below `agents_dir`.
    pub definition: AgentDefinition,
    /// Its format, in words.
    pub format: &'static str,
    /// The steps of climpt and what they are called now.
    pub steps: BTreeMap<String, String>,
    pub report: ImportReport,
}

/// Reads the climpt agent in `directory` and converts it. `agents_dir` is where it will be written.
pub fn import(
    directory: &Path,
    agents_dir: &Path,
    options: ImportOptions<'_>,
) -> Result<ImportedAgent, Fault> {
    let source = source::read(directory)?;
    let name = names::agent(&source, options.name)?;
    let mut importer = Importer::new(&source, name);
    importer.import_parameters();
    let entry = match source.dialect {
        StepsDialect::PromptMap | StepsDialect::C3lMap => importer.import_map(options.entry)?,
        StepsDialect::StepFlow => importer.import_step_flow(options.entry)?,
        StepsDialect::Gates => importer.import_gates(options.entry)?,
    };
    importer.import_system_prompt();
    importer.declare_variables();
    importer.report_settings();
    let completion = importer.completion();
    let access = importer.access();
    importer.finish(agents_dir, &entry, completion, access)
}

/// The agent as far as it is converted.
struct Importer<'a> {
    source: &'a ClimptAgent,
    name: String,
    step_names: StepNames,
    /// The steps in our format, by their new names.
    steps: BTreeMap<String, Map<String, Value>>,
    parameters: BTreeMap<String, Value>,
    /// New names of variables, by those in climpt's prompts.
    renamed: BTreeMap<String, String>,
    /// The prompts, by their paths below the prompts directory.
    prompts: BTreeMap<String, String>,
    /// The prompt of each step, by the step's new name.
    prompt_of: BTreeMap<String, String>,
    system_prompt: Option<String>,
    reads_input: bool,
    report: ImportReport,
}

impl<'a> Importer<'a> {
    fn new(source: &'a ClimptAgent, name: String) -> Self {
        Self {
            source,
            name,
            step_names: StepNames::new(&source.steps),
            steps: BTreeMap::new(),
            parameters: BTreeMap::new(),
            renamed: BTreeMap::new(),
            prompts: BTreeMap::new(),
            prompt_of: BTreeMap::new(),
            system_prompt: None,
            reads_input: false,
            report: ImportReport::default(),
        }
    }

    fn finish(
        mut self,
        agents_dir: &Path,
        entry: &str,
        completion: Value,
        access: &'static str,
    ) -> Result<ImportedAgent, Fault> {
        let agent = self.agent_file(completion, access);
        let steps = self.steps_file(entry);
        let prompts = self.prompts.iter().map(|(path, text)| (format!("{PROMPTS_DIR}/{path}"), text.clone()));
        let mut files: BTreeMap<String, String> = prompts.collect();
        files.insert(AGENT_FILE.to_owned(), format!("{agent:#}\n"));
        files.insert(STEPS_FILE.to_owned(), format!("{steps:#}\n"));
        let directory: PathBuf = agents_dir.join(&self.name);
        let definition = AgentDefinition { directory, agent: typed(agent)?, steps: typed(steps)?, files };
        let result = validate(&definition);
        if !result.valid() {
            return Err(problem::fault(&self.name, &result.errors)
                .hint("These errors are in the result of the import, which was not written. Fix what they name in climpt's files."));
        }
        let steps = self.step_names.of(self.steps.keys());
        self.report.steps(&steps, self.prompts.len());
        let format = self.source.dialect.in_words(self.source.generation);
        Ok(ImportedAgent { definition, format, steps, report: self.report })
    }
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Fault> {
    serde_path_to_error::deserialize(&value).map_err(|error| {
        let what = format!("The imported definition does not fit at {}: {}.", error.path(), error.inner());
        CONFIGURATION_VALIDATION.fault(what).hint("Please report this with the definition.")
    })
}
