//! `autonoe checks`

use autonoe_core::check::Check;
use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_store::{CheckBook, CheckState, Holder, Project};
use autonoe_verify::{accept, all_checks, doubt, key, reject, written_checks};
use clap::{Args, Subcommand};
use comfy_table::{Table, presets};
use jiff::Timestamp;
use serde_json::json;

use crate::acquire::acquire;
use crate::arguments::ProjectArgs;
use crate::environment::Environment;
use crate::present;

/// List the checks that decide about deliverables, and decide about those that wait for you
///
/// A check that passed before the work began proves nothing until you accept it. A file that checks judge by and that was
/// changed is a dispute: the accepted one is used until you accept or reject the change.
#[derive(Debug, Args)]
pub struct ChecksArgs {
    #[command(subcommand)]
    command: Option<ChecksCommand>,

    #[command(flatten)]
    project: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ChecksCommand {
    /// Let a check count, or a file be as it is now
    Accept {
        /// The names of checks, or the paths of disputed files
        #[arg(required = true)]
        targets: Vec<String>,
        #[command(flatten)]
        project: ProjectArgs,
    },
    /// Take out a check that an agent proposed, or put back a file
    Reject {
        /// The names of checks, or the paths of disputed files
        #[arg(required = true)]
        targets: Vec<String>,
        #[command(flatten)]
        project: ProjectArgs,
    },
}

/// Lists checks or decides about them.
pub fn cmd_checks(args: &ChecksArgs, environment: &Environment) -> Result<u8, Fault> {
    let (project, targets, is_accepted) = match &args.command {
        None => {
            let project = environment.project(&args.project)?;
            let book = CheckBook::load(&project)?;
            let checks = known(&project, &book)?;
            present::print(&if args.json { as_json(&checks, &book) } else { as_text(&checks, &book) });
            return Ok(exit::DONE);
        }
        Some(ChecksCommand::Accept { targets, project }) => (project, targets, true),
        Some(ChecksCommand::Reject { targets, project }) => (project, targets, false),
    };
    let project = environment.project(project)?;
    project.check_writable()?;
    let now = Timestamp::now();
    let holder = Holder { pid: std::process::id(), command: "checks".to_owned(), since: now, socket: None };
    let acquired = acquire(&project, &holder)?;
    acquired.messages.iter().for_each(|message| present::warn(message));
    let written = written_checks(&project, &project.read_spec()?)?;
    for target in targets {
        let target = target.strip_prefix("./").unwrap_or(target);
        let said = match is_accepted {
            true => accept(&project, &written, target, now)?,
            false => reject(&project, &written, target)?,
        };
        present::print(&format!("{said}\n"));
    }
    Ok(exit::DONE)
}

/// The checks of a project, as they are written and kept.
pub fn known(project: &Project, book: &CheckBook) -> Result<Vec<Check>, Fault> {
    // Without a specification there may still be checks of another origin.
    let spec = project.find_spec()?.unwrap_or_default();
    Ok(all_checks(&written_checks(project, &spec)?, book))
}

fn as_text(checks: &[Check], book: &CheckBook) -> String {
    if checks.is_empty() {
        return "There are no checks, so whatever passes is only claimed. docs/verification.md says how they are written.\n".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["CHECK", "OF", "FROM", "STATE", "COMMAND"]);
    for check in checks {
        let of = check.deliverable.clone().unwrap_or_else(|| "the project".to_owned());
        table.add_row([
            check.name.clone(),
            of,
            check.origin.to_string(),
            state(check, book).to_owned(),
            present::cut(&check.command, 60),
        ]);
    }
    let mut text = format!("{}\n", table.trim_fmt());
    for check in checks {
        if book.seen.contains_key(&key(check))
            && let Some(doubt) = doubt(check, book)
        {
            text.push_str(&format!(
                "\n{} does not count: {doubt}. To let it count: autonoe checks accept {}\n",
                check.name, check.name
            ));
        }
    }
    for path in book.disputes.keys() {
        text.push_str(&format!(
            "\nDisputed: {path} is not as it was accepted. Decide: autonoe checks accept {path}, or autonoe checks reject {path}\n"
        ));
    }
    text
}

/// What is known of a check, in a word.
pub fn state(check: &Check, book: &CheckBook) -> &'static str {
    match book.seen.get(&key(check)) {
        None => "not run yet",
        Some(seen) if !seen.missing.is_empty() => "judges by nothing",
        Some(seen) => match seen.state {
            CheckState::Red => "failed first",
            CheckState::Vacuous => "vacuous",
            CheckState::Accepted => "accepted",
        },
    }
}

fn as_json(checks: &[Check], book: &CheckBook) -> String {
    let checks: Vec<_> = checks
        .iter()
        .map(|check| {
            let mut value = json!(check);
            value["state"] = json!(state(check, book));
            value["counts"] = json!(doubt(check, book).is_none());
            value
        })
        .collect();
    format!("{:#}\n", json!({ "checks": checks, "disputes": book.disputes, "files": book.files }))
}
