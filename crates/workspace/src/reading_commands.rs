//! Commands of hooks that run nothing of the files which they are given: readers, linters, checks of syntax and messages. These files do not act
//! by themselves, unless what a command prints goes somewhere.

use crate::here_documents::{LineKind, lines_with_kinds};
use crate::interpreters::is_python;
use crate::shell_line::{ShellCommand, open_quote, shell_commands};

/// Programs of every system, and commands of shells.
#[rustfmt::skip]
const READERS: [&str; 28] = [
    "[", "[[", "basename", "cat", "chmod", "cksum", "cmp", "cut", "diff", "dirname", "echo", "egrep", "envsubst", "fgrep", "file", "grep",
    "head", "jq", "ls", "md5sum", "printf", "sha256sum", "stat", "tail", "test", "touch", "wc", "yq",
];

/// Those of them, and commands of git, that print what is in files or in their arguments.
#[rustfmt::skip]
const PRINTERS: [&str; 18] = [
    "basename", "cat", "cut", "diff", "dirname", "echo", "envsubst", "head", "jq", "json.tool", "log", "ls", "ls-files", "printf", "-p", "show",
    "tail", "yq",
];

/// Linters and formatters, which may be those of the project.
#[rustfmt::skip]
const LINTERS: [&str; 48] = [
    "actionlint", "autopep8", "bandit", "biome", "black", "clang-format", "codespell", "cppcheck", "detect-secrets-hook", "djlint", "dprint",
    "eslint", "flake8", "gofmt", "goimports", "hadolint", "htmlhint", "isort", "jsonlint", "ktlint", "kubeconform", "kubeval", "markdownlint",
    "mypy", "oxlint", "prettier", "pycodestyle", "pydocstyle", "pyflakes", "pylint", "pyright", "rubocop", "ruff", "rustfmt", "shellcheck",
    "shfmt", "standard", "stylelint", "swiftlint", "taplo", "tidy", "tslint", "typos", "vale", "vulture", "xmllint", "yamllint", "yapf",
];

/// Programs of which only these commands run nothing. Options before them count against it: `git -c` says what to run.
const SUBCOMMANDS: [(&str, &[&str]); 2] = [
    ("deno", &["check", "fmt", "lint"]),
    (
        "git",
        &["add", "checkout", "diff", "log", "ls-files", "reset", "restore", "rm", "show", "stash", "status"],
    ),
];

/// Interpreters, and the options with which they only look at the syntax.
const CHECKS: [(&[&str], &[&str]); 4] = [
    (&["bash", "dash", "ksh", "sh", "zsh"], &["-n"]),
    (&["node", "nodejs"], &["-c", "--check"]),
    (&["php"], &["-l"]),
    (&["ruby"], &["-c", "-cw", "-wc"]),
];

/// Modules of Python that run nothing.
const MODULES: [&str; 4] = ["compileall", "json.tool", "py_compile", "tabnanny"];

/// Files that a desktop shows; others it may run.
const DOCUMENTS: [&str; 6] = [".html", ".md", ".pdf", ".png", ".svg", ".txt"];

/// Words before the program that change nothing of what it does.
const LEADING: [&str; 13] =
    ["!", "--", "command", "do", "elif", "else", "exec", "if", "then", "time", "until", "while", "{"];

/// Words before the program with which it may be one of the project.
#[rustfmt::skip]
const PACKAGED: [&str; 13] = [
    "--no", "--no-install", "-y", "--yes", "bunx", "npx", "pipx", "pnpm", "poetry", "run", "uv", "uvx", "yarn",
];

/// Directories of installed programs: of the system, and parts of paths.
const SYSTEM: [&str; 3] = ["/bin/", "/opt/", "/usr/"];
const INSTALLED: [&str; 4] = [".venv", "node_modules", "vendor", "venv"];

/// Parts of the names of options whose value a program loads, runs or writes to; it is in the same word or in the next one.
#[rustfmt::skip]
const LOADING: [&str; 17] = [
    "command", "config", "exec", "format", "from-file", "import", "init", "loader", "output", "parser", "plugin", "preset", "require", "resolv",
    "rule", "template", "with",
];

/// Programs, and their options of this kind whose names do not say so.
const LOADING_LETTERS: [(&str, &[char]); 5] = [
    ("detect-secrets-hook", &['p']),
    ("eslint", &['c']),
    ("jq", &['L', 'f']),
    ("rubocop", &['c', 'r']),
    ("tslint", &['c', 'r']),
];

