//! Makes a parsed JSON file fit the JSON Schema of its type, and reports everything that does not. What does not fit is left out
//! or replaced by a placeholder, so that the rest can be validated; both are marked as unread.
//!
//! Serde alone would report the first error only. The schema comes from the same types, so the two cannot differ in their fields.

mod kinds;
mod objects;
#[cfg(test)]
mod tests;

use autonoe_core::nearest::nearest;
use serde_json::Value;

use crate::faults::CONFIGURATION_PARSE;
use crate::json_location::JsonLocation;
use crate::problem::Problem;
use crate::unread::Unread;

use kinds::{ValueKind, expected, quoted};

/// What to do about a value of the wrong type.
fn see_schema(file: &str) -> String {
    let name = file.trim_end_matches(".json");
    format!("`autonoe agent schema {name}` prints the JSON Schema of this file.")
}

pub(super) struct ShapeReader<'a> {
    schema: &'a Value,
    pub(super) problems: Vec<Problem>,
    pub(super) unread: Unread,
}

impl<'a> ShapeReader<'a> {
    pub(super) fn new(schema: &'a Value) -> Self {
        Self { schema, problems: Vec::new(), unread: Unread::default() }
    }

    /// The value, as far as it fits.
    pub(super) fn read(&mut self, file: &'static str, value: Value) -> Value {
        let at = JsonLocation::root(file);
        self.fit(&at, self.schema, value).unwrap_or_else(|| self.placeholder(self.schema))
    }

    /// The value, as far as it fits; `None` if nothing of it does.
    fn fit(&mut self, at: &JsonLocation, schema: &'a Value, value: Value) -> Option<Value> {
        let schema = self.resolve(schema);
        if let Some(options) = options(schema, "anyOf") {
            return self.fit_any(at, options, value);
        }
        if let Some(options) = options(schema, "oneOf") {
            return match options.iter().all(|option| option.get("const").is_some()) {
                true => self.fit_name(at, options, value),
                false => self.fit_tagged(at, options, value),
            };
        }
        let kinds = ValueKind::of_schema(schema);
        match kinds.as_slice() {
            [] => Some(value),
            kinds if !kinds.iter().any(|kind| kind.fits(schema, &value)) => {
                self.wrong(at, &value, &format!("it must be {}", expected(self.schema, schema)))
            }
            _ => Some(match value {
                Value::Object(fields) => self.fit_object(at, schema, fields),
                Value::Array(items) => self.fit_items(at, schema, items),
                other => other,
            }),
        }
    }

    /// A value that may have several types.
    fn fit_any(&mut self, at: &JsonLocation, options: &'a [Value], value: Value) -> Option<Value> {
        let options: Vec<&Value> = options.iter().map(|option| self.resolve(option)).collect();
        let is_null = |option: &&Value| ValueKind::of_schema(option) == [ValueKind::Null];
        if value.is_null() && options.iter().any(is_null) {
            return Some(value);
        }
        let options: Vec<&Value> = options.into_iter().filter(|option| !is_null(option)).collect();
        let has_first = |option: &Value| {
            let first = required(option).next();
            value.as_object().zip(first).is_none_or(|(fields, first)| fields.contains_key(first))
        };
        let fits = |option: &&&Value| {
            let kinds = ValueKind::of_schema(option);
            kinds.iter().any(|kind| kind.fits(option, &value)) && has_first(option)
        };
        match options.as_slice() {
            [only] => self.fit(at, only, value),
            options => match options.iter().find(fits) {
                Some(option) => self.fit(at, option, value),
                None => {
                    let choices: Vec<String> =
                        options.iter().map(|option| expected(self.schema, option)).collect();
                    self.wrong(at, &value, &format!("it must be {}", choices.join(", or ")))
                }
            },
        }
    }

    /// One of several names.
    fn fit_name(&mut self, at: &JsonLocation, options: &[Value], value: Value) -> Option<Value> {
        let names: Vec<&str> = options.iter().filter_map(|option| option.get("const")?.as_str()).collect();
        match value.as_str().map(|name| current_name(at, name, &names)) {
            Some(name) if names.contains(&name) => Some(value),
            _ => self.unknown_name(at, &names, &value),
        }
    }

