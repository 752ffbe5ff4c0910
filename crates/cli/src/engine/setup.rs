//! Derives a run's inputs from configuration and environment: policy, tools, MCP servers, secrets to redact and paths.

use std::path::PathBuf;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::mode::Mode;
use autonoe_core::redact::SecretValues;
use autonoe_mcp::{ConfiguredServers, LoginStore, ServerConfig};
use autonoe_model::Provider;
use autonoe_policy::{PermissionSet, PolicyOptions, ToolPattern};
use autonoe_store::config::AgentConfig;
use autonoe_store::journal::history::History;
use autonoe_store::{LoginFiles, Project, UserConfig};
use autonoe_tools::{Outputs, ToolOptions};

use super::request::RunRequest;
use crate::backend_name::BackendName;
use crate::browser;
use crate::environment::Environment;
use crate::lock_project::removable_locks;
use crate::permissions::{allowed_tools, hook_files, hook_rules, permission_rules};
use crate::programs::{find_program, installation};
use crate::work_place::WorkPlace;

/// Configuration of the native agent's tools.
pub struct NativeTools {
    /// Skill directories and web hosts.
    pub options: ToolOptions,
    /// MCP servers of the project and of the user.
    pub servers: ConfiguredServers,
    /// Paths that must be readable for the user's servers and the browser to start.
    pub installed: Vec<PathBuf>,
}

/// All values to redact from output and files.
pub fn secrets(environment: &Environment, providers: &[Provider], user: &UserConfig) -> Vec<String> {
    let keys = providers.iter().filter_map(|provider| provider.api_key.clone());
    // A variable that is passed to a user's agent by name is most likely a key.
    let passed =
        user.agents.values().flat_map(|agent| &agent.env).filter_map(|name| environment.variable(name));
    let webhook_secret = user.webhooks.secret_variable.as_ref().and_then(|name| environment.variable(name));
    environment.secrets().into_iter().chain(keys).chain(passed).chain(webhook_secret).collect()
}

/// Tokens of logins are added to `secrets` when they are used.
pub fn native_tools(
    config: &AgentConfig,
    mode: Mode,
    project: &Project,
    environment: &Environment,
    user: &UserConfig,
    policy: &PolicyOptions,
    secrets: &SecretValues,
) -> Result<NativeTools, Fault> {
    let mut servers = config.effective(mode).mcp_servers;
    let is_configured =
        config.mcp_servers.as_ref().is_some_and(|servers| servers.contains_key(browser::NAME));
    let mut browser_files = Vec::new();
    if !is_configured
        && let Some(built_in) = servers.remove(browser::NAME)
        && let Some(found) = browser::server(project, environment, &built_in, policy.temp.as_deref())
    {
        servers.insert(browser::NAME.to_owned(), found.config);
        browser_files = found.reads;
    }
    let mut own: Vec<_> =
        servers.get(browser::NAME).filter(|_| !is_configured).cloned().into_iter().collect();
    if mode == Mode::Run {
        own.extend(user.mcp_servers.values().cloned());
        servers.extend(user.mcp_servers.clone());
    }
    let programs = own.iter().filter_map(|server| find_program(server["command"].as_str()?, environment));
    let installed =
        programs.map(|program| installation(&program, environment)).chain(browser_files).collect();
    let read = |(name, value): (String, serde_json::Value)| match ServerConfig::parse(&name, &value) {
        Ok(config) => Ok((name, config)),
        Err(error) => Err(Fault::permanent(
            FaultLayer::Config,
            "mcp_server",
            format!("An MCP server is misconfigured: {error}"),
        )),
    };
    let configs = servers.into_iter().map(read).collect::<Result<_, _>>()?;
    let logins = LoginStore::new(LoginFiles::new(&environment.state_home), secrets.clone());
    let servers = ConfiguredServers { configs, logins: Some(logins) };
    let root = project.root();
    let of_project =
        [".autonoe/skills", ".agents/skills", ".claude/skills"].map(|directory| root.join(directory));
    let of_user = environment.config_home.iter().map(|directory| directory.join("skills"));
    let of_others = environment.home.iter().map(|home| home.join(".claude/skills"));
    let skills = of_project.into_iter().chain(of_user).chain(of_others).collect();
    let web_hosts = PermissionSet::new(policy).web_hosts();
    Ok(NativeTools { options: ToolOptions { skills, web_hosts }, servers, installed })
}

/// Allows all tools of MCP servers that the user configured or approved.
pub fn mcp_tool_patterns(config: &AgentConfig, mode: Mode, user: &UserConfig) -> Vec<ToolPattern> {
    let of_project = config.mcp_servers.iter().flatten().map(|(name, _)| name);
    let names = of_project.chain(user.mcp_servers.keys()).filter(|_| mode == Mode::Run);
    names.filter_map(|name| format!("mcp__{name}__*").parse().ok()).collect()
}

/// A warning if the tool WebSearch is allowed and this agent has none.
pub fn no_web_search(backend: &BackendName, policy: &PolicyOptions) -> Option<String> {
    let is_allowed = policy.mode == Mode::Run && policy.tools.iter().any(|tool| tool.matches("WebSearch"));
    let has_none = match backend {
        // Codex searches without asking, so its search is off.
        BackendName::Native | BackendName::Codex => true,
        BackendName::Claude
        | BackendName::Gemini
        | BackendName::Acp(_)
        | BackendName::Configured(_)
        | BackendName::Replay(_) => false,
    };
    (is_allowed && has_none).then(|| {
        let name = backend.name();
        format!(
            "allowedTools has WebSearch, but the agent '{name}' has no such tool; claude and gemini have one, and an MCP \
             server can offer one to every agent."
        )
    })
}

/// The conversation for `--resume`; a fault if there is none.
pub fn last_conversation(project: &Project) -> Result<Option<serde_json::Value>, Fault> {
    let conversation = match History::open(&project.journal_file())? {
        Some(history) => history.last_conversation()?,
        None => None,
    };
    conversation.map(Some).ok_or_else(|| {
        Fault::permanent(FaultLayer::Config, "nothing_to_resume", "There is no conversation to resume.")
            .hint("Leave out --resume to start a new conversation.")
    })
}

/// Creates the outputs directory, since only an existing directory can be made readable. `None` if that fails.
pub fn create_outputs_dir(place: &WorkPlace) -> Option<PathBuf> {
    Outputs::new(&place.outputs).prepare().ok().map(|()| place.outputs.clone())
}

pub fn policy(
    request: &RunRequest<'_>,
    config: &AgentConfig,
    project: &Project,
    environment: &Environment,
    place: &WorkPlace,
) -> Result<PolicyOptions, Fault> {
    let in_force = config.effective(request.job.mode());
    Ok(PolicyOptions {
        permissions: permission_rules(config, &in_force, project)?,
        tools: allowed_tools(config, &in_force, project)?,
        hooks: hook_rules(&in_force, project)?,
        hook_files: hook_files(&in_force, project, place)?,
        profiles: in_force.profiles,
        allow_destructive: request.allow_destructive,
        allow_commands: [in_force.commands, request.allow_commands.clone()].concat(),
        pkill_targets: in_force.pkill_targets,
        home: environment.home.clone(),
        git_locks: removable_locks(project),
        ..PolicyOptions::new(request.job.mode(), &place.root)
    })
}
