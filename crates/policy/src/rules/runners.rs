//! Programs of the profiles that run another program, as `npx`, `uv run` and `bundle exec` do: what has a rule of its own is judged by that
//! rule. The others are programs of the profiles too, or of packages.

use super::rule::CommandCall;
use super::scope::CommandScope;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::{Arg, ArgKind};

/// Programs that run another one, with the words of which one must be before it; none if there need be none.
const RUNNERS: [(&[&str], &[&str]); 15] = [
    (&["npx", "bunx", "pnpx", "corepack", "concurrently", "nodemon"], &[]),
    (&["cross-env", "cross-env-shell", "dotenv", "dotenvx", "env-cmd"], &[]),
    (&["npm"], &["exec", "exe", "x", "explore"]),
    (&["pnpm"], &["exec", "dlx", "recursive", "multi", "m"]),
    (&["yarn"], &["exec", "dlx", "run", "workspace", "workspaces", "foreach"]),
    (&["bun"], &["x", "exec", "run"]),
    (&["uv", "pdm", "poetry", "hatch", "rye", "pipenv", "pipx"], &["run", "tool"]),
    (&["uvx"], &[]),
    (&["conda", "mamba", "micromamba", "rustup"], &["run"]),
    (&["bundle", "bundler"], &["exec", "exe", "ex", "e"]),
    (&["composer"], &["exec", "global"]),
    (&["cargo"], &["watch"]),
    (&["cargo-watch"], &[]),
    (&["tox", "nx", "lerna"], &["exec"]),
    (&["rbenv", "pyenv", "asdf", "mise"], &["exec"]),
];

/// Words that the name of something else than a program follows.
const NAMING_WORDS: [&str; 3] = ["workspace", "foreach", "explore"];

/// Options of runners that have no value.
const FLAGS: [&str; 14] = [
    "--frozen",
    "--locked",
    "--no",
    "--no-install",
    "--no-sync",
    "--offline",
    "--prefer-offline",
    "--quiet",
    "--silent",
    "--yes",
    "-A",
    "-q",
    "-s",
    "-y",
];

/// Runners that take the text of a command for a shell, as all their arguments or as the value of options with these names.
const SHELL_TEXTS: [(&[&str], &[&str]); 4] = [
    (&["npx", "npm", "pnpx"], &["c", "call"]),
    (&["concurrently"], &[]),
    (&["nodemon"], &["x", "exec"]),
    (&["cargo-watch", "cargo"], &["s", "shell", "x", "exec"]),
];

/// Programs that have no rule and belong to no package: they do what the rules deny.
#[rustfmt::skip]
const WITHOUT_RULE: [&str; 34] = [
    "at", "batch", "chgrp", "chown", "chroot", "crontab", "dd", "doas", "fish", "install", "ksh", "link", "ln", "mkfifo", "mknod",
    "mount", "nc", "ncat", "perl", "rmdir", "rsync", "scp", "setsid", "sftp", "shred", "socat", "ssh", "su", "sudo", "truncate", "umount",
    "unlink", "unshare", "wget",
];

/// How deep runners may run each other.
const MAX_DEPTH: usize = 8;

pub fn judge(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    judge_within(scope, call.name, call.args, MAX_DEPTH)
}

