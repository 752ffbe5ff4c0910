//! A shell text as it is read for paths: with the values of variables that it sets itself, and without words that are texts and no paths.
//!
//! It is read, not run, so what is not certain stays as it is.

use std::collections::HashMap;
use std::ops::Range;

/// Commands whose words are printed.
const PRINTS: [&str; 2] = ["echo", "printf"];

/// Commands that compare words, and what is between these.
const COMPARES: [&str; 3] = ["test", "[", "[["];
const COMPARISONS: [&str; 6] = ["=", "==", "!=", "=~", "<", ">"];

/// Commands whose first word is a pattern for lines.
const SEARCHES: [&str; 3] = ["grep", "egrep", "fgrep"];

/// What may be before the first word of a command.
const KEYWORDS: [&str; 9] = ["!", "do", "elif", "else", "if", "then", "until", "while", "{"];

/// What ends a compound command.
const CLOSERS: [&str; 4] = ["done", "esac", "fi", "}"];

/// What stands for the directory in which a command is.
const HERE: [&str; 6] = ["$(pwd)", "$(pwd -P)", "$(pwd -L)", "`pwd`", "$PWD", "${PWD}"];

/// Puts values in the place of variables that are set once, to a value that is written down (`D=build`), and `.` in the place of `$PWD`.
pub(crate) fn with_values(text: &str) -> String {
    let mut text = text.to_owned();
    let mut values: HashMap<String, Option<String>> = HashMap::new();
    for (name, value) in assignments(&text) {
        values.entry(name).and_modify(|known| *known = None).or_insert(value);
    }
    if !values.contains_key("PWD") {
        HERE.iter().for_each(|here| text = replace_variable(&text, here, "."));
    }
    for (name, value) in values {
        let Some(value) = value else { continue };
        for written in [format!("${{{name}}}"), format!("${name}")] {
            text = replace_variable(&text, &written, &value);
        }
    }
    text
}

/// Where variables are set, with their values; `None` for one that is not certain: computed, or set only for one command or in some case.
fn assignments(text: &str) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    for line in text.lines().map(|line| line.split(" #").next().unwrap_or(line)) {
        for (segment, is_certain) in line.split(';').flat_map(conjunction) {
            let mut words = segment.split_whitespace().peekable();
            let is_loop = words.peek().is_some_and(|first| ["for", "read", "do", "while"].contains(first));
            if is_loop {
                let name = |word: &str| word.split('=').next().unwrap_or(word).to_owned();
                found.extend(words.map(|word| (name(word), None)));
                continue;
            }
            words.next_if(|first| ["export", "local", "readonly"].contains(first));
            let words: Vec<&str> = words.collect();
            for (index, word) in words.iter().enumerate() {
                let Some((name, value)) = word.split_once('=') else { continue };
                let name = name.trim_start_matches(|c: char| !is_name(c)).trim_end_matches(['+', ':']);
                let value = value.trim_matches(['"', '\'']);
                let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%,".contains(c);
                let is_known = is_certain && index == 0 && words.len() == 1 && !value.is_empty();
                let is_set = word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
                let is_known = is_known && is_set && value.chars().all(is_plain);
                found.push((name.to_owned(), is_known.then(|| value.to_owned())));
            }
        }
    }
    found
}

/// The commands of a part without `;`, and whether each is run in any case.
fn conjunction(part: &str) -> impl Iterator<Item = (&str, bool)> {
    let commands = part.split("&&").enumerate();
    commands.map(|(index, command)| (command, index == 0 && !command.contains(['|', '(', '{', '&'])))
}

