//! Words: quoting, and where a word ends. What follows a `$` is in `expansion`.

use super::ast::{Part, Word};
use super::cursor::{Cursor, Read, is_meta};

impl Cursor<'_> {
    /// The word that starts here; without parts if none does.
    pub fn word(&mut self) -> Read<Word> {
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

    /// One part of an unquoted stretch, starting with `byte`, which may start a word's part.
    fn word_part(&mut self, byte: u8, word: &mut Word) -> Read<()> {
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

    /// A word inside `${x:-…}` up to the closing brace, which is not passed.
    pub fn brace_word(&mut self, quoted: bool) -> Read<Word> {
        let mut word = Word::default();
        loop {
            match self.peek() {
                None => return self.fail("'}' is missing"),
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

    fn escaped(&mut self, word: &mut Word) -> Read<()> {
        self.at += 1;
        match self.peek() {
            None => self.fail("a backslash at the end"),
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

    fn single_quoted(&mut self, word: &mut Word) -> Read<()> {
        self.at += 1;
        let Some(length) = self.rest().find('\'') else {
            return self.fail("a single quote is not closed");
        };
        let text = &self.rest()[..length];
        self.no_line_break_while_pending(text)?;
        word.push(text, true);
        self.at += length + 1;
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut Word) -> Read<()> {
        self.at += 1;
        word.push("", true);
        loop {
            match self.peek() {
                None => return self.fail("a double quote is not closed"),
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

    fn double_quoted_escape(&mut self, word: &mut Word) -> Read<()> {
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

    /// `` `…` ``, without the backslashes whose meaning depends on where the backquotes stand.
    pub fn backquoted(&mut self, word: &mut Word, quoted: bool) -> Read<()> {
        self.at += 1;
        let Some(length) = self.rest().find('`') else {
            return self.fail("a backquote is not closed");
        };
        let text = &self.rest()[..length];
        if text.contains('\\') {
            return self.fail("a backslash inside backquotes; write $(…)");
        }
        self.no_line_break_while_pending(text)?;
        let list = self.nested(|c| {
            c.apart(text, |inner| {
                inner.substitutions += 1;
                inner.script()
            })
        })?;
        self.at += length + 1;
        word.0.push(Part::Command { list, quoted });
        Ok(())
    }

    /// Reads another text, such as a here-document's, with a cursor of its own.
    pub fn apart<T>(&mut self, text: &str, read: impl FnOnce(&mut Cursor<'_>) -> Read<T>) -> Read<T> {
        let mut inner = Cursor::new(text);
        inner.depth = self.depth;
        inner.substitutions = self.substitutions;
        inner.bodies = std::mem::take(&mut self.bodies);
        inner.variables = std::mem::take(&mut self.variables);
        inner.arrays = std::mem::take(&mut self.arrays);
        inner.has_functions = self.has_functions;
        let read = read(&mut inner);
        self.bodies = inner.bodies;
        self.variables = inner.variables;
        self.arrays = inner.arrays;
        self.has_functions = inner.has_functions;
        read
    }

    fn no_line_break_while_pending(&self, text: &str) -> Read<()> {
        if !self.pending.is_empty() && text.contains('\n') {
            return self.fail("a line break between a here-document's operator and its text");
        }
        Ok(())
    }
}

impl Word {
    /// Adds text, to the last part if it is text of the same kind.
    pub fn push(&mut self, more: &str, is_quoted: bool) {
        match self.0.last_mut() {
            Some(Part::Text { text, quoted }) if *quoted == is_quoted => text.push_str(more),
            _ => self.0.push(Part::Text { text: more.to_owned(), quoted: is_quoted }),
        }
    }

    /// The text, if the word is nothing but unquoted text.
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
