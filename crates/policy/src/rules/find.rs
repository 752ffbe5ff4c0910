//! `find`: what its actions run is judged; those that delete or write are refused.

use super::{Rule, always, in_run, never, reads};
use crate::verdict::{Ruling, deny_but};
use crate::walk::{Call, Walker};
use crate::words::{Arg, Kind};

/// The rule of this file.
pub const RULES: &[Rule] = &[Rule {
    name: "find",
    commands: &["find"],
    only_run: false,
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

/// Tests whose next argument is a value.
#[rustfmt::skip]
const VALUED: [&str; 30] = [
    "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-type", "-xtype", "-size",
    "-mtime", "-mmin", "-ctime", "-cmin", "-atime", "-amin", "-newer", "-anewer", "-cnewer", "-maxdepth",
    "-mindepth", "-user", "-group", "-perm", "-links", "-inum", "-samefile", "-lname", "-printf",
    "-regextype",
];

/// Everything else that is harmless.
#[rustfmt::skip]
const PLAIN: [&str; 26] = [
    "-print", "-print0", "-ls", "-prune", "-quit", "-not", "-and", "-or", "-a", "-o", "-empty", "-true",
    "-false", "-depth", "-mount", "-xdev", "-follow", "-L", "-P", "-H", "-readable", "-writable",
    "-executable", "-daystart", "-noleaf", "-nouser",
];

fn judge(walker: &mut Walker<'_>, call: Call<'_>) -> Ruling {
    let mut rest = call.args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        if matches!(arg.literal(), Some("(" | ")" | "!")) {
            continue;
        }
        if arg.is_operand() {
            reads::judge(walker, arg)?;
            continue;
        }
        match arg.literal() {
            Some(option) if VALUED.contains(&option) => match rest.split_first() {
                Some((value, after)) if value.kind != Kind::Several => rest = after,
                _ => return unknown(),
            },
            Some(option) if PLAIN.contains(&option) => {}
            Some("-exec") => rest = exec(walker, rest)?,
            Some(option) => {
                return deny_but(
                    "find.action",
                    format!("find's {option} is not allowed."),
                    "Use tests, -print, and -exec with a listed command.",
                );
            }
            None => return unknown(),
        }
    }
    Ok(())
}

/// Judges `command … ;` or `command … {} +` and returns what follows it.
fn exec<'c>(walker: &mut Walker<'_>, args: &'c [Arg]) -> Result<&'c [Arg], crate::verdict::Denial> {
    let end = args.iter().enumerate().position(|(at, arg)| match arg.literal() {
        Some(";") => true,
        Some("+") => at > 0 && args[at - 1].literal() == Some("{}"),
        _ => false,
    });
    let Some(end) = end else {
        return Err(crate::verdict::Denial::new("find.action", "find's -exec has no end.")
            .instead("End it with \\;."));
    };
    let found = |arg: &Arg| if arg.text.contains("{}") { Arg::unknown() } else { arg.clone() };
    // What is found begins with where the search began, and so is not an option unless that was one.
    let argv: Vec<Arg> = args[..end]
        .iter()
        .map(|arg| match arg.literal() {
            Some("{}") => Arg::new("./", Kind::Unknown),
            _ => found(arg),
        })
        .collect();
    walker.dispatch_wrapped(&argv)?;
    Ok(&args[end + 1..])
}

fn unknown() -> Ruling {
    deny_but(
        "find.unknown",
        "An argument of find that is not known before it runs could be an action.",
        "Write it out, or quote it as the value of a test: -name \"$x\".",
    )
}
