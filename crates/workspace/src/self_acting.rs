//! Files that act on the user's machine by themselves: programs read them without being asked to, and run what they name. They do
//! not land unless the user agrees.

/// Directories, anywhere in the repository.
const DIRECTORIES: [&str; 14] = [
    ".autonoe",
    ".claude",
    ".codex",
    ".cursor",
    ".devcontainer",
    ".fleet",
    ".gemini",
    ".githooks",
    ".husky",
    ".idea",
    ".vscode",
    ".windsurf",
    ".zed",
    ".aider",
];

/// Files, anywhere in the repository.
const FILES: [&str; 18] = [
    ".aider.conf.yml",
    ".devcontainer.json",
    ".envrc",
    ".exrc",
    ".gitmodules",
    ".lefthook.yml",
    ".mcp.json",
    ".mise.toml",
    ".nvim.lua",
    ".nvimrc",
    ".overcommit.yml",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".vimrc",
    "lefthook.yaml",
    "lefthook.yml",
    "mise.toml",
    "opencode.json",
];

/// Whether a path names such a file. `.gitattributes` is one only if it names filters, which its content decides.
pub(crate) fn acts_by_itself(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    // Case does not matter on many disks.
    let is_in = |list: &[&str], name: &str| list.iter().any(|listed| listed.eq_ignore_ascii_case(name));
    is_in(&FILES, name) || is_in(&DIRECTORIES, name) || parts.any(|directory| is_in(&DIRECTORIES, directory))
}

/// Whether the content of a `.gitattributes` makes git run a program that the user has configured.
pub(crate) fn names_a_driver(attributes: &str) -> bool {
    let words = attributes.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut words = words.flat_map(|line| line.split_whitespace().skip(1));
    words.any(|word| ["filter=", "diff=", "merge="].iter().any(|name| word.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::{acts_by_itself, names_a_driver};

    #[test]
    fn files_are_recognised_anywhere_and_in_any_case() {
        for path in [
            ".envrc",
            "sub/.ENVRC",
            ".vscode/tasks.json",
            "a/b/.claude/settings.json",
            ".husky",
            ".gitmodules",
        ] {
            assert!(acts_by_itself(path), "{path}");
        }
        for path in [
            "envrc",
            "src/vscode/tasks.json",
            ".github/workflows/ci.yml",
            "CLAUDE.md",
            "claude",
            ".gitignore",
        ] {
            assert!(!acts_by_itself(path), "{path}");
        }
    }

    #[test]
    fn only_drivers_count_among_attributes() {
        assert!(names_a_driver("*.bin filter=lfs diff=lfs\n"));
        assert!(names_a_driver("* text\n*.x merge=ours"));
        assert!(!names_a_driver("* text=auto eol=lf -diff\n# *.x filter=evil\nfilter=x text\n"));
    }
}
