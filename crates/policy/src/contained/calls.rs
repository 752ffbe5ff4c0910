//! One command at the contained level: the command itself, and the commands that it runs, as far as its arguments
//! show them.

use super::command_values::{command_of_setting, is_command_variable};
use super::{ContainedWalk, publishing, signals};
use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::Arg;

/// The most arguments of a wrapper that are taken for the beginning of a command.
const MAX_SCANNED: usize = 1000;

const SHELLS: [&str; 8] = ["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "mksh"];

/// Programs that run another command. Where it begins depends on their options, so every argument may begin it, and an
/// argument with blanks may be a script.
#[rustfmt::skip]
const WRAPPERS: [&str; 69] = [
    "timeout", "gtimeout", "nice", "ionice", "nohup", "time", "env", "xargs", "sudo", "doas", "su", "runuser",
    "command", "builtin", "exec", "setsid", "stdbuf", "unbuffer", "script", "watch", "watchexec", "entr",
    "parallel", "flock", "chroot", "unshare", "nsenter", "bwrap", "firejail", "strace", "ltrace", "busybox",
    "taskset", "chrt", "caffeinate", "systemd-run", "tmux", "screen", "dotenv", "direnv", "mise", "asdf",
    "nodemon", "concurrently", "npx", "bunx", "pnpx", "uvx", "pipx", "uv", "poetry", "pdm", "rye", "hatch",
    "bundle", "dotenvx", "cross-env", "retry", "coproc", "trap", "proxychains", "ssh-agent", "nix", "nix-shell",
    "complete", "compgen", "mapfile", "readarray", "bind",
];

/// Programs that run a command in a container, and the subcommands with which they do.
#[rustfmt::skip]
const CONTAINERS: [&str; 15] = [
    "docker", "docker-compose", "podman", "podman-compose", "nerdctl", "kubectl", "oc", "devcontainer", "toolbox",
    "distrobox", "apptainer", "singularity", "lxc", "ddev", "crictl",
];
const CONTAINER_SUBCOMMANDS: [&str; 4] = ["run", "exec", "enter", "create"];

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
#[rustfmt::skip]
const AGENTS: [&str; 13] = [
    "autonoe", "claude", "claude-code", "codex", "gemini", "gemini-cli", "qwen", "qwen-code", "opencode", "opencode-ai",
    "cursor-agent", "copilot", "amp",
];

impl ContainedWalk<'_> {
    pub fn call(&mut self, argv: &[Arg]) -> RuleResult {
        let Some((name, args)) = argv.split_first() else { return Ok(()) };
        let Some(name) = name.literal().map(base_name) else { return Ok(()) };
        self.program(name, args)?;
        let Some(start) = inner_command(name, args) else { return Ok(()) };
        for (at, arg) in args.iter().enumerate().skip(start).take(MAX_SCANNED) {
            let Some(text) = arg.literal() else { continue };
            let text = text.strip_prefix("--env=").unwrap_or(text);
            if let Some((variable, value)) = text.split_once('=') {
                judge_variable(variable)?;
                self.variable(variable, value)?;
            }
            match text.contains(char::is_whitespace) {
                true => self.text(text)?,
                false => self.program(base_name(text), &args[at + 1..])?,
            }
        }
        entry_point(name, args).map_or(Ok(()), |(program, at)| {
            (at..args.len())
                .take(MAX_SCANNED)
                .try_for_each(|at| self.program(base_name(program), &args[at..]))
        })
    }

    /// Judges the value of a variable that is run as a command.
    pub fn variable(&mut self, name: &str, value: &str) -> RuleResult {
        match is_command_variable(name) {
            true => self.text(value.trim_start_matches('!')),
            false => Ok(()),
        }
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
            "git" => git_commands(args).iter().try_for_each(|command| self.text(command)),
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
        name if CONTAINERS.contains(&name) => after(&CONTAINER_SUBCOMMANDS),
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

/// The commands of aliases and other settings that `git -c KEY=VALUE` and `git config KEY VALUE` define.
fn git_commands(args: &[Arg]) -> Vec<String> {
    let literals: Vec<&str> = args.iter().take(64).map(|arg| arg.literal().unwrap_or_default()).collect();
    let attached = literals.iter().filter_map(|text| text.split_once('='));
    let following = literals.windows(2).map(|pair| (pair[0], pair[1])).filter(|(key, _)| !key.contains('='));
    attached.chain(following).filter_map(|(key, value)| command_of_setting(key, value)).collect()
}

/// The program that a container starts instead of its own, and where its arguments may begin.
fn entry_point<'a>(name: &str, args: &'a [Arg]) -> Option<(&'a str, usize)> {
    let at = args.iter().position(|arg| arg.text.starts_with("--entrypoint"))?;
    let program = match args[at].literal()?.split_once('=') {
        Some((_, program)) => (program, at + 1),
        None => (args.get(at + 1)?.literal()?, at + 2),
    };
    CONTAINERS.contains(&name).then_some(program)
}

/// The name of a program without its directory, or of a package without its scope and version.
fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    match name.split_once('@') {
        Some((package, _)) if !package.is_empty() => package,
        _ => name,
    }
}
