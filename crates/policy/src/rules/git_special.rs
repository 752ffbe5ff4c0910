//! Further checks of the arguments of individual git subcommands.

use super::destructive::judge_removal;
use super::files::judge_destination;
use super::git_arguments::{denied_setting, is_harmless_setting};
use super::links;
use super::scope::CommandScope;
use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::{Arg, ArgKind};

/// Options of `git clone` that run other programs or write elsewhere.
pub const CLONE: &[&str] = &[
    "--upload-pack",
    "-u",
    "--config",
    "-c",
    "--template",
    "--separate-git-dir",
    "--reference",
    "--recurse-submodules",
    "--bare",
    "--mirror",
];

/// Options of `git stash` that write files or remove untracked ones.
pub const STASH: &[&str] = &[
    "--output",
    "--ext-diff",
    "--include-untracked",
    "-u",
    "--all",
    "-a",
    "--only-untracked",
    "--pathspec-from-file",
];

/// Whether a call only shows help, or what a push would do. No other option is accepted, since some run programs.
pub fn only_shows(name: &Arg, args: &[Arg]) -> bool {
    let is_word = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._/-".contains(&b))
    };
    let all = |accepts: &dyn Fn(&str) -> bool| args.iter().all(|arg| arg.literal().is_some_and(accepts));
    let is_dry = |text: &str| matches!(text, "--dry-run" | "-n");
    match (name.literal(), args) {
        (Some("help"), _) => all(&is_word),
        (Some("push"), [only]) if matches!(only.literal(), Some("--help" | "-h")) => true,
        (Some("push"), _) => {
            args.iter().any(|arg| arg.literal().is_some_and(is_dry))
                && all(&|text| is_dry(text) || is_word(text))
        }
        _ => false,
    }
}

/// For subcommands without further checks.
pub fn no_extra_check(_: &mut CommandScope<'_>, _: &[Arg]) -> RuleResult {
    Ok(())
}

fn operands(args: &[Arg]) -> impl Iterator<Item = &Arg> {
    args.iter().filter(|arg| arg.literal() != Some("--") && (arg.is_operand() || arg.kind != ArgKind::Plain))
}

fn first(args: &[Arg]) -> Option<&str> {
    args.first().and_then(Arg::literal)
}

fn only_in_run(scope: &CommandScope<'_>, command: &str) -> RuleResult {
    if scope.options.is_sync() {
        return deny_with_hint(
            "git.sync",
            format!("'{command}' changes the repository; sync only verifies."),
            "Use git status, log, diff or show.",
        );
    }
    Ok(())
}

pub fn branch(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    let lists = args.iter().all(|arg| {
        matches!(
            arg.literal(),
            Some(
                "-a" | "-r"
                    | "-v"
                    | "-vv"
                    | "-l"
                    | "--all"
                    | "--remotes"
                    | "--list"
                    | "--show-current"
                    | "--no-color"
            )
        ) || arg.literal().is_some_and(|text| text.starts_with("--format=") || text.starts_with("--sort="))
    });
    if lists { Ok(()) } else { only_in_run(scope, "git branch") }
}

pub fn tag(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    match first(args) {
        None if args.is_empty() => Ok(()),
        Some("-l" | "--list" | "-n") => Ok(()),
        _ => only_in_run(scope, "git tag"),
    }
}

pub fn stash(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    match first(args) {
        Some("list" | "show") => Ok(()),
        _ => {
            only_in_run(scope, "git stash")?;
            deny_protected(scope, args)
        }
    }
}

pub fn remote(_: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    match (first(args), args.len()) {
        (None, 0) | (Some("-v"), 1) | (Some("get-url"), 2) => Ok(()),
        _ => deny_with_hint("git.remote", "Only the user may change remotes.", "git remote -v"),
    }
}

/// Sections of settings that contain no credentials.
#[rustfmt::skip]
const PUBLIC_SECTIONS: [&str; 16] = [
    "user", "core", "color", "init", "pull", "push", "fetch", "branch", "merge", "rebase", "diff", "advice", "alias",
    "commit", "tag", "status",
];

/// Whether a setting may be shown: not all of them, since a token may be part of a URL or a header.
fn may_be_shown(key: &str) -> bool {
    let key = key.trim_start_matches('^').to_lowercase();
    let section = key.split(['.', '\\']).next().unwrap_or_default();
    let is_remote_name = section == "remote" && (key.ends_with(".url") || key.ends_with(".fetch"));
    (PUBLIC_SECTIONS.contains(&section) || is_remote_name) && !key.contains('|')
}

