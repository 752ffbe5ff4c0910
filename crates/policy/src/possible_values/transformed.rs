//! What the operators of an expansion make of a value: `${x#pattern}`, `${x%pattern}`, `${x/pattern/word}`, `${x:1}`, `${x^^}`.

use std::collections::BTreeSet;

use super::{ABOVE, ANYTHING, AT_HOME, COMPUTED, HERE, UNKNOWN, anything, computed, is_open};
use crate::shell::ast::{Operation, Parameter, Part, Word};

/// The most characters of a value times those of a pattern.
const MAX_STEPS: usize = 1 << 14;

/// The results for the possible values; `None` if one of them may lead anywhere.
pub fn transformed(parameter: &Parameter, values: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let text = parameter.words.first().and_then(marked);
    let text = text.as_deref();
    let mut results = BTreeSet::new();
    for value in values {
        results.extend(match parameter.operation {
            operation if value.is_empty() && operation != Operation::Replace => {
                BTreeSet::from([String::new()])
            }
            _ if value.contains(ANYTHING) => anything(),
            Operation::RemovePrefix => without(text, value, End::Start)?,
            Operation::RemoveSuffix => without(text, value, End::End)?,
            Operation::Replace => replaced(text?, value)?,
            Operation::ChangeCase => recased(parameter, value)?,
            // Some of the elements.
            _ if parameter.spread && !parameter.joins && !parameter.arithmetic.is_empty() => {
                BTreeSet::from([value.clone()])
            }
            _ => part_of(value)?,
        });
    }
    Some(results)
}

/// Whether no part of a value, nor what is left of it, is a path to somewhere else.
pub fn leads_nowhere(value: &str) -> bool {
    !is_open_path(value) && !value.contains(['/', '~']) && value.matches('.').count() < 2
}

/// Whether a value stands for names that are not known, with directories before them.
fn is_open_path(value: &str) -> bool {
    is_open(value) || value.contains([HERE, ABOVE, AT_HOME, '*', '?', '['])
}

/// What may be any part of a value.
fn part_of(value: &str) -> Option<BTreeSet<String>> {
    leads_nowhere(value).then(computed)
}

/// What a value is in other letters. A pattern may choose which.
fn recased(parameter: &Parameter, value: &str) -> Option<BTreeSet<String>> {
    let first = |changed: fn(&char) -> char| {
        let mut characters = value.chars();
        let start = characters.next().map(|character| changed(&character));
        start.into_iter().chain(characters).collect::<String>()
    };
    let results = [
        value.to_owned(),
        value.to_lowercase(),
        value.to_uppercase(),
        first(char::to_ascii_lowercase),
        first(char::to_ascii_uppercase),
    ];
    let chooses =
        parameter.words.iter().any(|word| !word.0.is_empty() && !matches!(word.bare(), Some("^" | ",")));
    let chosen = if chooses { part_of(value)? } else { BTreeSet::new() };
    Some(results.into_iter().chain(chosen).collect())
}

/// The text of an operator, each character with whether it is quoted; `None` if there are expansions in it.
fn marked(word: &Word) -> Option<Vec<(char, bool)>> {
    let mut marked = Vec::new();
    for part in &word.0 {
        let Part::Text { text, quoted } = part else { return None };
        marked.extend(text.chars().map(|character| (character, *quoted)));
    }
    Some(marked)
}

fn plain(marked: &[(char, bool)]) -> String {
    marked.iter().map(|(character, _)| character).collect()
}

/// Whether a text is more than itself and stars, as a pattern.
fn is_complex(pattern: &[(char, bool)]) -> bool {
    pattern.iter().any(|(character, quoted)| !quoted && ['?', '[', '(', '\\'].contains(character))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Start,
    End,
}

fn without(text: Option<&[(char, bool)]>, value: &str, end: End) -> Option<BTreeSet<String>> {
    let operator = if end == End::Start { '#' } else { '%' };
    let Some(text) = text else { return part_of(value) };
    let is_longest = text.first() == Some(&(operator, false));
    let pattern = &text[usize::from(is_longest)..];
    let result = match () {
        () if is_open_path(value) => without_from_open(pattern, value, end, is_longest)?,
        () if is_complex(pattern) || pattern.len() * value.len() > MAX_STEPS => return part_of(value),
        () => removed(pattern, value, end, is_longest),
    };
    Some(BTreeSet::from([result]))
}

/// The value without what matches at one end.
fn removed(pattern: &[(char, bool)], value: &str, end: End, is_longest: bool) -> String {
    let mut cuts: Vec<usize> = (0..=value.len()).filter(|at| value.is_char_boundary(*at)).collect();
    // From the one that takes least.
    if end == End::End {
        cuts.reverse();
    }
    if is_longest {
        cuts.reverse();
    }
    let taken = |at: &usize| if end == End::Start { &value[..*at] } else { &value[*at..] };
    let left = |at: usize| if end == End::Start { &value[at..] } else { &value[..at] };
    let cut = cuts.into_iter().find(|at| matches(pattern, taken(at)));
    cut.map_or(value, left).to_owned()
}

