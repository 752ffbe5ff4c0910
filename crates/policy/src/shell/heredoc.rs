//! Here-documents: finds the end of the text and parses the expansions in it.

use super::ast::{Part, Word};
use super::cursor::{Cursor, ParseResult, PendingHeredoc};

impl<'s> Cursor<'s> {
    /// Records a here-document after its `<<` or `<<-`; its text starts on the next line. Returns its slot.
    pub fn here_document(&mut self, strip_tabs: bool) -> ParseResult<usize> {
        self.skip_blanks()?;
        let start = self.at;
        let word = self.word()?;
        let literal = self.source[start..self.at].contains(['\'', '"', '\\']);
        let mut delimiter = String::new();
        for part in &word.0 {
            match part {
                Part::Text { text, .. } => delimiter.push_str(text),
                _ => return self.fail("a here-document delimiter that is not plain text"),
            }
        }
        if word.0.is_empty() || delimiter.is_empty() || delimiter.contains(['\n', '$', '`']) {
            return self.fail("a here-document delimiter that is not plain text");
        }
        if self.source[start..self.at].contains('\n') {
            return self.fail("a line break in a here-document delimiter");
        }
        let slot = self.bodies.len();
        self.bodies.push(None);
        self.pending.push(PendingHeredoc { slot, delimiter, strip_tabs, literal });
        Ok(slot)
    }

    /// Reads the bodies of the pending here-documents, which start here.
    pub fn read_bodies(&mut self) -> ParseResult<()> {
        for document in std::mem::take(&mut self.pending) {
            let text = self.body_text(&document)?;
            let body = if document.literal {
                let mut body = Word::default();
                body.push(text, true);
                body
            } else {
                self.nested(|c| c.with_source(text, |inner| inner.expanded_body()))?
            };
            self.bodies[document.slot] = Some(body);
        }
        Ok(())
    }

    fn body_text(&mut self, document: &PendingHeredoc) -> ParseResult<&'s str> {
        let start = self.at;
        let mut continued = false;
        loop {
            let line_start = self.at;
            if line_start >= self.source.len() {
                return self.fail(format!("expected the here-document's end '{}'", document.delimiter));
            }
            let length = self.rest().find('\n').unwrap_or(self.rest().len());
            let line = &self.source[line_start..line_start + length];
            let line = if document.strip_tabs { line.trim_start_matches('\t') } else { line };
            self.at = (line_start + length + 1).min(self.source.len());
            if line == document.delimiter {
                if continued {
                    return self.fail("a here-document end after a continued line");
                }
                return Ok(&self.source[start..line_start]);
            }
            // Inside a substitution bash also accepts `EOF)` as the end.
            if self.substitutions > 0 && line.starts_with(&document.delimiter) && line.contains(')') {
                return self.fail("a here-document end that is not alone on its line");
            }
            let backslashes = line.bytes().rev().take_while(|b| *b == b'\\').count();
            continued = !document.literal && backslashes % 2 == 1;
        }
    }

    /// A here-document's body with its expansions; quotes in it are ordinary characters.
    fn expanded_body(&mut self) -> ParseResult<Word> {
        let mut word = Word::default();
        loop {
            match self.peek() {
                None => return Ok(word),
                Some(b'$') => self.dollar(&mut word, true)?,
                Some(b'`') => self.backquoted(&mut word, true)?,
                Some(b'\\') => {
                    if matches!(self.peek_at(1), Some(b'$' | b'`' | b'\\')) {
                        self.at += 1;
                    }
                    word.push(&self.source[self.at..=self.at], true);
                    self.at += 1;
                }
                Some(_) => {
                    let rest = &self.source.as_bytes()[self.at..];
                    let length = rest.iter().take_while(|b| !matches!(b, b'$' | b'`' | b'\\')).count();
                    word.push(&self.source[self.at..self.at + length], true);
                    self.at += length;
                }
            }
        }
    }
}
