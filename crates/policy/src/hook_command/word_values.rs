//! The values that a word of a command may have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::shell::ast::{List, Operation, Part, Word};

/// Words with more values than this count as computed.
const MAX_VALUES: usize = 64;

/// The longest value, in characters; a longer one counts as computed.
const MAX_LENGTH: usize = 4096;

/// What prints the directory in which a command is.
const PRINTS_DIRECTORY: [&[&str]; 3] = [&["pwd"], &["pwd", "-P"], &["pwd", "-L"]];

/// What prints the root of the repository. Its settings, which agents can write, decide which one that is.
const PRINTS_REPOSITORY: [&str; 3] = ["git", "rev-parse", "--show-toplevel"];

/// The possible values of something, as far as they are written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    pub texts: Vec<String>,
    /// Whether it can have no other value.
    pub is_complete: bool,
}

impl Values {
    pub fn one(text: impl Into<String>) -> Self {
        Self { texts: vec![text.into()], is_complete: true }
    }

    pub fn unknown() -> Self {
        Self { texts: Vec::new(), is_complete: false }
    }

    /// Its value, if it can have no other.
    pub fn only(&self) -> Option<&str> {
        match self.texts.as_slice() {
            [text] if self.is_complete => Some(text),
            _ => None,
        }
    }

    pub fn or(mut self, other: Self) -> Self {
        self.is_complete &= other.is_complete;
        for text in other.texts {
            if self.texts.contains(&text) {
                continue;
            }
            if self.texts.len() == MAX_VALUES {
                self.is_complete = false;
                break;
            }
            self.texts.push(text);
        }
        self
    }
}

/// What values depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The directories in which the shell may be.
    pub directories: Vec<PathBuf>,
    pub variables: BTreeMap<String, Values>,
}

impl Surroundings {
    /// What is true if either is.
    pub fn or(mut self, other: Self) -> Self {
        for directory in other.directories {
            if !self.directories.contains(&directory) {
                self.directories.push(directory);
            }
        }
        let mut others = other.variables;
        for (name, values) in &mut self.variables {
            let other = others.remove(name).unwrap_or_else(Values::unknown);
            *values = values.clone().or(other);
        }
        let only_there = others.into_iter().map(|(name, values)| (name, values.or(Values::unknown())));
        self.variables.extend(only_there);
        self
    }

    /// The values of a word, with braces and patterns expanded.
    pub fn values(&self, word: &Word, root: &Path) -> Values {
        let (texts, mut is_complete) = self.texts(word, root);
        let mut found = Vec::new();
        let choices: Vec<(Vec<Text>, bool)> = texts.iter().map(braced).collect();
        is_complete &= choices.iter().all(|(_, is_complete)| *is_complete);
        for text in choices.iter().flat_map(|(texts, _)| texts).flat_map(split) {
            // The home of a hook is empty, and its path is not known here.
            is_complete &= !matches!(text.first(), Some(('~', false)));
            match pattern(&text) {
                // Agents can add files that it matches.
                Some(pattern) => {
                    is_complete = false;
                    let matches = self.directories.iter().flat_map(|at| matches(&pattern, at));
                    found.extend(matches.take(MAX_VALUES));
                }
                None => found.push(text.into_iter().map(|(character, _)| character).collect()),
            }
        }
        is_complete &= found.len() <= MAX_VALUES;
        found.truncate(MAX_VALUES);
        Values { texts: found, is_complete }
    }

    /// The values of what is assigned, where nothing is split.
    pub fn assigned(&self, word: &Word, root: &Path) -> Values {
        let (texts, is_complete) = self.texts(word, root);
        let plain = |text: Text| text.into_iter().map(|(character, _)| character).collect();
        Values { texts: texts.into_iter().map(plain).collect(), is_complete }
    }

    fn texts(&self, word: &Word, root: &Path) -> (Vec<Text>, bool) {
        let mut texts = vec![Text::new()];
        let mut is_complete = true;
        for part in &word.0 {
            let (values, quoted) = self.part(part, root);
            is_complete &= values.is_complete && texts.len() * values.texts.len() <= MAX_VALUES;
            let is_short = |text: &Text, value: &String| text.len() + value.len() <= MAX_LENGTH;
            is_complete &= texts.iter().all(|text| values.texts.iter().all(|value| is_short(text, value)));
            let add = |text: &Text, value: &String| {
                text.iter().copied().chain(value.chars().map(|character| (character, quoted))).collect()
            };
            texts = texts
                .iter()
                .flat_map(|text| values.texts.iter().map(move |value| (text, value)))
                .filter(|(text, value)| is_short(text, value))
                .map(|(text, value)| add(text, value))
                .take(MAX_VALUES)
                .collect();
        }
        (texts, is_complete)
    }

