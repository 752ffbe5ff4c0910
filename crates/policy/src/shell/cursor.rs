//! The reading position: characters, blanks, comments, and the bounds that keep reading finite.

use super::ast::{Content, Word};
use super::{MAX_DEPTH, SyntaxError};

/// The result of reading something.
pub type Read<T> = Result<T, SyntaxError>;

/// A here-document whose body has not been reached yet.
pub struct Pending {
    pub slot: usize,
    pub delimiter: String,
    pub strip_tabs: bool,
    pub literal: bool,
}

/// Reads one source text. Here-documents and backquotes are read by a cursor of their own that shares the bodies.
pub struct Cursor<'s> {
    pub source: &'s str,
    pub at: usize,
    pub depth: usize,
    /// How many substitutions are open.
    pub substitutions: usize,
    pub pending: Vec<Pending>,
    pub bodies: Vec<Option<Word>>,
    pub variables: Vec<(String, Content)>,
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

    pub fn fail<T>(&self, what: impl Into<String>) -> Read<T> {
        Err(SyntaxError { what: what.into(), at: self.at })
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

    pub fn expect(&mut self, text: &str) -> Read<()> {
        if self.eat(text) { Ok(()) } else { self.fail(format!("'{text}' is missing")) }
    }

    /// One level deeper, for as long as `read` takes.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == MAX_DEPTH {
            return self.fail(format!("it nests deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Skips blanks, continued lines and a comment, up to the next token or newline.
    pub fn skip_blanks(&mut self) -> Read<()> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'#') => return self.skip_comment(),
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> Read<()> {
        if self.substitutions > 0 {
            // Shells disagree about where a substitution with a comment ends.
            return self.fail("a comment inside a substitution");
        }
        let length = self.rest().find('\n').unwrap_or(self.rest().len());
        self.at += length;
        Ok(())
    }

    /// Skips blanks, comments and newlines, reading the here-documents that follow a newline.
    pub fn skip_newlines(&mut self) -> Read<()> {
        loop {
            self.skip_blanks()?;
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Passes a newline that ends a line of commands.
    pub fn newline(&mut self) -> Read<()> {
        self.at += 1;
        if self.pending.is_empty() { Ok(()) } else { self.read_bodies() }
    }

    /// A newline inside something else. Where a waiting here-document would start is then anybody's guess.
    pub fn inner_newline(&mut self) -> Read<()> {
        if self.pending.is_empty() {
            self.at += 1;
            Ok(())
        } else {
            self.fail("a line break between a here-document's operator and its text")
        }
    }

    /// A variable's name, if one stands here.
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

    /// The character here, passed.
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
