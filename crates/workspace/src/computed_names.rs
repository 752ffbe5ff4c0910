//! Scripts that a hook runs by names which it computes: by its own name, by variables that it sets, and whatever it finds in a directory.

use std::collections::{HashMap, HashSet};

use crate::hook_text::{assignments, commands, plain};
use crate::shell_expansion::expansions;

/// Programs that run the file which they are given first.
#[rustfmt::skip]
const READERS: [&str; 18] = [
    ".", "source", "sh", "bash", "dash", "zsh", "fish", "ksh", "node", "nodejs", "bun", "deno", "tsx", "python", "python3", "perl", "ruby",
    "php",
];

/// Options after which they still run it; with others, such as `-n` and `-m`, they check it or run something else.
const PLAIN_OPTIONS: [&str; 9] = ["--", "-e", "-x", "-u", "-ex", "-eu", "-ux", "-eux", "-euo"];

/// Words before a command that do not matter for what it runs.
const LEADING: [&str; 17] = [
    "if", "then", "else", "elif", "while", "until", "do", "!", "exec", "command", "env", "time", "nice",
    "sudo", "nohup", "eval", "return",
];

/// What scripts write for their own names.
const OWN_NAME: [&str; 6] = [
    "$(basename \"$0\")",
    "$(basename $0)",
    "$(basename -- \"$0\")",
    "`basename \"$0\"`",
    "`basename $0`",
    "${0##*/}",
];

/// The most lines that are expanded.
const MAX_LINES: usize = 1000;

/// The text with the name of the script in place of what computes it.
pub(crate) fn with_own_name(text: &str, name: &str) -> String {
    OWN_NAME.iter().fold(text.to_owned(), |text, own| text.replace(own, name))
}

/// The lines of a text that use variables which it sets or which the user has set, with their values.
pub(crate) fn expanded_lines(text: &str, users: &[(String, String)]) -> String {
    // Of several values, each line gets the last one; the others are found as words of their own.
    let set: HashMap<&str, String> = assignments(text).collect();
    // These have rules of their own.
    let is_usual = |name: &str| ["HOME", "PATH", "PWD"].contains(&name);
    let of_user = users.iter().filter(|(name, value)| !is_usual(name) && !value.contains('\n'));
    // A text may set a variable only if the user has not.
    let with_users: HashMap<&str, String> = set
        .iter()
        .map(|(name, value)| (*name, value.clone()))
        .chain(of_user.clone().map(|(name, value)| (name.as_str(), value.clone())))
        .collect();
    let names_of_user: HashSet<&str> = of_user.map(|(name, _)| name.as_str()).collect();
    let mut expanded = String::new();
    for line in text.lines().filter(|line| line.contains('$')).take(MAX_LINES) {
        let names: Vec<&str> = variables_in(line).collect();
        if names.iter().any(|name| set.contains_key(name)) {
            add_expansions(&mut expanded, line, &set);
        }
        if names.iter().any(|name| names_of_user.contains(name)) {
            add_expansions(&mut expanded, line, &with_users);
        }
    }
    expanded
}

/// The names of the variables that a line uses.
fn variables_in(line: &str) -> impl Iterator<Item = &str> {
    let names = line.split('$').skip(1).map(|rest| rest.trim_start_matches('{'));
    names.map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    })
}

fn add_expansions(expanded: &mut String, line: &str, values: &HashMap<&str, String>) {
    for line in expansions(line, &|name| values.get(name).cloned()) {
        expanded.push_str(&line);
        expanded.push('\n');
    }
}

/// The directories of which a text runs files whatever their names are: `sh tools/$name.sh`, `ls tools | while read f`, `find tools -exec`.
pub(crate) fn directories_of_run_files(text: &str) -> Vec<String> {
    let text = without_braces(text);
    let mut found = Vec::new();
    let mut listed: Vec<String> = Vec::new();
    let mut runs_listed = false;
    for words in commands(&text).map(Vec::from_iter) {
        match words.iter().position(|word| ["ls", "find"].contains(word)) {
            Some(at) => {
                let is_place =
                    |word: &&&str| !word.starts_with(['-', '$', '>', '<', '/', '~']) && !word.contains('*');
                let places = words[at + 1..].iter().take_while(|word| words[at] == "ls" || is_place(word));
                listed.extend(places.filter(is_place).map(|word| plain(word)));
                let executed = words.iter().position(|word| word.starts_with("-exec"));
                runs_listed |= executed.is_some_and(|at| runs_what_follows(&words[at + 1..], &is_computed));
            }
            None => {
                let xargs = words.iter().position(|word| *word == "xargs");
                let is_piped = xargs.is_some_and(|at| {
                    let rest = words[at + 1..].iter().skip_while(|word| is_option_of_xargs(word));
                    runs_what_follows(&rest.copied().collect::<Vec<_>>(), &is_computed)
                });
                runs_listed |= is_piped || run_word(&words).is_some_and(|word| word.starts_with('$'));
            }
        }
        found.extend(run_word(&words).and_then(literal_directory));
    }
    if runs_listed {
        found.extend(listed);
    }
    found.retain(|directory| !directory.is_empty());
    found
}

