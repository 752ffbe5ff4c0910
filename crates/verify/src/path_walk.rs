//! Where the paths lead that commands and scripts name: which links they go through, from the directories in which a check may be.
//!
//! A path counts only from where it is used: the project's root, a directory that was entered, or any directory if the one that was entered
//! cannot be known (`cd "$D"`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use globset::{Glob, GlobMatcher};

use crate::shell_text::{with_values, without_texts};

/// What enters the directory that is named behind it, in a script of any language.
const ENTERS: [&str; 8] = ["-C", "-s", "cd", "chdir", "--chdir", "--directory", "cwd", "pushd"];

/// Commands that enter a directory, and options by which a command runs in another one.
const ENTERING_COMMANDS: [&str; 3] = ["cd", "chdir", "pushd"];
const ENTERING_OPTIONS: [&str; 7] =
    ["-C", "--chdir", "--cwd", "--dir", "--directory", "--prefix", "--rootdir"];

/// What ends a script if a directory cannot be entered.
const GIVES_UP: [&str; 3] = ["exit", "return", "false"];

/// The most places that are followed at once, and how deep commands are looked for in each other.
const MAX_PLACES: usize = 64;
const MAX_DEPTH: usize = 4;

/// A place in the repository, or behind directories that are not known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    is_known: bool,
    /// Names and patterns, from the top of the repository or from where it is known.
    parts: Vec<String>,
}

/// Nowhere in the repository if there are none.
pub(crate) type Places = BTreeSet<Place>;

impl Place {
    fn unknown() -> Self {
        Self { is_known: false, parts: Vec::new() }
    }

    /// The place that is reached by a part of a path; `None` if it is not in the repository.
    fn enter(mut self, part: &str) -> Option<Self> {
        let is_computed = part.contains(['$', '`']) || (part.contains('{') && !part.contains(','));
        match part {
            "." | "" => {}
            ".." if self.parts.pop().is_none() && self.is_known => return None,
            ".." => {}
            _ if is_computed => return Some(Self::unknown()),
            _ => self.parts.push(part.to_owned()),
        }
        Some(self)
    }
}

/// Follows paths of one check.
pub(crate) struct PathWalk<'a> {
    /// The project within its repository.
    project: Vec<String>,
    /// Links to directories, from the top, with their names and targets in the project.
    links: BTreeMap<Vec<String>, (&'a str, &'a str)>,
    by_name: HashMap<String, Vec<Vec<String>>>,
    /// The links that paths go through, by their names in the project.
    pub(crate) crossed: BTreeSet<&'a str>,
    /// All directories in which commands may be.
    entered: Places,
}

impl<'a> PathWalk<'a> {
    /// `part` is the project within its repository.
    pub(crate) fn new(part: &str, links: &'a BTreeMap<String, String>) -> Self {
        let project = split(part);
        let from_top = |path: &str| -> Vec<String> { project.iter().cloned().chain(split(path)).collect() };
        let links: BTreeMap<_, _> =
            links.iter().map(|(path, target)| (from_top(path), (path.as_str(), target.as_str()))).collect();
        let mut by_name: HashMap<String, Vec<Vec<String>>> = HashMap::new();
        for parts in links.keys() {
            by_name.entry(parts.last().cloned().unwrap_or_default()).or_default().push(parts.clone());
        }
        let entered = Places::from([Place { is_known: true, parts: project.clone() }]);
        Self { project, links, by_name, crossed: BTreeSet::new(), entered }
    }

    fn root(&self) -> Places {
        Places::from([Place { is_known: true, parts: self.project.clone() }])
    }

    /// Follows the paths of a command that is run in the project's root.
    pub(crate) fn follow_command(&mut self, command: &str) {
        let root = self.root();
        self.command(&without_texts(&with_values(command)), root, 0);
    }

