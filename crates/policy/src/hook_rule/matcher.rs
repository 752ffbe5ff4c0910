//! Which tools a hook is for. The rules are Claude Code's: letters, digits, `_` and `|` are names, anything else is a
//! regular expression that may match a part of the name.

use regex::Regex;

#[derive(Debug, Clone)]
pub enum HookMatcher {
    EveryTool,
    /// Exactly these tools.
    Names(Vec<String>),
    Pattern(Regex),
}

impl HookMatcher {
    /// Empty and `*` mean every tool.
    pub fn parse(text: &str) -> Result<Self, regex::Error> {
        if matches!(text.trim(), "" | "*") {
            return Ok(Self::EveryTool);
        }
        let is_name = |character: char| character.is_ascii_alphanumeric() || "_| ".contains(character);
        if text.chars().all(is_name) {
            return Ok(Self::Names(text.split('|').map(|name| name.trim().to_owned()).collect()));
        }
        Regex::new(text).map(Self::Pattern)
    }

    pub fn matches(&self, tool: &str) -> bool {
        match self {
            Self::EveryTool => true,
            Self::Names(names) => names.iter().any(|name| name == tool),
            Self::Pattern(pattern) => pattern.is_match(tool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::HookMatcher;

    #[test]
    fn names_are_exact_and_anything_else_is_a_regular_expression() {
        for (matcher, yes, no) in [
            ("", &["Bash", "mcp__a__b"][..], &[][..]),
            ("*", &["Bash", "Edit"], &[]),
            ("Bash", &["Bash"], &["BashOutput", "bash"]),
            ("Bash|Edit", &["Bash", "Edit"], &["MultiEdit", "Bash|Edit"]),
            ("Edit | Write", &["Edit", "Write"], &["Read"]),
            ("mcp__memory", &[], &["mcp__memory__read"]),
            ("mcp__memory__.*", &["mcp__memory__read"], &["mcp__other__read"]),
            ("Notebook.*", &["NotebookEdit"], &["Read"]),
            ("^(Write|Edit)$", &["Write", "Edit"], &["MultiEdit"]),
            ("Edi.", &["Edit", "MultiEdit"], &["Write"]),
        ] {
            let parsed = HookMatcher::parse(matcher).expect(matcher);
            assert!(yes.iter().all(|tool| parsed.matches(tool)), "{matcher} {yes:?}");
            assert!(!no.iter().any(|tool| parsed.matches(tool)), "{matcher} {no:?}");
        }
        assert!(HookMatcher::parse("mcp__(").is_err());
    }
}
