//! Parses the permission rules, tools and hooks of a project's configuration. An invalid entry stops the run before it starts: skipping it
//! would leave the user with a policy other than the one they wrote.

use std::fmt::Display;
use std::str::FromStr;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_policy::{
    ApprovedFile, HookMatcher, HookRule, NamedFile, PermissionRule, PolicyLevel, ToolPattern,
};
use autonoe_sandbox::SandboxLayer;
use autonoe_store::Project;
use autonoe_store::config::{AgentConfig, EffectiveConfig, HookCommand, HookEntry, PolicyChoice};

use crate::present::cut;
use crate::work_place::WorkPlace;

/// Characters of a command in a warning.
const SHOWN_COMMAND: usize = 80;

pub fn permission_rules(
    config: &AgentConfig,
    in_force: &EffectiveConfig,
    project: &Project,
) -> Result<Vec<PermissionRule>, Fault> {
    let field = Field { name: "permissions.allow", entries: &config.permissions.allow, project };
    field.read(&in_force.permissions).map_err(|fault| {
        fault.hint(
            "Use a rule such as Read(./docs/**), Bash(npm run *), WebFetch(https://api.example.com/*) or mcp__server__*.",
        )
    })
}

pub fn allowed_tools(
    config: &AgentConfig,
    in_force: &EffectiveConfig,
    project: &Project,
) -> Result<Vec<ToolPattern>, Fault> {
    let field = Field { name: "allowedTools", entries: &config.allowed_tools, project };
    field.read(&in_force.tools).map_err(|fault| {
        fault.hint("Use a tool name such as WebSearch, mcp__server__tool or mcp__server__*.")
    })
}

/// The commands of hooks. Built-in hooks are the other gates, which are always there.
pub fn hook_rules(in_force: &EffectiveConfig, project: &Project) -> Result<Vec<HookRule>, Fault> {
    let mut rules = Vec::new();
    for entry in &in_force.hooks {
        let group = match entry {
            HookEntry::BuiltIn(_) => continue,
            HookEntry::Commands(group) => group,
        };
        let matcher = HookMatcher::parse(&group.matcher).map_err(|error| {
            let field = Field { name: "hooks.PreToolUse", entries: &[], project };
            field
                .invalid(&group.matcher, &format_args!("this matcher is not a regular expression: {error}"))
                .hint("Use the names of tools such as Bash|Edit, a regular expression such as mcp__.*, or * for every tool.")
        })?;
        rules.extend(group.hooks.iter().map(|hook| HookRule {
            matcher: matcher.clone(),
            command: hook.command.clone(),
            time_limit: hook.timeout,
        }));
    }
    Ok(rules)
}

/// The level of the command policy. In a workspace nothing of the user's is in the room, so that a layer that holds the rest is enough.
pub fn policy_level(config: &AgentConfig, layer: SandboxLayer, in_workspace: bool) -> PolicyLevel {
    let is_held = in_workspace && layer == SandboxLayer::Bubblewrap;
    match config.policy {
        Some(PolicyChoice::Contained) | None if is_held => PolicyLevel::Contained,
        _ => PolicyLevel::Strict,
    }
}

/// The project's own files that hooks run, as the user has them now.
pub fn hook_files(
    in_force: &EffectiveConfig,
    project: &Project,
    place: &WorkPlace,
) -> Result<Vec<ApprovedFile>, Fault> {
    let files = hook_commands(in_force).flat_map(|hook| hook.read(project.root()).files);
    let approved = files.map(|NamedFile { path, named }| {
        let agents = place.agents_path(project, path.clone());
        ApprovedFile::read(&path, agents, place.root.join(named)).map_err(|error| {
            let message = format!("{}, which a hook runs, cannot be read: {error}.", path.display());
            Fault::permanent(FaultLayer::Config, "agent_config", message)
        })
    });
    approved.collect()
}

/// A warning for each hook whose command does not tell what it runs.
pub fn hooks_not_covered(in_force: &EffectiveConfig, project: &Project) -> Vec<String> {
    let hooks = hook_commands(in_force).filter(|hook| !hook.read(project.root()).is_complete);
    let mut warnings: Vec<String> = hooks
        .map(|hook| {
            let command = cut(&hook.command, SHOWN_COMMAND);
            format!(
                "what the hook '{command}' runs cannot be known from its command, so your approval does not cover it and agents may \
                 change it; name its script by a literal path in .autonoe/."
            )
        })
        .collect();
    warnings.sort();
    warnings.dedup();
    warnings
}

fn hook_commands(in_force: &EffectiveConfig) -> impl Iterator<Item = &HookCommand> {
    let groups = in_force.hooks.iter().filter_map(|entry| match entry {
        HookEntry::BuiltIn(_) => None,
        HookEntry::Commands(group) => Some(group),
    });
    groups.flat_map(|group| &group.hooks)
}

/// A list in `.autonoe/agent.json`; error messages name the index of the invalid entry.
struct Field<'a> {
    name: &'a str,
    entries: &'a [String],
    project: &'a Project,
}

impl Field<'_> {
    fn read<T: FromStr<Err: Display>>(&self, in_force: &[String]) -> Result<Vec<T>, Fault> {
        in_force.iter().map(|entry| entry.parse().map_err(|error| self.invalid(entry, &error))).collect()
    }

    fn invalid(&self, entry: &str, error: &impl Display) -> Fault {
        let index = self.entries.iter().position(|other| other == entry);
        let index = index.map_or(String::new(), |index| format!("[{index}]"));
        let file = self.project.agent_config();
        Fault::permanent(
            FaultLayer::Config,
            "agent_config",
            format!("{} is not valid: field {}{index}: '{entry}': {error}.", file.display(), self.name),
        )
    }
}
