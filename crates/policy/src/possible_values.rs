//! What the words of a script may expand to, as far as its text shows it, so that a path in a variable is judged like a
//! path that is written out.
//!
//! Order and conditions are not followed: a variable may have each value that the script gives it anywhere, and one that
//! the script does not set may be empty.

mod collector;
pub mod printed;
mod programs;
pub mod transformed;

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use crate::brace_sequences::is_sequence;
use crate::glob_prefix;
use crate::shell::ast::{Command, Operation, Parameter, Part, Script, Word};
use crate::words::{Arg, ArgKind};

/// Stands for text from outside the script that is not known, or for nothing.
pub const UNKNOWN: char = '\u{fffd}';
/// Stands for a name, or a part of one, that is made of the script's own text in a way that is not followed.
pub const COMPUTED: char = '\u{fff9}';
/// Stands for a path that is made of the script's own text in a way that is not followed, so that it may be any.
pub const ANYTHING: char = '\u{fffb}';
/// Stands for the working directory, as an absolute path.
pub const HERE: char = '\u{fffa}';
/// Stands for the directory above it.
pub const ABOVE: char = '\u{fff7}';
/// Stands for the home directory, as an absolute path.
pub const AT_HOME: char = '\u{fff8}';
/// Stands for more values than are listed.
pub const TOO_MANY: char = '\u{fffc}';
/// The most values of a word; of more, none is listed.
const MAX_VALUES: usize = 256;
/// The longest value, in bytes.
const MAX_VALUE: usize = 4096;
/// The most text, in bytes, that the values of one script have together.
const MAX_TEXT: usize = 2 * 1024 * 1024;
/// Variables that bash sets itself, whatever a script sets them to.
const SET_BY_BASH: [&str; 12] = [
    "BASHPID",
    "BASH_COMMAND",
    "BASH_SUBSHELL",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "LINENO",
    "PIPESTATUS",
    "RANDOM",
    "SECONDS",
];
/// How often a script is read to find the values of variables that depend on each other.
const MAX_PASSES: usize = 3;

/// The possible values of one script's words, found when they are first needed.
#[derive(Clone)]
pub struct PossibleValues<'a> {
    script: &'a Script,
    temp: Option<&'a Path>,
    known: Rc<OnceCell<KnownValues>>,
}

#[derive(Default)]
struct KnownValues {
    variables: HashMap<String, BTreeSet<String>>,
    /// Those that are used where they may not be set.
    may_be_unset: BTreeSet<String>,
    /// The positional parameters, of functions and of `set`.
    parameters: BTreeSet<String>,
    /// The functions, with what they print.
    functions: HashMap<String, BTreeSet<String>>,
    /// The script's here-documents.
    bodies: Vec<Word>,
    /// The text that the script writes into files.
    written: BTreeSet<String>,
    /// The session's temporary directory.
    temp: Option<String>,
    /// How much text the values have, in bytes.
    used: Cell<usize>,
}

impl<'a> PossibleValues<'a> {
    /// `temp` is the value of `TMPDIR`.
    pub fn of(script: &'a Script, temp: Option<&'a Path>) -> Self {
        Self { script, temp, known: Rc::new(OnceCell::new()) }
    }

    /// Adds to an argument that is not known what it may be.
    pub fn describe(&self, word: &Word, arg: &mut Arg) {
        if matches!(arg.kind, ArgKind::Plain | ArgKind::Glob) {
            return;
        }
        match self.known().arguments(word) {
            Some(values) => {
                arg.may_be = values;
                arg.is_one_of_them = self.known().is_set_here(word);
            }
            None => arg.may_be_too_many = true,
        }
    }

    /// The text that a command prints or that its redirections contain, where `input` is what it may read of the script's text.
    pub fn printed(&self, command: &Command, input: &[String]) -> Vec<String> {
        self.known().printed(command, input)
    }