/// The word of a command that is the file which is run, if that is one.
fn run_word<'w>(words: &[&'w str]) -> Option<&'w str> {
    let is_before = |word: &&&str| LEADING.contains(*word) || word.contains('=') && !word.contains('/');
    let mut words = words.iter().skip_while(is_before);
    let program = words.next()?;
    match READERS.contains(&program.rsplit('/').next().unwrap_or_default()) || *program == "." {
        true => {
            words.find(|word| !PLAIN_OPTIONS.contains(*word)).filter(|word| !word.starts_with('-')).copied()
        }
        false => Some(program),
    }
}

/// Whether a command is an interpreter, which runs what it reads.
pub(crate) fn is_interpreter(words: &[&str]) -> bool {
    let is_reader = |word: &str| READERS.contains(&word.rsplit('/').next().unwrap_or_default());
    words.contains(&"eval")
        || words.iter().find(|word| !LEADING.contains(*word)).is_some_and(|word| is_reader(word))
}

/// Whether the command runs a file that `find` or `xargs` puts in, as the program itself or as what an interpreter runs.
fn runs_what_follows(words: &[&str], is_file: &impl Fn(&str) -> bool) -> bool {
    match words.split_first() {
        Some((program, rest)) if READERS.contains(program) => {
            let mut rest = rest.iter().skip_while(|word| PLAIN_OPTIONS.contains(*word));
            // Without a place for it, xargs puts the file at the end.
            rest.next().is_none_or(|word| is_file(word))
        }
        Some((program, _)) => is_file(program),
        None => false,
    }
}

/// Braces are gone where commands are split.
fn is_computed(word: &str) -> bool {
    word.starts_with('$') || [PLACE, "%", "\\"].contains(&word)
}

fn is_option_of_xargs(word: &str) -> bool {
    word.starts_with('-') || word.chars().all(|c| c.is_ascii_digit()) || [PLACE, "%"].contains(&word)
}

/// What stands for `{}`.
const PLACE: &str = "$place";

/// The text with `$name` for `${name}`, `$` for what commands print, and [`PLACE`] for `{}`, so that words are whole.
fn without_braces(text: &str) -> String {
    let text = text.replace("{}", PLACE);
    let mut shortened = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("${") {
        let (inner, behind) = after.split_once('}').unwrap_or((after, ""));
        let name = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
        shortened.push_str(before);
        shortened.push('$');
        shortened.push_str(&inner[..name]);
        rest = behind;
    }
    shortened.push_str(rest);
    shortened
}

/// The directory of a word in which only the name of the file is computed. What comes first may be a variable for the top of the project.
fn literal_directory(word: &str) -> Option<String> {
    let word = match word.strip_prefix('$') {
        Some(variable) => variable.split_once('/')?.1,
        None => word,
    };
    let literal = &word[..word.find('$')?];
    Some(plain(literal.rsplit_once('/')?.0)).filter(|_| !word.starts_with(['/', '~']))
}

#[cfg(test)]
mod tests {
    use super::{directories_of_run_files, expanded_lines, with_own_name};

    #[test]
    fn directories_count_where_their_files_are_run() {
        for text in [
            "sh tools/$name.sh",
            "sh \"tools/${name}.sh\" \"$@\"",
            "\"$root/tools/$1\"",
            "if ! bash -e tools/$x; then exit 1; fi",
            "exec ./tools/$hook",
            "ls tools | while read f; do sh \"tools/$f\"; done",
            "ls tools/ | while read -r f; do (cd tools; \"$f\"); done",
            "find tools -exec sh {} \\;",
            "find ./tools -type f -exec {} \\;",
            "find tools -name '*.sh' | xargs -n 1 sh",
            "find tools -name '*.sh' | xargs -I % sh %",
        ] {
            let found = directories_of_run_files(text);
            assert!(found.iter().any(|directory| directory == "tools"), "{text}: {found:?}");
        }
        for text in [
            "cp x src/$y",
            "eslint \"src/$f\"",
            "find src -name '*.py' | xargs pylint",
            "find src -name '*.sh' -exec bash -n {} \\;",
            "find src -name '*.py' -print0 | xargs -0 python -m black",
            "ls src | wc -l",
            "sh tools/x.sh $1",
            "echo src/$x",
        ] {
            assert_eq!(directories_of_run_files(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn names_are_computed_where_their_parts_are_known() {
        let expanded = expanded_lines("name=lint\nsh tools/$name.sh\nsh other/$1\n", &[]);
        assert_eq!(expanded, "sh tools/lint.sh\n");
        let users = [("name", "own"), ("HOME", "/home/u"), ("MORE", "more.sh")];
        let users = users.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let expanded = expanded_lines("name=lint\nsh tools/$name.sh\n$MORE $HOME\n", &users);
        assert_eq!(expanded, "sh tools/lint.sh\nsh tools/own.sh\nmore.sh \n");
        let own = with_own_name("sh hooks/$(basename \"$0\").sh; x=${0##*/}", "pre-commit");
        assert_eq!(own, "sh hooks/pre-commit.sh; x=pre-commit");
    }
}