/// What is left of a value of which a part is not known.
fn without_from_open(pattern: &[(char, bool)], value: &str, end: End, is_longest: bool) -> Option<String> {
    let text = plain(pattern);
    let is_bounded =
        !value.starts_with(['/', '~']) && !value.contains([HERE, ABOVE, AT_HOME]) && !value.contains("..");
    let left = if value.chars().all(|c| c == UNKNOWN) { UNKNOWN } else { COMPUTED }.to_string();
    match end {
        // Only the name is left.
        End::Start if is_longest && text == "*/" => Some(match value.rsplit('/').next() {
            Some(name) if !name.contains([HERE, ABOVE, AT_HOME]) => name.to_owned(),
            _ => left,
        }),
        // Whole directories are gone.
        End::Start if is_bounded && text.ends_with('/') && value.starts_with(&text) => {
            Some(value[text.len()..].to_owned())
        }
        End::Start if is_bounded && text.ends_with('/') && !value.contains("//") => Some(left),
        End::End if value == HERE.to_string() && !is_longest && text == "/*" => Some(ABOVE.to_string()),
        End::End if is_bounded && !text.contains('*') => Some(format!("{value}{left}")),
        End::End if is_bounded => Some(left),
        _ => None,
    }
}

/// Whether a path stays relative, and does not lead upwards, where this text replaces parts of it.
fn keeps_paths(inserted: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = inserted.strip_prefix('.').unwrap_or(inserted).starts_with(is_name);
    let characters = inserted.chars().zip(inserted.chars().skip(1).chain(['x']));
    begins && characters.into_iter().all(|(c, next)| is_name(c) || (['.', '/'].contains(&c) && is_name(next)))
}

/// What `${x/pattern/word}` makes of a value, as [`marked`] text without the first slash.
pub fn replaced(text: &[(char, bool)], value: &str) -> Option<BTreeSet<String>> {
    let mode = text.first().filter(|(character, quoted)| !quoted && "/#%".contains(*character));
    let text = &text[usize::from(mode.is_some())..];
    let slash = text.iter().position(|marked| *marked == ('/', false)).unwrap_or(text.len());
    let (pattern, inserted) = (&text[..slash], plain(text.get(slash + 1..).unwrap_or_default()));
    let from = plain(pattern);
    let keeps_paths = keeps_paths(&inserted);
    if value.is_empty() {
        // A pattern may match nothing.
        return Some([value.to_owned(), inserted.replace('\\', ""), inserted].into());
    }
    if pattern.contains(&('*', false)) || is_complex(pattern) {
        let is_harmless = leads_nowhere(value) && (inserted.is_empty() || keeps_paths);
        return is_harmless.then(computed);
    }
    if value.contains([HERE, ABOVE, AT_HOME]) || (is_open_path(value) && !keeps_paths) {
        return None;
    }
    // In newer versions of bash, `&` stands for what matches. Backslashes only take the meaning of what follows.
    let results = [inserted.clone(), inserted.replace('\\', ""), inserted.replace('&', &from)]
        .into_iter()
        .flat_map(|word| {
            let at_end = |rest: Option<String>| vec![rest.unwrap_or_else(|| value.to_owned())];
            match mode.map(|(character, _)| character) {
                _ if is_open_path(value) => {
                    vec![value.to_owned(), value.replacen(&from, &word, 1), value.replace(&from, &word)]
                }
                Some('#') => at_end(value.strip_prefix(&from).map(|rest| word + rest)),
                Some('%') => at_end(value.strip_suffix(&from).map(|rest| rest.to_owned() + &word)),
                _ if from.is_empty() => vec![value.to_owned()],
                Some(_) => vec![value.replace(&from, &word)],
                None => vec![value.replacen(&from, &word, 1)],
            }
        });
    Some(results.collect())
}

/// Whether a pattern matches the whole text. Each star takes as little as it can.
fn matches(pattern: &[(char, bool)], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut reached) = (0, 0);
    let mut star = None;
    while reached < text.len() {
        match (pattern.get(at), star) {
            (Some(('*', false)), _) => {
                star = Some((at, reached));
                at += 1;
            }
            (Some((character, _)), _) if *character == text[reached] => {
                at += 1;
                reached += 1;
            }
            (_, Some((star_at, taken))) => {
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                reached = taken + 1;
            }
            (_, None) => return false,
        }
    }
    pattern[at..].iter().all(|marked| *marked == ('*', false))
}
