//! Shared by the agents of other vendors: a process in the session's room, gates for its tool calls, the
//! deliverable tools over MCP, and a settings directory of its own with the user's login.

mod json_lines;
mod login;
mod noise;
mod profile;
mod server_command;
mod session;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::agent::start_directory;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::gate::Gate;
use autonoe_core::instruction::Phase;
use autonoe_deliverables::{CALLS_VARIABLE, CallAddress, DeliverableService, RELAY_ARG};
use autonoe_files::{UntrustedDir, Visibility, WriteFailure};
use autonoe_mcp::ConfiguredServers;
use autonoe_model::PriceList;
use autonoe_sandbox::{Exit, Launch, RoomConfig, SessionSandbox, SocketRoute};

pub(crate) use json_lines::{JsonLineProcess, ProcessOutput};
pub use login::VendorLogin;
pub(crate) use noise::ProtocolNoise;
pub use profile::{KeyPlacement, VendorProfile, Version};
pub(crate) use server_command::{SERVER, ServerCommand};
pub(crate) use session::{VendorSession, end_session};

use self::noise::NoiseMeter;
use crate::hook_room::HookRoom;

/// Given to a program instead of the key, which the egress proxy adds.
const PLACEHOLDER_KEY: &str = "the-key-is-put-in-by-the-egress-proxy";

/// How long an agent may take to exit after its input is closed.
pub(crate) const EXIT_LIMIT: Duration = Duration::from_secs(2);

/// How long to wait for the exit status of a program that has closed its output.
const END_LIMIT: Duration = Duration::from_millis(500);

/// The egress proxy's route to the socket of the deliverable tools.
const CALLS_ROUTE: &str = "deliverables";

/// Settings of a vendor's agent, the same for all sessions of a run.
#[derive(Clone)]
pub struct VendorSettings {
    pub root: PathBuf,
    /// The vendor's program and its first arguments.
    pub command: Vec<String>,
    /// Its egress proxy has the route [`ModelService::route`].
    pub room_config: RoomConfig,
    /// The agent's settings and conversations of this project, separate from the user's. Below the home of the room.
    pub home: PathBuf,
    /// The user's login, copied for each session.
    pub login: VendorLogin,
    /// The model service, if the user configured one; otherwise the agent's default.
    pub service: Option<ModelService>,
    /// Further environment variables that are passed to it.
    pub env: Vec<(String, String)>,
    /// The socket of the deliverable tools. Programs in a room reach it through the egress proxy.
    pub calls: PathBuf,
    /// The user's MCP servers.
    pub servers: ConfiguredServers,
    pub prices: Arc<PriceList>,
}

#[derive(Clone)]
pub struct ModelService {
    /// The route in the egress proxy.
    pub route: String,
    pub base_url: Option<String>,
    /// `None` means that the agent's own login is used.
    pub key: Option<String>,
}

pub(crate) struct ServiceAccess {
    pub base_url: Option<String>,
    pub key: Option<String>,
}

/// A session whose program has not been started yet.
pub(crate) struct PreparedSession {
    pub launch: Launch,
    pub access: Option<ServiceAccess>,
    pub vendor_session: VendorSession,
}

impl VendorSettings {
    /// The settings for one session, whose MCP servers have the headers of the user's logins, and warnings about logins that
    /// cannot be used.
    pub(crate) async fn with_login_headers(&self) -> (Self, Vec<String>) {
        let (servers, warnings) = self.servers.with_login_headers().await;
        (Self { servers, ..self.clone() }, warnings)
    }

    /// Opens the room and copies the login. `name` is the agent's name in messages; the session starts in `directory`, relative to the
    /// project.
    pub(crate) async fn prepare(
        &self,
        name: &str,
        gates: Vec<Arc<dyn Gate>>,
        phase: Phase,
        directory: &Path,
        deliverables: &Arc<DeliverableService>,
    ) -> Result<PreparedSession, Fault> {
        let borrowed = self.own_dir().and_then(|own_dir| self.login.borrow(own_dir));
        let borrowed = borrowed.map_err(|error| self.not_writable(&error))?;
        deliverables.enter(phase);
        let session_sandbox = SessionSandbox::of_agent(self.room_config_with_calls());
        let start = start_directory(&self.root, directory);
        let launch = self.launch(&session_sandbox, &start).await?;
        let access = match &self.service {
            None => None,
            Some(service) => Some(match session_sandbox.route_url(&service.route).await {
                Some(url) => ServiceAccess {
                    base_url: Some(url),
                    key: service.key.as_ref().map(|_| PLACEHOLDER_KEY.to_owned()),
                },
                None => ServiceAccess { base_url: service.base_url.clone(), key: service.key.clone() },
            }),
        };
        let calls = match session_sandbox.route_url(CALLS_ROUTE).await {
            Some(url) => CallAddress::Proxy(url),
            None => CallAddress::Socket(self.calls.clone()),
        };
        let vendor_session = VendorSession {
            name: name.to_owned(),
            root: self.root.clone(),
            start,
            server: self.server(&calls),
            deliverables: Arc::clone(deliverables),
            hook_room: HookRoom::new(&session_sandbox, &self.root),
            session_sandbox,
            gates,
            borrowed: Some(borrowed),
            denials: HashMap::new(),
            warnings: Vec::new(),
            is_asking: false,
            noise: NoiseMeter::default(),
        };
        Ok(PreparedSession { launch, access, vendor_session })
    }

