//! Permission rules of seed 002 §5.4, such as `Read(./**)`, `Bash(npm run *)` or `WebFetch(https://api.example.com/*)`.
//!
//! A rule can only allow. [`PermissionSet`] decides which calls a list of rules covers. The path and command gates judge
//! the same calls, and the strictest decision wins.

mod command_pattern;
mod files;
mod gate;
mod path_pattern;
mod permission_set;
mod url_pattern;

use std::fmt;
use std::str::FromStr;

use crate::tool_pattern::{MCP_PREFIX, ToolPattern, ToolPatternError};
use command_pattern::CommandPattern;
use files::FileTool;
use path_pattern::PathPattern;
use url_pattern::UrlPattern;

pub use gate::PermissionGate;
pub use permission_set::PermissionSet;

#[derive(Debug, Clone)]
pub struct PermissionRule {
    text: String,
    scope: RuleScope,
}

/// The calls that a rule allows; without a pattern, every call of the tool.
#[derive(Debug, Clone)]
enum RuleScope {
    File(FileTool, Option<PathPattern>),
    Bash(Option<CommandPattern>),
    WebFetch(Option<UrlPattern>),
    WebSearch,
    Mcp(ToolPattern),
}

/// Why a text is not a permission rule.
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

impl FromStr for PermissionRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let (tool, pattern) = split_rule(text)?;
        let scope = match (tool, pattern) {
            (_, Some("")) => return Err(RuleError::EmptyPattern),
            ("Bash", None | Some("*")) => RuleScope::Bash(None),
            ("Bash", Some(command)) => RuleScope::Bash(Some(command.parse()?)),
            ("WebFetch", None | Some("*")) => RuleScope::WebFetch(None),
            ("WebFetch", Some(url)) => RuleScope::WebFetch(Some(url.parse()?)),
            ("WebSearch", None | Some("*")) => RuleScope::WebSearch,
            ("WebSearch", Some(_)) => return Err(RuleError::PatternNotAllowed(tool.to_owned())),
            (mcp, None) if mcp.starts_with(MCP_PREFIX) => RuleScope::Mcp(mcp.parse()?),
            (mcp, Some(_)) if mcp.starts_with(MCP_PREFIX) => {
                return Err(RuleError::PatternNotAllowed(tool.to_owned()));
            }
            (_, path) => {
                let tool =
                    FileTool::from_name(tool).ok_or_else(|| RuleError::UnknownTool(tool.to_owned()))?;
                RuleScope::File(tool, path.map(str::parse).transpose()?)
            }
        };
        Ok(Self { text: text.to_owned(), scope })
    }
}

impl fmt::Display for PermissionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The tool and the text between the outer parentheses, which may contain further pairs.
fn split_rule(text: &str) -> Result<(&str, Option<&str>), RuleError> {
    let Some((tool, rest)) = text.split_once('(') else {
        return if text.contains(')') { Err(RuleError::Unbalanced) } else { Ok((text, None)) };
    };
    let pattern = rest.strip_suffix(')').ok_or(RuleError::Unbalanced)?;
    let depth = pattern.chars().try_fold(0_usize, |depth, character| match character {
        '(' => Some(depth + 1),
        ')' => depth.checked_sub(1),
        _ => Some(depth),
    });
    if depth == Some(0) { Ok((tool, Some(pattern.trim()))) } else { Err(RuleError::Unbalanced) }
}

#[cfg(test)]
mod tests;
