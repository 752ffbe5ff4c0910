//! The rules for individual commands: which commands are known, and which arguments are denied. Each rule carries
//! examples that it must allow or deny; one test runs them all.

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

use crate::verdict::RuleResult;
use crate::walk::{CommandCall, Walker};

/// How calls of some commands are judged.
pub struct Rule {
    /// The stable name shown in verdicts.
    pub name: &'static str,
    pub commands: &'static [&'static str],
    /// Whether `sync` denies these commands.
    pub run_only: bool,
    pub judge: fn(&mut Walker<'_>, CommandCall<'_>) -> RuleResult,
    #[cfg_attr(not(test), expect(dead_code, reason = "checked by a test"))]
    pub examples: &'static [RuleExample],
}

/// A command, and in which modes it is allowed.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(test), expect(dead_code, reason = "checked by a test"))]
pub struct RuleExample {
    pub command: &'static str,
    pub run: bool,
    pub sync: bool,
    /// In `run --allow-destructive`.
    pub destructive: bool,
}

/// Allowed in every mode.
pub const fn always(command: &'static str) -> RuleExample {
    RuleExample { command, run: true, sync: true, destructive: true }
}

/// Allowed in `run` only, with or without `--allow-destructive`.
pub const fn in_run(command: &'static str) -> RuleExample {
    RuleExample { command, run: true, sync: false, destructive: true }
}

/// Allowed in `run --allow-destructive` only.
pub const fn destructive(command: &'static str) -> RuleExample {
    RuleExample { command, run: false, sync: false, destructive: true }
}

/// Denied in every mode.
pub const fn never(command: &'static str) -> RuleExample {
    RuleExample { command, run: false, sync: false, destructive: false }
}

/// The rules for commands that do not belong to a language profile.
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

pub fn find(command: &str) -> Option<&'static Rule> {
    BY_COMMAND.get(command).copied()
}

/// Whether a name is already taken by a rule, a language profile or the shell.
pub fn is_known(name: &str) -> bool {
    find(name).is_some() || profiles::is_known(name) || builtins::REFUSED.contains(&name)
}

/// Allows every call, for commands whose arguments are harmless.
pub fn allow_any(_: &mut Walker<'_>, _: CommandCall<'_>) -> RuleResult {
    Ok(())
}

#[cfg(test)]
mod tests;
