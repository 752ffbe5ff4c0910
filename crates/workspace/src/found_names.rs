//! Files that hooks run without naming them in full: those that match a pattern, those that `find` finds, and those whose names they put together.

use crate::acting_names::is_name;
use crate::hook_text::commands;

/// Programs that run the files which they are given.
const RUNNING: [&str; 14] = [
    ".", "bash", "dash", "exec", "ksh", "node", "perl", "php", "python", "python3", "ruby", "sh", "source",
    "zsh",
];

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
    use super::{name_patterns, runs_composed_name};

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
}
