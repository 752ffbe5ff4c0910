//! What a deliverable will probably cost: what earlier ones have cost.

use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_store::Project;
use autonoe_store::journal::history::History;

use super::next_steps::cost_by_deliverable;
use crate::present::CostEstimate;

/// The average of the project's own deliverables; `None` if none of them has a known cost.
pub fn estimate(project: &Project) -> Result<Option<CostEstimate>, Fault> {
    let Some(history) = History::open(&project.journal_file())? else {
        return Ok(None);
    };
    let costs = cost_by_deliverable(&history.session_costs()?);
    let known: Vec<Usd> = costs.values().filter_map(|cost| cost.usd).collect();
    let total: Usd = known.iter().copied().sum();
    Ok((!known.is_empty() && total > Usd::ZERO)
        .then(|| CostEstimate { each: Usd(total.0 / known.len() as f64), of: known.len() }))
}
