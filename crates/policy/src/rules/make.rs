//! `make` and `just`: run the project's own targets.

use super::assignments::judge_name_text;
use super::environment::{self, VariableReader};
use super::options::{OptionSyntax, parse};
use super::rule::{CommandCall, Rule, in_run, never};
use super::scope::CommandScope;
use super::{reads, scripts};
use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::{Arg, ArgKind};

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
        never("INSTALL=./evil make"),
        never("make INSTALL_PROGRAM=./evil"),
        in_run("make install DESTDIR=dist prefix=src/x URL=http://localhost:80/a"),
        never("make 'x=$(shell rm -rf victim)' all"),
        never("make 'x:=$(file >/home/u/PWN,z)' all"),
        never("make 'x=${shell id}'"),
        never("make \"x=\\$(shell id)\""),
        never("make '$(shell id)'"),
        never("make 'x+=$y'"),
        never("make x='`id`'"),
        never("make -C 'src$(shell id)' all"),
        never("env A=1 make 'x=$(shell id)'"),
        never("gmake 'x?=$(eval y:;id)'"),
        never("make DESTDIR=../x install"),
        never("make prefix=/usr/local install"),
        never("make prefix:=src/../../x install"),
        never("make install DESTDIR=~/x"),
        never("make VPATH=.."),
        never("make out=.git/hooks"),
        in_run("make -C src DESTDIR=../dist install"),
        never("make -C src DESTDIR=../../dist install"),
        in_run("make src/a.o build/x"),
        in_run("make test ARGS='-v -k name' V=1 PATTERN=src/a.js:12"),
        in_run("make OPTS=--out=dist/x LIST=a,b IMAGE=localhost:5000/x:latest"),
        never("make ARGS='; cat /etc/passwd'"),
        never("make 'ARGS=| sh'"),
        never("make 'ARGS=&& id'"),
        never("make \"OUT='..'/x\""),
        never("make 'OUT=.\\./x'"),
        never("make 'OUT=.\"\"./x'"),
        never("make OUT=-o../x"),
        never("make OUT=-o/etc/x"),
        never("make OUT=a=../x"),
        never("make OUT=a:../x"),
        never("make OUT=a:/etc/x"),
        never("make OUT=x://../../y"),
        never("make 'OUT=a ../x'"),
        never("make OUT=--out=/etc/x"),
        never("make 'OUT=x > y'"),
        never("make 'a;id'"),
        never("just 'x; id'"),
        never("make ../out/x"),
        never("make -B /etc/x"),
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
    let before = scope.directories.clone();
    let result = judge_in_directory(scope, call.args);
    scope.directories = before;
    result
}

fn judge_in_directory(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    args.iter().try_for_each(|arg| deny_expansions(&arg.text))?;
    let parsed = parse("make", &MAKE, args)?;
    let values = |names: &'static [&str]| {
        let named = parsed.options.iter().filter(move |(option, _)| names.contains(&option.as_str()));
        named.filter_map(|(_, value)| value.as_ref())
    };
    for directory in values(&["C", "directory"]) {
        scope.count_path()?;
        let text = directory.literal().unwrap_or("/");
        scope.directories = scope.paths.enter_physical(&scope.directories, text)?;
    }
    for file in values(&["f", "file", "makefile", "justfile"]) {
        reads::judge(scope, file)?;
        if !file.literal().is_some_and(|path| scripts::is_own_script(scope, path)) {
            return deny("make", "The makefile must be an existing file of the project.");
        }
    }
    scope.runs_make = true;
    environment::judge_for(scope, VariableReader::Make)?;
    for operand in &parsed.operands {
        match operand.literal().map(|text| text.split_once('=')) {
            Some(Some((variable, value))) => {
                judge_name_text(variable.trim_end_matches([':', '?', '+']))?;
                judge_value(scope, value)?;
            }
            // A built-in rule may write a target.
            Some(None) => judge_value(scope, &operand.text)?,
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

/// Judges the value of an environment variable: make takes each one for a variable of its own.
pub fn judge_given(scope: &mut CommandScope<'_>, value: &str) -> RuleResult {
    deny_expansions(value)?;
    judge_value(scope, value)
}

fn deny_expansions(text: &str) -> RuleResult {
    if text.contains(['$', '`']) {
        return deny_with_hint(
            "make",
            "make or its recipes would expand the '$' or '`' in this argument, which can run a command.",
            "Write the value itself, or change the makefile.",
        );
    }
    Ok(())
}

/// Judges a target or the value of a variable. A recipe puts it into the text of a shell, and it may name where that
/// writes, as in `DESTDIR=dist`.
fn judge_value(scope: &mut CommandScope<'_>, value: &str) -> RuleResult {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.,+@%:=/~ ".contains(c);
    if !value.chars().all(is_plain) {
        return deny_with_hint(
            "make",
            "make puts this into the text of a shell, which could run a part of it.",
            "Use letters, digits, blanks and _-.,+@%:=/ only, or change the makefile.",
        );
    }
    value.split(' ').try_for_each(|word| judge_word(scope, word))
}

/// Judges a word of a value, and each part of it that may be a path: `-o../x`, `a:../x`, `--out=x`.
fn judge_word(scope: &mut CommandScope<'_>, word: &str) -> RuleResult {
    judge_path(scope, word)?;
    for (at, separator) in word.match_indices([':', '=', ',', '@', '%', '+']) {
        let rest = &word[at + separator.len()..];
        let is_url = rest.starts_with("//") && word[..at].ends_with(|c: char| c.is_ascii_alphabetic());
        if !is_url {
            judge_path(scope, rest)?;
        }
    }
    match word.strip_prefix('-').filter(|letters| !letters.starts_with('-')) {
        Some(letters) => judge_path(scope, letters.get(1..).unwrap_or_default()),
        None => Ok(()),
    }
}

/// Judges text up to where another part begins, if it is a path or the name of a link.
fn judge_path(scope: &mut CommandScope<'_>, text: &str) -> RuleResult {
    if text.contains("://") && !text.contains("/..") {
        return Ok(());
    }
    let is_path = text.contains('/') || text.starts_with('~') || text.split(':').any(|part| part == "..");
    if !is_path && !scope.names_link(text) {
        return Ok(());
    }
    scope.count_path()?;
    match text.starts_with('~') {
        true => scope.may_write(&Arg::new("~", ArgKind::Unknown)),
        false => scope.may_write(&Arg::plain(text)),
    }
}
