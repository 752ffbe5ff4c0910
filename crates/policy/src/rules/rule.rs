//! What a rule is: the commands it judges, how it judges a call of them, and examples.

use super::scope::CommandScope;
use crate::verdict::RuleResult;
use crate::words::Arg;

/// How calls of some commands are judged.
pub struct Rule {
    /// The stable name shown in verdicts.
    pub name: &'static str,
    pub commands: &'static [&'static str],
    /// Whether `sync` denies these commands.
    pub run_only: bool,
    pub judge: fn(&mut CommandScope<'_>, CommandCall<'_>) -> RuleResult,
    #[cfg_attr(not(test), expect(dead_code, reason = "checked by a test"))]
    pub examples: &'static [RuleExample],
}

impl Rule {
    /// Whether arguments of these commands are not judged as paths, so that it does not matter what they may be.
    pub fn names_no_paths(&self) -> bool {
        self.name == "base" || self.name.starts_with("builtin")
    }
}

/// What runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The shell, which looks for functions and built-ins first.
    Shell,
    /// Another program, which can only run programs.
    Program,
}

/// A command to judge.
#[derive(Debug, Clone, Copy)]
pub struct CommandCall<'c> {
    pub name: &'c str,
    pub args: &'c [Arg],
    pub caller: Caller,
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

/// Allows every call, for commands whose arguments are harmless.
pub fn allow_any(_: &mut CommandScope<'_>, _: CommandCall<'_>) -> RuleResult {
    Ok(())
}
