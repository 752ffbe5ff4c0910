//! The command line grammar. Help, man pages and completions are generated from it; the commands themselves are in `commands`.

use clap::{Parser, Subcommand};

use crate::commands::agent::AgentArgs;
use crate::commands::check_docs::CheckDocsArgs;
use crate::commands::checks::ChecksArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::cost::CostArgs;
use crate::commands::demo::DemoArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::fleet::FleetArgs;
use crate::commands::follow::{AttachArgs, LogsArgs};
use crate::commands::harness::HarnessArgs;
use crate::commands::init::InitArgs;
use crate::commands::land::{DiffArgs, LandArgs};
use crate::commands::man::ManArgs;
use crate::commands::mcp::McpArgs;
use crate::commands::notify::NotifyArgs;
use crate::commands::open::OpenArgs;
use crate::commands::plan::PlanArgs;
use crate::commands::policy::PolicyArgs;
use crate::commands::pr::PrArgs;
use crate::commands::report::ReportArgs;
use crate::commands::run::RunArgs;
use crate::commands::sessions::SessionsArgs;
use crate::commands::status::StatusArgs;
use crate::commands::steer::{PauseArgs, ResumeArgs, StopArgs, TellArgs};
use crate::commands::sync::SyncArgs;
use crate::commands::trust::TrustArgs;
use crate::commands::unblock::UnblockArgs;
use crate::commands::verify::VerifyArgs;

const EXIT_CODES: &str = "\
Exit codes:
  0  all deliverables passed or verified     5  quota exceeded
  1  unexpected error                        6  too many errors in a row
  2  wrong usage or configuration            7  stuck, needs a person
  3  deliverables or tasks blocked         130  interrupted
  4  a limit was reached (sessions, cost, time)

Examples:
  autonoe demo                         a complete run, without a key
  autonoe run --max-cost 20            build SPEC.md, spending at most $20
  autonoe run 'add a login page'       make SPEC.md from a sentence
  autonoe run -n 10 --wait-for-quota   ten sessions; wait for the quota
  autonoe status                       show the state of the deliverables";

/// Turn a written specification into verified software
///
/// Write SPEC.md, start `autonoe run`, and come back to verified software, or to a report of what is missing and why.
#[derive(Debug, Parser)]
#[command(name = "autonoe", version, disable_version_flag = true, after_help = EXIT_CODES, max_term_width = 100, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<CliCommand>,

    /// Print the version
    #[arg(short = 'V', long)]
    pub version: bool,

    /// With --version: also the commit, target and features of this build
    #[arg(long, requires = "version")]
    pub verbose: bool,
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Build SPEC.md, session by session, until every achievable deliverable has passed
    #[command(after_help = EXIT_CODES)]
    Run(RunArgs),
    /// Make the deliverables from SPEC.md and show them, without building anything
    #[command(after_help = EXIT_CODES)]
    Plan(PlanArgs),
    /// Update the deliverables to match SPEC.md and verify each against the code
    #[command(after_help = EXIT_CODES)]
    Sync(SyncArgs),
    /// Show deliverables, cost and the last outcome
    Status(StatusArgs),
    /// Watch the run in progress; Ctrl+C leaves it running
    Attach(AttachArgs),
    /// Show the events of the last run
    Logs(LogsArgs),
    /// Open a port of the program that an agent has started, such as the server it builds
    Open(OpenArgs),
    /// Send a message to the agent that is working, or to the next one
    Tell(TellArgs),
    /// Pause the run after its current session
    Pause(PauseArgs),
    /// Continue a run that is paused
    Resume(ResumeArgs),
    /// End the run after its current session
    Stop(StopArgs),
    /// Make blocked deliverables pending again, once what blocked them is resolved
    Unblock(UnblockArgs),
    /// Bring commits of the last run that have not landed to your branch
    Land(LandArgs),
    /// Push the last run's commits and open a pull request, with the report as its text
    Pr(PrArgs),
    /// Show the commits of the last run that have not landed, and their changes
    Diff(DiffArgs),
    /// Rerun the checks of verified deliverables on a fresh checkout
    Verify(VerifyArgs),
    /// List checks, and accept or reject those that need your decision
    Checks(ChecksArgs),
    /// Write a one-page report of a run
    Report(ReportArgs),
    /// Show what sessions have cost, over all projects of this user
    Cost(CostArgs),
    /// Run, inspect and create declarative agents
    Agent(AgentArgs),
    /// Run a roadmap: tasks that depend on each other, with checks and limits of their own
    #[command(after_help = EXIT_CODES)]
    Harness(HarnessArgs),
    /// Run several harnesses under one strategy: parallel, pipeline, race or voting
    #[command(after_help = EXIT_CODES)]
    Fleet(FleetArgs),
    /// Create a starter SPEC.md and configuration
    Init(InitArgs),
    /// Check your setup
    Doctor(DoctorArgs),
    /// Watch a complete run with a scripted model: no key, no network
    Demo(DemoArgs),
    /// Show what the command policy decides, and by which rule
    Policy(PolicyArgs),
    /// Review and approve permissions this repository asks for
    Trust(TrustArgs),
    /// Test who is notified of runs, and see what was delivered
    Notify(NotifyArgs),
    /// List, show, replay and export recorded sessions
    Sessions(SessionsArgs),
    /// Serve the deliverable tools over MCP on standard input and output
    Mcp(McpArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print the manual page
    Man(ManArgs),
    /// Find commands in pages that are not understood
    #[command(hide = true)]
    CheckDocs(CheckDocsArgs),
}
