//! What follows a `$`: parameters, substitutions, arithmetic, `$'…'`.

use super::ast::{List, Operation, Parameter, Part, Word};
use super::content::content;
use super::cursor::{Cursor, Read};

/// Where an arithmetic expression ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// `))`
    Parentheses,
    /// `;` or `))`, in `for (( ; ; ))`
    Semicolon,
    /// `]`
    Bracket,
    /// `:` or `}`, in `${x:1:2}`
    Brace,
}

impl Cursor<'_> {
    /// The expansion that starts at this `$`, or a literal `$`.
    pub fn dollar(&mut self, word: &mut Word, quoted: bool) -> Read<()> {
        self.at += 1;
        let part = match self.peek() {
            Some(b'\'') if !quoted => return self.ansi_quoted(word),
            Some(b'"') if !quoted => return self.fail("a translated string ($\"…\")"),
            Some(b'\\') if self.peek_at(1) == Some(b'\n') => return self.fail("a line break after '$'"),
            Some(b'[') => return self.fail("old arithmetic ($[…]); write $((…))"),
            Some(b'(') if self.peek_at(1) == Some(b'(') => {
                self.at += 2;
                let expression = self.nested(|c| c.arithmetic(End::Parentheses))?;
                self.expect("))")?;
                Part::Arithmetic { expression, quoted }
            }
            Some(b'(') => Part::Command { list: self.substitution()?, quoted },
            Some(b'{') => {
                self.at += 1;
                let parameter = self.nested(|c| c.braced(quoted))?;
                Part::Parameter { parameter, quoted }
            }
            Some(byte) if byte.is_ascii_alphanumeric() || b"_@*#?-$!".contains(&byte) => {
                let name = self.parameter_name()?;
                Part::Parameter { parameter: plain(name), quoted }
            }
            _ => {
                word.push("$", true);
                return Ok(());
            }
        };
        word.0.push(part);
        Ok(())
    }

    /// `( … )` of a substitution.
    pub fn substitution(&mut self) -> Read<List> {
        self.expect("(")?;
        let start = self.at;
        let outer = std::mem::take(&mut self.pending);
        self.substitutions += 1;
        let list = self.nested(Self::list)?;
        self.substitutions -= 1;
        if !self.pending.is_empty() {
            return self.fail("a here-document without its text");
        }
        if !outer.is_empty() && self.source[start..self.at].contains('\n') {
            return self.fail("a line break between a here-document's operator and its text");
        }
        self.pending = outer;
        self.expect(")")?;
        Ok(list)
    }

    fn parameter_name(&mut self) -> Read<String> {
        if let Some(name) = self.name() {
            return Ok(name.to_owned());
        }
        match self.peek() {
            Some(byte) if byte.is_ascii_digit() || b"@*#?-$!".contains(&byte) => {
                self.at += 1;
                Ok(char::from(byte).to_string())
            }
            _ => self.fail("an expansion that is not understood"),
        }
    }

    /// `${…}`, after the brace.
    fn braced(&mut self, quoted: bool) -> Read<Parameter> {
        if self.peek() == Some(b'!') && self.peek_at(1) != Some(b'}') {
            return self.fail("an indirect expansion (${!…})");
        }
        let length = self.peek() == Some(b'#') && self.peek_at(1) != Some(b'}');
        if length {
            self.at += 1;
        }
        let mut parameter = plain(self.parameter_name()?);
        while parameter.name.as_bytes()[0].is_ascii_digit() && self.peek().is_some_and(|b| b.is_ascii_digit())
        {
            self.at += 1;
        }
        if self.eat("[") {
            parameter.spread = self.eat("@]") || self.eat("*]");
            if !parameter.spread {
                parameter.arithmetic.push(self.arithmetic(End::Bracket)?);
                self.expect("]")?;
            }
        }
        if length {
            parameter.operation = Operation::Length;
        } else if self.peek() != Some(b'}') {
            self.operation(&mut parameter, quoted)?;
        }
        self.expect("}")?;
        Ok(parameter)
    }

    fn operation(&mut self, parameter: &mut Parameter, quoted: bool) -> Read<()> {
        parameter.operation = Operation::Other;
        let after_colon = if self.peek() == Some(b':') { self.peek_at(1) } else { self.peek() };
        match (self.peek(), after_colon) {
            (_, Some(b'-' | b'=' | b'?' | b'+')) => {
                self.eat(":");
                if self.peek() == Some(b'=') {
                    parameter.operation = Operation::Assign;
                }
                self.at += 1;
                let word = self.brace_word(quoted)?;
                if parameter.operation == Operation::Assign {
                    self.variables.push((parameter.name.clone(), content(&word)));
                }
                parameter.words.push(word);
            }
            (Some(b':'), _) => {
                while self.eat(":") {
                    parameter.arithmetic.push(self.arithmetic(End::Brace)?);
                }
            }
            (Some(b'#' | b'%' | b'^' | b',' | b'/'), _) => {
                self.at += 1;
                parameter.words.push(self.brace_word(quoted)?);
            }
            (Some(b'@'), _) => {
                self.at += 1;
                // The others evaluate or print what the variable holds.
                if !["Q", "U", "L", "u"].iter().any(|letter| self.eat(letter)) {
                    return self.fail("a transformation other than @Q, @U, @L and @u");
                }
            }
            _ => return self.fail("an expansion that is not understood"),
        }
        Ok(())
    }

    /// An arithmetic expression up to its end, which is not passed.
    pub fn arithmetic(&mut self, end: End) -> Read<Word> {
        let mut word = Word::default();
        let mut open = Vec::new();
        loop {
            let Some(byte) = self.peek() else { return self.fail("arithmetic is not closed") };
            if open.is_empty() {
                match (end, byte) {
                    (End::Parentheses | End::Semicolon, b')') if self.peek_at(1) == Some(b')') => {
                        return Ok(word);
                    }
                    (End::Parentheses | End::Semicolon, b')') => {
                        return self
                            .fail("'((' that is not closed by '))'; write '( (' for nested subshells");
                    }
                    (End::Semicolon, b';') | (End::Bracket, b']') | (End::Brace, b':' | b'}') => {
                        return Ok(word);
                    }
                    _ => {}
                }
            }
            match byte {
                b'$' => {
                    self.dollar(&mut word, false)?;
                    continue;
                }
                b'\n' => {
                    self.inner_newline()?;
                    word.push(" ", false);
                    continue;
                }
                b'(' | b'[' => open.push(byte),
                b')' | b']' => {
                    if open.pop() != Some(if byte == b')' { b'(' } else { b'[' }) {
                        return self.fail("brackets that do not match in arithmetic");
                    }
                }
                _ if byte.is_ascii_alphanumeric() => {}
                _ if b"_ \t+-*/%<>=!&|^~?:,#".contains(&byte) => {}
                _ => return self.fail("arithmetic other than numbers, names and operators"),
            }
            word.push(char::from(byte).encode_utf8(&mut [0; 4]), false);
            self.at += 1;
        }
    }

    /// `$'…'`
    fn ansi_quoted(&mut self, word: &mut Word) -> Read<()> {
        self.at += 1;
        word.push("", true);
        loop {
            let character = match self.peek() {
                None => return self.fail("a quote is not closed"),
                Some(b'\'') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\n') => {
                    self.inner_newline()?;
                    '\n'
                }
                Some(b'\\') => self.ansi_escape()?,
                Some(_) => self.character().unwrap_or_default(),
            };
            word.push(character.encode_utf8(&mut [0; 4]), true);
        }
    }

    fn ansi_escape(&mut self) -> Read<char> {
        let escape = self.peek_at(1).unwrap_or_default();
        self.at += 2;
        let simple = match escape {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'a' => '\x07',
            b'b' => '\x08',
            b'e' | b'E' => '\x1b',
            b'f' => '\x0c',
            b'v' => '\x0b',
            b'\\' | b'\'' | b'"' | b'?' => char::from(escape),
            b'x' => return self.code(16, 2),
            b'u' => return self.code(16, 4),
            b'0'..=b'7' => {
                self.at -= 1;
                return self.code(8, 3);
            }
            _ => return self.fail("an escape in $'…' that is not understood"),
        };
        Ok(simple)
    }

    /// A character by its number. Only ASCII: beyond it the shell's answer depends on the locale.
    fn code(&mut self, radix: u32, digits: usize) -> Read<char> {
        let mut number = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|b| char::from(b).to_digit(radix)) else { break };
            number = number * radix + digit;
            self.at += 1;
        }
        match char::from_u32(number) {
            Some(character @ '\x01'..='\x7f') => Ok(character),
            _ => self.fail("a character in $'…' that is not plain ASCII"),
        }
    }
}

fn plain(name: String) -> Parameter {
    let spread = name == "@" || name == "*";
    Parameter { name, operation: Operation::Value, spread, arithmetic: Vec::new(), words: Vec::new() }
}
