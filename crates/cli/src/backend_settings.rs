//! The settings of each backend of a run, read from names, configuration and the environment before the run starts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use autonoe_agents::replay::{Cassette, ReplayBackend};
use autonoe_agents::{
    AcpBackend, ClaudeBackend, CodexBackend, GeminiBackend, KeyPlacement, ModelService, NativeBackend,
    NativeSettings, UserProvider, VendorLogin, VendorProfile, VendorSettings, claude, codex, gemini,
};
use autonoe_core::agent::Backend;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_deliverables::DeliverableService;
use autonoe_model::PriceList;
use autonoe_sandbox::{EgressRules, Key, Route};
use autonoe_store::AcpAgentConfig;

use crate::backend_name::{BackendName, not_configured};
use crate::command_line::CommandLine;
use crate::environment::Environment;
use crate::programs::{find_program, installation};
use crate::recordings::read_cassette;
use crate::vendors;

/// Everything that a backend needs except the deliverable tools, which exist only while the run does.
pub enum BackendSettings {
    Native(NativeSettings),
    Claude(VendorSettings),
    Codex(VendorSettings),
    Gemini(VendorSettings),
    Acp { name: String, settings: VendorSettings },
    Replay(Cassette),
}

impl BackendSettings {
    pub fn build(self, deliverables: Arc<DeliverableService>) -> Result<Box<dyn Backend>, Fault> {
        Ok(match self {
            Self::Native(settings) => Box::new(NativeBackend::new(settings, deliverables)?),
            Self::Claude(settings) => Box::new(ClaudeBackend::new(settings, deliverables)),
            Self::Codex(settings) => Box::new(CodexBackend::new(settings, deliverables)),
            Self::Gemini(settings) => Box::new(GeminiBackend::new(settings, deliverables)),
            Self::Acp { name, settings } => Box::new(AcpBackend::new(name, settings, deliverables)),
            Self::Replay(cassette) => Box::new(ReplayBackend::new(cassette, deliverables)),
        })
    }
}

pub struct SettingsReader<'a> {
    pub environment: &'a Environment,
    pub native: NativeSettings,
    pub prices: Arc<PriceList>,
    /// Socket on which deliverable tool calls are served.
    pub calls: PathBuf,
    /// `[agents.NAME]` of the user's config.toml.
    pub agents: BTreeMap<String, AcpAgentConfig>,
}

