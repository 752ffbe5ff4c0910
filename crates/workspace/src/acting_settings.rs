//! Settings in the working tree that programs act on by themselves, and what of them says what to run.

use crate::hook_text::{plain, words};

/// Files of the working tree that programs act on by themselves, and that name the scripts to run.
pub(crate) const ACTING_SETTINGS: [&str; 21] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".cursor/mcp.json",
    ".devcontainer.json",
    ".devcontainer/devcontainer.json",
    ".gemini/settings.json",
    ".mcp.json",
    ".overcommit.yml",
    ".pre-commit-config.yaml",
    ".prek.toml",
    ".vscode/mcp.json",
    ".vscode/settings.json",
    ".vscode/tasks.json",
    "conductor.json",
    "lefthook-local.yml",
    "lefthook.toml",
    "lefthook.yaml",
    "lefthook.yml",
    "mise.local.toml",
    "mise.toml",
    "prek.toml",
];

/// Of settings, the lines that say what to run; the others name files for other reasons.
pub(crate) fn lines_with_commands(settings: &str) -> String {
    #[rustfmt::skip]
    const KEYS: [&str; 15] = [
        "entry", "run", "command", "args", "script", "extends", "source", "repo", "additional_dependencies", "executable", "program",
        "root", "rc:", "path", "interpreter",
    ];
    let says_what_to_run = |line: &str| KEYS.iter().any(|key| line.to_ascii_lowercase().contains(key));
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    // The value may be the lines below that stand farther in.
    let mut block = None;
    for line in settings.lines() {
        let is_in_block = block.is_some_and(|outer| indentation(line) > outer);
        if is_in_block || says_what_to_run(line) {
            found.push(line);
        }
        if !is_in_block {
            let begins = line.trim_end().trim_end_matches(['-', '+']).ends_with(['>', '|', ':', '[', '{']);
            block = (begins && says_what_to_run(line)).then(|| indentation(line));
        }
    }
    found.join("\n")
}

/// What settings include, and where they have their scripts: whatever is there counts.
pub(crate) fn included_by(settings: &str) -> Vec<String> {
    const KEYS: [&str; 4] = ["extends", "source_dir", "rc:", "rc ="];
    let lines = settings.lines().filter(|line| KEYS.iter().any(|key| line.contains(key)));
    let names = lines
        .flat_map(words)
        .filter(|word| word.contains(['/', '.']) || !KEYS.iter().any(|key| key.starts_with(word)));
    names.map(plain).filter(|path| !path.is_empty()).collect()
}
