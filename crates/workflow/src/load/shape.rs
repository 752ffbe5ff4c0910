//! The shape of a JSON file: what is wrong in it is told with its place in the text and its path in the data.
//!
//! Serde reads alternatives from a copy, and so loses the path inside of them. What is wrong there is looked for once more.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use autonoe_core::fault::Fault;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;

use crate::definition::{Completion, PromptFile, PromptPlace, Resource, RetryPolicy, Transition};
use crate::faults::CONFIGURATION_PARSE;

/// How much of what was found is told, in characters.
const MAX_FOUND_CHARS: usize = 80;

/// Reads a file of the definition.
pub(super) fn parse<T: DeserializeOwned>(directory: &Path, name: &str, text: &str) -> Result<T, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shown = directory.join(name).display().to_string();
    read::<Unique>(&shown, text)?;
    read(&shown, text)
}

fn read<T: DeserializeOwned>(shown: &str, text: &str) -> Result<T, Fault> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = json_path("", &error.path().to_string());
        wrong(shown, text, &path, error.inner())
    })?;
    reader.end().map_err(|error| wrong(shown, text, "$", &error))?;
    Ok(value)
}

fn wrong(shown: &str, text: &str, path: &str, error: &serde_json::Error) -> Fault {
    let place = format!("line {}, column {}", error.line(), error.column());
    match error.classify() {
        Category::Data => {
            let inside = serde_json::from_str(text).ok().and_then(|value| inside(path, &value));
            let message = match inside {
                Some(Found { path, what }) => format!("{shown}, {path}: {what}."),
                None => format!("{shown}, {place}, {path}: {}.", bare(error)),
            };
            let hint = "`autonoe agent schema` prints what the files may hold.";
            CONFIGURATION_PARSE.fault(message).hint(hint)
        }
        Category::Syntax | Category::Eof | Category::Io => {
            let message = format!("{shown} is not JSON: {}, at {place}.", bare(error));
            CONFIGURATION_PARSE.fault(message).hint("Look at that place, and at what comes just before it.")
        }
    }
}

/// What the error says without its place.
fn bare(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(what, _)| what.to_owned())
}

/// What is wrong inside of an alternative.
struct Found {
    path: String,
    what: String,
}

/// Looks once more into what was read from a copy.
fn inside(path: &str, file: &Value) -> Option<Found> {
    let names: Vec<&str> = path.strip_prefix("$.")?.split('.').collect();
    match names.as_slice() {
        ["completion"] => completion(path, file.get("completion")?),
        ["steps", step, "prompt"] => prompt(path, file.get("steps")?.get(step)?.get("prompt")?),
        ["steps", step, "check"] => check(path, file.get("steps")?.get(step)?.get("check")?),
        _ => None,
    }
}

fn completion(path: &str, value: &Value) -> Option<Found> {
    let conditions = value.get("conditions").and_then(Value::as_array);
    if let Some(conditions) = conditions {
        for (at, condition) in conditions.iter().enumerate() {
            let path = format!("{path}.conditions[{at}]");
            if let Some(found) = misfit::<Completion>(&path, condition) {
                return completion(&path, condition).or(Some(found));
            }
        }
    }
    value.get("resource").and_then(|resource| misfit::<Resource>(&format!("{path}.resource"), resource))
}

fn check(path: &str, value: &Value) -> Option<Found> {
    let ends = ["onPass", "onFail"].into_iter();
    let asked = || value.get("prompt").and_then(|asked| prompt(&format!("{path}.prompt"), asked));
    ends.filter_map(|end| transition(&format!("{path}.{end}"), value.get(end)?)).next().or_else(asked)
}

fn transition(path: &str, value: &Value) -> Option<Found> {
    let found = misfit::<Transition>(path, value)?;
    let retry = match value.get("retry") {
        Some(Value::Object(_)) => misfit::<RetryPolicy>(&format!("{path}.retry"), &value["retry"]),
        Some(Value::Bool(_) | Value::Null) | None => None,
        Some(other) => Some(Found {
            path: format!("{path}.retry"),
            what: format!(
                "found {}, expected true, false or an object with `maxRetries`, `onExhausted` and `fallbackStep`",
                cut(other)
            ),
        }),
    };
    Some(retry.unwrap_or(found))
}

fn prompt(path: &str, value: &Value) -> Option<Found> {
    match value {
        Value::String(_) => None,
        Value::Object(fields) if fields.contains_key("path") => misfit::<PromptFile>(path, value),
        Value::Object(fields) if fields.contains_key("c1") => misfit::<PromptPlace>(path, value),
        other => Some(Found {
            path: path.to_owned(),
            what: format!(
                "found {}, expected a path, an object with `path`, or one with `c1`, `c2` and `c3`",
                cut(other)
            ),
        }),
    }
}

/// A value, not too much of it.
fn cut(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_FOUND_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn misfit<T: DeserializeOwned>(path: &str, value: &Value) -> Option<Found> {
    let error = serde_path_to_error::deserialize::<_, T>(value).err()?;
    Some(Found { path: json_path(path, &error.path().to_string()), what: bare(error.inner()) })
}

/// A path as serde has it, below another.
fn json_path(base: &str, path: &str) -> String {
    let base = if base.is_empty() { "$" } else { base };
    match path {
        "." => base.to_owned(),
        path if path.starts_with('[') => format!("{base}{path}"),
        path => format!("{base}.{path}"),
    }
}

/// Any JSON in which no object has a field twice. Of a step that is written twice, serde would keep the last.
struct Unique;

impl<'de> serde::Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                let what = format!("the field `{name}` is there twice");
                return Err(serde::de::Error::custom(what));
            }
            map.next_value::<Self>()?;
            names.insert(name);
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }
}
