//! `autonoe fleet context` and `artifacts`

use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_files::show_bytes;
use autonoe_fleet::{ArtifactFile, MAX_ARTIFACT, SharedContext, SharedContextError};
use clap::Args;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::KnownFleet;
use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;

/// Who publishes what a person publishes.
const PERSON: &str = "user";

/// Show or set what the harnesses share
#[derive(Debug, Args)]
pub struct FleetContextArgs {
    /// Key, such as api.version [default: everything]
    #[arg(value_name = "KEY")]
    key: Option<String>,

    /// Set it: JSON, or a text
    #[arg(value_name = "VALUE", requires = "key")]
    value: Option<String>,

    /// A value of this harness instead of the whole fleet
    #[arg(long, value_name = "ID", requires = "key")]
    harness: Option<String>,

    /// Show the events of the fleet instead, those after TIME if it is given (such as 2026-01-02T03:04:05Z)
    #[arg(long, value_name = "TIME", num_args = 0..=1, conflicts_with_all = ["key", "value"])]
    events: Option<Option<Timestamp>>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

/// List the files that harnesses have published, or print one
#[derive(Debug, Args)]
pub struct FleetArtifactsArgs {
    /// Print this one to standard output
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Publish this file under the name
    #[arg(long, value_name = "FILE", requires = "name")]
    publish: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

pub fn cmd_context(args: &FleetContextArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let context = open(project.root())?;
    if let Some(since) = args.events {
        return show_events(&context, since, args.json);
    }
    let harness = args.harness.as_deref();
    if let (Some(id), Ok(fleet)) = (&args.harness, KnownFleet::find(&project, environment)) {
        fleet.chosen(std::slice::from_ref(id))?;
    }
    let shown = match (&args.key, &args.value) {
        (Some(key), Some(text)) => {
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
            context.set(key, value, harness).map_err(wrong)?;
            report_notices(&context);
            if !args.json {
                present::print(&format!("{key} is set.\n"));
                return Ok(exit::DONE);
            }
            context.get(key, harness).map_err(wrong)?.unwrap_or_default()
        }
        (Some(key), None) => {
            let found = context.get(key, harness).map_err(wrong)?;
            report_notices(&context);
            found.ok_or_else(|| {
                let message = format!("The fleet shares no value '{key}'.");
                Fault::permanent(FaultLayer::Config, "no_value", message)
                    .hint("`autonoe fleet context` shows all of them.")
            })?
        }
        (None, _) => {
            let all = context.all().map_err(wrong)?;
            report_notices(&context);
            all
        }
    };
    match (&shown, args.json) {
        (Value::String(text), false) => present::print_lines(&format!("{text}\n")),
        (value, _) => present::print_json(&format!("{value:#}\n")),
    }
    Ok(exit::DONE)
}

fn show_events(context: &SharedContext, since: Option<Timestamp>, is_json: bool) -> Result<u8, Fault> {
    let events = context.get_events(since).map_err(wrong)?;
    report_notices(context);
    if is_json {
        present::print_json(&format!("{:#}\n", json!({ "events": events })));
        return Ok(exit::DONE);
    }
    let lines = events.iter().map(|event| {
        let harness = event.harness_id.as_deref().unwrap_or("-");
        let details = if event.details.is_null() { String::new() } else { format!("  {}", event.details) };
        format!("{}  {harness}  {}{details}\n", present::local_time(event.timestamp), event.event_type)
    });
    present::print(&lines.collect::<String>());
    Ok(exit::DONE)
}

pub fn cmd_artifacts(args: &FleetArtifactsArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let context = open(project.root())?;
    match (&args.name, &args.publish) {
        (Some(name), Some(file)) => {
            let path = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            let (Some(root), Some(file_name)) = (path.parent(), path.file_name()) else {
                let message = format!("{} is not a file.", path.display());
                return Err(Fault::permanent(FaultLayer::Config, "artifact", message));
            };
            if !path.exists() {
                let message = format!("There is no file {}.", path.display());
                return Err(Fault::permanent(FaultLayer::Config, "artifact", message));
            }
            let file = ArtifactFile { root, path: Path::new(file_name) };
            let artifact = context.publish_artifact(name, file, PERSON, Map::new()).map_err(wrong)?;
            report_notices(&context);
            match args.json {
                true => present::print_json(&format!("{:#}\n", json!(artifact))),
                false => present::print(&format!("{name} is published ({}).\n", show_bytes(artifact.bytes))),
            }
        }
        (Some(name), None) => {
            let (artifact, content) = context.read_artifact(name, MAX_ARTIFACT).map_err(wrong)?;
            report_notices(&context);
            match args.json {
                true => present::print_json(&format!("{:#}\n", json!(artifact))),
                false => present::print_bytes(&content.unwrap_or_default()),
            }
        }
        (None, _) => {
            let artifacts = context.artifacts().map_err(wrong)?;
            report_notices(&context);
            if args.json {
                present::print_json(&format!("{:#}\n", json!({ "artifacts": artifacts })));
            } else if artifacts.is_empty() {
                present::print("No artifact is published.\n");
            } else {
                let rows = artifacts.iter().map(|artifact| {
                    [
                        artifact.name.clone(),
                        artifact.source_harness.clone(),
                        show_bytes(artifact.bytes),
                        present::local_time(artifact.created_at),
                        artifact.sha256[..12.min(artifact.sha256.len())].to_owned(),
                    ]
                });
                let table = present::table(["NAME", "FROM", "SIZE", "PUBLISHED", "SHA-256"], rows, &[2]);
                present::print_lines(&table);
            }
        }
    }
    Ok(exit::DONE)
}

fn open(project: &Path) -> Result<SharedContext, Fault> {
    let found = SharedContext::find(project).map_err(wrong)?;
    found.ok_or_else(|| {
        let message = format!("Nothing is shared in {}.", project.display());
        Fault::permanent(FaultLayer::Config, "no_context", message)
            .hint("`autonoe fleet up FLEET.md` starts a fleet.")
    })
}

fn report_notices(context: &SharedContext) {
    context.take_notices().iter().for_each(|notice| present::warn(notice));
}

fn wrong(error: SharedContextError) -> Fault {
    let layer = match &error {
        SharedContextError::File { .. } | SharedContextError::Locked { .. } => FaultLayer::System,
        _ => FaultLayer::Config,
    };
    Fault::permanent(layer, "shared_context", error.to_string())
}
