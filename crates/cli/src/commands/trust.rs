//! `autonoe trust`

use std::io::{BufRead, IsTerminal, Write};

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::exit;
use autonoe_store::config::AgentConfig;
use autonoe_store::{Project, Widening};
use clap::Args;

use crate::arguments::ProjectArgs;
use crate::environment::Environment;
use crate::present;

/// Look at what a repository's configuration widens, and agree to it
///
/// What .autonoe/agent.json adds to what agents may do (commands, tools, permissions, MCP servers, hooks) holds only
/// after you have agreed to it once. A change asks again. What only narrows needs no agreement.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// The project.
    #[command(flatten)]
    project: ProjectArgs,

    /// Agree without being asked
    #[arg(long)]
    yes: bool,
}

/// Shows what is widened and asks.
pub fn cmd_trust(args: &TrustArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let Some(widening) = Widening::of(&AgentConfig::load(&project)?) else {
        present::print(".autonoe/agent.json widens nothing; there is nothing to agree to.\n");
        return Ok(exit::DONE);
    };
    present::print(&shown(&widening));
    if widening.is_trusted(&project) {
        present::print("You have agreed to this before.\n");
        return Ok(exit::DONE);
    }
    if !args.yes && !agreed() {
        return Err(not_trusted(&widening));
    }
    widening.trust(&project)?;
    present::print("Agreed. A change will ask again.\n");
    Ok(exit::DONE)
}

/// Makes sure, before a run, that the user has agreed to what the repository widens.
pub fn ensure_trusted(project: &Project, config: &AgentConfig) -> Result<(), Fault> {
    let Some(widening) = Widening::of(config).filter(|widening| !widening.is_trusted(project)) else {
        return Ok(());
    };
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        let _ = write!(std::io::stderr(), "{}", shown(&widening));
        if agreed() {
            return widening.trust(project);
        }
    }
    Err(not_trusted(&widening))
}

fn shown(widening: &Widening) -> String {
    let lines: Vec<String> = widening.lines.iter().map(|line| format!("  {line}\n")).collect();
    format!(".autonoe/agent.json widens what agents may do:\n{}", lines.concat())
}

/// Asks on the terminal; anything but yes is no, and so is nobody there to answer.
fn agreed() -> bool {
    if !std::io::stdin().is_terminal() {
        return false;
    }
    let _ = write!(std::io::stderr(), "Agree to this? [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

fn not_trusted(widening: &Widening) -> Fault {
    let what = widening.lines.join("; ");
    Fault::lasting(
        Layer::Config,
        "not_trusted",
        format!(".autonoe/agent.json widens what agents may do and you have not agreed to it ({what})."),
    )
    .hint("Look at it, then run `autonoe trust`, or take it out of the file.")
}
