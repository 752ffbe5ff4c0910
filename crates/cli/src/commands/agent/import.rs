//! `autonoe agent import`

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_files::UntrustedDir;
use autonoe_store::Project;
use autonoe_workflow::faults::CONFIGURATION_VALIDATION;
use autonoe_workflow::{ImportNote, ImportOptions, ImportedAgent, criteria, find_climpt_agents, import};
use clap::Args;
use serde_json::{Value, json};

use super::init::write;
use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::write_fault::cannot_write;

/// Import agents of climpt
///
/// Reads agent.json, config.json, steps_registry.json, the prompts and the schemas of a climpt agent and writes .autonoe/agents/NAME. Reports
/// what was carried over, what was changed, and what has no counterpart and what to use instead. Runs nothing of it. Exits with 0 if all
/// agents were imported, with 2 if one was not.
#[derive(Debug, Args)]
pub struct AgentImportArgs {
    /// Directory of a climpt agent such as .agent/reviewer, or a directory of several such as .agent
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Name of the new agent [default: the name that it has]
    #[arg(long)]
    name: Option<String>,

    /// First step, by its name in climpt [default: the one for the agent's completion type]
    #[arg(long, value_name = "STEP")]
    entry: Option<String>,

    /// Replace an existing agent of the same name
    #[arg(long)]
    force: bool,

    /// Show the report without writing anything
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    project: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

struct ImportAttempt {
    source: PathBuf,
    result: Result<ImportedAgent, Fault>,
}

pub fn cmd_import(args: &AgentImportArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let sources = find_climpt_agents(&args.directory)?;
    if let (true, Some(option)) =
        (sources.len() > 1, args.name.as_ref().map(|_| "--name").or(args.entry.as_ref().map(|_| "--entry")))
    {
        let what =
            format!("{} has {} agents, and {option} is for one.", args.directory.display(), sources.len());
        return Err(CONFIGURATION_VALIDATION.fault(what).hint("Name the directory of one of them."));
    }
    let options = ImportOptions { name: args.name.as_deref(), entry: args.entry.as_deref() };
    let attempts: Vec<ImportAttempt> = sources
        .into_iter()
        .map(|source| ImportAttempt { result: import_one(&project, &source, options, args), source })
        .collect();
    match args.json {
        true => present::print_json(&format!("{:#}\n", as_json(&attempts, args.dry_run))),
        false => present::print(&as_text(&attempts, args.dry_run)),
    }
    Ok(if attempts.iter().all(|attempt| attempt.result.is_ok()) { exit::DONE } else { exit::USAGE })
}

fn import_one(
    project: &Project,
    source: &Path,
    options: ImportOptions<'_>,
    args: &AgentImportArgs,
) -> Result<ImportedAgent, Fault> {
    let agents = project.agents_dir();
    let imported = import(source, &agents, options)?;
    let target = &imported.definition.directory;
    let exists = target.symlink_metadata().is_ok();
    if exists && !args.force {
        let message =
            format!("The agent {} already exists in {}.", imported.definition.name(), target.display());
        return Err(Fault::permanent(FaultLayer::Config, "agent_exists", message)
            .hint("Choose another name with --name, or replace it with --force."));
    }
    if args.dry_run {
        return Ok(imported);
    }
    let not_written =
        |error: io::Error| cannot_write(FaultLayer::System, "agent_not_written", target, &error);
    if exists {
        remove(project, target).map_err(not_written)?;
    }
    for (path, text) in &imported.definition.files {
        write(project, &target.join(path), text).map_err(not_written)?;
    }
    Ok(imported)
}

/// Removes the agent that is replaced. A repository may have links in place of its directories, which are not followed.
fn remove(project: &Project, target: &Path) -> io::Result<()> {
    let below = target.strip_prefix(project.root()).map_err(io::Error::other)?;
    let parent = UntrustedDir::open(project.root())?.existing(below.parent().unwrap_or(Path::new("")))?;
    parent.remove(below.file_name().unwrap_or(OsStr::new("")))
}

fn as_text(attempts: &[ImportAttempt], dry_run: bool) -> String {
    let mut text = String::new();
    for (number, ImportAttempt { source, result }) in attempts.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        match result {
            Ok(imported) => text.push_str(&imported_text(source, imported, dry_run)),
            Err(fault) => {
                let hint = fault.hint.as_ref().map(|hint| format!("\n  {hint}")).unwrap_or_default();
                text.push_str(&format!("Not imported: {}\n  {}{hint}\n", source.display(), fault.message));
            }
        }
    }
    let imported = attempts.iter().filter_map(|attempt| attempt.result.as_ref().ok());
    if let (Some(first), false) = (imported.map(|imported| imported.definition.name()).next(), dry_run) {
        text.push_str(&format!(
            "\nRead the prompts, then look at the steps:\n  autonoe agent show {first}\n  autonoe agent validate {first}\n"
        ));
    }
    text
}

fn imported_text(source: &Path, imported: &ImportedAgent, dry_run: bool) -> String {
    let definition = &imported.definition;
    let verb = if dry_run { "Would import" } else { "Imported" };
    let mut text = format!(
        "{verb} {} (climpt: {})\n  to {}\n  done when {}\n",
        source.display(),
        imported.format,
        definition.directory.display(),
        criteria(&definition.agent.completion)
    );
    let report = &imported.report;
    for (title, notes) in [
        ("Carried over", &report.carried_over),
        ("Changed", &report.changed),
        ("Not carried over", &report.not_carried_over),
    ] {
        if !notes.is_empty() {
            text.push_str(&format!("{title}:\n"));
            notes.iter().for_each(|note| text.push_str(&note_text(note)));
        }
    }
    text
}

fn note_text(note: &ImportNote) -> String {
    let instead = note.instead.as_ref().map(|instead| format!("    {instead}\n")).unwrap_or_default();
    format!("  {}: {}\n{instead}", note.place, note.what)
}

fn as_json(attempts: &[ImportAttempt], dry_run: bool) -> Value {
    let attempts = attempts.iter().map(|ImportAttempt { source, result }| match result {
        Ok(imported) => json!({
            "source": source,
            "agent": imported.definition.name(),
            "directory": imported.definition.directory,
            "format": imported.format,
            "written": !dry_run,
            "files": imported.definition.files.keys().collect::<Vec<_>>(),
            "steps": imported.steps,
            "report": imported.report,
        }),
        Err(fault) => json!({ "source": source, "written": false, "error": fault }),
    });
    attempts.collect()
}
