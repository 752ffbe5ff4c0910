//! `autonoe sessions`

use std::str::FromStr;

use autonoe_core::duration::format as format_duration;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::money::Usd;
use autonoe_core::outcome::exit;
use autonoe_store::journal::history::{EventRow, History, SessionRow};
use clap::{Args, Subcommand};
use comfy_table::{Table, presets};
use serde_json::json;

use crate::arguments::ProjectArgs;
use crate::environment::Environment;
use crate::present::{self, cost, cut};

/// Characters of an event that `show` prints.
const MAX_EVENT: usize = 400;

/// List and show recorded sessions
#[derive(Debug, Args)]
pub struct SessionsArgs {
    #[command(subcommand)]
    command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// List the newest sessions
    List {
        #[command(flatten)]
        project: ProjectArgs,
        /// How many to list
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what happened in one session
    Show {
        /// The session as `list` names it: run.session, such as 3.2
        session: SessionId,
        #[command(flatten)]
        project: ProjectArgs,
        /// Print JSON, one event a line, whole
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy)]
struct SessionId {
    run: i64,
    number: u32,
}

impl FromStr for SessionId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('.').and_then(|(run, number)| Some((run.parse().ok()?, number.parse().ok()?)));
        let (run, number) = parts.ok_or("name a session like 3.2: run, dot, session")?;
        Ok(Self { run, number })
    }
}

/// Lists sessions or shows one.
pub fn cmd_sessions(args: &SessionsArgs, environment: &Environment) -> Result<u8, Fault> {
    match &args.command {
        SessionsCommand::List { project, limit, json } => {
            let sessions = match History::open(&environment.project(project)?.journal_file())? {
                Some(history) => history.sessions(*limit)?,
                None => Vec::new(),
            };
            present::print(&if *json { format!("{:#}\n", json!(sessions)) } else { table(&sessions) });
        }
        SessionsCommand::Show { session, project, json } => {
            let history = History::open(&environment.project(project)?.journal_file())?;
            let found = match history {
                Some(history) => history.session(session.run, session.number)?,
                None => None,
            };
            let (row, events) = found.ok_or_else(|| {
                let name = format!("{}.{}", session.run, session.number);
                Fault::lasting(
                    Layer::Config,
                    "no_such_session",
                    format!("There is no session {name} on record."),
                )
                .hint("`autonoe sessions list` names those there are.")
            })?;
            present::print(&if *json { lines(&events) } else { story(&row, &events) });
        }
    }
    Ok(exit::DONE)
}

fn table(sessions: &[SessionRow]) -> String {
    if sessions.is_empty() {
        return "No sessions yet.\n".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["SESSION", "STARTED", "INSTRUCTION", "MODEL", "OUTCOME", "DURATION", "COST"]);
    for row in sessions {
        table.add_row([
            format!("{}.{}", row.run, row.number),
            local(&row.started_at),
            row.instruction.clone(),
            row.model.clone(),
            outcome(row).to_owned(),
            row.duration_seconds.map(seconds).unwrap_or_default(),
            cost(row.cost_usd.map(Usd)),
        ]);
    }
    format!("{table}\n")
}

fn story(row: &SessionRow, events: &[EventRow]) -> String {
    let mut text = format!(
        "Session {}.{}: {}, {} on {}, {}, cost={}, {} tokens in, {} out\n\n",
        row.run,
        row.number,
        row.instruction,
        row.model,
        row.backend,
        outcome(row),
        cost(row.cost_usd.map(Usd)),
        row.input_tokens,
        row.output_tokens,
    );
    for event in events {
        let kind = event.event["type"].as_str().unwrap_or("?");
        let mut rest = event.event.clone();
        if let Some(object) = rest.as_object_mut() {
            object.remove("type");
        }
        text.push_str(&format!("{} {kind:<12} {}\n", local(&event.at), cut(&rest.to_string(), MAX_EVENT)));
    }
    text
}

fn lines(events: &[EventRow]) -> String {
    events.iter().map(|event| format!("{}\n", json!(event))).collect()
}

fn outcome(row: &SessionRow) -> &str {
    row.outcome.as_ref().map_or("unfinished", |outcome| outcome.name())
}

fn seconds(seconds: f64) -> String {
    format_duration(std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

/// Times are local on screen and UTC on file.
fn local(utc: &str) -> String {
    let parsed: Result<jiff::Timestamp, _> = utc.parse();
    parsed.map_or_else(
        |_| utc.to_owned(),
        |at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}
