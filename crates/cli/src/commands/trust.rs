//! `autonoe trust`

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_store::Widening;
use autonoe_store::config::AgentConfig;
use clap::Args;

use crate::arguments::ProjectArgs;
use crate::consent::{agreed, not_trusted, shown};
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
