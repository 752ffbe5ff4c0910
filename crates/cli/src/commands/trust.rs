//! `autonoe trust`

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_store::config::AgentConfig;
use autonoe_store::{Project, Widening};
use clap::Args;

use crate::consent;
use crate::environment::Environment;
use crate::offered_servers::OfferedServers;
use crate::present;
use crate::project_args::ProjectArgs;

/// Review and approve permissions this repository asks for
///
/// Permissions that .autonoe/agent.json adds (commands, tools, permission rules, MCP servers, hooks) take effect only after you have
/// approved them. MCP servers that the repository configures for other tools (.mcp.json and the like) are offered separately: they are
/// used once you have approved them. A change has to be approved again. Restrictions need no approval.
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
    let offered = OfferedServers::find(&project);
    match Widening::of(&AgentConfig::load(&project)?, &project) {
        None if offered.servers.is_empty() => present::print(
            ".autonoe/agent.json asks for no additional permissions; there is nothing to approve.\n",
        ),
        None => {}
        Some(widening) => {
            present::print(&consent::describe(&widening));
            if !approve(&widening, &project, args.yes)? {
                return Err(consent::not_trusted(&widening));
            }
        }
    }
    if let Some(widening) = offered.widening() {
        let lines: Vec<String> = widening.lines.iter().map(|line| format!("  {line}\n")).collect();
        present::print(&format!("The files of other tools offer these MCP servers:\n{}", lines.concat()));
        if !approve(&widening, &project, args.yes)? {
            present::print("Not approved: runs do not use them.\n");
        }
    }
    for problem in &offered.problems {
        present::print(&format!("Not usable: {problem}.\n"));
    }
    Ok(exit::DONE)
}

/// Whether the user has approved it, or does so now.
fn approve(widening: &Widening, project: &Project, yes: bool) -> Result<bool, Fault> {
    if widening.is_trusted(project) {
        present::print("You have already approved this.\n");
        return Ok(true);
    }
    if !yes && !consent::ask(consent::APPROVE) {
        return Ok(false);
    }
    widening.trust(project)?;
    present::print("Approved. Any change will have to be approved again.\n");
    Ok(true)
}
