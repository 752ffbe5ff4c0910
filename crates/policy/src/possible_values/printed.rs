//! What commands print: the text of `echo` and `printf`, wherever they stand, what programs pass on, and what names the working directory.

use std::collections::BTreeSet;

use super::programs;
use super::transformed::leads_nowhere;
use super::{
    ABOVE, ANYTHING, AT_HOME, COMPUTED, HERE, KnownValues, TOO_MANY, UNKNOWN, anything, computed, is_open,
    is_spread, joined, nothing, one, unknown,
};
use crate::shell::ast::{Command, CommandKind, List, Part, Pipeline, RedirectKind, Simple, Target, Word};
use crate::words::{ArgKind, arguments, literal};

/// The text of a script that a command may read from a pipe.
type Input = [String];

impl KnownValues {
    /// The text that a command prints or that its redirections contain, as far as it is known. [`TOO_MANY`] is among it if that is too
    /// much.
    pub fn printed(&self, command: &Command, input: &Input) -> Vec<String> {
        let texts = self.prints(command, input).map(|texts| texts.into_iter().collect());
        let mut texts: Vec<String> = texts.unwrap_or_else(|| vec![TOO_MANY.to_string()]);
        texts.extend(self.read_by(command));
        texts.retain(|text| is_known(text));
        texts
    }

    /// What a list prints, without white space at the end; `None` if it is too much.
    pub fn output(&self, list: &List) -> Option<BTreeSet<String>> {
        let texts = self.list_prints(list, &[])?;
        let mut printed = BTreeSet::new();
        for text in &texts {
            let trimmed = text.trim_end_matches('\n');
            // The ends of lines divide words.
            if text.starts_with('\n') {
                printed.insert(format!("{trimmed}\n"));
                printed.insert(trimmed.trim_start().to_owned());
            }
            printed.insert(trimmed.to_owned());
        }
        Some(printed)
    }

