//! What the words of a script may expand to, as far as its text shows it, so that a path in a variable is judged like a
//! path that is written out.
//!
//! Order and conditions are not followed: a variable may have each value that the script gives it anywhere, and one that
//! the script does not set may be empty.

mod collector;
pub mod printed;
pub mod transformed;

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use crate::brace_sequences::is_sequence;
use crate::glob_prefix;
use crate::shell::ast::{Operation, Parameter, Part, Script, Word};
use crate::words::{Arg, ArgKind};

/// Stands for text that is not known.
pub const UNKNOWN: char = '\u{fffd}';
/// Stands for a name, or a part of one, that the shell makes of the script's own text in a way that is not computed.
pub const COMPUTED: char = '\u{fffb}';
/// Stands for more values than are listed, and for what the script makes of its own text in a way that is not computed.
pub const TOO_MANY: char = '\u{fffc}';
/// The most values of a word; of more, none is listed.
const MAX_VALUES: usize = 256;
/// The longest value, in bytes.
const MAX_VALUE: usize = 4096;
/// The most text, in bytes, that the values of one script have together.
const MAX_TEXT: usize = 2 * 1024 * 1024;
/// The most elements of an array of which each pair is joined.
const MAX_JOINED: usize = 16;
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
    known: Rc<OnceCell<KnownValues>>,
}

#[derive(Default)]
struct KnownValues {
    variables: HashMap<String, BTreeSet<String>>,
    /// The positional parameters, of functions and of `set`.
    parameters: BTreeSet<String>,
    /// The functions, with what they print.
    functions: HashMap<String, BTreeSet<String>>,
    /// The script's here-documents.
    bodies: Vec<Word>,
    /// How much text the values have, in bytes.
    used: Cell<usize>,
}

impl<'a> PossibleValues<'a> {
    pub fn of(script: &'a Script) -> Self {
        Self { script, known: Rc::new(OnceCell::new()) }
    }

    /// Adds to an argument that is not known what it may be.
    pub fn describe(&self, word: &Word, arg: &mut Arg) {
        if matches!(arg.kind, ArgKind::Plain | ArgKind::Glob) {
            return;
        }
        match self.known().arguments(word) {
            Some(values) => arg.may_be = values,
            None => arg.may_be_too_many = true,
        }
    }

    /// The text that a command prints or that its redirections contain, as far as it is known.
    pub fn printed(&self, command: &crate::shell::ast::Command) -> Vec<String> {
        self.known().printed(command)
    }

    /// The text that a command reads from its redirections, as far as it is known.
    pub fn read_by(&self, command: &crate::shell::ast::Command) -> Vec<String> {
        self.known().read_by(command)
    }

    fn known(&self) -> &KnownValues {
        self.known.get_or_init(|| KnownValues::of(self.script))
    }
}

/// Whether a part of a text is not known.
fn is_open(text: &str) -> bool {
    text.contains([UNKNOWN, COMPUTED])
}

/// An argument with this text, in which [`UNKNOWN`] and [`COMPUTED`] stand for anything.
pub fn possible_argument(text: String) -> Arg {
    if text.contains(COMPUTED) {
        let argument = possible_argument(text.replace(COMPUTED, &UNKNOWN.to_string()));
        return Arg { is_computed: true, ..argument };
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
        for part in &word.0 {
            texts = self.product(&texts, &self.part(part)?)?;
        }
        if !word.0.iter().any(may_be_split) {
            return Some(texts);
        }
        let is_several = |text: &String| text.contains(char::is_whitespace);
        let pieces: BTreeSet<String> = texts
            .iter()
            .filter(|text| is_several(text))
            .flat_map(|text| text.split_whitespace().map(str::to_owned))
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
        let mut values = match parameter.name.as_str() {
            // A path is judged in each possible working directory.
            "PWD" | "DIRSTACK" => BTreeSet::from([".".to_owned()]),
            "HOME" | "OLDPWD" => BTreeSet::from(["~".to_owned()]),
            name if name.starts_with("XDG_") => BTreeSet::from(["~".to_owned()]),
            "!" => unset("!"),
            "#" | "?" | "-" | "$" => computed(),
            "@" | "*" => self.parameters(),
            name if name.starts_with(|c: char| c.is_ascii_digit()) => self.parameters(),
            // Whoever writes the script knows the number of shells and the name of the user.
            name if name != "TMPDIR" && self.is_inherited(name) => &computed() | &unset(name),
            name if is_name(name) => self.variables.get(name).cloned().unwrap_or_else(|| unset(name)),
            _ => BTreeSet::new(),
        };
        if values.is_empty() {
            values.insert(UNKNOWN.to_string());
        }
        if SET_BY_BASH.contains(&parameter.name.as_str()) {
            values.extend(computed());
        }
        if !parameter.arithmetic.is_empty() && parameter.operation == Operation::Value {
            // An element that is not there.
            values.extend(unknown());
        }
        if parameter.joins {
            values = joined(&values);
        }
        // A part of these could be anything.
        let is_open = values.len() > MAX_VALUES || values.iter().any(|value| value.contains(TOO_MANY));
        match parameter.operation {
            Operation::Length => return Some(computed()),
            Operation::Other if self.is_inherited(&parameter.name) => return None,
            _ if is_open => return None,
            Operation::Value => {}
            Operation::Assign | Operation::Default | Operation::Alternate => {
                for word in &parameter.words {
                    values.extend(self.values(word)?);
                }
            }
            Operation::RemovePrefix | Operation::RemoveSuffix | Operation::Other => {
                return transformed::transformed(parameter, &values);
            }
        }
        (values.len() <= MAX_VALUES).then_some(values)
    }

    /// Whether a variable comes from the environment, where many values are paths.
    fn is_inherited(&self, name: &str) -> bool {
        let is_upper = name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        is_upper && !self.variables.contains_key(name)
    }

    /// The positional parameters. The script may have fewer of them, and the shell that runs it has none.
    fn parameters(&self) -> BTreeSet<String> {
        match self.parameters.is_empty() {
            true => unset("1"),
            false => &self.parameters | &unknown(),
        }
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

/// The elements of an array, and what two of them become that are joined.
fn joined(elements: &BTreeSet<String>) -> BTreeSet<String> {
    if elements.len() > MAX_JOINED {
        return BTreeSet::from([TOO_MANY.to_string()]);
    }
    let pairs = elements.iter().flat_map(|one| elements.iter().map(move |other| format!("{one} {other}")));
    pairs.chain(elements.iter().cloned()).chain(unknown()).collect()
}

fn computed() -> BTreeSet<String> {
    BTreeSet::from([COMPUTED.to_string()])
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

fn unknown() -> BTreeSet<String> {
    BTreeSet::from([UNKNOWN.to_string()])
}

/// The values of a variable that the script does not set.
fn unset(name: &str) -> BTreeSet<String> {
    let mut values = unknown();
    if name != "TMPDIR" {
        values.insert(String::new());
    }
    values
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
