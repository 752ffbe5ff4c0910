//! What the agents of other vendors share: a program in the session's room, gates that answer for its tools, the
//! deliverable tools over MCP, settings of their own with the user's login.

mod json_lines;
mod login;
mod session;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::fault::{Fault, Layer as FaultLayer};
use autonoe_core::gate::Gate;
use autonoe_core::instruction::Phase;
use autonoe_deliverables::{CALLS_VARIABLE, CallAddress, DeliverableService, RELAY_ARG};
use autonoe_files::WriteTrouble;
use autonoe_model::PriceList;
use autonoe_sandbox::{Exit, Launch, RoomConfig, SessionSandbox, SocketRoute};
use autonoe_tools::ServerConfig;

pub(crate) use json_lines::{Heard, JsonLineProcess};
pub use login::Login;
pub(crate) use session::{VendorSession, conclude};

/// Given to a program in place of the key, which the egress proxy puts in.
const STAND_IN: &str = "the-key-is-put-in-by-the-egress-proxy";

/// How long an agent that exits once its input is closed may take for it.
pub(crate) const EXIT_LIMIT: Duration = Duration::from_secs(2);

/// How long is waited to hear how a program ended that has closed its output.
const END_LIMIT: Duration = Duration::from_millis(500);

/// The MCP server of the deliverable tools.
pub(crate) const SERVER: &str = "autonoe";

/// What the socket of the deliverable tools is called at the sandbox's egress proxy.
const CALLS_ROUTE: &str = "deliverables";

/// What a vendor's agent is started with; the same for all sessions of a run.
#[derive(Clone)]
pub struct VendorSettings {
    /// The project's directory.
    pub root: PathBuf,
    /// The vendor's program, and arguments that come before ours.
    pub command: Vec<String>,
    /// Where it runs. Its egress proxy has the route of [`ModelService::route`].
    pub room_config: RoomConfig,
    /// Where it keeps its settings and conversations of this project, apart from the user's.
    pub home: PathBuf,
    /// The user's login, which it borrows.
    pub login: Login,
    /// The service behind it, if that is one with a key of the user's.
    pub service: Option<ModelService>,
    /// Further variables of the user's that it may see.
    pub env: Vec<(String, String)>,
    /// The socket at which the deliverable tools are answered. Programs in a room reach it through the egress proxy.
    pub calls: PathBuf,
    /// The MCP servers that it is given beside the deliverable tools.
    pub servers: BTreeMap<String, ServerConfig>,
    /// What tokens cost.
    pub prices: Arc<PriceList>,
}

/// A model service and the key for it.
#[derive(Clone)]
pub struct ModelService {
    /// Its route in the egress proxy.
    pub route: String,
    /// Where it is.
    pub base_url: Option<String>,
    /// The key; without one the agent's own login is used there.
    pub key: Option<String>,
}

/// How a program reaches its model service.
pub(crate) struct Reach {
    pub base_url: Option<String>,
    pub key: Option<String>,
}

/// One session's program, before it is started.
pub(crate) struct Start {
    pub launch: Launch,
    pub reach: Option<Reach>,
    pub vendor_session: VendorSession,
}

/// How a program in the room starts the MCP server of the deliverable tools.
pub(crate) struct ServerCommand {
    pub command: String,
    pub args: [&'static str; 1],
    pub env: BTreeMap<&'static str, String>,
}

impl VendorSettings {
    /// Prepares a session of an agent that is called `name` in messages: the room is opened, the login borrowed, the gates stand
    /// ready.
    pub(crate) async fn prepare(
        &self,
        name: &str,
        gates: Vec<Arc<dyn Gate>>,
        phase: Phase,
        deliverables: &Arc<DeliverableService>,
    ) -> Result<Start, Fault> {
        let borrowed = self.login.borrow(&self.home).map_err(|error| self.not_writable(&error))?;
        deliverables.enter(phase);
        let session_sandbox = Arc::new(SessionSandbox::new(self.room_config_with_calls()));
        let launch = self.launch(&session_sandbox).await?;
        let reach = match &self.service {
            None => None,
            Some(service) => Some(match session_sandbox.route_url(&service.route).await {
                Some(url) => {
                    Reach { base_url: Some(url), key: service.key.as_ref().map(|_| STAND_IN.to_owned()) }
                }
                None => Reach { base_url: service.base_url.clone(), key: service.key.clone() },
            }),
        };
        let calls = match session_sandbox.route_url(CALLS_ROUTE).await {
            Some(url) => CallAddress::Proxy(url),
            None => CallAddress::Socket(self.calls.clone()),
        };
        let vendor_session = VendorSession {
            name: name.to_owned(),
            server: self.server(&calls),
            deliverables: Arc::clone(deliverables),
            session_sandbox,
            gates,
            borrowed: Some(borrowed),
            denials: HashMap::new(),
            is_asking: false,
        };
        Ok(Start { launch, reach, vendor_session })
    }