/// Words that end a group of commands.
const BLOCK_ENDS: [&str; 4] = ["}", "fi", "done", "esac"];

/// Who reads what a text prints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Printed {
    /// The user at most: it is a hook, whose output git shows.
    Shown,
    /// Maybe a shell: it is a script, and `eval "$(tools/x.sh)"` may run it.
    MaybeRun,
}

/// The text without the files that its commands only read.
pub(crate) fn without_read_operands(code: &str, printed: Printed) -> String {
    let lines = lines_with_kinds(code);
    if lines.iter().any(|(line, kind)| *kind != LineKind::Text && passes_on_output(line)) {
        return code.to_owned();
    }
    let mut quote = None;
    let mut result = String::with_capacity(code.len());
    for (line, kind) in lines {
        let is_quoted = quote.is_some();
        if kind == LineKind::Code {
            quote = open_quote(line, quote);
        }
        match kind {
            LineKind::Text if printed == Printed::Shown => result.push('\n'),
            LineKind::Code if !is_quoted => match line_without(line, code, printed) {
                Some(shortened) => result.push_str(&shortened),
                None => result.push_str(line),
            },
            LineKind::Code | LineKind::Document | LineKind::Text => result.push_str(line),
        }
    }
    result
}

/// Whether what commands of other lines print may go somewhere: the line defines a function, is part of a group that goes on over several lines,
/// or ends one with a pipe.
fn passes_on_output(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    if ["alias", "coproc", "function"].contains(&first) {
        return true;
    }
    let Some(commands) = shell_commands(line) else {
        let count = |sign: char| line.matches(sign).count();
        let opens = count('(') > count(')') && !line.trim_start().starts_with('#');
        return line.contains("()") || opens || ends_with_output(line);
    };
    commands.iter().any(|command| {
        let mut words = command.words.iter().skip_while(|word| LEADING.contains(word) && **word != "exec");
        let ends_a_block = words.next().is_some_and(|word| BLOCK_ENDS.contains(word));
        // Without a program, it is for all commands that come after it.
        let is_for_all = command.words.last() == Some(&"exec");
        (ends_a_block || is_for_all) && (command.is_piped() || !command.outputs.iter().all(is_screen))
    })
}

/// The same for the end of a group in a line that cannot be taken apart.
fn ends_with_output(line: &str) -> bool {
    let is_end = |word: &str, end: &str| {
        word.strip_prefix(end)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([';', '|', '>', '&', ')']))
    };
    let ends = || BLOCK_ENDS.iter().chain(&["exec"]);
    let mut words = line.split_whitespace().skip_while(|word| !ends().any(|end| is_end(word, end)));
    words.any(|word| word.replace("||", "").contains(['|', '>']))
}

/// `None` if the line must stay as it is. `code` is the whole text.
fn line_without(line: &str, code: &str, printed: Printed) -> Option<String> {
    let commands = shell_commands(line)?;
    let mut result = String::with_capacity(line.len());
    let mut reads_pipe = false;
    for command in &commands {
        let kept = without_operands(command).filter(|words| {
            let prints =
                words.iter().any(|word| PRINTERS.contains(&word.rsplit('/').next().unwrap_or_default()));
            printed == Printed::Shown || !prints
        });
        // What others print may be run, and so may a file to which something is written.
        let is_in_pipe = reads_pipe || command.is_piped();
        let goes_nowhere =
            |to: &&str| is_screen(to) || kept.is_some() && !is_in_pipe && is_left_in_tmp(to, code);
        if is_in_pipe && kept.is_none() || !command.outputs.iter().all(goes_nowhere) {
            return None;
        }
        match kept {
            Some(words) => result.push_str(&format!(" {} ", words.join(" "))),
            None => result.push_str(command.text),
        }
        result.push_str(command.separator);
        reads_pipe = command.is_piped();
    }
    Some(result + &line[line.trim_end_matches('\n').len()..])
}

/// Whether what is written there is seen at most.
fn is_screen(output: &&str) -> bool {
    ["&1", "&2", "/dev/null", "/dev/stderr", "/dev/stdout", "/dev/tty"].contains(output)
}

