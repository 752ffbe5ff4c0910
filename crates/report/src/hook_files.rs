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

/// Hooks that git runs when the user commits.
const COMMIT_HOOKS: [&str; 4] = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"];

/// When the user should look at them, in a sentence.
pub fn advise_on_hook_files(files: &[HookFile]) -> String {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let them = if paths.len() == 1 { "it" } else { "them" };
    let is_at_commit = |file: &HookFile| COMMIT_HOOKS.contains(&file.hook.as_str());
    let is_at_push = |file: &HookFile| file.hook == "pre-push";
    let first = match files {
        files if files.iter().all(is_at_push) => "before you push",
        // A commit comes before its push.
        files if files.iter().all(|file| is_at_commit(file) || is_at_push(file)) => "before you commit",
        _ => "before you go on",
    };
    format!("Look at {them} {first}.")
}

#[cfg(test)]
mod tests {
    use super::{HookFile, advise_on_hook_files, describe_hook_files};

    #[test]
    fn files_are_looked_at_before_the_first_hook_runs() {
        for (files, advice) in [
            (&[("pre-push", "build.rs")][..], "Look at it before you push."),
            (&[("pre-commit", "Makefile")], "Look at it before you commit."),
            (&[("pre-commit", "Makefile"), ("pre-push", "Makefile")], "Look at it before you commit."),
            (&[("pre-push", "build.rs"), ("pre-push", "Makefile")], "Look at them before you push."),
            (&[("post-checkout", "Makefile")], "Look at it before you go on."),
            (&[("pre-push", "Makefile"), ("alias.ci", "package.json")], "Look at them before you go on."),
        ] {
            let file = |(hook, path): &(&str, &str)| HookFile { hook: (*hook).into(), path: (*path).into() };
            let files: Vec<HookFile> = files.iter().map(file).collect();
            assert_eq!(advise_on_hook_files(&files), advice, "{files:?}");
        }
    }

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
