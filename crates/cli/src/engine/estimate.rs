//! What a deliverable will probably cost: what earlier ones have cost.

use std::time::Duration;

use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_store::Project;
use autonoe_store::journal::history::History;

use super::next_steps::{DeliverableCost, cost_by_deliverable};
use crate::present::CostEstimate;

/// The average of the project's own deliverables; `None` if none of them has a known cost.
pub fn estimate(project: &Project) -> Result<Option<CostEstimate>, Fault> {
    let Some(history) = History::open(&project.journal_file())? else {
        return Ok(None);
    };
    let costs = cost_by_deliverable(&history.session_costs()?);
    Ok(average(costs.values()))
}

/// `None` if none has a known cost.
pub fn average<'a>(costs: impl Iterator<Item = &'a DeliverableCost>) -> Option<CostEstimate> {
    let known: Vec<(Usd, Duration)> = costs.filter_map(|cost| Some((cost.usd?, cost.time))).collect();
    let of = u32::try_from(known.len()).ok().filter(|count| *count > 0)?;
    let total: Usd = known.iter().map(|(usd, _)| *usd).sum();
    let time: Duration = known.iter().map(|(_, time)| *time).sum();
    (total > Usd::ZERO).then(|| CostEstimate { each: Usd(total.0 / f64::from(of)), time_each: time / of, of })
}

#[cfg(test)]
mod tests {
    use super::average;
    use crate::engine::DeliverableCost;
    use autonoe_core::money::Usd;
    use std::time::Duration;

    #[test]
    fn what_is_unknown_does_not_count() {
        let cost = |usd: Option<f64>, seconds| DeliverableCost {
            usd: usd.map(Usd),
            sessions: 1,
            time: Duration::from_secs(seconds),
        };
        let estimate =
            average([cost(Some(0.5), 60), cost(None, 600), cost(Some(1.0), 120)].iter()).expect("some");
        assert_eq!((estimate.each, estimate.time_each, estimate.of), (Usd(0.75), Duration::from_secs(90), 2));
        assert_eq!(average([cost(None, 600)].iter()), None);
        assert_eq!(average([cost(Some(0.0), 600)].iter()), None, "a model without a price says nothing");
    }
}
