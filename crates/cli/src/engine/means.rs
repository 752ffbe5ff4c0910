//! What a run is given beside its plan: the policy its tools are judged by, the tools themselves, and what must not be shown.

use std::collections::BTreeMap;
use std::path::PathBuf;

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::mode::Mode;
use autonoe_model::Provider;
use autonoe_policy::{Permissions, PolicyOptions, ToolPattern};
use autonoe_store::config::AgentConfig;
use autonoe_store::journal::history::History;
use autonoe_store::{Project, UserConfig, sha256_hex};
use autonoe_tools::{Outputs, ServerConfig, ToolOptions};

use super::Request;
use crate::acquire::removable_locks;
use crate::browser;
use crate::environment::Environment;
use crate::permissions::{allowed_tools, permission_rules};
use crate::programs::{find_program, installation};

/// The longest path a Unix socket can have, with room to spare.
const MAX_SOCKET_PATH: usize = 100;

/// What its tools need beside the project.
pub struct NativeTools {
    /// Skills and hosts.
    pub options: ToolOptions,
    /// The MCP servers of the project and of the user.
    pub servers: BTreeMap<String, ServerConfig>,
    /// What must be readable for the user's own servers and the browser to start.
    pub installed: Vec<PathBuf>,
}

/// Everything that must never be shown or written down.
pub fn secrets(environment: &Environment, providers: &[Provider], user: &UserConfig) -> Vec<String> {
    let keys = providers.iter().filter_map(|provider| provider.api_key.clone());
    // What an agent of the user's is passed by name is most likely a key.
    let passed =
        user.agents.values().flat_map(|agent| &agent.env).filter_map(|name| environment.variable(name));
    let signs = user.webhooks.secret_variable.as_ref().and_then(|name| environment.variable(name));
    environment.secrets().into_iter().chain(keys).chain(passed).chain(signs).collect()
}

/// What the native agent's tools need: skills, hosts, and the MCP servers of the project and of the user.
pub fn native_tools(
    config: &AgentConfig,
    mode: Mode,
    project: &Project,
    environment: &Environment,
    user: &UserConfig,
    policy: &PolicyOptions,
) -> Result<NativeTools, Fault> {
    let mut servers = config.effective(mode).mcp_servers;
    let named = config.mcp_servers.as_ref().is_some_and(|named| named.contains_key(browser::NAME));
    if !named && let Some(built_in) = servers.remove(browser::NAME) {
        let found = browser::server(project, environment, &built_in, policy.temp.as_deref());
        servers.extend(found.map(|server| (browser::NAME.to_owned(), server)));
    }
    let mut own: Vec<_> = servers.get(browser::NAME).filter(|_| !named).cloned().into_iter().collect();
    if mode == Mode::Run {
        own.extend(user.mcp_servers.values().cloned());
        servers.extend(user.mcp_servers.clone());
    }
    let programs = own.iter().filter_map(|server| find_program(server["command"].as_str()?, environment));
    let installed = programs.map(|program| installation(&program, environment)).collect();
    let read = |(name, value): (String, serde_json::Value)| match ServerConfig::parse(&name, &value) {
        Ok(config) => Ok((name, config)),
        Err(error) => Err(Fault::lasting(
            Layer::Config,
            "mcp_server",
            format!("An MCP server is not configured rightly: {error}"),
        )),
    };
    let servers = servers.into_iter().map(read).collect::<Result<_, _>>()?;
    let root = project.root();
    let of_project = [".autonoe/skills", ".agents/skills", ".claude/skills"].map(|place| root.join(place));
    let of_user = environment.config_home.iter().map(|place| place.join("skills"));
    let of_others = environment.home.iter().map(|home| home.join(".claude/skills"));
    let skills = of_project.into_iter().chain(of_user).chain(of_others).collect();
    let web_hosts = Permissions::new(policy).web_hosts();
    Ok(NativeTools { options: ToolOptions { skills, web_hosts }, servers, installed })
}

/// The tools of MCP servers that the user configured, or agreed to: allowed as they come.
pub fn tools_of_servers(config: &AgentConfig, mode: Mode, user: &UserConfig) -> Vec<ToolPattern> {
    let of_project = config.mcp_servers.iter().flatten().map(|(name, _)| name);
    let names = of_project.chain(user.mcp_servers.keys()).filter(|_| mode == Mode::Run);
    names.filter_map(|name| format!("mcp__{name}__*").parse().ok()).collect()
}

/// The conversation that `--resume` resumes.
pub fn last_conversation(project: &Project) -> Result<Option<serde_json::Value>, Fault> {
    let kept = match History::open(&project.journal_file())? {
        Some(history) => history.last_conversation()?,
        None => None,
    };
    kept.map(Some).ok_or_else(|| {
        Fault::lasting(Layer::Config, "nothing_to_resume", "There is no conversation to resume.")
            .hint("Leave --resume out; the next session starts afresh.")
    })
}

/// The same directory, made if need be: what does not exist cannot be allowed to be read.
pub fn prepared_outputs(project: &Project) -> Option<PathBuf> {
    let directory = outputs(project);
    Outputs::new(&directory).prepare().ok().map(|()| directory)
}

/// Where outputs are saved that are too long for a model.
pub fn outputs(project: &Project) -> PathBuf {
    project.state_dir().join("outputs")
}

/// What the agent's commands are judged by.
pub fn policy(
    request: &Request<'_>,
    config: &AgentConfig,
    project: &Project,
    environment: &Environment,
) -> Result<PolicyOptions, Fault> {
    let in_force = config.effective(request.job.mode());
    Ok(PolicyOptions {
        permissions: permission_rules(config, &in_force, project)?,
        tools: allowed_tools(config, &in_force, project)?,
        profiles: in_force.profiles,
        allow_destructive: request.allow_destructive,
        allow_commands: [in_force.commands, request.allow_commands.clone()].concat(),
        pkill_targets: in_force.pkill_targets,
        home: environment.home.clone(),
        git_locks: removable_locks(project),
        ..PolicyOptions::new(request.job.mode(), project.root())
    })
}

/// The socket for `autonoe mcp`: beside the lock, or in the temporary directory where that path is too long.
pub fn socket_path(project: &Project) -> PathBuf {
    let beside = project.state_dir().join("calls.sock");
    if beside.as_os_str().len() <= MAX_SOCKET_PATH {
        return beside;
    }
    let hash = sha256_hex(project.state_dir().as_os_str().as_encoded_bytes());
    std::env::temp_dir().join(format!("autonoe-{}.sock", &hash[..16]))
}
