//! What the user can do when a run has ended.

use std::collections::BTreeMap;
use std::time::Duration;

use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_core::status::ProjectStatus;
use autonoe_report::{cost, one_line, project_checks};
use autonoe_store::journal::history::{History, SessionCost};
use autonoe_store::{CheckRegistry, Project, StatusStore};
use autonoe_verify::{Evidence, without_deliverable};

/// Lines for the end of a review; empty if there is nothing to say.
pub fn after_review(project: &Project) -> Result<Vec<String>, Fault> {
    let status = StatusStore::read(project)?;
    Ok(status.map(|status| look_at(project, &status)).transpose()?.unwrap_or_default())
}

/// Lines for the end of a run over deliverables; empty if there is nothing to say. `command` continues it.
pub fn next_steps(project: &Project, command: &str) -> Result<Vec<String>, Fault> {
    let Some(status) = StatusStore::read(project)? else {
        return Ok(Vec::new());
    };
    let mut lines = look_at(project, &status)?;
    let blocked: Vec<&Deliverable> =
        status.active().filter(|item| item.status == DeliverableStatus::Blocked).collect();
    if !blocked.is_empty() {
        lines.push("Blocked:".to_owned());
        lines.extend(
            blocked.iter().map(|item| format!("  {}: {}", one_line(&item.id), one_line(why_blocked(item)))),
        );
        let id = one_line(&blocked[0].id);
        lines.push(format!(
            "  Once resolved: autonoe unblock {id} --note \"what has changed\", then autonoe {command}"
        ));
    }
    if let Some(history) = History::open(&project.journal_file())? {
        lines.extend(costs(&history.session_costs()?, &status));
    }
    lines.push("Review it: autonoe report --open".to_owned());
    Ok(lines)
}

/// What somebody who reads no more than the end of a run has to know about the checks of the user and about what is verified.
fn look_at(project: &Project, status: &ProjectStatus) -> Result<Vec<String>, Fault> {
    let mut registry = CheckRegistry::load(project)?;
    let checks = project_checks(project, &mut registry)?;
    let failing = registry.failing.iter();
    let failing =
        failing.map(|(name, why)| format!("Your check '{}' fails: {}", one_line(name), one_line(why)));
    let lost = without_deliverable(&checks, status).into_iter();
    let lost = lost.map(|clause| format!("Your check {}; `autonoe verify` runs it", one_line(&clause)));
    let noted = Evidence::noted_files(project, status)?;
    let noted: Vec<String> = noted
        .into_iter()
        .filter(|(_, files)| !files.clauses().is_empty())
        .map(|(id, _)| one_line(&id))
        .collect();
    let named = (!noted.is_empty()).then(|| {
        format!(
            "Files that may decide what checks show came with the work: {} (autonoe status)",
            noted.join(", ")
        )
    });
    Ok(failing.chain(lost).chain(named).collect())
}

/// Agents have to give a reason; a file of an older version or one that was edited may have none.
pub fn why_blocked(item: &Deliverable) -> &str {
    item.blocked_reason.as_deref().unwrap_or("no reason was given; see .autonoe-note.md")
}

/// What the deliverables have cost so far, and the agents, each only if there is more than one.
fn costs(sessions: &[SessionCost], status: &ProjectStatus) -> Vec<String> {
    let by_deliverable = cost_by_deliverable(sessions);
    let deliverables =
        status.active().filter_map(|item| Some((item.id.as_str(), by_deliverable.get(&item.id)?.usd)));
    let mut by_backend: BTreeMap<&str, Option<Usd>> = BTreeMap::new();
    for session in sessions {
        let sum = by_backend.entry(&session.backend).or_insert(Some(Usd::ZERO));
        *sum = sum.zip(session.usd).map(|(sum, usd)| sum + Usd(usd));
    }
    [cost_line("Cost so far", deliverables), cost_line("Cost by agent", by_backend.into_iter())]
        .into_iter()
        .flatten()
        .collect()
}

