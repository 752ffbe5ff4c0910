//! The rules: which commands exist, and which of their arguments are not what they seem. A rule carries commands
//! that it must allow and must deny; one test runs them all.

pub mod assignments;
pub mod base;
pub mod builtins;
pub mod destructive;
pub mod devscript;
pub mod files;
pub mod find;
#[rustfmt::skip]
pub mod forms;
pub mod git;
pub mod git_arguments;
pub mod git_lock;
pub mod git_special;
pub mod links;
pub mod operands;
pub mod options;
pub mod pkill;
pub mod profiles;
pub mod reads;
pub mod redirections;
pub mod secrets;
pub mod text;
#[rustfmt::skip]
pub mod variables;
pub mod verification;
pub mod wrappers;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::verdict::Ruling;
use crate::walk::{Call, Walker};

/// What is known about some commands.
pub struct Rule {
    /// Its stable name.
    pub name: &'static str,
    /// The commands it is for.
    pub commands: &'static [&'static str],
    /// Whether `sync` has them not.
    pub only_run: bool,
    /// Judges a call.
    pub judge: fn(&mut Walker<'_>, Call<'_>) -> Ruling,
    /// Commands it must allow and deny.
    #[cfg_attr(not(test), expect(dead_code, reason = "checked by a test"))]
    pub examples: &'static [Example],
}

/// A command and where it is allowed.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(test), expect(dead_code, reason = "checked by a test"))]
pub struct Example {
    /// The command.
    pub command: &'static str,
    /// In `run`.
    pub run: bool,
    /// In `sync`.
    pub sync: bool,
    /// In `run --allow-destructive`.
    pub destructive: bool,
}

/// Allowed everywhere.
pub const fn always(command: &'static str) -> Example {
    Example { command, run: true, sync: true, destructive: true }
}

/// Allowed in `run`.
pub const fn in_run(command: &'static str) -> Example {
    Example { command, run: true, sync: false, destructive: true }
}

/// Allowed in `run --allow-destructive`.
pub const fn destructive(command: &'static str) -> Example {
    Example { command, run: false, sync: false, destructive: true }
}

/// Allowed nowhere.
pub const fn never(command: &'static str) -> Example {
    Example { command, run: false, sync: false, destructive: false }
}

/// Every rule for a command that does not belong to a language.
static RULES: [&[Rule]; 10] = [
    base::RULES,
    builtins::RULES,
    destructive::RULES,
    files::RULES,
    find::RULES,
    git::RULES,
    pkill::RULES,
    reads::RULES,
    text::RULES,
    wrappers::RULES,
];

static BY_COMMAND: LazyLock<HashMap<&'static str, &'static Rule>> = LazyLock::new(|| {
    let rules = RULES.iter().flat_map(|rules| rules.iter());
    rules.flat_map(|rule| rule.commands.iter().map(move |command| (*command, rule))).collect()
});

/// The rule for a command.
pub fn find(command: &str) -> Option<&'static Rule> {
    BY_COMMAND.get(command).copied()
}

/// Whether a name means something already: to a rule, a language or the shell.
pub fn is_known(name: &str) -> bool {
    find(name).is_some() || profiles::is_known(name) || builtins::REFUSED.contains(&name)
}

/// For commands that only read and print.
pub fn free(_: &mut Walker<'_>, _: Call<'_>) -> Ruling {
    Ok(())
}

#[cfg(test)]
mod tests;
