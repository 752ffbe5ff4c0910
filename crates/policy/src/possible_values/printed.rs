//! What commands print: the text of `echo` and `printf`, wherever they stand, and what names the working directory.

use std::collections::BTreeSet;

use super::{COMPUTED, KnownValues, TOO_MANY, UNKNOWN, computed, is_open, is_spread, joined, unknown};
use crate::paths::is_on_this_machine;
use crate::shell::ast::{Command, CommandKind, List, Part, Pipeline, RedirectKind, Simple, Target, Word};
use crate::words::{ArgKind, arguments, literal};

/// Options of `echo` that are not printed.
const ECHO_OPTIONS: [&str; 6] = ["-n", "-e", "-E", "-ne", "-en", "--"];

impl KnownValues {
    /// The text that a command prints or that its redirections contain, as far as it is known. [`TOO_MANY`] is among it if that is too
    /// much.
    pub fn printed(&self, command: &Command) -> Vec<String> {
        let texts = self.prints(command).map(|texts| texts.into_iter().collect());
        let mut texts: Vec<String> = texts.unwrap_or_else(|| vec![TOO_MANY.to_string()]);
        texts.extend(self.read_by(command));
        texts.retain(|text| !text.chars().all(|c| c == UNKNOWN || c.is_whitespace()));
        texts
    }

    /// What a list prints, without white space at the end; `None` if it is too much.
    pub fn output(&self, list: &List) -> Option<BTreeSet<String>> {
        let texts = self.list_prints(list)?;
        Some(texts.iter().map(|text| text.trim_end_matches(['\n', ' ']).to_owned()).collect())
    }

