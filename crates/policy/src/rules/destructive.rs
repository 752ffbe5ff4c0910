//! `rm` and `mv`: allowed only in `run --allow-destructive`, on checked paths, or patterns that match no
//! links. Stale git lock files are an exception (see `git_lock`).

use super::files::judge_destination;
use super::options::{OptionSyntax, parse};
use super::rule::{CommandCall, Rule, destructive, never};
use super::scope::CommandScope;
use super::{git_lock, links};
use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::Arg;

pub const RULES: &[Rule] = &[
    Rule {
        name: "rm",
        commands: &["rm"],
        run_only: true,
        judge: rm,
        examples: &[
            destructive("rm -rf dist"),
            destructive("rm -f src/a.js src/b.js"),
            destructive("rm dist/*"),
            destructive("rm *.log"),
            never("rm -rf ."),
            never("rm -rf *"),
            never("rm -rf ./*"),
            never("rm -rf [a-z]*"),
            never("rm -rf .git"),
            never("rm -f .git/*.lock"),
            never("rm -rf .autonoe"),
            never("rm -rf ~"),
            never("rm -rf $HOME"),
            never("rm -rf \"$x\""),
            never("rm -rf {../outside,a}"),
            never("rm -rf {a,b}"),
            never("rm -rf $(pwd)/../x"),
            never("rm -rf ../x"),
            never("rm -rf /"),
            never("rm --no-preserve-root -rf dist"),
            never("rm"),
            never("find . | xargs rm"),
            never("cd src && rm -rf .."),
        ],
    },
    Rule {
        name: "mv",
        commands: &["mv"],
        run_only: true,
        judge: mv,
        examples: &[
            destructive("mv a b"),
            destructive("mv src/*.js lib/"),
            never("mv --target-directory=/etc a b"),
            never("mv -t /etc a"),
            never("mv x .autonoe/status.json"),
            never("mv .git x"),
            never("mv a"),
            never("mv a ../b"),
            never("mv /etc/passwd a"),
        ],
    },
];

const RM: OptionSyntax = OptionSyntax {
    flags: "rRfvidI",
    valued: "",
    long: &["recursive", "force", "verbose", "dir", "one-file-system", "interactive"],
    long_valued: &[],
};

const MV: OptionSyntax = OptionSyntax {
    flags: "fnvuiT",
    valued: "t",
    long: &["force", "no-clobber", "verbose", "update", "no-target-directory"],
    long_valued: &["target-directory"],
};

fn rm(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let parsed = parse("rm", &RM, call.args);
    if let Ok(parsed) = &parsed
        && let Some(ruling) = git_lock::judge(scope, parsed)
    {
        return ruling;
    }
    require_destructive(scope, call.name)?;
    let parsed = parsed?;
    if parsed.operands.is_empty() {
        return deny("rm", format!("{} requires a path.", call.name));
    }
    parsed.operands.iter().try_for_each(|operand| judge_removal(scope, operand))
}

fn mv(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    require_destructive(scope, call.name)?;
    let parsed = parse("mv", &MV, call.args)?;
    let mut sources = parsed.operands.clone();
    let option = parsed.value("t").or_else(|| parsed.value("target-directory")).cloned();
    let target = option.or_else(|| sources.pop().cloned());
    let Some(target) = target.filter(|_| !sources.is_empty()) else {
        return deny("mv", "mv requires a source and a destination.");
    };
    for source in &sources {
        judge_removal(scope, source)?;
        links::judge(scope, source)?;
    }
    judge_destination(scope, "mv", &sources, &target)
}

/// Judges the removal or move of a path.
pub fn judge_removal(scope: &mut CommandScope<'_>, target: &Arg) -> RuleResult {
    if target.from_braces {
        return deny_with_hint(
            "path.unknown",
            "The path to remove comes from a brace expansion.",
            "Write each path separately.",
        );
    }
    scope.count_path()?;
    scope.paths.remove(&scope.directories, target)
}

fn require_destructive(scope: &CommandScope<'_>, name: &str) -> RuleResult {
    if scope.options.allow_destructive && !scope.options.is_sync() {
        return Ok(());
    }
    deny_with_hint(
        "destructive",
        format!("'{name}' is not allowed without --allow-destructive."),
        "Leave the file in place, overwrite it, or ask the user to run with --allow-destructive.",
    )
}