    /// Follows the paths of a script of any language, at `path` in the project, which any command may have started. Comments do not count.
    pub(crate) fn follow_script(&mut self, path: &str, script: &str) {
        let own = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let own = self.walk(&self.root(), own);
        let mut from: Places = self.entered.iter().cloned().chain(own).collect();
        let read = is_shell(path, script).then(|| without_texts(&with_values(script)));
        let script = read.as_deref().unwrap_or(script);
        let lines = script.lines().map(str::trim_start);
        for line in lines.filter(|line| !line.starts_with(['#', '*']) && !line.starts_with("//")) {
            let mut before = "";
            for (at, word) in script_words(line) {
                let attached = word.strip_prefix("-C").filter(|rest| !rest.is_empty());
                // As in `os.chdir(top)`.
                let (object, verb) = before.rsplit_once('.').unwrap_or(("", before));
                if ENTERS.contains(&verb.trim_end_matches(':')) || attached.is_some() {
                    let path = attached.unwrap_or(word);
                    let entered = self.walk_from(&from, path, continues(line, at));
                    add(&mut from, entered);
                    let is_variable = !object.is_empty() && !line[..at].ends_with(['"', '\'']);
                    add(&mut from, is_variable.then(Place::unknown).into_iter().collect());
                } else if word.contains('/') {
                    self.walk_from(&from, word, continues(line, at));
                }
                before = word;
            }
        }
    }

    /// Follows a command and returns where it ends.
    fn command(&mut self, command: &str, from: Places, depth: usize) -> Places {
        let mut here = from;
        let mut outer = Vec::new();
        let commands = simple_commands(command);
        for (index, simple) in commands.iter().enumerate() {
            let entered = self.simple_command(&simple.words, &here, depth);
            let next = commands.get(index + 1).and_then(|next| next.words.first());
            let gives_up = next.is_some_and(|word| GIVES_UP.contains(&word.text.as_str()));
            match (entered, simple.end) {
                (Some(entered), End::Pipe | End::Background) => add(&mut self.entered, entered),
                (Some(entered), End::Or) if !gives_up => {
                    add(&mut self.entered, entered.clone());
                    add(&mut here, entered);
                }
                (Some(entered), _) => {
                    add(&mut self.entered, entered.clone());
                    here = entered;
                }
                (None, _) => {}
            }
            match simple.end {
                End::Open => outer.push(here.clone()),
                End::Close => here = outer.pop().unwrap_or(here),
                End::Pipe | End::Background | End::Or | End::Other => {}
            }
        }
        here
    }

