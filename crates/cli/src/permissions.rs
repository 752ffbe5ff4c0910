//! The permission rules and the tools of a project's configuration, read for the policy. A wrong one stops the run before
//! anything is asked or begun: ignoring it would leave the user with another policy than the one they wrote.

use std::fmt::Display;
use std::str::FromStr;

use autonoe_core::fault::{Fault, Layer};
use autonoe_policy::{PermissionRule, ToolPattern};
use autonoe_store::Project;
use autonoe_store::config::{AgentConfig, Effective};

/// The permission rules in force.
pub fn permission_rules(
    config: &AgentConfig,
    in_force: &Effective,
    project: &Project,
) -> Result<Vec<PermissionRule>, Fault> {
    let field = Field { name: "permissions.allow", entries: &config.permissions.allow, project };
    field.read(&in_force.permissions).map_err(|fault| {
        fault.hint(
            "Rules look like Read(./docs/**), Bash(npm run *), WebFetch(https://api.example.com/*) or mcp__server__*.",
        )
    })
}

/// The tools in force.
pub fn allowed_tools(
    config: &AgentConfig,
    in_force: &Effective,
    project: &Project,
) -> Result<Vec<ToolPattern>, Fault> {
    let field = Field { name: "allowedTools", entries: &config.allowed_tools, project };
    field.read(&in_force.tools).map_err(|fault| {
        fault.hint("Tools are named, such as WebSearch, mcp__server__tool or mcp__server__*.")
    })
}

/// A field of `.autonoe/agent.json`, to find the place of an entry that is wrong.
struct Field<'a> {
    name: &'a str,
    entries: &'a [String],
    project: &'a Project,
}

impl Field<'_> {
    fn read<T: FromStr<Err: Display>>(&self, in_force: &[String]) -> Result<Vec<T>, Fault> {
        in_force.iter().map(|entry| entry.parse().map_err(|error| self.wrong(entry, &error))).collect()
    }

    fn wrong(&self, entry: &str, error: &impl Display) -> Fault {
        let at = self.entries.iter().position(|other| other == entry);
        let place = at.map_or(String::new(), |at| format!("[{at}]"));
        let file = self.project.agent_config();
        Fault::lasting(
            Layer::Config,
            "agent_config",
            format!("{} is not valid: field {}{place}: '{entry}': {error}.", file.display(), self.name),
        )
    }
}