    fn list_prints(&self, list: &List, input: &Input) -> Option<BTreeSet<String>> {
        let pipelines = list.0.iter().flat_map(|item| {
            std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline))
        });
        let mut all: Option<BTreeSet<String>> = None;
        for pipeline in pipelines {
            let printed = self.pipeline_prints(pipeline, input)?;
            all = Some(match all {
                // Each line stands for itself.
                Some(before) if before.iter().all(|text| ends_word(text)) => {
                    before.iter().chain(&printed).map(|text| line(text)).collect()
                }
                // The second one may not run.
                Some(before) => self.product(&before, &printed)?.into_iter().chain(before).collect(),
                None => printed,
            });
        }
        Some(all.unwrap_or_else(nothing))
    }

    fn pipeline_prints(&self, pipeline: &Pipeline, input: &Input) -> Option<BTreeSet<String>> {
        let [command] = pipeline.commands.as_slice() else {
            // A program may pass on what it reads.
            let mut passed = input.to_vec();
            let mut all = unknown();
            for command in &pipeline.commands {
                let printed = self.prints(command, &passed)?;
                passed.extend(printed.iter().filter(|text| is_known(text)).cloned());
                all.extend(printed);
            }
            return Some(all);
        };
        self.prints(command, input)
    }

    /// What a command prints, also by commands in it; `None` if it is too much.
    fn prints(&self, command: &Command, input: &Input) -> Option<BTreeSet<String>> {
        // A command in it may pass on what it reads.
        let mut read = self.read_by(command);
        read.extend(input.iter().cloned());
        if read.iter().any(|text| text.contains(TOO_MANY)) {
            return None;
        }
        let any_of = |lists: Vec<&List>| {
            lists.into_iter().try_fold(BTreeSet::new(), |all: BTreeSet<String>, list| {
                Some(&all | &self.list_prints(list, &read)?)
            })
        };
        let repeated = |texts: BTreeSet<String>| {
            let is_joined = |text: &String| !text.is_empty() && !is_open(text) && !ends_word(text);
            (!texts.iter().any(is_joined)).then(|| texts.iter().map(|text| line(text)).collect())
        };
        match &command.kind {
            CommandKind::Simple(simple) => self.simple_prints(simple, &read),
            CommandKind::Subshell(list) | CommandKind::Group(list) => self.list_prints(list, &read),
            CommandKind::If { arms, otherwise } => {
                let lists = arms.iter().flat_map(|(condition, body)| [condition, body]);
                any_of(lists.chain(otherwise).collect())
            }
            CommandKind::For { body, .. } | CommandKind::ArithmeticFor { body, .. } => {
                repeated(self.list_prints(body, &read)?)
            }
            CommandKind::While { condition, body } => repeated(any_of(vec![condition, body])?),
            CommandKind::Case { arms, .. } => any_of(arms.iter().map(|(_, body)| body).collect()),
            CommandKind::Function { .. } | CommandKind::Test(_) | CommandKind::Arithmetic(_) => {
                Some(nothing())
            }
        }
    }

    fn simple_prints(&self, simple: &Simple, read: &Input) -> Option<BTreeSet<String>> {
        // It may pass on what substituted processes print.
        let processes = simple.words.iter().flat_map(|word| &word.0).filter_map(|part| match part {
            Part::Process(list) => Some(self.list_prints(list, &[])),
            _ => None,
        });
        let processes = processes.collect::<Option<Vec<_>>>()?;
        let read: Vec<String> = read.iter().chain(processes.iter().flatten()).cloned().collect();
        let read = read.as_slice();
        let names: Vec<Option<String>> = simple.words.iter().map(literal).collect();
        let name_at = |at: usize| names.get(at).and_then(Option::as_deref);
        let reads_known = read.iter().any(|text| is_known(text));
        // Also as in `env echo x` and `timeout 5 echo x`.
        if let Some(at) = (0..names.len()).find(|at| matches!(name_at(*at), Some("echo" | "printf"))) {
            let words = &simple.words[at + 1..];
            let printed = match (name_at(at), name_at(at + 1)) {
                (Some("printf"), Some("-v")) => Some(nothing()),
                (Some("printf"), Some("--")) => self.formatted(&words[1..]),
                (Some("printf"), _) => self.formatted(words),
                _ => self.echoed(words),
            }?;
            return Some(match at {
                0 => printed,
                // `xargs echo` also prints what it reads.
                _ if words.is_empty() => &printed | &read.iter().cloned().collect(),
                // The program's own escapes are others.
                _ if reads_known || words.iter().any(|word| self.may_contain(word, '\\')) => anything(),
                _ => printed,
            });
        }
        let name = match name_at(0) {
            // `$(< file)`
            None if simple.words.is_empty() && simple.assignments.is_empty() => {
                return Some(read.iter().cloned().chain(unknown()).collect());
            }
            None | Some("cd" | "true" | ":" | "test" | "[" | "read" | "mapfile") => return Some(nothing()),
            Some("pwd") => return Some(one(&HERE.to_string())),
            Some("basename") => return self.last_components(&simple.words[1..]),
            Some("dirname") => return self.parents(&simple.words[1..]),
            // They print their argument in another form.
            Some("realpath" | "readlink") => {
                let printed = simple.words[1..].iter().map(|word| self.expanded(word));
                let printed = printed.collect::<Option<Vec<_>>>()?;
                return Some(printed.into_iter().flatten().chain(unknown()).collect());
            }
            Some(name) => name,
        };
        let given = simple.words[1..].iter().map(|word| self.expanded(word)).collect::<Option<Vec<_>>>()?;
        let given: Vec<&str> = given.iter().flatten().map(String::as_str).collect();
        let mut values = self.functions.get(name).cloned().unwrap_or_default();
        // What programs print is not known, but for what this script gives them.
        if name != "cat" || simple.words.len() > 1 || !reads_known {
            values.extend(unknown());
        }
        // It may read what the script has written into files, too.
        let files = self.written.iter().filter(|_| !given.is_empty() && programs::prints_files(name));
        let read: Vec<&str> = read.iter().chain(files).map(String::as_str).collect();
        if read.iter().any(|text| is_known(text)) {
            values.extend(programs::passes_on(name, &given, &read));
        }
        values.extend(programs::prints_of(name, &given, reads_known));
        values.extend(programs::printed_paths(&given));
        if name == "git" {
            // Many of its commands print the names that they are given.
            values.extend(given.iter().filter(|text| !text.starts_with('-')).map(|text| (*text).to_owned()));
        }
        (!values.iter().any(|value| value.contains(TOO_MANY))).then_some(values)
    }

    /// Whether a character is in what a word may be.
    fn may_contain(&self, word: &Word, character: char) -> bool {
        self.values(word).is_none_or(|texts| texts.iter().any(|text| text.contains(character)))
    }

    /// The directories of the paths that words may be, and these themselves.
    fn parents(&self, words: &[Word]) -> Option<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for word in words {
            let values = self.expanded(word)?;
            // It may stand for an absolute path.
            found.extend(values.iter().map(|path| match path.trim_end_matches('/').rsplit_once('/') {
                _ if *path == HERE.to_string() => ABOVE.to_string(),
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
        let values = words.iter().map(|word| self.expanded(word)).collect::<Option<Vec<_>>>()?;
        let last = |path: &String| {
            // It may be the value of an option.
            let path = path
                .strip_prefix("--")
                .and_then(|option| option.split_once('='))
                .map_or(path.as_str(), |(_, value)| value);
            let trimmed = path.trim_end_matches('/');
            let last = trimmed.rsplit('/').next().unwrap_or_default();
            last.replace([HERE, ABOVE, AT_HOME], &COMPUTED.to_string())
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
                (Target::Word(word), kind) => match word.0.as_slice() {
                    [Part::Process(list)] => self.list_prints(list, &[]),
                    _ if kind == RedirectKind::Read => Some(self.written.clone()),
                    // Something else of the script has opened it.
                    _ if kind == RedirectKind::DuplicateInput
                        && !matches!(literal(word).as_deref(), Some("0" | "-")) =>
                    {
                        Some(anything())
                    }
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
            if let Some(option) = text.filter(|text| is_first && is_echo_option(text)) {
                end = if option.contains('n') { "" } else { end };
                continue;
            }
            texts = if is_first { texts } else { self.product(&texts, &blank)? };
            let values = self.expanded(word)?;
            let values = if word.0.iter().any(is_spread) { joined(&values) } else { values };
            texts = self.product(&texts, &values)?;
            is_first = false;
        }
        // Only some versions, and `-e`, take backslashes away.
        let plain = texts.iter().map(|text| unescaped(text));
        Some(plain.chain(texts.iter().cloned()).map(|text| text + end).collect())
    }

    /// What `printf` makes of a format and its arguments; `None` if that is too much, or a directive may cut text.
    pub fn formatted(&self, words: &[Word]) -> Option<BTreeSet<String>> {
        let Some((format, words)) = words.split_first() else { return Some(nothing()) };
        let arguments = words.iter().map(|word| self.expanded(word)).collect::<Option<Vec<_>>>()?;
        let leads = |values: &BTreeSet<String>| {
            values.iter().any(|value| !leads_nowhere(value) || value.contains('.'))
        };
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
                        Some(NO_DIRECTIVE) => return None,
                        Some(_) => match left.next().is_some_and(leads) {
                            true => return None,
                            false => &computed() | &nothing(),
                        },
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

/// Whether a text is known, in part at least.
fn is_known(text: &str) -> bool {
    !text.chars().all(|c| c == UNKNOWN || c.is_whitespace())
}

fn is_echo_option(text: &str) -> bool {
    text.strip_prefix('-')
        .is_some_and(|letters| !letters.is_empty() && letters.chars().all(|c| "neE".contains(c)))
}

/// Stands for a directive that no version of `printf` knows.
const NO_DIRECTIVE: char = '?';

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
        let letter = after[end..].chars().next();
        found.push((
            text.to_owned(),
            Some(match letter {
                Some('%') if end == 0 => '%',
                Some('s' | 'b') if end == 0 => 's',
                Some('s' | 'b' | 'c' | 'q' | 'Q' | 'd' | 'i' | 'o' | 'u' | 'x' | 'X' | 'e' | 'f' | 'g') => {
                    'd'
                }
                _ => NO_DIRECTIVE,
            }),
        ));
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

/// One line among others: what is before it is not joined to it.
fn line(text: &str) -> String {
    if text.is_empty() || text.starts_with('\n') { text.to_owned() } else { format!("\n{text}") }
}

/// Whether what comes after a text is not joined to it.
fn ends_word(text: &str) -> bool {
    text.ends_with(char::is_whitespace)
}

/// The text with `\n`, `\t`, `\057`, `\x2f` and `\u002f` replaced, as `printf` and `echo -e` print it; [`ANYTHING`] for what ends or hides text.
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
        if digits[length..].starts_with([UNKNOWN, COMPUTED, ANYTHING])
            && length < most
            && (radix == 16 || length > 0)
        {
            return TOO_MANY.to_string();
        }
        // Of larger numbers only the last byte counts, and a zero is left out.
        let code = u32::from_str_radix(&digits[..length], radix).ok();
        match code.map(|code| char::from_u32(code).filter(|c| c.is_ascii() && *c != '\0')) {
            Some(Some(character)) => plain.push(character),
            Some(None) => plain.push(ANYTHING),
            None => {
                let next = rest.chars().next();
                plain.push(match next {
                    Some('n') => '\n',
                    Some('t' | 'r' | 'v' | 'f') => ' ',
                    Some('a' | 'b' | 'c' | 'e' | 'E' | UNKNOWN | COMPUTED | ANYTHING) => ANYTHING,
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
