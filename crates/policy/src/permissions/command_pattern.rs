//! Command patterns of permission rules, such as `npm run *`: matched word by word, after shell quoting is removed.

use std::str::FromStr;

use super::rule_error::RuleError;
use crate::shell::ast::{Command, CommandKind, Item, Part, Script, Simple, Word};
use crate::shell::parse;
use crate::wildcard::{Quoting, Wildcard};
use crate::words::arguments;

/// A command's name and arguments. A `*` within a word matches any characters, a word `*` matches any one word, and a
/// final word `*` matches any number of further words.
#[derive(Debug, Clone)]
pub struct CommandPattern {
    words: Vec<Wildcard>,
    open: bool,
}

impl CommandPattern {
    /// Whether the pattern matches a simple command, given as its words.
    pub fn matches(&self, command: &[String]) -> bool {
        let enough =
            if self.open { command.len() >= self.words.len() } else { command.len() == self.words.len() };
        enough && self.words.iter().zip(command).all(|(pattern, word)| pattern.matches(word))
    }
}

impl FromStr for CommandPattern {
    type Err = RuleError;

    /// Parses the pattern as a shell command, so that quotes have the same meaning in both.
    fn from_str(text: &str) -> Result<Self, RuleError> {
        let script = parse(text).map_err(|error| RuleError::InvalidCommand(error.message))?;
        let only = match script.list.0.as_slice() {
            [Item { first, rest, background: false }] if rest.is_empty() && !first.negated => &first.commands,
            _ => return Err(not_plain_command()),
        };
        let [command] = only.as_slice() else { return Err(not_plain_command()) };
        let words = plain_words(command).ok_or_else(not_plain_command)?;
        let mut words: Vec<Wildcard> =
            words.iter().map(wildcard).collect::<Option<_>>().ok_or_else(not_plain_command)?;
        let open = words.len() > 1 && words.last().is_some_and(Wildcard::is_star);
        if open {
            words.pop();
        }
        Ok(Self { words, open })
    }
}

/// The simple commands of a command line, each as its words. `None` if it contains anything else, if a word is not
/// known before it runs, or if there is no command.
pub fn simple_commands(command: &str) -> Option<Vec<Vec<String>>> {
    let Script { list, .. } = parse(command).ok()?;
    let mut commands = Vec::new();
    for item in &list.0 {
        let rest = item.rest.iter().map(|(_, pipeline)| pipeline);
        for pipeline in std::iter::once(&item.first).chain(rest) {
            for command in &pipeline.commands {
                let mut args = Vec::new();
                plain_words(command)?.iter().for_each(|word| arguments(word, &mut args));
                commands
                    .push(args.iter().map(|arg| arg.literal().map(str::to_owned)).collect::<Option<_>>()?);
            }
        }
    }
    (!commands.is_empty()).then_some(commands)
}

/// The words of a command without assignments and redirections; `None` for other commands.
fn plain_words(command: &Command) -> Option<&[Word]> {
    match command {
        Command { kind: CommandKind::Simple(Simple { assignments, words, declared }), redirects }
            if assignments.is_empty() && declared.is_empty() && redirects.is_empty() && !words.is_empty() =>
        {
            Some(words)
        }
        _ => None,
    }
}

fn wildcard(word: &Word) -> Option<Wildcard> {
    let texts = word.0.iter().map(|part| match part {
        Part::Text { text, quoted: true } => Some((text.as_str(), Quoting::Quoted)),
        Part::Text { text, quoted: false } => Some((text.as_str(), Quoting::Bare)),
        Part::Parameter { .. } | Part::Command { .. } | Part::Arithmetic { .. } | Part::Process(_) => None,
    });
    Some(Wildcard::joined(texts.collect::<Option<Vec<_>>>()?))
}

fn not_plain_command() -> RuleError {
    RuleError::InvalidCommand("it is not a single plain command".to_owned())
}
