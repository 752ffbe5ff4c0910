//! `autonoe fleet status`

use std::time::Duration;

use autonoe_core::duration::format as format_duration;
use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_core::outcome::exit;
use autonoe_fleet::{FleetLock, HarnessRow, Request};
use autonoe_harness::control::{LoopStatus, StatusFile};
use autonoe_harness::handle::HarnessStatus;
use autonoe_harness::process::process_identity;
use autonoe_report::cost;
use autonoe_store::Project;
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{KnownFleet, directory_of};
use crate::environment::Environment;
use crate::present;
use crate::project_args::ReportArgs;
use crate::watch::{self, WatchedState};

/// Characters of a progress bar, and of a task.
const BAR: usize = 10;
const TASK: usize = 40;

/// Show the harnesses: state, progress, task, session, cost and alerts
#[derive(Debug, Args)]
pub struct FleetStatusArgs {
    #[command(flatten)]
    report: ReportArgs,

    /// Show it anew whenever it changes, until the fleet ends
    #[arg(long, short, conflicts_with = "json")]
    watch: bool,
}

pub fn cmd_status(args: &FleetStatusArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.report.project)?;
    if args.report.json {
        let facts = FleetFacts::read(&project, environment)?;
        present::print_json(&format!("{:#}\n", facts.as_json()));
        return Ok(exit::DONE);
    }
    let read = || {
        let facts = FleetFacts::read(&project, environment)?;
        Ok(WatchedState { text: facts.as_text(), is_over: facts.fleet.row.result.is_some() })
    };
    watch::show(args.watch, read, FleetText::print)
}

/// The lines of the table are folded already; all others are broken where the terminal ends.
#[derive(PartialEq)]
struct FleetText {
    head: String,
    table: String,
    results: String,
}

impl FleetText {
    fn print(&self) {
        present::print(&self.head);
        present::print_lines(&self.table);
        if !self.results.is_empty() {
            present::print(&format!("\n{}", self.results));
        }
    }
}

struct FleetFacts {
    fleet: KnownFleet,
    /// Process of the supervisor, if one is at work.
    supervisor: Option<u32>,
    harnesses: Vec<HarnessFacts>,
}

struct HarnessFacts {
    row: HarnessRow,
    state: HarnessStatus,
    /// `None` before it has begun.
    file: Option<StatusFile>,
    /// In its log, which also has those that a killed process did not count.
    alerts: usize,
}

impl FleetFacts {
    fn read(project: &Project, environment: &Environment) -> Result<Self, Fault> {
        let fleet = KnownFleet::find(project, environment)?;
        let harnesses = fleet.harnesses.iter().map(HarnessFacts::read).collect();
        Ok(Self { supervisor: FleetLock::holder(project.root()), fleet, harnesses })
    }

    fn as_text(&self) -> FleetText {
        let plan = &self.fleet.row.plan;
        let progress: f64 = self.harnesses.iter().map(HarnessFacts::progress).sum();
        let mean = progress / self.harnesses.len().max(1) as f64;
        let head = format!(
            "Fleet {} ({}): {}\n{} {}\n\n",
            plan.name,
            plan.settings.coordination.name(),
            self.summary(),
            bar(mean, 3 * BAR),
            percent(mean)
        );
        let rows = self.harnesses.iter().map(|harness| {
            let session = harness.file.as_ref().map(|file| file.current_iteration.to_string());
            let alerts = harness.file.as_ref().map(|_| harness.alerts.to_string());
            [
                harness.row.id.clone(),
                harness.state.name().to_owned(),
                bar(harness.progress(), BAR),
                percent(harness.progress()),
                harness.task(),
                session.unwrap_or_default(),
                harness.cost(),
                alerts.unwrap_or_default(),
            ]
        });
        let header = ["HARNESS", "STATE", "PROGRESS", "DONE", "TASK", "SESSION", "COST", "ALERTS"];
        let table = present::table(header, rows, &[3, 5, 6, 7]);
        FleetText { head, table, results: self.harnesses.iter().map(HarnessFacts::outcome).collect() }
    }

    fn summary(&self) -> String {
        if let Some(result) = &self.fleet.row.result {
            return result.summary.clone();
        }
        let over = self.harnesses.iter().filter(|harness| harness.row.result.is_some()).count();
        let all = self.harnesses.len();
        let paused = if self.fleet.row.request == Some(Request::Pause) { ", paused" } else { "" };
        match self.supervisor {
            Some(_) => {
                let begun = Timestamp::now().duration_since(self.fleet.row.started_at);
                let since = Duration::try_from(begun).unwrap_or_default();
                format!(
                    "{over} of {all} have ended{paused}, for {}.",
                    format_duration(Duration::from_secs(since.as_secs()))
                )
            }
            None => format!(
                "{over} of {all} have ended; no supervisor is at work. `autonoe fleet up` continues it."
            ),
        }
    }

