//! Configured values, in every encoding in which they may occur: plain, JSON-escaped, percent-encoded,
//! base64. Where a text was truncated, a part of a value is found as well.

use super::redaction::{Redaction, Secret};

/// Shorter values are too common to be redacted.
const MIN_VALUE_BYTES: usize = 6;

/// Shorter base64 is too common. Counts only the middle characters, which depend on nothing but the value.
const MIN_BASE64_CHARS: usize = 8;

/// At a cut, a part is redacted from a quarter of the value on; less reveals little and may be a common
/// prefix.
const MIN_PART_DIVISOR: usize = 4;

/// Marks where a text was truncated.
const CUT_MARK: char = '…';

#[derive(Default, PartialEq)]
pub(super) struct Values {
    values: Vec<String>,
    forms: Vec<String>,
}

impl Values {
    pub(super) fn new(values: &[String]) -> Self {
        let mut new = Self::default();
        values.iter().for_each(|value| new.add(value));
        new
    }

    pub(super) fn contains(&self, value: &str) -> bool {
        self.values.iter().any(|known| known == value)
    }

    pub(super) fn add(&mut self, value: &str) {
        if value.len() < MIN_VALUE_BYTES || self.contains(value) {
            return;
        }
        self.values.push(value.to_owned());
        self.forms.extend(forms(value));
        // A command can print one line of a key.
        for line in value.lines().map(str::trim).filter(|line| value.contains('\n') && is_secret_line(line)) {
            self.forms.extend(forms(line));
        }
        self.forms.sort();
        self.forms.dedup();
    }

    /// All occurrences of all encodings, unordered.
    pub(super) fn find(&self, text: &str) -> Vec<Redaction> {
        let mut redactions = Vec::new();
        let mut add = |start: usize, bytes: usize| {
            redactions.push(Redaction { range: start..start + bytes, secret: Secret::Value });
        };
        for form in &self.forms {
            text.match_indices(form.as_str()).for_each(|(start, _)| add(start, form.len()));
        }
        for value in &self.values {
            for (before, after) in cuts(text) {
                let (head, tail) = (&text.as_bytes()[..before], &text.as_bytes()[after..]);
                let value = value.as_bytes();
                let mut parts = (MIN_VALUE_BYTES.max(value.len() / MIN_PART_DIVISOR)..value.len()).rev();
                if let Some(bytes) = parts.clone().find(|bytes| head.ends_with(&value[..*bytes])) {
                    add(before - bytes, bytes);
                }
                if let Some(bytes) = parts.find(|bytes| tail.starts_with(&value[value.len() - bytes..])) {
                    add(after, bytes);
                }
            }
        }
        redactions
    }
}

/// Whether a line of a value is worth hiding: the first and last lines of keys are the same in all of them.
fn is_secret_line(line: &str) -> bool {
    const MIN_LINE_BYTES: usize = 12;
    line.len() >= MIN_LINE_BYTES && !line.starts_with("-----")
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} values", self.values.len())
    }
}

/// Ends and starts of text: its own, and those around every cut mark.
fn cuts(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let marks = text.match_indices(CUT_MARK).map(|(start, mark)| {
        let rest = &text[start + mark.len()..];
        (text[..start].trim_end().len(), text.len() - rest.trim_start().len())
    });
    std::iter::once((text.trim_end().len(), text.len() - text.trim_start().len())).chain(marks)
}

fn forms(value: &str) -> Vec<String> {
    let once = json_escaped(value);
    let twice = json_escaped(&once);
    let mut forms = vec![value.to_owned(), once, twice];
    forms.extend(percent_encoded(value));
    for offset in 0..3 {
        let standard = base64_within(value.as_bytes(), offset);
        let url_safe = standard.replace('+', "-").replace('/', "_");
        forms.extend([standard, url_safe].into_iter().filter(|form| form.len() >= MIN_BASE64_CHARS));
    }
    forms
}

/// The text as it appears inside a JSON string.
fn json_escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// With upper-case and with lower-case hexadecimal digits.
fn percent_encoded(text: &str) -> [String; 2] {
    let mut forms = [String::new(), String::new()];
    for byte in text.bytes() {
        let digits = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                [char::from(byte).to_string(), char::from(byte).to_string()]
            }
            _ => [format!("%{byte:02X}"), format!("%{byte:02x}")],
        };
        forms.iter_mut().zip(digits).for_each(|(form, digits)| form.push_str(&digits));
    }
    forms
}

/// The characters that are the same in every base64 text in which the value starts at a byte offset with this
/// remainder modulo three. Characters that neighbouring bytes influence are left off at both ends.
fn base64_within(value: &[u8], offset: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = |index: usize| -> u8 {
        let bit = index * 6;
        let byte =
            |at: usize| at.checked_sub(offset).and_then(|at| value.get(at)).copied().unwrap_or_default();
        let pair = u16::from(byte(bit / 8)) << 8 | u16::from(byte(bit / 8 + 1));
        (pair >> (10 - bit % 8) & 63) as u8
    };
    let first = (offset * 8).div_ceil(6);
    let end = (offset + value.len()) * 8 / 6;
    (first..end).map(|index| char::from(ALPHABET[usize::from(bits(index))])).collect()
}
