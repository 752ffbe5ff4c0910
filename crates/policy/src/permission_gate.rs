//! The gate for permission rules. A call of a tool that has permission rules must be covered by one of them. That is
//! necessary but not sufficient: the other gates also judge what may be written and run.

use std::path::Path;

use async_trait::async_trait;
use autonoe_core::gate::{Decision, Gate, ToolCall};
use serde_json::Value;

use crate::paths::real_path;
use crate::permission_set::{Coverage, PermissionSet};
use crate::permissions::files::FileTool;
use crate::permissions::path_pattern::PathExtent;
use crate::tool_pattern::{MCP_PREFIX, is_deliverable_tool};

pub struct PermissionGate {
    permissions: PermissionSet,
}

impl PermissionGate {
    pub fn new(permissions: PermissionSet) -> Self {
        Self { permissions }
    }

    /// Abstains if only a rule for a related tool covers the call, because that rule does not allow this tool itself,
    /// and for reads of paths outside the project that the path rules decide about.
    fn file(&self, tool: FileTool, input: &Value) -> Decision {
        let targets = match tool.targets(input) {
            Ok(targets) => targets,
            Err(denial) => return Decision::Deny(denial.to_string()),
        };
        let mut allowed = true;
        for target in targets {
            let shown = target.display().to_string();
            let Ok(real) = real_path(&self.permissions.root().join(&target)) else {
                return Decision::Deny(format!("The path '{shown}' cannot be resolved."));
            };
            let extent = if tool.searches() && !real.is_file() { PathExtent::Tree } else { PathExtent::File };
            match self.permissions.file_coverage(tool, &real, extent) {
                Coverage::ExactTool => {}
                Coverage::RelatedTool => allowed = false,
                Coverage::None if tool.only_reads() && self.permissions.is_readable(&real) => allowed = false,
                Coverage::None => {
                    let example = self.example_path(&real, extent);
                    return self.not_covered(tool.name(), &shown, &format!("{}({example})", tool.name()));
                }
            }
        }
        if allowed { Decision::Allow } else { Decision::Abstain }
    }

    fn command(&self, input: &Value) -> Decision {
        let Some(Value::String(command)) = input.get("command") else {
            return Decision::Deny("The Bash tool requires 'command' as a string.".into());
        };
        if self.permissions.covers_command(command) {
            return Decision::Allow;
        }
        let first = command.split_whitespace().next().unwrap_or("npm run");
        self.not_covered("Bash", command, &format!("Bash({first} *)"))
    }

    fn web_fetch(&self, input: &Value) -> Decision {
        let Some(Value::String(url)) = input.get("url") else {
            return Decision::Deny("The WebFetch tool requires 'url' as a string.".into());
        };
        if self.permissions.covers_url(url) {
            return Decision::Allow;
        }
        self.not_covered("WebFetch", url, "WebFetch(https://api.example.com/*)")
    }

    fn tool_name(&self, tool: &str) -> Decision {
        if self.permissions.covers_tool(tool) { Decision::Allow } else { self.not_covered(tool, tool, tool) }
    }

    fn not_covered(&self, tool: &str, subject: &str, example: &str) -> Decision {
        let rules = self.permissions.describe_rules_for(tool);
        Decision::Deny(format!(
            "No permission rule covers {tool} for '{subject}' (existing rules: {rules}). The user can add one to \
             permissions.allow in .autonoe/agent.json, such as \"{example}\"."
        ))
    }

    /// A path in the form that a permission rule uses.
    fn example_path(&self, real: &Path, extent: PathExtent) -> String {
        let path = match real.strip_prefix(self.permissions.root()) {
            Ok(inside) => Path::new(".").join(inside),
            Err(_) => real.to_owned(),
        };
        match extent {
            PathExtent::File => path.display().to_string(),
            PathExtent::Tree => path.join("**").display().to_string(),
        }
    }
}

#[async_trait]
impl Gate for PermissionGate {
    fn name(&self) -> &str {
        "permissions"
    }

    async fn check(&self, call: &ToolCall) -> Decision {
        let name = call.name.as_str();
        if let Some(tool) = FileTool::from_name(name) {
            return self.file(tool, &call.input);
        }
        let on_network = matches!(name, "WebFetch" | "WebSearch") || name.starts_with(MCP_PREFIX);
        match name {
            _ if is_deliverable_tool(name) => Decision::Abstain,
            _ if on_network && !self.permissions.has_network() => Decision::Deny(format!(
                "Sync has no network and no MCP servers, so '{name}' is not available."
            )),
            "Bash" => self.command(&call.input),
            "WebFetch" => self.web_fetch(&call.input),
            _ if on_network => self.tool_name(name),
            _ => Decision::Abstain,
        }
    }
}

#[cfg(test)]
mod tests;
