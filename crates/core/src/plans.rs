//! The two plans over deliverables: build them (`run`) and check them (`sync`).

mod deliverable;
mod sync;

pub use deliverable::{DeliverablePlan, run_ended};
pub use sync::{SyncPlan, VerificationReader};

use crate::fault::{Fault, FaultLayer};

/// A session ended without an error but created no deliverables.
fn nothing_created(phase: &str) -> Fault {
    Fault::transient(
        FaultLayer::Plan,
        "no_deliverables",
        format!("The {phase} session ended, but .autonoe/status.json has no active deliverables."),
    )
    .hint("Check that SPEC.md says what to build; deliverables are created from it.")
}

#[cfg(test)]
mod tests;
