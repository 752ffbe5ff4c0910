//! Lists, pipelines, simple commands and redirections. Compound commands are in `compound`.

use super::ast::{
    Assignment, Command, CommandKind, Item, Join, List, Part, Pipeline, Redirect, RedirectKind, Script,
    Simple, Target, Value, Word,
};
use super::cursor::{Cursor, ParseResult, ShellSyntaxError, is_meta};
use super::expansion::ArithmeticEnd;
use super::value_kind;

/// The longest command that is parsed, in bytes.
pub const MAX_LENGTH: usize = 128 * 1024;

/// Commands whose arguments may be assignments.
const DECLARATIONS: [&str; 5] = ["export", "declare", "local", "readonly", "typeset"];

/// Words that end a list inside a compound command.
const CLOSING: [&str; 8] = ["then", "elif", "else", "fi", "do", "done", "esac", "}"];

pub fn parse(source: &str) -> Result<Script, ShellSyntaxError> {
    if source.len() > MAX_LENGTH {
        return Err(ShellSyntaxError {
            message: format!("it is longer than {MAX_LENGTH} bytes"),
            at: MAX_LENGTH,
            is_limit: true,
        });
    }
    if let Some(at) = source.find('\0') {
        return Err(ShellSyntaxError { message: "a NUL character".into(), at, is_limit: false });
    }
    let mut cursor = Cursor::new(source);
    let list = cursor.script()?;
    let bodies = std::mem::take(&mut cursor.bodies).into_iter().map(Option::unwrap_or_default).collect();
    let Cursor { variables, arrays, has_functions, .. } = cursor;
    Ok(Script { list, bodies, variables, arrays, has_functions })
}