    /// Follows the words of one command. Returns the directory that it enters for those behind it.
    fn simple_command(&mut self, words: &[Word], here: &Places, depth: usize) -> Option<Places> {
        let mut from = here.clone();
        for (index, word) in words.iter().enumerate() {
            let option = word.text.split_once('=').unwrap_or((&word.text, ""));
            let path = match option {
                ("-C", _) => words.get(index + 1).map(|word| word.text.as_str()),
                (name, "") if ENTERING_OPTIONS.contains(&name) => {
                    words.get(index + 1).map(|word| word.text.as_str())
                }
                (name, path) if ENTERING_OPTIONS.contains(&name) => Some(path),
                _ => word.text.strip_prefix("-C"),
            };
            if let Some(path) = path {
                let entered = self.walk(&from, path);
                add(&mut self.entered, entered.clone());
                add(&mut from, entered);
            }
        }
        for (index, word) in words.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|before| words.get(before));
            let is_code = before.is_some_and(|before| {
                before.text == "eval" || (before.text.starts_with('-') && before.text.ends_with('c'))
            });
            if is_code && depth < MAX_DEPTH {
                self.command(&with_values(&word.text), from.clone(), depth + 1);
                self.follow_script("", &word.text);
            } else if let Some((_, inner)) = word.text.split_once("$(").filter(|_| depth < MAX_DEPTH) {
                self.command(inner, from.clone(), depth + 1);
            }
            for path in paths_in(&word.text) {
                self.walk_from(&from, path, word.continues);
            }
        }
        let enters = words.iter().position(|word| ENTERING_COMMANDS.contains(&word.text.as_str()));
        let returns = words.iter().any(|word| word.text == "popd");
        match enters {
            Some(at) => {
                let is_path = |word: &&Word| word.text == "-" || !word.text.starts_with('-');
                Some(match words[at + 1..].iter().find(is_path) {
                    Some(word) if word.text == "-" => [Place::unknown()].into(),
                    Some(word) => self.walk_from(&from, &word.text, word.continues),
                    // The home directory.
                    None => Places::new(),
                })
            }
            None => returns.then(|| [Place::unknown()].into()),
        }
    }

    fn walk(&mut self, from: &Places, path: &str) -> Places {
        self.walk_from(from, path, false)
    }

    /// Notes the links that a path goes through from these places. Returns where it leads. One that `continues` what was before it begins
    /// where nobody knows.
    fn walk_from(&mut self, from: &Places, path: &str, continues: bool) -> Places {
        let mut places = match path.chars().next() {
            _ if continues => [Place::unknown()].into(),
            Some('/') => return Places::new(),
            Some('~') if path == "~" || path.starts_with("~/") => return Places::new(),
            Some('~') => [Place::unknown()].into(),
            _ => from.clone(),
        };
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            let reached: Places = places.into_iter().filter_map(|place| place.enter(part)).collect();
            places = reached.clone();
            if part == ".." {
                continue;
            }
            for place in reached {
                for (name, target) in self.links_at(&place) {
                    self.crossed.insert(name);
                    let start = Place { is_known: true, parts: self.project.clone() };
                    let end = target.split('/').try_fold(start, Place::enter);
                    add(&mut places, end.into_iter().filter(|_| !target.starts_with('/')).collect());
                }
            }
        }
        places
    }

    /// The links that a place may be.
    fn links_at(&self, place: &Place) -> Vec<(&'a str, &'a str)> {
        let Some(last) = place.parts.last() else { return Vec::new() };
        let is_pattern = |part: &String| part.contains(['*', '?', '[', '{']);
        if !place.parts.iter().any(is_pattern) {
            return match place.is_known {
                true => self.links.get(&place.parts).copied().into_iter().collect(),
                false => {
                    let named = self.by_name.get(last).into_iter().flatten();
                    let ends = named.filter(|parts| parts.ends_with(&place.parts));
                    ends.filter_map(|parts| self.links.get(parts).copied()).collect()
                }
            };
        }
        let names: Vec<NamePattern> = place.parts.iter().map(NamePattern::new).collect();
        let is_at = |parts: &[String]| {
            let ahead = parts.len().checked_sub(names.len()).filter(|ahead| *ahead == 0 || !place.is_known);
            let behind = ahead.map(|ahead| parts[ahead..].iter().zip(&names));
            behind.is_some_and(|mut pairs| pairs.all(|(part, name)| name.is(part)))
        };
        self.links.iter().filter(|(parts, _)| is_at(parts)).map(|(_, link)| *link).collect()
    }
}

/// A name in a path, or a pattern for it.
struct NamePattern<'a> {
    text: &'a str,
    pattern: Option<GlobMatcher>,
}

impl<'a> NamePattern<'a> {
    fn new(text: &'a String) -> Self {
        let pattern = text.contains(['*', '?', '[', '{']).then(|| Glob::new(text).ok()).flatten();
        Self { text, pattern: pattern.map(|pattern| pattern.compile_matcher()) }
    }

    fn is(&self, name: &str) -> bool {
        self.text == name || self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(name))
    }
}

fn add(places: &mut Places, more: Places) {
    places.extend(more);
    while places.len() > MAX_PLACES {
        places.pop_last();
    }
}

fn split(path: &str) -> Vec<String> {
    path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// What may be a path in a word: all of it, the value of an option or a variable, and each entry of a list.
fn paths_in(word: &str) -> impl Iterator<Item = &str> {
    let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| rest.get(1..));
    let value = word.split_once('=').map(|(_, value)| value);
    let lists = [Some(word), value].into_iter().flatten().filter(|text| text.contains(':'));
    let entries = lists.flat_map(|text| text.split(':'));
    let whole = Some(word).filter(|word| !word.starts_with('-'));
    [whole, short, value].into_iter().flatten().chain(entries).filter(|path| !path.is_empty())
}

