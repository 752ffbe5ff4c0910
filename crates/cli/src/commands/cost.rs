//! `autonoe cost`

use std::collections::BTreeMap;

use autonoe_core::duration;
use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_core::outcome::exit;
use autonoe_report::{cost, one_line};
use autonoe_store::Project;
use autonoe_store::journal::history::{History, SessionCost};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;

/// Show what sessions have cost, over all projects of this user
#[derive(Debug, Args)]
pub struct CostArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// What to add up by
    #[arg(long, value_name = "KEY", default_value = "project")]
    by: CostKey,

    /// Only sessions since a day, such as 2026-11-01, or within a time, such as 7d or 12h
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<Timestamp>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CostKey {
    Day,
    Project,
    Model,
    Backend,
    Deliverable,
}

#[derive(Debug, thiserror::Error)]
#[error("expected a day such as 2026-11-01, or a time such as 7d or 12h")]
struct NotAMoment;

fn since(text: &str) -> Result<Timestamp, NotAMoment> {
    if let Ok(day) = text.parse::<Date>() {
        return day.to_zoned(TimeZone::system()).map(|start| start.timestamp()).map_err(|_| NotAMoment);
    }
    let time = duration::parse(text).map_err(|_| NotAMoment)?;
    Timestamp::now().checked_sub(time).map_err(|_| NotAMoment)
}

#[derive(Debug, Default)]
struct CostSum {
    sessions: f64,
    usd: f64,
    has_unknown_price: bool,
}

impl CostSum {
    /// Adds a part of a session.
    fn add(&mut self, session: &SessionCost, part: f64) {
        self.sessions += part;
        self.usd += session.usd.unwrap_or_default() * part;
        self.has_unknown_price |= session.usd.is_none();
    }

    fn total(&self) -> Option<Usd> {
        (!self.has_unknown_price).then_some(Usd(self.usd))
    }

    fn shown(&self) -> String {
        match self.has_unknown_price {
            true if self.usd > 0.0 => format!("{} and unknown", Usd(self.usd)),
            true | false => cost(self.total()),
        }
    }
}

pub fn cmd_cost(args: &CostArgs, environment: &Environment) -> Result<u8, Fault> {
    let journals = match &args.project.project_dir {
        Some(_) => {
            let project = environment.project(&args.project)?;
            vec![(project.journal_file(), project.root().display().to_string())]
        }
        None => Project::all_journals(&environment.state_home),
    };
    let (mut sums, mut all) = (BTreeMap::<String, CostSum>::new(), CostSum::default());
    for (journal, project) in journals {
        let Some(history) = History::open(&journal)? else { continue };
        for session in history.session_costs()?.iter().filter(|session| is_since(session, args.since)) {
            let keys = keys(args.by, session, &project);
            let part = 1.0 / keys.len() as f64;
            keys.into_iter().for_each(|key| sums.entry(key).or_default().add(session, part));
            all.add(session, 1.0);
        }
    }
    let mut rows: Vec<(String, CostSum)> = sums.into_iter().collect();
    if args.by != CostKey::Day {
        rows.sort_by(|a, b| b.1.usd.total_cmp(&a.1.usd));
    }
    match args.json {
        true => present::print_json(&format!("{:#}\n", as_json(&rows, &all))),
        false => present::print(&as_text(args.by, &rows, &all)),
    }
    Ok(exit::DONE)
}

fn is_since(session: &SessionCost, since: Option<Timestamp>) -> bool {
    let started: Option<Timestamp> = session.started_at.parse().ok();
    since.is_none_or(|since| started.is_some_and(|started| started >= since))
}

/// What a session counts for; never empty.
fn keys(by: CostKey, session: &SessionCost, project: &str) -> Vec<String> {
    match by {
        CostKey::Day => vec![local_day(&session.started_at)],
        CostKey::Project => vec![project.to_owned()],
        CostKey::Model => vec![session.model.clone()],
        CostKey::Backend => vec![session.backend.clone()],
        CostKey::Deliverable => match session.deliverables.as_slice() {
            [] => vec![format!("{project}: none ({})", session.instruction)],
            ids => ids.iter().map(|id| format!("{project}: {id}")).collect(),
        },
    }
}

fn local_day(utc: &str) -> String {
    let at: Option<Timestamp> = utc.parse().ok();
    at.map_or_else(|| utc.to_owned(), |at| at.to_zoned(TimeZone::system()).date().to_string())
}

fn as_text(by: CostKey, rows: &[(String, CostSum)], all: &CostSum) -> String {
    if rows.is_empty() {
        return "No sessions yet.\n".to_owned();
    }
    let name = by.to_possible_value().map(|value| value.get_name().to_uppercase()).unwrap_or_default();
    let sums = rows.iter().map(|(key, sum)| (one_line(key), sum)).chain([("total".to_owned(), all)]);
    let rows = sums.map(|(key, sum)| [key, format!("{:.0}", sum.sessions.ceil()), sum.shown()]);
    present::table([name.as_str(), "SESSIONS", "COST"], rows, &[1, 2])
}

fn as_json(rows: &[(String, CostSum)], all: &CostSum) -> serde_json::Value {
    let row = |sum: &CostSum| json!({ "sessions": sum.sessions, "cost_usd": sum.total() });
    let rows: Vec<_> = rows
        .iter()
        .map(|(key, sum)| {
            let mut value = row(sum);
            value["key"] = json!(key);
            value
        })
        .collect();
    json!({ "rows": rows, "total": row(all) })
}