impl Cursor<'_> {
    /// A list up to the end of the source.
    pub fn script(&mut self) -> ParseResult<List> {
        let list = self.list()?;
        if !self.pending.is_empty() {
            return self.fail("a here-document without its text");
        }
        if self.at < self.source.len() {
            let character = self.rest().chars().next().unwrap_or_default();
            return self.fail(format!("expected a command, got '{character}'"));
        }
        Ok(list)
    }

    /// Commands up to `)`, `;;`, a closing word or the end, none of which is consumed.
    pub fn list(&mut self) -> ParseResult<List> {
        let mut items = Vec::new();
        loop {
            self.skip_newlines()?;
            let closing = self.keyword().is_some_and(|word| CLOSING.contains(&word));
            if closing || matches!(self.peek(), None | Some(b')' | b';')) {
                return Ok(List(items));
            }
            let mut item = self.and_or()?;
            self.skip_blanks()?;
            match self.peek() {
                Some(b'&') => {
                    self.at += 1;
                    item.background = true;
                }
                Some(b';') if !matches!(self.peek_at(1), Some(b';' | b'&')) => self.at += 1,
                // A closing word may directly follow a compound command.
                None | Some(b'\n' | b')' | b';') => {}
                _ if self.keyword().is_some_and(|word| CLOSING.contains(&word)) => {}
                _ => return self.fail("two commands without a separator"),
            }
            items.push(item);
        }
    }

    /// A non-empty list.
    pub fn some_list(&mut self) -> ParseResult<List> {
        let list = self.nested(Self::list)?;
        if list.0.is_empty() { self.fail("expected a command") } else { Ok(list) }
    }

    fn and_or(&mut self) -> ParseResult<Item> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks()?;
            let join = if self.eat("&&") {
                Join::And
            } else if self.eat("||") {
                Join::Or
            } else {
                return Ok(Item { first, rest, background: false });
            };
            self.skip_newlines()?;
            rest.push((join, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> ParseResult<Pipeline> {
        let mut negated = false;
        loop {
            match self.keyword() {
                Some("!") => {
                    negated = !negated;
                    self.at += 1;
                }
                Some("time") => {
                    self.at += 4;
                    self.skip_blanks()?;
                    if self.looking_at("-p") && self.peek_at(2).is_none_or(is_meta) {
                        self.at += 2;
                    }
                }
                _ => break,
            }
            self.skip_blanks()?;
        }
        let mut commands = vec![self.command()?];
        loop {
            self.skip_blanks()?;
            if self.looking_at("||") || !self.eat("|") {
                return Ok(Pipeline { negated, commands });
            }
            self.eat("&");
            self.skip_newlines()?;
            commands.push(self.command()?);
        }
    }

    /// The unquoted reserved word at this position, if any; not consumed.
    pub fn keyword(&self) -> Option<&'static str> {
        const WORDS: [&str; 22] = [
            "!", "time", "{", "}", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done",
            "case", "esac", "in", "function", "select", "coproc", "[[", "]]",
        ];
        let rest = &self.source.as_bytes()[self.at..];
        let length = rest.iter().take(9).take_while(|b| !is_meta(**b)).count();
        WORDS.into_iter().find(|word| word.as_bytes() == &rest[..length])
    }

    /// A simple command, or a function definition of the form `name() …`.
    pub fn simple_command(&mut self) -> ParseResult<Command> {
        let mut simple = Simple::default();
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks()?;
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') => {
                    let [name] = simple.words.as_slice() else {
                        return self.fail("unexpected '(' in a command");
                    };
                    if !simple.assignments.is_empty() || !redirects.is_empty() {
                        return self.fail("unexpected '(' in a command");
                    }
                    let Some(name) = name.bare().map(str::to_owned) else {
                        return self.fail("a function name that is not plain text");
                    };
                    return self.function_after_name(name);
                }
                Some(_) => self.assignment_or_word(&mut simple)?,
            }
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && redirects.is_empty() {
            return self.fail("expected a command");
        }
        self.record_variables(&simple);
        Ok(Command { kind: CommandKind::Simple(simple), redirects })
    }

    fn record_variables(&mut self, simple: &Simple) {
        self.variables
            .extend(simple.assignments.iter().chain(&simple.declared).map(value_kind::assignment_kind));
        self.variables.extend(value_kind::variables_set_by(simple));
        self.arrays.extend(value_kind::array_names(simple));
    }

    fn assignment_or_word(&mut self, simple: &mut Simple) -> ParseResult<()> {
        let declares =
            simple.words.first().and_then(Word::bare).is_some_and(|name| DECLARATIONS.contains(&name));
        if (simple.words.is_empty() || declares)
            && let Some(assignment) = self.assignment()?
        {
            let into = if declares { &mut simple.declared } else { &mut simple.assignments };
            into.push(assignment);
            return Ok(());
        }
        let start = self.at;
        let word = self.word()?;
        if matches!(self.peek(), Some(b'<' | b'>')) && self.source[start..self.at].starts_with('{') {
            return self.fail("an unsupported redirection to a named descriptor ({name}>)");
        }
        simple.words.push(word);
        Ok(())
    }

    /// Consumes `name=…`, `name+=…` or `name[index]=…`, if there is one here.
    fn assignment(&mut self) -> ParseResult<Option<Assignment>> {
        let start = self.at;
        let Some(name) = self.name().map(str::to_owned) else { return Ok(None) };
        let mut index = None;
        if self.peek() == Some(b'[') && is_indexed_assignment(self.rest()) {
            self.at += 1;
            index = Some(self.arithmetic(ArithmeticEnd::Bracket)?);
            self.expect("]")?;
        }
        let appends = self.eat("+=");
        if !appends && !self.eat("=") {
            self.at = start;
            return Ok(None);
        }
        let value =
            if self.eat("(") { Value::Array(self.nested(Self::array)?) } else { Value::Scalar(self.word()?) };
        Ok(Some(Assignment { name, index, appends, value }))
    }

    fn array(&mut self) -> ParseResult<Vec<(Option<Word>, Word)>> {
        let mut values = Vec::new();
        loop {
            self.skip_blanks()?;
            match self.peek() {
                Some(b'\n') => self.inner_newline()?,
                Some(b')') => {
                    self.at += 1;
                    return Ok(values);
                }
                Some(b'[') if is_indexed_assignment(self.rest()) => {
                    self.at += 1;
                    let index = self.arithmetic(ArithmeticEnd::Bracket)?;
                    self.expect("]")?;
                    self.expect("=")?;
                    values.push((Some(index), self.word()?));
                }
                // Bash would evaluate an index that we cannot parse.
                Some(b'[') => return self.fail("an unsupported index in an array literal"),
                _ => {
                    let word = self.word()?;
                    if word.0.is_empty() {
                        return self.fail("an unterminated array");
                    }
                    values.push((None, word));
                }
            }
        }
    }

    /// Consumes a redirection, if there is one here.
    pub fn redirect(&mut self) -> ParseResult<Option<Redirect>> {
        let digits = self.source.as_bytes()[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let operator = &self.source.as_bytes()[self.at + digits..];
        match operator {
            [b'&', b'>', ..] if digits == 0 => {}
            [b'<' | b'>', b'(', ..] if digits == 0 => return Ok(None),
            [b'<' | b'>', ..] => {}
            _ => return Ok(None),
        }
        self.at += digits;
        let kind = [
            ("<<<", RedirectKind::Text),
            ("<<-", RedirectKind::Text),
            ("<<", RedirectKind::Text),
            ("<>", RedirectKind::Write),
            ("<&", RedirectKind::DuplicateInput),
            ("<", RedirectKind::Read),
            ("&>>", RedirectKind::Write),
            ("&>", RedirectKind::Write),
            (">>", RedirectKind::Write),
            (">&", RedirectKind::DuplicateOutput),
            (">|", RedirectKind::Write),
            (">", RedirectKind::Write),
        ];
        let Some((operator, kind)) = kind.into_iter().find(|(operator, _)| self.eat(operator)) else {
            return self.fail("an unsupported redirection");
        };
        if operator == "<<" || operator == "<<-" {
            let slot = self.here_document(operator == "<<-")?;
            return Ok(Some(Redirect { kind, target: Target::HereDocument(slot) }));
        }
        self.skip_blanks()?;
        let word = self.word()?;
        if word.0.is_empty() {
            return self.fail("a redirection without a target");
        }
        Ok(Some(Redirect { kind, target: Target::Word(word) }))
    }
}

/// Whether `[…]` is followed by `=` or `+=`, as far as can be decided without parsing it.
fn is_indexed_assignment(text: &str) -> bool {
    let Some(close) =
        text.bytes().take_while(|b| !matches!(b, b' ' | b'\n' | b'\'' | b'"')).position(|b| b == b']')
    else {
        return false;
    };
    let after = &text[close + 1..];
    after.starts_with('=') || after.starts_with("+=")
}

impl Part {
    /// The text of an unquoted text part; `None` for other parts.
    pub fn unquoted_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, quoted: false } => Some(text),
            _ => None,
        }
    }
}
