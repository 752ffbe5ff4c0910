//! How each agent is put together.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use autonoe_agents::replay::ReplayBackend;
use autonoe_agents::{
    AcpBackend, ClaudeBackend, CodexBackend, GeminiBackend, Login, ModelService, NativeBackend,
    NativeSettings, UserProvider, VendorSettings, codex,
};
use autonoe_core::agent::Backend;
use autonoe_core::fault::{Fault, Layer};
use autonoe_deliverables::DeliverableService;
use autonoe_model::PriceList;
use autonoe_sandbox::{EgressRules, Key, RoomConfig, Route};
use autonoe_store::AgentCommand;
use autonoe_tools::ServerConfig;

use crate::backend_name::{BackendName, not_configured};
use crate::command_line::CommandLine;
use crate::environment::Environment;
use crate::programs::{find_program, installation};
use crate::recordings::read_cassette;
use crate::vendors::{CLAUDE, CODEX, GEMINI, Sent, Vendor};

/// What all agents of a run are made from.
pub struct BackendFactory<'a> {
    /// What the environment says.
    pub environment: &'a Environment,
    /// Where children run.
    pub room_config: RoomConfig,
    /// The native agent's own settings.
    pub native: NativeSettings,
    /// The MCP servers of the project and of the user.
    pub servers: BTreeMap<String, ServerConfig>,
    /// What tokens cost.
    pub prices: Arc<PriceList>,
    /// The socket at which the deliverable tools are answered.
    pub calls: PathBuf,
    /// The deliverable tools themselves.
    pub deliverables: Arc<DeliverableService>,
    /// The agents of the user's configuration.
    pub agents: BTreeMap<String, AgentCommand>,
}

impl BackendFactory<'_> {
    /// Puts an agent together.
    pub fn build(&self, name: &BackendName) -> Result<Box<dyn Backend>, Fault> {
        let deliverables = Arc::clone(&self.deliverables);
        Ok(match name {
            BackendName::Native => Box::new(NativeBackend::new(self.native.clone(), deliverables)?),
            BackendName::Claude => {
                let service = service(name, &CLAUDE, self.environment);
                Box::new(ClaudeBackend::new(self.settings(name, &CLAUDE, service)?, deliverables))
            }
            BackendName::Codex => Box::new(CodexBackend::new(self.codex()?, deliverables)),
            BackendName::Gemini => {
                let service = service(name, &GEMINI, self.environment);
                Box::new(GeminiBackend::new(self.settings(name, &GEMINI, service)?, deliverables))
            }
            BackendName::Replay(file) => Box::new(ReplayBackend::new(read_cassette(file)?, deliverables)),
            BackendName::Acp(CommandLine { env, words }) => {
                let settings = self.commanded(name.name(), words, env.clone(), &[])?;
                Box::new(AcpBackend::new(name.name().to_owned(), settings, deliverables))
            }
            BackendName::Configured(name) => {
                let agent = self.agents.get(name).ok_or_else(|| not_configured(name, &self.agents))?;
                let mine = |name: &String| Some((name.clone(), self.environment.variable(name)?));
                let env = agent.env.iter().filter_map(mine).collect();
                let settings = self.commanded(name, &agent.command, env, &agent.hosts)?;
                Box::new(AcpBackend::new(name.clone(), settings, deliverables))
            }
        })
    }

    /// The settings of an agent that is known by its command only. It keeps its files in the home of the room.
    fn commanded(
        &self,
        name: &str,
        command: &[String],
        env: Vec<(String, String)>,
        hosts: &[String],
    ) -> Result<VendorSettings, Fault> {
        let environment = self.environment;
        let (program, args) = command.split_first().ok_or_else(|| not_found(name, "", None))?;
        let found = find_program(program, environment).ok_or_else(|| not_found(name, program, None))?;
        let mut room_config = self.room_config.clone();
        room_config.bounds.read.push(installation(&found, environment));
        let mut egress = (*room_config.egress).clone();
        admit(&mut egress, hosts.iter().map(String::as_str))?;
        room_config.egress = Arc::new(egress);
        Ok(VendorSettings {
            root: self.native.root.clone(),
            command: std::iter::once(found.display().to_string()).chain(args.iter().cloned()).collect(),
            home: room_config.bounds.home.join(".acp"),
            room_config,
            login: Login::default(),
            service: None,
            env,
            calls: self.calls.clone(),
            servers: self.servers.clone(),
            prices: Arc::clone(&self.prices),
        })
    }

    /// Codex' settings, with the service that the user's own settings of Codex describe if the environment names none.
    fn codex(&self) -> Result<VendorSettings, Fault> {
        let provider = CODEX.directory(self.environment).map(|directory| UserProvider::read(&directory));
        let provider = provider.unwrap_or_default();
        let service = service(&BackendName::Codex, &CODEX, self.environment).or_else(|| {
            let base_url = Some(provider.base_url()?.to_owned());
            let key = provider.key_variable().and_then(|name| self.environment.variable(name));
            Some(ModelService { route: codex::NAME.to_owned(), base_url, key })
        });
        let mut settings = self.settings(&BackendName::Codex, &CODEX, service)?;
        for name in provider.header_variables() {
            settings.env.extend(self.environment.variable(&name).map(|value| (name, value)));
        }
        Ok(settings)
    }

    fn settings(
        &self,
        name: &BackendName,
        vendor: &Vendor,
        service: Option<ModelService>,
    ) -> Result<VendorSettings, Fault> {
        let environment = self.environment;
        let program = find_program(vendor.program, environment)
            .ok_or_else(|| not_found(name.name(), vendor.program, Some(vendor.install)))?;
        let mut room_config = self.room_config.clone();
        room_config.bounds.read.push(installation(&program, environment));
        let mut egress = (*room_config.egress).clone();
        if let Some(service) = &service {
            egress.routes.push(route(vendor, service)?);
        }
        admit(&mut egress, vendor.hosts.iter().copied())?;
        room_config.egress = Arc::new(egress);
        let passed = vendor.passed.iter().chain(vendor.tokens);
        let env = passed.filter_map(|name| Some(((*name).to_owned(), environment.variable(name)?))).collect();
        Ok(VendorSettings {
            root: self.native.root.clone(),
            command: vec![program.display().to_string()],
            home: room_config.bounds.home.join(vendor.home.1),
            room_config,
            login: Login { directory: vendor.directory(environment), files: vendor.home.2 },
            service,
            env,
            calls: self.calls.clone(),
            servers: self.servers.clone(),
            prices: Arc::clone(&self.prices),
        })
    }
}

