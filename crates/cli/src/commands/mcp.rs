//! `autonoe mcp`

use std::path::PathBuf;
use std::sync::Arc;

use autonoe_core::clock::Clock;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::instruction::InstructionName;
use autonoe_core::outcome::exit;
use autonoe_deliverables::{Caller, DeliverableService, SocketCaller, serve_stdio};
use autonoe_store::journal::JournalOptions;
use autonoe_store::{Holder, Journal, Project, ProjectLock, StatusStore, sha256_hex};
use clap::{Args, ValueEnum};

use crate::arguments::ProjectArgs;
use crate::environment::Environment;
use crate::system::{SystemClock, runtime};

/// Serve the deliverable tools over MCP on standard input and output
///
/// While a run holds the project, calls are passed to it: there is only ever one writer.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// The project.
    #[command(flatten)]
    project: ProjectArgs,

    /// Pass calls to this socket instead of looking for the process that holds the project
    #[arg(long, value_name = "PATH", hide = true)]
    socket: Option<PathBuf>,

    /// Which tools to offer
    #[arg(long, default_value = "coding")]
    phase: Phase,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Phase {
    /// create
    Initializer,
    /// set_status, list
    Coding,
    /// create, deprecate, list
    Sync,
    /// set_status, verify, list
    Verify,
    /// review, list
    Review,
}

impl From<Phase> for InstructionName {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Initializer => Self::Initializer,
            Phase::Coding => Self::Coding,
            Phase::Sync => Self::Sync,
            Phase::Verify => Self::Verify,
            Phase::Review => Self::Review,
        }
    }
}

/// Serves until the client goes away.
pub fn cmd_mcp(args: &McpArgs, environment: Environment) -> Result<u8, Fault> {
    let phase = InstructionName::from(args.phase);
    if let Some(socket) = &args.socket {
        let caller = Arc::new(SocketCaller::new(socket.clone()));
        runtime()?.block_on(serve(phase, caller))?;
        return Ok(exit::DONE);
    }
    let project = environment.project(&args.project)?;
    runtime()?.block_on(async {
        let holder = ProjectLock::holder(&project);
        match holder.and_then(|holder| holder.socket) {
            Some(socket) => serve(phase, Arc::new(SocketCaller::new(socket))).await,
            None => serve_alone(&project, phase).await,
        }
    })?;
    Ok(exit::DONE)
}

/// Nobody holds the project: we do, and are the one writer.
async fn serve_alone(project: &Project, phase: InstructionName) -> Result<(), Fault> {
    project.check_writable()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let now = clock.now();
    let holder = Holder { pid: std::process::id(), command: "mcp".to_owned(), since: now, socket: None };
    let _lock = ProjectLock::take(project, &holder)?;
    let spec = project.read_spec().map(|text| sha256_hex(text.as_bytes())).unwrap_or_default();
    let journal = Journal::visit(&project.journal_file(), &spec, now, JournalOptions::default()).await?;
    let status = Arc::new(StatusStore::open(project, Arc::clone(&journal), clock).await?);
    let service = DeliverableService::new(status, journal, phase, Box::new(|_| {}));
    serve(phase, Arc::new(service)).await
}

async fn serve(phase: InstructionName, caller: Arc<dyn Caller>) -> Result<(), Fault> {
    serve_stdio(phase, caller, env!("CARGO_PKG_VERSION"))
        .await
        .map_err(|error| Fault::lasting(Layer::Agent, "mcp", format!("The MCP connection failed: {error}.")))
}
