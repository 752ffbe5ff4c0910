//! Which repository git finds from a directory. The settings of one that is not the project's could make it run programs.

use std::fs;
use std::path::Path;

use super::scope::CommandScope;
use crate::paths::real_path;
use crate::verdict::{RuleResult, deny_with_hint};

/// Settings of a repository as `git clone` and `git init` make it, by section and name; an empty name stands for any.
#[rustfmt::skip]
const PLAIN_SETTINGS: [(&str, &str); 19] = [
    ("core", "repositoryformatversion"), ("core", "filemode"), ("core", "bare"), ("core", "logallrefupdates"),
    ("core", "ignorecase"), ("core", "precomposeunicode"), ("core", "symlinks"), ("core", "autocrlf"),
    ("remote", "url"), ("remote", "fetch"), ("remote", "tagopt"), ("branch", ""), ("user", "name"), ("user", "email"),
    ("submodule", "url"), ("submodule", "active"), ("pull", ""), ("init", ""), ("color", "ui"),
];

/// Denies git where it would find another repository than the project's, unless that is one as `git clone` makes it. The shell's
/// directory may be reached through a link, but git looks for its repository from where it really is.
pub fn deny_foreign_repository(scope: &CommandScope<'_>) -> RuleResult {
    let is_known = |directory: &Path| {
        let real = real_path(directory).unwrap_or_else(|_| directory.to_owned());
        finds_known_repository(scope, &real)
    };
    if scope.directories.iter().all(|directory| is_known(directory)) {
        return Ok(());
    }
    deny_with_hint(
        "git.repository",
        "Git would find a separate repository here, whose settings could run programs.",
        "Run git in the project's own repository.",
    )
}

fn finds_known_repository(scope: &CommandScope<'_>, directory: &Path) -> bool {
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    for place in directory.ancestors().take_while(|place| *place != scope.paths.root) {
        let git = place.join(".git");
        if is_there(&git) {
            return is_known_git_directory(scope, place, &git);
        }
        if is_there(&place.join("HEAD")) && is_there(&place.join("objects")) {
            return false;
        }
    }
    true
}

fn is_known_git_directory(scope: &CommandScope<'_>, place: &Path, git: &Path) -> bool {
    let named = fs::read_to_string(git).ok();
    let named = named.as_deref().and_then(|text| text.strip_prefix("gitdir:")).map(str::trim);
    let target = named.map_or_else(|| git.to_owned(), |path| place.join(path));
    let Ok(real) = target.canonicalize() else { return false };
    let own = scope.paths.root.join(".git");
    let is_own = own.canonicalize().is_ok_and(|own| real.starts_with(own))
        || scope.options.git_locks.directories.iter().any(|own| real.starts_with(own));
    is_own || (named.is_none() && real.is_dir() && is_plain(&real))
}

/// Whether a git directory has only settings that run no program, and no hooks.
fn is_plain(git: &Path) -> bool {
    let hooks = git.join("hooks").read_dir().into_iter().flatten().flatten();
    let has_hooks = hooks.into_iter().any(|hook| hook.path().extension().is_none_or(|end| end != "sample"));
    let settings = fs::read_to_string(git.join("config")).unwrap_or_default();
    !has_hooks && !git.join("config.worktree").exists() && has_plain_settings(&settings)
}

fn has_plain_settings(text: &str) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(header) = line.strip_prefix('[') {
            let Some((header, "")) = header.split_once(']') else { return false };
            section = header.split([' ', '.', '"']).next().unwrap_or_default().to_lowercase();
            return true;
        }
        let name = line.split(['=', ' ', '\t']).next().unwrap_or_default().to_lowercase();
        !line.ends_with('\\')
            && PLAIN_SETTINGS
                .iter()
                .any(|(of, setting)| *of == section && (setting.is_empty() || *setting == name))
    })
}

#[cfg(test)]
mod tests {
    use super::has_plain_settings;

    #[test]
    fn settings_that_run_programs_are_not_plain() {
        let clone = "[core]\n\tbare = false\n\tfileMode = true\n[remote \"origin\"]\n\turl = https://x/y\n[branch \"main\"]\n\tmerge = refs/heads/main\n";
        assert!(has_plain_settings(clone));
        for added in [
            "[core]\n\tfsmonitor = ./x",
            "[core]fsmonitor = ./x",
            "[include]\n\tpath = x",
            "[core]\n\tbare = a\\\nfsmonitor = x",
            "[remote \"x\"]\n\tuploadpack = ./x",
            "[diff \"x\"]\n\ttextconv = ./x",
        ] {
            assert!(!has_plain_settings(&format!("{clone}{added}\n")), "{added}");
        }
    }
}
