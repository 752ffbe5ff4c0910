//! The rules for individual commands: which commands are known, and which arguments are denied. Each rule carries
//! examples that it must allow or deny; one test runs them all.

pub mod assignments;
pub mod awk;
pub mod base;
pub mod builtins;
pub mod curl;
pub mod destructive;
pub mod devscript;
pub mod environment;
pub mod files;
pub mod find;
#[rustfmt::skip]
pub mod forms;
pub mod git;
pub mod git_arguments;
pub mod git_lock;
pub mod git_repository;
pub mod git_special;
pub mod links;
pub mod listings;
pub mod make;
pub mod operands;
pub mod options;
pub mod pkill;
pub mod profile_commands;
pub mod profiles;
pub mod ps;
pub mod reads;
pub mod redirections;
pub mod rule;
pub mod runners;
pub mod scope;
pub mod scripts;
pub mod searches;
pub mod secrets;
pub mod sed;
pub mod text;
#[rustfmt::skip]
pub mod variables;
pub mod verification;
pub mod wrappers;

use std::collections::HashMap;
use std::sync::LazyLock;

use rule::Rule;

/// The rules for commands that do not belong to a language profile.
static RULES: [&[Rule]; 18] = [
    awk::RULES,
    base::RULES,
    builtins::RULES,
    curl::RULES,
    destructive::RULES,
    files::RULES,
    find::RULES,
    git::RULES,
    listings::RULES,
    make::RULES,
    pkill::RULES,
    ps::RULES,
    reads::RULES,
    scripts::RULES,
    searches::RULES,
    sed::RULES,
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
    find(name).is_some() || profile_commands::is_known(name) || builtins::REFUSED.contains(&name)
}

#[cfg(test)]
mod tests;
