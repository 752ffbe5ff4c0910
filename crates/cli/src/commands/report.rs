//! `autonoe report`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_core::redact::Redactor;
use autonoe_report::{ChangesUnavailable, RunFacts, document, gather, html, markdown};
use autonoe_store::journal::history::RunCommits;
use autonoe_store::{LockStatus, Project, ProjectLock};
use autonoe_verify::Changes;
use autonoe_workspace::{acts_by_itself, files_run_by_hooks};
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::environment::Environment;
use crate::output_file::write_output;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::room_config;
use crate::system::runtime;
use crate::unseen_commits::UnseenWork;
use crate::write_fault::cannot_write;

/// Write a one-page report of a run: outcome, checks with their evidence, and changes
///
/// The page is self-contained and secrets are redacted, so it can be mailed, archived or attached to a pull request.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Number of the run [default: the last run]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(1..))]
    run: Option<i64>,

    /// Output format [default: html if the file name ends in .html, otherwise markdown]
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,

    /// Output file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Open the report in your browser
    #[arg(long, conflicts_with_all = ["format", "output"])]
    open: bool,

    #[command(flatten)]
    project: ProjectArgs,

    /// Run git without the sandbox
    #[arg(long)]
    no_sandbox: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// Markdown, as rendered by GitHub and GitLab
    Markdown,
    /// Self-contained HTML page without scripts, for browsers and printing
    Html,
}

pub fn cmd_report(args: &ReportArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let (facts, changed) = facts_of_run(&project, args.run, environment, args.no_sandbox)?;
    let page = document(&facts, &changed, &Redactor::new(&environment.secrets()));
    if args.open {
        return open(&project, &facts, &html(&page));
    }
    let format = args.format.unwrap_or_else(|| default_format(args.output.as_deref()));
    let page = match format {
        ReportFormat::Markdown => markdown(&page),
        ReportFormat::Html => html(&page),
    };
    match (&args.output, format) {
        (None, ReportFormat::Markdown) => present::print(&page),
        (None, ReportFormat::Html) => present::print_lines(&page),
        (Some(file), _) => write_output("report", file, &page)?,
    }
    Ok(exit::DONE)
}

/// Writes the page to the state directory, which outlives the browser's start, and opens it there.
fn open(project: &Project, facts: &RunFacts, page: &str) -> Result<u8, Fault> {
    let file = project.state_dir().join("reports").join(format!("run-{}.html", facts.run.id));
    let directory = file.parent().unwrap_or(project.state_dir());
    fs::create_dir_all(directory)
        .map_err(|error| cannot_write(FaultLayer::System, "report", directory, &error))?;
    write_output("report", &file, page)?;
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let opened = Command::new(opener)
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    present::print(&match opened.is_ok_and(|status| status.success()) {
        true => format!("Opened {}\n", file.display()),
        false => format!("No browser could be started. The report is {}\n", file.display()),
    });
    Ok(exit::DONE)
}

/// The report of the last run, as Markdown.
pub fn last_report(project: &Project, environment: &Environment) -> Result<String, Fault> {
    let (facts, changed) = facts_of_run(project, None, environment, false)?;
    Ok(markdown(&document(&facts, &changed, &Redactor::new(&environment.secrets()))))
}

type ReportChanges = Result<Changes, ChangesUnavailable>;

fn facts_of_run(
    project: &Project,
    run: Option<i64>,
    environment: &Environment,
    no_sandbox: bool,
) -> Result<(RunFacts, ReportChanges), Fault> {
    let mut facts = gather(project, run, Timestamp::now())?;
    // While agents work, there always are some.
    if facts.is_last && ProjectLock::status(project) == LockStatus::Free {
        facts.unseen = UnseenWork::of(project, Some(&facts.status), environment).sentences();
    }
    let changed = runtime()?.block_on(changes(project, &facts, environment, no_sandbox));
    if let Ok(changes) = &changed {
        let paths = changes.files.iter().map(|file| file.path.as_str());
        facts.self_acting = paths.clone().filter(|path| acts_by_itself(path)).map(str::to_owned).collect();
        facts.hook_files = files_run_by_hooks(project.root(), environment.home.as_deref(), paths);
    }
    Ok((facts, changed))
}

fn default_format(output: Option<&Path>) -> ReportFormat {
    match output.and_then(Path::extension).is_some_and(|end| end.eq_ignore_ascii_case("html")) {
        true => ReportFormat::Html,
        false => ReportFormat::Markdown,
    }
}

async fn changes(
    project: &Project,
    facts: &RunFacts,
    environment: &Environment,
    no_sandbox: bool,
) -> ReportChanges {
    let Some(RunCommits { before, after }) = &facts.commits else {
        return Err(ChangesUnavailable::NotRecorded);
    };
    fn unreadable(error: impl std::error::Error) -> ChangesUnavailable {
        ChangesUnavailable::Unreadable(error.to_string().trim_end_matches('.').to_owned())
    }
    let checkouts = room_config::checkouts_outside_runs(project, environment, no_sandbox, &[])
        .await
        .map_err(unreadable)?;
    checkouts.changes(before.as_deref(), after.as_deref()).await.map_err(unreadable)
}
