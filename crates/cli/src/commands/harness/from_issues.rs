//! `autonoe harness from-issues`

use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_files::{UntrustedDir, read_bytes_beneath, rewrite_beneath, to_text};
use autonoe_harness::roadmap::{GithubIssue, IssueImport, MAX_ROADMAP, add_issues};
use autonoe_harness::task_plan::invalid;
use autonoe_report::one_line;
use autonoe_store::Project;
use clap::Args;

use super::backends;
use crate::environment::Environment;
use crate::labelled_issues::{MOST_ISSUES, labelled_issues};
use crate::path_in_project::path_in_project;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::system::runtime;
use crate::write_fault::cannot_write;

/// Add GitHub issues with a label to a roadmap, as tasks
///
/// Your own `gh` lists the issues, outside the sandbox. An issue becomes the task gh-NUMBER, unless the roadmap has it already; nothing else in the
/// file changes, and nothing is written to GitHub. A list below `## Harness Config` in an issue sets keys of its task, except for checks.
#[derive(Debug, Args)]
pub struct HarnessFromIssuesArgs {
    /// The roadmap, a file in the project; it is written if it does not exist
    #[arg(value_name = "FILE", default_value = "ROADMAP.md")]
    file: PathBuf,

    /// Label of the issues
    #[arg(long, value_name = "NAME", default_value = "harness")]
    label: String,

    /// Repository of the issues [default: the one that gh finds in the project]
    #[arg(long, value_name = "OWNER/NAME")]
    repo: Option<String>,

    #[command(flatten)]
    project: ProjectArgs,
}

pub fn cmd_from_issues(args: &HarnessFromIssuesArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let name = path_in_project(&project, &args.file)?;
    let earlier = read(&project, &name)?;
    let listing = labelled_issues(&args.label, args.repo.as_deref(), project.root(), environment);
    let issues = runtime()?.block_on(listing)?;
    let known = backends(environment)?;
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let text = earlier.clone().unwrap_or_else(|| empty_roadmap(&project));
    let import = add_issues(&text, &issues, &known).map_err(|error| invalid(&name, &error))?;
    if !import.added.is_empty() {
        write(&project, &name, earlier.as_deref(), &import.text)?;
    }
    present::print(&said(&args.label, &name, &issues, &import));
    Ok(exit::DONE)
}

/// `None` if there is no such file.
fn read(project: &Project, name: &Path) -> Result<Option<String>, Fault> {
    if project.root().join(name).symlink_metadata().is_err() {
        return Ok(None);
    }
    let text = read_bytes_beneath(project.root(), name, MAX_ROADMAP as u64 + 1).and_then(to_text);
    text.map(Some).map_err(|error| {
        let message = format!("{} cannot be read: {error}.", name.display());
        Fault::permanent(FaultLayer::Config, "roadmap", message).hint(error.advice())
    })
}

fn empty_roadmap(project: &Project) -> String {
    let title = project.root().file_name().unwrap_or_default().to_string_lossy();
    format!("# Roadmap: {}\n\n## Tasks\n", one_line(&title))
}

/// A file that has appeared or changed meanwhile is not overwritten.
fn write(project: &Project, name: &Path, earlier: Option<&str>, text: &str) -> Result<(), Fault> {
    let path = project.root().join(name);
    let failed = |error: &std::io::Error| cannot_write(FaultLayer::System, "roadmap", &path, error);
    let changed = || {
        let message =
            format!("{} was changed by someone else meanwhile; nothing was written.", name.display());
        Fault::permanent(FaultLayer::Config, "roadmap", message).hint("Run the command again.")
    };
    if read(project, name)?.as_deref() != earlier {
        return Err(changed());
    }
    if earlier.is_some() {
        return rewrite_beneath(project.root(), name, text.as_bytes()).map_err(|error| failed(&error));
    }
    let directory = UntrustedDir::open(project.root())
        .and_then(|root| root.existing(name.parent().unwrap_or(Path::new(""))))
        .map_err(|error| failed(&error))?;
    let written = directory.write_missing(name.file_name().unwrap_or_default(), text.as_bytes());
    if written.map_err(|error| failed(&error))? { Ok(()) } else { Err(changed()) }
}

fn said(label: &str, name: &Path, issues: &[GithubIssue], import: &IssueImport) -> String {
    let name = name.display();
    if issues.is_empty() {
        return format!("No open issue has the label '{}'; nothing was written.\n", one_line(label));
    }
    let mut text = match import.added.as_slice() {
        [] => format!("{name} has all {} issue(s) already; nothing was written.\n", issues.len()),
        added => {
            let ids: Vec<&str> = added.iter().map(|id| id.as_str()).collect();
            format!(
                "Added {} task(s) to {name}: {}. Others wrote their texts: read them, and add checks, before you run them.\n",
                ids.len(),
                ids.join(", ")
            )
        }
    };
    if !import.added.is_empty() && !import.known.is_empty() {
        text.push_str(&format!("{} issue(s) were there already.\n", import.known.len()));
    }
    for sentence in &import.left_out {
        text.push_str(&format!("Warning: {}\n", one_line(sentence)));
    }
    if issues.len() >= MOST_ISSUES {
        text.push_str(&format!("There may be more: gh was asked for the first {MOST_ISSUES} issues.\n"));
    }
    text
}
