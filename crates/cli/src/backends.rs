//! The agents that can be driven: which there are, which of them are ready, and how each is put together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use autonoe_agents::{
    AcpBackend, ClaudeBackend, GeminiBackend, Login, ModelService, NativeBackend, NativeSettings,
    VendorSettings, acp, claude, gemini,
};
use autonoe_core::agent::Backend;
use autonoe_core::crew::Models;
use autonoe_core::fault::{Fault, Layer};
use autonoe_deliverables::DeliverableService;
use autonoe_model::PriceList;
use autonoe_sandbox::{Key, Premises, Route};
use autonoe_store::AgentCommand;
use autonoe_tools::ServerConfig;

use crate::command_line::CommandLine;
use crate::environment::Environment;

/// One kind of agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendName {
    /// Our own, on any model provider.
    Native,
    /// Claude Code.
    Claude,
    /// The Gemini CLI.
    Gemini,
    /// Any that speaks the Agent Client Protocol, by its command.
    Acp(CommandLine),
    /// One that the user's configuration has a command for.
    Configured(String),
}

/// In the order in which `auto` looks at them.
pub const ALL: [BackendName; 3] = [BackendName::Claude, BackendName::Gemini, BackendName::Native];

impl BackendName {
    /// As it is typed.
    pub fn name(&self) -> &str {
        match self {
            Self::Native => "native",
            Self::Claude => claude::NAME,
            Self::Gemini => gemini::NAME,
            Self::Acp(_) => acp::NAME,
            Self::Configured(name) => name,
        }
    }

    /// The models that it works with unless the user says otherwise.
    pub fn default_models(&self) -> Models {
        let (plan, work) = match self {
            Self::Native | Self::Claude => ("opus", "sonnet"),
            Self::Gemini => ("gemini-2.5-pro", "gemini-2.5-pro"),
            Self::Acp(_) | Self::Configured(_) => (acp::OWN_MODEL, acp::OWN_MODEL),
        };
        Models { plan: plan.to_owned(), work: work.to_owned() }
    }
}

impl BackendName {
    /// Refuses the name of an agent that the user's configuration does not know.
    pub fn check_configured(&self, agents: &BTreeMap<String, AgentCommand>) -> Result<(), Fault> {
        match self {
            Self::Configured(name) if !agents.contains_key(name) => Err(not_configured(name, agents)),
            Self::Configured(_) | Self::Native | Self::Claude | Self::Gemini | Self::Acp(_) => Ok(()),
        }
    }
}

/// What the user typed for `--backend`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendChoice {
    /// The first one that is ready.
    Auto,
    /// This one.
    Named(BackendName),
}

impl BackendChoice {
    /// The one that was named.
    pub fn name(&self) -> Option<BackendName> {
        match self {
            Self::Auto => None,
            Self::Named(name) => Some(name.clone()),
        }
    }
}

impl FromStr for BackendName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(command) = text.strip_prefix("acp:") {
            return command.parse().map(Self::Acp);
        }
        if let Some(backend) = ALL.into_iter().find(|backend| backend.name() == text) {
            return Ok(backend);
        }
        if is_agent_name(text) {
            return Ok(Self::Configured(text.to_owned()));
        }
        let names: Vec<_> = ALL.iter().map(|backend| backend.name().to_owned()).collect();
        Err(format!(
            "there is no agent of this name; there are {}, acp:COMMAND, and [agents.NAME] of your config.toml",
            names.join(", ")
        ))
    }
}

impl FromStr for BackendChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Named) }
    }
}

/// Whether an agent can be driven here, as far as can be seen without starting it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// The program, if it is one and was found.
    pub program: Option<PathBuf>,
    /// What it would log in with; none if nothing was found.
    pub login: Option<&'static str>,
}

/// A vendor's agent: its program, where it keeps the user's login, what it is told by the environment.
struct Vendor {
    program: &'static str,
    /// The variable that names its directory, that directory below the home, and the files of a login in it.
    home: (&'static str, &'static str, &'static [&'static str]),
    /// The variable with a key of the service, and the header that carries it.
    key: (&'static str, &'static str),
    /// Other variables that log it in.
    tokens: &'static [&'static str],
    /// The variable that says where the service is, and where it is otherwise.
    base_url: (&'static str, &'static str),
    /// The hosts that it talks to with the user's login.
    hosts: &'static [&'static str],
    /// Further variables of the user's that it is passed: other services through which its models are had.
    passed: &'static [&'static str],
}

