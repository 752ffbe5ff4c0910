//! `autonoe completions`

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::present;

/// Print a shell completion script
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell to generate the script for
    shell: Shell,
}

pub fn cmd_completions(args: &CompletionsArgs, mut cli: Command) -> Result<u8, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "autonoe", &mut script);
    present::print_unchanged(&String::from_utf8_lossy(&script));
    Ok(exit::DONE)
}
