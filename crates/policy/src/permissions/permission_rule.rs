//! One permission rule: its text, and the calls that it allows.

use std::fmt;
use std::str::FromStr;

use super::command_pattern::CommandPattern;
use super::files::FileTool;
use super::path_pattern::PathPattern;
use super::rule_error::RuleError;
use super::url_pattern::UrlPattern;
use crate::tool_pattern::{MCP_PREFIX, ToolPattern};

#[derive(Debug, Clone)]
pub struct PermissionRule {
    text: String,
    pub(crate) scope: RuleScope,
}

/// The calls that a rule allows; without a pattern, every call of the tool.
#[derive(Debug, Clone)]
pub(crate) enum RuleScope {
    File(FileTool, Option<PathPattern>),
    Bash(Option<CommandPattern>),
    WebFetch(Option<UrlPattern>),
    WebSearch,
    Mcp(ToolPattern),
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
