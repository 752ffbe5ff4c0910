//! The plan as people read it: deliverables, criteria, checks, and what it may cost.

use std::time::Duration;

use autonoe_core::check::Check;
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::duration::format as format_duration;
use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_core::status::ProjectStatus;
use autonoe_report::{one_line, project_checks};
use autonoe_store::{CheckRegistry, Project, StatusStore};
use autonoe_verify::{checks_of, coverage};

use super::messages::status_tag;

/// What earlier deliverables have cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostEstimate {
    /// Average cost of a deliverable.
    pub each: Usd,
    /// Average time of a deliverable's sessions.
    pub time_each: Duration,
    /// How many deliverables that is the average of.
    pub of: u32,
}

/// `None` if there is no plan yet.
pub fn plan_text(project: &Project, estimate: Option<CostEstimate>) -> Result<Option<String>, Fault> {
    let Some(status) = StatusStore::read(project)?.filter(|status| status.active().count() > 0) else {
        return Ok(None);
    };
    let checks = project_checks(project, &mut CheckRegistry::load(project)?)?;
    let mut text = format!("Plan: {} deliverable(s)\n", status.active().count());
    status.active().for_each(|item| text.push_str(&deliverable(item, &checks)));
    text.push_str(&format!("{}\n", expected_cost(&status, estimate)));
    Ok(Some(text))
}

fn deliverable(item: &Deliverable, checks: &[Check]) -> String {
    let tag = match item.status {
        DeliverableStatus::Pending => String::new(),
        status @ (DeliverableStatus::Passed | DeliverableStatus::Blocked) => {
            format!("{} ", status_tag(status))
        }
    };
    let mut text = format!("  {tag}{}  {}\n", one_line(&item.id), one_line(&item.description));
    let own = checks_of(checks, &item.id);
    for (index, criterion) in coverage(item, &own).into_iter().enumerate() {
        let by =
            if criterion.checks.is_empty() { "no check".to_owned() } else { criterion.checks.join(", ") };
        text.push_str(&format!("      {}. {} [{}]\n", index + 1, one_line(&criterion.text), one_line(&by)));
    }
    let whole = own.iter().filter(|check| check.criteria.is_empty());
    let whole: Vec<&str> = whole.map(|check| check.name.as_str()).collect();
    if !whole.is_empty() {
        text.push_str(&format!("      as a whole: {}\n", one_line(&whole.join(", "))));
    }
    text
}

fn expected_cost(status: &ProjectStatus, estimate: Option<CostEstimate>) -> String {
    let open = status.active().filter(|item| item.status == DeliverableStatus::Pending).count();
    let open = u32::try_from(open).unwrap_or(u32::MAX);
    match estimate {
        _ if open == 0 => "Estimated cost: nothing is open".to_owned(),
        Some(CostEstimate { each, time_each, of }) => format!(
            "Estimated cost: about {}, in {} ({open} at {each}, the average of {of} earlier one(s))",
            Usd(each.0 * f64::from(open)),
            format_duration(time_each.saturating_mul(open))
        ),
        None => "Estimated cost: unknown, since no deliverable was built here before".to_owned(),
    }
}
