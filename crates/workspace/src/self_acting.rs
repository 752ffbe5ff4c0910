//! Files that act on the user's machine by themselves: programs read them without being asked to, and run what they name. They do
//! not land unless the user agrees.

/// Directories, anywhere in the repository.
const DIRECTORIES: [&str; 47] = [
    ".aider",
    ".amazonq",
    ".amp",
    ".asdf",
    ".augment",
    ".autonoe",
    ".bzr",
    ".claude",
    ".cline",
    ".clinerules",
    ".codeium",
    ".codex",
    ".continue",
    ".copilot",
    ".crush",
    ".cursor",
    ".devcontainer",
    ".devin",
    ".direnv",
    ".factory",
    ".fleet",
    ".gemini",
    ".githooks",
    ".goose",
    ".helix",
    ".hg",
    ".husky",
    ".idea",
    ".jj",
    ".junie",
    ".kiro",
    ".mise",
    ".nova",
    ".nvim",
    ".opencode",
    ".pijul",
    ".qwen",
    ".roo",
    ".sl",
    ".svn",
    ".theia",
    ".trae",
    ".vim",
    ".vs",
    ".vscode",
    ".windsurf",
    ".zed",
];

/// Files, anywhere in the repository. Those of nix act through direnv.
const FILES: [&str; 44] = [
    ".aider.conf.yml",
    ".autoenv",
    ".autoenv.zsh",
    ".crush.json",
    ".cursorrules",
    ".devcontainer.json",
    ".dir-locals-2.el",
    ".dir-locals.el",
    ".env.zsh",
    ".envrc",
    ".exrc",
    ".gdbinit",
    ".gitmodules",
    ".gitpod.yml",
    ".goosehints",
    ".gvimrc",
    ".lazy.lua",
    ".lldbinit",
    ".luarc.json",
    ".lvimrc",
    ".mcp.json",
    ".nvim.lua",
    ".nvimrc",
    ".overcommit.yml",
    ".pdbrc",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".rprofile",
    ".rtx.toml",
    ".tool-versions",
    ".vimrc",
    ".vimrc.local",
    ".windsurfrules",
    ".worktreeinclude",
    "crush.json",
    "devenv.nix",
    "devenv.yaml",
    "flake.nix",
    "hk.pkl",
    "mcp.json",
    "opencode.json",
    "opencode.jsonc",
    "prek.toml",
    "shell.nix",
];

/// Beginnings of the names of such files, and of those that are settings.
const BEGINNINGS: [&str; 2] = [".huskyrc", ".envrc."];
const BEGINNINGS_OF_SETTINGS: [&str; 4] = ["lefthook", ".lefthook", "mise.", ".mise."];
const SETTINGS: [&str; 4] = [".toml", ".yml", ".yaml", ".json"];

const ENDS: [&str; 2] = [".code-workspace", ".sublime-project"];

/// Whether a path names such a file. `.gitattributes` is one only if it names filters, which its content decides.
pub(crate) fn acts_by_itself(path: &str) -> bool {
    // Case does not matter on many disks.
    let path = path.to_ascii_lowercase();
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    FILES.contains(&name)
        || DIRECTORIES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDS.iter().any(|end| name.ends_with(end))
        || SETTINGS.iter().any(|end| name.ends_with(end))
            && BEGINNINGS_OF_SETTINGS.iter().any(|beginning| name.starts_with(beginning))
        || path.contains("mise/config")
        || parts.any(|directory| DIRECTORIES.contains(&directory))
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
            "lefthook-local.toml",
            ".config/mise/config.toml",
            "Team.code-workspace",
            "sub/.hg/hgrc",
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
            "src/mise.rs",
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
