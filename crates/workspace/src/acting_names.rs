//! Names of files without a directory in the text of a hook. Those that are there count wherever the hook names them, since commands that only read
//! are not in the text any more; those that are not there yet only where they are certainly files that a program runs or loads: as its input, as
//! what is printed into another program, and as the values of options.

use crate::hook_text::{commands, words};

/// Programs that print files, where what they print goes to another program. Others of their calls are not in the text any more.
const PRINTING: [&str; 6] = ["cat", "head", "tail", "sed", "awk", "envsubst"];

/// Programs that run the files which they are given.
const RUNNING: [&str; 14] = [
    ".", "bash", "dash", "exec", "ksh", "node", "perl", "php", "python", "python3", "ruby", "sh", "source",
    "zsh",
];

/// Files of builds, which tools name that only look at them. The summary names them where a hook runs what they say.
const BUILD_FILES: [&str; 13] = [
    "Cargo.lock",
    "Cargo.toml",
    "go.mod",
    "go.sum",
    "package-lock.json",
    "package.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pyproject.toml",
    "README.md",
    "tsconfig.json",
    "uv.lock",
    "yarn.lock",
];

/// Options whose file every build has.
const BUILT: [&str; 1] = ["--manifest-path"];

/// The ends of files that only a compiler or a person reads.
const SOURCES: [&str; 14] =
    ["c", "cc", "cpp", "cs", "cxx", "go", "h", "hpp", "java", "kt", "md", "rs", "scala", "swift"];

/// The names in a text. `is_file` says whether the project has a file of that name.
pub(crate) fn acting_names(text: &str, is_file: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for words in commands(text).map(Vec::from_iter) {
        let prints = words.first().is_some_and(|program| PRINTING.contains(program));
        for (at, word) in words.iter().enumerate().skip(1) {
            let before = words[at - 1];
            let name = match word.split_once('=') {
                _ if word.starts_with('<') => word.trim_start_matches('<'),
                Some((option, value)) if option.starts_with('-') && !BUILT.contains(&option) => value,
                _ if before == "<" || before.starts_with('-') && !BUILT.contains(&before) => word,
                _ if prints => word,
                _ => continue,
            };
            let is_source = name.rsplit_once('.').is_some_and(|(_, end)| SOURCES.contains(&end));
            if is_name(name) && !is_source && (is_file(name) || has_extension(name)) {
                found.push(name.to_owned());
            }
        }
    }
    found
}

/// Whether a word may be the name of a file, and is not computed.
fn is_name(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || "._-+@".contains(c)) && !word.starts_with('-')
}

/// Whether it is a name that a file may have which is not there yet, and no number.
fn has_extension(name: &str) -> bool {
    let is_word = |part: &str| part.chars().any(char::is_alphabetic);
    name.rsplit_once('.').is_some_and(|(before, end)| !before.is_empty() && is_word(end))
}

/// The words of a text that are names of files.
pub(crate) fn names_of_files(text: &str, is_file: impl Fn(&str) -> bool) -> Vec<String> {
    let names = words(text).filter(|word| is_name(word) && !BUILD_FILES.contains(word) && is_file(word));
    names.map(str::to_owned).collect()
}

/// Whether a text runs a file whose name it puts together in a variable, as in `p=x; p="$p.sh"; sh $p` and `sh ${f%.bak}`.
pub(crate) fn runs_composed_name(text: &str) -> bool {
    let all: Vec<Vec<&str>> =
        text.lines().flat_map(|line| line.split([';', '&', '|'])).map(shell_words).collect();
    let is_composed = |name: &str| {
        all.iter().flatten().any(|word| {
            let Some(rest) = word.strip_prefix(name) else { return false };
            let is_of_parts = |value: &str| value.contains('$') && !value.contains(['/', '(']);
            rest.starts_with("+=") || rest.strip_prefix('=').is_some_and(is_of_parts)
        })
    };
    let is_run = |word: &str| {
        let Some(rest) = word.strip_prefix('$').filter(|rest| !rest.starts_with(['(', '\''])) else {
            return false;
        };
        let braced = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let inner = braced.unwrap_or(rest);
        let end = inner.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(inner.len());
        let (name, operator) = inner.split_at(end);
        let is_changed = braced.is_some() && operator.starts_with(['%', '#', '/']);
        !name.is_empty() && (is_changed || operator.is_empty() && is_composed(name))
    };
    let runs = |words: &Vec<&str>| words.first().is_some_and(|first| RUNNING.contains(first));
    all.iter().any(|words| runs(words) && words[1..].iter().any(|word| is_run(word)))
}

/// The words of a command, without quotes around them.
fn shell_words(command: &str) -> Vec<&str> {
    command
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '\'']))
        .filter(|word| *word != "do")
        .collect()
}

/// Names of files of which a hook runs those that it finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamePattern {
    before: String,
    /// `None` for a whole name.
    after: Option<String>,
    /// Whether it matches in every directory, and not at the top alone.
    is_anywhere: bool,
}

impl NamePattern {
    pub(crate) fn matches(&self, path: &str) -> bool {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_of_name = match &self.after {
            None => name == self.before,
            Some(after) => name.strip_prefix(&self.before).is_some_and(|rest| rest.ends_with(after)),
        };
        is_of_name && (self.is_anywhere || directory.is_empty())
    }
}

