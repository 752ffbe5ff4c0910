//! The agents that can be driven: which there are, which of them are ready, and how each is put together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use autonoe_agents::replay::ReplayBackend;
use autonoe_agents::{
    AcpBackend, ClaudeBackend, CodexBackend, GeminiBackend, Login, ModelService, NativeBackend,
    NativeSettings, UserProvider, VendorSettings, acp, claude, codex, gemini, replay,
};
use autonoe_core::agent::Backend;
use autonoe_core::crew::Models;
use autonoe_core::fault::{Fault, Layer};
use autonoe_deliverables::DeliverableService;
use autonoe_model::{PriceList, ProviderKind};
use autonoe_sandbox::{Key, Premises, Route};
use autonoe_store::AgentCommand;
use autonoe_tools::ServerConfig;

use crate::command_line::CommandLine;
use crate::environment::Environment;
use crate::probe::Version;
use crate::recordings::read_cassette;

/// One kind of agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendName {
    /// Our own, on any model provider.
    Native,
    /// Claude Code.
    Claude,
    /// OpenAI's Codex.
    Codex,
    /// The Gemini CLI.
    Gemini,
    /// Any that speaks the Agent Client Protocol, by its command.
    Acp(CommandLine),
    /// One that the user's configuration has a command for.
    Configured(String),
    /// A recording, from this file.
    Replay(PathBuf),
}

/// In the order in which `auto` looks at them.
pub const ALL: [BackendName; 4] =
    [BackendName::Claude, BackendName::Codex, BackendName::Gemini, BackendName::Native];

impl BackendName {
    /// As it is typed.
    pub fn name(&self) -> &str {
        match self {
            Self::Native => "native",
            Self::Claude => claude::NAME,
            Self::Codex => codex::NAME,
            Self::Gemini => gemini::NAME,
            Self::Acp(_) => acp::NAME,
            Self::Configured(name) => name,
            Self::Replay(_) => replay::NAME,
        }
    }

    /// The vendor of its models, if it has but one.
    pub fn vendor(&self) -> Option<ProviderKind> {
        match self {
            Self::Native | Self::Acp(_) | Self::Configured(_) | Self::Replay(_) => None,
            Self::Claude => Some(ProviderKind::Anthropic),
            Self::Codex => Some(ProviderKind::OpenAi),
            Self::Gemini => Some(ProviderKind::Gemini),
        }
    }

    /// The models that it works with unless the user says otherwise.
    pub fn default_models(&self) -> Models {
        let (plan, work) = match self {
            Self::Native | Self::Claude => ("opus", "sonnet"),
            Self::Codex => ("gpt-5.5", "gpt-5.5"),
            Self::Gemini => ("gemini-2.5-pro", "gemini-2.5-pro"),
            Self::Acp(_) | Self::Configured(_) => (acp::OWN_MODEL, acp::OWN_MODEL),
            Self::Replay(_) => ("recorded", "recorded"),
        };
        Models { plan: plan.to_owned(), work: work.to_owned() }
    }
}

impl BackendName {
    /// Refuses the name of an agent that the user's configuration does not know.
    pub fn check_configured(&self, agents: &BTreeMap<String, AgentCommand>) -> Result<(), Fault> {
        match self {
            Self::Configured(name) if !agents.contains_key(name) => Err(not_configured(name, agents)),
            _ => Ok(()),
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

/// One of `--fallback`: an agent, and the model that it is to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Substitute {
    /// Which agent.
    pub backend: BackendName,
    /// Its model; none for its default.
    pub model: Option<String>,
}

impl FromStr for Substitute {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            // After these comes no model.
            Some(("acp" | "replay", _)) | None => Ok(Self { backend: text.parse()?, model: None }),
            Some((_, "")) => Err("after the colon comes a model".to_owned()),
            Some((backend, model)) => Ok(Self { backend: backend.parse()?, model: Some(model.to_owned()) }),
        }
    }
}

impl FromStr for BackendName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(file) = text.strip_prefix("replay:") {
            return Ok(Self::Replay(PathBuf::from(file)));
        }
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
            "there is no agent of this name; there are {}, acp:COMMAND, replay:FILE, and [agents.NAME] of your config.toml",
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
    /// The oldest version that is known to work.
    pub oldest: Version,
    /// How to get it.
    pub install: &'static str,
    /// How to log in.
    pub log_in: &'static str,
    /// What of it our gates cannot veto, so that the sandbox alone holds it.
    pub ungated: Option<&'static str>,
}

/// A vendor's agent: its program, where it keeps the user's login, what it is told by the environment.
struct Vendor {
    program: &'static str,
    /// The oldest version that is known to work.
    oldest: Version,
    /// How a user gets it, and how they log in.
    install: &'static str,
    log_in: &'static str,
    /// What of it our gates cannot veto, so that the sandbox alone holds it.
    ungated: Option<&'static str>,
    /// The variable that names its directory, that directory below the home, and the files of a login in it.
    home: (&'static str, &'static str, &'static [&'static str]),
    /// The variables with a key of the service, the first of which counts, and how it is sent.
    key: (&'static [&'static str], Sent),
    /// Other variables that log it in.
    tokens: &'static [&'static str],
    /// The variable that says where the service is, and where it is otherwise.
    base_url: (&'static str, &'static str),
    /// The hosts that it talks to with the user's login.
    hosts: &'static [&'static str],
    /// Further variables of the user's that it is passed: other services through which its models are had.
    passed: &'static [&'static str],
}