    fn as_json(&self) -> Value {
        let row = &self.fleet.row;
        json!({
            "fleet": row.plan.name,
            "number": row.number,
            "strategy": row.plan.settings.coordination,
            "started_at": row.started_at,
            "supervisor_pid": self.supervisor,
            "is_paused": row.request == Some(Request::Pause),
            "result": row.result,
            "harnesses": self.harnesses.iter().map(HarnessFacts::as_json).collect::<Vec<_>>(),
        })
    }
}

impl HarnessFacts {
    fn read(row: &HarnessRow) -> Self {
        let directory = directory_of(row);
        let file = directory.as_ref().and_then(|directory| directory.read_status().ok().flatten());
        let alerts = directory.as_ref().and_then(|directory| directory.read_alerts().ok());
        let is_paused = directory.is_some_and(|directory| directory.is_paused())
            || file.as_ref().is_some_and(|file| file.status == LoopStatus::Paused);
        let runs = row.pid.is_some_and(|pid| !row.process.is_empty() && process_identity(pid) == row.process);
        let state = match (&row.result, runs) {
            (Some(_), _) => row.status,
            (None, true) if is_paused => HarnessStatus::Paused,
            (None, true) => HarnessStatus::Running,
            // Ended while no supervisor was at work, or not started.
            (None, false) if row.attempts > 0 => HarnessStatus::Stopped,
            (None, false) => HarnessStatus::Pending,
        };
        Self { row: row.clone(), state, file, alerts: alerts.map_or(0, |alerts| alerts.len()) }
    }

    fn progress(&self) -> f64 {
        match (&self.row.result, &self.file) {
            (Some(result), _) => result.progress,
            (None, Some(file)) if file.tasks_total > 0 => {
                f64::from(file.tasks_completed) / f64::from(file.tasks_total)
            }
            (None, _) => 0.0,
        }
    }

    fn task(&self) -> String {
        let is_over = self.row.result.is_some();
        let task = self.file.as_ref().and_then(|file| file.task_description.as_deref()).filter(|_| !is_over);
        let task = task.unwrap_or_default();
        match task.char_indices().nth(TASK) {
            Some((end, _)) => format!("{}…", task[..end].trim_end()),
            None => task.to_owned(),
        }
    }

    /// Its branch or where its commits are instead, and why it did not succeed; empty while there is nothing to say.
    fn outcome(&self) -> String {
        let mut text = String::new();
        if let Some(home) = &self.row.home {
            let note = home.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
            text.push_str(&format!("{}: branch {}{note}\n", self.row.id, home.branch));
        }
        if let Some(why) = &self.row.left_behind {
            text.push_str(&format!("{}: its commits have not come home: {why}\n", self.row.id));
        }
        if let Some(error) = self.row.result.as_ref().and_then(|result| result.error.as_deref()) {
            text.push_str(&format!("{}: {error}\n", self.row.id));
        }
        text
    }

    fn cost(&self) -> String {
        match &self.file {
            Some(file) => cost(self.cost_usd(file).map(Usd)),
            None => String::new(),
        }
    }

    /// One that was killed has not written its last costs.
    fn cost_usd(&self, file: &StatusFile) -> Option<f64> {
        self.row.result.as_ref().map_or(file.cost_usd, |result| result.cost_usd)
    }

    fn as_json(&self) -> Value {
        let file = self.file.clone().unwrap_or_default();
        json!({
            "id": self.row.id,
            "state": self.state,
            "progress": self.progress(),
            "task": file.task_id,
            "task_description": file.task_description,
            "session": file.current_iteration,
            "backend": file.current_cli,
            "model": file.current_model,
            "cost_usd": self.cost_usd(&file),
            "alerts": self.alerts,
            "attempts": self.row.attempts,
            "pid": self.row.pid.filter(|_| matches!(self.state, HarnessStatus::Running | HarnessStatus::Paused)),
            "working_dir": self.row.working_dir,
            "branch": self.row.home.as_ref().map(|home| &home.branch),
            "commit": self.row.home.as_ref().map(|home| &home.commit),
            "left_behind": self.row.left_behind,
            "result": self.row.result,
        })
    }
}

/// `[####------]`; without a space, at which a table would break it.
fn bar(part: f64, width: usize) -> String {
    let filled = ((part * width as f64).round() as usize).min(width);
    format!("[{}{}]", "#".repeat(filled), "-".repeat(width - filled))
}

fn percent(part: f64) -> String {
    format!("{:.0}%", part * 100.0)
}
