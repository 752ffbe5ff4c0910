//! Tool names as written in `allowedTools` and permission rules: one name, or the tools of an MCP server with a
//! trailing `*`.

use std::fmt;
use std::str::FromStr;

use autonoe_core::instruction::{DeliverableTool, SHARED_TOOLS};

/// The prefix of every MCP tool name.
pub const MCP_PREFIX: &str = "mcp__";

/// Our own server. Its tools need no rule: the deliverable service decides which of them a phase has.
const OWN_SERVER: &str = "mcp__autonoe__";

/// One tool, or several tools of one MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPattern {
    text: String,
    matching: MatchKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum MatchKind {
    Exact,
    Prefix(String),
}

/// Why a text is not a tool name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ToolPatternError {
    #[error("it is not a tool name; write a name without spaces, such as WebSearch or mcp__server__tool")]
    InvalidName,
    #[error("it is a permission rule; move it to permissions.allow")]
    PermissionRule,
    #[error(
        "'*' is only allowed at the end of an MCP tool name with a literal server, such as mcp__server__*"
    )]
    MisplacedStar,
    #[error(
        "the MCP server or tool is missing; write mcp__server__tool, or mcp__server__* for all tools of a server"
    )]
    MissingServer,
}

impl ToolPattern {
    pub fn matches(&self, tool: &str) -> bool {
        match &self.matching {
            MatchKind::Exact => tool == self.text,
            MatchKind::Prefix(prefix) => tool.starts_with(prefix),
        }
    }
}

impl FromStr for ToolPattern {
    type Err = ToolPatternError;

    fn from_str(text: &str) -> Result<Self, ToolPatternError> {
        let pattern = |matching| Ok(Self { text: text.to_owned(), matching });
        if text.contains(['(', ')']) {
            return Err(ToolPatternError::PermissionRule);
        }
        if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(ToolPatternError::InvalidName);
        }
        let Some(mcp) = text.strip_prefix(MCP_PREFIX) else {
            return if text.contains('*') {
                Err(ToolPatternError::MisplacedStar)
            } else {
                pattern(MatchKind::Exact)
            };
        };
        let (server, tool) = mcp.split_once("__").unwrap_or((mcp, "*"));
        let prefix = tool.strip_suffix('*').unwrap_or(tool);
        if server.contains('*') || prefix.contains('*') {
            return Err(ToolPatternError::MisplacedStar);
        }
        if server.is_empty() || tool.is_empty() {
            return Err(ToolPatternError::MissingServer);
        }
        if prefix == tool {
            pattern(MatchKind::Exact)
        } else {
            pattern(MatchKind::Prefix(format!("{MCP_PREFIX}{server}__{prefix}")))
        }
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Whether the name is one of our own tools: those of deliverables, and those of a fleet.
pub fn is_deliverable_tool(name: &str) -> bool {
    let own = name.strip_prefix(OWN_SERVER);
    own.is_some_and(|own| {
        DeliverableTool::ALL.iter().any(|tool| tool.name() == own) || SHARED_TOOLS.contains(&own)
    })
}

#[cfg(test)]
mod tests {
    use super::{ToolPattern, ToolPatternError, is_deliverable_tool};

    fn pattern(text: &str) -> ToolPattern {
        text.parse().expect(text)
    }

    #[test]
    fn a_name_matches_one_tool_and_a_star_matches_one_server() {
        for (text, tool, matches) in [
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
            assert_eq!(pattern(text).matches(tool), matches, "{text} {tool}");
        }
    }

    #[test]
    fn invalid_tool_names_are_refused() {
        use ToolPatternError::{InvalidName, MisplacedStar, MissingServer, PermissionRule};
        for (text, error) in [
            ("", InvalidName),
            ("Web Search", InvalidName),
            ("*", MisplacedStar),
            ("Web*", MisplacedStar),
            ("mcp__*", MisplacedStar),
            ("mcp__*__x", MisplacedStar),
            ("mcp__play*", MisplacedStar),
            ("mcp__a__*__b", MisplacedStar),
            ("mcp__a__**", MisplacedStar),
            ("mcp__", MissingServer),
            ("mcp____x", MissingServer),
            ("mcp__a__", MissingServer),
            ("Bash(npm run *)", PermissionRule),
        ] {
            assert_eq!(text.parse::<ToolPattern>(), Err(error), "{text}");
        }
    }

    #[test]
    fn only_known_deliverable_tools_are_recognized() {
        assert!(is_deliverable_tool("mcp__autonoe__set_status"));
        assert!(is_deliverable_tool("mcp__autonoe__context_get"));
        for other in
            ["mcp__autonoe__", "mcp__autonoe__shell", "mcp__autonoe__list__x", "mcp__other__list", "list"]
        {
            assert!(!is_deliverable_tool(other), "{other}");
        }
    }
}
