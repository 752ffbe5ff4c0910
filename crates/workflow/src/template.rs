//! The language of prompts: `{uv-name}` stands for a variable, `{input_text}` for standard input, and every other brace for
//! itself, so that JSON and code in a prompt stay as they are.

use std::collections::BTreeSet;
use std::fmt;

use crate::variables::{INPUT_TEXT, Variables};

const INPUT_PLACEHOLDER: &str = "{input_text}";
const PREFIX: &str = "{uv-";
const FENCE: &str = "---";
/// What some editors put at the very beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A prompt that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A variable, without its prefix, and how it was written.
    Variable {
        name: String,
        written: String,
    },
}

/// What is wrong with a prompt, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line of the file, from 1.
    pub line: usize,
    /// The character in that line, from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what)
    }
}

/// A prompt with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// The text, without space around it.
    pub text: String,
    /// The variables that have no value. They stand in the text as they were written.
    pub missing: BTreeSet<String>,
}

/// Reads a prompt. Its front matter is left out.
pub fn parse(text: &str) -> Result<Template, SyntaxError> {
    let body = text.len() - without_front_matter(text)?.len();
    let wrong = |at: usize, what: String| {
        let before = &text[..at];
        let start_of_line = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before[start_of_line..].trim_start_matches(BYTE_ORDER_MARK).chars().count();
        SyntaxError { line, column, what }
    };
    let mut pieces = Vec::new();
    let (mut done, mut at) = (body, body);
    while let Some(brace) = text[at..].find('{').map(|brace| at + brace) {
        at = brace + 1;
        if let Some((name, written)) = placeholder(&text[brace..]).map_err(|what| wrong(brace, what))? {
            pieces.push(Piece::Text(text[done..brace].to_owned()));
            pieces.push(Piece::Variable { name: name.to_owned(), written: written.to_owned() });
            at = brace + written.len();
            done = at;
        }
    }
    pieces.push(Piece::Text(text[done..].to_owned()));
    Ok(Template { pieces })
}

/// The placeholder that a text begins with: the variable's name, and how it is written.
fn placeholder(text: &str) -> Result<Option<(&str, &str)>, String> {
    if text.starts_with(INPUT_PLACEHOLDER) {
        return Ok(Some((INPUT_TEXT, INPUT_PLACEHOLDER)));
    }
    if !text.starts_with(PREFIX) {
        return Ok(None);
    }
    let end = text.find(['}', '\n']).filter(|end| text[*end..].starts_with('}'));
    let Some(end) = end else {
        return Err("`{uv-` is not closed on its line; write it as `{uv-name}`".to_owned());
    };
    match &text[PREFIX.len()..end] {
        "" => Err("`{uv-}` names no variable; write it as `{uv-name}`".to_owned()),
        name if is_name(name) => Ok(Some((name, &text[..=end]))),
        name => Err(format!(
            "`{}` is not the name of a variable; a name begins with a letter or `_`, and resumes letters, \
             digits, `_` and `-`",
            name.chars().take(MAX_SHOWN_NAME).collect::<String>()
        )),
    }
}

/// How much is shown of a name that is none.
const MAX_SHOWN_NAME: usize = 60;

/// Whether a prompt can name a variable like this.
pub fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    begins && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// A prompt without what stands between `---` and `---` at its very beginning.
fn without_front_matter(text: &str) -> Result<&str, SyntaxError> {
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
    let what =
        "the front matter that begins here does not end; put a line `---` after it, or take this one away";
    Err(SyntaxError { line: 1, column: 1, what: what.to_owned() })
}

impl Template {
    /// The variables that it names.
    pub fn variables(&self) -> BTreeSet<String> {
        self.names().map(str::to_owned).collect()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Variable { name, .. } => Some(name.as_str()),
        })
    }

    /// How many bytes it has with these values, before the space around it is taken away.
    pub fn size(&self, variables: &Variables) -> usize {
        let pieces = self.pieces.iter().map(|piece| piece.with(variables).len());
        pieces.fold(0, usize::saturating_add)
    }

    /// It with these values. They are put in once and not looked at again.
    pub fn fill(&self, variables: &Variables) -> Filled {
        let text: String = self.pieces.iter().map(|piece| piece.with(variables)).collect();
        let missing = self.names().filter(|name| !variables.contains_key(*name)).map(str::to_owned);
        Filled { text: text.trim().to_owned(), missing: missing.collect() }
    }
}

impl Piece {
    fn with<'a>(&'a self, variables: &'a Variables) -> &'a str {
        match self {
            Self::Text(text) => text,
            Self::Variable { name, written } => variables.get(name).unwrap_or(written),
        }
    }
}

#[cfg(test)]
mod tests;
