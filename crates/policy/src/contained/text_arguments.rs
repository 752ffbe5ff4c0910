//! Text in a program's arguments that the program runs as a command: values of options, and calls in the code of `awk`,
//! `sed` and interpreters.

use std::sync::LazyLock;

use regex::Regex;

use crate::words::Arg;

/// Programs, and their options whose value is a command. A value may be attached, after `=` or without.
#[rustfmt::skip]
const COMMAND_OPTIONS: [(&[&str], &[&str]); 14] = [
    (&["tar", "gtar", "bsdtar"], &[
        "--to-command", "--checkpoint-action=exec", "--checkpoint-action", "-I", "--use-compress-program", "--use-compress-prog",
        "--rsh-command", "-F", "--info-script", "--new-volume-script",
    ]),
    (&["split", "gsplit"], &["--filter"]),
    (&["sort", "gsort"], &["--compress-program", "--compress-prog"]),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["scp", "sftp"], &["-S"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["man"], &["-P", "--pager"]),
    (&["rg"], &["--pre", "--hostname-bin"]),
    (&["wget"], &["--use-askpass"]),
    (&["vim", "vi", "nvim", "ex", "view"], &["-c", "--cmd", "+"]),
    (&["sqlite3", "sqlite"], &["-cmd", "--cmd"]),
    (&["psql", "mysql", "mariadb"], &["-c", "--command", "-e", "--execute", "--pager"]),
    (&["docker", "podman", "kubectl"], &["--health-cmd"]),
    (&["go"], &["-exec", "--exec", "-toolexec", "--toolexec", "-vettool"]),
];

/// Programs whose `-o name=command` runs a command.
const SSH: [&str; 4] = ["ssh", "scp", "sftp", "sshfs"];
const SSH_COMMANDS: [&str; 4] = ["proxycommand", "localcommand", "remotecommand", "knownhostscommand"];

const AWKS: [&str; 5] = ["awk", "gawk", "mawk", "nawk", "busybox"];
#[rustfmt::skip]
const INTERPRETERS: [&str; 12] = [
    "python", "python2", "python3", "pypy3", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua",
];

/// The commands that a program runs because of its arguments, as text.
pub fn commands(name: &str, args: &[Arg]) -> Vec<String> {
    let texts = || args.iter().filter_map(Arg::script);
    let mut found: Vec<String> = Vec::new();
    for (_, options) in COMMAND_OPTIONS.iter().filter(|(programs, _)| programs.contains(&name)) {
        found.extend(values_of(args, options).map(|value| plain_command(value).to_owned()));
    }
    if SSH.contains(&name) {
        found.extend(values_of(args, &["-o"]).filter_map(ssh_command));
    }
    match name {
        "sed" | "gsed" => found.extend(texts().flat_map(commands_of_sed)),
        "cargo" | "cargo-watch" => {
            found.extend(values_of(args, &["-x", "--exec"]).map(|value| format!("cargo {value}")));
        }
        // `git fetch 'ext::command'`
        "git" => found.extend(texts().filter_map(|text| text.strip_prefix("ext::")).map(str::to_owned)),
        name if AWKS.contains(&name) => found.extend(texts().flat_map(commands_of_awk)),
        name if INTERPRETERS.contains(&name) => {
            found.extend(texts().flat_map(|code| commands_of_code(name, code)))
        }
        _ => {}
    }
    found
}

/// The commands in code that a program reads from its input.
pub fn commands_of_input(name: &str, code: &str) -> Vec<String> {
    if INTERPRETERS.contains(&name) { commands_of_code(name, code) } else { Vec::new() }
}

/// The values of these options, attached or in the next argument.
fn values_of<'a>(args: &'a [Arg], options: &'a [&str]) -> impl Iterator<Item = &'a str> {
    args.iter().enumerate().filter_map(move |(at, arg)| {
        let text = arg.script()?;
        if options.contains(&text) {
            return args.get(at + 1)?.script();
        }
        let attached = |option: &&&str| match option.starts_with("--") {
            true => text.strip_prefix(**option)?.strip_prefix('='),
            false => text.strip_prefix(**option),
        };
        options.iter().find_map(|option| attached(&option))
    })
}

/// A command without what some programs write before it: `exec=`, `!` of editors, `\!` and `.shell` of databases.
fn plain_command(value: &str) -> &str {
    let value = value.trim_start_matches(['\\', '!', ':']);
    ["exec=", ".shell ", ".system "].iter().find_map(|start| value.strip_prefix(start)).unwrap_or(value)
}

