//! Names the nearest command after a typo. clap names none for `rnu` and three for `stauts`.

use autonoe_core::nearest::nearest;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// Adds the nearest command to the error of an unknown one; other errors stay as they are. `args` are without the program.
pub fn suggest_command(mut error: Error, cli: Command, args: &[String]) -> Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let names = siblings(cli, args, typed);
    let meant = nearest(typed, names.iter().map(String::as_str)).map(str::to_owned);
    if let Some(meant) = meant {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![meant]));
    }
    error
}

/// The commands among which the word was typed.
fn siblings(cli: Command, args: &[String], typed: &str) -> Vec<String> {
    let mut command = &cli;
    for word in args.iter().take_while(|word| *word != typed) {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|one| one.get_name().to_owned())
        .collect()
}
