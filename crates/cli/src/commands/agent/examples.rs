//! The agent templates that ship with autonoe.

pub struct AgentExample {
    pub name: &'static str,
    /// Path and content of each file.
    pub files: &'static [(&'static str, &'static str)],
}

macro_rules! example {
    ($name:literal, $($path:literal),+ $(,)?) => {
        AgentExample {
            name: $name,
            files: &[$(($path, include_str!(concat!("../../../../../examples/agents/", $name, "/", $path)))),+],
        }
    };
}

pub const MINIMAL: AgentExample = example!("minimal", "agent.json", "steps.json", "prompts/work.md");

pub const ISSUE_FIXER: AgentExample = example!(
    "issue-fixer",
    "agent.json",
    "steps.json",
    "prompts/system.md",
    "prompts/understand.md",
    "prompts/fix.md",
);

pub const REVIEWER: AgentExample = example!(
    "reviewer",
    "agent.json",
    "steps.json",
    "prompts/system.md",
    "prompts/steps/initial/review/f_default_changes.md",
);

pub const DOCS_WRITER: AgentExample = example!(
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
