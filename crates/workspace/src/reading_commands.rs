//! Commands of hooks that only look at the files which they are given, as linters and formatters do: these files do not act by themselves.

/// Programs that run nothing of the files in their arguments. What such a program prints may be run, so it counts only if nothing reads it.
#[rustfmt::skip]
const READERS: [&str; 49] = [
    "[", "[[", "actionlint", "autopep8", "bandit", "biome", "black", "clang-format", "codespell", "cppcheck", "dprint", "egrep", "eslint",
    "fgrep", "flake8", "gofmt", "goimports", "grep", "hadolint", "htmlhint", "isort", "jsonlint", "ktlint", "markdownlint", "mypy", "oxlint",
    "prettier", "pycodestyle", "pydocstyle", "pyflakes", "pylint", "pyright", "rubocop", "ruff", "rustfmt", "shellcheck", "shfmt", "standard",
    "stylelint", "swiftlint", "taplo", "test", "tidy", "tslint", "typos", "vulture", "xmllint", "yamllint", "yapf",
];

/// Words before the program that change nothing of what it does.
#[rustfmt::skip]
const LEADING: [&str; 24] = [
    "!", "--", "--no", "--no-install", "-y", "--yes", "bunx", "command", "do", "elif", "else", "exec", "if", "npx", "pipx", "pnpm", "poetry",
    "run", "then", "time", "until", "uvx", "while", "yarn",
];

/// Parts of the names of options whose value a program loads or runs; it is in the same word or in the next one.
#[rustfmt::skip]
const LOADING: [&str; 14] = [
    "command", "config", "exec", "format", "import", "init", "loader", "parser", "plugin", "preset", "require", "resolv", "rule", "with",
];

/// The text without the files that its commands only read.
pub(crate) fn without_read_operands(code: &str) -> String {
    if code.lines().any(passes_on_output) {
        return code.to_owned();
    }
    code.split_inclusive('\n').map(|line| line_without(line).unwrap_or_else(|| line.to_owned())).collect()
}

/// Whether what commands of other lines print may go somewhere: the line defines a function, is part of a group that goes on over several lines,
/// or ends one with a pipe.
fn passes_on_output(line: &str) -> bool {
    let count = |sign: char| line.matches(sign).count();
    let first = line.split_whitespace().next().unwrap_or_default();
    let ends_a_block = ["}", "fi", "done", "esac"].iter().any(|end| first.starts_with(end));
    line.contains("()")
        || ["function", "coproc"].contains(&first)
        || count('(') != count(')') && !line.trim_start().starts_with('#')
        || line.trim_end().ends_with('{')
        || (ends_a_block || first == "exec") && line.contains(['|', '>'])
}

/// `None` if the line must stay as it is.
fn line_without(line: &str) -> Option<String> {
    // What these put in, pass on or write to may be run.
    let is_piped = line.replace("||", "").contains('|');
    if is_piped || ["(", "`", "<", ">", "{ ", "\\"].iter().any(|sign| line.contains(sign)) {
        return None;
    }
    let mut rest = line.trim_end_matches('\n');
    let mut result = String::new();
    loop {
        let end = end_of_command(rest)?;
        let (command, more) = rest.split_at(end);
        let separator = more.len() - more.trim_start_matches([';', '&', '|']).len();
        result.push_str(&without_operands(command));
        result.push_str(&more[..separator]);
        rest = &more[separator..];
        if separator == 0 {
            return Some(result + &line[line.trim_end_matches('\n').len()..]);
        }
    }
}

/// Where a command ends that may have quoted parts; `None` if a quote is not closed.
fn end_of_command(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, ';' | '&' | '|') => return Some(at),
            _ => {}
        }
    }
    quote.is_none().then_some(text.len())
}

fn without_operands(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let leading = words.iter().take_while(|word| LEADING.contains(word)).count();
    let is_reader = |word: &&str| READERS.contains(&word.rsplit('/').next().unwrap_or_default());
    if !words.get(leading).is_some_and(is_reader) {
        return command.to_owned();
    }
    let loads = |option: &str| option.starts_with('-') && LOADING.iter().any(|part| option.contains(part));
    let is_kept = |at: usize| {
        at <= leading || words[at].starts_with('-') || loads(words[at - 1]) && !words[at - 1].contains('=')
    };
    let kept = (0..words.len()).filter(|at| is_kept(*at)).map(|at| words[at]);
    format!(" {} ", kept.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::without_read_operands;

    #[test]
    fn files_that_are_only_read_are_left_out() {
        for (text, expected) in [
            ("npx prettier --check \"src/**/*.{js,ts}\"\n", "npx prettier --check"),
            ("black src/*.py && ruff check src", "black && ruff"),
            ("clang-format --dry-run -Werror src/*.c include/*.h", "clang-format --dry-run -Werror"),
            ("if grep -q TODO src/app.py; then sh tools/x; fi", "if grep -q ; then sh tools/x; fi"),
            ("test -f config/app.yaml || exit 1", "test -f || exit 1"),
            (".venv/bin/flake8 src/app.py", ".venv/bin/flake8"),
            ("poetry run black src", "poetry run black"),
        ] {
            let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(squeezed(&without_read_operands(text)), squeezed(expected), "{text}");
        }
    }

    #[test]
    fn what_may_run_stays() {
        for text in [
            "sh src/app.sh\n",
            "grep -h . tools/x | sh",
            "grep -h . tools/x |\nsh",
            "(grep -h . tools/x) | sh",
            "for x in 1; do grep -h . tools/x; done | sh",
            "{ grep -h . tools/x; } | sh",
            "(\ngrep -h . tools/x\n) | sh",
            "f() {\ngrep -h . tools/x\n}\nf | sh",
            "if true; then\ngrep -h . tools/x\nfi | sh",
            "exec > /tmp/x\ngrep -h . tools/x\nsh /tmp/x",
            "x=$(\ngrep -h . tools/x\n)\neval $x",
            "sh -c \"$(grep -h . tools/x)\"",
            ". <(grep -h . tools/x)",
            "grep -h . tools/x > /tmp/x; sh /tmp/x",
            "eslint --config tools/x.js --rulesdir=own",
            "prettier --plugin ./x.js",
            "python3 -m black",
            "sed -f tools/x src/a",
            "test \"a && sh tools/x",
            "NODE_OPTIONS=-rtools/x eslint src/a.js",
        ] {
            let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(squeezed(&without_read_operands(text)), squeezed(text), "{text}");
        }
    }
}