    /// An object whose `type` decides which fields it has.
    fn fit_tagged(&mut self, at: &JsonLocation, options: &'a [Value], value: Value) -> Option<Value> {
        let Value::Object(fields) = value else {
            return self.wrong(at, &value, "it must be an object with a `type`");
        };
        let tag_of = |option: &'a Value| option.pointer("/properties/type/const").and_then(Value::as_str);
        let names: Vec<&str> = options.iter().filter_map(tag_of).collect();
        let Some(tag) = fields.get("type") else {
            let misspelt = fields.keys().find(|name| nearest(name, ["type"]).is_some());
            let at = misspelt.map_or_else(|| at.clone(), |name| at.key(name));
            let remedy = format!("Write one of {}.", quoted(&names));
            self.report(&at, Value::Null, "missing field `type`", remedy);
            self.unread.insert(at);
            return None;
        };
        let name = tag.as_str().map(|name| current_name(at, name, &names));
        let Some(option) = options.iter().find(|option| name.is_some() && tag_of(option) == name) else {
            let tag = tag.clone();
            self.unread.insert(at.clone());
            return self.unknown_name(&at.key("type"), &names, &tag);
        };
        Some(self.fit_object(at, option, fields))
    }

    fn fit_items(&mut self, at: &JsonLocation, schema: &'a Value, items: Vec<Value>) -> Value {
        let Some(of_item) = schema.get("items") else { return Value::Array(items) };
        let fitted = items.into_iter().enumerate().map(|(index, item)| {
            self.fit(&at.item(index), of_item, item).unwrap_or_else(|| self.placeholder(of_item))
        });
        Value::Array(fitted.collect())
    }

    fn unknown_name(&mut self, at: &JsonLocation, names: &[&str], value: &Value) -> Option<Value> {
        let remedy = match value.as_str().and_then(|text| nearest(text, names.iter().copied())) {
            Some(name) => format!("Did you mean `{name}`?"),
            None => "Write one of them.".to_owned(),
        };
        self.report(at, value.clone(), format!("it must be one of {}", quoted(names)), remedy);
        self.unread.insert(at.clone());
        None
    }

    fn wrong(&mut self, at: &JsonLocation, value: &Value, what: &str) -> Option<Value> {
        // The value itself can be long, and JSON null is otherwise not shown.
        let what = if value.is_null() { format!("{what}, not null") } else { what.to_owned() };
        self.report(at, value.clone(), what, see_schema(at.file));
        self.unread.insert(at.clone());
        None
    }

    fn report(
        &mut self,
        at: &JsonLocation,
        value: Value,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.problems.push(at.problem(CONFIGURATION_PARSE, value, what.into(), remedy.into()));
    }

    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'));
        target.and_then(|pointer| self.schema.pointer(pointer)).unwrap_or(schema)
    }

    /// The simplest value that the schema allows, in place of one that does not fit.
    fn placeholder(&self, schema: &'a Value) -> Value {
        let schema = self.resolve(schema);
        if let Some(name) = schema.get("const") {
            return name.clone();
        }
        let first = options(schema, "anyOf").or_else(|| options(schema, "oneOf")).and_then(|all| all.first());
        if let Some(first) = first {
            return self.placeholder(first);
        }
        match ValueKind::of_schema(schema).first() {
            None | Some(ValueKind::Null) => Value::Null,
            Some(ValueKind::String) => Value::from(""),
            Some(ValueKind::Integer | ValueKind::Number) => Value::from(1),
            Some(ValueKind::Boolean) => Value::from(false),
            Some(ValueKind::Array) => Value::Array(Vec::new()),
            Some(ValueKind::Object) => {
                let properties = schema.get("properties");
                let fill = |name: &'a str| {
                    let of_field = properties.and_then(|properties| properties.get(name));
                    (name.to_owned(), of_field.map_or(Value::Null, |schema| self.placeholder(schema)))
                };
                Value::Object(required(schema).map(fill).collect())
            }
        }
    }
}

/// The name of today for an earlier one, which only conditions have.
fn current_name<'n>(at: &JsonLocation, name: &'n str, names: &[&str]) -> &'n str {
    match at.is_within(&JsonLocation::agent("completion")) {
        true => crate::definition::current_name(name, names),
        false => name,
    }
}

fn options<'a>(schema: &'a Value, word: &str) -> Option<&'a [Value]> {
    schema.get(word)?.as_array().map(Vec::as_slice)
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
