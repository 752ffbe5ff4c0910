//! What the operators of an expansion make of a value: `${x#pattern}`, `${x%pattern}`, `${x/pattern/word}`, `${x:1}`, `${x^^}`.

use std::collections::BTreeSet;

use super::{COMPUTED, UNKNOWN, is_open};
use crate::shell::ast::{Operation, Parameter, Part, Word};
use crate::wildcard::{Quoting, Wildcard};
use crate::words::literal;

/// The results for the possible values; `None` if one of them may lead anywhere.
pub fn transformed(parameter: &Parameter, values: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let patterns = parameter.words.first().map(Pattern::read).unwrap_or_default();
    let mut results = BTreeSet::new();
    for value in values {
        match parameter.operation {
            Operation::RemovePrefix | Operation::RemoveSuffix if !patterns.is_empty() => {
                for pattern in &patterns {
                    results.insert(match parameter.operation {
                        Operation::RemovePrefix => pattern.without_prefix(value)?,
                        _ => pattern.without_suffix(value)?,
                    });
                }
            }
            // Some of the elements.
            Operation::Other
                if parameter.spread && parameter.words.is_empty() && !parameter.arithmetic.is_empty() =>
            {
                results.insert(value.clone());
            }
            Operation::Other if !is_open(value) && !parameter.words.is_empty() => {
                results.extend(replaced(value, parameter.words.first()?)?);
            }
            _ if leads_nowhere(value) && inserts_nothing(parameter) => {
                results.insert(computed_from(value));
            }
            _ => return None,
        }
    }
    Some(results)
}

/// What `${x/pattern/word}` or `${x^pattern}` makes of a value: the parser does not tell them apart. `None` if the pattern is more than
/// text, and a part of the value may lead anywhere.
fn replaced(value: &str, word: &Word) -> Option<BTreeSet<String>> {
    let text = literal(word);
    let is_text = |text: &&String| !text.contains(['*', '?', '[', '(', '\\']);
    let Some(text) = text.as_ref().filter(is_text) else {
        let inserted = text
            .as_deref()
            .map(|text| text.trim_start_matches('/').split_once('/').map_or("", |(_, word)| word));
        let leads = !leads_nowhere(value) || !inserted.is_some_and(leads_nowhere);
        return (!leads).then(|| BTreeSet::from([computed_from(value)]));
    };
    let mut results = BTreeSet::from([value.to_owned(), value.to_lowercase(), value.to_uppercase()]);
    let text = text.strip_prefix('/').unwrap_or(text);
    for text in [text, text.trim_start_matches(['#', '%'])] {
        let (pattern, inserted) = text.split_once('/').unwrap_or((text, ""));
        // In newer versions of bash, `&` stands for what matches.
        for inserted in [inserted.to_owned(), inserted.replace('&', pattern)] {
            results.insert(value.replacen(pattern, &inserted, 1));
            results.insert(value.replace(pattern, &inserted));
            // At the end.
            if let Some(start) = value.strip_suffix(pattern) {
                results.insert(format!("{start}{inserted}"));
            }
        }
    }
    Some(results)
}

/// What stands for a name that is made of a value.
fn computed_from(value: &str) -> String {
    let is_known = value.chars().any(|character| character != UNKNOWN);
    if is_known { COMPUTED.to_string() } else { value.to_owned() }
}

/// Whether no part of a value is a path to somewhere else, also if what is between two of its dots is removed.
fn leads_nowhere(value: &str) -> bool {
    !value.contains(['/', '~']) && !value.starts_with('.') && !value.contains("..")
}

/// Whether the word that replaces a pattern, if there is one, leads nowhere.
fn inserts_nothing(parameter: &Parameter) -> bool {
    parameter.words.iter().all(|word| {
        let text = literal(word).map(|text| text.trim_start_matches('/').to_owned());
        text.is_some_and(|text| text.split_once('/').is_none_or(|(_, inserted)| leads_nowhere(inserted)))
    })
}

/// A pattern that is removed at one end.
struct Pattern {
    wildcard: Wildcard,
    is_longest: bool,
    text: String,
}

impl Pattern {
    /// What a word may be as a pattern; nothing if it has expansions, or more than stars. In quotes around the whole expansion a star is one,
    /// in quotes of its own it is not.
    fn read(word: &Word) -> Vec<Self> {
        let parts = word.0.iter().map(|part| match part {
            Part::Text { text, .. } if text.contains(['?', '[', '(', '\\']) => None,
            Part::Text { text, quoted } => Some((text.as_str(), *quoted)),
            Part::Parameter { .. } | Part::Command { .. } | Part::Arithmetic { .. } | Part::Process(_) => {
                None
            }
        });
        let Some(parts) = parts.collect::<Option<Vec<_>>>() else { return Vec::new() };
        let text: String = parts.iter().map(|(text, _)| *text).collect();
        let stripped = text.strip_prefix(['#', '%']);
        let new = |wildcard: fn(&str) -> Wildcard| Self {
            wildcard: wildcard(stripped.unwrap_or(&text)),
            is_longest: stripped.is_some(),
            text: stripped.unwrap_or(&text).to_owned(),
        };
        let mut patterns = vec![new(Wildcard::new)];
        if parts.iter().any(|(_, quoted)| *quoted) && text.contains('*') {
            patterns.push(new(|text| Wildcard::joined([(text, Quoting::Quoted)])));
        }
        // In quotes of its own, the first character is no second operator.
        if stripped.is_some_and(|rest| rest != "*/") && parts.first().is_some_and(|(_, quoted)| *quoted) {
            patterns.push(Self { wildcard: Wildcard::new(&text), is_longest: false, text: text.clone() });
        }
        patterns
    }

    fn without_prefix(&self, value: &str) -> Option<String> {
        if is_place(value) {
            // Only the name is left.
            return (self.is_longest && self.text == "*/").then(|| UNKNOWN.to_string());
        }
        if is_open(value) {
            return Some(computed_from(value));
        }
        let mut ends = (0..=value.len()).filter(|at| value.is_char_boundary(*at));
        let matches = |at: &usize| self.wildcard.matches(&value[..*at]);
        let end = if self.is_longest { ends.rfind(matches) } else { ends.find(matches) };
        Some(value[end.unwrap_or_default()..].to_owned())
    }

    fn without_suffix(&self, value: &str) -> Option<String> {
        if is_place(value) {
            let is_parent = value == "." && !self.is_longest && self.text == "/*";
            return is_parent.then(|| "..".to_owned());
        }
        if is_open(value) {
            return Some(computed_from(value));
        }
        let mut starts = (0..=value.len()).filter(|at| value.is_char_boundary(*at));
        let matches = |at: &usize| self.wildcard.matches(&value[*at..]);
        let start = if self.is_longest { starts.find(matches) } else { starts.rfind(matches) };
        Some(value[..start.unwrap_or(value.len())].to_owned())
    }
}

/// Whether a value stands for an absolute path: the working directory or the home directory.
fn is_place(value: &str) -> bool {
    matches!(value, "." | "~")
}