/// Allows showing settings that contain no credentials, and writing harmless settings of this repository.
pub fn config(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    let args = match args {
        [scope, rest @ ..] if scope.literal() == Some("--local") => rest,
        args => args,
    };
    match (first(args), args) {
        (Some("--get" | "--get-all" | "--get-regexp" | "get"), [_, rest @ ..]) => {
            let keys: Vec<&Arg> = rest.iter().filter(|arg| arg.literal() != Some("--local")).collect();
            match keys.as_slice() {
                [key] if key.literal().is_some_and(may_be_shown) => Ok(()),
                _ => refuse_to_show(),
            }
        }
        (Some("--list" | "-l" | "list" | "edit" | "--edit" | "-e"), _) => refuse_to_show(),
        (Some(key), [_]) if may_be_shown(key) => Ok(()),
        (Some(key), [_]) if !key.starts_with('-') => refuse_to_show(),
        (Some(key), [_, value]) if is_harmless_setting(key) && value.is_operand() => {
            only_in_run(scope, "git config")
        }
        (Some(key), _) => Err(denied_setting(key)),
        (None, _) => Err(denied_setting("?")),
    }
}

fn refuse_to_show() -> RuleResult {
    deny_with_hint(
        "git.config",
        "Settings of git may contain credentials, so only a few of them may be shown.",
        "git config --get user.name",
    )
}

pub fn reflog(_: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    match first(args) {
        Some("expire" | "delete" | "drop") => deny("git.reflog", "Reflog entries may not be removed."),
        _ => Ok(()),
    }
}

pub fn worktree(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    match first(args) {
        Some("list") => Ok(()),
        Some("prune") => only_in_run(scope, "git worktree"),
        Some("add") => {
            only_in_run(scope, "git worktree")?;
            operands(&args[1..]).try_for_each(|path| judge_write(scope, path))
        }
        _ => deny("git.worktree", "That form of git worktree is not allowed."),
    }
}

fn judge_write(scope: &mut CommandScope<'_>, path: &Arg) -> RuleResult {
    scope.count_path()?;
    scope.may_write(path)
}

/// Requires literal paths and patterns that do not match protected names.
pub fn deny_protected(_: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    for arg in operands(args) {
        if arg.kind != ArgKind::Plain && arg.kind != ArgKind::Glob {
            return deny_with_hint(
                "git.unknown",
                "A path that git would replace is not known before the command runs.",
                "Write a literal path.",
            );
        }
        if names_protected(&arg.text) {
            return deny("git.protected", format!("'{}' is protected; git may not replace it.", arg.text));
        }
    }
    Ok(())
}

/// Whether a pathspec names or may match files that configure agents.
fn names_protected(text: &str) -> bool {
    const NAMES: [&str; 7] = [".autonoe", ".harness", ".claude", ".codex", ".gemini", ".cursor", ".mcp.json"];
    let lower = text.to_lowercase();
    // git expands patterns itself, and they match dots and slashes.
    let wild = |segment: &str| segment.contains(['*', '?', '[', '\\']);
    let first = lower.split('/').find(|segment| !matches!(*segment, "" | "."));
    lower.starts_with(':')
        || first.is_some_and(wild)
        || lower.split('/').any(|segment| NAMES.contains(&segment))
}

pub fn mv(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    let mut sources: Vec<&Arg> = operands(args).collect();
    let Some(target) = sources.pop() else {
        return deny("git.mv", "git mv requires a source and a destination.");
    };
    for source in &sources {
        judge_removal(scope, source)?;
        links::judge(scope, source)?;
    }
    judge_destination(scope, "git.mv", &sources, target)
}

pub fn rm(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    deny_protected(scope, args)?;
    if args.iter().take_while(|arg| arg.literal() != Some("--")).any(|arg| arg.literal() == Some("--cached"))
    {
        return Ok(());
    }
    if !scope.options.allow_destructive {
        return deny_with_hint(
            "git.rm",
            "git rm removes files and requires --allow-destructive.",
            "git rm --cached path",
        );
    }
    operands(args).try_for_each(|path| judge_removal(scope, path))
}

