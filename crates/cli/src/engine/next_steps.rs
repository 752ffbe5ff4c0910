//! What the user can do when a run has ended.

use std::collections::BTreeMap;

use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_core::status::ProjectStatus;
use autonoe_report::{cost, one_line};
use autonoe_store::journal::history::{History, SessionCost};
use autonoe_store::{Project, StatusStore};

/// Lines for the end of a run over deliverables; empty if there is nothing to say. `command` continues it.
pub fn next_steps(project: &Project, command: &str) -> Result<Vec<String>, Fault> {
    let Some(status) = StatusStore::read(project)? else {
        return Ok(Vec::new());
    };
    let mut lines = Vec::new();
    let blocked: Vec<&Deliverable> =
        status.active().filter(|item| item.status == DeliverableStatus::Blocked).collect();
    if !blocked.is_empty() {
        lines.push("Blocked:".to_owned());
        lines.extend(blocked.iter().map(|item| {
            let reason =
                item.blocked_reason.as_deref().unwrap_or("the agent gave no reason; see .autonoe-note.md");
            format!("  {}: {}", one_line(&item.id), one_line(reason))
        }));
        let id = one_line(&blocked[0].id);
        lines.push(format!(
            "  Once resolved: autonoe unblock {id} --note \"what has changed\", then autonoe {command}"
        ));
    }
    lines.extend(costs(project, &status)?);
    lines.push("Review it: autonoe report --open".to_owned());
    Ok(lines)
}

/// What the deliverables have cost so far; `None` if there is not more than one.
fn costs(project: &Project, status: &ProjectStatus) -> Result<Option<String>, Fault> {
    let Some(history) = History::open(&project.journal_file())? else {
        return Ok(None);
    };
    let costs = cost_by_deliverable(&history.session_costs()?);
    let shown: Vec<String> = status
        .active()
        .filter_map(|item| Some(format!("{} {}", one_line(&item.id), cost(costs.get(&item.id)?.usd))))
        .collect();
    Ok((shown.len() > 1).then(|| format!("Cost so far: {}", shown.join(", "))))
}

/// What a deliverable has cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeliverableCost {
    /// `None` if a price is unknown.
    pub usd: Option<Usd>,
    pub sessions: u32,
}

/// A session that changed several deliverables counts for each with an equal part.
pub fn cost_by_deliverable(sessions: &[SessionCost]) -> BTreeMap<String, DeliverableCost> {
    let mut costs: BTreeMap<String, DeliverableCost> = BTreeMap::new();
    for session in sessions {
        for id in &session.deliverables {
            let part = session.usd.map(|usd| Usd(usd / session.deliverables.len() as f64));
            let sum =
                costs.entry(id.clone()).or_insert(DeliverableCost { usd: Some(Usd::ZERO), sessions: 0 });
            sum.usd = sum.usd.zip(part).map(|(sum, part)| sum + part);
            sum.sessions += 1;
        }
    }
    costs
}
