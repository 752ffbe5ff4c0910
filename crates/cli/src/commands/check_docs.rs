//! `autonoe check-docs`: whether the commands in documents, scripts and workflows are understood. For `cargo xtask docs`, which has no
//! other way to the parser.

mod script;

use std::path::PathBuf;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_files::{DOCUMENT_LIMIT, read_text};
use clap::error::ErrorKind;
use clap::{Args, Command};

use crate::command_line::CommandLine;
use crate::present;

/// Find commands in pages that are not understood
#[derive(Debug, Args)]
pub struct CheckDocsArgs {
    /// Markdown pages, and files with shell commands: scripts, workflows, crontabs
    #[arg(required = true)]
    pages: Vec<PathBuf>,
}

pub fn cmd_check_docs(args: &CheckDocsArgs, parser: &Command) -> Result<u8, Fault> {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in &args.pages {
        let unreadable = |why: String| {
            let message = format!("{} cannot be read: {why}.", page.display());
            Fault::permanent(FaultLayer::Config, "page", message)
        };
        let text = read_text(page, DOCUMENT_LIMIT).map_err(|error| unreadable(error.to_string()))?;
        let text = text.ok_or_else(|| unreadable("there is no such file".to_owned()))?;
        let is_markdown = page.extension().is_some_and(|end| end == "md");
        let (commands, completeness) = match is_markdown {
            true => (commands(&text), Completeness::MayLackArguments),
            false => (script::commands(&text), Completeness::Complete),
        };
        count += commands.len();
        wrong.extend(commands.iter().filter_map(|(code, command)| {
            let why = misunderstanding(command, parser, completeness)?;
            Some(format!("  {}: {code}: {why}", page.display()))
        }));
    }
    if wrong.is_empty() {
        present::print(&format!("{count} commands are understood.\n"));
        return Ok(exit::DONE);
    }
    let message = format!("{} of {count} commands are not understood:\n{}", wrong.len(), wrong.join("\n"));
    Err(Fault::permanent(FaultLayer::Config, "unknown_commands", message))
}

/// The commands in code of a page, without comments, as they are written and as words. What a shell would have to read is left out.
fn commands(page: &str) -> Vec<(String, CommandLine)> {
    let inline = page.split('`').skip(1).step_by(2).map(str::to_owned);
    let lines = page.lines().map(|line| line.trim().trim_start_matches("$ ").to_owned());
    let found = inline.chain(lines).filter(|code| code.starts_with("autonoe "));
    let without_comment = |code: String| {
        code.split(" #").flat_map(|part| part.split("   ")).next().unwrap_or_default().trim().to_owned()
    };
    // Sentences that begin with the name, and forms rather than commands.
    found
        .map(without_comment)
        .filter(|code| !code.contains(['…', '|', '[', '\n', '<', ';', '*']))
        .filter_map(|code| code.parse().ok().map(|command| (code, command)))
        .collect()
}

/// Text may name a command without its arguments; a script starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Completeness {
    MayLackArguments,
    Complete,
}

/// Why the parser refuses a command; `None` if it does not.
fn misunderstanding(command: &CommandLine, parser: &Command, completeness: Completeness) -> Option<String> {
    let error = parser.clone().try_get_matches_from(&command.words).err()?;
    let is_fine = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::MissingRequiredArgument | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            completeness == Completeness::MayLackArguments
        }
        _ => false,
    };
    let first = error.to_string().lines().next().unwrap_or_default().to_owned();
    (!is_fine).then_some(first)
}