fn judge_within(scope: &mut CommandScope<'_>, name: &str, args: &[Arg], depth: usize) -> RuleResult {
    let Some((_, words)) = RUNNERS.iter().find(|(names, _)| names.contains(&name)) else { return Ok(()) };
    let Some(starts) = Starts::of(name, words, args) else { return Ok(()) };
    if depth == 0 {
        return deny_with_hint(
            "command.wrapped",
            "Too many programs run each other.",
            "Run the program directly.",
        );
    }
    let own = starts.certain.map_or(args, |at| &args[..at]);
    let texts: Vec<&str> = shell_texts(name, args, own).collect();
    let is_unknown_text = |at: usize| {
        let arg = &own[at];
        let before = at.checked_sub(1).and_then(|before| own[before].literal());
        let attached = arg.text.split_once('=').map(|(option, _)| option);
        arg.literal().is_none() && before.into_iter().chain(attached).any(|option| takes_text(name, option))
    };
    let are_known = !(0..own.len()).any(is_unknown_text);
    if !are_known {
        return deny_with_hint(
            "command.dynamic",
            "The text that a shell runs is not known before the command runs.",
            "Write the command itself.",
        );
    }
    let shows = |arg: &Arg| matches!(arg.literal(), Some("-v" | "--version" | "-h" | "--help"));
    if ["npx", "npm", "pnpx"].contains(&name)
        && starts.all.is_empty()
        && texts.is_empty()
        && !args.iter().any(shows)
    {
        return deny_with_hint(
            "command.wrapped",
            format!("'{name}' without a program runs what it reads."),
            "Name the program.",
        );
    }
    scope.scripts.extend(texts.into_iter().map(str::to_owned));
    for at in starts.all {
        let argv = args.get(at..).unwrap_or_default();
        let Some((program, rest)) = argv.split_first() else { continue };
        let values = if program.may_be.is_empty() { std::slice::from_ref(program) } else { &program.may_be };
        for program in values.iter().filter_map(Arg::literal) {
            if program.contains(char::is_whitespace) && starts.certain == Some(at) {
                scope.scripts.push(program.to_owned());
            }
            let program = program.rsplit('/').next().unwrap_or(program);
            // Only a shell has built-ins.
            let rule = super::find(program).filter(|rule| !rule.name.starts_with("builtin"));
            match rule.is_some() || WITHOUT_RULE.contains(&program) {
                true => scope.judge_wrapped(argv)?,
                false => judge_within(scope, program, rest, depth - 1)?,
            }
        }
    }
    Ok(())
}

/// Where the program may begin.
struct Starts {
    /// The first word that is no option, and each that may be the value of one.
    all: Vec<usize>,
    /// The one that is no value of an option.
    certain: Option<usize>,
}

impl Starts {
    /// `None` if none of the words is there.
    fn of(name: &str, words: &[&str], args: &[Arg]) -> Option<Self> {
        let mut starts = Self { all: Vec::new(), certain: None };
        let mut runs = words.is_empty();
        let mut runs_one = false;
        let mut may_be_value = false;
        for (at, arg) in args.iter().enumerate() {
            let text = arg.text.as_str();
            if text == "--" {
                starts.all.extend(Some(at + 1).filter(|_| runs));
                may_be_value = false;
            } else if text.starts_with(['-', '+']) {
                may_be_value = text.starts_with('-') && !text.contains('=') && !FLAGS.contains(&text);
            } else if words.contains(&text) && !runs_one {
                runs = true;
                // The next word is the program, whatever it is called.
                runs_one = !may_be_value && ["npm", "bun"].contains(&name);
                may_be_value = NAMING_WORDS.contains(&text) || name == "rustup";
            } else if matches!(text, "true" | "false") {
                // An option without a value may have one.
                may_be_value = false;
            } else if !text.contains('=') || text.contains(char::is_whitespace) {
                starts.all.extend(Some(at).filter(|_| runs));
                if !may_be_value && arg.kind != ArgKind::Several {
                    starts.certain = Some(at);
                    break;
                }
                may_be_value = false;
            }
        }
        runs.then_some(starts)
    }
}

/// Whether an option of a runner has the text of a command for a shell as its value: also in a cluster, abbreviated, and with one dash.
fn takes_text(name: &str, option: &str) -> bool {
    let options =
        SHELL_TEXTS.iter().find(|(runners, _)| runners.contains(&name)).map(|(_, options)| *options);
    let (Some(options), true) = (options, option.starts_with('-')) else { return false };
    let plain = option.trim_start_matches('-');
    let is_cluster =
        !option.starts_with("--") && options.iter().any(|name| name.len() == 1 && plain.ends_with(name));
    is_cluster || (!plain.is_empty() && options.iter().any(|name| name.starts_with(plain)))
}

/// The arguments that a runner gives to a shell. `own` are those before the program.
fn shell_texts<'a>(name: &'a str, args: &'a [Arg], own: &'a [Arg]) -> impl Iterator<Item = &'a str> {
    let takes_all =
        SHELL_TEXTS.iter().any(|(runners, options)| runners.contains(&name) && options.is_empty());
    let args = if takes_all { args } else { own };
    let texts = args.iter().enumerate().filter_map(|(at, arg)| arg.literal().map(|text| (at, text)));
    texts.filter_map(move |(at, text)| {
        let attached =
            text.split_once('=').filter(|(option, _)| takes_text(name, option)).map(|(_, value)| value);
        let before = at.checked_sub(1).and_then(|before| args[before].literal()).unwrap_or_default();
        let is_text = if takes_all { text.contains(char::is_whitespace) } else { takes_text(name, before) };
        attached.or_else(|| is_text.then_some(text))
    })
}
