//! Redaction: secrets are redacted of everything that is written down or shown.
//!
//! Two kinds are known: values that the user configured, in whatever form they occur ([`values`]), and texts
//! that have the shape of a secret ([`shapes`]). All of them are looked for in the text as it came, and what
//! overlaps goes together, so that no rest of one is left by another. Redact before cutting: a part of a
//! secret has lost its shape.

mod chance;
mod shapes;
#[cfg(test)]
mod tests;
mod values;

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;
use serde_json::{Map, Value};

use values::Values;

/// Redacts secrets out of text. The shapes are compiled once for the whole process.
#[derive(Debug, Default)]
pub struct Redactor {
    values: Values,
}

/// A place in a text that must not be shown.
struct ReplyRedactor {
    place: Range<usize>,
    secret: Secret,
}

/// What is redacted; of several in one place the first one names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Secret {
    /// A configured value.
    Value,
    /// The shape with this number.
    Shape(usize),
}

impl Redactor {
    /// Knows all shapes and the given values; very short values are too common to be secrets.
    pub fn new(values: &[String]) -> Self {
        Self { values: Values::new(values) }
    }

    /// The same text without its secrets, in time that grows with its length only.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut redacts = self.values.find(text);
        redacts.extend(shapes::find(text));
        if redacts.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(redacted(text, redacts)) }
    }

    /// A value as JSON text without its secrets.
    pub fn json(&self, value: &impl Serialize) -> serde_json::Result<String> {
        let mut value = serde_json::to_value(value)?;
        self.value(&mut value);
        serde_json::to_string(&value)
    }

    /// Redacts secrets out of every string of a JSON value, keys included. A string under a telling key, such as
    /// `"API_KEY"`, is judged together with its key. Numbers stay.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                if let Cow::Owned(redacted) = self.text(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => self.fields(fields),
        }
    }

    fn fields(&self, fields: &mut Map<String, Value>) {
        for (key, field) in fields.iter_mut() {
            match field {
                Value::String(text) if shapes::is_telling(key) => {
                    *text = self.assigned(key, text).unwrap_or_else(|| self.text(text).into_owned());
                }
                _ => self.value(field),
            }
        }
        if fields.keys().any(|key| matches!(self.text(key), Cow::Owned(_))) {
            let kept = std::mem::take(fields);
            fields.extend(kept.into_iter().map(|(key, field)| (self.text(&key).into_owned(), field)));
        }
    }

    /// What the text becomes as the value of its key; none when the key itself holds a secret.
    fn assigned(&self, key: &str, text: &str) -> Option<String> {
        let assignment = format!("{key}: \"{text}\"");
        let redacted = self.text(&assignment);
        let value = redacted.strip_prefix(key)?.strip_prefix(": \"")?.strip_suffix('"')?;
        Some(value.to_owned())
    }
}

/// The text with every redact replaced by what it was.
fn redacted(text: &str, mut redacts: Vec<ReplyRedactor>) -> String {
    redacts.sort_by_key(|redact| redact.place.start);
    let mut result = String::with_capacity(text.len());
    let mut shown_to = 0;
    let mut redacts = redacts.into_iter().peekable();
    while let Some(ReplyRedactor { mut place, mut secret }) = redacts.next() {
        while let Some(next) = redacts.next_if(|next| next.place.start < place.end) {
            place.end = place.end.max(next.place.end);
            secret = secret.min(next.secret);
        }
        result.push_str(&text[shown_to..place.start]);
        match secret {
            Secret::Value => result.push_str("[redacted]"),
            Secret::Shape(number) => {
                result.push_str("[redacted: ");
                result.push_str(shapes::name(number));
                result.push(']');
            }
        }
        shown_to = place.end;
    }
    result.push_str(&text[shown_to..]);
    result
}
