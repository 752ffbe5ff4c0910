//! The files of a climpt agent, and which of its formats they have.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;
use serde_json::{Map, Value};

use crate::definition::AGENT_FILE;
use crate::faults::{CONFIGURATION_NOT_FOUND, CONFIGURATION_PARSE};
use crate::load::{json_of, named, read_files};
use crate::problem;

/// The usual name of the registry.
pub(super) const REGISTRY_FILE: &str = "steps_registry.json";
pub(super) const CONFIG_FILE: &str = "config.json";

/// The two generations of `agent.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    /// With `behavior`.
    First,
    /// With `runner`.
    Second,
}

/// The kinds of `steps_registry.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepsDialect {
    /// Steps with a path each, and no transitions.
    PromptMap,
    /// Steps with a C3L place each, and no transitions.
    C3lMap,
    /// Steps with a check each, which has transitions.
    StepFlow,
    /// Steps that answer with an intent, which has a transition.
    Gates,
}

impl StepsDialect {
    pub(super) fn in_words(self, generation: Generation) -> &'static str {
        match (generation, self) {
            (Generation::First, Self::PromptMap) => "behavior, prompt map",
            (Generation::First, Self::C3lMap) => "behavior, C3L map",
            (Generation::First, Self::StepFlow) => "behavior, step flow",
            (Generation::First, Self::Gates) => "behavior, gates",
            (Generation::Second, Self::PromptMap) => "runner, prompt map",
            (Generation::Second, Self::C3lMap) => "runner, C3L map",
            (Generation::Second, Self::StepFlow) => "runner, step flow",
            (Generation::Second, Self::Gates) => "runner, gates",
        }
    }
}

/// A climpt agent as its files define it.
#[derive(Debug)]
pub(super) struct ClimptAgent {
    /// The name of its directory.
    pub(super) directory_name: String,
    pub(super) generation: Generation,
    pub(super) dialect: StepsDialect,
    pub(super) agent: Value,
    /// Empty if there is no `config.json`.
    pub(super) config: Value,
    pub(super) registry: Value,
    pub(super) steps: Map<String, Value>,
    /// Text files by their relative paths.
    pub(super) files: BTreeMap<String, String>,
}

impl ClimptAgent {
    /// A value of `agent.json`, by its place in either generation.
    pub(super) fn setting(&self, first: &str, second: &str) -> Option<&Value> {
        let pointer = match self.generation {
            Generation::First => first,
            Generation::Second => second,
        };
        self.agent.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(super) fn completion_type(&self) -> &str {
        let found = self.setting("/behavior/completionType", "/runner/verdict/type");
        let found = found.or_else(|| self.agent.pointer("/runner/completion/type"));
        found.and_then(Value::as_str).unwrap_or(match self.generation {
            Generation::First => "iterationBudget",
            Generation::Second => "count:iteration",
        })
    }

    pub(super) fn completion_config(&self) -> &Value {
        let found = self.setting("/behavior/completionConfig", "/runner/verdict/config");
        found.or_else(|| self.agent.pointer("/runner/completion/config")).unwrap_or(&Value::Null)
    }
}

/// The climpt agents in a directory: the directory itself, or those directly in it.
pub fn find_climpt_agents(directory: &Path) -> Result<Vec<PathBuf>, Fault> {
    let not_found = |message: String| {
        let hint =
            "Name the directory of a climpt agent, such as .agent/reviewer, or .agent for all of them.";
        CONFIGURATION_NOT_FOUND.fault(message).hint(hint)
    };
    if !directory.is_dir() {
        return Err(not_found(format!("There is no directory {}.", directory.display())));
    }
    if directory.join(AGENT_FILE).symlink_metadata().is_ok() {
        return Ok(vec![directory.to_owned()]);
    }
    let unreadable =
        |error: std::io::Error| not_found(format!("{} cannot be read: {error}.", directory.display()));
    let mut agents = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.join(AGENT_FILE).symlink_metadata().is_ok() {
            agents.push(path);
        }
    }
    agents.sort();
    match agents.is_empty() {
        true => Err(not_found(format!(
            "There is no {AGENT_FILE} in {} or directly below it.",
            directory.display()
        ))),
        false => Ok(agents),
    }
}