    fn part(&self, part: &Part, root: &Path) -> (Values, bool) {
        match part {
            Part::Text { text, quoted } => (Values::one(text), *quoted),
            Part::Parameter { parameter, quoted } => {
                let is_plain = parameter.operation == Operation::Value && parameter.arithmetic.is_empty();
                let values = if is_plain { self.variable(&parameter.name) } else { Values::unknown() };
                (values, *quoted)
            }
            Part::Command { list, quoted } => (self.output(list, root), *quoted),
            Part::Arithmetic { quoted, .. } => (Values::unknown(), *quoted),
            Part::Process(_) => (Values::unknown(), true),
        }
    }

    fn variable(&self, name: &str) -> Values {
        match self.variables.get(name) {
            Some(values) => values.clone(),
            None if name == "PWD" => self.directory(),
            None => Values::unknown(),
        }
    }

    fn directory(&self) -> Values {
        let texts = self.directories.iter().map(|directory| directory.to_string_lossy().into_owned());
        Values { texts: texts.collect(), is_complete: true }
    }

    fn output(&self, list: &List, root: &Path) -> Values {
        let words = literal_words(list).unwrap_or_default();
        if PRINTS_DIRECTORY.contains(&words.as_slice()) {
            return self.directory();
        }
        let is_root = words == PRINTS_REPOSITORY;
        let texts = is_root.then(|| root.to_string_lossy().into_owned()).into_iter().collect();
        Values { texts, is_complete: false }
    }
}

/// The words of a list that is one command of nothing but text. Where its output goes does not matter.
fn literal_words(list: &List) -> Option<Vec<&str>> {
    use crate::shell::ast::CommandKind;
    let [item] = list.0.as_slice() else { return None };
    let [command] = item.first.commands.as_slice() else { return None };
    let CommandKind::Simple(simple) = &command.kind else { return None };
    let is_alone = item.rest.is_empty() && simple.assignments.is_empty();
    is_alone.then(|| simple.words.iter().map(Word::bare).collect())?
}

/// Characters, each with whether it is quoted.
type Text = Vec<(char, bool)>;

/// The expansions of `{a,b}`, and whether these are all.
fn braced(text: &Text) -> (Vec<Text>, bool) {
    let mut is_complete = true;
    let mut open = vec![text.clone()];
    let mut done = Vec::new();
    while let Some(text) = open.pop() {
        match brace(&text) {
            Some((start, commas, end)) if commas.len() + open.len() + done.len() < MAX_VALUES => {
                let starts = [start].into_iter().chain(commas.iter().copied());
                let ends = commas.iter().copied().chain([end]);
                let choice = |(from, to): (usize, usize)| {
                    [&text[..start], &text[from + 1..to], &text[end + 1..]].concat()
                };
                let choices: Vec<Text> = starts.zip(ends).map(choice).collect();
                open.extend(choices.into_iter().rev());
            }
            Some(_) => {
                is_complete = false;
                done.push(text);
            }
            None => done.push(text),
        }
    }
    (done, is_complete)
}

/// The first `{…}` with a comma: where it begins, its commas and its end.
fn brace(text: &Text) -> Option<(usize, Vec<usize>, usize)> {
    let starts = (0..text.len()).filter(|at| text[*at] == ('{', false));
    for start in starts {
        let mut depth = 0;
        let mut commas = Vec::new();
        for (at, character) in text.iter().enumerate().skip(start) {
            match character {
                ('{', false) => depth += 1,
                (',', false) if depth == 1 => commas.push(at),
                ('}', false) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                if !commas.is_empty() {
                    return Some((start, commas, at));
                }
                break;
            }
        }
    }
    None
}

/// The words of a text: the value of a variable that is not quoted can be several.
fn split(text: &Text) -> Vec<Text> {
    let words = text.split(|(character, quoted)| !quoted && character.is_whitespace());
    words.map(<[_]>::to_vec).filter(|word| !word.is_empty() || text.is_empty()).collect()
}

/// The text as a pattern for paths; `None` if it is not one.
fn pattern(text: &Text) -> Option<String> {
    let is_pattern = text.iter().any(|(character, quoted)| !quoted && "*?[".contains(*character));
    let escaped = |(character, quoted): &(char, bool)| {
        let is_escaped = "*?[]{}\\".contains(*character) && (*quoted || "{}".contains(*character));
        is_escaped.then_some('\\').into_iter().chain([*character])
    };
    is_pattern.then(|| text.iter().flat_map(escaped).collect())
}

/// The paths that a pattern matches, part by part.
fn matches(pattern: &str, directory: &Path) -> Vec<String> {
    let start = if pattern.starts_with('/') { Path::new("/") } else { directory };
    let mut found = vec![start.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        if !part.contains(['*', '?', '[']) {
            let name = part.replace('\\', "");
            found = found.into_iter().map(|at| at.join(&name)).filter(|at| at.exists()).collect();
            continue;
        }
        let Ok(glob) = globset::Glob::new(part) else { return Vec::new() };
        let matcher = glob.compile_matcher();
        let entries = found.iter().filter_map(|at| at.read_dir().ok()).flatten().flatten();
        let named = entries.filter(|entry| matcher.is_match(Path::new(&entry.file_name())));
        found = named.map(|entry| entry.path()).collect();
    }
    let mut paths: Vec<String> = found.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    paths.sort();
    paths
}
