//! `autonoe trust`

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_store::Widening;
use autonoe_store::config::AgentConfig;
use clap::Args;

use crate::arguments::ProjectArgs;
use crate::consent;
use crate::environment::Environment;
use crate::present;

/// Review and approve permissions this repository asks for
///
/// Permissions that .autonoe/agent.json adds (commands, tools, permission rules, MCP servers, hooks) take effect only after you have
/// approved them. A change has to be approved again. Restrictions need no approval.
#[derive(Debug, Args)]
pub struct TrustArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Approve without asking
    #[arg(long)]
    yes: bool,
}

pub fn cmd_trust(args: &TrustArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let Some(widening) = Widening::of(&AgentConfig::load(&project)?, &project) else {
        present::print(
            ".autonoe/agent.json asks for no additional permissions; there is nothing to approve.\n",
        );
        return Ok(exit::DONE);
    };
    present::print(&consent::describe(&widening));
    if widening.is_trusted(&project) {
        present::print("You have already approved this.\n");
        return Ok(exit::DONE);
    }
    if !args.yes && !consent::ask(consent::APPROVE) {
        return Err(consent::not_trusted(&widening));
    }
    widening.trust(&project)?;
    present::print("Approved. Any change will have to be approved again.\n");
    Ok(exit::DONE)
}