const CLAUDE: Vendor = Vendor {
    program: "claude",
    home: ("CLAUDE_CONFIG_DIR", ".claude", &[".credentials.json"]),
    key: ("ANTHROPIC_API_KEY", "x-api-key"),
    tokens: &["CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"],
    base_url: ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    hosts: &["api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"],
    passed: &[
        "ANTHROPIC_CUSTOM_HEADERS",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL",
        "ANTHROPIC_DEFAULT_OPUS_MODEL",
        "ANTHROPIC_DEFAULT_SONNET_MODEL",
        "ANTHROPIC_SMALL_FAST_MODEL",
        "ANTHROPIC_VERTEX_PROJECT_ID",
        "AWS_ACCESS_KEY_ID",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLOUD_ML_REGION",
    ],
};

/// Keys that are known by a second name.
const SECOND_NAMES: [(&str, &str); 1] = [("GEMINI_API_KEY", "GOOGLE_API_KEY")];

const GEMINI: Vendor = Vendor {
    program: "gemini",
    home: ("GEMINI_CLI_HOME", ".gemini", &["oauth_creds.json", "google_accounts.json"]),
    key: ("GEMINI_API_KEY", "x-goog-api-key"),
    tokens: &[],
    base_url: ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
    hosts: &[
        "generativelanguage.googleapis.com",
        "cloudcode-pa.googleapis.com",
        "oauth2.googleapis.com",
        "accounts.google.com",
    ],
    passed: &["GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GENAI_USE_VERTEXAI"],
};

fn vendor(name: &BackendName) -> Option<&'static Vendor> {
    match name {
        BackendName::Native | BackendName::Acp(_) | BackendName::Configured(_) => None,
        BackendName::Gemini => Some(&GEMINI),
        BackendName::Claude => Some(&CLAUDE),
    }
}

/// Looks whether a vendor's agent is there and has something to log in with.
pub fn readiness(name: &BackendName, environment: &Environment) -> Option<Readiness> {
    let vendor = vendor(name)?;
    let program = find_program(vendor.program, environment);
    let has = |name: &&str| environment.variable(name).is_some();
    let variables = || vendor.key_names().chain(vendor.tokens.iter().copied()).find(|name| has(name));
    let login = variables().or_else(|| {
        let directory = vendor.directory(environment)?;
        vendor.home.2.iter().find(|name| directory.join(name).is_file()).copied()
    });
    Some(Readiness { program, login })
}

impl Vendor {
    /// The variables that may hold its key.
    fn key_names(&self) -> impl Iterator<Item = &'static str> {
        let name = self.key.0;
        let second =
            SECOND_NAMES.into_iter().filter_map(move |(first, second)| (first == name).then_some(second));
        std::iter::once(name).chain(second)
    }

    /// The user's own directory of this agent.
    fn directory(&self, environment: &Environment) -> Option<PathBuf> {
        let (variable, below_home, _) = self.home;
        let named = environment.variable(variable).map(PathBuf::from);
        // With some the variable names the directory around it.
        let named = named.map(|named| match named.join(below_home) {
            inside if inside.is_dir() => inside,
            _ => named,
        });
        named.or_else(|| Some(environment.home.as_ref()?.join(below_home)))
    }
}

/// Whether the user's configuration may have an agent of this name.
fn is_agent_name(text: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    !text.is_empty() && text.chars().all(is_plain)
}

/// A program on the search path, by its real name: what npm puts there are links.
fn find_program(name: &str, environment: &Environment) -> Option<PathBuf> {
    let mut places = std::env::split_paths(&environment.path).filter(|place| place.is_absolute());
    places.find_map(|place| place.join(name).canonicalize().ok().filter(|program| program.is_file()))
}

/// What all agents of a run are made from.
pub struct Workshop<'a> {
    /// What the environment says.
    pub environment: &'a Environment,
    /// Where children run.
    pub premises: Premises,
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

