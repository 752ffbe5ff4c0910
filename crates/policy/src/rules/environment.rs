//! The environment variables that a command gives to the programs that it runs: by assignments before its name, by `env`, or exported.
//!
//! A program of the system reads variables of its own, so only those that are known to be harmless may be set for it. Programs of the
//! project read variables of any name; their values may not be paths outside. `make` expands each of them like a variable of its own.

use super::assignments::{self, is_own_module_path, is_plain_pager};
use super::scope::CommandScope;
use super::variables::{HARMLESS, HARMLESS_ANYWHERE};
use super::{make, reads};
use crate::paths::is_on_this_machine;
use crate::possible_values::UNKNOWN;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::{Arg, ArgKind};

/// A variable with what it may be.
#[derive(Debug, Clone)]
pub struct GivenVariable {
    pub name: String,
    pub value: Arg,
}

/// What reads the variables that a command is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableReader {
    /// Nothing, or what only passes them on.
    Nobody,
    /// A program of the project, or one that runs the project's code.
    Project,
    /// `make`, which judges them in the directory where it runs.
    Make,
    /// A program of the system.
    System,
}

impl VariableReader {
    /// Who reads the variables of a command that a rule judges.
    pub fn of_rule(rule: &super::rule::Rule) -> Self {
        match rule.name {
            "make" => Self::Make,
            // Git runs the hooks of the project.
            "git" | "script.shell" => Self::Project,
            "timeout" | "nice" | "env" | "xargs" | "find" | "command" => Self::Nobody,
            _ if rule.names_no_paths() => Self::Nobody,
            _ => Self::System,
        }
    }
}

/// Judges a variable by its name, whatever reads it.
pub fn judge(scope: &mut CommandScope<'_>, given: &GivenVariable) -> RuleResult {
    let GivenVariable { name, value } = given;
    let limits_memory = name == "NODE_OPTIONS"
        && value
            .literal()
            .is_some_and(|text| text.split(' ').all(|word| word.starts_with("--max-old-space-size=")));
    if !limits_memory
        && !is_plain_pager(name, value.literal())
        && !is_own_module_path(scope, name, texts(value))
    {
        assignments::judge_name_text(name)?;
    }
    assignments::judge_value(scope, name, value.literal())
}

/// Judges the variables that the current command is given, as what `reader` makes of them.
pub fn judge_for(scope: &mut CommandScope<'_>, reader: VariableReader) -> RuleResult {
    let given = scope.environment.clone();
    given.iter().try_for_each(|variable| match reader {
        VariableReader::Nobody => Ok(()),
        VariableReader::Project => judge_project_value(scope, variable),
        VariableReader::Make => judge_make_value(scope, variable),
        VariableReader::System if !is_known_harmless(variable) => deny_with_hint(
            "environment",
            format!(
                "It is not known what the variable {} changes in a program of the system.",
                variable.name
            ),
            "Leave it out, or set it for a program of the project.",
        ),
        VariableReader::System => judge_project_value(scope, variable),
    })
}

/// Judges what the command exports, once it is known which programs it runs: a function may be defined before.
pub fn judge_exported(scope: &mut CommandScope<'_>) -> RuleResult {
    scope.directories = scope.visited().to_vec();
    for variable in std::mem::take(&mut scope.exported) {
        judge_project_value(scope, &variable)?;
        if scope.runs_make {
            judge_make_value(scope, &variable)?;
        }
    }
    Ok(())
}

fn is_known_harmless(given: &GivenVariable) -> bool {
    let name = given.name.as_str();
    HARMLESS.contains(&name)
        || HARMLESS_ANYWHERE.contains(&name)
        || name.starts_with("LC_")
        || is_plain_pager(name, given.value.literal())
}

/// What a value may be; `None` if that is too much.
fn texts(value: &Arg) -> Option<Vec<&str>> {
    if value.may_be_too_many {
        return None;
    }
    match value.literal() {
        Some(text) => Some(vec![text]),
        None => Some(value.may_be.iter().map(|value| value.text.as_str()).collect()),
    }
}

fn judge_make_value(scope: &mut CommandScope<'_>, given: &GivenVariable) -> RuleResult {
    let Some(texts) = texts(&given.value) else { return unknown(given) };
    texts.into_iter().try_for_each(|text| make::judge_given(scope, &text.replace(UNKNOWN, "")))
}

fn judge_project_value(scope: &mut CommandScope<'_>, given: &GivenVariable) -> RuleResult {
    let Some(texts) = texts(&given.value) else { return unknown(given) };
    for text in texts {
        let text = text.replace(UNKNOWN, "");
        text.split_whitespace().try_for_each(|word| judge_word(scope, word))?;
    }
    Ok(())
}

fn unknown(given: &GivenVariable) -> RuleResult {
    deny_with_hint(
        "environment",
        format!("The value of {} may be one of too many.", given.name),
        "Write the value itself.",
    )
}

/// Judges each part of a word that may be a path: `/x`, `a:/x`, `--file=/x`, `-f/x`, `file:///x`.
fn judge_word(scope: &mut CommandScope<'_>, word: &str) -> RuleResult {
    judge_path(scope, word)?;
    for (at, _) in word.match_indices([':', '=', ',', ';', '@']) {
        let rest = &word[at + 1..];
        let host_and_path = rest.strip_prefix("//").filter(|_| word[at..].starts_with(':'));
        judge_path(scope, host_and_path.unwrap_or(rest))?;
    }
    match word.strip_prefix('-').filter(|letters| !letters.starts_with('-')) {
        Some(letters) => judge_path(scope, letters.get(1..).unwrap_or_default()),
        None => Ok(()),
    }
}

/// Judges text up to where another part begins. An absolute path of which this machine has not even the first directory is something
/// else, such as a part of a URL.
fn judge_path(scope: &mut CommandScope<'_>, text: &str) -> RuleResult {
    let path = text.split([':', ',', ';']).next().unwrap_or_default();
    if path.starts_with('~') {
        return scope.may_read(&Arg::new("~", ArgKind::Unknown));
    }
    let is_device = ["/dev/stdout", "/dev/stderr", "/dev/tty"].contains(&path);
    if is_device || (path.starts_with('/') && !is_on_this_machine(path)) {
        return Ok(());
    }
    reads::judge(scope, &Arg::plain(path))
}
