//! Redaction: removes secrets from everything that is stored or shown.
//!
//! Two kinds are found: values that the user configured, in any encoding ([`values`]), and texts that have
//! the shape of a secret ([`shapes`]). All are searched in the original text, and overlapping matches are
//! merged, so that no remainder is left. Redact before truncating: a part of a secret no longer has its
//! shape.

mod randomness;
mod redaction;
mod shapes;
#[cfg(test)]
mod tests;
mod values;

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use serde::Serialize;
use serde_json::{Map, Value};

use redaction::{Redaction, Secret};
use values::Values;

/// The shapes are compiled once per process.
#[derive(Debug, Default)]
pub struct Redactor {
    values: Values,
    shared: SecretValues,
}

/// Values to redact. Clones share them, so that a value that is added during a run, such as a refreshed
/// token, is redacted everywhere from then on. Very short values are ignored, since they are too common.
#[derive(Debug, Clone, Default)]
pub struct SecretValues(Arc<RwLock<Values>>);

impl From<Vec<String>> for SecretValues {
    fn from(values: Vec<String>) -> Self {
        Self(Arc::new(RwLock::new(Values::new(&values))))
    }
}

impl PartialEq for SecretValues {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || *self.values() == *other.values()
    }
}

impl SecretValues {
    pub fn add(&self, value: &str) {
        let is_known = self.values().contains(value);
        if !is_known {
            self.0.write().unwrap_or_else(PoisonError::into_inner).add(value);
        }
    }

    /// Removes these values from every string of a JSON value, and nothing else: what remains may be a command that is run.
    pub fn redact(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                let found = self.values().find(text);
                if !found.is_empty() {
                    *text = redacted(text, found);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.redact(field)),
        }
    }

    fn values(&self) -> RwLockReadGuard<'_, Values> {
        // A panic cannot leave a partial value.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Redactor {
    /// `values` are searched in addition to all shapes.
    pub fn new(values: &[String]) -> Self {
        Self { values: Values::new(values), shared: SecretValues::default() }
    }

    /// Searches these too, including values that are added later.
    #[must_use]
    pub fn sharing(mut self, values: &SecretValues) -> Self {
        self.shared = values.clone();
        self
    }

    /// Returns the text without its secrets, in time linear in its length.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut redactions = self.values.find(text);
        redactions.extend(self.shared.values().find(text));
        redactions.extend(shapes::find(text));
        if redactions.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(redacted(text, redactions)) }
    }

    pub fn json(&self, value: &impl Serialize) -> serde_json::Result<String> {
        let mut value = serde_json::to_value(value)?;
        self.value(&mut value);
        serde_json::to_string(&value)
    }

    /// Redacts every string of a JSON value, keys included. A string under a key that names a secret, such as
    /// `"API_KEY"`, is checked together with its key. Numbers stay.
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
                Value::String(text) if shapes::names_secret(key) => {
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

    /// The redacted text of a value, checked together with its key; `None` if the key itself contains a
    /// secret.
    fn assigned(&self, key: &str, text: &str) -> Option<String> {
        let assignment = format!("{key}: \"{text}\"");
        let redacted = self.text(&assignment);
        let value = redacted.strip_prefix(key)?.strip_prefix(": \"")?.strip_suffix('"')?;
        Some(value.to_owned())
    }
}

/// Replaces every range with a description of its secret.
fn redacted(text: &str, mut redactions: Vec<Redaction>) -> String {
    redactions.sort_by_key(|redaction| redaction.range.start);
    let mut result = String::with_capacity(text.len());
    let mut shown_to = 0;
    let mut redactions = redactions.into_iter().peekable();
    while let Some(Redaction { mut range, mut secret }) = redactions.next() {
        while let Some(next) = redactions.next_if(|next| next.range.start < range.end) {
            range.end = range.end.max(next.range.end);
            secret = secret.min(next.secret);
        }
        result.push_str(&text[shown_to..range.start]);
        match secret {
            Secret::Value => result.push_str("[redacted]"),
            Secret::Shape(number) => {
                result.push_str("[redacted: ");
                result.push_str(shapes::name(number));
                result.push(']');
            }
        }
        shown_to = range.end;
    }
    result.push_str(&text[shown_to..]);
    result
}
