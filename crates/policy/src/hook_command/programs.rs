//! Programs by what they run: a script that their first argument names, what files of the project say, another command, or nothing.

/// Programs that run the script that is their first argument.
#[rustfmt::skip]
const INTERPRETERS: [&str; 25] = [
    "ash", "bash", "bun", "busybox", "dash", "deno", "fish", "java", "ksh", "lua", "node", "nodejs", "perl", "php",
    "pwsh", "pypy", "python", "Rscript", "ruby", "sh", "tclsh", "ts-node", "tsx", "zsh", "osascript",
];

/// The interpreters of shell commands.
const SHELLS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// Options of interpreters that name nothing to run.
const SHELL_FLAGS: &str = "aefhkmnpuvxBCEHPT";
const PYTHON_FLAGS: &str = "BEIOPSqsu";

/// Programs that run what files of the project say, such as a Makefile or `package.json`, or what they find or read.
#[rustfmt::skip]
const RUNNERS: [&str; 30] = [
    "bazel", "bunx", "bundle", "cargo", "composer", "docker", "dotnet", "find", "go", "gradle", "just", "lefthook", "make", "mise",
    "mix", "mvn", "npm", "npx", "parallel", "pipenv", "pnpm", "poetry", "pre-commit", "rake", "task", "tox", "uv", "uvx", "xargs", "yarn",
];

/// Programs that run the command in their arguments.
#[rustfmt::skip]
const WRAPPERS: [&str; 14] = [
    "builtin", "chroot", "command", "doas", "env", "exec", "flock", "ionice", "nice", "nohup", "setsid",
    "stdbuf", "sudo", "timeout",
];

/// Programs that run nothing, whatever their arguments are.
#[rustfmt::skip]
const PLAIN: [&str; 43] = [
    ":", "[", "basename", "break", "cat", "continue", "cp", "curl", "cut", "date", "declare", "dirname", "echo", "egrep",
    "exit", "export", "false", "fgrep", "grep", "head", "jq", "local", "ls", "mkdir", "mv", "printf", "pwd", "read",
    "readlink", "readonly", "realpath", "return", "rm", "shift", "sleep", "sort", "tail", "tee", "test", "touch", "true",
    "typeset", "wc",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    Interpreter,
    Runner,
    Wrapper,
    Plain,
    /// One that is installed on the machine.
    Other,
}

impl ProgramKind {
    pub fn of(program: &str) -> Self {
        let name = base_name(program);
        let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is_in = |names: &[&str]| names.contains(&name) || names.contains(&unversioned);
        match () {
            () if is_in(&INTERPRETERS) => Self::Interpreter,
            () if is_in(&RUNNERS) => Self::Runner,
            () if WRAPPERS.contains(&name) => Self::Wrapper,
            () if PLAIN.contains(&name) => Self::Plain,
            () => Self::Other,
        }
    }
}

pub fn is_shell(program: &str) -> bool {
    SHELLS.contains(&base_name(program))
}

/// Whether an option of a shell says that the next argument is a command.
pub fn announces_command(option: &str) -> bool {
    option
        .strip_prefix('-')
        .and_then(|flags| flags.strip_suffix('c'))
        .is_some_and(|flags| flags.chars().all(|flag| SHELL_FLAGS.contains(flag) || flag == 'l'))
}

/// Whether an option of an interpreter neither has a value nor names anything to run.
pub fn is_flag(program: &str, option: &str) -> bool {
    let flags = match program {
        program if is_shell(program) => SHELL_FLAGS,
        program if base_name(program).starts_with("python") => PYTHON_FLAGS,
        _ => return false,
    };
    let letters = option.strip_prefix('-').unwrap_or_default();
    !letters.is_empty() && letters.chars().all(|letter| flags.contains(letter))
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