impl Workshop<'_> {
    /// Puts an agent together.
    pub fn build(&self, name: &BackendName) -> Result<Box<dyn Backend>, Fault> {
        let deliverables = Arc::clone(&self.deliverables);
        Ok(match name {
            BackendName::Native => Box::new(NativeBackend::new(self.native.clone(), deliverables)?),
            BackendName::Claude => Box::new(ClaudeBackend::new(self.settings(name, &CLAUDE)?, deliverables)),
            BackendName::Gemini => Box::new(GeminiBackend::new(self.settings(name, &GEMINI)?, deliverables)),
            BackendName::Acp(CommandLine(command)) => {
                let settings = self.commanded(name.name(), command, &[])?;
                Box::new(AcpBackend::new(name.name().to_owned(), settings, deliverables))
            }
            BackendName::Configured(name) => {
                let agent = self.agents.get(name).ok_or_else(|| not_configured(name, &self.agents))?;
                let settings = self.commanded(name, &agent.command, &agent.env)?;
                Box::new(AcpBackend::new(name.clone(), settings, deliverables))
            }
        })
    }

    /// The settings of an agent that is known by its command only. It keeps its files in the home of the room.
    fn commanded(&self, name: &str, command: &[String], env: &[String]) -> Result<VendorSettings, Fault> {
        let environment = self.environment;
        let (program, args) = command.split_first().ok_or_else(|| not_found(name, ""))?;
        let found = find_program(program, environment).ok_or_else(|| not_found(name, program))?;
        let mut premises = self.premises.clone();
        premises.bounds.read.push(installation(&found));
        premises.bounds.sockets.push(self.calls.clone());
        let env = env.iter().filter_map(|name| Some((name.clone(), environment.variable(name)?))).collect();
        Ok(VendorSettings {
            root: self.native.root.clone(),
            command: std::iter::once(found.display().to_string()).chain(args.iter().cloned()).collect(),
            home: premises.bounds.home.join(".acp"),
            premises,
            login: Login::default(),
            service: None,
            env,
            calls: self.calls.clone(),
            servers: self.servers.clone(),
            prices: Arc::clone(&self.prices),
        })
    }

    fn settings(&self, name: &BackendName, vendor: &Vendor) -> Result<VendorSettings, Fault> {
        let environment = self.environment;
        let program = find_program(vendor.program, environment)
            .ok_or_else(|| not_found(name.name(), vendor.program))?;
        let service = service(name, vendor, environment);
        let mut premises = self.premises.clone();
        premises.bounds.read.push(installation(&program));
        premises.bounds.sockets.push(self.calls.clone());
        let mut door = (*premises.door).clone();
        if let Some(service) = &service {
            door.routes.push(route(vendor, service)?);
        }
        for host in vendor.hosts {
            door.allow.push(host.parse().map_err(|error| {
                Fault::lasting(Layer::System, "host", format!("'{host}' is no host: {error}."))
            })?);
        }
        premises.door = Arc::new(door);
        let passed = vendor.passed.iter().chain(vendor.tokens);
        let env = passed.filter_map(|name| Some(((*name).to_owned(), environment.variable(name)?))).collect();
        Ok(VendorSettings {
            root: self.native.root.clone(),
            command: vec![program.display().to_string()],
            home: premises.bounds.home.join(vendor.home.1),
            premises,
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
    let key = vendor.key_names().find_map(|name| environment.variable(name));
    let base_url = environment.variable(vendor.base_url.0);
    let is_told = key.is_some() || base_url.is_some();
    is_told.then(|| ModelService { route: name.name().to_owned(), base_url, key })
}

fn route(vendor: &Vendor, service: &ModelService) -> Result<Route, Fault> {
    let wrong = |error: &dyn std::fmt::Display| {
        Fault::lasting(Layer::Config, "base_url", format!("{}: {error}.", vendor.base_url.0))
    };
    let key = service.key.as_ref().map(|key| Key::header(vendor.key.1, key)).transpose();
    let key = key.map_err(|error| wrong(&error))?;
    let base_url = service.base_url.as_deref().unwrap_or(vendor.base_url.1);
    Route::new(&service.route, base_url, key).map_err(|error| wrong(&error))
}

/// What must be readable for a program to start: the packages it was installed with, or the directory it is in.
fn installation(program: &Path) -> PathBuf {
    let packages =
        program.ancestors().filter(|place| place.file_name().is_some_and(|name| name == "node_modules"));
    let directory = packages.last().or_else(|| program.parent());
    directory.unwrap_or(program).to_owned()
}

fn not_configured(name: &str, agents: &BTreeMap<String, AgentCommand>) -> Fault {
    let known = ALL.iter().map(BackendName::name).chain(agents.keys().map(String::as_str));
    let known: Vec<&str> = known.collect();
    let message = format!("There is no agent '{name}'; there are {}.", known.join(", "));
    Fault::lasting(Layer::Config, "unknown_agent", message)
        .hint("Name one of them, acp:COMMAND, or describe it under [agents.NAME] in your config.toml.")
}

fn not_found(name: &str, program: &str) -> Fault {
    let message = format!("The agent '{name}' cannot be used: there is no `{program}` on the search path.");
    Fault::lasting(Layer::Config, "agent_not_found", message).hint(format!(
        "Install it, or use another with --backend: `native` needs only a key of a model provider. \
         `autonoe doctor` tells what is ready; `{program}` must be on PATH."
    ))
}
