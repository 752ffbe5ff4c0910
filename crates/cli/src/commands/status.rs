//! `autonoe status`

use autonoe_core::deliverable::Deliverable;
use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_core::outcome::exit;
use autonoe_core::redact::Redactor;
use autonoe_core::status::ProjectStatus;
use autonoe_store::journal::history::{History, RunRow};
use autonoe_store::{Holder, ProjectLock, StatusStore};
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::ProjectArgs;
use crate::environment::Environment;
use crate::present::{self, status_tag};

/// Show deliverables, cost and the last outcome
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The project.
    #[command(flatten)]
    project: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

struct Facts {
    status: Option<ProjectStatus>,
    last_run: Option<RunRow>,
    cost: Option<Usd>,
    holder: Option<Holder>,
}

/// Shows where the project stands.
pub fn cmd_status(args: &StatusArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let status = StatusStore::read(&project)?;
    let history = History::open(&project.journal_file())?;
    let (last_run, cost) = match &history {
        None => (None, Some(Usd::ZERO)),
        Some(history) => {
            let (spent, unknown) = history.total_cost()?;
            (history.last_run()?, (!unknown).then_some(Usd(spent)))
        }
    };
    let facts = Facts { status, last_run, cost, holder: ProjectLock::holder(&project) };
    let redactor = Redactor::new(&environment.secrets());
    if args.json {
        let mut value = as_json(&facts);
        redactor.value(&mut value);
        present::print(&format!("{value:#}\n"));
    } else {
        present::print(&redactor.text(&as_text(&facts)));
    }
    Ok(exit::DONE)
}

fn as_text(facts: &Facts) -> String {
    let mut text = String::new();
    match &facts.status {
        None => text.push_str("No deliverables yet; `autonoe run` creates them from SPEC.md.\n"),
        Some(status) => {
            let tally = status.tally();
            for item in status.active() {
                text.push_str(&format!("{:<9} {}  {}\n", status_tag(item.status), item.id, item.description));
            }
            let deprecated = status.deliverables.len() - tally.total;
            text.push_str(&format!("\n{}/{} deliverables passed", tally.passed, tally.total));
            if tally.blocked > 0 {
                text.push_str(&format!(" ({} blocked)", tally.blocked));
            }
            if deprecated > 0 {
                text.push_str(&format!(", {deprecated} deprecated"));
            }
            text.push('\n');
        }
    }
    match (&facts.holder, &facts.last_run) {
        (Some(holder), _) => {
            text.push_str(&format!(
                "Now: `autonoe {}` is running (process {})\n",
                holder.command, holder.pid
            ));
        }
        (None, Some(run)) => text.push_str(&format!("Last run: {}, {}\n", run.command, last_outcome(run))),
        (None, None) => {}
    }
    let cost = facts.cost.map_or_else(|| "unknown".to_owned(), |cost| cost.to_string());
    text.push_str(&format!("Cost of all runs: {cost}\n"));
    text
}

fn last_outcome(run: &RunRow) -> &str {
    run.report
        .as_ref()
        .map_or("ended unexpectedly; `autonoe run` goes on with it", |report| report.outcome.name())
}

fn as_json(facts: &Facts) -> Value {
    let tally = facts.status.as_ref().map(ProjectStatus::tally).unwrap_or_default();
    let deliverables: Vec<Value> =
        facts.status.iter().flat_map(|status| &status.deliverables).map(deliverable_json).collect();
    json!({
        "deliverables": deliverables,
        "passed": tally.passed,
        "blocked": tally.blocked,
        "total": tally.total,
        "cost_usd": facts.cost,
        "last_run": facts.last_run,
        "running": facts.holder,
    })
}

fn deliverable_json(item: &Deliverable) -> Value {
    json!({
        "id": item.id,
        "description": item.description,
        "acceptance_criteria": item.acceptance_criteria,
        "status": item.status,
        "deprecated_at": item.deprecated_at,
    })
}
