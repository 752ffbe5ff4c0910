//! Compound commands: groups, conditions, loops, `case`, functions, `[[ ]]` and `(( ))`.

use super::ast::{Command, CommandKind, Condition, List, Word};
use super::cursor::{Cursor, ParseResult, is_meta};
use super::expansion::ArithmeticEnd;
use super::value_kind;

/// The binary operators of `[[ ]]`, except `<` and `>`.
const BINARY: [&str; 14] =
    ["=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "-a"];

impl Cursor<'_> {
    pub fn command(&mut self) -> ParseResult<Command> {
        let Some(kind) = self.nested(Self::compound)? else { return self.simple_command() };
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks()?;
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(Command { kind, redirects }),
            }
        }
    }

    fn compound(&mut self) -> ParseResult<Option<CommandKind>> {
        if self.eat("((") {
            let expression = self.arithmetic(ArithmeticEnd::Parentheses)?;
            self.expect("))")?;
            return Ok(Some(CommandKind::Arithmetic(expression)));
        }
        if self.eat("(") {
            let list = self.some_list()?;
            self.expect(")")?;
            return Ok(Some(CommandKind::Subshell(list)));
        }
        // After a pipe, `time` is a program.
        let Some(word) = self.keyword().filter(|word| *word != "time") else { return Ok(None) };
        self.at += word.len();
        let kind = match word {
            "{" => CommandKind::Group(self.list_until("}")?),
            "if" => self.if_clause()?,
            "for" => self.for_clause()?,
            "while" | "until" => {
                let condition = self.list_until("do")?;
                CommandKind::While { condition, body: self.list_until("done")? }
            }
            "case" => self.case_clause()?,
            "[[" => self.test()?,
            "function" => self.function_keyword()?,
            other => return self.fail(format!("expected a command, got '{other}'")),
        };
        Ok(Some(kind))
    }

    fn list_until(&mut self, word: &str) -> ParseResult<List> {
        let list = self.some_list()?;
        self.closing(word)?;
        Ok(list)
    }

    fn closing(&mut self, word: &str) -> ParseResult<()> {
        if self.keyword() != Some(word) {
            return self.fail(format!("expected '{word}'"));
        }
        self.at += word.len();
        Ok(())
    }

    fn if_clause(&mut self) -> ParseResult<CommandKind> {
        let mut arms = Vec::new();
        loop {
            let condition = self.list_until("then")?;
            arms.push((condition, self.some_list()?));
            match self.keyword() {
                Some("elif") => self.at += 4,
                Some("else") => {
                    self.at += 4;
                    let otherwise = Some(self.list_until("fi")?);
                    return Ok(CommandKind::If { arms, otherwise });
                }
                _ => {
                    self.closing("fi")?;
                    return Ok(CommandKind::If { arms, otherwise: None });
                }
            }
        }
    }

    fn for_clause(&mut self) -> ParseResult<CommandKind> {
        self.skip_blanks()?;
        if self.eat("((") {
            return self.arithmetic_for();
        }
        let Some(name) = self.name().map(str::to_owned) else {
            return self.fail("a loop without a variable name");
        };
        if !self.peek().is_none_or(is_meta) {
            return self.fail("a loop variable that is not a plain name");
        }
        self.skip_newlines()?;
        let mut values = None;
        if self.keyword() == Some("in") {
            self.at += 2;
            let mut words = Vec::new();
            loop {
                self.skip_blanks()?;
                let word = self.word()?;
                if word.0.is_empty() {
                    break;
                }
                words.push(word);
            }
            values = Some(words);
        }
        self.variables.push((name.clone(), value_kind::loop_variable_kind(values.as_deref())));
        self.separator()?;
        self.closing("do")?;
        Ok(CommandKind::For { name, values, body: self.list_until("done")? })
    }

    fn arithmetic_for(&mut self) -> ParseResult<CommandKind> {
        let mut expressions = Vec::new();
        loop {
            expressions.push(self.arithmetic(ArithmeticEnd::Semicolon)?);
            if !self.eat(";") {
                break;
            }
        }
        if expressions.len() != 3 {
            return self.fail("a for ((…)) loop without exactly three expressions");
        }
        self.expect("))")?;
        self.separator()?;
        self.closing("do")?;
        Ok(CommandKind::ArithmeticFor { expressions, body: self.list_until("done")? })
    }

    fn separator(&mut self) -> ParseResult<()> {
        self.skip_blanks()?;
        self.eat(";");
        self.skip_newlines()
    }

    fn case_clause(&mut self) -> ParseResult<CommandKind> {
        self.skip_blanks()?;
        let subject = self.word()?;
        self.skip_newlines()?;
        self.closing("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.keyword() == Some("esac") {
                self.at += 4;
                return Ok(CommandKind::Case { subject, arms });
            }
            if !self.eat("(") && self.substitutions > 0 {
                return self.fail("a case pattern without '(' inside a substitution");
            }
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks()?;
                let pattern = self.word()?;
                if pattern.0.is_empty() {
                    return self.fail("expected a case pattern");
                }
                patterns.push(pattern);
                self.skip_blanks()?;
                if !self.eat("|") {
                    break;
                }
            }
            self.expect(")")?;
            arms.push((patterns, self.nested(Self::list)?));
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&")) && self.keyword() != Some("esac") {
                return self.fail("expected ';;'");
            }
        }
    }

    /// `function name …`
    fn function_keyword(&mut self) -> ParseResult<CommandKind> {
        self.skip_blanks()?;
        let Some(name) = self.word()?.bare().map(str::to_owned) else {
            return self.fail("a function name that is not plain text");
        };
        self.skip_blanks()?;
        if self.peek() == Some(b'(') && !self.empty_parentheses() {
            return self.fail("a function keyword with a subshell as body");
        }
        self.function_body(name)
    }

    /// `() …`, after the name.
    pub fn function_after_name(&mut self, name: String) -> ParseResult<Command> {
        if !self.empty_parentheses() {
            return self.fail("unexpected '(' in a command");
        }
        let kind = self.nested(|c| c.function_body(name))?;
        Ok(Command { kind, redirects: Vec::new() })
    }

    fn empty_parentheses(&mut self) -> bool {
        let start = self.at;
        self.at += 1;
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let empty = self.eat(")");
        if !empty {
            self.at = start;
        }
        empty
    }

    fn function_body(&mut self, name: String) -> ParseResult<CommandKind> {
        self.has_functions = true;
        self.skip_newlines()?;
        let body = self.command()?;
        match body.kind {
            CommandKind::Group(_) | CommandKind::Subshell(_) => {
                Ok(CommandKind::Function { name, body: Box::new(body) })
            }
            _ => self.fail("a function body that is neither { … } nor ( … )"),
        }
    }

    /// `[[ … ]]`, after the opening brackets.
    fn test(&mut self) -> ParseResult<CommandKind> {
        let mut conditions = Vec::new();
        let mut open = 0_usize;
        let mut complete = false;
        loop {
            self.skip_newlines()?;
            if complete {
                if self.keyword() == Some("]]") && open == 0 {
                    self.at += 2;
                    return Ok(CommandKind::Test(conditions));
                }
                if self.eat("&&") || self.eat("||") {
                    complete = false;
                } else if open > 0 && self.eat(")") {
                    open -= 1;
                } else {
                    return self.fail("an unsupported test expression");
                }
            } else if self.keyword() == Some("!") {
                self.at += 1;
            } else if self.eat("(") {
                open += 1;
            } else {
                conditions.push(self.condition()?);
                complete = true;
            }
        }
    }

    fn condition(&mut self) -> ParseResult<Condition> {
        let left = self.word()?;
        if left.0.is_empty() {
            return self.fail("an unsupported test expression");
        }
        self.skip_blanks()?;
        if self.keyword() == Some("]]") || matches!(self.peek(), None | Some(b'&' | b'|' | b')' | b'\n')) {
            return Ok(Condition::Bare(left));
        }
        if (self.eat("<") || self.eat(">")) && self.peek() != Some(b'(') {
            self.skip_blanks()?;
            return Ok(Condition::Binary(left, "<".into(), self.operand()?));
        }
        if let Some(unary) = left.bare().filter(|text| text.len() == 2 && text.starts_with('-')) {
            return Ok(Condition::Unary(unary.to_owned(), self.operand()?));
        }
        let operator = self.word()?;
        let Some(operator) = operator.bare().filter(|text| BINARY.contains(text)) else {
            return self.fail("an unsupported test operator");
        };
        self.skip_blanks()?;
        let right = if operator == "=~" { self.regex()? } else { self.operand()? };
        Ok(Condition::Binary(left, operator.to_owned(), right))
    }

    fn operand(&mut self) -> ParseResult<Word> {
        let word = self.word()?;
        if word.0.is_empty() { self.fail("expected an operand in [[ … ]]") } else { Ok(word) }
    }

    /// A regular expression, in which `(`, `)` and `|` are ordinary characters.
    fn regex(&mut self) -> ParseResult<Word> {
        let mut word = self.word()?;
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(b'(') => open += 1,
                Some(b')') if open > 0 => open -= 1,
                Some(b'|') if open > 0 || self.peek_at(1) != Some(b'|') => {}
                Some(b' ' | b'\t' | b'\n') if open == 0 => return Ok(word),
                _ => return self.fail("an unsupported regular expression; put it in a variable"),
            }
            word.push(&self.source[self.at..=self.at], false);
            self.at += 1;
            word.0.extend(self.word()?.0);
        }
    }
}