    fn list_prints(&self, list: &List) -> Option<BTreeSet<String>> {
        let pipelines = list.0.iter().flat_map(|item| {
            std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline))
        });
        let mut all: Option<BTreeSet<String>> = None;
        for pipeline in pipelines {
            let printed = self.pipeline_prints(pipeline)?;
            all = Some(match all {
                // Each line stands for itself.
                Some(before) if before.iter().all(|text| ends_word(text)) => &before | &printed,
                // The second one may not run.
                Some(before) => self.product(&before, &printed)?.into_iter().chain(before).collect(),
                None => printed,
            });
        }
        Some(all.unwrap_or_else(unknown))
    }

    fn pipeline_prints(&self, pipeline: &Pipeline) -> Option<BTreeSet<String>> {
        let [command] = pipeline.commands.as_slice() else {
            // A program may pass on what it reads.
            return pipeline
                .commands
                .iter()
                .try_fold(unknown(), |all, command| Some(&all | &self.prints(command)?));
        };
        self.prints(command)
    }

    /// What a command prints, also by commands in it; `None` if it is too much.
    fn prints(&self, command: &Command) -> Option<BTreeSet<String>> {
        let any_of = |lists: Vec<&List>| {
            lists.into_iter().try_fold(BTreeSet::new(), |all: BTreeSet<String>, list| {
                Some(&all | &self.list_prints(list)?)
            })
        };
        let repeated = |texts: BTreeSet<String>| {
            let is_joined = |text: &String| !text.is_empty() && !is_open(text) && !ends_word(text);
            (!texts.iter().any(is_joined)).then_some(texts)
        };
        let inner = match &command.kind {
            CommandKind::Simple(simple) => return self.simple_prints(command, simple),
            CommandKind::Subshell(list) | CommandKind::Group(list) => self.list_prints(list),
            CommandKind::If { arms, otherwise } => {
                let lists = arms.iter().flat_map(|(condition, body)| [condition, body]);
                any_of(lists.chain(otherwise).collect())
            }
            CommandKind::For { body, .. } | CommandKind::ArithmeticFor { body, .. } => {
                repeated(self.list_prints(body)?)
            }
            CommandKind::While { condition, body } => repeated(any_of(vec![condition, body])?),
            CommandKind::Case { arms, .. } => any_of(arms.iter().map(|(_, body)| body).collect()),
            CommandKind::Function { .. } | CommandKind::Test(_) | CommandKind::Arithmetic(_) => {
                Some(nothing())
            }
        };
        // A command in it may pass on what it reads.
        let read: BTreeSet<String> = self.read_by(command).into_iter().collect();
        (!read.iter().any(|text| text.contains(TOO_MANY))).then_some(&inner? | &read)
    }

    fn simple_prints(&self, command: &Command, simple: &Simple) -> Option<BTreeSet<String>> {
        let names: Vec<Option<String>> = simple.words.iter().map(literal).collect();
        let name_at = |at: usize| names.get(at).and_then(Option::as_deref);
        // Also as in `env echo x` and `timeout 5 echo x`.
        if let Some(at) = (0..names.len()).find(|at| matches!(name_at(*at), Some("echo" | "printf"))) {
            let words = &simple.words[at + 1..];
            let printed = match (name_at(at), name_at(at + 1)) {
                (Some("printf"), Some("-v")) => Some(nothing()),
                (Some("printf"), Some("--")) => self.formatted(&words[1..]),
                (Some("printf"), _) => self.formatted(words),
                _ => self.echoed(words),
            };
            // `xargs echo` also prints what it reads.
            let read = if at > 0 { self.read_by(command) } else { Vec::new() };
            return printed.map(|printed| printed.into_iter().chain(read).collect());
        }
        let mut values = match name_at(0) {
            None | Some("cd" | "true" | ":" | "test" | "[") => return Some(nothing()),
            Some("pwd") => return Some(BTreeSet::from([".".to_owned()])),
            Some("basename") => self.last_components(&simple.words[1..])?,
            Some("dirname") => self.parents(&simple.words[1..])?,
            // They print their argument in another form.
            Some("realpath" | "readlink") => {
                let printed = simple.words[1..].iter().map(|word| self.values(word));
                printed.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect()
            }
            Some(name) => self.functions.get(name).cloned().unwrap_or_default(),
        };
        values.extend(self.read_by(command));
        // Many programs print text of their arguments: `date +/x`, `git log --format=/x`.
        for word in simple.words.iter().skip(1) {
            values.extend(self.values(word)?.iter().flat_map(|text| paths_in(text)));
        }
        let is_plain_cat = names.len() == 1 && name_at(0) == Some("cat") && !values.is_empty();
        if !is_plain_cat {
            values.extend(unknown());
        }
        (!values.iter().any(|value| value.contains(TOO_MANY))).then_some(values)
    }

    /// The directories of the paths that words may be, and these themselves.
    fn parents(&self, words: &[Word]) -> Option<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for word in words {
            let values = self.values(word)?;
            // It may stand for an absolute path.
            found.extend(values.iter().map(|path| match path.trim_end_matches('/').rsplit_once('/') {
                _ if path == "." => "..".to_owned(),
                Some(("", _)) => "/".to_owned(),
                Some((parent, _)) => parent.to_owned(),
                None => ".".to_owned(),
            }));
            found.extend(values);
        }
        Some(found)
    }

    /// The last components of the paths that words may be, also without those that are suffixes of them.
    fn last_components(&self, words: &[Word]) -> Option<BTreeSet<String>> {
        let values = words.iter().map(|word| self.values(word)).collect::<Option<Vec<_>>>()?;
        let last = |path: &String| {
            // It may be the value of an option.
            let path = path
                .strip_prefix("--")
                .and_then(|option| option.split_once('='))
                .map_or(path.as_str(), |(_, value)| value);
            let trimmed = path.trim_end_matches('/');
            trimmed.rsplit('/').next().unwrap_or_default().to_owned()
        };
        let names: BTreeSet<String> = values.iter().flatten().map(last).collect();
        let stripped =
            names.iter().flat_map(|name| names.iter().filter_map(|end| name.strip_suffix(end.as_str())));
        Some(names.clone().into_iter().chain(stripped.map(str::to_owned)).collect())
    }

    /// The text of the here-documents and here-strings of a command, and of a substituted process that it reads.
    pub fn read_by(&self, command: &Command) -> Vec<String> {
        let mut texts = Vec::new();
        for redirect in &command.redirects {
            let values = match (&redirect.target, redirect.kind) {
                (Target::Word(word), RedirectKind::Text) => self.values(word),
                (Target::HereDocument(slot), _) => match self.bodies.get(*slot) {
                    Some(body) => self.values(body),
                    None => continue,
                },
                (Target::Word(word), _) => match word.0.as_slice() {
                    [Part::Process(list)] => self.list_prints(list),
                    _ => continue,
                },
            };
            match values {
                Some(values) => texts.extend(values),
                None => texts.push(TOO_MANY.to_string()),
            }
        }
        texts
    }

    /// The arguments of `echo`, with blanks between them.
    fn echoed(&self, words: &[Word]) -> Option<BTreeSet<String>> {
        let mut texts = nothing();
        let blank = BTreeSet::from([" ".to_owned()]);
        let mut end = "\n";
        let mut is_first = true;
        for word in words {
            let text = literal(word);
            if let Some(option) = text.filter(|text| ECHO_OPTIONS.contains(&text.as_str())) {
                end = if option.contains('n') { "" } else { end };
                continue;
            }
            texts = if is_first { texts } else { self.product(&texts, &blank)? };
            let values = self.expanded(word)?;
            let values = if word.0.iter().any(is_spread) { joined(&values) } else { values };
            texts = self.product(&texts, &values)?;
            is_first = false;
        }
        Some(texts.iter().map(|text| unescaped(text) + end).collect())
    }

    /// What `printf` makes of a format and its arguments; `None` if that is too much, or a directive may cut text.
    pub fn formatted(&self, words: &[Word]) -> Option<BTreeSet<String>> {
        let Some((format, words)) = words.split_first() else { return Some(nothing()) };
        let arguments = words.iter().map(|word| self.expanded(word)).collect::<Option<Vec<_>>>()?;
        let leads = |values: &BTreeSet<String>| values.iter().any(|value| value.contains(['/', '.']));
        let are_several =
            words.iter().zip(&arguments).any(|(word, values)| leads(values) && is_several(word));
        let mut printed = BTreeSet::new();
        for format in self.expanded(format)? {
            if are_several && !ends_word(&unescaped(&format)) {
                // They are joined.
                return None;
            }
            let pieces = pieces(&format);
            let mut left = arguments.iter();
            let mut texts = nothing();
            loop {
                for (text, directive) in &pieces {
                    texts = self.product(&texts, &BTreeSet::from([text.clone()]))?;
                    let value = match directive {
                        None => continue,
                        Some('%') => BTreeSet::from(["%".to_owned()]),
                        Some('T') => {
                            left.next();
                            continue;
                        }
                        Some('s' | 'b') => left.next().cloned().unwrap_or_else(nothing),
                        Some(_) => {
                            if left.next().is_some_and(leads) {
                                return None;
                            }
                            computed()
                        }
                    };
                    texts = self.product(&texts, &value)?;
                }
                let takes = pieces.iter().any(|(_, directive)| directive.is_some_and(|letter| letter != '%'));
                if left.len() == 0 || !takes {
                    break;
                }
            }
            printed.extend(texts.iter().map(|text| unescaped(text)));
        }
        Some(printed)
    }
}