    /// The text that a command reads from its redirections, as far as it is known.
    pub fn read_by(&self, command: &Command) -> Vec<String> {
        self.known().read_by(command)
    }

    /// The text that the script writes into files, as far as it is known.
    pub fn written(&self) -> impl Iterator<Item = &String> {
        self.known().written.iter()
    }

    fn known(&self) -> &KnownValues {
        self.known.get_or_init(|| KnownValues::of(self.script, self.temp))
    }
}

/// Whether a part of a text is not known.
fn is_open(text: &str) -> bool {
    text.contains([UNKNOWN, COMPUTED, ANYTHING])
}

/// An argument with this text, in which [`UNKNOWN`], [`COMPUTED`] and [`ANYTHING`] stand for what is not known.
pub fn possible_argument(text: String) -> Arg {
    let text = with_places(&text);
    if text.contains([COMPUTED, ANYTHING]) {
        let argument = possible_argument(text.replace([COMPUTED, ANYTHING], &UNKNOWN.to_string()));
        return Arg { is_computed: true, may_be_any_path: text.contains(ANYTHING), ..argument };
    }
    let kind = match () {
        () if text.starts_with('~') || text.contains(UNKNOWN) => ArgKind::Unknown,
        () if text.contains(['*', '?', '[']) => ArgKind::Glob,
        () => ArgKind::Plain,
    };
    // In a pattern that comes out of an expansion, backslashes only take the meaning of what follows.
    let text = if kind == ArgKind::Glob { text.replace('\\', "") } else { text };
    Arg::new(text, kind)
}

/// The text with a path for each [`HERE`] and [`ABOVE`], which are judged in each possible working directory, and each [`AT_HOME`]. Beside a name it would
/// be part of another path.
fn with_places(text: &str) -> String {
    let mut path = String::new();
    for (at, character) in text.char_indices() {
        let place = match character {
            HERE => ".",
            ABOVE => "..",
            AT_HOME => "~",
            _ => {
                path.push(character);
                continue;
            }
        };
        let word = path.rsplit(char::is_whitespace).next().unwrap_or_default();
        let begins =
            word.is_empty() || word.starts_with('-') || word.ends_with(['=', ':', ',', '"', '\'', '@']);
        let next = text[at + character.len_utf8()..].chars().next();
        let ends = next.is_none_or(|next| "/:,\"'".contains(next) || next.is_whitespace());
        match begins && ends {
            true => path.push_str(place),
            false => path.push(ANYTHING),
        }
    }
    path
}

impl KnownValues {
    /// The arguments that a word may become; `None` if there are too many.
    fn arguments(&self, word: &Word) -> Option<Vec<Arg>> {
        let texts = self.expanded(word)?;
        let is_listed = !texts.iter().any(|text| text.contains(TOO_MANY));
        is_listed.then(|| texts.into_iter().map(possible_argument).collect())
    }

    /// The texts that a word may become where braces are expanded; `None` if there are too many.
    fn expanded(&self, word: &Word) -> Option<BTreeSet<String>> {
        let values = self.values(word)?;
        if !word.0.iter().filter_map(Part::unquoted_text).any(|text| text.contains('{')) {
            return Some(values);
        }
        let mut texts = BTreeSet::new();
        for value in values {
            texts.extend(glob_prefix::alternatives(&without_sequences(&value))?);
        }
        (texts.len() <= MAX_VALUES).then_some(texts)
    }

