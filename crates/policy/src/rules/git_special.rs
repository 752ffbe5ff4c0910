//! What else must hold of some git subcommands' arguments.

use super::destructive::removed;
use super::files::arrive;
use super::git_arguments::{config as refused_setting, is_harmless_setting};
use super::{links, reads};
use crate::verdict::{Ruling, deny, deny_but};
use crate::walk::Walker;
use crate::words::{Arg, Kind};

/// Options of `git clone` that run or write something else.
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

/// Options of `git stash` that write, or take away files that git does not know.
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

/// A directory that looks like a repository brings its own settings, and these run programs.
pub fn own_repository(walker: &Walker<'_>) -> Ruling {
    let root = &walker.policy.paths.root;
    let looks_like_one = |directory: &std::path::Path| {
        directory.join("HEAD").symlink_metadata().is_ok()
            && directory.join("objects").symlink_metadata().is_ok()
    };
    let found = walker.directories.iter().any(|directory| {
        directory.ancestors().take_while(|ancestor| *ancestor != root.as_path()).any(looks_like_one)
    });
    if found {
        return deny(
            "git.repository",
            "This directory looks like a repository of its own; git may not trust it.",
        );
    }
    Ok(())
}

/// No further conditions.
pub fn nothing(_: &mut Walker<'_>, _: &[Arg]) -> Ruling {
    Ok(())
}

fn operands(args: &[Arg]) -> impl Iterator<Item = &Arg> {
    args.iter().filter(|arg| arg.literal() != Some("--") && (arg.is_operand() || arg.kind != Kind::Plain))
}

fn first(args: &[Arg]) -> Option<&str> {
    args.first().and_then(Arg::literal)
}

fn only_in_run(walker: &Walker<'_>, what: &str) -> Ruling {
    if walker.policy.is_sync() {
        return deny_but(
            "git.sync",
            format!("{what} changes the repository; sync only verifies."),
            "git status, log, diff",
        );
    }
    Ok(())
}

pub fn branch(walker: &mut Walker<'_>, args: &[Arg]) -> Ruling {
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
    if lists { Ok(()) } else { only_in_run(walker, "git branch") }
}

pub fn tag(walker: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    match first(args) {
        None if args.is_empty() => Ok(()),
        Some("-l" | "--list" | "-n") => Ok(()),
        _ => only_in_run(walker, "git tag"),
    }
}

pub fn stash(walker: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    match first(args) {
        Some("list" | "show") => Ok(()),
        _ => {
            only_in_run(walker, "git stash")?;
            unprotected(walker, args)
        }
    }
}

pub fn remote(_: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    match (first(args), args.len()) {
        (None, 0) | (Some("-v"), 1) | (Some("get-url"), 2) => Ok(()),
        _ => deny_but("git.remote", "Remotes are the user's to choose.", "git remote -v"),
    }
}

/// Reading anything; writing harmless settings of this repository.
pub fn config(walker: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    let args = match args {
        [scope, rest @ ..] if scope.literal() == Some("--local") => rest,
        args => args,
    };
    match (first(args), args) {
        (Some("--get" | "--get-all" | "--get-regexp" | "--list" | "-l" | "get" | "list"), rest) => {
            if rest[1..]
                .iter()
                .all(|arg| arg.literal().is_some_and(|text| !text.starts_with("--") || text == "--local"))
            {
                return Ok(());
            }
            deny("git.config", "That form of git config is not allowed.")
        }
        (Some(key), [_]) if !key.starts_with('-') => Ok(()),
        (Some(key), [_, value]) if is_harmless_setting(key) && value.is_operand() => {
            only_in_run(walker, "git config")
        }
        (Some(key), _) => Err(refused_setting(key)),
        (None, _) => Err(refused_setting("?")),
    }
}

pub fn reflog(_: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    match first(args) {
        Some("expire" | "delete" | "drop") => deny("git.reflog", "The reflog may not be shortened."),
        _ => Ok(()),
    }
}

pub fn worktree(walker: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    match first(args) {
        Some("list") => Ok(()),
        Some("prune") => only_in_run(walker, "git worktree"),
        Some("add") => {
            only_in_run(walker, "git worktree")?;
            operands(&args[1..]).try_for_each(|path| written(walker, path))
        }
        _ => deny("git.worktree", "That form of git worktree is not allowed."),
    }
}

fn written(walker: &mut Walker<'_>, path: &Arg) -> Ruling {
    walker.count_path()?;
    walker.may_write(path)
}

/// Paths must be written out and not protected.
pub fn unprotected(_: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    for arg in operands(args) {
        if arg.kind != Kind::Plain && arg.kind != Kind::Glob {
            return deny_but(
                "git.unknown",
                "A path that git would replace is not known.",
                "Write the path out.",
            );
        }
        if names_protected(&arg.text) {
            return deny("git.protected", format!("'{}' is protected; git may not replace it.", arg.text));
        }
    }
    Ok(())
}

