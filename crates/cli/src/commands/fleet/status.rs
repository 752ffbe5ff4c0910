//! `autonoe fleet status`

use std::path::Path;
use std::time::Duration;

use autonoe_core::duration::format as format_duration;
use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_core::outcome::exit;
use autonoe_fleet::{FleetLock, HarnessRow, Request};
use autonoe_harness::control::StatusFile;
use autonoe_harness::handle::HarnessStatus;
use autonoe_harness::process::process_identity;
use autonoe_report::cost;
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{KnownFleet, directory_of};
use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;

/// How often `--watch` looks.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// Characters of a progress bar, and of a task.
const BAR: usize = 10;
const TASK: usize = 40;

/// Show the harnesses: state, progress, task, session, cost and alerts
#[derive(Debug, Args)]
pub struct FleetStatusArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Show it anew whenever it changes, until the fleet ends
    #[arg(long, short, conflicts_with = "json")]
    watch: bool,
}

pub fn cmd_status(args: &FleetStatusArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    if args.json {
        let facts = FleetFacts::read(project.root())?;
        present::print_json(&format!("{:#}\n", facts.as_json()));
        return Ok(exit::DONE);
    }
    let mut shown = String::new();
    loop {
        let facts = FleetFacts::read(project.root())?;
        let text = facts.as_text();
        if text != shown {
            if args.watch {
                present::clear_screen();
            }
            present::print_lines(&text);
            shown = text;
        }
        if !args.watch || facts.fleet.row.result.is_some() {
            return Ok(exit::DONE);
        }
        std::thread::sleep(WATCH_INTERVAL);
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
}

impl FleetFacts {
    fn read(project: &Path) -> Result<Self, Fault> {
        let fleet = KnownFleet::find(project)?;
        let harnesses = fleet.harnesses.iter().map(HarnessFacts::read).collect();
        Ok(Self { supervisor: FleetLock::holder(project), fleet, harnesses })
    }

    fn as_text(&self) -> String {
        let plan = &self.fleet.row.plan;
        let mut text =
            format!("Fleet {} ({}): {}\n", plan.name, plan.settings.coordination.name(), self.summary());
        let progress: f64 = self.harnesses.iter().map(HarnessFacts::progress).sum();
        let mean = progress / self.harnesses.len().max(1) as f64;
        text.push_str(&format!("{}\n\n", bar(mean, 4 * BAR)));
        let rows = self.harnesses.iter().map(|harness| {
            [
                harness.row.id.clone(),
                harness.state.name().to_owned(),
                bar(harness.progress(), BAR),
                harness.task(),
                harness.file.as_ref().map_or_else(String::new, |file| file.current_iteration.to_string()),
                harness.cost(),
                harness.file.as_ref().map_or_else(String::new, |file| file.alerts_issued.to_string()),
            ]
        });
        let header = ["HARNESS", "STATE", "PROGRESS", "TASK", "SESSION", "COST", "ALERTS"];
        text.push_str(&present::table(header, rows, &[4, 5, 6]));
        for harness in &self.harnesses {
            if let Some(home) = &harness.row.home {
                text.push_str(&format!("\n{}: branch {}", harness.row.id, home.branch));
                text.push_str(&home.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default());
            }
            if let Some(error) = harness.row.result.as_ref().and_then(|result| result.error.as_deref()) {
                text.push_str(&format!("\n{}: {error}", harness.row.id));
            }
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
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
        let runs = row.pid.is_some_and(|pid| !row.process.is_empty() && process_identity(pid) == row.process);
        let state = match (&row.result, runs) {
            (Some(_), _) => row.status,
            (None, true) if directory.is_some_and(|directory| directory.is_paused()) => HarnessStatus::Paused,
            (None, true) => HarnessStatus::Running,
            // Ended while no supervisor was at work, or not started.
            (None, false) if row.attempts > 0 => HarnessStatus::Stopped,
            (None, false) => HarnessStatus::Pending,
        };
        Self { row: row.clone(), state, file }
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
        task.unwrap_or_default().chars().take(TASK).collect()
    }

    fn cost(&self) -> String {
        match &self.file {
            Some(file) => cost(file.cost_usd.map(Usd)),
            None => String::new(),
        }
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
            "cost_usd": file.cost_usd,
            "alerts": file.alerts_issued,
            "attempts": self.row.attempts,
            "pid": self.row.pid.filter(|_| matches!(self.state, HarnessStatus::Running | HarnessStatus::Paused)),
            "working_dir": self.row.working_dir,
            "branch": self.row.home.as_ref().map(|home| &home.branch),
            "commit": self.row.home.as_ref().map(|home| &home.commit),
            "result": self.row.result,
        })
    }
}

/// `[####------]  40 %`
fn bar(part: f64, width: usize) -> String {
    let filled = ((part * width as f64).round() as usize).min(width);
    format!("[{}{}] {:>3.0} %", "#".repeat(filled), "-".repeat(width - filled), part * 100.0)
}
