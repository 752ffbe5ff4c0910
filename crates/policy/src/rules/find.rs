//! `find`: commands run by `-exec` are judged; actions that delete or write are denied.

use super::rule::{CommandCall, Rule, always, in_run, never};
use super::scope::CommandScope;
use super::{links, reads};
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::{Arg, ArgKind};

pub const RULES: &[Rule] = &[Rule {
    name: "find",
    commands: &["find"],
    run_only: false,
    judge,
    examples: &[
        always("find . -name '*.js' -not -path './node_modules/*'"),
        always("find src -type f -exec grep -l TODO {} +"),
        always("find . -name '*.rs' -exec wc -l {} \\;"),
        always("find . -name \"$pattern\""),
        always("find . -type f | xargs wc -l"),
        in_run("find src -name '*.js' -exec node --check {} \\;"),
        never("find . -delete"),
        never("find . -exec rm {} \\;"),
        never("find . -execdir sh -c x \\;"),
        never("find . -fprintf out x"),
        never("find / -name id_rsa"),
        never("find . -ok ls {} \\;"),
        never("find . $x"),
        never("find . -exec {} \\;"),
    ],
}];

/// Tests and actions that take a value.
#[rustfmt::skip]
const VALUED: [&str; 30] = [
    "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-type", "-xtype", "-size",
    "-mtime", "-mmin", "-ctime", "-cmin", "-atime", "-amin", "-newer", "-anewer", "-cnewer", "-maxdepth",
    "-mindepth", "-user", "-group", "-perm", "-links", "-inum", "-samefile", "-lname", "-printf",
    "-regextype",
];

/// Harmless options, tests and actions without a value.
#[rustfmt::skip]
const PLAIN: [&str; 26] = [
    "-print", "-print0", "-ls", "-prune", "-quit", "-not", "-and", "-or", "-a", "-o", "-empty", "-true",
    "-false", "-depth", "-mount", "-xdev", "-follow", "-L", "-P", "-H", "-readable", "-writable",
    "-executable", "-daystart", "-noleaf", "-nouser",
];

fn judge(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    if call.args.iter().any(|arg| matches!(arg.literal(), Some("-L" | "-follow"))) {
        links::judge_followed(scope, "Leave out -L and -follow.")?;
    }
    let mut rest = call.args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        if matches!(arg.literal(), Some("(" | ")" | "!")) {
            continue;
        }
        if arg.is_operand() {
            reads::judge(scope, arg)?;
            continue;
        }
        match arg.literal() {
            Some(option) if VALUED.contains(&option) => match rest.split_first() {
                Some((value, after)) if value.kind != ArgKind::Several => rest = after,
                _ => return unknown(),
            },
            Some(option) if PLAIN.contains(&option) => {}
            Some("-exec") => rest = exec(scope, rest)?,
            Some(option) => {
                return deny_with_hint(
                    "find.action",
                    format!("find's {option} is not allowed."),
                    "Use tests, -print, and -exec with an allowed command.",
                );
            }
            None => return unknown(),
        }
    }
    Ok(())
}

/// Judges `command … ;` or `command … {} +` and returns the arguments after it.
fn exec<'c>(scope: &mut CommandScope<'_>, args: &'c [Arg]) -> Result<&'c [Arg], crate::verdict::Denial> {
    let end = args.iter().enumerate().position(|(at, arg)| match arg.literal() {
        Some(";") => true,
        Some("+") => at > 0 && args[at - 1].literal() == Some("{}"),
        _ => false,
    });
    let Some(end) = end else {
        return Err(crate::verdict::Denial::new("find.action", "find's -exec is not terminated.")
            .instead("End it with \\;."));
    };
    let substituted = |arg: &Arg| if arg.text.contains("{}") { Arg::unknown() } else { arg.clone() };
    // A found path begins with the starting point, so it is not an option unless the starting point is one.
    let argv: Vec<Arg> = args[..end]
        .iter()
        .map(|arg| match arg.literal() {
            Some("{}") => Arg::new("./", ArgKind::Unknown),
            _ => substituted(arg),
        })
        .collect();
    scope.judge_wrapped(&argv)?;
    Ok(&args[end + 1..])
}

fn unknown() -> RuleResult {
    deny_with_hint(
        "find.unknown",
        "An argument of find that is not known before the command runs could be an action.",
        "Write it literally, or quote it as the value of a test: -name \"$x\".",
    )
}
