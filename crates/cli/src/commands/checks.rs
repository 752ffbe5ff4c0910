//! `autonoe checks`

use autonoe_core::check::Check;
use autonoe_core::fault::Fault;
use autonoe_core::file_names::shown_name;
use autonoe_core::outcome::exit;
use autonoe_report::{check_state, project_checks};
use autonoe_store::{CheckRegistry, LockHolder, ProjectUse};
use autonoe_verify::{
    accept, check_key, describe_change, describe_dispute, doubt_about, reject, written_checks,
};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::json;

use crate::environment::Environment;
use crate::lock_project::lock_project;
use crate::present;
use crate::project_args::ProjectArgs;

/// List checks, and accept or reject those that need your decision
///
/// A check that already passed before the work began proves nothing until you accept it. If a file that checks depend on was changed,
/// the file is disputed: the accepted version is used until you accept or reject the change.
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
    /// Accept a check, or the current version of a disputed file
    Accept {
        /// Names of checks or paths of disputed files
        #[arg(required = true)]
        targets: Vec<String>,
        #[command(flatten)]
        project: ProjectArgs,
    },
    /// Remove a check that an agent proposed, or restore the accepted version of a disputed file
    Reject {
        /// Names of checks or paths of disputed files
        #[arg(required = true)]
        targets: Vec<String>,
        #[command(flatten)]
        project: ProjectArgs,
    },
}

pub fn cmd_checks(args: &ChecksArgs, environment: &Environment) -> Result<u8, Fault> {
    let (project, targets, is_accepted) = match &args.command {
        None => {
            let project = environment.project(&args.project)?;
            let mut book = CheckRegistry::load(&project)?;
            let checks = project_checks(&project, &mut book)?;
            match args.json {
                true => present::print_json(&as_json(&checks, &book)),
                false => present::print(&as_text(&checks, &book)),
            }
            return Ok(exit::DONE);
        }
        Some(ChecksCommand::Accept { targets, project }) => (project, targets, true),
        Some(ChecksCommand::Reject { targets, project }) => (project, targets, false),
    };
    let project = environment.project(project)?;
    project.check_writable()?;
    let now = Timestamp::now();
    let holder =
        LockHolder { pid: std::process::id(), command: "checks".to_owned(), since: now, socket: None };
    let locked = lock_project(&project, &holder, ProjectUse::Deliverables)?;
    locked.messages.iter().for_each(|message| present::warn(message));
    let written = written_checks(&project, &project.read_spec()?)?;
    for target in targets {
        let target = target.strip_prefix("./").unwrap_or(target);
        let message = match is_accepted {
            true => accept(&project, &written, target, now)?,
            false => reject(&project, &written, target)?,
        };
        present::print(&format!("{message}\n"));
    }
    Ok(exit::DONE)
}

fn as_text(checks: &[Check], book: &CheckRegistry) -> String {
    if checks.is_empty() {
        return "There are no checks, so deliverables that pass are only claimed. To add checks, see docs/verification.md.\n".to_owned();
    }
    let rows = checks.iter().map(|check| {
        [
            check.name.clone(),
            check.deliverable.clone().unwrap_or_else(|| "the project".to_owned()),
            check.origin.to_string(),
            check_state(check, book).to_owned(),
            present::cut(&check.command, 60),
        ]
    });
    let mut text = present::table(["CHECK", "OF", "FROM", "STATE", "COMMAND"], rows, &[]);
    for check in checks {
        if let Some(doubt) = doubt_about(check, book) {
            text.push_str(&format!("\n{} does not count: {doubt}\n", check.name));
        }
    }
    for (name, change) in &book.changed {
        text.push_str(&format!("\nChanged: {}\n", describe_change(name, change)));
    }
    for file in book.disputes.keys() {
        let path = shown_name(&file.to_string());
        text.push_str(&format!(
            "\nDisputed: {path} {}. Run `autonoe checks accept {path}` or `autonoe checks reject {path}`\n",
            describe_dispute(book, file)
        ));
    }
    text
}

fn as_json(checks: &[Check], book: &CheckRegistry) -> String {
    let checks: Vec<_> = checks
        .iter()
        .map(|check| {
            let mut value = json!(check);
            value["state"] = json!(check_state(check, book));
            let doubt = doubt_about(check, book);
            value["counts"] = json!(doubt.is_none() && book.baselines.contains_key(&check_key(check)));
            value["why_not_counted"] = json!(doubt);
            value
        })
        .collect();
    format!(
        "{:#}\n",
        json!({ "checks": checks, "changed": book.changed, "disputes": book.disputes, "files": book.files })
    )
}
