//! Parses a JSON file of the definition, and reports errors with their position in the text and their JSON path.
//!
//! Serde buffers untagged and tagged enums, and so loses the path inside of them. Such values are parsed once more to find it.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use autonoe_core::fault::Fault;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;

use crate::definition::{C3lPrompt, Completion, PromptFile, Resource, RetryPolicy, Transition};
use crate::faults::CONFIGURATION_PARSE;

/// The most characters quoted of an unexpected value.
const MAX_FOUND_CHARS: usize = 80;

pub(super) fn parse<T: DeserializeOwned>(directory: &Path, name: &str, text: &str) -> Result<T, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shown = directory.join(name).display().to_string();
    read::<UniqueKeys>(&shown, text)?;
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
    let position = format!("line {}, column {}", error.line(), error.column());
    match error.classify() {
        Category::Data => {
            let inside = serde_json::from_str(text).ok().and_then(|value| inside(path, &value));
            let message = match inside {
                Some(ShapeProblem { path, message }) => format!("{shown}, {path}: {message}."),
                None => format!("{shown}, {position}, {path}: {}.", bare(error)),
            };
            let hint = "`autonoe agent schema` prints the JSON Schemas of the files.";
            CONFIGURATION_PARSE.fault(message).hint(hint)
        }
        Category::Syntax | Category::Eof | Category::Io => {
            let message = format!("{shown} is not JSON: {}, at {position}.", bare(error));
            CONFIGURATION_PARSE.fault(message).hint("Check that position and the text just before it.")
        }
    }
}

/// The error message without its position.
fn bare(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(what, _)| what.to_owned())
}

/// An error inside of a buffered enum.
struct ShapeProblem {
    path: String,
    message: String,
}

/// Parses a buffered value once more, to find the path of the error.
fn inside(path: &str, file: &Value) -> Option<ShapeProblem> {
    let names: Vec<&str> = path.strip_prefix("$.")?.split('.').collect();
    match names.as_slice() {
        ["completion"] => completion(path, file.get("completion")?),
        ["steps", step, "prompt"] => prompt(path, file.get("steps")?.get(step)?.get("prompt")?),
        ["steps", step, "check"] => check(path, file.get("steps")?.get(step)?.get("check")?),
        _ => None,
    }
}

fn completion(path: &str, value: &Value) -> Option<ShapeProblem> {
    let conditions = value.get("conditions").and_then(Value::as_array);
    if let Some(conditions) = conditions {
        for (at, condition) in conditions.iter().enumerate() {
            let path = format!("{path}.conditions[{at}]");
            if let Some(found) = parse_error::<Completion>(&path, condition) {
                return completion(&path, condition).or(Some(found));
            }
        }
    }
    value.get("resource").and_then(|resource| parse_error::<Resource>(&format!("{path}.resource"), resource))
}

fn check(path: &str, value: &Value) -> Option<ShapeProblem> {
    let transitions = ["onPass", "onFail"].into_iter();
    let in_prompt = || value.get("prompt").and_then(|value| prompt(&format!("{path}.prompt"), value));
    transitions
        .filter_map(|name| transition(&format!("{path}.{name}"), value.get(name)?))
        .next()
        .or_else(in_prompt)
}

fn transition(path: &str, value: &Value) -> Option<ShapeProblem> {
    let found = parse_error::<Transition>(path, value)?;
    let retry = match value.get("retry") {
        Some(Value::Object(_)) => parse_error::<RetryPolicy>(&format!("{path}.retry"), &value["retry"]),
        Some(Value::Bool(_) | Value::Null) | None => None,
        Some(other) => Some(ShapeProblem {
            path: format!("{path}.retry"),
            message: format!(
                "found {}, expected true, false or an object with `maxRetries`, `onExhausted` and `fallbackStep`",
                cut(other)
            ),
        }),
    };
    Some(retry.unwrap_or(found))
}

fn prompt(path: &str, value: &Value) -> Option<ShapeProblem> {
    match value {
        Value::String(_) => None,
        Value::Object(fields) if fields.contains_key("path") => parse_error::<PromptFile>(path, value),
        Value::Object(fields) if fields.contains_key("c1") => parse_error::<C3lPrompt>(path, value),
        other => Some(ShapeProblem {
            path: path.to_owned(),
            message: format!(
                "found {}, expected a path, an object with `path`, or one with `c1`, `c2` and `c3`",
                cut(other)
            ),
        }),
    }
}

/// A value as JSON, cut to [`MAX_FOUND_CHARS`].
fn cut(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_FOUND_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn parse_error<T: DeserializeOwned>(path: &str, value: &Value) -> Option<ShapeProblem> {
    let error = serde_path_to_error::deserialize::<_, T>(value).err()?;
    Some(ShapeProblem { path: json_path(path, &error.path().to_string()), message: bare(error.inner()) })
}

/// Appends a path as serde writes it to a JSON path.
fn json_path(base: &str, path: &str) -> String {
    let base = if base.is_empty() { "$" } else { base };
    match path {
        "." => base.to_owned(),
        path if path.starts_with('[') => format!("{base}{path}"),
        path => format!("{base}.{path}"),
    }
}

/// Any JSON without duplicate fields. Of a step that is defined twice, serde would silently keep the last one.
struct UniqueKeys;

impl<'de> serde::Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                let message = format!("duplicate field `{name}`");
                return Err(serde::de::Error::custom(message));
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
