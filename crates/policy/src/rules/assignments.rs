//! Variables: which may be set, wherever a command sets them.

use super::variables::{HARMLESS, NAMES, PREFIXES, SUFFIXES};
use crate::shell::ast::{Assignment, Value, Word};
use crate::verdict::{Ruling, deny, deny_but};
use crate::walk::Walker;
use crate::words::literal;

/// What an assignment expands.
pub fn judge_value<'a>(walker: &mut Walker<'a>, assignment: &'a Assignment) -> Ruling {
    if let Some(index) = &assignment.index {
        walker.arithmetic(index)?;
    }
    match &assignment.value {
        Value::Scalar(word) => walker.word(word),
        Value::Array(elements) => elements.iter().try_for_each(|(index, word)| {
            index.iter().try_for_each(|index| walker.arithmetic(index))?;
            walker.word(word)
        }),
    }
}

/// An argument of `declare` and kin: bash reads text in parentheses as an array, indices and all.
pub fn judge_declared(walker: &Walker<'_>, assignment: &Assignment) -> Ruling {
    let Value::Scalar(word) = &assignment.value else { return Ok(()) };
    let text = literal(word);
    let harmless = match &text {
        Some(text) => !text.starts_with('('),
        None => !walker.is_array(&assignment.name),
    };
    if harmless {
        return Ok(());
    }
    deny_but("assignment.array", "Text would be read as an array here.", "Write the array out: name=(a b).")
}

/// Whether a variable may be set.
pub fn judge_name(name: &str) -> Ruling {
    if is_dangerous(name) {
        return deny_but(
            "assignment",
            format!("Setting {name} is not allowed: it changes what is loaded or run."),
            "Set variables of your own program, such as PORT or NODE_ENV.",
        );
    }
    Ok(())
}

/// Whether a variable changes what is loaded or run. Environment names count in any case.
pub fn is_dangerous(name: &str) -> bool {
    !HARMLESS.contains(&name)
        && (NAMES.contains(&name)
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || SUFFIXES.iter().any(|suffix| name.ends_with(suffix)))
}

/// A variable's name given as an argument: plain and harmless. Subscripts would be evaluated.
pub fn judge_plain_name(word: &Word) -> Ruling {
    match literal(word) {
        Some(name) => judge_name_text(&name),
        None => deny("assignment.name", "The variable's name is not known before it runs."),
    }
}

/// Like [`judge_plain_name`], for text.
pub fn judge_name_text(name: &str) -> Ruling {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if name.is_empty() || !plain || name.starts_with(|c: char| c.is_ascii_digit()) {
        return deny("assignment.name", format!("'{name}' is not a plain variable name."));
    }
    judge_name(name)
}
