//! The agents that ship with autonoe, to start from.

/// One of them.
pub struct Example {
    /// Its name.
    pub name: &'static str,
    /// Its files, by their paths.
    pub files: &'static [(&'static str, &'static str)],
}

macro_rules! example {
    ($name:literal, $($path:literal),+ $(,)?) => {
        Example {
            name: $name,
            files: &[$(($path, include_str!(concat!("../../../../../examples/agents/", $name, "/", $path)))),+],
        }
    };
}

/// One step, done when a word is said.
pub const MINIMAL: Example = example!("minimal", "agent.json", "steps.json", "prompts/work.md");

/// Iterates until the tests pass.
pub const ISSUE_FIXER: Example = example!(
    "issue-fixer",
    "agent.json",
    "steps.json",
    "prompts/system.md",
    "prompts/understand.md",
    "prompts/fix.md",
);

/// Reads, and gives a structured verdict.
pub const REVIEWER: Example = example!(
    "reviewer",
    "agent.json",
    "steps.json",
    "prompts/system.md",
    "prompts/steps/initial/review/f_default_changes.md",
);

/// Sub-steps, a second pair of eyes and an escalation.
pub const DOCS_WRITER: Example = example!(
    "docs-writer",
    "agent.json",
    "steps.json",
    "prompts/system.md",
    "prompts/outline.md",
    "prompts/draft.md",
    "prompts/polish.md",
    "prompts/check.md",
    "prompts/simplify.md",
    "prompts/file.md",
);