    /// RoomConfig from which the deliverable tools can be reached.
    fn room_config_with_calls(&self) -> RoomConfig {
        let mut room_config = self.room_config.clone();
        let socket = SocketRoute { name: CALLS_ROUTE.to_owned(), path: self.calls.clone() };
        Arc::make_mut(&mut room_config.egress).sockets.push(socket);
        room_config
    }

    /// Its program in a room, before it is started.
    async fn launch(&self, session_sandbox: &SessionSandbox) -> Result<Launch, Fault> {
        let (program, args) = self.command.split_first().ok_or_else(|| no_program("an empty command"))?;
        let launch = session_sandbox.command(program).await.map_err(|error| {
            let message = format!("The agent's room cannot be opened: {error}.");
            Fault::passing(FaultLayer::System, "room", message)
        })?;
        Ok(launch.args(args).envs(self.env.iter().map(|(name, value)| (name, value))).cwd(&self.root))
    }

    fn server(&self, calls: &CallAddress) -> ServerCommand {
        let command = self.room_config.sandbox.ourselves_inside().display().to_string();
        // Others on this machine can read arguments, but not variables.
        let env = BTreeMap::from([(CALLS_VARIABLE, calls.to_string())]);
        ServerCommand { command, args: [RELAY_ARG], env }
    }

    /// Writes a file of its settings, which only the user may read.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<(), Fault> {
        let written =
            login::make(&self.home).and_then(|()| login::write(&self.home.join(name), content.as_bytes()));
        written.map_err(|error| self.not_writable(&error))
    }

    fn not_writable(&self, error: &io::Error) -> Fault {
        let WriteTrouble { why, advice } = WriteTrouble::of(&self.home, error);
        let message = format!("{} cannot be written: {why}.", self.home.display());
        Fault::lasting(FaultLayer::System, "agent_home", message).hint(advice)
    }
}

/// The fault of a program that ended before it was done.
pub(crate) async fn crashed(name: &str, talk: &mut JsonLineProcess) -> Fault {
    let ended = match talk.program.ended(END_LIMIT).await {
        Some(Ok(Exit::NotStarted { why, .. })) => return no_program(&why),
        Some(Ok(Exit::Code(code))) => format!("with exit code {code}"),
        Some(Err(error)) => format!("({error})"),
        None => {
            talk.program.stop().await;
            "without a word".to_owned()
        }
    };
    let words =
        talk.program.last_words().await.map(|words| format!(" Its last words: {words}")).unwrap_or_default();
    Fault::passing(
        FaultLayer::Agent,
        "agent_crashed",
        format!("{name} ended {ended} before it was done.{words}"),
    )
}

/// What an agent is told that stopped at a refusal, where nothing else tells it the reason.
pub(crate) fn follow_up(refusals: &[String]) -> String {
    let reasons: Vec<String> = refusals.iter().map(|reason| format!("- {reason}")).collect();
    format!(
        "Not a person but autonoe's rules refused what you wanted to do:\n{}\nGo on with your work in a way that is allowed.",
        reasons.join("\n")
    )
}

fn no_program(why: &str) -> Fault {
    Fault::lasting(FaultLayer::Config, "agent_not_started", format!("The agent cannot be started: {why}."))
        .hint("`autonoe doctor` tells which agents are ready.")
}
