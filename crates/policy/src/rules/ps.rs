//! `ps`: it can print the environment of other processes, in which the provider's key is.

use super::rule::{Caller, CommandCall, Rule, always, never};
use super::scope::CommandScope;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::ArgKind;

pub const RULES: &[Rule] = &[Rule {
    name: "ps",
    commands: &["ps"],
    run_only: false,
    judge,
    examples: &[
        always("ps"),
        always("ps -e"),
        always("ps aux"),
        always("ps -aux"),
        always("ps auxww --sort=-%mem | head"),
        always("ps -ef | grep node"),
        always("ps -eo pid,args"),
        always("ps -e -o pid,etime,command"),
        always("ps -eLf"),
        always("ps axo pid,etime,comm"),
        always("ps axopid,etime"),
        always("ps -p 12 -o etime="),
        always("ps -o pid= -C node"),
        always("ps -u me -f"),
        always("sleep 9 & PID=$!; ps -p $PID"),
        always("ps -p \"$(cat a.txt)\" -o args"),
        always("ps 12 13,14 f"),
        never("ps e"),
        never("ps auxeww"),
        never("ps axe"),
        never("ps ax e"),
        never("ps eax"),
        never("ps auxE"),
        never("ps -E"),
        never("ps -auxe"),
        never("ps -e -aux"),
        never("ps -e -u x"),
        never("ps -eu x"),
        never("ps -eo pid,args,environ"),
        never("ps -oenviron"),
        never("ps -O environ"),
        never("ps axo pid,environ"),
        never("ps --format=environ"),
        never("ps --format pid,environ"),
        never("timeout 5 ps e"),
        never("x=e; ps $x"),
        never("x=e; ps \"$x\""),
        never("x='1 e'; ps -p $x"),
        never("ps $x"),
        never("ps \"$x\""),
        never("ps $(echo e)"),
        never("ps *"),
        never("ps $x\"e\""),
        never("echo e | xargs ps"),
        never("echo e | xargs -I{} ps {}"),
    ],
}];

/// The letters after one dash: options without a value, and those whose value ends the word.
const FLAGS: &str = "AFHLMNPTVZacdefjlmwy";
const VALUED: &str = "CGOUgnopqstu";
/// If ps does not understand a word with one dash, it takes all of them for words without. It always understands these
/// options' values, or fails either way.
const CERTAIN: &str = "COopq";
/// The letters without a dash whose value is the rest of the word or the next one.
const VALUED_WITHOUT_DASH: &str = "NOUkopqt";

fn judge(_: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let mut has_e = false;
    let mut is_certain = true;
    let mut is_value = false;
    for arg in call.args {
        let text = arg.text.as_str();
        if text.contains("environ") {
            return prints_environments();
        }
        if std::mem::take(&mut is_value) && arg.kind != ArgKind::Several {
            continue;
        }
        // In the shell's own words, `judge_ps_words` has checked what an expansion may be.
        if arg.kind != ArgKind::Plain && call.caller == Caller::Program {
            return unknown();
        }
        if text.starts_with("--") {
            is_value = !text.contains('=') && takes_value(text);
        } else if let Some(letters) = text.strip_prefix('-') {
            let end = letters.find(|letter| VALUED.contains(letter));
            let flags = &letters[..end.unwrap_or(letters.len())];
            has_e |= letters.contains('e') && (flags.contains('e') || end.is_none());
            is_certain &= flags.chars().all(|letter| FLAGS.contains(letter))
                && end.is_none_or(|at| CERTAIN.contains(&letters[at..=at]));
            is_value = end.is_some_and(|at| at + 1 == letters.len());
            // `-auxe` is `-a`, `-u` of a user `xe`, and if there is none, `auxe`.
            if letters.contains('E') || (!is_certain && letters.contains('e')) {
                return prints_environments();
            }
        } else if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let end = text.find(|letter| VALUED_WITHOUT_DASH.contains(letter));
            if text[..end.unwrap_or(text.len())].contains(['e', 'E']) {
                return prints_environments();
            }
            is_value = end.is_some_and(|at| at + 1 == text.len());
        }
    }
    if has_e && !is_certain { prints_environments() } else { Ok(()) }
}

/// Whether the value of an option is the next argument, so that an expansion there cannot be another option.
pub fn takes_value(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => LONG_VALUED.contains(&long),
        None => option.strip_prefix('-').is_some_and(|letters| {
            letters.find(|letter| VALUED.contains(letter)).is_some_and(|at| at + 1 == letters.len())
        }),
    }
}

#[rustfmt::skip]
const LONG_VALUED: [&str; 16] = [
    "Group", "User", "cols", "columns", "format", "group", "lines", "pid", "ppid", "quick-pid", "rows", "sid", "sort",
    "tty", "user", "width",
];

fn prints_environments() -> RuleResult {
    deny_with_hint(
        "secret",
        "This form of ps can print the environment of processes, which may contain secrets.",
        "ps aux, ps -ef, or ps -eo pid,args",
    )
}

pub fn unknown() -> RuleResult {
    deny_with_hint(
        "ps",
        "An argument of ps that is not known before the command runs could be an option.",
        "Put it in double quotes after -p: ps -p \"$x\".",
    )
}
