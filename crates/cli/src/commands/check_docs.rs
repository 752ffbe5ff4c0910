//! `autonoe check-docs`: whether the commands in documents are understood. For `cargo xtask docs`, which has no other way to the parser.

use std::path::PathBuf;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_files::{DOCUMENT_LIMIT, read_text};
use clap::error::ErrorKind;
use clap::{Args, Parser};

use crate::command_line::CommandLine;
use crate::options::Cli;
use crate::present;

/// Find commands in pages that are not understood
#[derive(Debug, Args)]
pub struct CheckDocsArgs {
    /// Markdown pages
    #[arg(required = true)]
    pages: Vec<PathBuf>,
}

pub fn cmd_check_docs(args: &CheckDocsArgs) -> Result<u8, Fault> {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in &args.pages {
        let unreadable = |why: String| {
            let message = format!("{} cannot be read: {why}.", page.display());
            Fault::permanent(FaultLayer::Config, "page", message)
        };
        let text = read_text(page, DOCUMENT_LIMIT).map_err(|error| unreadable(error.to_string()))?;
        let text = text.ok_or_else(|| unreadable("there is no such file".to_owned()))?;
        let commands = commands(&text);
        count += commands.len();
        wrong.extend(commands.iter().filter_map(|(code, command)| {
            Some(format!("  {}: {code}: {}", page.display(), misunderstanding(command)?))
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

/// Why the parser refuses a command; `None` if it does not. Text may name a command without its arguments.
fn misunderstanding(command: &CommandLine) -> Option<String> {
    let error = Cli::try_parse_from(&command.words).err()?;
    let is_fine = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::MissingRequiredArgument
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    let first = error.to_string().lines().next().unwrap_or_default().to_owned();
    (!is_fine).then_some(first)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{CheckDocsArgs, cmd_check_docs, commands};

    #[test]
    fn every_command_in_the_documentation_is_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let pages = fs::read_dir(root.join("docs")).expect("docs").map(|entry| entry.expect("a page").path());
        let pages = pages.filter(|path| path.extension().is_some_and(|end| end == "md"));
        let pages: Vec<PathBuf> = pages.chain([root.join("README.md")]).collect();
        let text: String = pages.iter().map(|page| fs::read_to_string(page).expect("readable")).collect();
        assert!(commands(&text).len() > 50, "few commands were found");
        cmd_check_docs(&CheckDocsArgs { pages }).expect("all are understood");
    }

    #[test]
    fn a_command_that_does_not_exist_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let page = directory.path().join("page.md");
        fs::write(&page, "Start `autonoe run --fast`, then:\n\n    autonoe status   # where it stands\n")
            .expect("written");
        let fault = cmd_check_docs(&CheckDocsArgs { pages: vec![page] }).expect_err("one is wrong");
        assert!(fault.message.starts_with("1 of 2 commands are not understood:\n"), "{}", fault.message);
        assert!(
            fault.message.contains("page.md: autonoe run --fast: error: unexpected argument"),
            "{}",
            fault.message
        );
    }
}