    /// The project as the agent sees it.
    pub(crate) fn shown_root(&self) -> PathBuf {
        self.room_config.bounds.shown(&self.root)
    }

    /// The room with a route to the deliverable tools.
    fn room_config_with_calls(&self) -> RoomConfig {
        let mut room_config = self.room_config.clone();
        let socket = SocketRoute { name: CALLS_ROUTE.to_owned(), path: self.calls.clone() };
        Arc::make_mut(&mut room_config.egress).sockets.push(socket);
        room_config
    }

    /// Prepares another process of the agent's program in the room of a session.
    pub(crate) async fn relaunch(&self, session: &VendorSession) -> Result<Launch, Fault> {
        self.launch(&session.session_sandbox, &session.start).await
    }

    async fn launch(&self, session_sandbox: &SessionSandbox, start: &Path) -> Result<Launch, Fault> {
        let (program, args) = self.command.split_first().ok_or_else(|| no_program("an empty command"))?;
        let launch = session_sandbox.command(program).await.map_err(|error| {
            let message = format!("The agent's room could not be opened: {error}.");
            Fault::transient(FaultLayer::System, "room", message)
        })?;
        Ok(launch.args(args).envs(self.env.iter().map(|(name, value)| (name, value))).cwd(start))
    }

    fn server(&self, calls: &CallAddress) -> ServerCommand {
        let command = self.room_config.sandbox.own_binary_inside().display().to_string();
        // Other users of this machine can read arguments, but not environment variables.
        let env = BTreeMap::from([(CALLS_VARIABLE, calls.to_string())]);
        ServerCommand { command, args: [RELAY_ARG], env }
    }

    /// Writes a settings file of the agent, readable by the user only.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<(), Fault> {
        let file = |own_dir: UntrustedDir| {
            own_dir.replace(OsStr::new(name), content.as_bytes(), Visibility::OwnerOnly)
        };
        self.own_dir().and_then(file).map_err(|error| self.not_writable(&error))
    }

    /// Removes a file or a directory of the agent's settings.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Fault> {
        let removed = self.own_dir().and_then(|own_dir| own_dir.remove(OsStr::new(name)));
        removed.map_err(|error| self.not_writable(&error))
    }

    /// The directory `home`, created if it is missing. Agents can write the room's home, so a link there, such as one to the user's
    /// own settings, is not followed.
    fn own_dir(&self) -> io::Result<UntrustedDir> {
        let private = &self.room_config.bounds.home;
        fs::create_dir_all(private)?;
        let below = self.home.strip_prefix(private).map_err(io::Error::other)?;
        UntrustedDir::open(private)?.create(below, Visibility::OwnerOnly)
    }

    fn not_writable(&self, error: &io::Error) -> Fault {
        let WriteFailure { why, advice } = WriteFailure::of(&self.home, error);
        let message = format!("{} cannot be written: {why}.", self.home.display());
        Fault::permanent(FaultLayer::System, "agent_home", message).hint(advice)
    }
}

/// The fault of a program that exited before the session was complete.
pub(crate) async fn crashed(name: &str, process: &mut JsonLineProcess) -> Fault {
    let ended = match process.program.ended(END_LIMIT).await {
        Some(Ok(Exit::NotStarted { why, .. })) => return no_program(&why),
        Some(Ok(Exit::Code(code))) => format!("exited with code {code}"),
        Some(Err(error)) => format!("failed ({error})"),
        None => {
            process.program.stop().await;
            "closed its output".to_owned()
        }
    };
    let output = process.program.stderr_tail().await;
    let output = output.map(|output| format!(" Last output: {output}")).unwrap_or_default();
    Fault::transient(
        FaultLayer::Agent,
        "agent_crashed",
        format!("{name} {ended} before the session was complete.{output}"),
    )
}

/// The next prompt for an agent that stopped at a refusal and did not learn the reason.
pub(crate) fn follow_up(refusals: &[String]) -> String {
    let reasons: Vec<String> = refusals.iter().map(|reason| format!("- {reason}")).collect();
    format!(
        "autonoe's rules, not a person, refused these actions:\n{}\nContinue your work in a way that is allowed.",
        reasons.join("\n")
    )
}

fn no_program(why: &str) -> Fault {
    Fault::permanent(FaultLayer::Config, "agent_not_started", format!("The agent cannot be started: {why}."))
        .hint("`autonoe doctor` shows which agents are ready.")
}
