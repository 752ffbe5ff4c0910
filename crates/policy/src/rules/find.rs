//! `find`: commands run by `-exec` are judged; actions that delete or write are denied.

use super::links::{self, FoundEntries};
use super::reads;
use super::rule::{CommandCall, Rule, always, in_run, never};
use super::scope::CommandScope;
use crate::verdict::{Denial, RuleResult, deny_with_hint};
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
        always("find . -name '*.js' -exec echo 'found {}' \\;"),
        always("find . -newer a.txt -not -type d"),
        never("find . -newer /etc/passwd"),
        never("find . -samefile ../x"),
        never("find . -exec cat /{}/etc/passwd \\;"),
        never("find . -exec cat ../{} \\;"),
        never("find . -maxdepth 0 -exec cat {}/../x \\;"),
        never("find . -maxdepth 0 -exec cat {}./x \\;"),
        never("find . -maxdepth 0 -exec timeout 5 cat /{}/etc/passwd \\;"),
        in_run("find src -type f -exec node {} \\;"),
        never("find . -maxdepth 0 -exec node /{}tmp/x.js \\;"),
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
const PLAIN: [&str; 25] = [
    "-print", "-print0", "-ls", "-prune", "-quit", "-and", "-or", "-a", "-o", "-empty", "-true",
    "-false", "-depth", "-mount", "-xdev", "-follow", "-L", "-P", "-H", "-readable", "-writable",
    "-executable", "-daystart", "-noleaf", "-nouser",
];

/// Tests whose value is a file.
const FILES: [&str; 4] = ["-newer", "-anewer", "-cnewer", "-samefile"];

/// What a call of `find` has said so far.
struct FindCall<'c> {
    found: FoundEntries<'c>,
    /// Whether only entries of a type that is not a link pass.
    has_type: bool,
    /// Whether each test must be passed: there is no `-o` and no `,`.
    is_conjunction: bool,
}

fn judge(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    if call.args.iter().any(|arg| matches!(arg.literal(), Some("-L" | "-follow"))) {
        links::judge_followed(scope, "Leave out -L and -follow.")?;
    }
    let is_or = |arg: &Arg| matches!(arg.literal(), Some("-o" | "-or" | ","));
    let mut find = FindCall {
        found: FoundEntries { depth: usize::MAX, ..FoundEntries::default() },
        has_type: false,
        is_conjunction: !call.args.iter().any(is_or),
    };
    let mut is_negated = false;
    let mut rest = call.args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        if matches!(arg.literal(), Some("(" | ")" | "!" | "-not")) {
            is_negated = matches!(arg.literal(), Some("!" | "-not"));
            continue;
        }
        let was_negated = std::mem::take(&mut is_negated);
        if arg.is_operand() {
            reads::judge(scope, arg)?;
            find.found.starts.push(arg);
            continue;
        }
        match arg.literal() {
            Some(option) if VALUED.contains(&option) => match rest.split_first() {
                Some((value, after)) if value.kind != ArgKind::Several => {
                    rest = after;
                    if FILES.contains(&option) {
                        reads::judge(scope, value)?;
                    }
                    if !was_negated {
                        find.note(option, value);
                    }
                }
                _ => return unknown(),
            },
            Some(option) if PLAIN.contains(&option) => {}
            Some("-exec") => rest = exec(scope, &find, rest)?,
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
    match scope.feeds_xargs {
        true => find.judge_links(scope),
        false => Ok(()),
    }
}

impl<'c> FindCall<'c> {
    /// Notes a test that every entry must pass.
    fn note(&mut self, test: &str, value: &'c Arg) {
        let Some(text) = value.literal() else { return };
        match test {
            "-maxdepth" => self.found.depth = text.parse().unwrap_or(usize::MAX),
            _ if !self.is_conjunction => {}
            "-type" => self.has_type |= !text.contains('l'),
            "-name" => self.found.names.push(text),
            _ => {}
        }
    }

    fn judge_links(&self, scope: &CommandScope<'_>) -> RuleResult {
        if self.has_type { Ok(()) } else { links::judge_found(scope, &self.found) }
    }
}

/// Commands that only print their arguments.
const PRINTING: [&str; 2] = ["echo", "printf"];

/// Judges `command … ;` or `command … {} +` and returns the arguments after it.
fn exec<'c>(scope: &mut CommandScope<'_>, find: &FindCall<'_>, args: &'c [Arg]) -> Result<&'c [Arg], Denial> {
    let end = args.iter().enumerate().position(|(at, arg)| match arg.literal() {
        Some(";") => true,
        Some("+") => at > 0 && args[at - 1].literal() == Some("{}"),
        _ => false,
    });
    let Some(end) = end else {
        return Err(Denial::new("find.action", "find's -exec is not terminated.").instead("End it with \\;."));
    };
    let repeats = args[end].literal() == Some("+");
    let prints = args.first().and_then(Arg::literal).is_some_and(|name| PRINTING.contains(&name));
    let mut argv = Vec::new();
    let mut passes_on = false;
    for arg in &args[..end] {
        // A found path begins with the starting point, so it is not an option unless the starting point is one.
        argv.push(match arg.literal() {
            Some("{}") => Arg { repeats, ..Arg::new("./", ArgKind::Unknown) },
            _ if !arg.text.contains("{}") => arg.clone(),
            _ if prints => Arg::unknown(),
            _ => {
                return Err(Denial::new(
                    "find.action",
                    format!(
                        "'{}' may be a path outside: find replaces {{}} by a path anywhere in it.",
                        arg.text
                    ),
                )
                .instead("Pass {} as an argument of its own."));
            }
        });
        passes_on |= arg.text.contains("{}");
    }
    if passes_on && !prints {
        find.judge_links(scope)?;
    }
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
