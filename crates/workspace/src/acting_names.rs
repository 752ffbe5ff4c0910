//! Names of files without a directory in the text of a hook. Those that are there count wherever the hook names them, since commands that only read
//! are not in the text any more; those that are not there yet only where they are certainly files that a program runs or loads: as its input, as
//! what is printed into another program, and as the values of options.

use crate::hook_text::{commands, words};

/// Programs that print files, where what they print goes to another program. Others of their calls are not in the text any more.
const PRINTING: [&str; 6] = ["cat", "head", "tail", "sed", "awk", "envsubst"];

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
pub(crate) fn is_name(word: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::{acting_names, names_of_files};

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
