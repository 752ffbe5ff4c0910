//! The two plans over deliverables: build them (`run`) and check them (`sync`).

mod deliverable;
mod sync;

pub use deliverable::{DeliverablePlan, run_ended};
pub use sync::{SyncPlan, VerificationReader};

use crate::fault::{Fault, Layer};

/// A session ended well but left nothing to work on.
fn nothing_created(instruction: &str) -> Fault {
    Fault::passing(
        Layer::Plan,
        "no_deliverables",
        format!(
            "The {instruction} session ended without a single active deliverable in .autonoe/status.json."
        ),
    )
    .hint("Check that SPEC.md says what to build; the deliverables are created from it.")
}

#[cfg(test)]
mod tests;
