//! Words: quoting, and where a word ends. Expansions that start with `$` are in `expansion`.

use super::ast::{Part, Word};
use super::cursor::{Cursor, ParseResult, is_meta};
use super::expansion::plain;

impl Cursor<'_> {
    /// The word at this position; it has no parts if there is none.
    pub fn word(&mut self) -> ParseResult<Word> {
        let mut word = Word::default();
        loop {
            match self.peek() {
                Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') => {
                    if !word.0.is_empty() {
                        return self.fail("a process substitution inside a word");
                    }
                    self.at += 1;
                    let list = self.substitution()?;
                    word.0.push(Part::Process(list));
                }
                None => return Ok(word),
                Some(byte) if is_meta(byte) => return Ok(word),
                Some(byte) => self.word_part(byte, &mut word)?,
            }
        }
    }

    /// One part of a word outside quotes, starting with `byte`, which is not a metacharacter.
    fn word_part(&mut self, byte: u8, word: &mut Word) -> ParseResult<()> {
        match byte {
            b'\\' => self.escaped(word),
            b'\'' => self.single_quoted(word),
            b'"' => self.double_quoted(word),
            b'$' => self.dollar(word, false),
            b'`' => self.backquoted(word, false),
            _ => {
                let rest = &self.source.as_bytes()[self.at..];
                let length = rest.iter().take_while(|b| !is_special(**b)).count();
                word.push(&self.source[self.at..self.at + length], false);
                self.at += length;
                Ok(())
            }
        }
    }

    /// A word inside `${x:-…}` up to the closing brace, which is not consumed.
    pub fn brace_word(&mut self, quoted: bool) -> ParseResult<Word> {
        let mut word = Word::default();
        loop {
            match self.peek() {
                None => return self.fail("expected '}'"),
                Some(b'}') => return Ok(word),
                Some(b'\'' | b'"') if quoted => return self.fail("quotes inside a quoted '${…}'"),
                Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') => {
                    return self.fail("a process substitution inside '${…}'");
                }
                Some(b'\n') => {
                    self.inner_newline()?;
                    word.push("\n", quoted);
                }
                Some(b'$') => self.dollar(&mut word, quoted)?,
                Some(b'`') => self.backquoted(&mut word, quoted)?,
                Some(b'\\') if quoted => self.double_quoted_escape(&mut word)?,
                Some(byte) if is_meta(byte) || quoted => {
                    if let Some(character) = self.character() {
                        word.push(character.encode_utf8(&mut [0; 4]), quoted);
                    }
                }
                Some(byte @ (b'\\' | b'\'' | b'"')) => self.word_part(byte, &mut word)?,
                Some(_) => {
                    if let Some(character) = self.character() {
                        word.push(character.encode_utf8(&mut [0; 4]), false);
                    }
                }
            }
        }
    }

    fn escaped(&mut self, word: &mut Word) -> ParseResult<()> {
        self.at += 1;
        match self.peek() {
            None => self.fail("a backslash at the end of the command"),
            Some(b'\n') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => {
                if let Some(character) = self.character() {
                    word.push(character.encode_utf8(&mut [0; 4]), true);
                }
                Ok(())
            }
        }
    }

    fn single_quoted(&mut self, word: &mut Word) -> ParseResult<()> {
        self.at += 1;
        let Some(length) = self.rest().find('\'') else {
            return self.fail("an unterminated single quote");
        };
        let text = &self.rest()[..length];
        self.no_line_break_while_pending(text)?;
        word.push(text, true);
        self.at += length + 1;
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut Word) -> ParseResult<()> {
        self.at += 1;
        word.push("", true);
        loop {
            match self.peek() {
                None => return self.fail("an unterminated double quote"),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\n') => {
                    self.inner_newline()?;
                    word.push("\n", true);
                }
                Some(b'$') => self.dollar(word, true)?,
                Some(b'`') => self.backquoted(word, true)?,
                Some(b'\\') => self.double_quoted_escape(word)?,
                Some(_) => {
                    let rest = &self.source.as_bytes()[self.at..];
                    let length =
                        rest.iter().take_while(|b| !matches!(b, b'"' | b'\n' | b'$' | b'`' | b'\\')).count();
                    word.push(&self.source[self.at..self.at + length], true);
                    self.at += length;
                }
            }
        }
    }

    fn double_quoted_escape(&mut self, word: &mut Word) -> ParseResult<()> {
        match self.peek_at(1) {
            Some(b'\n') => {
                self.at += 1;
                self.inner_newline()?;
            }
            Some(escaped @ (b'$' | b'`' | b'"' | b'\\')) => {
                word.push(char::from(escaped).encode_utf8(&mut [0; 4]), true);
                self.at += 2;
            }
            _ => {
                word.push("\\", true);
                self.at += 1;
            }
        }
        Ok(())
    }

    /// `` `…` ``. Backslashes in it are refused, because their meaning depends on the surrounding quotes.
    pub fn backquoted(&mut self, word: &mut Word, quoted: bool) -> ParseResult<()> {
        self.at += 1;
        let Some(length) = self.rest().find('`') else {
            return self.fail("an unterminated backquote");
        };
        let text = &self.rest()[..length];
        if text.contains('\\') {
            return self.fail("a backslash inside backquotes; write $(…) instead");
        }
        self.no_line_break_while_pending(text)?;
        let list = self.nested(|c| {
            c.with_source(text, |inner| {
                inner.substitutions += 1;
                inner.script()
            })
        })?;
        self.at += length + 1;
        word.0.push(Part::Command { list, quoted });
        Ok(())
    }

    /// Parses another text, such as a here-document's body, with a cursor that shares this one's results and limits.
    pub fn with_source<T>(
        &mut self,
        text: &str,
        parse: impl FnOnce(&mut Cursor<'_>) -> ParseResult<T>,
    ) -> ParseResult<T> {
        let mut inner = Cursor::new(text);
        inner.depth = self.depth;
        inner.substitutions = self.substitutions;
        inner.bodies = std::mem::take(&mut self.bodies);
        inner.variables = std::mem::take(&mut self.variables);
        inner.arrays = std::mem::take(&mut self.arrays);
        inner.has_functions = self.has_functions;
        let result = parse(&mut inner);
        self.bodies = inner.bodies;
        self.variables = inner.variables;
        self.arrays = inner.arrays;
        self.has_functions = inner.has_functions;
        result
    }

    fn no_line_break_while_pending(&self, text: &str) -> ParseResult<()> {
        if !self.pending.is_empty() && text.contains('\n') {
            return self.fail("a line break between a here-document operator and its text");
        }
        Ok(())
    }
}

impl Word {
    /// Appends text, merging it with the last part if that is text with the same quoting.
    pub fn push(&mut self, more: &str, is_quoted: bool) {
        match self.0.last_mut() {
            Some(Part::Text { text, quoted }) if *quoted == is_quoted => text.push_str(more),
            _ => self.0.push(Part::Text { text: more.to_owned(), quoted: is_quoted }),
        }
    }

    /// The word with all its text taken for unquoted.
    pub fn unquoted(self) -> Self {
        let parts = self.0.into_iter().map(|part| match part {
            Part::Text { text, .. } => Part::Text { text, quoted: false },
            part => part,
        });
        Self(parts.collect())
    }

    /// `"$name"`
    pub fn variable(name: &str) -> Self {
        let parameter = plain(name.to_owned());
        Self(vec![Part::Parameter { parameter, quoted: true }])
    }

    /// The text of a word that consists of unquoted text only.
    pub fn bare(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Part::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }
}

fn is_special(byte: u8) -> bool {
    is_meta(byte) || matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`')
}
