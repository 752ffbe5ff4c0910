//! Expansions that start with `$`: parameters, substitutions, arithmetic and `$'…'`.

use super::ast::{List, Operation, Parameter, Part, Word};
use super::cursor::{Cursor, ParseResult};
use super::value_kind::{variables_in, word_kind};

/// The token that ends an arithmetic expression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticEnd {
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
    pub fn dollar(&mut self, word: &mut Word, quoted: bool) -> ParseResult<()> {
        self.at += 1;
        let part = match self.peek() {
            Some(b'\'') if !quoted => return self.ansi_quoted(word),
            Some(b'"') if !quoted => return self.fail("an unsupported translated string ($\"…\")"),
            Some(b'\\') if self.peek_at(1) == Some(b'\n') => return self.fail("a line break after '$'"),
            Some(b'[') => return self.fail("obsolete arithmetic ($[…]); write $((…))"),
            Some(b'(') if self.peek_at(1) == Some(b'(') => {
                self.at += 2;
                let expression = self.nested(|c| c.arithmetic(ArithmeticEnd::Parentheses))?;
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

    /// The `( … )` of a substitution.
    pub fn substitution(&mut self) -> ParseResult<List> {
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
            return self.fail("a line break between a here-document operator and its text");
        }
        self.pending = outer;
        self.expect(")")?;
        Ok(list)
    }

    fn parameter_name(&mut self) -> ParseResult<String> {
        if let Some(name) = self.name() {
            return Ok(name.to_owned());
        }
        match self.peek() {
            Some(byte) if byte.is_ascii_digit() || b"@*#?-$!".contains(&byte) => {
                self.at += 1;
                Ok(char::from(byte).to_string())
            }
            _ => self.fail("an unsupported expansion"),
        }
    }

    /// `${…}`, after the opening brace.
    fn braced(&mut self, quoted: bool) -> ParseResult<Parameter> {
        if self.peek() == Some(b'!') && self.peek_at(1) != Some(b'}') {
            return self.fail("an unsupported indirect expansion (${!…})");
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
            parameter.joins = self.eat("*]");
            parameter.spread = parameter.joins || self.eat("@]");
            if !parameter.spread {
                parameter.arithmetic.push(self.arithmetic(ArithmeticEnd::Bracket)?);
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

    fn operation(&mut self, parameter: &mut Parameter, quoted: bool) -> ParseResult<()> {
        parameter.operation = Operation::Other;
        let after_colon = if self.peek() == Some(b':') { self.peek_at(1) } else { self.peek() };
        match (self.peek(), after_colon) {
            (_, Some(b'-' | b'=' | b'?' | b'+')) => {
                self.eat(":");
                parameter.operation = match self.peek() {
                    Some(b'=') => Operation::Assign,
                    Some(b'+') => Operation::Alternate,
                    _ => Operation::Default,
                };
                self.at += 1;
                let word = self.brace_word(quoted)?;
                if parameter.operation == Operation::Assign {
                    self.variables.push((parameter.name.clone(), word_kind(&word)));
                }
                parameter.words.push(word);
            }
            (Some(b':'), _) => {
                while self.eat(":") {
                    parameter.arithmetic.push(self.arithmetic(ArithmeticEnd::Brace)?);
                }
            }
            (Some(operator @ (b'#' | b'%' | b'^' | b',' | b'/')), _) => {
                parameter.operation = match operator {
                    b'#' => Operation::RemovePrefix,
                    b'%' => Operation::RemoveSuffix,
                    b'/' => Operation::Replace,
                    _ => Operation::ChangeCase,
                };
                self.at += 1;
                let word = self.brace_word(quoted)?;
                // Quotes around the whole expansion do not quote a pattern.
                parameter.words.push(if quoted { word.unquoted() } else { word });
            }
            (Some(b'@'), _) => {
                self.at += 1;
                let changes_case = ["U", "L", "u"].iter().any(|letter| self.eat(letter));
                if changes_case {
                    parameter.operation = Operation::ChangeCase;
                } else if !self.eat("Q") {
                    // The others evaluate or print the variable's content.
                    return self.fail("an unsupported transformation; only @Q, @U, @L and @u are allowed");
                }
            }
            _ => return self.fail("an unsupported expansion"),
        }
        Ok(())
    }

    /// An arithmetic expression up to its end, which is not consumed.
    pub fn arithmetic(&mut self, end: ArithmeticEnd) -> ParseResult<Word> {
        let expression = self.arithmetic_text(end)?;
        self.variables.extend(variables_in(&expression));
        Ok(expression)
    }

    fn arithmetic_text(&mut self, end: ArithmeticEnd) -> ParseResult<Word> {
        let mut word = Word::default();
        let mut open = Vec::new();
        loop {
            let Some(byte) = self.peek() else { return self.fail("unterminated arithmetic") };
            if open.is_empty() {
                match (end, byte) {
                    (ArithmeticEnd::Parentheses | ArithmeticEnd::Semicolon, b')')
                        if self.peek_at(1) == Some(b')') =>
                    {
                        return Ok(word);
                    }
                    (ArithmeticEnd::Parentheses | ArithmeticEnd::Semicolon, b')') => {
                        return self.fail("expected '))' after '(('; write '( (' for nested subshells");
                    }
                    (ArithmeticEnd::Semicolon, b';')
                    | (ArithmeticEnd::Bracket, b']')
                    | (ArithmeticEnd::Brace, b':' | b'}') => {
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
                        return self.fail("mismatched brackets in arithmetic");
                    }
                }
                _ if byte.is_ascii_alphanumeric() => {}
                _ if b"_ \t+-*/%<>=!&|^~?:,#".contains(&byte) => {}
                _ => return self.fail("an unsupported character in arithmetic"),
            }
            word.push(char::from(byte).encode_utf8(&mut [0; 4]), false);
            self.at += 1;
        }
    }

    /// `$'…'`
    fn ansi_quoted(&mut self, word: &mut Word) -> ParseResult<()> {
        self.at += 1;
        word.push("", true);
        loop {
            let character = match self.peek() {
                None => return self.fail("an unterminated $'…' string"),
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

    fn ansi_escape(&mut self) -> ParseResult<char> {
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
            _ => return self.fail("an unsupported escape in $'…'"),
        };
        Ok(simple)
    }

    /// A character given by its code. Only ASCII, because the meaning of other codes depends on the locale.
    fn code(&mut self, radix: u32, digits: usize) -> ParseResult<char> {
        let mut number = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|b| char::from(b).to_digit(radix)) else { break };
            number = number * radix + digit;
            self.at += 1;
        }
        match char::from_u32(number) {
            Some(character @ '\x01'..='\x7f') => Ok(character),
            _ => self.fail("a non-ASCII character code in $'…'"),
        }
    }
}

/// A parameter without an operation.
pub fn plain(name: String) -> Parameter {
    let joins = name == "*";
    let spread = name == "@" || joins;
    Parameter { name, operation: Operation::Value, spread, joins, arithmetic: Vec::new(), words: Vec::new() }
}
