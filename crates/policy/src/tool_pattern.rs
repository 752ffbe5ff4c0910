//! Tools by name, as `allowedTools` and permission rules write them: a name, or an MCP server's tools with a `*` at the
//! end.

use std::fmt;
use std::str::FromStr;

use autonoe_core::instruction::DeliverableTool;

/// What the names of all tools of MCP servers begin with.
pub const MCP: &str = "mcp__";

/// Our own server, whose tools need no rule: which of them a phase has is decided by anyone who carries them out.
const OWN_SERVER: &str = "mcp__autonoe__";

/// Names one tool, or some tools of one MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPattern {
    text: String,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    Exact,
    Prefix(String),
}

/// Why a text names no tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ToolPatternError {
    /// Nothing, or something with spaces.
    #[error("it is not a name of a tool; names have no spaces, such as WebSearch or mcp__server__tool")]
    NoName,
    /// A rule where a name is wanted.
    #[error("it is a permission rule; put it into permissions.allow")]
    IsRule,
    /// A star in the wrong place.
    #[error("'*' may only end the name of an MCP tool whose server is written out, such as mcp__server__*")]
    Star,
    /// No server.
    #[error("it names no MCP server; write mcp__server__tool, or mcp__server__* for all of its tools")]
    NoServer,
}

impl ToolPattern {
    /// Whether a tool is among those named.
    pub fn matches(&self, tool: &str) -> bool {
        match &self.form {
            Form::Exact => tool == self.text,
            Form::Prefix(prefix) => tool.starts_with(prefix),
        }
    }
}

impl FromStr for ToolPattern {
    type Err = ToolPatternError;

    fn from_str(text: &str) -> Result<Self, ToolPatternError> {
        let named = |form| Ok(Self { text: text.to_owned(), form });
        if text.contains(['(', ')']) {
            return Err(ToolPatternError::IsRule);
        }
        if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(ToolPatternError::NoName);
        }
        let Some(mcp) = text.strip_prefix(MCP) else {
            return if text.contains('*') { Err(ToolPatternError::Star) } else { named(Form::Exact) };
        };
        let (server, tool) = mcp.split_once("__").unwrap_or((mcp, "*"));
        let known = tool.strip_suffix('*').unwrap_or(tool);
        if server.contains('*') || known.contains('*') {
            return Err(ToolPatternError::Star);
        }
        if server.is_empty() || tool.is_empty() {
            return Err(ToolPatternError::NoServer);
        }
        if known == tool {
            named(Form::Exact)
        } else {
            named(Form::Prefix(format!("{MCP}{server}__{known}")))
        }
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Whether it is one of the five deliverable tools.
pub fn is_deliverable_tool(name: &str) -> bool {
    let own = name.strip_prefix(OWN_SERVER);
    own.is_some_and(|own| DeliverableTool::ALL.iter().any(|tool| tool.name() == own))
}

#[cfg(test)]
mod tests {
    use super::{ToolPattern, ToolPatternError, is_deliverable_tool};

    fn pattern(text: &str) -> ToolPattern {
        text.parse().expect(text)
    }

    #[test]
    fn a_name_is_that_tool_and_a_star_is_for_one_server_only() {
        for (text, tool, fits) in [
            ("Task", "Task", true),
            ("Task", "task", false),
            ("Task", "TaskX", false),
            ("mcp__a__b", "mcp__a__b", true),
            ("mcp__a__b", "mcp__a__bc", false),
            ("mcp__a__*", "mcp__a__b", true),
            ("mcp__a__*", "mcp__ab__c", false),
            ("mcp__a__*", "mcp__a", false),
            ("mcp__a__get_*", "mcp__a__get_x", true),
            ("mcp__a__get_*", "mcp__a__set_x", false),
            ("mcp__a", "mcp__a__b", true),
            ("mcp__a", "mcp__ab__c", false),
        ] {
            assert_eq!(pattern(text).matches(tool), fits, "{text} {tool}");
        }
    }

    #[test]
    fn what_names_no_tool_is_refused() {
        use ToolPatternError::{IsRule, NoName, NoServer, Star};
        for (text, error) in [
            ("", NoName),
            ("Web Search", NoName),
            ("*", Star),
            ("Web*", Star),
            ("mcp__*", Star),
            ("mcp__*__x", Star),
            ("mcp__play*", Star),
            ("mcp__a__*__b", Star),
            ("mcp__a__**", Star),
            ("mcp__", NoServer),
            ("mcp____x", NoServer),
            ("mcp__a__", NoServer),
            ("Bash(npm run *)", IsRule),
        ] {
            assert_eq!(text.parse::<ToolPattern>(), Err(error), "{text}");
        }
    }

    #[test]
    fn the_deliverable_tools_are_five() {
        assert!(is_deliverable_tool("mcp__autonoe__set_status"));
        for other in
            ["mcp__autonoe__", "mcp__autonoe__shell", "mcp__autonoe__list__x", "mcp__other__list", "list"]
        {
            assert!(!is_deliverable_tool(other), "{other}");
        }
    }
}
