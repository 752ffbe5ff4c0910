//! `autonoe completions`

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::options::Cli;
use crate::present;

/// Print a shell completion script
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub fn cmd_completions(args: &CompletionsArgs) -> Result<u8, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "autonoe", &mut script);
    present::print(&String::from_utf8_lossy(&script));
    Ok(exit::DONE)
}
