//! `autonoe sessions`

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use autonoe_agents::replay::{Cassette, RecordedEvent, RecordedSession};
use autonoe_core::duration::format as format_duration;
use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_core::outcome::exit;
use autonoe_core::redact::Redactor;
use autonoe_report::{cost, sparkline};
use autonoe_store::journal::history::{EventRow, History, SessionRow};
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;
use serde_json::json;

use crate::completion_candidates;
use crate::environment::Environment;
use crate::output_file::write_output;
use crate::present::{self, TranscriptFilter, debug_line, transcript};
use crate::project_args::ProjectArgs;
use crate::recordings::{SessionId, export_cassette, find_session, read_cassette, sessions_of_last_run};

/// List, show, replay and export recorded sessions
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
        /// Maximum number of sessions to list
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// Only sessions that worked on this deliverable
        #[arg(long, value_name = "ID", add = ArgValueCandidates::new(completion_candidates::deliverables))]
        deliverable: Option<String>,
        /// Only sessions that ended with an error
        #[arg(long)]
        errors: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what happened in one session
    Show {
        /// Session as shown by `list`: RUN.SESSION, such as 3.2
        #[arg(add = ArgValueCandidates::new(completion_candidates::sessions))]
        session: SessionId,
        #[command(flatten)]
        project: ProjectArgs,
        /// Only failed and denied calls, failed checks and warnings
        #[arg(long, conflicts_with = "json")]
        errors: bool,
        /// Print one JSON event per line, untruncated
        #[arg(long)]
        json: bool,
    },
    /// Play back a session or a cassette
    Replay {
        /// Session as shown by `list`, such as 3.2, or a cassette file
        #[arg(add = ArgValueCandidates::new(completion_candidates::sessions))]
        what: String,
        #[command(flatten)]
        project: ProjectArgs,
        /// Play back with the original timing
        #[arg(long)]
        timed: bool,
        /// Print one JSON event per line
        #[arg(long)]
        json: bool,
    },
    /// Export sessions to a cassette file, for `--backend replay:FILE` and `sessions replay`
    Export {
        /// Sessions as shown by `list` [default: all sessions of the last run]
        #[arg(add = ArgValueCandidates::new(completion_candidates::sessions))]
        sessions: Vec<SessionId>,
        #[command(flatten)]
        project: ProjectArgs,
        /// Output file [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

pub fn cmd_sessions(args: &SessionsArgs, environment: &Environment) -> Result<u8, Fault> {
    match &args.command {
        SessionsCommand::List { project, limit, deliverable, errors, json } => {
            let history = History::open(&environment.project(project)?.journal_file())?;
            let sessions = match &history {
                Some(history) => listed(history, deliverable.as_deref(), *errors, *limit)?,
                None => Vec::new(),
            };
            match json {
                true => present::print_json(&format!("{:#}\n", json!(sessions))),
                false => {
                    let progress = history.map(|history| progress(&history, &sessions)).transpose()?;
                    present::print(&format!("{}{}", table(&sessions), progress.unwrap_or_default()));
                }
            }
        }
        SessionsCommand::Show { session, project, errors, json } => {
            let (row, events) = find_session(&environment.project(project)?, *session)?;
            if *json {
                present::print_json(&lines(&events));
            } else {
                let filter = if *errors { TranscriptFilter::Errors } else { TranscriptFilter::Everything };
                let text = transcript(&events, filter, &Redactor::new(&environment.secrets()));
                present::print(&format!("{}\n{text}", heading(&row)));
            }
        }
        SessionsCommand::Replay { what, project, timed, json } => {
            let cassette = match what.parse() {
                Ok(session) => export_cassette(&environment.project(project)?, &[session])?,
                Err(_) => read_cassette(Path::new(what))?,
            };
            play(&cassette, *timed, *json, &Redactor::new(&environment.secrets()));
        }
        SessionsCommand::Export { sessions, project, output } => {
            let project = environment.project(project)?;
            let sessions =
                if sessions.is_empty() { sessions_of_last_run(&project)? } else { sessions.clone() };
            let text = export_cassette(&project, &sessions)?.write();
            match output {
                None => present::print_json(&text),
                Some(file) => write_output("cassette", file, &text)?,
            }
        }
    }
    Ok(exit::DONE)
}

fn play(cassette: &Cassette, timed: bool, json: bool, redactor: &Redactor) {
    for recorded in &cassette.sessions {
        if !json {
            let RecordedSession { instruction, backend, model, .. } = recorded;
            present::print(&format!("Session ({instruction}, {model} on {backend})\n"));
        }
        for RecordedEvent { after, event } in &recorded.events {
            if timed {
                std::thread::sleep(*after);
            }
            match json {
                true => serde_json::to_string(event)
                    .iter()
                    .for_each(|line| present::print_lines(&format!("{line}\n"))),
                false => {
                    debug_line(event, redactor).iter().for_each(|line| present::print(&format!("{line}\n")))
                }
            }
        }
    }
}

fn table(sessions: &[SessionRow]) -> String {
    if sessions.is_empty() {
        return "No sessions yet.\n".to_owned();
    }
    let rows = sessions.iter().map(|row| {
        [
            format!("{}.{}", row.run, row.number),
            local(&row.started_at),
            row.instruction.clone(),
            row.model.clone(),
            outcome(row).to_owned(),
            row.duration_seconds.map(seconds).unwrap_or_default(),
            cost(row.cost_usd.map(Usd)),
        ]
    });
    let header = ["SESSION", "STARTED", "INSTRUCTION", "MODEL", "OUTCOME", "DURATION", "COST"];
    present::table(header, rows, &[])
}

/// Lines for each listed run: the scores of its sessions, if they are several, and which attempts were chosen.
fn progress(history: &History, sessions: &[SessionRow]) -> Result<String, Fault> {
    let runs: BTreeSet<i64> = sessions.iter().map(|row| row.run).collect();
    let mut text = String::new();
    for run in runs.into_iter().rev() {
        let scores = history.scores(run)?;
        if scores.len() > 1 {
            text.push_str(&format!("Progress of run {run}: {}\n", sparkline(&scores)));
        }
        for result in history.best_of(run)? {
            text.push_str(&format!("Best of run {run}: {}\n", result.message));
        }
    }
    Ok(text)
}

fn listed(
    history: &History,
    deliverable: Option<&str>,
    errors: bool,
    limit: usize,
) -> Result<Vec<SessionRow>, Fault> {
    let worked_on: Option<HashSet<(i64, u32)>> = match deliverable {
        Some(id) => {
            let sessions = history.session_costs()?.into_iter();
            let own = sessions.filter(|session| session.deliverables.iter().any(|own| own == id));
            Some(own.map(|session| (session.run, session.number)).collect())
        }
        None => None,
    };
    let all = if worked_on.is_some() || errors { usize::MAX >> 1 } else { limit };
    let mut sessions = history.sessions(all)?;
    sessions.retain(|row| {
        let is_own = worked_on.as_ref().is_none_or(|own| own.contains(&(row.run, row.number)));
        is_own && (!errors || row.outcome.as_ref().is_none_or(|outcome| outcome.fault().is_some()))
    });
    sessions.truncate(limit);
    Ok(sessions)
}

fn heading(row: &SessionRow) -> String {
    format!(
        "Session {}.{}: {}, {} on {}, {}, {}, cost={}, {} tokens in, {} out\n",
        row.run,
        row.number,
        row.instruction,
        row.model,
        row.backend,
        outcome(row),
        row.duration_seconds.map_or_else(|| "unfinished".to_owned(), seconds),
        cost(row.cost_usd.map(Usd)),
        row.input_tokens,
        row.output_tokens,
    )
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

/// The journal has UTC; people see local time.
fn local(utc: &str) -> String {
    let parsed: Result<jiff::Timestamp, _> = utc.parse();
    parsed.map_or_else(
        |_| utc.to_owned(),
        |at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}
