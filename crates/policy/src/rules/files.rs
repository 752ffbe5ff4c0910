//! Commands that create files: every place they write is checked. For `run` only.

use super::options::{Syntax, parse};
use super::{Rule, in_run, links, never, reads};
use crate::paths::protection;
use crate::verdict::{Ruling, deny, deny_but};
use crate::walk::{Call, Walker};
use crate::words::{Arg, Kind};

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "mkdir",
        commands: &["mkdir"],
        only_run: true,
        judge: |walker, call| writes(walker, "mkdir", &MKDIR, call),
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
        only_run: true,
        judge: |walker, call| writes(walker, "touch", &TOUCH, call),
        examples: &[
            in_run("touch src/a.js b.txt"),
            never("touch /etc/x"),
            never("touch .git/hooks/x"),
            never("touch ~/x"),
        ],
    },
    Rule {
        name: "tee",
        commands: &["tee"],
        only_run: true,
        judge: |walker, call| if call.args.is_empty() { Ok(()) } else { writes(walker, "tee", &TEE, call) },
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
        only_run: true,
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
            never("cp -s /etc/passwd x"),
            never("cp x .claude/settings.json"),
        ],
    },
    Rule {
        name: "chmod",
        commands: &["chmod"],
        only_run: true,
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

const MKDIR: Syntax =
    Syntax { flags: "pv", valued: "m", long: &["parents", "verbose"], long_valued: &["mode"] };
const TOUCH: Syntax =
    Syntax { flags: "acmh", valued: "tdr", long: &["no-create"], long_valued: &["date", "reference"] };
const TEE: Syntax =
    Syntax { flags: "aip", valued: "", long: &["append", "ignore-interrupts"], long_valued: &[] };
const CP: Syntax = Syntax {
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
        "parents",
    ],
    long_valued: &["target-directory"],
};

fn writes(walker: &mut Walker<'_>, rule: &'static str, syntax: &Syntax, call: Call<'_>) -> Ruling {
    let parsed = parse(rule, syntax, call.args)?;
    if parsed.operands.is_empty() {
        return deny(rule, format!("{} needs a path.", call.name));
    }
    for operand in &parsed.operands {
        walker.count_path()?;
        walker.may_write(operand)?;
    }
    Ok(())
}

fn cp(walker: &mut Walker<'_>, call: Call<'_>) -> Ruling {
    let parsed = parse("cp", &CP, call.args)?;
    let mut sources = parsed.operands.clone();
    let option = parsed.value("t").or_else(|| parsed.value("target-directory")).cloned();
    let Some(target) = option.or_else(|| sources.pop().cloned()) else {
        return deny("cp", "cp needs a destination.");
    };
    if sources.is_empty() {
        return deny("cp", "cp needs a source and a destination.");
    }
    for source in &sources {
        reads::judge(walker, source)?;
    }
    if parsed.options.iter().any(|(option, _)| LINKS.contains(&option.as_str())) {
        sources.iter().try_for_each(|source| links::judge(walker, source))?;
    }
    arrive(walker, "cp", &sources, &target)
}

/// Options with which links are copied as links.
const LINKS: [&str; 8] = ["r", "R", "a", "d", "P", "archive", "recursive", "no-dereference"];

/// Whether sources may arrive at a target: it, and what they would become in it if it is a directory.
pub fn arrive(walker: &mut Walker<'_>, rule: &'static str, sources: &[&Arg], target: &Arg) -> Ruling {
    walker.count_path()?;
    walker.may_write(target)?;
    if target.kind == Kind::Glob {
        return deny_but(rule, "The destination is a pattern.", "Write the destination out.");
    }
    let target_text = target.text.trim_end_matches('/');
    for source in sources {
        if let Some(text) = source.literal() {
            // A directory's content arrives with the names it has.
            let holds_protected = walker.directories.iter().any(|directory| {
                let from = directory.join(text);
                walker.lookups.may_be_directory(&from)
                    && PROTECTED_NAMES.iter().any(|name| from.join(name).symlink_metadata().is_ok())
            });
            let root = &walker.policy.paths.root;
            let protected = walker
                .may_lead_to(text)
                .any(|real| real.strip_prefix(root).is_ok_and(|inside| protection(inside).is_some()));
            if holds_protected || protected {
                return deny(rule, format!("'{text}' contains files that steer git or agents."));
            }
            if matches!(text.trim_end_matches('/').rsplit('/').next(), Some("." | ".." | "")) {
                if walker.changed || !walker.straight {
                    return deny_but(
                        rule,
                        format!("What '{text}' holds is not known yet."),
                        "Copy it in a command of its own.",
                    );
                }
                continue;
            }
            let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or(text);
            walker.count_path()?;
            walker.may_write(&Arg::plain(format!("{target_text}/{name}")))?;
        } else if source.kind == Kind::Glob {
            let last = source.text.rsplit('/').next().unwrap_or(&source.text);
            if last.starts_with('.') {
                return deny_but(
                    rule,
                    "A pattern for hidden files could match protected ones.",
                    "Name the files.",
                );
            }
        } else if into_root(walker, target_text) {
            return deny_but(
                rule,
                "What would be replaced is not known before it runs.",
                "Write the source out.",
            );
        }
    }
    Ok(())
}

/// What a directory's content may not replace.
const PROTECTED_NAMES: [&str; 6] = [".autonoe", ".git", ".claude", ".codex", ".gemini", ".cursor"];

fn into_root(walker: &Walker<'_>, target: &str) -> bool {
    let root = &walker.policy.paths.root;
    walker.may_lead_to(target).any(|real| &real == root || protection(&real).is_some())
}

fn chmod(walker: &mut Walker<'_>, call: Call<'_>) -> Ruling {
    let Some((mode, targets)) = call.args.split_first() else { return refuse_chmod() };
    let is_plus_x =
        |mode: &str| mode.strip_suffix("+x").is_some_and(|who| who.bytes().all(|b| b"ugoa".contains(&b)));
    if !mode.literal().is_some_and(is_plus_x) || targets.is_empty() {
        return refuse_chmod();
    }
    for target in targets {
        if target.may_be_option() {
            return refuse_chmod();
        }
        walker.count_path()?;
        walker.may_write(target)?;
    }
    Ok(())
}

fn refuse_chmod() -> Ruling {
    deny_but(
        "chmod",
        "chmod may only make files of the project executable, one by one.",
        "chmod +x path/to/script",
    )
}
