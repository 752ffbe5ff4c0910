//! The types of JSON values, as a schema names them and as a sentence does.

use serde_json::Value;

use super::required;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl ValueKind {
    /// The types that a schema allows; empty if it allows any.
    pub(super) fn of_schema(schema: &Value) -> Vec<Self> {
        match schema.get("type") {
            Some(Value::String(name)) => Self::named(name).into_iter().collect(),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).filter_map(Self::named).collect()
            }
            _ => Vec::new(),
        }
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    pub(super) fn fits(self, schema: &Value, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.as_u64().is_some_and(|number| number <= largest(schema)),
            Self::Number => value.is_number(),
            Self::String => value.is_string(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

/// The largest number that the type in Rust can have. Narrower limits are left to validation.
fn largest(schema: &Value) -> u64 {
    match schema.get("format").and_then(Value::as_str) {
        Some("uint32") => u64::from(u32::MAX),
        _ => u64::MAX,
    }
}

/// What a schema allows, in words.
pub(super) fn expected(root: &Value, schema: &Value) -> String {
    let kinds = ValueKind::of_schema(schema);
    match kinds.iter().find(|kind| **kind != ValueKind::Null) {
        None => "something else".to_owned(),
        Some(ValueKind::Null) => "null".to_owned(),
        Some(ValueKind::Boolean) => "true or false".to_owned(),
        Some(ValueKind::Integer) => {
            let limit = |name: &str| schema.get(name).and_then(Value::as_u64);
            let least = limit("minimum").unwrap_or(0);
            match limit("maximum") {
                Some(most) => format!("a whole number from {least} to {most}"),
                None => format!("a whole number of at least {least}"),
            }
        }
        Some(ValueKind::Number) => "a number".to_owned(),
        Some(ValueKind::String) => "a string".to_owned(),
        Some(ValueKind::Array) => list(root, schema),
        Some(ValueKind::Object) => object(schema),
    }
}

fn list(root: &Value, schema: &Value) -> String {
    let of = schema.get("items").map_or("", |items| {
        let kinds = ValueKind::of_schema(items);
        let is_object = items.get("$ref").and_then(Value::as_str).is_some_and(|name| {
            let target = root.pointer(name.trim_start_matches('#'));
            target.is_some_and(|target| {
                target.get("type") == Some(&Value::from("object")) || target.get("oneOf").is_some()
            })
        });
        match kinds.first() {
            Some(ValueKind::String) => " of strings",
            Some(ValueKind::Object) => " of objects",
            _ if is_object => " of objects",
            _ => "",
        }
    });
    format!("a list{of}")
}

fn object(schema: &Value) -> String {
    let required: Vec<&str> = required(schema).collect();
    let all = || schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|all| all.keys());
    match required.as_slice() {
        [] if all().next().is_none() || all().count() > 4 => "an object".to_owned(),
        [] => format!("an object with {}", and(&all().map(String::as_str).collect::<Vec<_>>())),
        names => format!("an object with {}", and(names)),
    }
}

/// Names as in "`a`, `b` and `c`".
pub(super) fn and(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [first @ .., last] => format!("{} and `{last}`", quoted(first)),
    }
}

/// Names as in "`a`, `b`, `c`".
pub(super) fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