/// Replaces a variable where its name ends there.
fn replace_variable(text: &str, written: &str, value: &str) -> String {
    let mut rest = text;
    let mut done = String::with_capacity(text.len());
    while let Some(at) = rest.find(written) {
        let behind = &rest[at + written.len()..];
        let is_longer = written.ends_with(is_name) && behind.starts_with(is_name);
        done.push_str(&rest[..at]);
        done.push_str(if is_longer { written } else { value });
        rest = behind;
    }
    done.push_str(rest);
    done
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Leaves out words that commands print, compare or search for. What another command may read is not such a word.
pub(crate) fn without_texts(text: &str) -> String {
    let may_print_paths = is_output_read(text);
    let lines = text.lines().map(|line| {
        let mut line_done = line.to_owned();
        let mut texts: Vec<Range<usize>> = segments(line)
            .iter()
            .flat_map(|segment| segment.texts(line, may_print_paths))
            .filter(|range| !line[range.clone()].contains("$(") && !line[range.clone()].contains('`'))
            .collect();
        texts.sort_by_key(|range| range.start);
        texts.into_iter().rev().for_each(|range| line_done.replace_range(range, ""));
        line_done
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a command may read what others of the text print: those in a loop or a function that is behind a pipe or in `$(…)`, or in
/// something that goes over several lines.
fn is_output_read(text: &str) -> bool {
    let with_line = |line| segments(line).into_iter().map(move |segment| (line, segment));
    let all: Vec<(&str, Segment)> = text.lines().flat_map(with_line).collect();
    let first =
        |line: &'_ str, segment: &Segment| segment.words.first().map(|word| line[word.clone()].to_owned());
    let functions: Vec<String> = all
        .iter()
        .filter(|(_, segment)| segment.is_function)
        .filter_map(|(line, segment)| segment.words.last().map(|word| line[word.clone()].to_owned()))
        .collect();
    let goes_on = text.lines().filter_map(|line| segments(line).pop()).any(|last| last.is_inner);
    goes_on
        || all.iter().any(|(line, segment)| {
            let Some(first) = first(line, segment) else { return false };
            let is_compound = CLOSERS.contains(&first.as_str()) || functions.contains(&first);
            (is_compound || first == "exec") && (segment.is_piped || segment.is_redirected)
        })
        || functions
            .iter()
            .any(|name| text.contains(&format!("$({name}")) || text.contains(&format!("`{name}")))
}

/// A command of a line.
#[derive(Debug, Default)]
struct Segment {
    words: Vec<Range<usize>>,
    /// Whether another command reads what it prints.
    is_piped: bool,
    /// Whether a file gets what it prints.
    is_redirected: bool,
    is_function: bool,
    /// Whether it is in parentheses or its quotes do not end.
    is_inner: bool,
}

impl Segment {
    /// The words that are not paths.
    fn texts(&self, line: &str, may_print_paths: bool) -> Vec<Range<usize>> {
        let word = |range: &Range<usize>| &line[range.clone()];
        let first = self.words.iter().position(|range| !KEYWORDS.contains(&word(range)));
        let Some((command, words)) = first.and_then(|at| self.words[at..].split_first()) else {
            return Vec::new();
        };
        if self.is_inner {
            return Vec::new();
        }
        match word(command) {
            command if PRINTS.contains(&command) => {
                let is_read = may_print_paths || self.is_piped || self.is_redirected;
                if is_read { Vec::new() } else { words.to_vec() }
            }
            command if COMPARES.contains(&command) => {
                let around = |at: usize| [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
                let compared = (0..words.len()).filter(|at| COMPARISONS.contains(&word(&words[*at])));
                compared.flat_map(around).filter_map(|at| words.get(at).cloned()).collect()
            }
            command if SEARCHES.contains(&command) => {
                let is_option = |range: &&Range<usize>| word(range).starts_with('-');
                let names_pattern =
                    words.iter().filter(is_option).any(|range| word(range).contains(['e', 'f']));
                let pattern = words.iter().find(|range| !is_option(range));
                pattern.filter(|_| !names_pattern).cloned().into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The commands of a line, as far as quotes and operators tell. Those in `(…)` are marked.
fn segments(line: &str) -> Vec<Segment> {
    let mut done: Vec<Segment> = Vec::new();
    let mut segment = Segment::default();
    let (mut depth, mut quote, mut start): (usize, Option<char>, Option<usize>) = (0, None, None);
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_quoted = quote.is_some();
        match c {
            '\\' if quote != Some('\'') => {
                start.get_or_insert(at);
                chars.next();
            }
            _ if quote == Some(c) => quote = None,
            '"' | '\'' if !is_quoted => {
                quote = Some(c);
                start.get_or_insert(at);
            }
            '#' if !is_quoted && start.is_none() => break,
            '&' if !is_quoted && line[at + 1..].starts_with('>') => {
                segment.words.extend(start.take().map(|start| start..at));
                segment.is_redirected = true;
            }
            ';' | '&' | '|' | '(' | ')' | '`' if !is_quoted => {
                segment.words.extend(start.take().map(|start| start..at));
                let is_doubled = chars.next_if(|(_, next)| *next == c).is_some();
                segment.is_piped = c == '|' && !is_doubled;
                segment.is_function = c == '(' && chars.peek().is_some_and(|(_, next)| *next == ')');
                segment.is_inner = depth > 0 || c == '(' || c == '`';
                done.push(std::mem::take(&mut segment));
                match c {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    // One that begins and one that ends cannot be told apart.
                    '`' => depth += 1,
                    _ => {}
                }
            }
            '>' | '<' if !is_quoted => {
                segment.words.extend(start.take().map(|start| start..at));
                let rest = line[at + 1..].trim_start_matches(['>', '<']);
                let is_kept = rest.starts_with("&1") || rest.starts_with("&2");
                let is_kept = is_kept || rest.trim_start().starts_with("/dev/null");
                segment.is_redirected |= !is_kept;
                // The number behind it is neither a word nor an operator.
                chars.next_if(|(_, next)| *next == '&');
            }
            _ if !is_quoted && c.is_whitespace() => {
                segment.words.extend(start.take().map(|start| start..at));
            }
            _ => {
                start.get_or_insert(at);
            }
        }
    }
    segment.words.extend(start.map(|start| start..line.len()));
    segment.is_inner = depth > 0 || quote.is_some();
    done.push(segment);
    done
}
