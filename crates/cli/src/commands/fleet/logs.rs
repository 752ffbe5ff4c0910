//! `autonoe fleet logs` and `alerts`

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_harness::alerts::{Alert, Severity};
use autonoe_harness::handle::LOG_TAIL;
use clap::{Args, ValueEnum};
use serde_json::json;

use super::{KnownFleet, directory_of, fault};
use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;

/// Show the log of a harness
#[derive(Debug, Args)]
pub struct FleetLogsArgs {
    /// Id of the harness
    #[arg(value_name = "ID")]
    id: String,

    /// Lines from the end
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = LOG_TAIL, value_parser = lines)]
    tail: usize,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

/// Show the alerts of harnesses
#[derive(Debug, Args)]
pub struct FleetAlertsArgs {
    /// Ids of harnesses [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// Only alerts of this severity
    #[arg(long, value_name = "SEVERITY")]
    severity: Option<SeverityChoice>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SeverityChoice {
    Info,
    Warning,
    Critical,
    Success,
    Error,
}

impl From<SeverityChoice> for Severity {
    fn from(choice: SeverityChoice) -> Self {
        match choice {
            SeverityChoice::Info => Self::Info,
            SeverityChoice::Warning => Self::Warning,
            SeverityChoice::Critical => Self::Critical,
            SeverityChoice::Success => Self::Success,
            SeverityChoice::Error => Self::Error,
        }
    }
}

pub fn cmd_logs(args: &FleetLogsArgs, environment: &Environment) -> Result<u8, Fault> {
    let fleet = KnownFleet::open(&args.project, environment)?;
    let chosen = fleet.chosen(std::slice::from_ref(&args.id))?;
    let directory = chosen.first().and_then(|harness| directory_of(harness)).ok_or_else(|| {
        let message = format!("The harness {} has no log yet.", args.id);
        Fault::permanent(FaultLayer::Config, "no_log", message)
            .hint("It has not started; see `autonoe fleet status`.")
    })?;
    let lines = directory.read_log(args.tail).map_err(|error| fault("harness_files", error))?;
    match args.json {
        true => present::print_json(&format!("{:#}\n", json!({ "id": args.id, "lines": lines }))),
        false => present::print_lines(&lines.iter().map(|line| format!("{line}\n")).collect::<String>()),
    }
    Ok(exit::DONE)
}

pub fn cmd_alerts(args: &FleetAlertsArgs, environment: &Environment) -> Result<u8, Fault> {
    let fleet = KnownFleet::open(&args.project, environment)?;
    let mut found: Vec<(String, Alert)> = Vec::new();
    for harness in fleet.chosen(&args.ids)? {
        let Some(directory) = directory_of(harness) else { continue };
        let alerts = directory.read_alerts().map_err(|error| fault("harness_files", error))?;
        found.extend(alerts.into_iter().map(|alert| (harness.id.clone(), alert)));
    }
    let severity = args.severity.map(Severity::from);
    found.retain(|(_, alert)| severity.is_none_or(|severity| alert.severity == severity));
    found.sort_by_key(|(_, alert)| alert.timestamp);
    if args.json {
        let alerts: Vec<_> =
            found.iter().map(|(id, alert)| json!({ "harness": id, "alert": alert })).collect();
        present::print_json(&format!("{:#}\n", json!({ "alerts": alerts })));
        return Ok(exit::DONE);
    }
    match found.is_empty() {
        true => present::print("There are no alerts.\n"),
        false => {
            let lines = found
                .iter()
                .map(|(id, alert)| format!("{}  {id}  {alert}\n", present::local_time(alert.timestamp)));
            present::print(&lines.collect::<String>());
        }
    }
    Ok(exit::DONE)
}

fn lines(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(lines @ 1..=100_000) => Ok(lines),
        _ => Err("expected a number from 1 to 100000".to_owned()),
    }
}
