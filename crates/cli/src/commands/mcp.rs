//! `autonoe mcp`: the deliverable tools over stdio. The logins to MCP servers are in `login`.

mod login;

use std::io;
use std::sync::Arc;

use autonoe_core::clock::Clock;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::instruction::Phase;
use autonoe_core::outcome::exit;
use autonoe_deliverables::{CallAddress, DeliverableService, relay_stdio, serve_stdio};
use autonoe_store::journal::JournalOptions;
use autonoe_store::{LockHolder, Project, ProjectLock, ProjectUse, SqliteJournal, StatusStore, sha256_hex};
use autonoe_verify::why_other_project;
use clap::{Args, Subcommand, ValueEnum};

use self::login::{LoginArgs, LogoutArgs, cmd_login, cmd_logout};
use crate::engine::status_setup::put_aside;
use crate::environment::Environment;
use crate::lock_project::lock_project;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::system::{SystemClock, runtime};

/// Serve the deliverable tools over MCP on standard input and output
///
/// While a run is active in the project, the run answers the calls and its phase decides which tools exist, so that there is only ever
/// one writer.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,

    #[command(flatten)]
    project: ProjectArgs,

    /// Phase whose tools to offer while no run is active
    #[arg(long, default_value = "coding")]
    phase: PhaseArg,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    Login(LoginArgs),
    Logout(LogoutArgs),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PhaseArg {
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

impl From<PhaseArg> for Phase {
    fn from(phase: PhaseArg) -> Self {
        match phase {
            PhaseArg::Initializer => Self::Initializer,
            PhaseArg::Coding => Self::Coding,
            PhaseArg::Sync => Self::Sync,
            PhaseArg::Verify => Self::Verify,
            PhaseArg::Review => Self::Review,
        }
    }
}

/// Serves until the client disconnects, unless a subcommand is given.
pub fn cmd_mcp(args: &McpArgs, environment: Environment) -> Result<u8, Fault> {
    match &args.command {
        Some(McpCommand::Login(args)) => return cmd_login(args, &environment),
        Some(McpCommand::Logout(args)) => return cmd_logout(args, &environment),
        None => {}
    }
    let project = environment.project(&args.project)?;
    match ProjectLock::holder(&project).and_then(|holder| holder.socket) {
        Some(socket) => relay_stdio(&CallAddress::Socket(socket)).map_err(|error| broken(&error))?,
        None => runtime()?.block_on(serve_alone(&project, args.phase.into()))?,
    }
    Ok(exit::DONE)
}

/// No run is active: this process takes the project lock and is the only writer.
async fn serve_alone(project: &Project, phase: Phase) -> Result<(), Fault> {
    project.check_writable()?;
    // Fail before anything is written if the journal cannot say what was deleted.
    let other_project = why_other_project(project)?;
    if other_project.is_none() {
        StatusStore::deleted(project)?;
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let now = clock.now();
    let holder = LockHolder { pid: std::process::id(), command: "mcp".to_owned(), since: now, socket: None };
    let locked = lock_project(project, &holder, ProjectUse::Checkout)?;
    locked.messages.iter().for_each(|message| present::warn(message));
    let spec = project.read_spec().map(|text| sha256_hex(text.as_bytes())).unwrap_or_default();
    let journal = SqliteJournal::open(&project.journal_file(), &spec, now, JournalOptions::default()).await?;
    let status = Arc::new(StatusStore::open(project, Arc::clone(&journal), clock).await?);
    match other_project {
        Some(why) => {
            let moved = put_aside(project, &status, &why, now).await?;
            moved.iter().for_each(|sentence| present::warn(sentence));
        }
        None if status.restore().await?.is_some() => {
            present::notice(".autonoe/status.json was deleted, so it was restored from the journal.");
        }
        None => {}
    }
    let service = DeliverableService::new(status, journal, phase, Box::new(|_| {}));
    serve_stdio(&service).await.map_err(|error| broken(&error))
}

fn broken(error: &io::Error) -> Fault {
    Fault::permanent(FaultLayer::Agent, "mcp", format!("The MCP connection failed: {error}."))
}
