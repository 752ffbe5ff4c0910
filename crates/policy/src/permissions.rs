//! Permission rules of seed 002 §5.4, such as `Read(./**)`, `Bash(npm run *)` or `WebFetch(https://api.example.com/*)`.
//!
//! A rule only ever allows. What a list of them covers is [`Permissions`]' business; paths and commands are judged by
//! their own gates beside it, and the strictest wins.

mod command_pattern;
mod files;
mod gate;
mod list;
mod path_pattern;
mod url_pattern;

use std::fmt;
use std::str::FromStr;

use crate::tool_pattern::{MCP, ToolPattern, ToolPatternError};
use command_pattern::CommandPattern;
use files::FileTool;
use path_pattern::PathPattern;
use url_pattern::UrlPattern;

pub use gate::PermissionGate;
pub use list::Permissions;

/// One rule.
#[derive(Debug, Clone)]
pub struct PermissionRule {
    text: String,
    scope: Scope,
}

/// What a rule allows; without a pattern, every use of its tool.
#[derive(Debug, Clone)]
enum Scope {
    File(FileTool, Option<PathPattern>),
    Bash(Option<CommandPattern>),
    WebFetch(Option<UrlPattern>),
    WebSearch,
    Mcp(ToolPattern),
}

/// Why a text is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// No such tool.
    #[error(
        "'{0}' is not a tool that rules are for; those are Read, Write, Edit, MultiEdit, NotebookRead, NotebookEdit, Glob, \
         Grep, LS, Bash, WebFetch, WebSearch and mcp__server__tool. Other tools go into allowedTools"
    )]
    UnknownTool(String),
    /// Parentheses that do not pair up.
    #[error("its parentheses do not pair up; a rule is a tool, or Tool(pattern)")]
    Unbalanced,
    /// `Tool()`
    #[error("its pattern is empty; leave the parentheses out to allow every use of the tool")]
    EmptyPattern,
    /// A pattern for a tool that has none.
    #[error("'{0}' takes no pattern; write the name alone")]
    NoPattern(String),
    /// `..`
    #[error("its pattern has '..'; write the path out")]
    Climbs,
    /// A pattern that names no files.
    #[error("its path is not understood: {0}")]
    NoPath(String),
    /// A pattern that is not a command.
    #[error("its command is not understood: {0}. It is a name and arguments, such as npm run *")]
    NoCommand(String),
    /// A pattern that is not an address.
    #[error("its address is not understood: {0}")]
    NoAddress(String),
    /// A name of no MCP tool.
    #[error(transparent)]
    Tool(#[from] ToolPatternError),
}

impl FromStr for PermissionRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let (tool, pattern) = parts(text)?;
        let scope = match (tool, pattern) {
            (_, Some("")) => return Err(RuleError::EmptyPattern),
            ("Bash", None | Some("*")) => Scope::Bash(None),
            ("Bash", Some(command)) => Scope::Bash(Some(command.parse()?)),
            ("WebFetch", None | Some("*")) => Scope::WebFetch(None),
            ("WebFetch", Some(address)) => Scope::WebFetch(Some(address.parse()?)),
            ("WebSearch", None | Some("*")) => Scope::WebSearch,
            ("WebSearch", Some(_)) => return Err(RuleError::NoPattern(tool.to_owned())),
            (mcp, None) if mcp.starts_with(MCP) => Scope::Mcp(mcp.parse()?),
            (mcp, Some(_)) if mcp.starts_with(MCP) => return Err(RuleError::NoPattern(tool.to_owned())),
            (_, path) => {
                let tool = FileTool::named(tool).ok_or_else(|| RuleError::UnknownTool(tool.to_owned()))?;
                Scope::File(tool, path.map(str::parse).transpose()?)
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

/// The tool and what is between the parentheses, which may hold further pairs.
fn parts(text: &str) -> Result<(&str, Option<&str>), RuleError> {
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