    /// The texts that a word may become; `None` if there are too many.
    fn values(&self, word: &Word) -> Option<BTreeSet<String>> {
        let mut texts = BTreeSet::from([String::new()]);
        let is_empty = |part: &&Part| matches!(part, Part::Text { text, .. } if text.is_empty());
        let has_more = word.0.iter().filter(|part| !is_empty(part)).count() > 1;
        for part in &word.0 {
            let mut values = self.part(part)?;
            // Each element is a word, of which the first and the last have what is beside them.
            if is_spread(part) && has_more {
                values = values
                    .iter()
                    .flat_map(|text| [text.clone(), format!("{text} "), format!(" {text} ")])
                    .collect();
            }
            texts = self.product(&texts, &values)?;
        }
        if !word.0.iter().any(|part| may_be_split(part) || is_spread(part)) {
            return Some(texts);
        }
        // What is not known may be a blank.
        let divides = |c: char| c.is_whitespace() || c == UNKNOWN;
        let is_divided = |text: &&String| text.contains(divides) && text.contains(|c| !divides(c));
        let pieces: BTreeSet<String> = texts
            .iter()
            .filter(is_divided)
            .flat_map(|text| text.split_whitespace().chain(text.split(divides)))
            .filter(|piece| !piece.is_empty())
            .map(str::to_owned)
            .collect();
        // An assignment does not divide them.
        texts.extend(pieces);
        (texts.len() <= MAX_VALUES).then_some(texts)
    }

    fn product(&self, starts: &BTreeSet<String>, ends: &BTreeSet<String>) -> Option<BTreeSet<String>> {
        let mut texts = BTreeSet::new();
        for start in starts {
            for end in ends {
                let used = self.used.get() + start.len() + end.len();
                self.used.set(used);
                if used > MAX_TEXT || texts.len() == MAX_VALUES {
                    return None;
                }
                texts.insert(format!("{start}{end}"));
            }
        }
        Some(texts)
    }

    /// Whether all that is not known in a word are values of variables that the script has set before.
    fn is_set_here(&self, word: &Word) -> bool {
        let is_set = |name: &String| {
            self.variables.contains_key(name)
                && is_name(name)
                && !self.may_be_unset.contains(name)
                && !SET_BY_BASH.contains(&name.as_str())
        };
        word.0.iter().all(|part| match part {
            Part::Text { .. } => true,
            Part::Parameter { parameter, .. } => {
                parameter.operation == Operation::Value
                    && parameter.arithmetic.is_empty()
                    && is_set(&parameter.name)
            }
            Part::Command { .. } | Part::Arithmetic { .. } | Part::Process(_) => false,
        })
    }

    fn part(&self, part: &Part) -> Option<BTreeSet<String>> {
        match part {
            Part::Text { text, .. } => Some(BTreeSet::from([text.clone()])),
            Part::Parameter { parameter, .. } => self.parameter(parameter),
            Part::Command { list, .. } => self.output(list),
            Part::Arithmetic { .. } => Some(computed()),
            Part::Process(_) => Some(unknown()),
        }
    }

    fn parameter(&self, parameter: &Parameter) -> Option<BTreeSet<String>> {
        let name = parameter.name.as_str();
        let mut values = match name {
            "PWD" | "DIRSTACK" => one(&HERE.to_string()),
            "HOME" | "OLDPWD" => one(&AT_HOME.to_string()),
            _ if name.starts_with("XDG_") => one(&AT_HOME.to_string()),
            "TMPDIR" if !self.variables.contains_key(name) => self.temp.iter().cloned().collect(),
            "!" | "#" | "?" | "-" | "$" => computed(),
            // The name of the shell.
            "0" => anything(),
            "@" | "*" => self.parameters(),
            _ if name.starts_with(|c: char| c.is_ascii_digit()) => self.parameters(),
            // Whoever writes the script knows the number of shells and the name of the user.
            _ if self.is_inherited(name) => &computed() | &nothing(),
            _ if is_name(name) => self.variables.get(name).cloned().unwrap_or_else(nothing),
            _ => BTreeSet::new(),
        };
        if values.is_empty() {
            values = unknown();
        }
        match name {
            _ if SET_BY_BASH.contains(&name) => values.extend(computed()),
            // After an assignment it is empty.
            "_" => values.extend(nothing()),
            _ => {}
        }
        if !parameter.arithmetic.is_empty() && parameter.operation == Operation::Value {
            // An element that is not there.
            values.extend(nothing());
        }
        if parameter.joins {
            values = joined(&values);
        }
        // A part of these could be anything.
        let is_open = values.len() > MAX_VALUES || values.iter().any(|value| value.contains(TOO_MANY));
        match parameter.operation {
            Operation::Length => return Some(computed()),
            _ if is_open => return None,
            Operation::Value => {}
            Operation::Assign | Operation::Default | Operation::Alternate => {
                for word in &parameter.words {
                    values.extend(self.values(word)?);
                }
            }
            Operation::RemovePrefix
            | Operation::RemoveSuffix
            | Operation::Replace
            | Operation::ChangeCase
            | Operation::Other => {
                return match self.is_inherited(name) {
                    true => None,
                    false => transformed::transformed(parameter, &values),
                };
            }
        }
        (values.len() <= MAX_VALUES).then_some(values)
    }