/// The service behind a vendor's agent, if the user has a key for it or has said where it is.
fn service(name: &BackendName, vendor: &Vendor, environment: &Environment) -> Option<ModelService> {
    let key = vendor.key.0.iter().find_map(|name| environment.variable(name));
    let base_url = environment.variable(vendor.base_url.0);
    let is_told = key.is_some() || base_url.is_some();
    is_told.then(|| ModelService { route: name.name().to_owned(), base_url, key })
}

fn route(vendor: &Vendor, service: &ModelService) -> Result<Route, Fault> {
    let wrong = |error: &dyn std::fmt::Display| {
        Fault::lasting(Layer::Config, "base_url", format!("{}: {error}.", vendor.base_url.0))
    };
    let key = service.key.as_ref().map(|key| match vendor.key.1 {
        Sent::Header(name) => Key::header(name, key),
        Sent::Bearer => Key::bearer(key),
    });
    let key = key.transpose();
    let key = key.map_err(|error| wrong(&error))?;
    let base_url = service.base_url.as_deref().unwrap_or(vendor.base_url.1);
    Route::new(&service.route, base_url, key).map_err(|error| wrong(&error))
}

/// Lets further hosts be reached.
fn admit<'a>(egress: &mut EgressRules, hosts: impl Iterator<Item = &'a str>) -> Result<(), Fault> {
    for host in hosts {
        egress.allow.push(host.parse().map_err(|error| {
            Fault::lasting(Layer::Config, "host", format!("'{host}' is not a host: {error}."))
        })?);
    }
    Ok(())
}

fn not_found(name: &str, program: &str, install: Option<&str>) -> Fault {
    let message = format!("The agent '{name}' cannot be used: there is no `{program}` on the search path.");
    let install = install.map_or_else(|| "Install it".to_owned(), |how| format!("Install it with `{how}`"));
    Fault::lasting(Layer::Config, "agent_not_found", message).hint(format!(
        "{install}, or choose another with --backend: `native` needs only a key of a model provider. \
         `autonoe doctor` tells what is ready."
    ))
}
