//! Names of climpt that are not names here: agents, dotted steps, parameters in camel case.

use std::collections::{BTreeMap, BTreeSet};

use autonoe_core::fault::Fault;
use serde_json::{Map, Value};

use super::source::ClimptAgent;
use crate::load::check_name;

/// The name of the agent: the given one, or that in its file, or that of its directory.
pub(super) fn agent(source: &ClimptAgent, given: Option<&str>) -> Result<String, Fault> {
    let written = source.agent.get("name").and_then(Value::as_str);
    let name = given.or(written).unwrap_or(&source.directory_name);
    check_name(name).map_err(|fault| match given {
        Some(_) => fault,
        None => fault.hint("Give it a name with --name: lowercase letters, digits and hyphens."),
    })?;
    Ok(name.to_owned())
}

/// The new names of climpt's steps, by the old ones.
#[derive(Debug)]
pub(super) struct StepNames(BTreeMap<String, String>);

impl StepNames {
    pub(super) fn new(steps: &Map<String, Value>) -> Self {
        let mut names = BTreeMap::new();
        let mut taken = BTreeSet::new();
        for old in steps.keys() {
            let plain: String =
                old.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
            let plain = match plain.starts_with(|first: char| first.is_ascii_alphabetic()) {
                true => plain,
                false => format!("step-{}", plain.trim_start_matches('-')),
            };
            let mut name = plain.clone();
            let mut number = 2;
            while !taken.insert(name.clone()) {
                name = format!("{plain}-{number}");
                number += 1;
            }
            names.insert(old.clone(), name);
        }
        Self(names)
    }

    pub(super) fn get(&self, old: &str) -> Option<&str> {
        self.0.get(old).map(String::as_str)
    }

    /// Those whose new names are among these.
    pub(super) fn of<'n>(&self, new: impl Iterator<Item = &'n String>) -> BTreeMap<String, String> {
        let new: BTreeSet<&String> = new.collect();
        let kept = self.0.iter().filter(|(_, name)| new.contains(name));
        kept.map(|(old, name)| (old.clone(), name.clone())).collect()
    }

    /// A name for a step that climpt does not have.
    pub(super) fn additional(&self, base: &str, suffix: &str) -> String {
        let mut name = format!("{base}-{suffix}");
        while self.0.values().any(|taken| *taken == name) {
            name.push_str("-2");
        }
        name
    }
}

/// A name in snake case: `iterateMax` is `iterate_max`.
pub(super) fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            if !snake.is_empty() && !snake.ends_with(['_', '-']) {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
        } else if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            snake.push(c);
        } else {
            snake.push('_');
        }
    }
    match snake.starts_with(|first: char| first.is_ascii_lowercase()) {
        true => snake,
        false => format!("value_{}", snake.trim_start_matches(['_', '-'])),
    }
}