/// Whether a file is a temporary one that the text does not mention again.
fn is_left_in_tmp(output: &str, code: &str) -> bool {
    let is_between = |c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c);
    let Some(name) = output.strip_prefix("/tmp/").filter(|name| !name.contains(is_between)) else {
        return false;
    };
    let count = |wanted: &str| code.split(is_between).filter(|word| *word == wanted).count();
    count(name) == 1 && code.to_ascii_lowercase().matches("tmp").count() == 1
}

/// The words of a command that runs nothing of its operands, without these; `None` for other commands.
fn without_operands<'t>(command: &ShellCommand<'t>) -> Option<Vec<&'t str>> {
    let words = &command.words;
    // A default that a variable gets, which another command may run.
    if words.iter().any(|word| word.contains("${") && word.contains('=')) {
        return None;
    }
    let is_before = |word: &&&str| LEADING.contains(*word) || PACKAGED.contains(*word);
    let leading = words.iter().take_while(is_before).count();
    let (before, rest) = words.split_at(leading);
    let (program, arguments) = rest.split_first()?;
    let is_packaged = before.iter().any(|word| PACKAGED.contains(word));
    let program = installed_name(program)?;
    // Its own words, which are not operands.
    let own = match () {
        () if LINTERS.contains(&program) => 0,
        () if is_packaged => return None,
        () => words_of_reader(program, arguments)?,
    };
    let letters =
        LOADING_LETTERS.iter().find(|(name, _)| *name == program).map_or(&[][..], |(_, letters)| letters);
    let is_loading = |option: &str| {
        let has_letter = !option.starts_with("--") && option.contains(letters);
        has_letter || LOADING.iter().any(|part| option.contains(part))
    };
    let loads = |option: &str| option.starts_with('-') && !option.contains('=') && is_loading(option);
    let is_kept = |at: &usize| {
        let at = *at;
        at <= leading + own || words[at].starts_with('-') || loads(words[at - 1])
    };
    Some((0..words.len()).filter(is_kept).map(|at| words[at]).collect())
}

/// The name of a program that is not the project's own.
fn installed_name(program: &str) -> Option<&str> {
    let is_installed = |path: &str| {
        SYSTEM.iter().any(|directory| path.starts_with(directory))
            || path.split('/').any(|part| INSTALLED.contains(&part))
    };
    match program.rsplit_once('/') {
        Some((directory, name)) => is_installed(&format!("{directory}/")).then_some(name),
        None => Some(program),
    }
}

/// How many of the arguments say what the program does; `None` if it may run the others.
fn words_of_reader(program: &str, arguments: &[&str]) -> Option<usize> {
    let first = arguments.first().copied().unwrap_or_default();
    let is_option = |word: &&str| word.starts_with(['-', '+']);
    if let Some((_, commands)) = SUBCOMMANDS.iter().find(|(name, _)| *name == program) {
        return commands.contains(&first).then_some(1);
    }
    // More options may undo it or load files, and what comes behind a script is for that.
    let is_check =
        |(programs, options): &(&[&str], &[&str])| programs.contains(&program) && options.contains(&first);
    if CHECKS.iter().any(is_check) && !arguments[1..].iter().any(is_option) {
        return Some(1);
    }
    if is_python(program) && first == "-m" && arguments.get(1).is_some_and(|module| MODULES.contains(module))
    {
        return Some(2);
    }
    match program {
        "node" | "nodejs" => matches!(arguments, ["-p", code] if is_value_of_json(code)).then_some(1),
        "open" | "xdg-open" => {
            let is_document = |word: &&str| DOCUMENTS.iter().any(|end| word.ends_with(end));
            arguments.iter().all(is_document).then_some(0)
        }
        // It sets a variable.
        "printf" if first.starts_with("-v") => None,
        _ => READERS.contains(&program).then_some(0),
    }
}

/// Whether code of JavaScript is no more than a value in a JSON file, such as `require('./package.json').version`.
fn is_value_of_json(code: &str) -> bool {
    let code = code.trim_matches(['"', '\'']);
    let Some((path, value)) = code.strip_prefix("require(").and_then(|code| code.split_once(')')) else {
        return false;
    };
    let path = path.trim_matches(['"', '\'', '\\']);
    path.ends_with(".json")
        && !path.contains(['"', '\'', '`', '('])
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c))
}

#[cfg(test)]
mod tests;
