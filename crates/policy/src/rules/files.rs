//! Commands that create files, for `run` only: every path they write is checked.

use super::options::{OptionSyntax, parse};
use super::rule::{CommandCall, Rule, in_run, never};
use super::scope::CommandScope;
use super::{links, reads};
use crate::paths::protection_reason;
use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::{Arg, ArgKind};

pub const RULES: &[Rule] = &[
    Rule {
        name: "mkdir",
        commands: &["mkdir"],
        run_only: true,
        judge: |scope, call| judge_writes(scope, "mkdir", &MKDIR, call),
        examples: &[
            in_run("mkdir -p a/b && cp x a/b/"),
            in_run("mkdir -p src/{api,ui}/tests"),
            never("mkdir -p .autonoe/x"),
            never("mkdir /opt/x"),
            never("mkdir $x"),
            never("mkdir ../x"),
        ],
    },
    Rule {
        name: "touch",
        commands: &["touch"],
        run_only: true,
        judge: |scope, call| judge_writes(scope, "touch", &TOUCH, call),
        examples: &[
            in_run("touch src/a.js b.txt"),
            never("touch /etc/x"),
            never("touch .git/hooks/x"),
            never("touch ~/x"),
            in_run("touch -r a.txt b.txt"),
            never("touch -r ../x a.txt"),
            never("touch --reference=/etc/passwd a.txt"),
        ],
    },
    Rule {
        name: "tee",
        commands: &["tee"],
        run_only: true,
        judge: |scope, call| {
            if call.args.is_empty() { Ok(()) } else { judge_writes(scope, "tee", &TEE, call) }
        },
        examples: &[
            in_run("npm test 2>&1 | tee test.log"),
            in_run("echo x | tee -a log > /dev/null"),
            never("echo x | tee .autonoe/status.json"),
            never("echo x | tee -a ../x"),
        ],
    },
    Rule {
        name: "cp",
        commands: &["cp"],
        run_only: true,
        judge: cp,
        examples: &[
            in_run("cp a.txt src/"),
            in_run("cp -r src/*.js dist"),
            in_run("for f in src/*; do cp -- \"$f\" dist/; done"),
            in_run("cp /usr/share/dict/words src/words"),
            never("cp x /etc/x"),
            never("cp /etc/passwd src/x"),
            never("cp x .autonoe/status.json"),
            never("cp -t /etc x"),
            never("cp --target-directory=/etc x"),
            never("cp $x src"),
            never("cp --parents src/a.js dist"),
            never("cp -s /etc/passwd x"),
            never("cp x .claude/settings.json"),
        ],
    },
    Rule {
        name: "chmod",
        commands: &["chmod"],
        run_only: true,
        judge: chmod,
        examples: &[
            in_run("chmod +x bin/dev.sh"),
            in_run("chmod u+x a b"),
            never("chmod +x --recursive d"),
            never("chmod +x -vR d"),
            never("chmod -R +x d"),
            never("chmod 777 a"),
            never("chmod +x /etc/passwd"),
            never("chmod +w a"),
            never("chmod +x .git/hooks/pre-commit"),
            never("chmod +x"),
        ],
    },
];

const MKDIR: OptionSyntax =
    OptionSyntax { flags: "pv", valued: "m", long: &["parents", "verbose"], long_valued: &["mode"] };
const TOUCH: OptionSyntax =
    OptionSyntax { flags: "acmh", valued: "tdr", long: &["no-create"], long_valued: &["date", "reference"] };
const TEE: OptionSyntax =
    OptionSyntax { flags: "aip", valued: "", long: &["append", "ignore-interrupts"], long_valued: &[] };
const CP: OptionSyntax = OptionSyntax {
    flags: "rRapfnuvidLPHTx",
    valued: "t",
    long: &[
        "archive",
        "force",
        "interactive",
        "no-clobber",
        "recursive",
        "update",
        "verbose",
        "no-dereference",
        "dereference",
        "preserve",
        "no-target-directory",
    ],
    long_valued: &["target-directory"],
};

fn judge_writes(
    scope: &mut CommandScope<'_>,
    rule: &'static str,
    syntax: &OptionSyntax,
    call: CommandCall<'_>,
) -> RuleResult {
    let parsed = parse(rule, syntax, call.args)?;
    if parsed.operands.is_empty() {
        return deny(rule, format!("{} requires a path.", call.name));
    }
    let references = parsed
        .options
        .iter()
        .filter(|(option, _)| rule == "touch" && matches!(option.as_str(), "r" | "reference"));
    references.filter_map(|(_, file)| file.as_ref()).try_for_each(|file| reads::judge(scope, file))?;
    for operand in &parsed.operands {
        scope.count_path()?;
        scope.may_write(operand)?;
    }
    Ok(())
}