/// Whether a pathspec names what steers agents or git, or may match it.
fn names_protected(text: &str) -> bool {
    const NAMES: [&str; 6] = [".autonoe", ".claude", ".codex", ".gemini", ".cursor", ".mcp.json"];
    let lower = text.to_lowercase();
    // git expands patterns itself, over dots and slashes.
    let wild = |segment: &str| segment.contains(['*', '?', '[', '\\']);
    let first = lower.split('/').find(|segment| !matches!(*segment, "" | "."));
    lower.starts_with(':')
        || first.is_some_and(wild)
        || lower.split('/').any(|segment| NAMES.contains(&segment))
}

pub fn mv(walker: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    let mut sources: Vec<&Arg> = operands(args).collect();
    let Some(target) = sources.pop() else {
        return deny("git.mv", "git mv needs a source and a destination.");
    };
    for source in &sources {
        removed(walker, source)?;
        links::judge(walker, source)?;
    }
    arrive(walker, "git.mv", &sources, target)
}

pub fn rm(walker: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    unprotected(walker, args)?;
    if args.iter().take_while(|arg| arg.literal() != Some("--")).any(|arg| arg.literal() == Some("--cached"))
    {
        return Ok(());
    }
    if !walker.policy.options.allow_destructive {
        return deny_but(
            "git.rm",
            "git rm removes files; it needs --allow-destructive.",
            "git rm --cached path",
        );
    }
    operands(args).try_for_each(|path| removed(walker, path))
}

pub fn clean(_: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    let is_dry =
        |arg: &Arg| matches!(arg.literal(), Some("-n" | "--dry-run" | "-nd" | "-dn" | "-ndx" | "-nx"));
    let forced = args.iter().any(|arg| super::options::names_one_of(arg, &["--force", "-f"]));
    if args.iter().any(is_dry) && !forced {
        return Ok(());
    }
    deny_but(
        "git.clean",
        "git clean removes files that nothing can bring back.",
        "git clean -n shows what it would remove.",
    )
}

pub fn init(walker: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    let mut rest = args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        if matches!(arg.literal(), Some("-b" | "--initial-branch")) {
            rest = rest.get(1..).unwrap_or_default();
        } else if arg.is_operand() || arg.kind != Kind::Plain {
            written(walker, arg)?;
        }
    }
    Ok(())
}

pub fn clone(walker: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    let mut rest = args;
    let mut places = Vec::new();
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        if matches!(arg.literal(), Some("-b" | "--branch" | "--depth" | "-o" | "--origin" | "-j")) {
            rest = rest.get(1..).unwrap_or_default();
        } else if arg.is_operand() || arg.kind != Kind::Plain {
            places.push(arg);
        }
    }
    match places.as_slice() {
        [url] if url.literal().is_some_and(|url| url.starts_with("https://")) => {
            let path = url.text.trim_end_matches('/');
            let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
            written(walker, &Arg::plain(path.rsplit('/').next().unwrap_or(path)))
        }
        [url, directory] if url.text.starts_with("https://") => written(walker, directory),
        _ => deny_but("git.clone", "Only https addresses may be cloned.", "git clone https://… directory"),
    }
}

/// Remotes that are configured, by name, and https.
pub fn transport(_: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    let plain = |text: &str| {
        let named = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._/-~^@{}".contains(&b));
        text.starts_with("https://") || (named && !text.starts_with(['.', '/']))
    };
    match operands(args).next() {
        Some(remote) if !remote.literal().is_some_and(plain) => deny_but(
            "git.transport",
            "Only configured remotes and https addresses are allowed.",
            "git fetch origin",
        ),
        _ => Ok(()),
    }
}

/// A message may be read from a file of the project.
pub fn commit(walker: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    for pair in args.windows(2) {
        if matches!(pair[0].literal(), Some("-F" | "--file")) {
            reads::judge(walker, &pair[1])?;
        }
    }
    args.iter().filter(|arg| arg.text.starts_with("--")).try_for_each(|arg| reads::judge_value(walker, arg))
}

pub fn submodule(walker: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    match first(args) {
        None if args.is_empty() => Ok(()),
        Some("status" | "summary") => Ok(()),
        Some("update" | "init") => {
            only_in_run(walker, "git submodule")?;
            let known = |arg: &Arg| matches!(arg.literal(), Some("--init" | "--recursive" | "--depth" | "1"));
            if args[1..].iter().all(known) {
                Ok(())
            } else {
                deny("git.submodule", "Only --init and --recursive.")
            }
        }
        _ => {
            deny_but("git.submodule", "That form of git submodule can run commands.", "git submodule status")
        }
    }
}

pub fn bisect(_: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    match first(args) {
        Some("start" | "good" | "bad" | "old" | "new" | "skip" | "reset" | "log" | "terms" | "next") => {
            Ok(())
        }
        _ => deny_but(
            "git.bisect",
            "That form of git bisect can run commands.",
            "git bisect start, good, bad, reset",
        ),
    }
}

pub fn format_patch(_: &mut Walker<'_>, args: &[Arg]) -> Ruling {
    let prints = args.iter().any(|arg| arg.literal() == Some("--stdout"));
    let writes = args.iter().any(|arg| super::options::names_one_of(arg, &["-o"]));
    if prints && !writes {
        return Ok(());
    }
    deny_but("git.format-patch", "git format-patch writes files.", "git format-patch --stdout")
}
