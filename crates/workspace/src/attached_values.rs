//! Options of commands with a path attached, such as `awk -ftools/x.awk`.

use std::path::Path;

use crate::hook_text::commands;

/// How many letters come before the path: `sed -nftools/x` has two.
const MAX_LETTERS: usize = 3;

/// The commands of a text that have such options, with the paths apart: `awk -f tools/x.awk`. A path without slash or dot counts if it is a
/// file of the working tree at `top`.
pub(crate) fn with_values_apart(text: &str, top: &Path) -> String {
    let is_path = |value: &str| value.contains(['/', '.']) || top.join(value).is_file();
    let mut lines = String::new();
    for words in commands(text).map(Vec::from_iter) {
        for letters in 1..=MAX_LETTERS {
            let split = |word: &str| {
                let (option, value) = split_option(word, letters).filter(|(_, value)| is_path(value))?;
                Some(format!("{option} {value}"))
            };
            if words.iter().any(|word| split(word).is_some()) {
                let apart = words.iter().map(|word| split(word).unwrap_or_else(|| (*word).to_owned()));
                lines.push_str(&apart.collect::<Vec<_>>().join(" "));
                lines.push('\n');
            }
        }
    }
    lines
}

/// An option of so many letters, and what is attached to it.
fn split_option(word: &str, letters: usize) -> Option<(&str, &str)> {
    let (option, value) = word.split_at_checked(1 + letters)?;
    let all = option.strip_prefix('-')?.chars().all(|c| c.is_ascii_alphanumeric());
    // A digit takes no value.
    let is_option = all && option.ends_with(|c: char| c.is_ascii_alphabetic());
    (is_option && !value.is_empty()).then_some((option, value))
}

/// The directories in which git searches its commands, as `git --exec-path=tools x` says.
pub(crate) fn command_directories(text: &str) -> Vec<&str> {
    commands(text).flatten().filter_map(|word| word.strip_prefix("--exec-path=")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::with_values_apart;

    #[test]
    fn only_paths_are_taken_apart() {
        let apart = |text: &str| with_values_apart(text, Path::new("/nowhere"));
        assert_eq!(apart("cat x | sed -ft/m"), "sed -f t/m\nsed -ft /m\n");
        assert_eq!(apart("vim -u./rc"), "vim -u ./rc\n");
        assert_eq!(apart("tmux -2f./rc"), "tmux -2f ./rc\n");
        assert_eq!(apart("ls -la --color=auto -n5 x/y"), "");
    }
}
