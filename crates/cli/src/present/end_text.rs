//! The end of a run as the text of a notification.

use autonoe_core::ending::Ending;
use autonoe_core::outcome::{PlanReport, RunReport};
use autonoe_report::assurance;

use super::messages::overall;
use super::time;

/// How a run ended, for somebody who does not watch it.
pub fn end_text(report: &RunReport) -> String {
    let Ending { sentence, hint, .. } = Ending::of(&report.outcome, time::reset);
    let assurance = match &report.plan {
        PlanReport::Deliverables(tally) | PlanReport::Sync { tally, .. } if tally.total > 0 => {
            Some(assurance(*tally))
        }
        PlanReport::Deliverables(_) | PlanReport::Sync { .. } | PlanReport::Steps(_) => None,
    };
    let lines = [Some(sentence), Some(overall(report, 0)), assurance, hint];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}
