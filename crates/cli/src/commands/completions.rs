//! `autonoe completions`

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::present;

/// Set by the script: the shell for which autonoe prints what can follow.
pub const VARIABLE: &str = "AUTONOE_COMPLETE";

/// Print a shell completion script
///
/// The script asks autonoe itself what can follow, so that it also completes agents, deliverables and sessions. For bash:
/// `source <(autonoe completions bash)` in ~/.bashrc.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell to generate the script for
    shell: Shell,
}

pub fn cmd_completions(args: &CompletionsArgs) -> Result<u8, Fault> {
    let unsupported = || {
        let message = format!("There are no completions for {}.", args.shell);
        Fault::permanent(FaultLayer::Config, "completions", message)
    };
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell.to_string()).ok_or_else(unsupported)?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "autonoe", "autonoe", "autonoe", &mut script).map_err(|error| {
        Fault::permanent(
            FaultLayer::System,
            "completions",
            format!("The script cannot be generated: {error}."),
        )
    })?;
    present::print_unchanged(&String::from_utf8_lossy(&script));
    Ok(exit::DONE)
}