pub(super) fn read(directory: &Path) -> Result<ClimptAgent, Fault> {
    let directory = named(directory);
    let directory_name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (files, mut problems) = read_files(&directory)?;
    let mut parse = |name: &str| match files.get(name).map(|text| json_of(name, text)) {
        Some(Ok(value)) => value,
        Some(Err(problem)) => {
            problems.push(*problem);
            Value::Null
        }
        None => Value::Null,
    };
    let agent = parse(AGENT_FILE);
    let registry_file = agent
        .pointer("/prompts/registry")
        .or_else(|| agent.pointer("/runner/flow/prompts/registry"))
        .and_then(Value::as_str)
        .unwrap_or(REGISTRY_FILE)
        .trim_start_matches("./")
        .to_owned();
    let registry = parse(&registry_file);
    let config = parse(CONFIG_FILE);
    if !problems.is_empty() {
        return Err(problem::fault(&directory_name, &problems));
    }
    let generation = generation(&directory, &agent)?;
    let no_steps = |what: &str| {
        let what = format!("{} {what}.", directory.join(&registry_file).display());
        CONFIGURATION_PARSE
            .fault(what)
            .hint("Without steps there is nothing to import; `autonoe agent init NAME` creates an agent.")
    };
    if registry.is_null() {
        return Err(no_steps("does not exist"));
    }
    let steps = registry.get("steps").and_then(Value::as_object).cloned().unwrap_or_default();
    if steps.is_empty() {
        return Err(no_steps("has no `steps`"));
    }
    if let Some((name, _)) = steps.iter().find(|(_, step)| !step.is_object()) {
        return Err(no_steps(&format!("has a step that is not an object: {name}")));
    }
    let steps: Map<String, Value> = steps.into_iter().map(|(name, step)| (name, flat(step))).collect();
    let dialect = dialect(&registry, &steps);
    Ok(ClimptAgent { directory_name, generation, dialect, agent, config, registry, steps, files })
}

fn generation(directory: &Path, agent: &Value) -> Result<Generation, Fault> {
    if agent.get("runner").is_some_and(Value::is_object) {
        Ok(Generation::Second)
    } else if agent.get("behavior").is_some_and(Value::is_object) {
        Ok(Generation::First)
    } else {
        let what = format!(
            "{} is not an agent of climpt: it has neither `behavior` nor `runner`.",
            directory.join(AGENT_FILE).display()
        );
        let hint = match directory.join("steps.json").symlink_metadata() {
            Ok(_) => "It seems to be an agent of Autonoe already; copy its directory to .autonoe/agents.",
            Err(_) => "Name the directory of a climpt agent, such as .agent/reviewer.",
        };
        Err(CONFIGURATION_PARSE.fault(what).hint(hint))
    }
}

/// The latest registries have the C3L place in `address`, and `kind` instead of `stepKind`.
fn flat(mut step: Value) -> Value {
    if let Some(fields) = step.as_object_mut() {
        if let Some(Value::Object(address)) = fields.remove("address") {
            for (name, value) in address {
                fields.entry(name).or_insert(value);
            }
        }
        if let Some(kind) = fields.remove("kind") {
            fields.entry("stepKind").or_insert(kind);
        }
    }
    step
}

fn dialect(registry: &Value, steps: &Map<String, Value>) -> StepsDialect {
    let has = |names: &[&str]| steps.values().any(|step| names.iter().any(|name| step.get(name).is_some()));
    let has_entry = registry.get("entryStep").is_some() || registry.get("entryStepMapping").is_some();
    if has(&["structuredGate", "transitions", "stepKind"]) {
        StepsDialect::Gates
    } else if has(&["check", "prompt", "iterations"]) {
        StepsDialect::StepFlow
    } else if has_entry {
        StepsDialect::Gates
    } else if has(&["c2"]) {
        StepsDialect::C3lMap
    } else {
        StepsDialect::PromptMap
    }
}