    /// Whether a variable comes from the environment, where many values are paths.
    fn is_inherited(&self, name: &str) -> bool {
        let is_upper = name.len() > 1
            && !matches!(name, "PWD" | "HOME" | "TMPDIR")
            && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        is_upper && !self.variables.contains_key(name)
    }

    /// The positional parameters. The script may have fewer of them, and the shell that runs it has none.
    fn parameters(&self) -> BTreeSet<String> {
        &self.parameters | &nothing()
    }

    fn add(&mut self, name: &str, values: impl IntoIterator<Item = String>) {
        let known = self.variables.entry(name.to_owned()).or_default();
        insert(known, values);
    }

    fn add_parameters(&mut self, values: impl IntoIterator<Item = String>) {
        insert(&mut self.parameters, values);
    }
}

/// Adds values; more than [`MAX_VALUES`] of them are noticed where they are used.
fn insert(known: &mut BTreeSet<String>, values: impl IntoIterator<Item = String>) {
    for value in values {
        if known.len() > MAX_VALUES {
            return;
        }
        known.insert(if value.len() > MAX_VALUE { TOO_MANY.to_string() } else { value });
    }
}

/// Whether a part is all elements of an array, which become one text where no words are divided.
fn is_spread(part: &Part) -> bool {
    matches!(part, Part::Parameter { parameter, .. }
        if parameter.spread || matches!(parameter.name.as_str(), "*" | "@"))
}

/// The elements of an array, and what all of them become that are joined.
fn joined(elements: &BTreeSet<String>) -> BTreeSet<String> {
    match elements.iter().any(|text| text.contains(['/', '.', '~']) || is_open(text)) {
        true => elements | &anything(),
        false => elements | &computed(),
    }
}

fn one(text: &str) -> BTreeSet<String> {
    BTreeSet::from([text.to_owned()])
}

/// The value of what is not set.
fn nothing() -> BTreeSet<String> {
    one("")
}

fn unknown() -> BTreeSet<String> {
    one(&UNKNOWN.to_string())
}

fn computed() -> BTreeSet<String> {
    one(&COMPUTED.to_string())
}

fn anything() -> BTreeSet<String> {
    one(&ANYTHING.to_string())
}

/// A text with [`COMPUTED`] for each sequence such as `{a..c}` or `{1..20..2}`.
fn without_sequences(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(close) = rest.find('}') {
        match rest[..close].rfind('{').filter(|open| is_sequence(&rest[open + 1..close])) {
            Some(open) => {
                plain.push_str(&rest[..open]);
                plain.push(COMPUTED);
            }
            None => plain.push_str(&rest[..=close]),
        }
        rest = &rest[close + 1..];
    }
    plain + rest
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Whether the shell splits the expansion of a part into words.
fn may_be_split(part: &Part) -> bool {
    match part {
        Part::Parameter { quoted, .. } | Part::Command { quoted, .. } => !quoted,
        Part::Text { .. } | Part::Arithmetic { .. } | Part::Process(_) => false,
    }
}

#[cfg(test)]
mod tests;