pub fn clean(_: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    let is_dry =
        |arg: &Arg| matches!(arg.literal(), Some("-n" | "--dry-run" | "-nd" | "-dn" | "-ndx" | "-nx"));
    let forced = args.iter().any(|arg| super::options::names_one_of(arg, &["--force", "-f"]));
    if args.iter().any(is_dry) && !forced {
        return Ok(());
    }
    deny_with_hint(
        "git.clean",
        "git clean removes files that cannot be restored.",
        "git clean -n shows what it would remove.",
    )
}

pub fn init(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    let mut rest = args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        if matches!(arg.literal(), Some("-b" | "--initial-branch")) {
            rest = rest.get(1..).unwrap_or_default();
        } else if arg.is_operand() || arg.kind != ArgKind::Plain {
            judge_write(scope, arg)?;
        }
    }
    Ok(())
}

pub fn clone(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    let mut rest = args;
    let mut operands = Vec::new();
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        if matches!(arg.literal(), Some("-b" | "--branch" | "--depth" | "-o" | "--origin" | "-j")) {
            rest = rest.get(1..).unwrap_or_default();
        } else if arg.is_operand() || arg.kind != ArgKind::Plain {
            operands.push(arg);
        }
    }
    match operands.as_slice() {
        [url] if url.literal().is_some_and(|url| url.starts_with("https://")) => {
            let path = url.text.trim_end_matches('/');
            let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
            judge_write(scope, &Arg::plain(path.rsplit('/').next().unwrap_or(path)))
        }
        [url, directory] if url.literal().is_some_and(|url| url.starts_with("https://")) => {
            judge_write(scope, directory)
        }
        _ => deny_with_hint(
            "git.clone",
            "Only https URLs that are written out may be cloned.",
            "git clone https://… directory",
        ),
    }
}

/// Options of commands that talk to a remote whose value is the next argument.
#[rustfmt::skip]
const REMOTE_VALUED: [&str; 8] = [
    "--depth", "--deepen", "-j", "--jobs", "--shallow-since", "--shallow-exclude", "--refmap", "--negotiation-tip",
];

/// Allows configured remotes, by name: no URLs, which can carry data to any host, and no paths.
pub fn transport(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    let mut operands: Vec<&Arg> = Vec::new();
    let mut rest = args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        if arg.literal().is_some_and(|text| REMOTE_VALUED.contains(&text)) {
            rest = rest.get(1..).unwrap_or_default();
        } else if arg.literal() != Some("--") && (arg.is_operand() || arg.kind != ArgKind::Plain) {
            operands.push(arg);
        }
    }
    let is_name = |text: &str| {
        text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
            && !text.starts_with('.')
            && !scope.directories.iter().any(|directory| directory.join(text).symlink_metadata().is_ok())
    };
    let remote_is_name = operands.first().is_none_or(|remote| remote.literal().is_some_and(is_name));
    if remote_is_name && !operands.iter().any(|operand| operand.text.contains("://")) {
        return Ok(());
    }
    deny_with_hint("git.transport", "Only configured remotes are allowed, by their name.", "git fetch origin")
}

pub fn submodule(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    match first(args) {
        None if args.is_empty() => Ok(()),
        Some("status" | "summary") => Ok(()),
        Some("update" | "init") => {
            only_in_run(scope, "git submodule")?;
            let known = |arg: &Arg| matches!(arg.literal(), Some("--recursive" | "--depth" | "1"));
            if first(args) == Some("update") && args[1..].iter().all(known) {
                Ok(())
            } else {
                deny_with_hint(
                    "git.submodule",
                    "Only submodules that the user has initialized may be updated: .gitmodules can name any host.",
                    "git submodule update --recursive",
                )
            }
        }
        _ => deny_with_hint(
            "git.submodule",
            "That form of git submodule can run commands.",
            "git submodule status",
        ),
    }
}

pub fn bisect(_: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    match first(args) {
        Some("start" | "good" | "bad" | "old" | "new" | "skip" | "reset" | "log" | "terms" | "next") => {
            Ok(())
        }
        _ => deny_with_hint(
            "git.bisect",
            "That form of git bisect can run commands.",
            "git bisect start, good, bad, reset",
        ),
    }
}

pub fn format_patch(_: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    let prints = args.iter().any(|arg| arg.literal() == Some("--stdout"));
    let writes = args.iter().any(|arg| super::options::names_one_of(arg, &["-o"]));
    if prints && !writes {
        return Ok(());
    }
    deny_with_hint("git.format-patch", "git format-patch writes files.", "git format-patch --stdout")
}
