//! The parser's position in the source: characters, blanks, comments, newlines, and the nesting limit.

use super::ast::{ValueKind, Word};

/// The maximum nesting depth of substitutions, groups and compound commands together.
pub const MAX_DEPTH: usize = 32;

/// Why a command could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at byte {at})")]
pub struct ShellSyntaxError {
    pub message: String,
    /// The byte offset in the command, or in the here-document or backquotes being parsed.
    pub at: usize,
    /// Whether it is too long or too deeply nested, whatever it means.
    pub is_limit: bool,
}

pub type ParseResult<T> = Result<T, ShellSyntaxError>;

/// A here-document whose body has not been reached yet.
pub struct PendingHeredoc {
    pub slot: usize,
    pub delimiter: String,
    pub strip_tabs: bool,
    pub literal: bool,
}

/// Parses one source text. Here-documents and backquotes get a separate cursor (see `with_source`).
pub struct Cursor<'s> {
    pub source: &'s str,
    pub at: usize,
    pub depth: usize,
    /// How many substitutions are open.
    pub substitutions: usize,
    pub pending: Vec<PendingHeredoc>,
    pub bodies: Vec<Option<Word>>,
    pub variables: Vec<(String, ValueKind)>,
    pub arrays: Vec<String>,
    pub has_functions: bool,
}

impl<'s> Cursor<'s> {
    pub fn new(source: &'s str) -> Self {
        Self {
            source,
            at: 0,
            depth: 0,
            substitutions: 0,
            pending: Vec::new(),
            bodies: Vec::new(),
            variables: Vec::new(),
            arrays: Vec::new(),
            has_functions: false,
        }
    }

    pub fn fail<T>(&self, message: impl Into<String>) -> ParseResult<T> {
        Err(ShellSyntaxError { message: message.into(), at: self.at, is_limit: false })
    }

    pub fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    pub fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.source.as_bytes().get(self.at + ahead).copied()
    }

    pub fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    pub fn looking_at(&self, text: &str) -> bool {
        self.source.as_bytes()[self.at..].starts_with(text.as_bytes())
    }

    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub fn expect(&mut self, text: &str) -> ParseResult<()> {
        if self.eat(text) { Ok(()) } else { self.fail(format!("expected '{text}'")) }
    }

    /// Calls `parse` one nesting level deeper.
    pub fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        if self.depth == MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} levels of nesting");
            return Err(ShellSyntaxError { message, at: self.at, is_limit: true });
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Skips blanks, continued lines and a comment, up to the next token or newline.
    pub fn skip_blanks(&mut self) -> ParseResult<()> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'#') => return self.skip_comment(),
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> ParseResult<()> {
        if self.substitutions > 0 {
            // Shells disagree about where a substitution that contains a comment ends.
            return self.fail("a comment inside a substitution");
        }
        let length = self.rest().find('\n').unwrap_or(self.rest().len());
        self.at += length;
        Ok(())
    }

    /// Skips blanks, comments and newlines, and reads the here-documents that follow a newline.
    pub fn skip_newlines(&mut self) -> ParseResult<()> {
        loop {
            self.skip_blanks()?;
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Consumes a newline that ends a line of commands.
    pub fn newline(&mut self) -> ParseResult<()> {
        self.at += 1;
        if self.pending.is_empty() { Ok(()) } else { self.read_bodies() }
    }

    /// Consumes a newline inside another construct. It is refused if a here-document is pending, because it would be
    /// unclear where its body starts.
    pub fn inner_newline(&mut self) -> ParseResult<()> {
        if self.pending.is_empty() {
            self.at += 1;
            Ok(())
        } else {
            self.fail("a line break between a here-document operator and its text")
        }
    }

    /// Consumes a variable name, if there is one here.
    pub fn name(&mut self) -> Option<&'s str> {
        let bytes = &self.source.as_bytes()[self.at..];
        if !bytes.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_') {
            return None;
        }
        let length = bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        let name = &self.source[self.at..self.at + length];
        self.at += length;
        Some(name)
    }

    /// Consumes one character.
    pub fn character(&mut self) -> Option<char> {
        let character = self.rest().chars().next()?;
        self.at += character.len_utf8();
        Some(character)
    }
}

/// Whether a byte ends an unquoted word.
pub fn is_meta(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}