/// The patterns in a text, as in `for f in *.chk; do sh "$f"` and `sh x*`, and the names that `find` looks for.
pub(crate) fn name_patterns(text: &str) -> Vec<NamePattern> {
    let all: Vec<Vec<&str>> = commands(text).map(Vec::from_iter).collect();
    let runs = |words: &[&str]| {
        words.iter().find(|word| **word != "do").is_some_and(|first| RUNNING.contains(first))
    };
    let is_variable = |word: &&str| word.trim_start_matches("./").starts_with('$');
    let runs_variable = all.iter().any(|words| runs(words) && words.iter().any(is_variable));
    let passes_on =
        |words: &Vec<&str>| ["-exec", "-execdir", "xargs"].iter().any(|word| words.contains(word));
    let has_runner = |words: &Vec<&str>| words.iter().any(|word| *word != "." && RUNNING.contains(word));
    let runs_found = runs_variable || all.iter().any(|words| passes_on(words) && has_runner(words));
    let mut found = Vec::new();
    for words in &all {
        let is_run = runs(words) || (runs_variable && words.first() == Some(&"for"));
        for (at, word) in words.iter().enumerate().skip(1) {
            let is_anywhere = runs_found && ["-name", "-iname"].contains(&words[at - 1]);
            let (before, after) = match word.split_once('*') {
                Some((before, after)) => (before, Some(after)),
                None => (*word, None),
            };
            let is_pattern = after.is_some() || is_anywhere;
            let plain = format!("{before}{}", after.unwrap_or_default());
            if is_pattern
                && (is_run || is_anywhere)
                && is_name(&plain)
                && plain.contains(char::is_alphanumeric)
            {
                let after = after.map(str::to_owned);
                found.push(NamePattern { before: before.to_owned(), after, is_anywhere });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{acting_names, name_patterns, names_of_files, runs_composed_name};

    #[test]
    fn patterns_match_at_the_top_or_where_find_looks() {
        for (text, matching, others) in [
            ("for f in *.chk; do sh \"$f\"; done", "a.chk", "src/a.chk"),
            ("sh k*", "k.sh", "a/k.sh"),
            ("find . -name k.sh -exec sh {} ;", "deep/er/k.sh", "deep/x.sh"),
            ("find . -name '*.chk' | while read f; do sh $f; done", "deep/a.chk", "a.ch"),
        ] {
            let patterns = name_patterns(text);
            let matches = |path: &str| patterns.iter().any(|pattern| pattern.matches(path));
            assert!(matches(matching) && !matches(others), "{text}: {patterns:?}");
        }
        for text in [
            "echo * && for f in *.go; do gofmt -l $f; done; case $f in *.rs) ;; esac",
            "git ls-files '*.sh' | xargs shellcheck; find . -name '*.sh' -exec shellcheck {} +",
        ] {
            assert_eq!(name_patterns(text), [], "{text}");
        }
    }

    #[test]
    fn names_that_are_put_together_are_seen() {
        for text in ["p=k; p=\"$p.sh\"; sh $p", "p=k; p+=.sh; sh \"$p\"", "f=k.sh.bak; sh \"${f%.bak}\""] {
            assert!(runs_composed_name(text), "{text}");
        }
        for text in [
            "p=k.sh; sh $p",
            "root=$(git rev-parse --show-toplevel); sh \"$root/x.sh\"",
            "PY=$(command -v python3); \"$PY\" x.py",
            "n=$a.txt; grep x $n",
            "exec \"$@\"",
        ] {
            assert!(!runs_composed_name(text), "{text}");
        }
    }

    #[test]
    fn files_of_the_project_count_wherever_they_are_named() {
        let is_file = |name: &str| ["k", "k.txt", "Cargo.toml"].contains(&name);
        for text in [
            "bash -euo pipefail k",
            "python3 -W ignore k",
            "exec 3<k.txt; sh <&3",
            "git cat-file blob HEAD:k | sh",
            "vim -es b -c 'so k.txt' -c q",
            "eval \"$(grep ^CMD k.txt | cut -d= -f2)\"",
        ] {
            assert_eq!(names_of_files(text, is_file).len(), 1, "{text}");
        }
        assert!(names_of_files("cargo test --manifest-path Cargo.toml && sh tools/k", is_file).is_empty());
    }

    #[test]
    fn only_names_in_places_that_act_count() {
        for (text, names) in [
            ("sh < helper.txt", vec!["helper.txt"]),
            ("sh <helper", vec!["helper"]),
            ("cat helper.txt | sh", vec!["helper.txt"]),
            ("eval \"$(cat helper)\"", vec!["helper"]),
            ("make -f rules.mk all", vec!["rules.mk"]),
            ("pre-commit run --config pc.yaml && mycheck --config=other.yaml", vec!["pc.yaml", "other.yaml"]),
            ("cargo test --manifest-path Cargo.toml --jobs 2 --ratio 1.5", vec![]),
            ("mycheck helper src/main.rs --all README.txt.", vec![]),
            ("sh <<EOF", vec![]),
        ] {
            assert_eq!(acting_names(text, |name| name == "helper"), names, "{text}");
        }
    }
}