fn cp(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let parsed = parse("cp", &CP, call.args)?;
    let mut sources = parsed.operands.clone();
    let option = parsed.value("t").or_else(|| parsed.value("target-directory")).cloned();
    let Some(target) = option.or_else(|| sources.pop().cloned()) else {
        return deny("cp", "cp requires a source and a destination.");
    };
    if sources.is_empty() {
        return deny("cp", "cp requires a source and a destination.");
    }
    for source in &sources {
        reads::judge(scope, source)?;
    }
    if parsed.options.iter().any(|(option, _)| LINKS.contains(&option.as_str())) {
        sources.iter().try_for_each(|source| links::judge(scope, source))?;
    }
    judge_destination(scope, "cp", &sources, &target)?;
    // With -T, the target is what a source becomes, not the directory in which it lands.
    let whole = Arg::plain(".");
    let has_no_directory = parsed.has("T") || parsed.has("no-target-directory");
    let landing = if has_no_directory { vec![&whole] } else { sources };
    let is_recursive = RECURSIVE.iter().any(|option| parsed.has(option));
    links::judge_copied_over(scope, &landing, &target.text, is_recursive)
}

const RECURSIVE: [&str; 5] = ["r", "R", "a", "archive", "recursive"];

/// Options that copy links as links.
const LINKS: [&str; 8] = ["r", "R", "a", "d", "P", "archive", "recursive", "no-dereference"];

/// Judges the destination of a copy or move: the target itself, and the paths of the sources below it in case it is a
/// directory.
pub fn judge_destination(
    scope: &mut CommandScope<'_>,
    rule: &'static str,
    sources: &[&Arg],
    target: &Arg,
) -> RuleResult {
    scope.count_path()?;
    scope.may_write(target)?;
    if target.kind == ArgKind::Glob {
        return deny_with_hint(rule, "The destination is a pattern.", "Write a literal destination.");
    }
    let target_text = target.text.trim_end_matches('/');
    for source in sources {
        if let Some(text) = source.literal() {
            // The content of a copied directory keeps its names.
            let contains_protected = scope.directories.iter().any(|directory| {
                let from = directory.join(text);
                scope.lookups.may_be_directory(&from)
                    && PROTECTED_NAMES.iter().any(|name| from.join(name).symlink_metadata().is_ok())
            });
            let root = &scope.paths.root;
            let protected = scope
                .possible_targets(text)
                .any(|real| real.strip_prefix(root).is_ok_and(|inside| protection_reason(inside).is_some()));
            if contains_protected || protected {
                return deny(rule, format!("'{text}' contains files that configure git or agents."));
            }
            if matches!(text.trim_end_matches('/').rsplit('/').next(), Some("." | ".." | "")) {
                if scope.files_changed || !scope.sequential {
                    return deny_with_hint(
                        rule,
                        format!("The content of '{text}' is not known before the command runs."),
                        "Copy it in a separate command.",
                    );
                }
                continue;
            }
            let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or(text);
            scope.count_path()?;
            scope.may_write(&Arg::plain(format!("{target_text}/{name}")))?;
        } else if source.kind == ArgKind::Glob {
            let last = source.text.rsplit('/').next().unwrap_or(&source.text);
            if last.starts_with('.') {
                return deny_with_hint(
                    rule,
                    "A pattern for hidden files could match protected files.",
                    "Name the files.",
                );
            }
        } else if targets_root_or_protected(scope, target_text) {
            return deny_with_hint(
                rule,
                "The files that would be replaced are not known before the command runs.",
                "Write a literal source.",
            );
        }
    }
    Ok(())
}

/// Protected directories that a copied directory's content may not replace.
const PROTECTED_NAMES: [&str; 7] =
    [".autonoe", ".harness", ".git", ".claude", ".codex", ".gemini", ".cursor"];

fn targets_root_or_protected(scope: &CommandScope<'_>, target: &str) -> bool {
    let root = &scope.paths.root;
    scope.possible_targets(target).any(|real| &real == root || protection_reason(&real).is_some())
}

fn chmod(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let Some((mode, targets)) = call.args.split_first() else { return refuse_chmod() };
    let is_plus_x = |mode: &str| {
        mode.strip_suffix("+x").is_some_and(|classes| classes.bytes().all(|b| b"ugoa".contains(&b)))
    };
    if !mode.literal().is_some_and(is_plus_x) || targets.is_empty() {
        return refuse_chmod();
    }
    for target in targets {
        if target.may_be_option() {
            return refuse_chmod();
        }
        scope.count_path()?;
        scope.may_write(target)?;
    }
    Ok(())
}

fn refuse_chmod() -> RuleResult {
    deny_with_hint(
        "chmod",
        "chmod may only make named files in the project executable.",
        "chmod +x path/to/script",
    )
}
