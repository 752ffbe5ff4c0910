//! What can be typed. Help, man page and completions come from here; what it means is decided elsewhere.

use clap::{Parser, Subcommand};

use crate::commands::agent::AgentArgs;
use crate::commands::checks::ChecksArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::demo::DemoArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::init::InitArgs;
use crate::commands::man::ManArgs;
use crate::commands::mcp::McpArgs;
use crate::commands::policy::PolicyArgs;
use crate::commands::report::ReportArgs;
use crate::commands::run::RunArgs;
use crate::commands::sessions::SessionsArgs;
use crate::commands::status::StatusArgs;
use crate::commands::sync::SyncArgs;
use crate::commands::trust::TrustArgs;
use crate::commands::verify::VerifyArgs;

const EXIT_CODES: &str = "\
Exit codes:
  0  all deliverables passed or verified     5  quota exceeded
  1  unexpected error                        6  too many errors in a row
  2  wrong usage or configuration            7  stuck, a person must look
  3  all deliverables blocked              130  interrupted
  4  a limit was reached (sessions, cost, time)

Examples:
  autonoe demo                         see the main job without a key or a network
  autonoe run --max-cost 20            build what SPEC.md says, for at most $20
  autonoe run -n 10 --wait-for-quota   ten sessions at most, waiting out the quota
  autonoe status                       where the deliverables stand";

/// Turns a written specification into software that has been checked.
///
/// Write SPEC.md, start `autonoe run`, and come back to verified software or an honest account of what is
/// missing and why.
#[derive(Debug, Parser)]
#[command(name = "autonoe", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build what SPEC.md asks for, session by session, until everything achievable passed
    #[command(after_help = EXIT_CODES)]
    Run(RunArgs),
    /// Bring the deliverables in line with SPEC.md and verify each against the code
    #[command(after_help = EXIT_CODES)]
    Sync(SyncArgs),
    /// Show deliverables, cost and the last outcome
    Status(StatusArgs),
    /// Run the checks of verified deliverables again, from a fresh checkout
    Verify(VerifyArgs),
    /// List the checks that decide about deliverables, and decide about those that wait for you
    Checks(ChecksArgs),
    /// Write a run as one page for a reviewer
    Report(ReportArgs),
    /// Run agents that are described in files
    Agent(AgentArgs),
    /// Write a first SPEC.md and configuration
    Init(InitArgs),
    /// Tell what is installed and whether a run would work
    Doctor(DoctorArgs),
    /// Show the main job with a scripted model: no key, no network
    Demo(DemoArgs),
    /// Ask what the command policy says, and which rule said it
    Policy(PolicyArgs),
    /// Look at what a repository's configuration widens, and agree to it
    Trust(TrustArgs),
    /// List and show recorded sessions
    Sessions(SessionsArgs),
    /// Serve the deliverable tools over MCP on standard input and output
    Mcp(McpArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print the manual page
    Man(ManArgs),
}