/// A word of a command.
#[derive(Debug)]
struct Word {
    text: String,
    /// Whether the output of a command is right before it.
    continues: bool,
}

/// What is behind a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Pipe,
    Background,
    Or,
    Open,
    Close,
    Other,
}

#[derive(Debug)]
struct SimpleCommand {
    words: Vec<Word>,
    end: End,
}

/// The commands of a shell command, as far as quotes, white space and operators tell. What is in quotes is one word.
fn simple_commands(command: &str) -> Vec<SimpleCommand> {
    let mut commands = Vec::new();
    let (mut words, mut word): (Vec<Word>, Option<Word>) = (Vec::new(), None);
    let (mut quote, mut before, mut in_backquotes) = (None, ' ', false);
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        let is_quoted = quote.is_some();
        let is_operator = !is_quoted && matches!(c, ';' | '&' | '|' | '(' | ')' | '`' | '\n');
        let is_redirection = c == '&' && matches!(before, '<' | '>');
        match c {
            _ if quote == Some(c) => quote = None,
            '"' | '\'' if !is_quoted => {
                quote = Some(c);
                word.get_or_insert_with(|| new_word(before));
            }
            '\\' if quote != Some('\'') => {
                let next = chars.next().filter(|next| *next != '\n');
                word.get_or_insert_with(|| new_word(before)).text.extend(next);
            }
            _ if is_operator && !is_redirection => {
                words.extend(word.take());
                let doubled = matches!(c, '&' | '|') && chars.next_if_eq(&c).is_some();
                in_backquotes ^= c == '`';
                let end = match c {
                    '|' if doubled => End::Or,
                    '|' => End::Pipe,
                    '&' if !doubled => End::Background,
                    '(' => End::Open,
                    ')' => End::Close,
                    '`' if in_backquotes => End::Open,
                    '`' => End::Close,
                    _ => End::Other,
                };
                commands.push(SimpleCommand { words: std::mem::take(&mut words), end });
            }
            _ if !is_quoted && (c.is_whitespace() || matches!(c, '<' | '>' | '&')) => {
                words.extend(word.take());
            }
            _ => word.get_or_insert_with(|| new_word(before)).text.push(c),
        }
        before = c;
    }
    words.extend(word);
    commands.push(SimpleCommand { words, end: End::Other });
    commands
}

fn new_word(before: char) -> Word {
    Word { text: String::new(), continues: matches!(before, ')' | '`') }
}

/// The words of a line in any language, with where they begin.
fn script_words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_separator = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | ',' | ';' | '=' | '&' | '|')
    };
    let words = line.split(is_separator).filter(|word| !word.is_empty());
    words.map(|word| (word.as_ptr() as usize - line.as_ptr() as usize, word))
}

/// By its name or its first line.
fn is_shell(path: &str, script: &str) -> bool {
    let first = script.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    let named = [".sh", ".bash", ".zsh"].iter().any(|ending| path.ends_with(ending));
    named || first.split(['/', ' ']).any(|word| ["sh", "bash", "dash", "zsh"].contains(&word))
}

/// Whether a path, at this byte of a line, is only the end of one: `"$D"/app`, `"$(pwd)/app"`, `top + "/app"`.
fn continues(line: &str, at: usize) -> bool {
    let ahead = &line[..at];
    let unquoted = ahead.trim_end_matches(['"', '\'', '`']);
    let is_within =
        |text: &str| text.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | '}'));
    let is_added = unquoted.len() < ahead.len() && unquoted.trim_end().ends_with(['+', '.']);
    line[at..].starts_with('/') && (is_within(unquoted) || is_added)
}

#[cfg(test)]
mod tests;
