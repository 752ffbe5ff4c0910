//! The fields of an object: known, unknown and missing ones.

use std::collections::BTreeMap;

use autonoe_core::nearest::nearest;
use serde_json::{Map, Value};

use super::{ShapeReader, current_name, quoted, required};
use crate::json_location::JsonLocation;

impl<'a> ShapeReader<'a> {
    pub(super) fn fit_object(
        &mut self,
        at: &JsonLocation,
        schema: &'a Value,
        fields: Map<String, Value>,
    ) -> Value {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return self.fit_entries(at, schema, fields);
        };
        let names: Vec<&str> = properties.keys().map(String::as_str).collect();
        let mut fitted = Map::new();
        let mut unknown = Vec::new();
        let mut seen = BTreeMap::new();
        for (name, value) in fields {
            if let Some(other) = seen.insert(current_name(at, &name, &names).to_owned(), name.clone()) {
                let what = format!("it means the same as `{other}`, which is there too");
                self.report(&at.key(&name), Value::Null, what, "Remove one of them.");
                continue;
            }
            let Some(of_field) = properties.get(current_name(at, &name, &names)) else {
                unknown.push((name, value));
                continue;
            };
            if let Some(value) = self.fit(&at.key(&name), of_field, value) {
                fitted.insert(name, value);
            } else if required(schema).any(|required| required == current_name(at, &name, &names)) {
                fitted.insert(name, self.placeholder(of_field));
            }
        }
        let is_absent = |name: &&str| !fitted.keys().any(|found| current_name(at, found, &names) == *name);
        let absent: Vec<&str> = names.iter().copied().filter(is_absent).collect();
        let misspelt = self.unknown_fields(at, &absent, unknown);
        for name in required(schema).filter(|name| absent.contains(name)) {
            if !misspelt.contains(&name) {
                self.missing_field(at, name, &properties[name]);
            }
            self.unread.insert(at.key(name));
            fitted.insert(name.to_owned(), self.placeholder(&properties[name]));
        }
        Value::Object(fitted)
    }

    /// An object with any names, such as the steps.
    fn fit_entries(&mut self, at: &JsonLocation, schema: &'a Value, fields: Map<String, Value>) -> Value {
        let Some(of_entry) = schema.get("additionalProperties") else { return Value::Object(fields) };
        let fitted = fields.into_iter().map(|(name, value)| {
            let value = self.fit(&at.key(&name), of_entry, value);
            (name, value.unwrap_or_else(|| self.placeholder(of_entry)))
        });
        Value::Object(fitted.collect())
    }

    /// Reports unknown fields. The result are the absent ones that were probably meant.
    fn unknown_fields<'n>(
        &mut self,
        at: &JsonLocation,
        absent: &[&'n str],
        unknown: Vec<(String, Value)>,
    ) -> Vec<&'n str> {
        let mut meant = Vec::new();
        for (name, value) in unknown {
            let close = nearest(&name, absent.iter().copied());
            let remedy = match close {
                Some(close) => format!("Did you mean `{close}`?"),
                None if absent.is_empty() => "Remove it.".to_owned(),
                None => format!("Remove it, or use one of {}.", quoted(absent)),
            };
            let value = if value.is_object() || value.is_array() { Value::Null } else { value };
            self.report(&at.key(&name), value, format!("unknown field `{name}`"), remedy);
            // Any absent field may have been meant, so nothing is said about its absence.
            absent.iter().for_each(|absent| self.unread.insert(at.key(absent)));
            meant.extend(close);
        }
        meant
    }

    fn missing_field(&mut self, at: &JsonLocation, name: &str, schema: &Value) {
        let remedy = match schema.get("description").and_then(Value::as_str) {
            Some(purpose) => {
                let mut rest = purpose.chars();
                let first: String = rest.next().into_iter().flat_map(char::to_lowercase).collect();
                format!("Add it: {first}{}", rest.as_str())
            }
            None => "Add it.".to_owned(),
        };
        self.report(at, Value::Null, format!("missing field `{name}`"), remedy);
    }
}