fn cost_line<'a>(title: &str, costs: impl Iterator<Item = (&'a str, Option<Usd>)>) -> Option<String> {
    let shown: Vec<String> = costs.map(|(name, usd)| format!("{} {}", one_line(name), cost(usd))).collect();
    (shown.len() > 1).then(|| format!("{title}: {}", shown.join(", ")))
}

/// What a deliverable has cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeliverableCost {
    /// `None` if a price is unknown.
    pub usd: Option<Usd>,
    pub sessions: u32,
    pub time: Duration,
}

/// A session that changed several deliverables counts for each with an equal part.
pub fn cost_by_deliverable(sessions: &[SessionCost]) -> BTreeMap<String, DeliverableCost> {
    let mut costs: BTreeMap<String, DeliverableCost> = BTreeMap::new();
    for session in sessions {
        let parts = session.deliverables.len() as f64;
        for id in &session.deliverables {
            let part = session.usd.map(|usd| Usd(usd / parts));
            let nothing = DeliverableCost { usd: Some(Usd::ZERO), ..DeliverableCost::default() };
            let sum = costs.entry(id.clone()).or_insert(nothing);
            sum.usd = sum.usd.zip(part).map(|(sum, part)| sum + part);
            sum.sessions += 1;
            sum.time += Duration::try_from_secs_f64(session.seconds / parts).unwrap_or_default();
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::{cost_by_deliverable, costs};
    use autonoe_core::deliverable::NewDeliverable;
    use autonoe_core::money::Usd;
    use autonoe_core::status::ProjectStatus;
    use autonoe_store::journal::history::SessionCost;
    use std::time::Duration;

    fn session(backend: &str, usd: Option<f64>, seconds: f64, deliverables: &[&str]) -> SessionCost {
        SessionCost {
            run: 1,
            number: 1,
            started_at: "2026-11-16T10:00:00Z".to_owned(),
            instruction: "coding".to_owned(),
            backend: backend.to_owned(),
            model: "m".to_owned(),
            usd,
            seconds,
            deliverables: deliverables.iter().map(|id| (*id).to_owned()).collect(),
        }
    }

    fn planned(ids: &[&str]) -> ProjectStatus {
        let mut status = ProjectStatus::empty(Default::default());
        let new = |id: &&str| NewDeliverable {
            id: (*id).to_owned(),
            description: format!("thing {id}"),
            acceptance_criteria: vec!["it works".to_owned()],
            order: Default::default(),
        };
        status.create(ids.iter().map(new).collect()).expect("valid");
        status
    }

    #[test]
    fn a_session_counts_in_parts() {
        let sessions =
            [session("native", Some(0.5), 60.0, &["A", "B"]), session("native", Some(0.25), 30.0, &["A"])];
        let costs = cost_by_deliverable(&sessions);
        assert_eq!((costs["A"].usd, costs["A"].sessions), (Some(Usd(0.5)), 2));
        assert_eq!((costs["A"].time, costs["B"].time), (Duration::from_secs(60), Duration::from_secs(30)));
    }

    #[test]
    fn agents_are_named_if_there_are_several() {
        let status = planned(&["A", "B"]);
        let one = [session("native", Some(0.5), 60.0, &["A", "B"])];
        assert_eq!(costs(&one, &status), ["Cost so far: A $0.25, B $0.25"]);
        let two = [session("codex", Some(0.25), 1.0, &["A"]), session("native", Some(0.5), 1.0, &[])];
        assert_eq!(costs(&two, &status), ["Cost by agent: codex $0.25, native $0.50"]);
        let unknown = [session("codex", None, 1.0, &["A"]), session("native", Some(0.5), 1.0, &["B"])];
        assert_eq!(
            costs(&unknown, &status),
            ["Cost so far: A unknown, B $0.50", "Cost by agent: codex unknown, native $0.50"]
        );
    }
}
