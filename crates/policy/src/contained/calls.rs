//! One command at the contained level: the command itself, and the commands that it runs, as far as its arguments
//! show them.

use super::{ContainedWalk, publishing, signals};
use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::Arg;

/// The most arguments of a wrapper that are taken for the beginning of a command.
const MAX_SCANNED: usize = 1000;

const SHELLS: [&str; 8] = ["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "mksh"];

/// Programs that run another command. Where it begins depends on their options, so every argument may begin it, and an
/// argument with blanks may be a script.
#[rustfmt::skip]
const WRAPPERS: [&str; 64] = [
    "timeout", "gtimeout", "nice", "ionice", "nohup", "time", "env", "xargs", "sudo", "doas", "su", "runuser",
    "command", "builtin", "exec", "setsid", "stdbuf", "unbuffer", "script", "watch", "watchexec", "entr",
    "parallel", "flock", "chroot", "unshare", "nsenter", "bwrap", "firejail", "strace", "ltrace", "busybox",
    "taskset", "chrt", "caffeinate", "systemd-run", "tmux", "screen", "dotenv", "direnv", "mise", "asdf",
    "nodemon", "concurrently", "npx", "bunx", "pnpx", "uvx", "pipx", "uv", "poetry", "pdm", "rye", "hatch",
    "bundle", "dotenvx", "cross-env", "retry", "coproc", "trap", "proxychains", "ssh-agent", "nix", "nix-shell",
];

/// Subcommands of other programs that run another command.
const RUNNING_SUBCOMMANDS: [(&str, &[&str]); 6] = [
    ("npm", &["exec", "x"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx", "workspace", "workspaces"]),
    ("bun", &["x"]),
    ("git", &["submodule", "rebase", "bisect", "filter-branch"]),
    ("cargo", &["watch"]),
];

/// Agents' programs; they have options that turn their own protections off.
const AGENTS: [&str; 9] =
    ["autonoe", "claude", "codex", "gemini", "qwen", "opencode", "cursor-agent", "copilot", "amp"];

impl ContainedWalk<'_> {
    pub fn call(&mut self, argv: &[Arg]) -> RuleResult {
        let Some((name, args)) = argv.split_first() else { return Ok(()) };
        let Some(name) = name.literal().map(base_name) else { return Ok(()) };
        self.program(name, args)?;
        let Some(start) = inner_command(name, args) else { return Ok(()) };
        for (at, arg) in args.iter().enumerate().skip(start).take(MAX_SCANNED) {
            let Some(text) = arg.literal() else { continue };
            if text.contains(char::is_whitespace) {
                self.text(text)?;
            } else {
                text.split_once('=').map_or(Ok(()), |(variable, _)| judge_variable(variable))?;
                self.program(base_name(text), &args[at + 1..])?;
            }
        }
        Ok(())
    }

    fn program(&mut self, name: &str, args: &[Arg]) -> RuleResult {
        publishing::judge(self.options, name, args)?;
        signals::judge(self.options, name, args)?;
        judge_switches(name, args)?;
        match name {
            "eval" => {
                let words: Vec<&str> = args.iter().filter_map(Arg::literal).collect();
                self.text(&words.join(" "))
            }
            "alias" => {
                let values = args.iter().filter_map(|arg| arg.literal()?.split_once('='));
                values.map(|(_, value)| value).try_for_each(|value| self.text(value))
            }
            "git" => git_aliases(args).iter().try_for_each(|alias| self.text(alias)),
            shell if SHELLS.contains(&shell) => script_of(args).map_or(Ok(()), |script| self.text(script)),
            _ => Ok(()),
        }
    }
}

/// A shell without a script: it runs what it reads.
pub fn is_shell_on_input(argv: &[Arg]) -> bool {
    let Some((name, args)) = argv.split_first() else { return false };
    let is_shell = name.literal().is_some_and(|name| SHELLS.contains(&base_name(name)));
    is_shell && script_of(args).is_none() && args.iter().all(|arg| arg.text.starts_with('-'))
}

pub fn judge_variable(name: &str) -> RuleResult {
    if name == "AUTONOE_NO_SANDBOX" {
        return deny(
            "contained.sandbox",
            format!("Setting {name} is not allowed: it turns the sandbox off."),
        );
    }
    Ok(())
}

fn judge_switches(name: &str, args: &[Arg]) -> RuleResult {
    if !AGENTS.contains(&name) {
        return Ok(());
    }
    let is_switch = |arg: &&Arg| {
        let text = arg.text.as_str();
        text.starts_with("--dangerously")
            || matches!(text, "--no-sandbox" | "--yolo" | "--approval-mode=yolo" | "--allow-all-tools")
            || text.contains("danger-full-access")
    };
    match args.iter().find(is_switch) {
        Some(switch) => deny_with_hint(
            "contained.sandbox",
            format!("'{name} {}' turns protections off.", switch.text),
            "Leave the option out.",
        ),
        None => Ok(()),
    }
}

/// Where the command that a program runs may begin in its arguments; `None` if it runs none.
fn inner_command(name: &str, args: &[Arg]) -> Option<usize> {
    let after = |options: &[&str]| {
        let at = args.iter().position(|arg| arg.literal().is_some_and(|text| options.contains(&text)));
        at.map(|at| at + 1)
    };
    match name {
        "find" => after(&["-exec", "-execdir", "-ok", "-okdir"]),
        "fd" | "fdfind" => after(&["-x", "-X", "--exec", "--exec-batch"]),
        "python" | "python3" => after(&["-m"]),
        name if WRAPPERS.contains(&name) => Some(0),
        name => {
            let subcommand =
                args.iter().find_map(|arg| arg.literal().filter(|text| !text.starts_with('-')))?;
            let runs = |(program, subcommands): &(&str, &[&str])| {
                *program == name && subcommands.contains(&subcommand)
            };
            RUNNING_SUBCOMMANDS.iter().any(runs).then_some(0)
        }
    }
}

/// The text after a shell's `-c`.
fn script_of(args: &[Arg]) -> Option<&str> {
    let is_command = |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains('c');
    let at = args.iter().position(|arg| arg.literal().is_some_and(is_command))?;
    args[at + 1..].iter().find_map(|arg| arg.literal().filter(|text| !text.starts_with(['-', '+'])))
}

/// The commands of aliases that `git -c alias.x=…` and `git config alias.x …` define.
fn git_aliases(args: &[Arg]) -> Vec<String> {
    let command = |value: &str| match value.strip_prefix('!') {
        Some(script) => script.to_owned(),
        None => format!("git {value}"),
    };
    let is_alias = |text: &str| text.to_lowercase().starts_with("alias.");
    let literals: Vec<&str> = args.iter().take(64).map(|arg| arg.literal().unwrap_or_default()).collect();
    let attached = literals.iter().filter(|text| is_alias(text)).filter_map(|text| text.split_once('='));
    let following = literals.windows(2).filter(|pair| is_alias(pair[0]) && !pair[0].contains('='));
    attached.map(|(_, value)| command(value)).chain(following.map(|pair| command(pair[1]))).collect()
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
