//! The template language of prompts: `{uv-name}` is a variable, `{input_text}` is standard input, and every other brace is
//! literal, so that prompts can contain JSON and code.

use std::collections::BTreeSet;

use crate::variables::{INPUT_TEXT, Variables};

const INPUT_PLACEHOLDER: &str = "{input_text}";
const PREFIX: &str = "{uv-";
const FENCE: &str = "---";
/// Some editors put this at the start of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A parsed prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    /// The name without the prefix, and the placeholder as it is in the file.
    Variable {
        name: String,
        placeholder: String,
    },
}

/// A syntax error in a prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {problem}")]
pub struct TemplateError {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    pub problem: TemplateProblem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateProblem {
    #[error("`{{uv-` is not closed on its line; write it as `{{uv-name}}`")]
    NotClosed,
    #[error("`{{uv-}}` names no variable; write it as `{{uv-name}}`")]
    NoName,
    #[error(
        "`{0}` is not a valid variable name; a name starts with a letter or `_` and contains only letters, digits, \
         `_` and `-`"
    )]
    InvalidName(String),
    #[error(
        "the front matter that starts here is not closed; add a line `---` after it, or remove this line"
    )]
    FrontMatter,
}

/// A prompt with its variables filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledTemplate {
    /// Trimmed.
    pub text: String,
    /// Variables without a value. Their placeholders stay in the text.
    pub missing: BTreeSet<String>,
}

/// Parses a prompt and removes its front matter.
pub fn parse(text: &str) -> Result<Template, TemplateError> {
    let body = text.len() - without_front_matter(text)?.len();
    let error = |at: usize, problem: TemplateProblem| {
        let before = &text[..at];
        let start_of_line = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before[start_of_line..].trim_start_matches(BYTE_ORDER_MARK).chars().count();
        TemplateError { line, column, problem }
    };
    let mut parts = Vec::new();
    let (mut done, mut at) = (body, body);
    while let Some(brace) = text[at..].find('{').map(|brace| at + brace) {
        at = brace + 1;
        if let Some((name, placeholder)) =
            leading_placeholder(&text[brace..]).map_err(|problem| error(brace, problem))?
        {
            parts.push(TemplatePart::Text(text[done..brace].to_owned()));
            parts.push(TemplatePart::Variable { name: name.to_owned(), placeholder: placeholder.to_owned() });
            at = brace + placeholder.len();
            done = at;
        }
    }
    parts.push(TemplatePart::Text(text[done..].to_owned()));
    Ok(Template { parts })
}

/// The placeholder that a text starts with: the name of its variable, and the placeholder itself.
fn leading_placeholder(text: &str) -> Result<Option<(&str, &str)>, TemplateProblem> {
    if text.starts_with(INPUT_PLACEHOLDER) {
        return Ok(Some((INPUT_TEXT, INPUT_PLACEHOLDER)));
    }
    if !text.starts_with(PREFIX) {
        return Ok(None);
    }
    let end = text.find(['}', '\n']).filter(|end| text[*end..].starts_with('}'));
    let Some(end) = end else {
        return Err(TemplateProblem::NotClosed);
    };
    match &text[PREFIX.len()..end] {
        "" => Err(TemplateProblem::NoName),
        name if is_name(name) => Ok(Some((name, &text[..=end]))),
        name => Err(TemplateProblem::InvalidName(name.chars().take(MAX_SHOWN_NAME).collect())),
    }
}

/// The most characters shown of an invalid name.
const MAX_SHOWN_NAME: usize = 60;

/// Whether this is a valid variable name.
pub fn is_name(name: &str) -> bool {
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts_well && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The text without front matter: a block between two `---` lines at its start.
fn without_front_matter(text: &str) -> Result<&str, TemplateError> {
    let mut lines = text.trim_start_matches(BYTE_ORDER_MARK).split_inclusive('\n');
    let is_fence = |line: &str| line.trim_end() == FENCE;
    let mut rest = text.trim_start_matches(BYTE_ORDER_MARK);
    match lines.next() {
        Some(first) if is_fence(first) => rest = &rest[first.len()..],
        Some(_) | None => return Ok(rest),
    }
    for line in lines {
        rest = &rest[line.len()..];
        if is_fence(line) {
            return Ok(rest);
        }
    }
    Err(TemplateError { line: 1, column: 1, problem: TemplateProblem::FrontMatter })
}

impl Template {
    /// The names of its variables.
    pub fn variables(&self) -> BTreeSet<String> {
        self.names().map(str::to_owned).collect()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Text(_) => None,
            TemplatePart::Variable { name, .. } => Some(name.as_str()),
        })
    }

    /// The size in bytes with these values, before trimming.
    pub fn size(&self, variables: &Variables) -> usize {
        let parts = self.parts.iter().map(|part| part.with(variables).len());
        parts.fold(0, usize::saturating_add)
    }

    /// Fills in the values. They are not parsed for placeholders themselves.
    pub fn fill(&self, variables: &Variables) -> FilledTemplate {
        let text: String = self.parts.iter().map(|part| part.with(variables)).collect();
        let missing = self.names().filter(|name| !variables.contains_key(*name)).map(str::to_owned);
        FilledTemplate { text: text.trim().to_owned(), missing: missing.collect() }
    }
}

impl TemplatePart {
    fn with<'a>(&'a self, variables: &'a Variables) -> &'a str {
        match self {
            Self::Text(text) => text,
            Self::Variable { name, placeholder } => variables.get(name).unwrap_or(placeholder),
        }
    }
}

#[cfg(test)]
mod tests;
