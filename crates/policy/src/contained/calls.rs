//! One command at the contained level: the command itself, and the commands that it runs, as far as its arguments
//! show them.

use super::command_values::{command_of_setting, is_command_variable, settings_of_parameters};
use super::git_values::git_commands;
use super::make_values::{has_too_many_functions, make_scripts, reads_makefile, recipes};
use super::runners::{self, program_name};
use super::variables::{TOO_MANY, Value};
use super::{
    ContainedWalk, MAX_CALLS, MAX_VALUE, publishing, signals, steering, text_arguments, too_much, unparsed,
};
use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::{Arg, UNKNOWN_PART, is_unknown};

/// The most arguments of a wrapper, each of which is taken for the beginning of a command.
const MAX_SCANNED: usize = 1000;

#[rustfmt::skip]
const SHELLS: [&str; 13] = [
    "sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "mksh", "rbash", "csh", "tcsh", "yash", "pwsh",
];

/// Programs that run another command. Where it begins depends on their options, so every argument may begin it, and an
/// argument with blanks may be a script.
#[rustfmt::skip]
const WRAPPERS: [&str; 157] = [
    "timeout", "gtimeout", "nice", "ionice", "nohup", "time", "env", "xargs", "sudo", "doas", "su", "runuser",
    "command", "builtin", "exec", "setsid", "stdbuf", "unbuffer", "script", "watch", "watchexec", "entr",
    "parallel", "flock", "chroot", "unshare", "nsenter", "bwrap", "firejail", "strace", "ltrace", "busybox",
    "taskset", "chrt", "caffeinate", "systemd-run", "tmux", "screen", "dotenv", "direnv", "mise", "asdf",
    "nodemon", "concurrently", "npx", "bunx", "pnpx", "uvx", "pipx", "uv", "poetry", "pdm", "rye", "hatch",
    "bundle", "dotenvx", "cross-env", "retry", "coproc", "trap", "proxychains", "ssh-agent", "nix", "nix-shell",
    "complete", "compgen", "mapfile", "readarray", "bind", "perf", "gdb", "lldb", "rr", "valgrind", "heaptrack",
    "hyperfine", "chronic", "proot", "faketime", "fakeroot", "prlimit", "setpriv", "setarch", "linux32", "linux64",
    "numactl", "choom", "eatmydata", "dbus-run-session", "xvfb-run", "tini", "dumb-init", "ccache", "sccache", "catchsegv",
    "gosu", "su-exec", "corepack", "sem", "env_parallel", "nvm", "fnm", "volta", "n", "nodenv", "pixi", "devbox", "env-cmd",
    "cross-env-shell", "just", "run-s", "run-p", "npm-run-all", "start-server-and-test", "onchange", "chokidar", "infisical",
    "aws-vault", "chamber", "envchain", "summon", "sops", "op", "doppler", "tsp", "reflex", "cargo-watch",
    "rlwrap", "dtach", "abduco", "zellij", "xterm", "sg", "pkexec", "run0", "cgexec", "trickle", "torsocks", "torify",
    "proxychains4", "authbind", "capsh", "setuidgid", "chpst", "envdir", "daemonize", "start-stop-daemon", "runcon", "lockf",
    "run-one", "cronic", "guix", "spack", "pyenv", "rbenv", "varlock", "wsl",
];

/// Programs that run their arguments as one command, without a shell.
#[rustfmt::skip]
const PLAIN_WRAPPERS: [&str; 41] = [
    "timeout", "gtimeout", "nice", "ionice", "nohup", "time", "env", "xargs", "sudo", "doas", "command", "builtin", "exec",
    "setsid", "stdbuf", "unbuffer", "strace", "ltrace", "taskset", "chrt", "caffeinate", "faketime", "xvfb-run", "eatmydata",
    "find", "fd", "fdfind", "npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "uvx", "pipx", "uv", "poetry", "pdm", "rye",
    "pipenv",
];

/// Programs that run a command in a container, and the subcommands with which they do.
#[rustfmt::skip]
const CONTAINERS: [&str; 15] = [
    "docker", "docker-compose", "podman", "podman-compose", "nerdctl", "kubectl", "oc", "devcontainer", "toolbox",
    "distrobox", "apptainer", "singularity", "lxc", "ddev", "crictl",
];
const CONTAINER_SUBCOMMANDS: [&str; 4] = ["run", "exec", "enter", "create"];