/// The command of `ProxyCommand=…` and its like.
fn ssh_command(setting: &str) -> Option<String> {
    let (name, command) = setting.trim().split_once(['=', ' '])?;
    SSH_COMMANDS.contains(&name.trim().to_lowercase().as_str()).then(|| command.to_owned())
}

/// `1e git push`, and `s/x/git push/e`.
fn commands_of_sed(script: &str) -> Vec<String> {
    static COMMAND: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?:^|[;{}\n\d$/!\s])e[ \t]+([^\n]+)").ok());
    let mut found: Vec<String> = captures(&COMMAND, script);
    let mut parts = script.split(['/', '|', '#', ',', '@', ':', '%']);
    if parts.next().is_some_and(|start| start.ends_with('s'))
        && let (Some(_), Some(replacement), Some(flags)) = (parts.next(), parts.next(), parts.next())
        && flags.split([';', '\n', '}']).next().is_some_and(|flags| flags.contains('e'))
    {
        found.push(replacement.to_owned());
    }
    found
}

/// `system("git push")`, `print | "git push"`, `"git push" | getline`.
fn commands_of_awk(program: &str) -> Vec<String> {
    static CALL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?:system\s*\(|\|&?)\s*"((?:[^"\\]|\\.)*)""#).ok());
    static READ: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""((?:[^"\\]|\\.)*)"\s*\|"#).ok());
    [captures(&CALL, program), captures(&READ, program)].concat()
}

/// Calls that run a command, in the code of interpreters: `os.system('git push')`, `run(["git", "push"])`.
fn commands_of_code(name: &str, code: &str) -> Vec<String> {
    static CALL: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let call = r"(?:\b(?:system|exec\w*|popen\w*|Popen|spawn\w*|posix_spawn\w*|create_subprocess_\w+|run|check_call|check_output|call|getoutput|passthru|shell_exec|open|Command|qx|qw)|%x|\$)";
        // What comes before the command: `args=`, the mode of a process, a file handle, the flags of `run`.
        let before = r"(?:[\w.$:]+\s*[=,]\s*[\[(]*\s*){0,2}";
        let literal = r#"(?:"[^"]*"|'[^']*'|`[^`]*`)"#;
        let quoted =
            format!(r"{call}\s*[\[({{/]*\s*(?:qw)?\s*{before}((?:{literal}(?:\s|[,\[\]]|args\s*:|\{{)*)+)");
        let bracketed = r"(?:\bqx|\bqw|%x)\s*(?:\(([^)]*)\)|\{([^}]*)\}|\[([^\]]*)\]|/([^/]*)/)";
        Regex::new(&format!("{quoted}|{bracketed}")).ok()
    });
    let runs_backquoted = matches!(name, "perl" | "ruby" | "php");
    let calls = captures(&CALL, code).into_iter().map(|text| command_of_literals(&text));
    calls.chain(backquoted(code).filter(|_| runs_backquoted)).collect()
}

/// The words in a list of literals as a command; one literal alone is a command, and so is text without any.
fn command_of_literals(text: &str) -> String {
    let mut literals: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find(['"', '\'', '`']) {
        let quote = &rest[open..=open];
        let Some((literal, after)) = rest[open + 1..].split_once(quote) else { break };
        literals.push(literal);
        rest = after;
    }
    // `open(F, "git push |")`, `open(F, "-|", "git", "push")`
    literals.retain(|literal| !["-|", "|-"].contains(literal));
    // `execvp("git", ["git", "push"])` names the program twice.
    if let [program, name, ..] = literals.as_slice()
        && program == name
    {
        literals.remove(0);
    }
    match literals.as_slice() {
        [] => text.to_owned(),
        [only] => only.trim().trim_matches('|').to_owned(),
        words => words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "),
    }
}

fn shell_word(word: &str) -> String {
    match word.contains(char::is_whitespace) {
        true => format!("'{}'", word.replace('\'', r"'\''")),
        false => word.to_owned(),
    }
}

/// `` `git push` `` in Perl, Ruby and PHP.
fn backquoted(code: &str) -> impl Iterator<Item = String> {
    code.split('`').skip(1).step_by(2).map(str::to_owned)
}

fn captures(regex: &LazyLock<Option<Regex>>, text: &str) -> Vec<String> {
    let Some(regex) = regex.as_ref() else { return Vec::new() };
    let found = regex
        .captures_iter(text)
        .filter_map(|found| found.iter().skip(1).flatten().next().map(|part| part.as_str().to_owned()));
    found.collect()
}
