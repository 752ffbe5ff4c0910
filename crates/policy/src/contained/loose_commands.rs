//! Commands in text that the parser does not understand, found by quotes and separators alone. Bash may read such text in another way, so
//! lines are judged one by one too, and so is what stands between separators whatever the quotes.

use std::iter::Peekable;
use std::rc::Rc;
use std::str::Chars;

use super::signals::PARENT;
use super::unparsed::{command_words, is_assignment, is_keyword};
use super::{ContainedWalk, calls};
use crate::verdict::RuleResult;
use crate::words::{Arg, UNKNOWN_PART};

impl ContainedWalk<'_> {
    pub fn unparsed(&mut self, source: &str) -> RuleResult {
        self.loose_commands(source)?;
        if source.trim_end().contains('\n') {
            source.lines().try_for_each(|line| self.loose_commands(line))?;
        }
        source.split([';', '|', '&', '(', ')', '{', '}', '`', '\n']).try_for_each(|part| {
            let words = command_words(part).into_iter();
            let words = words.map(|word| match word.contains("PPID") {
                true => PARENT,
                false => word.trim_matches(['\'', '"', '\\', '$']),
            });
            self.call(&words.map(Arg::plain).collect::<Vec<_>>())
        })
    }

    fn loose_commands(&mut self, source: &str) -> RuleResult {
        let mut reader = LooseReader::new(source);
        let outer = Rc::clone(&self.input);
        while reader.read_command(&|name| self.variables.texts(name).pop()) {
            let LooseCommand { words, inputs, scripts } = std::mem::take(&mut reader.command);
            scripts.iter().try_for_each(|script| self.text(script))?;
            self.add_input(inputs);
            let mut words = words.into_iter().peekable();
            while let Some(word) = words.next_if(|word| is_keyword(word) || is_assignment(word)) {
                let Some((name, value)) = word.split_once('=') else { continue };
                calls::judge_variable(name)?;
                self.remember(name, value);
                self.variable(name, value)?;
            }
            let args: Vec<Arg> = words.map(|word| Arg::plain(word).with_unknown_parts()).collect();
            let (result, printed) = self.captured(|walk| {
                walk.call(&args)?;
                walk.note_output(&args);
                Ok(())
            });
            result?;
            self.add_input(printed);
        }
        self.input = outer;
        Ok(())
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct LooseCommand {
    /// With [`UNKNOWN_PART`] for what is not known.
    words: Vec<String>,
    /// Here-strings.
    inputs: Vec<String>,
    /// What substitutions run.
    scripts: Vec<String>,
}

/// What happens to the word that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordUse {
    Argument,
    HereString,
    /// It is a file or a descriptor.
    Redirection,
}

struct LooseReader<'s> {
    characters: Peekable<Chars<'s>>,
    command: LooseCommand,
    word: Option<String>,
    word_use: WordUse,
}

impl<'s> LooseReader<'s> {
    fn new(source: &'s str) -> Self {
        Self {
            characters: source.chars().peekable(),
            command: LooseCommand::default(),
            word: None,
            word_use: WordUse::Argument,
        }
    }

