//! What commands print: the text of `echo` and `printf`, and what names the working directory.

use std::collections::BTreeSet;

use super::{KnownValues, unknown};
use crate::shell::ast::{Command, CommandKind, RedirectKind, Script, Simple, Target};

/// Options of `echo` that are not printed.
const ECHO_OPTIONS: [&str; 6] = ["-n", "-e", "-E", "-ne", "-en", "--"];

impl KnownValues {
    /// What a substituted command may print; `None` if it is too much.
    pub fn output_of(&self, command: &Command) -> Option<BTreeSet<String>> {
        let CommandKind::Simple(simple) = &command.kind else { return Some(unknown()) };
        let Some(name) = simple.words.first().and_then(|word| word.bare()) else { return Some(unknown()) };
        match name {
            "cd" | "true" | ":" | "test" | "[" => Some(BTreeSet::from([String::new()])),
            "pwd" => Some(BTreeSet::from([".".to_owned()])),
            "echo" | "printf" => self.joined(name, simple),
            "cat" if simple.words.len() == 1 => self.here_string(command),
            // They print their argument in another form.
            "realpath" | "readlink" | "dirname" => {
                let mut values = unknown();
                for word in &simple.words[1..] {
                    values.extend(self.values(word)?);
                }
                Some(values)
            }
            _ => Some(unknown()),
        }
    }

    /// The text of a here-string; anything without one.
    fn here_string(&self, command: &Command) -> Option<BTreeSet<String>> {
        let text = command.redirects.iter().rev().find_map(|redirect| match &redirect.target {
            Target::Word(word) if redirect.kind == RedirectKind::Text => Some(word),
            Target::Word(_) | Target::HereDocument(_) => None,
        });
        text.map_or_else(|| Some(unknown()), |word| self.values(word))
    }

    /// The text that a command prints or that its redirections contain, as far as it is known.
    pub fn printed(&self, command: &Command, script: &Script) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for redirect in command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Text) {
            let word = match &redirect.target {
                Target::Word(word) => Some(word),
                Target::HereDocument(slot) => script.bodies.get(*slot),
            };
            texts.extend(word.and_then(|word| self.values(word)).into_iter().flatten());
        }
        if let CommandKind::Simple(simple) = &command.kind
            && let Some(name @ ("echo" | "printf")) = simple.words.first().and_then(|word| word.bare())
        {
            texts.extend(self.joined(name, simple).into_iter().flatten());
        }
        texts
    }

    /// The arguments of `echo` or `printf`, with blanks between them. The format of `printf` may be printed too.
    pub fn joined(&self, name: &str, simple: &Simple) -> Option<BTreeSet<String>> {
        let mut texts = BTreeSet::from([String::new()]);
        let blank = BTreeSet::from([" ".to_owned()]);
        let words = simple.words[1..].iter().filter(|word| {
            let text = crate::words::literal(word);
            !text.is_some_and(|text| ECHO_OPTIONS.contains(&text.as_str()))
        });
        for (at, word) in words.enumerate() {
            let is_format = at == 0 && name == "printf";
            let values: BTreeSet<String> = match is_format {
                true => self.expanded(word)?.iter().map(|text| text.replace("%s", "")).collect(),
                false => self.expanded(word)?,
            };
            let first = texts.len() == 1 && texts.contains("");
            texts = if first { texts } else { self.product(&texts, &blank)? };
            texts = self.product(&texts, &values)?;
        }
        Some(texts.iter().map(|text| unescaped(text)).collect())
    }
}

/// The text with `\n`, `\t`, `\057` and `\x2f` replaced, as `printf` and `echo -e` print it.
fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (digits, radix) = match rest.strip_prefix('x') {
            Some(digits) => (digits, 16),
            None => (rest, 8),
        };
        let most = if radix == 16 { 2 } else { 3 + usize::from(digits.starts_with('0')) };
        let length = digits.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        match u8::from_str_radix(&digits[..length], radix) {
            Ok(0) => plain.push(' '),
            Ok(code) => plain.push(char::from(code)),
            Err(_) => {
                let next = rest.chars().next();
                plain.push(match next {
                    Some('n' | 't' | 'r' | 'c') => ' ',
                    Some(character) => character,
                    None => '\\',
                });
                rest = &rest[next.map_or(0, char::len_utf8)..];
                continue;
            }
        }
        rest = &digits[length..];
    }
    plain + rest
}