/// How a key is sent.
#[derive(Clone, Copy)]
enum Sent {
    /// As the whole of this header.
    Header(&'static str),
    /// As a bearer token.
    Bearer,
}

const CLAUDE: Vendor = Vendor {
    program: "claude",
    oldest: [2, 1, 325],
    install: "npm install -g @anthropic-ai/claude-code",
    log_in: "start `claude` and type /login, or set ANTHROPIC_API_KEY",
    ungated: None,
    home: ("CLAUDE_CONFIG_DIR", ".claude", &[".credentials.json"]),
    key: (&["ANTHROPIC_API_KEY"], Sent::Header("x-api-key")),
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

const CODEX: Vendor = Vendor {
    program: "codex",
    oldest: [0, 166, 0],
    install: "npm install -g @openai/codex",
    log_in: "run `codex login`, or set OPENAI_API_KEY",
    ungated: Some("looking at pictures"),
    home: ("CODEX_HOME", ".codex", &["auth.json"]),
    key: (&["OPENAI_API_KEY", "CODEX_API_KEY"], Sent::Bearer),
    tokens: &[],
    base_url: ("OPENAI_BASE_URL", "https://api.openai.com"),
    hosts: &["api.openai.com", "chatgpt.com", "auth.openai.com"],
    passed: &[],
};

const GEMINI: Vendor = Vendor {
    program: "gemini",
    oldest: [0, 61, 0],
    install: "npm install -g @google/gemini-cli",
    log_in: "start `gemini` and log in, or set GEMINI_API_KEY",
    ungated: Some("tools that only read"),
    home: ("GEMINI_CLI_HOME", ".gemini", &["oauth_creds.json", "google_accounts.json"]),
    key: (&["GEMINI_API_KEY", "GOOGLE_API_KEY"], Sent::Header("x-goog-api-key")),
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
        BackendName::Native | BackendName::Acp(_) | BackendName::Configured(_) | BackendName::Replay(_) => {
            None
        }
        BackendName::Gemini => Some(&GEMINI),
        BackendName::Claude => Some(&CLAUDE),
        BackendName::Codex => Some(&CODEX),
    }
}

/// Looks whether a vendor's agent is there and has something to log in with.
pub fn readiness(name: &BackendName, environment: &Environment) -> Option<Readiness> {
    let vendor = vendor(name)?;
    let program = find_program(vendor.program, environment);
    let has = |name: &&str| environment.variable(name).is_some();
    let variables = || vendor.key.0.iter().chain(vendor.tokens).find(|name| has(name)).copied();
    let login = variables().or_else(|| {
        let directory = vendor.directory(environment)?;
        vendor.home.2.iter().find(|name| directory.join(name).is_file()).copied()
    });
    let Vendor { oldest, install, log_in, ungated, .. } = *vendor;
    Some(Readiness { program, login, oldest, install, log_in, ungated })
}

impl Vendor {
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
pub fn find_program(name: &str, environment: &Environment) -> Option<PathBuf> {
    let mut places = std::env::split_paths(&environment.path).filter(|place| place.is_absolute());
    let program =
        places.find_map(|place| place.join(name).canonicalize().ok().filter(|program| program.is_file()))?;
    Some(behind_the_script(&program).unwrap_or(program))
}

/// npm's `codex` is a script that starts the program proper, from a package of its own: `bin/codex.js` of
/// `@openai/codex`, and `vendor/TARGET/bin/codex` of `@openai/codex-SYSTEM`. Who ends the script leaves the program running.
fn behind_the_script(script: &Path) -> Option<PathBuf> {
    if !script.ends_with("@openai/codex/bin/codex.js") {
        return None;
    }
    let package = script.parent()?.parent()?;
    let entries = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    // Beside it, or below it where npm could not share.
    let packages = [package.parent()?.to_owned(), package.join("node_modules/@openai")];
    let packages = packages.iter().flat_map(|place| entries(place));
    let targets = packages.flat_map(|package| entries(&package.join("vendor")));
    targets.map(|target| target.join("bin/codex")).find(|program| program.is_file())
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
        let (program, args) = command.split_first().ok_or_else(|| not_found(name, "", None))?;
        let found = find_program(program, environment).ok_or_else(|| not_found(name, program, None))?;
        let mut premises = self.premises.clone();
        premises.bounds.read.push(installation(&found, environment));
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
        let mut premises = self.premises.clone();
        premises.bounds.read.push(installation(&program, environment));
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

/// What must be readable for a program to start: the packages it was installed with, or the directory it is in; of a
/// directory that holds the user's home, the program alone.
pub fn installation(program: &Path, environment: &Environment) -> PathBuf {
    let packages =
        program.ancestors().filter(|place| place.file_name().is_some_and(|name| name == "node_modules"));
    let directory = packages.last().or_else(|| program.parent()).unwrap_or(program);
    let home = environment.home.as_ref().and_then(|home| home.canonicalize().ok());
    let holds_home = home.is_some_and(|home| home.starts_with(directory));
    if holds_home { program.to_owned() } else { directory.to_owned() }
}

fn not_configured(name: &str, agents: &BTreeMap<String, AgentCommand>) -> Fault {
    let known = ALL.iter().map(BackendName::name).chain(agents.keys().map(String::as_str));
    let known: Vec<&str> = known.collect();
    let message = format!("There is no agent '{name}'; there are {}.", known.join(", "));
    Fault::lasting(Layer::Config, "unknown_agent", message)
        .hint("Name one of them, acp:COMMAND, or describe it under [agents.NAME] in your config.toml.")
}

fn not_found(name: &str, program: &str, install: Option<&str>) -> Fault {
    let message = format!("The agent '{name}' cannot be used: there is no `{program}` on the search path.");
    let install = install.map_or_else(|| "Install it".to_owned(), |how| format!("Install it with `{how}`"));
    Fault::lasting(Layer::Config, "agent_not_found", message).hint(format!(
        "{install}, or choose another with --backend: `native` needs only a key of a model provider. \
         `autonoe doctor` tells what is ready."
    ))
}
