//! `make` and `just`: run the project's own targets.

use super::assignments::judge_name_text;
use super::options::{OptionSyntax, parse};
use super::rule::{CommandCall, Rule, in_run, never};
use super::scope::CommandScope;
use super::{reads, scripts};
use crate::verdict::{RuleResult, deny, deny_with_hint};

pub const RULES: &[Rule] = &[Rule {
    name: "make",
    commands: &["make", "gmake", "just"],
    run_only: true,
    judge,
    examples: &[
        in_run("make"),
        in_run("make -j4 test V=1"),
        in_run("make -j test"),
        in_run("make -C src all 2>&1 | tail"),
        in_run("just build --release"),
        never("make -f /etc/x"),
        never("make -f evil.mk"),
        never("make -C .. test"),
        never("make SHELL=./x test"),
        never("make CC=./evil"),
        never("make --eval='x:;rm y'"),
        never("make -C .git"),
        never("make $x"),
    ],
}];

const MAKE: OptionSyntax = OptionSyntax {
    flags: "jsknBwb0123456789",
    valued: "Cf",
    long: &[
        "silent",
        "quiet",
        "keep-going",
        "dry-run",
        "always-make",
        "no-print-directory",
        "jobs",
        "release",
        "list",
    ],
    long_valued: &["directory", "file", "makefile", "justfile"],
};

fn judge(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let parsed = parse("make", &MAKE, call.args)?;
    for (option, value) in &parsed.options {
        let Some(value) = value else { continue };
        match option.as_str() {
            "C" | "directory" => {
                scope.count_path()?;
                scope.paths.enter_physical(&scope.directories, value.literal().unwrap_or("/"))?;
            }
            "f" | "file" | "makefile" | "justfile" => {
                reads::judge(scope, value)?;
                if !value.literal().is_some_and(|path| scripts::is_own_script(scope, path)) {
                    return deny("make", "The makefile must be an existing file of the project.");
                }
            }
            _ => {}
        }
    }
    for operand in parsed.operands {
        match operand.literal().map(|text| (text, text.split_once('='))) {
            Some((_, Some((variable, _)))) => judge_name_text(variable.trim_end_matches([':', '?', '+']))?,
            Some((_, None)) => {}
            None => {
                return deny_with_hint(
                    "make",
                    "The target is not known before the command runs.",
                    "make test",
                );
            }
        }
    }
    Ok(())
}
