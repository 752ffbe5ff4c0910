//! What variables may contain. Bash arithmetic evaluates the *content* of variables, including commands in subscripts,
//! so it is safe only on variables that contain numbers.

use super::ast::{Assignment, CommandKind, List, Operation, Part, Simple, Value, ValueKind, Word};

/// The variable that an assignment sets, and what it may contain.
pub fn assignment_kind(assignment: &Assignment) -> (String, ValueKind) {
    let kind = match &assignment.value {
        // Two numbers of processes in a row are the number of another one.
        Value::Scalar(word) if assignment.appends => word_kind(word).max(ValueKind::Number),
        Value::Scalar(word) => word_kind(word),
        Value::Array(elements) => {
            elements.iter().map(|(_, word)| word_kind(word)).max().unwrap_or(ValueKind::Number)
        }
    };
    (assignment.name.clone(), kind)
}

/// What a loop variable may contain. `values` is `None` for the positional parameters.
pub fn loop_variable_kind(values: Option<&[Word]>) -> ValueKind {
    values.map_or(ValueKind::Arbitrary, |words| {
        words.iter().map(loop_value_kind).max().unwrap_or(ValueKind::Number)
    })
}

/// The variables that a command makes arrays.
pub fn array_names(simple: &Simple) -> impl Iterator<Item = String> {
    let texts: Vec<String> = simple.words.iter().filter_map(text).collect();
    let makes_arrays = match texts.first().map(String::as_str) {
        Some("mapfile" | "readarray") => true,
        Some("read" | "declare" | "local" | "typeset" | "readonly" | "export") => {
            texts.iter().any(|word| word.starts_with('-') && word.contains(['a', 'A']))
        }
        _ => false,
    };
    let is_array =
        move |a: &&Assignment| makes_arrays || a.index.is_some() || matches!(a.value, Value::Array(_));
    let assigned = simple.assignments.iter().chain(&simple.declared).filter(is_array).map(|a| a.name.clone());
    let named = if makes_arrays { texts.into_iter().skip(1).collect() } else { Vec::new() };
    assigned.chain(named).collect::<Vec<_>>().into_iter()
}

/// The variables that a built-in such as `read` sets.
pub fn variables_set_by(simple: &Simple) -> impl Iterator<Item = (String, ValueKind)> {
    const SETTERS: [&str; 5] = ["read", "mapfile", "readarray", "printf", "getopts"];
    let sets = simple.words.first().and_then(text).is_some_and(|name| SETTERS.contains(&name.as_str()));
    let words = if sets { &simple.words[1..] } else { &[] };
    let implicit = sets.then_some(["REPLY", "MAPFILE", "OPTARG"]).into_iter().flatten().map(str::to_owned);
    words.iter().filter_map(text).chain(implicit).map(|name| (name, ValueKind::Arbitrary))
}

/// A word's text without quotes; `None` if it contains expansions.
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

/// What a variable may contain after this word is assigned to it.
pub fn word_kind(word: &Word) -> ValueKind {
    let mut text = String::new();
    for part in &word.0 {
        match part {
            Part::Text { text: more, .. } => text.push_str(more),
            part if word.0.len() == 1 && is_own_process(part) => return ValueKind::OwnProcess,
            part if word.0.len() == 1 && is_number(part) => return ValueKind::Number,
            _ => return ValueKind::Arbitrary,
        }
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        ValueKind::Number
    } else if text.contains(['[', '$', '`', '(', '*', '?', ' ', '\t', '\n']) {
        ValueKind::Arbitrary
    } else {
        ValueKind::PlainWord
    }
}

/// Like [`word_kind`], for a word that may also expand to file names and sequences.
fn loop_value_kind(word: &Word) -> ValueKind {
    if word.bare().is_some_and(is_number_sequence) {
        return ValueKind::Number;
    }
    let expands =
        word.0.iter().filter_map(Part::unquoted_text).any(|text| text.contains(['*', '?', '[', '{', '~']));
    if expands { ValueKind::Arbitrary } else { word_kind(word) }
}

/// `{1..5}`
fn is_number_sequence(text: &str) -> bool {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    inner.is_some_and(|inner| inner.contains("..") && inner.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// Whether an expansion is `$!`.
fn is_own_process(part: &Part) -> bool {
    matches!(part, Part::Parameter { parameter, .. }
        if parameter.operation == Operation::Value && parameter.name == "!")
}

/// The variables that an arithmetic expression may set.
pub fn variables_in(expression: &Word) -> impl Iterator<Item = (String, ValueKind)> {
    let texts = expression.0.iter().filter_map(Part::unquoted_text);
    let sets = |text: &&str| ["=", "++", "--"].iter().any(|operator| text.contains(operator));
    texts
        .filter(sets)
        .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        .map(|name| (name.to_owned(), ValueKind::Number))
}

/// Whether an expansion always produces a number.
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

/// Whether the list is one pipeline whose last command prints only numbers: `wc` on its input, `seq`, `date +%s`.
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
