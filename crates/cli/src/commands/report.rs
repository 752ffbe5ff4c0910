//! `autonoe report`

use std::fs;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::exit;
use autonoe_core::redact::Redactor;
use autonoe_store::Project;
use autonoe_store::journal::history::RunCommits;
use autonoe_verify::Changes;
use clap::{Args, ValueEnum};

use crate::arguments::ProjectArgs;
use crate::environment::Environment;
use crate::present;
use crate::report::{Facts, document, gather, html, markdown};
use crate::room_config;
use crate::system::runtime;
use crate::write_fault::cannot_write;

/// Write a run as one page for a reviewer: how it ended, what was checked and how, and what was changed
///
/// The page holds everything that it shows, with secrets redacted; it can be mailed, kept or attached to a change.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run, by its number [default: the last one]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(1..))]
    run: Option<i64>,

    /// How it is written [default: html if the file ends in .html, otherwise markdown]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The project.
    #[command(flatten)]
    project: ProjectArgs,

    /// Run git without the sandbox
    #[arg(long)]
    no_sandbox: bool,
}

/// How a page is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text that reads well as it is, and better on a forge
    Markdown,
    /// A page for a browser and for paper, without scripts
    Html,
}

/// Writes a run as one page.
pub fn cmd_report(args: &ReportArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let facts = gather(&project, args.run)?;
    let changed = runtime()?.block_on(changes(&project, &facts, environment, args.no_sandbox));
    let page = document(&facts, &changed, &Redactor::new(&environment.secrets()));
    let page = match args.format.unwrap_or_else(|| usual_format(args.output.as_deref())) {
        Format::Markdown => markdown(&page),
        Format::Html => html(&page),
    };
    match &args.output {
        None => present::print(&page),
        Some(file) => {
            fs::write(file, page).map_err(|error| cannot_write(Layer::Config, "report", file, &error))?
        }
    }
    Ok(exit::DONE)
}

fn usual_format(output: Option<&Path>) -> Format {
    match output.and_then(Path::extension).is_some_and(|end| end.eq_ignore_ascii_case("html")) {
        true => Format::Html,
        false => Format::Markdown,
    }
}

/// What the run committed, or why that cannot be told. A page without it is still worth reading.
async fn changes(
    project: &Project,
    facts: &Facts,
    environment: &Environment,
    no_sandbox: bool,
) -> Result<Changes, String> {
    let Some(RunCommits { before, after }) = &facts.commits else {
        return Err("the run did not say on which commit it began".to_owned());
    };
    let told = |fault: Fault| fault.message.trim_end_matches('.').to_owned();
    let site = room_config::site_outside_runs(project, environment, no_sandbox).await.map_err(told)?;
    site.changes(before.as_deref(), after.as_deref()).await.map_err(told)?
}
