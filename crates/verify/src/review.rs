//! Selects what a reviewer is asked about: criteria that no check covers, and deliverables that only checks of their builder verify.

use autonoe_core::check::{Assurance, Check, CheckAuthor, CheckOrigin};
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::status::ProjectStatus;

use crate::checks::checks_of;
use crate::evidence::coverage;

/// Maximum number of deliverables per review session.
const MAX_PER_SESSION: usize = 10;

/// Deliverables that passed, have a criterion without a check or no check of the user's, and have not been reviewed. `None` if there are
/// none.
pub(crate) fn briefing(status: &ProjectStatus, checks: &[Check]) -> Option<String> {
    let mut text = "## Deliverables to review\n".to_owned();
    let mut count = 0;
    let passed =
        status.active().filter(|item| item.status == DeliverableStatus::Passed && item.review.is_none());
    for item in passed {
        let covered = coverage(item, &checks_of(checks, &item.id));
        let has_unchecked = covered.iter().any(|criterion| criterion.checks.is_empty());
        let author = item.finding.as_ref().map(|finding| finding.checks_by);
        if item.assurance() == Some(Assurance::Verified)
            && author != Some(CheckAuthor::Builder)
            && !has_unchecked
        {
            continue;
        }
        count += 1;
        if count > MAX_PER_SESSION {
            break;
        }
        text.push_str(&format!("\n`{}`: {}\n", item.id, item.description));
        for (number, criterion) in covered.iter().enumerate() {
            let by = match criterion.checks.as_slice() {
                [] => String::new(),
                names => format!(" (checked by {})", names.join(", ")),
            };
            text.push_str(&format!("{}. {}{by}\n", number + 1, criterion.text));
        }
        let proposed =
            checks_of(checks, &item.id).into_iter().filter(|check| check.origin == CheckOrigin::Proposed);
        let proposed: Vec<String> =
            proposed.map(|check| format!("- {}: `{}`\n", check.name, check.command)).collect();
        if !proposed.is_empty() {
            text.push_str(
                "Its builder wrote these checks. Do they ask for what the criteria say, or for less?\n",
            );
            text.push_str(&proposed.concat());
        }
    }
    (count > 0).then_some(text)
}