/// The absolute paths and those that lead upwards that a text names, from where they begin up to a blank, quote or bracket.
fn paths_in(text: &str) -> Vec<String> {
    let is_end = |c: char| c.is_whitespace() || "'\"`,;()[]{}<>".contains(c);
    let begins = |at: usize| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|character| is_end(character) || "=+:@".contains(character))
    };
    let starts = ["/", "../"].into_iter().flat_map(|start| text.match_indices(start)).map(|(at, _)| at);
    let paths = starts.filter(|at| begins(*at)).map(|at| text[at..].split(is_end).next().unwrap_or_default());
    paths.filter(|path| path.starts_with('.') || is_on_this_machine(path)).map(str::to_owned).collect()
}

/// The text before each directive of a format, and the directive: `s` only if it takes its argument as it is, and `T` for a date, of which the text
/// is before it.
fn pieces(format: &str) -> Vec<(String, Option<char>)> {
    let mut found = Vec::new();
    let mut rest = format;
    while let Some((text, after)) = rest.split_once('%') {
        let open = after.trim_start_matches(|c: char| "-+ 0#.*".contains(c) || c.is_ascii_digit());
        if let Some((date, after)) = open.strip_prefix('(').and_then(|date| date.split_once(")T")) {
            found.push((format!("{text}{}", without_times(date)), Some('T')));
            rest = after;
            continue;
        }
        let end = after.find(|c: char| c.is_ascii_alphabetic() || c == '%').unwrap_or(after.len());
        let letter = after[end..].chars().next().unwrap_or('%');
        found.push((text.to_owned(), Some(if end == 0 { letter } else { 'd' })));
        rest = after.get(end + 1..).unwrap_or_default();
    }
    found.push((rest.to_owned(), None));
    found
}

/// The text of a date's format, with [`COMPUTED`] for each part that is a time.
fn without_times(format: &str) -> String {
    let mut plain = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        plain.push(if character == '%' { COMPUTED } else { character });
        if character == '%' {
            characters.next();
        }
    }
    plain
}

/// Whether a word may become several arguments.
fn is_several(word: &Word) -> bool {
    let mut found = Vec::new();
    arguments(word, &mut found);
    found.iter().any(|arg| arg.kind == ArgKind::Several)
}

fn nothing() -> BTreeSet<String> {
    BTreeSet::from([String::new()])
}

/// Whether what comes after a text is not joined to it.
fn ends_word(text: &str) -> bool {
    text.ends_with(char::is_whitespace)
}

/// The text with `\n`, `\t`, `\057`, `\x2f` and `\u002f` replaced, as `printf` and `echo -e` print it.
pub fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (digits, radix, most) = match rest.chars().next() {
            Some('x') => (&rest[1..], 16, 2),
            Some('u') => (&rest[1..], 16, 4),
            Some('U') => (&rest[1..], 16, 8),
            _ => (rest, 8, 3 + usize::from(rest.starts_with('0'))),
        };
        let length = digits.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        if digits[length..].starts_with([UNKNOWN, COMPUTED]) && length < most && (radix == 16 || length > 0) {
            return TOO_MANY.to_string();
        }
        match u32::from_str_radix(&digits[..length], radix).ok().and_then(char::from_u32) {
            Some('\0') => plain.push(' '),
            Some(character) => plain.push(character),
            None => {
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
