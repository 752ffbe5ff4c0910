//! `autonoe man`

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use clap::{Args, Command};
use clap_mangen::Man;

use crate::present;

/// Print the manual page
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Command whose page to print [default: autonoe itself]
    command: Option<String>,
}

pub fn cmd_man(args: &ManArgs, mut cli: Command) -> Result<u8, Fault> {
    cli.build();
    let page = match &args.command {
        None => Man::new(cli),
        Some(name) => {
            let names: Vec<_> = cli.get_subcommands().map(|command| command.get_name().to_owned()).collect();
            let command = cli.find_subcommand(name).cloned().ok_or_else(|| {
                Fault::permanent(
                    FaultLayer::Config,
                    "no_such_command",
                    format!("There is no command '{name}'."),
                )
                .hint(format!("Available commands: {}.", names.join(", ")))
            })?;
            Man::new(command.display_name(format!("autonoe-{name}")))
        }
    };
    let mut text = Vec::new();
    page.render(&mut text).map_err(|error| {
        Fault::permanent(FaultLayer::System, "man", format!("The manual page cannot be generated: {error}."))
    })?;
    present::print_unchanged(&String::from_utf8_lossy(&text));
    Ok(exit::DONE)
}
