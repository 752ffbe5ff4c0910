//! Changed files that the user's hooks run through other programs, in words.

use std::collections::BTreeSet;

use autonoe_core::event::HookFile;
use autonoe_core::file_names::shown_name;

/// Which hooks run them, in one line.
pub fn describe_hook_files(files: &[HookFile]) -> String {
    let hooks: BTreeSet<&str> = files.iter().map(|file| file.hook.as_str()).collect();
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let hooks: Vec<&str> = hooks.into_iter().collect();
    let who = match hooks.as_slice() {
        [alias] if alias.starts_with("alias.") => format!("Your git {alias} runs"),
        [hook] => format!("Your {hook} hook runs"),
        hooks => format!("Your hooks {} run", hooks.join(", ")),
    };
    let paths: Vec<String> =
        paths.into_iter().map(|path| format!("{} (changed)", shown_name(path))).collect();
    format!("{who}: {}", paths.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{HookFile, describe_hook_files};

    #[test]
    fn hooks_and_files_are_named_once() {
        let file = |hook: &str, path: &str| HookFile { hook: hook.to_owned(), path: path.to_owned() };
        let one = [file("pre-commit", "Makefile")];
        assert_eq!(describe_hook_files(&one), "Your pre-commit hook runs: Makefile (changed)");
        let forged = [file("pre-commit", "a\nb")];
        assert_eq!(describe_hook_files(&forged), "Your pre-commit hook runs: a[U+000A]b (changed)");
        let alias = [file("alias.ci", "Makefile")];
        assert_eq!(describe_hook_files(&alias), "Your git alias.ci runs: Makefile (changed)");
        let more =
            [file("pre-commit", "Makefile"), file("pre-push", "Makefile"), file("pre-push", "package.json")];
        assert_eq!(
            describe_hook_files(&more),
            "Your hooks pre-commit, pre-push run: Makefile (changed), package.json (changed)"
        );
    }
}
