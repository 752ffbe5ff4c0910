//! Settings of git that a command brings with it: `git -c core.hooksPath=hooks commit`, `--config-env`, and variables such as
//! `GIT_CONFIG_KEY_0` that a script sets. They count like those in a file.

use std::path::Path;

use crate::git_settings::{SettingsFile, setting_of, settings_of_variables, unquoted_words};
use crate::hook_text::assignments;
use crate::settings_text::Setting;

/// The settings in the commands of a text, or in the options of git with which an alias begins.
pub(crate) fn command_settings(text: &str, users: &[(String, String)]) -> Vec<Setting> {
    let is_possible = ["-c", "--config-env", "GIT_CONFIG_"].iter().any(|sign| text.contains(sign));
    if !is_possible {
        return Vec::new();
    }
    let set: Vec<(String, String)> = assignments(text)
        .map(|(name, value)| (name.to_owned(), value))
        .chain(users.iter().cloned())
        .collect();
    let mut found = Vec::new();
    for line in text.lines() {
        let words = unquoted_words(line);
        for (at, word) in words.iter().enumerate() {
            let next = || words.get(at + 1).map(String::as_str);
            found.extend(match word.as_str() {
                "-c" => next().and_then(setting_of_word),
                "--config-env" => next().and_then(|word| setting_of_environment(word, &set)),
                word => {
                    word.strip_prefix("--config-env=").and_then(|word| setting_of_environment(word, &set))
                }
            });
        }
    }
    let of_script = set.iter().take(set.len() - users.len()).any(|(name, _)| name.starts_with("GIT_CONFIG_"));
    found.extend(if of_script { settings_of_variables(&set) } else { Vec::new() });
    found
}

/// As if they stood in a file at the top of the working tree.
pub(crate) fn as_file(settings: Vec<Setting>, top: &Path) -> SettingsFile {
    SettingsFile { path: top.join("config"), settings }
}

fn setting_of_word(word: &str) -> Option<Setting> {
    let (name, value) = word.split_once('=').unwrap_or((word, "true"));
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
    setting_of(name, value).filter(|_| is_name)
}

fn setting_of_environment(word: &str, variables: &[(String, String)]) -> Option<Setting> {
    let (name, variable) = word.rsplit_once('=')?;
    let (_, value) = variables.iter().find(|(name, _)| name == variable)?;
    setting_of(name, value)
}

#[cfg(test)]
mod tests {
    use super::command_settings;

    #[test]
    fn settings_are_found_wherever_a_command_has_them() {
        let users = [("HKV".to_owned(), "hk".to_owned())];
        for (text, expected) in [
            ("-c core.hooksPath=hk commit", "core..hookspath=hk"),
            ("git -c core.hooksPath=hk -c core.pager='sh x' log", "core..hookspath=hk core..pager=sh x"),
            ("git -c \"core.pager=sh \\\"$x\\\"\" log", "core..pager=sh \"$x\""),
            ("--config-env=core.hooksPath=HKV commit", "core..hookspath=hk"),
            ("P=own\ngit --config-env diff.x.textconv=P diff", "diff.x.textconv=own"),
            (
                "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=hk git commit",
                "core..hookspath=hk",
            ),
            ("export GIT_CONFIG_PARAMETERS=\"'core.hooksPath=hk'\"", "core..hookspath=hk"),
            ("sh -c 'x=1'; python -c 'print(1)'; cc -c main.c --config-env=a.b=NONE", "main..c=true"),
        ] {
            let found = command_settings(text, &users);
            let shown =
                found.iter().map(|it| format!("{}.{}.{}={}", it.section, it.subsection, it.key, it.value));
            assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{text}");
        }
    }
}
