//! `autonoe man`

use std::fs;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use clap::{Args, Command};
use clap_mangen::Man;

use crate::present;
use crate::write_fault::cannot_write;

/// Print the manual page
///
/// With --output-dir ~/.local/share/man/man1, `man autonoe` and `man autonoe sessions` show the pages.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Command whose page to print, such as `sessions show` [default: autonoe itself]
    command: Vec<String>,

    /// Write the pages of all commands to this directory instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    output_dir: Option<PathBuf>,
}

pub fn cmd_man(args: &ManArgs, mut cli: Command) -> Result<u8, Fault> {
    cli.build();
    if let Some(directory) = &args.output_dir {
        let written = write_pages(&cli, "autonoe", directory)?;
        present::print(&format!("Wrote {written} pages to {}.\n", directory.display()));
        return Ok(exit::DONE);
    }
    let (mut command, mut title) = (&cli, "autonoe".to_owned());
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let names: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
            let message = format!("There is no command '{} {name}'.", title.replace('-', " "));
            let fault = Fault::permanent(FaultLayer::Config, "no_such_command", message);
            if names.is_empty() {
                fault
            } else {
                fault.hint(format!("Available commands: {}.", names.join(", ")))
            }
        })?;
        title = format!("{title}-{name}");
    }
    present::print_unchanged(&String::from_utf8_lossy(&page(command, &title)?));
    Ok(exit::DONE)
}

fn page(command: &Command, title: &str) -> Result<Vec<u8>, Fault> {
    let mut text = Vec::new();
    let rendered = Man::new(command.clone().display_name(title)).render(&mut text);
    rendered.map_err(|error| {
        Fault::permanent(FaultLayer::System, "man", format!("The manual page cannot be generated: {error}."))
    })?;
    Ok(text)
}

/// The page of a command and those of its subcommands; returns how many.
fn write_pages(command: &Command, title: &str, directory: &Path) -> Result<usize, Fault> {
    let file = directory.join(format!("{title}.1"));
    let text = page(command, title)?;
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&file, text))
        .map_err(|error| cannot_write(FaultLayer::Config, "man", &file, &error))?;
    let mut count = 1;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
    {
        count += write_pages(below, &format!("{title}-{}", below.get_name()), directory)?;
    }
    Ok(count)
}