/// Subcommands of other programs that run another command.
const RUNNING_SUBCOMMANDS: [(&str, &[&str]); 20] = [
    ("rustup", &["run"]),
    ("npm", &["exec", "exe", "x", "explore"]),
    ("go", &["run"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx", "workspace", "workspaces"]),
    ("bun", &["x", "exec"]),
    ("pipenv", &["run"]),
    ("conda", &["run"]),
    ("mamba", &["run"]),
    ("micromamba", &["run"]),
    ("tox", &["exec"]),
    ("lerna", &["exec"]),
    ("nx", &["exec"]),
    ("rbenv", &["exec"]),
    ("pyenv", &["exec"]),
    ("doppler", &["run"]),
    ("op", &["run"]),
    ("git", &["submodule", "rebase", "bisect", "filter-branch"]),
    ("cargo", &["watch"]),
    ("composer", &["exec", "global"]),
];

/// The most values that are put into a command's arguments.
const MAX_VALUES: usize = 4096;

/// Agents' programs; they have options that turn their own protections off.
#[rustfmt::skip]
const AGENTS: [&str; 13] = [
    "autonoe", "claude", "claude-code", "codex", "gemini", "gemini-cli", "qwen", "qwen-code", "opencode", "opencode-ai",
    "cursor-agent", "copilot", "amp",
];

/// Interpreters that may run an agent's program.
const AGENT_INTERPRETERS: [&str; 5] = ["node", "nodejs", "bun", "deno", "tsx"];

/// Built-ins that evaluate the index in an argument such as `a[$(command)]`.
#[rustfmt::skip]
const EVALUATING: [&str; 15] = [
    "test", "[", "let", "read", "unset", "declare", "typeset", "local", "export", "readonly", "printf", "wait", "getopts",
    "mapfile", "readarray",
];

/// Those of them that set the variable in an argument.
const SETTING: [&str; 8] = ["let", "read", "declare", "typeset", "local", "export", "readonly", "printf"];

impl ContainedWalk<'_> {
    pub fn call(&mut self, argv: &[Arg]) -> RuleResult {
        self.calls += 1;
        if self.calls > MAX_CALLS || self.is_too_much.get() || self.variables.are_too_many() {
            return too_much();
        }
        let argv = self.renamed(argv);
        // The parser leaves the dashes of `time -- command`, and `$x command` may expand to the command alone.
        let is_nothing = |arg: &&Arg| arg.literal() == Some("--") || is_unknown(arg);
        let before = argv.iter().take_while(is_nothing).count();
        let Some((name, args)) = argv[before..].split_first() else { return Ok(()) };
        if name.outline.contains(TOO_MANY) || name.text.contains(TOO_MANY) {
            return too_much();
        }
        // `$PYTHON -m module`
        if before > 0 && name.text == "-m" {
            return runners::programs("python", &argv[before..])
                .into_iter()
                .try_for_each(|(program, args)| self.program(program, args));
        }
        let Some(name) = known_name(name).map(program_name) else { return Ok(()) };
        self.program(name, args)?;
        for (program, args) in runners::programs(name, args) {
            self.program(program, args)?;
            self.wrapped(program, args)?;
        }
        if matches!(name, "parallel" | "sem" | "env_parallel") {
            for call in self.parallel_calls(args) {
                self.call(&call)?;
                // It joins the words and lets a shell split them again.
                let words: Vec<&str> = call.iter().filter_map(Arg::script).collect();
                self.text(&words.join(" "))?;
            }
        }
        self.wrapped(name, args)
    }

    /// Judges the command that a program runs, which may begin at any of its arguments.
    fn wrapped(&mut self, name: &str, args: &[Arg]) -> RuleResult {
        let Some(start) = inner_command(name, args) else { return Ok(()) };
        if args.len() - start.min(args.len()) > MAX_SCANNED {
            return too_much();
        }
        let before = self.variables.clone();
        let result = self.wrapped_from(start, name, args);
        self.variables = before;
        result
    }

    fn wrapped_from(&mut self, start: usize, name: &str, args: &[Arg]) -> RuleResult {
        for (at, arg) in args.iter().enumerate().skip(start) {
            let Some(text) = arg.script() else { continue };
            let text = text.strip_prefix("--env=").unwrap_or(text);
            if let Some((variable, value)) = text.split_once('=') {
                judge_variable(variable)?;
                self.variable(variable, value)?;
                if super::loose_commands::is_name(variable) {
                    self.remember(variable, value);
                }
            }
            let rest = &args[at + 1..];
            for text in [Some(text), attached_value(name, text)].into_iter().flatten() {
                let plain = if name == "env" { unparsed::without_env_escapes(text) } else { text.into() };
                let text = plain.as_ref();
                match text.contains(char::is_whitespace) {
                    // `env -S 'git -C x' push` appends the arguments to the text's words.
                    true if name == "env" => {
                        let words = text.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
                        let words: Vec<Arg> = words.map(Arg::plain).chain(rest.iter().cloned()).collect();
                        if let [program, args @ ..] = words.as_slice() {
                            self.program(program_name(&program.text), args)?;
                        }
                        self.text(text)?;
                    }
                    true if PLAIN_WRAPPERS.contains(&name) && follows_command(&args[start..at]) => {}
                    true => self.text(text)?,
                    false => self.program(program_name(text), rest)?,
                }
            }
        }
        entry_point(name, args).map_or(Ok(()), |(program, at)| {
            (at..args.len()).try_for_each(|at| self.program(program_name(program), &args[at..]))
        })
    }

    /// The arguments with the command's name replaced by what `alias` or `hash -p` made it mean.
    fn renamed(&self, argv: &[Arg]) -> Vec<Arg> {
        let meaning = argv.first().and_then(Arg::literal).and_then(|name| self.renames.get(name));
        match meaning {
            Some(meaning) if self.may_expand(meaning.len()) => {
                meaning.split_whitespace().map(Arg::plain).chain(argv.iter().skip(1).cloned()).collect()
            }
            Some(_) | None => argv.to_vec(),
        }
    }

    /// The commands that `parallel command ::: values` runs.
    fn parallel_calls(&self, args: &[Arg]) -> Vec<Vec<Arg>> {
        let is_separator = |arg: &Arg| arg.text.starts_with(":::");
        let Some(at) = args.iter().position(is_separator) else { return Vec::new() };
        let start = args[..at].iter().position(|arg| !arg.text.starts_with('-')).unwrap_or(at);
        let values = args[at..].iter().filter(|arg| !is_separator(arg)).filter_map(Arg::literal);
        let values: Vec<&str> = values.collect();
        if values.len() > MAX_VALUES {
            self.is_too_much.set(true);
        }
        values.into_iter().take(MAX_VALUES).map(|value| self.with_input(&args[start..at], value)).collect()
    }

    /// A command with one more argument, which replaces `{}` if that occurs. Without it if that makes too much text.
    pub fn with_input(&self, command: &[Arg], input: &str) -> Vec<Arg> {
        let marks: usize = command.iter().map(|arg| arg.text.matches("{}").count()).sum();
        if !self.may_expand(input.len().saturating_mul(marks.max(1))) {
            return command.to_vec();
        }
        let replaced = command.iter().map(|arg| Arg { text: arg.text.replace("{}", input), ..arg.clone() });
        let words = input.split_whitespace().filter(|_| marks == 0);
        replaced.chain(words.map(Arg::plain)).collect()
    }

    /// Notes what a name of a command means from here on.
    fn rename(&mut self, name: &str, meaning: &str) {
        match meaning.len() <= MAX_VALUE {
            true => {
                self.renames.insert(name.to_owned(), meaning.to_owned());
            }
            false => self.is_too_much.set(true),
        }
    }

    /// Judges the value of a variable that is run as a command, or that is one of git's settings.
    pub fn variable(&mut self, name: &str, value: &str) -> RuleResult {
        if name == "GIT_CONFIG_PARAMETERS" {
            let settings = settings_of_parameters(value);
            return settings.iter().try_for_each(|command| self.text(command));
        }
        if let Some((_, number)) = name.strip_prefix("GIT_CONFIG_").and_then(|rest| rest.split_once('_')) {
            self.remember(name, value);
            let known = |part: &str| self.variables.texts(&format!("GIT_CONFIG_{part}_{number}"));
            let (keys, values) = (known("KEY"), known("VALUE"));
            let settings = keys.iter().flat_map(|key| values.iter().map(move |value| (key, value)));
            let commands: Vec<String> =
                settings.filter_map(|(key, value)| command_of_setting(key, value)).collect();
            commands.iter().try_for_each(|command| self.text(command))?;
        }
        if name.ends_with("MAKEFLAGS") {
            let flags = value.find("--eval").map_or(value, |at| &value[at..]);
            return make_scripts(&[Arg::plain(flags)]).iter().try_for_each(|script| self.text(script));
        }
        match is_command_variable(name) {
            true => self.text(value.trim_start_matches('!')),
            false => Ok(()),
        }
    }

    /// Judges a built-in that evaluates its arguments, and notes what it sets.
    fn builtin(&mut self, name: &str, args: &[Arg]) -> RuleResult {
        let texts = || args.iter().filter_map(Arg::literal);
        if SETTING.contains(&name) {
            texts().map(variable_of).try_for_each(judge_variable)?;
        }
        match name {
            "unset" => texts().for_each(|name| self.variables.set(name, vec![Value::Unset])),
            "read" | "mapfile" | "readarray" | "printf" => self.read_input(name, args),
            "let" => {
                for (name, value) in texts().filter_map(|text| text.split_once('=')) {
                    let value =
                        if value.contains("PPID") { Value::text(signals::PARENT) } else { Value::unknown() };
                    self.variables.set(name.trim(), vec![value]);
                }
            }
            _ => {}
        }
        texts().try_for_each(|text| self.subscript(text))
    }

    fn program(&mut self, name: &str, args: &[Arg]) -> RuleResult {
        if appends_input(name) && !self.input.is_empty() {
            self.with_each_input(|walk, text| {
                walk.call(&walk.with_input(&[&[Arg::plain(name)], args].concat(), text.trim()))
            })?;
        }
        let known_remotes = if name == "git" { self.with_local_remotes(args) } else { None };
        publishing::judge(self.options, name, known_remotes.as_deref().unwrap_or(args))?;
        signals::judge(self.options, name, args)?;
        judge_switches(name, args)?;
        steering::judge(self.options, name, args)?;
        text_arguments::commands(name, args).iter().try_for_each(|command| self.text(command))?;
        self.with_each_input(|walk, text| {
            let commands = text_arguments::commands_of_input(name, text);
            commands.iter().try_for_each(|command| walk.text(command))
        })?;
        match name {
            "eval" => {
                let words: Vec<&str> = args.iter().filter_map(Arg::script).collect();
                self.text(&words.join(" "))
            }
            "alias" => {
                let texts = args.iter().filter_map(Arg::script);
                for (name, meaning) in texts.filter_map(|text| text.split_once('=')) {
                    self.rename(name, meaning);
                    self.text(meaning)?;
                }
                Ok(())
            }
            "hash" => {
                if let [option, path, name, ..] = args
                    && option.literal() == Some("-p")
                    && let (Some(path), Some(name)) = (path.literal(), name.literal())
                {
                    self.rename(name, path);
                }
                Ok(())
            }
            "make" | "gmake" | "bmake" if has_too_many_functions(args) => too_much(),
            "make" | "gmake" | "bmake" => {
                if reads_makefile(args) {
                    self.with_each_input(|walk, text| walk.text(&recipes(text)))?;
                }
                make_scripts(args).iter().try_for_each(|script| self.text(script))
            }
            "at" | "batch" => self.with_each_input(Self::text),
            "git" => {
                self.note_remotes(args);
                let commands = git_commands(args, &|name| self.variables.texts(name));
                commands.iter().try_for_each(|command| self.text(command))
            }
            "set" => {
                self.set(args);
                Ok(())
            }
            "shift" => {
                self.shift(args);
                Ok(())
            }
            "source" | "." if reads_input(args) => self.with_each_input(Self::text),
            builtin if EVALUATING.contains(&builtin) => self.builtin(builtin, args),
            shell if SHELLS.contains(&shell) => match script_of(args) {
                Some((script, [zero, parameters @ ..])) => {
                    let before = self.variables.clone();
                    self.remember("0", zero.script().unwrap_or_default());
                    let result = self.with_parameters(parameters, |walk| walk.text(script));
                    self.variables.restore("0", &before);
                    result
                }
                Some((script, [])) => self.text(script),
                None if args.iter().all(|arg| arg.text.starts_with('-')) || reads_input(args) => {
                    self.with_each_input(Self::text)
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// Whether the first argument is the input.
fn reads_input(args: &[Arg]) -> bool {
    const INPUTS: [&str; 4] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"];
    args.first().and_then(Arg::literal).is_some_and(|file| INPUTS.contains(&file))
}

/// A program's name, of which the directory may not be known.
fn known_name(arg: &Arg) -> Option<&str> {
    let in_directory = || arg.outline.rsplit_once('/').map(|(_, name)| name);
    let name = arg.literal().or_else(in_directory)?;
    (!name.is_empty() && !name.contains(UNKNOWN_PART)).then_some(name)
}

/// Whether a program runs a command with what it reads as arguments.
pub fn appends_input(name: &str) -> bool {
    name.ends_with("xargs") || name.ends_with("parallel")
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
    let is_agent = AGENTS.contains(&name);
    if !is_agent && !AGENT_INTERPRETERS.contains(&name) {
        return Ok(());
    }
    let is_switch = |at: &usize| {
        let text = args[*at].text.as_str();
        let next = args.get(at + 1).map_or("", |arg| arg.text.as_str());
        let (option, value) = text.split_once('=').unwrap_or((text, next));
        let is_unsafe_mode = matches!(
            (option, value),
            ("--permission-mode", "bypassPermissions") | ("--approval-mode", "yolo")
        );
        text.starts_with("--dangerously")
            || text.starts_with("--allow-dangerously")
            || (is_agent && (is_unsafe_mode || text.contains("danger-full-access")))
            || (is_agent && matches!(option, "--no-sandbox" | "--in-place" | "--yolo" | "--allow-all-tools"))
            || (matches!(name, "gemini" | "gemini-cli" | "qwen" | "qwen-code") && text == "-y")
    };
    let switch = (0..args.len()).find(is_switch).map(|at| &args[at]);
    match switch {
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
        name if WRAPPERS.contains(&name) || name.starts_with("ld-linux") || name.starts_with("ld-musl") => {
            Some(0)
        }
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

/// Whether the command of a wrapper is among its arguments so far, and takes what follows for something else than a command.
fn follows_command(before: &[Arg]) -> bool {
    let mut is_value = false;
    let mut has_command = false;
    for text in before.iter().map(|arg| arg.literal().unwrap_or("-")) {
        let name = program_name(text);
        let is_number = text.starts_with(|first: char| first.is_ascii_digit());
        if matches!(text, "-c" | "--call" | "--shell-mode")
            || WRAPPERS.contains(&name)
            || SHELLS.contains(&name)
        {
            return false;
        }
        if text.starts_with('-') {
            is_value = true;
        } else if !std::mem::take(&mut is_value) && !is_number && !text.contains('=') {
            has_command = true;
        }
    }
    has_command
}

/// The text after a shell's `-c`, and what follows it: a name and the positional parameters.
fn script_of(args: &[Arg]) -> Option<(&str, &[Arg])> {
    let is_command = |text: &str| {
        text.starts_with('-') && !text.starts_with("--") && text.contains('c')
            || text.eq_ignore_ascii_case("-command")
    };
    let at = args.iter().position(|arg| arg.literal().is_some_and(is_command))?;
    let rest = &args[at + 1..];
    let at = rest.iter().position(|arg| arg.script().is_some_and(|text| !text.starts_with(['-', '+'])))?;
    Some((rest[at].script()?, &rest[at + 1..]))
}

/// The variable that an argument such as `name=value` sets.
fn variable_of(text: &str) -> &str {
    text.split_once('=').map_or(text, |(name, _)| name)
}

/// The value attached to an option of a wrapper: `--split-string=git push`, `-c'git push'`, and `-iS'git push'` of env.
fn attached_value<'a>(wrapper: &str, text: &'a str) -> Option<&'a str> {
    let value = match text.strip_prefix("--") {
        Some(long) => long.split_once('=')?.1,
        None => {
            let letters = text.strip_prefix('-')?;
            match letters.find('S').filter(|_| wrapper == "env") {
                Some(at) => &letters[at + 1..],
                None => letters.get(1..)?,
            }
        }
    };
    (!value.is_empty()).then_some(value)
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
