//! Why a text is not a permission rule.

use crate::tool_pattern::ToolPatternError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error(
        "'{0}' is not a tool with permission rules; those are Read, Write, Edit, MultiEdit, NotebookRead, NotebookEdit, Glob, \
         Grep, LS, Bash, WebFetch, WebSearch and mcp__server__tool. List other tools in allowedTools"
    )]
    UnknownTool(String),
    #[error("the parentheses are unbalanced; a rule has the form Tool or Tool(pattern)")]
    Unbalanced,
    #[error("the pattern is empty; omit the parentheses to allow every call of the tool")]
    EmptyPattern,
    #[error("'{0}' takes no pattern; write only the name")]
    PatternNotAllowed(String),
    #[error("the pattern contains '..'; write the path without it")]
    ParentSegment,
    #[error("the path is invalid: {0}")]
    InvalidPath(String),
    #[error("the command is invalid: {0}. Write a name and arguments, such as npm run *")]
    InvalidCommand(String),
    #[error("the URL is invalid: {0}")]
    InvalidUrl(String),
    #[error(transparent)]
    Tool(#[from] ToolPatternError),
}