impl SettingsReader<'_> {
    pub fn read(&self, name: &BackendName) -> Result<BackendSettings, Fault> {
        Ok(match name {
            BackendName::Native => BackendSettings::Native(self.native.clone()),
            BackendName::Claude => {
                let service = service(name, &claude::PROFILE, self.environment);
                BackendSettings::Claude(self.vendor_settings(name, &claude::PROFILE, service)?)
            }
            BackendName::Codex => BackendSettings::Codex(self.codex_settings()?),
            BackendName::Gemini => {
                let service = service(name, &gemini::PROFILE, self.environment);
                BackendSettings::Gemini(self.vendor_settings(name, &gemini::PROFILE, service)?)
            }
            BackendName::Replay(file) => BackendSettings::Replay(read_cassette(file)?),
            BackendName::Acp(CommandLine { env, words }) => {
                let settings = self.acp_settings(name.name(), words, env.clone(), &[])?;
                BackendSettings::Acp { name: name.name().to_owned(), settings }
            }
            BackendName::Configured(name) => {
                let agent = self.agents.get(name).ok_or_else(|| not_configured(name, &self.agents))?;
                let from_environment = |name: &String| Some((name.clone(), self.environment.variable(name)?));
                let env = agent.env.iter().filter_map(from_environment).collect();
                let settings = self.acp_settings(name, &agent.command, env, &agent.hosts)?;
                BackendSettings::Acp { name: name.clone(), settings }
            }
        })
    }

    /// Settings of an ACP agent, of which only the command is known. Its files live in the room's home directory.
    fn acp_settings(
        &self,
        name: &str,
        command: &[String],
        env: Vec<(String, String)>,
        hosts: &[String],
    ) -> Result<VendorSettings, Fault> {
        let environment = self.environment;
        let (program, args) = command.split_first().ok_or_else(|| not_found(name, "", None))?;
        let found = find_program(program, environment).ok_or_else(|| not_found(name, program, None))?;
        let mut room_config = self.native.room_config.clone();
        room_config.bounds.read.push(installation(&found, environment));
        let mut egress = (*room_config.egress).clone();
        allow_hosts(&mut egress, hosts.iter().map(String::as_str))?;
        room_config.egress = Arc::new(egress);
        Ok(VendorSettings {
            root: self.native.root.clone(),
            command: std::iter::once(found.display().to_string()).chain(args.iter().cloned()).collect(),
            home: room_config.bounds.home.join(".acp"),
            room_config,
            login: VendorLogin::default(),
            service: None,
            env,
            calls: self.calls.clone(),
            servers: self.native.mcp_servers.clone(),
            prices: Arc::clone(&self.prices),
        })
    }

    /// Falls back to the model provider of the user's Codex configuration if the environment names none.
    fn codex_settings(&self) -> Result<VendorSettings, Fault> {
        let provider = vendors::directory(&codex::PROFILE, self.environment)
            .map(|directory| UserProvider::read(&directory));
        let provider = provider.unwrap_or_default();
        let service = service(&BackendName::Codex, &codex::PROFILE, self.environment).or_else(|| {
            let base_url = Some(provider.base_url()?.to_owned());
            let key = provider.key_variable().and_then(|name| self.environment.variable(name));
            Some(ModelService { route: codex::NAME.to_owned(), base_url, key })
        });
        let mut settings = self.vendor_settings(&BackendName::Codex, &codex::PROFILE, service)?;
        for name in provider.header_variables() {
            settings.env.extend(self.environment.variable(&name).map(|value| (name, value)));
        }
        Ok(settings)
    }

    fn vendor_settings(
        &self,
        name: &BackendName,
        vendor: &VendorProfile,
        service: Option<ModelService>,
    ) -> Result<VendorSettings, Fault> {
        let environment = self.environment;
        let program = find_program(vendor.program, environment)
            .ok_or_else(|| not_found(name.name(), vendor.program, Some(vendor.install)))?;
        let mut room_config = self.native.room_config.clone();
        room_config.bounds.read.push(installation(&program, environment));
        let mut egress = (*room_config.egress).clone();
        if let Some(service) = &service {
            egress.routes.push(route(vendor, service)?);
        }
        allow_hosts(&mut egress, vendor.hosts.iter().copied())?;
        room_config.egress = Arc::new(egress);
        let passed = vendor.passed.iter().chain(vendor.tokens);
        let env = passed.filter_map(|name| Some(((*name).to_owned(), environment.variable(name)?))).collect();
        Ok(VendorSettings {
            root: self.native.root.clone(),
            command: vec![program.display().to_string()],
            home: room_config.bounds.home.join(vendor.home.1),
            room_config,
            login: VendorLogin { directory: vendors::directory(vendor, environment), files: vendor.home.2 },
            service,
            env,
            calls: self.calls.clone(),
            servers: self.native.mcp_servers.clone(),
            prices: Arc::clone(&self.prices),
        })
    }
}

/// The model service of a vendor's agent; `None` unless the environment has a key or a base URL for it.
fn service(name: &BackendName, vendor: &VendorProfile, environment: &Environment) -> Option<ModelService> {
    let key = vendor.key.0.iter().find_map(|name| environment.variable(name));
    let base_url = environment.variable(vendor.base_url.0);
    let is_configured = key.is_some() || base_url.is_some();
    is_configured.then(|| ModelService { route: name.name().to_owned(), base_url, key })
}

fn route(vendor: &VendorProfile, service: &ModelService) -> Result<Route, Fault> {
    let wrong = |error: &dyn std::fmt::Display| {
        Fault::permanent(FaultLayer::Config, "base_url", format!("{}: {error}.", vendor.base_url.0))
    };
    let key = service.key.as_ref().map(|key| match vendor.key.1 {
        KeyPlacement::Header(name) => Key::header(name, key),
        KeyPlacement::Bearer => Key::bearer(key),
    });
    let key = key.transpose();
    let key = key.map_err(|error| wrong(&error))?;
    let base_url = service.base_url.as_deref().unwrap_or(vendor.base_url.1);
    Route::new(&service.route, base_url, key).map_err(|error| wrong(&error))
}

fn allow_hosts<'a>(egress: &mut EgressRules, hosts: impl Iterator<Item = &'a str>) -> Result<(), Fault> {
    for host in hosts {
        egress.allow.push(host.parse().map_err(|error| {
            Fault::permanent(FaultLayer::Config, "host", format!("'{host}' is not a host: {error}."))
        })?);
    }
    Ok(())
}

fn not_found(name: &str, program: &str, install: Option<&str>) -> Fault {
    let message = format!("The agent '{name}' cannot be used: `{program}` is not on the PATH.");
    let install = install.map_or_else(|| "Install it".to_owned(), |how| format!("Install it with `{how}`"));
    Fault::permanent(FaultLayer::Config, "agent_not_found", message).hint(format!(
        "{install}, or choose another agent with --backend: `native` needs only a model provider's key. \
         `autonoe doctor` shows which agents are ready."
    ))
}
