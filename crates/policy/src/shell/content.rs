//! What variables may hold. Arithmetic evaluates the *content* of variables, commands in subscripts included, so
//! it is safe only on those that hold numbers.

use super::ast::{Assignment, CommandKind, Content, List, Operation, Part, Simple, Value, Word};

/// The variable an assignment sets, and what to.
pub fn assigned(assignment: &Assignment) -> (String, Content) {
    let content = match &assignment.value {
        Value::Scalar(word) => content(word),
        Value::Array(elements) => {
            elements.iter().map(|(_, word)| content(word)).max().unwrap_or(Content::Number)
        }
    };
    (assignment.name.clone(), content)
}

/// What a loop's variable may hold.
pub fn listed(values: Option<&[Word]>) -> Content {
    values.map_or(Content::Wild, |words| words.iter().map(content_of_value).max().unwrap_or(Content::Number))
}

/// The variables that become arrays.
pub fn arrays(simple: &Simple) -> impl Iterator<Item = String> {
    let texts: Vec<String> = simple.words.iter().filter_map(text).collect();
    let makes = match texts.first().map(String::as_str) {
        Some("mapfile" | "readarray") => true,
        Some("read" | "declare" | "local" | "typeset" | "readonly" | "export") => {
            texts.iter().any(|word| word.starts_with('-') && word.contains(['a', 'A']))
        }
        _ => false,
    };
    let is_array = move |a: &&Assignment| makes || a.index.is_some() || matches!(a.value, Value::Array(_));
    let assigned = simple.assignments.iter().chain(&simple.declared).filter(is_array).map(|a| a.name.clone());
    let named = if makes { texts.into_iter().skip(1).collect() } else { Vec::new() };
    assigned.chain(named).collect::<Vec<_>>().into_iter()
}

/// The variables that built-ins such as `read` set.
pub fn set_by_command(simple: &Simple) -> impl Iterator<Item = (String, Content)> {
    const SETTERS: [&str; 5] = ["read", "mapfile", "readarray", "printf", "getopts"];
    let sets = simple.words.first().and_then(text).is_some_and(|name| SETTERS.contains(&name.as_str()));
    let words = if sets { &simple.words[1..] } else { &[] };
    let implicit = sets.then_some(["REPLY", "MAPFILE", "OPTARG"]).into_iter().flatten().map(str::to_owned);
    words.iter().filter_map(text).chain(implicit).map(|name| (name, Content::Wild))
}

/// A word's text without its quotes, if it is nothing but text.
fn text(word: &Word) -> Option<String> {
    let mut text = String::new();
    for part in &word.0 {
        match part {
            Part::Text { text: more, .. } => text.push_str(more),
            Part::Parameter { .. } | Part::Command { .. } | Part::Arithmetic { .. } | Part::Process(_) => {
                return None;
            }
        }
    }
    Some(text)
}

/// What a word may become when assigned.
pub fn content(word: &Word) -> Content {
    let mut text = String::new();
    for part in &word.0 {
        match part {
            Part::Text { text: more, .. } => text.push_str(more),
            part if word.0.len() == 1 && is_number(part) => return Content::Number,
            _ => return Content::Wild,
        }
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        Content::Number
    } else if text.contains(['[', '$', '`', '(', '*', '?', ' ', '\t', '\n']) {
        Content::Wild
    } else {
        Content::Tame
    }
}

/// Like [`content`], for a word that is also expanded into file names and sequences.
fn content_of_value(word: &Word) -> Content {
    if word.bare().is_some_and(is_number_sequence) {
        return Content::Number;
    }
    let expands =
        word.0.iter().filter_map(Part::unquoted_text).any(|text| text.contains(['*', '?', '[', '{', '~']));
    if expands { Content::Wild } else { content(word) }
}

/// `{1..5}`
fn is_number_sequence(text: &str) -> bool {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    inner.is_some_and(|inner| inner.contains("..") && inner.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// Whether an expansion yields nothing but numbers.
pub fn is_number(part: &Part) -> bool {
    match part {
        Part::Arithmetic { .. } => true,
        Part::Parameter { parameter, .. } => {
            parameter.operation == Operation::Length
                || (parameter.operation == Operation::Value
                    && matches!(parameter.name.as_str(), "?" | "#" | "!" | "$"))
        }
        Part::Command { list, .. } => prints_numbers(list),
        Part::Text { .. } | Part::Process(_) => false,
    }
}

/// Whether the last command is one that prints only numbers: `wc` on its input, `seq`, `date +%s`.
fn prints_numbers(list: &List) -> bool {
    let [item] = list.0.as_slice() else { return false };
    let Some(command) = item.first.commands.last() else { return false };
    let CommandKind::Simple(simple) = &command.kind else { return false };
    if !item.rest.is_empty() {
        return false;
    }
    let words: Option<Vec<&str>> = simple.words.iter().map(Word::bare).collect();
    match words.as_deref() {
        Some(["wc", options @ ..]) => options.iter().all(|o| matches!(*o, "-l" | "-c" | "-w" | "-m")),
        Some(["seq", numbers @ ..]) => numbers.iter().all(|n| n.bytes().all(|b| b.is_ascii_digit())),
        Some(["date", "+%s"] | ["nproc"]) => true,
        _ => false,
    }
}
