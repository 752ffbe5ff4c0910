//! What an independent look is asked about: what no command has checked.

use autonoe_core::check::{Assurance, Check};
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::status::ProjectStatus;

use crate::evidence::coverage;
use crate::known::checks_of;

/// How many deliverables one look is asked about.
const AT_ONCE: usize = 10;

/// The deliverables that passed, have something that no check covers, and have not been looked at. None if there are none.
pub(crate) fn wanted(status: &ProjectStatus, checks: &[Check]) -> Option<String> {
    let mut text = "## What to look at\n".to_owned();
    let mut count = 0;
    let passed =
        status.active().filter(|item| item.status == DeliverableStatus::Passed && item.review.is_none());
    for item in passed {
        let covered = coverage(item, &checks_of(checks, &item.id));
        let is_open = covered.iter().any(|criterion| criterion.checks.is_empty());
        if item.assurance() == Some(Assurance::Verified) && !is_open {
            continue;
        }
        count += 1;
        if count > AT_ONCE {
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
    }
    (count > 0).then_some(text)
}