    /// Reads the next command; returns false at the end of the text. `value` is what a variable is known to be.
    fn read_command(&mut self, value: &dyn Fn(&str) -> Option<String>) -> bool {
        while let Some(character) = self.characters.next() {
            match character {
                '\\' => match self.characters.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.push(escaped),
                },
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(value),
                '$' => self.dollar(value, false),
                '`' => self.backquoted(),
                ' ' | '\t' => self.end_word(),
                '#' if self.word.is_none() => {
                    while self.characters.next_if(|next| *next != '\n').is_some() {}
                }
                '{' | '}' if self.word.is_none() && self.is_at_end_of_word() && self.end_command() => {
                    return true;
                }
                '{' | '}' if self.word.is_none() && self.is_at_end_of_word() => {}
                '<' | '>' => self.redirection(),
                '\n' | ';' | '&' | '|' | '(' | ')' => {
                    if self.end_command() {
                        return true;
                    }
                }
                other => self.push(other),
            }
        }
        self.end_command()
    }

    fn push(&mut self, character: char) {
        self.word.get_or_insert_default().push(character);
    }

    fn is_at_end_of_word(&mut self) -> bool {
        self.characters.peek().is_none_or(|next| next.is_whitespace() || ";&|()".contains(*next))
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.word_use, WordUse::Argument) {
            WordUse::Argument => self.command.words.push(word),
            WordUse::HereString => self.command.inputs.push(word),
            WordUse::Redirection => {}
        }
    }

    /// Whether there was one.
    fn end_command(&mut self) -> bool {
        self.end_word();
        self.word_use = WordUse::Argument;
        self.command != LooseCommand::default()
    }

    fn redirection(&mut self) {
        // A number or `{name}` before it is a descriptor.
        let is_descriptor = |word: &String| {
            word.bytes().all(|b| b.is_ascii_digit()) || (word.starts_with('{') && word.ends_with('}'))
        };
        self.word = self.word.take().filter(|word| !is_descriptor(word));
        self.end_word();
        let mut operators = 1;
        while self.characters.next_if(|next| "<>&|-".contains(*next)).is_some() {
            operators += 1;
        }
        if operators == 1 && self.characters.next_if_eq(&'(').is_some() {
            return self.substitution('(', ')');
        }
        while self.characters.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
        self.word_use = if operators == 3 { WordUse::HereString } else { WordUse::Redirection };
    }

    fn single_quoted(&mut self) {
        let word = self.word.get_or_insert_default();
        word.extend(self.characters.by_ref().take_while(|character| *character != '\''));
    }

    fn double_quoted(&mut self, value: &dyn Fn(&str) -> Option<String>) {
        self.word.get_or_insert_default();
        while let Some(character) = self.characters.next() {
            match character {
                '"' => return,
                '$' => self.dollar(value, true),
                '`' => self.backquoted(),
                '\\' => match self.characters.next() {
                    Some('\n') | None => {}
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => self.push(escaped),
                    Some(other) => ['\\', other].into_iter().for_each(|character| self.push(character)),
                },
                other => self.push(other),
            }
        }
    }

    /// `$'…'`
    fn ansi_quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(character) = self.characters.next() {
            match (character, (character == '\\').then(|| self.characters.next()).flatten()) {
                ('\'', _) => return,
                ('\\', Some('x')) => self.code(16, 2),
                ('\\', Some(digit @ '0'..='7')) => {
                    let first = digit.to_digit(8).unwrap_or_default();
                    self.code_from(first, 8, 2);
                }
                ('\\', Some('n')) => self.push('\n'),
                ('\\', Some('t')) => self.push('\t'),
                ('\\', Some(escaped)) => self.push(escaped),
                (other, _) => self.push(other),
            }
        }
    }

    fn code(&mut self, radix: u32, digits: usize) {
        self.code_from(0, radix, digits);
    }

    fn code_from(&mut self, mut code: u32, radix: u32, digits: usize) {
        for _ in 0..digits {
            let Some(digit) = self.characters.peek().and_then(|next| next.to_digit(radix)) else { break };
            self.characters.next();
            code = code * radix + digit;
        }
        self.push(char::from_u32(code).unwrap_or(UNKNOWN_PART));
    }

    fn backquoted(&mut self) {
        let mut script = String::new();
        while let Some(character) = self.characters.next_if(|next| *next != '`') {
            script.extend(if character == '\\' { self.characters.next() } else { Some(character) });
        }
        self.characters.next();
        self.command.scripts.push(script);
        self.push(UNKNOWN_PART);
    }

    fn dollar(&mut self, value: &dyn Fn(&str) -> Option<String>, is_quoted: bool) {
        match self.characters.peek().copied() {
            Some('(') => {
                self.characters.next();
                self.substitution('(', ')');
            }
            Some('[') => {
                self.characters.next();
                self.substitution('[', ']');
            }
            Some('{') => {
                self.characters.next();
                let inner = self.enclosed('{', '}');
                match is_name(&inner) {
                    true => self.variable(&inner, value, is_quoted),
                    false => self.expansion(inner),
                }
            }
            Some('"') if !is_quoted => {}
            Some('\'') if !is_quoted => {
                self.characters.next();
                self.ansi_quoted();
            }
            Some(next) if next.is_ascii_alphabetic() || next == '_' => {
                let mut name = String::new();
                while let Some(next) =
                    self.characters.next_if(|next| next.is_ascii_alphanumeric() || *next == '_')
                {
                    name.push(next);
                }
                self.variable(&name, value, is_quoted);
            }
            Some(next) if next.is_ascii_digit() || "@*#?-$!".contains(next) => {
                self.characters.next();
                self.push(UNKNOWN_PART);
            }
            _ => self.push('$'),
        }
    }

    fn variable(&mut self, name: &str, value: &dyn Fn(&str) -> Option<String>, is_quoted: bool) {
        let known = if name == "PPID" { Some(PARENT.to_owned()) } else { value(name) };
        for character in known.unwrap_or_else(|| UNKNOWN_PART.to_string()).chars() {
            match character.is_whitespace() && !is_quoted {
                true => self.end_word(),
                false => self.push(character),
            }
        }
    }

    fn substitution(&mut self, open: char, close: char) {
        let inner = self.enclosed(open, close);
        self.expansion(inner);
    }

    /// An expansion with this inside, whose value is not known.
    fn expansion(&mut self, inner: String) {
        match inner.contains("PPID") {
            true => self.word.get_or_insert_default().push_str(PARENT),
            false => self.push(UNKNOWN_PART),
        }
        self.command.scripts.push(inner);
    }

    /// The text up to the closing character, which is consumed, and which quotes hide.
    fn enclosed(&mut self, open: char, close: char) -> String {
        let (mut inner, mut depth, mut quote) = (String::new(), 1, None);
        while let Some(character) = self.characters.next() {
            match (character, quote) {
                ('\\', None | Some('"')) => {
                    inner.push(character);
                    inner.extend(self.characters.next());
                    continue;
                }
                ('\'' | '"', None) => quote = Some(character),
                (character, Some(opened)) if character == opened => quote = None,
                (character, None) if character == open => depth += 1,
                (character, None) if character == close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            inner.push(character);
        }
        inner
    }
}

pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::LooseReader;

    #[test]
    fn words_end_where_bash_ends_them() {
        for (source, expected) in [
            ("g\\it push", &[&["git", "push"][..]][..]),
            ("{fd}</dev/null git push", &[&["git", "push"]]),
            ("git 2>&1 push >out.txt x", &[&["git", "push", "x"]]),
            ("a 'b c' \"d $x e\"; f", &[&["a", "b c", "d 1 2 e"], &["f"]]),
            ("a $x b # c\nd", &[&["a", "1", "2", "b"], &["d"]]),
            ("{ a; } | b", &[&["a"], &["b"]]),
            ("a $'b\\x20c\\'' d", &[&["a", "b c'", "d"]]),
            ("$\"a b\" ${x} ${!y} $[1] {c}", &[&["a b", "1", "2", "\u{fffd}", "\u{fffd}", "{c}"]]),
            ("kill $PPID \"$((PPID))\"", &[&["kill", "$PPID", "$PPID"]]),
        ] {
            let mut reader = LooseReader::new(source);
            let mut found = Vec::new();
            while reader.read_command(&|name| (name == "x").then(|| "1 2".to_owned())) {
                found.push(std::mem::take(&mut reader.command).words);
            }
            assert_eq!(found, expected, "{source}");
        }
        let mut reader = LooseReader::new("a $(b 'c)') `d \\`e` <(f) <<< \"g h\"");
        assert!(reader.read_command(&|_| None));
        assert_eq!(reader.command.scripts, ["b 'c)'", "d `e", "f"]);
        assert_eq!(reader.command.inputs, ["g h"]);
    }
}
