//! Names of files without a directory that a program of a hook runs or loads: what it reads as its input, what is printed into another program, and
//! the values of options. Any other word could be a name.

use crate::hook_text::commands;

/// Programs that print files, where what they print goes to another program. Others of their calls are not in the text any more.
const PRINTING: [&str; 6] = ["cat", "head", "tail", "sed", "awk", "envsubst"];

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

#[cfg(test)]
mod tests {
    use super::acting_names;

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
