//! Which variables a command may set, by any kind of assignment.

use super::reads;
use super::scope::CommandScope;
use super::variables::{HARMLESS, LOADED_PATHS, NAMES, PREFIXES, SUFFIXES};
use crate::possible_values::UNKNOWN;
use crate::shell::ast::{Assignment, Value, Word};
use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::{Arg, literal};

/// Judges an argument of `declare` or a similar built-in: bash parses parenthesized text as an array and evaluates its
/// indices. `arrays` are the script's array variables.
pub fn judge_declared(arrays: &[String], assignment: &Assignment) -> RuleResult {
    let Value::Scalar(word) = &assignment.value else { return Ok(()) };
    let text = literal(word);
    let harmless = match &text {
        Some(text) => !text.starts_with('('),
        None => !arrays.contains(&assignment.name),
    };
    if harmless {
        return Ok(());
    }
    deny_with_hint(
        "assignment.array",
        "Bash would parse this text as an array.",
        "Write a literal array: name=(a b).",
    )
}

pub fn judge_name(name: &str) -> RuleResult {
    if is_dangerous(name) {
        return deny_with_hint(
            "assignment",
            format!("Setting {name} is not allowed: it changes what is loaded or run."),
            "Set only variables of your program, such as PORT or NODE_ENV.",
        );
    }
    Ok(())
}

/// Whether an assignment only turns paging off, as in `GIT_PAGER=cat`.
pub fn is_plain_pager(name: &str, value: Option<&str>) -> bool {
    matches!(name, "PAGER" | "GIT_PAGER") && value == Some("cat")
}

/// Whether an assignment lets Python load modules of the project, as in `PYTHONPATH=src pytest`.
pub fn is_own_module_path(scope: &CommandScope<'_>, name: &str, values: Option<Vec<&str>>) -> bool {
    let is_own = |entry: &str| {
        let targets: Vec<_> = scope.possible_targets(entry).collect();
        targets.len() == scope.directories.len()
            && targets.iter().all(|real| real.starts_with(&scope.paths.root))
    };
    let is_known = |value: &str| !value.is_empty() && !value.starts_with('~') && !value.contains(UNKNOWN);
    name == "PYTHONPATH"
        && values.is_some_and(|values| {
            !values.is_empty() && values.iter().all(|value| is_known(value) && value.split(':').all(is_own))
        })
}

/// Whether a variable changes which code is loaded or run.
pub fn is_dangerous(name: &str) -> bool {
    !HARMLESS.contains(&name)
        && (NAMES.contains(&name)
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || SUFFIXES.iter().any(|suffix| name.ends_with(suffix)))
}

/// Judges the value of a variable that names what is loaded, as in `FLASK_APP=src/app.py:create`.
pub fn judge_value(scope: &mut CommandScope<'_>, name: &str, value: Option<&str>) -> RuleResult {
    if !LOADED_PATHS.contains(&name) {
        return Ok(());
    }
    match value {
        Some(value) => {
            let path = value.split(':').next().unwrap_or_default();
            reads::judge(scope, &Arg::plain(path))
        }
        None => deny("assignment", format!("The value of {name} is not known before the command runs.")),
    }
}

/// Judges a variable name passed as an argument. It must be plain, because bash evaluates subscripts.
pub fn judge_plain_name(word: &Word) -> RuleResult {
    match literal(word) {
        Some(name) => judge_name_text(&name),
        None => deny("assignment.name", "The variable name is not known before the command runs."),
    }
}

/// Like [`judge_plain_name`], for text.
pub fn judge_name_text(name: &str) -> RuleResult {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if name.is_empty() || !plain || name.starts_with(|c: char| c.is_ascii_digit()) {
        return deny("assignment.name", format!("'{name}' is not a plain variable name."));
    }
    judge_name(name)
}
