//! The gate that asks the permission rules. A call of a tool that rules are for must be covered by one of them; that is
//! needed, and not enough: what may be written and run is judged by the other gates as well.

use std::path::Path;

use async_trait::async_trait;
use autonoe_core::gate::{Decision, Gate, ToolCall};
use serde_json::Value;

use super::files::FileTool;
use super::list::{Coverage, Permissions};
use super::path_pattern::Reach;
use crate::paths::real_path;
use crate::tool_pattern::{MCP, is_deliverable_tool};

/// Judges calls by permission rules.
pub struct PermissionGate {
    permissions: Permissions,
}

impl PermissionGate {
    /// A gate that asks these rules.
    pub fn new(permissions: Permissions) -> Self {
        Self { permissions }
    }

    /// A covered call of a kindred tool is not vouched for: that a tool may be used is for its own name to say. Reads
    /// of the toolchain and of what else may be read are left to the path rules.
    fn file(&self, tool: FileTool, input: &Value) -> Decision {
        let targets = match tool.targets(input) {
            Ok(targets) => targets,
            Err(reason) => return Decision::Deny(reason),
        };
        let mut vouched = true;
        for target in targets {
            let shown = target.display().to_string();
            let Ok(real) = real_path(&self.permissions.root().join(&target)) else {
                return Decision::Deny(format!("Where the path '{shown}' leads is not known."));
            };
            let reach = if tool.searches() && !real.is_file() { Reach::Tree } else { Reach::File };
            match self.permissions.file(tool, &real, reach) {
                Coverage::Own => {}
                Coverage::Kindred => vouched = false,
                Coverage::None if tool.only_reads() && self.permissions.is_readable(&real) => vouched = false,
                Coverage::None => {
                    let example = self.example_path(&real, reach);
                    return self.not_covered(tool.name(), &shown, &format!("{}({example})", tool.name()));
                }
            }
        }
        if vouched { Decision::Allow } else { Decision::Abstain }
    }

    fn command(&self, input: &Value) -> Decision {
        let Some(Value::String(command)) = input.get("command") else {
            return Decision::Deny("The tool Bash needs its command as a string.".into());
        };
        if self.permissions.command(command) {
            return Decision::Allow;
        }
        let first = command.split_whitespace().next().unwrap_or("npm run");
        self.not_covered("Bash", command, &format!("Bash({first} *)"))
    }

    fn address(&self, input: &Value) -> Decision {
        let Some(Value::String(address)) = input.get("url") else {
            return Decision::Deny("The tool WebFetch needs its url as a string.".into());
        };
        if self.permissions.address(address) {
            return Decision::Allow;
        }
        self.not_covered("WebFetch", address, "WebFetch(https://api.example.com/*)")
    }

    fn named(&self, tool: &str) -> Decision {
        if self.permissions.tool(tool) { Decision::Allow } else { self.not_covered(tool, tool, tool) }
    }

    fn not_covered(&self, tool: &str, what: &str, example: &str) -> Decision {
        let rules = self.permissions.shown(tool);
        Decision::Deny(format!(
            "No permission rule covers {tool} of '{what}' (rules for it: {rules}). The user can add one to \
             permissions.allow in .autonoe/agent.json, such as \"{example}\"."
        ))
    }

    /// A path as a rule would write it.
    fn example_path(&self, real: &Path, reach: Reach) -> String {
        let path = match real.strip_prefix(self.permissions.root()) {
            Ok(inside) => Path::new(".").join(inside),
            Err(_) => real.to_owned(),
        };
        match reach {
            Reach::File => path.display().to_string(),
            Reach::Tree => path.join("**").display().to_string(),
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
        if let Some(tool) = FileTool::named(name) {
            return self.file(tool, &call.input);
        }
        let on_network = matches!(name, "WebFetch" | "WebSearch") || name.starts_with(MCP);
        match name {
            _ if is_deliverable_tool(name) => Decision::Abstain,
            _ if on_network && !self.permissions.has_network() => {
                Decision::Deny(format!("Sync has no network and no MCP servers: '{name}' is not for it."))
            }
            "Bash" => self.command(&call.input),
            "WebFetch" => self.address(&call.input),
            _ if on_network => self.named(name),
            _ => Decision::Abstain,
        }
    }
}
