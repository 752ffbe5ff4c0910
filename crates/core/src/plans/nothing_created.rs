//! The fault that both plans report for a session without results.

use crate::fault::{Fault, FaultLayer};

/// A session ended without an error but created no deliverables.
pub(super) fn nothing_created(phase: &str) -> Fault {
    Fault::transient(
        FaultLayer::Plan,
        "no_deliverables",
        format!("The {phase} session ended, but .autonoe/status.json has no active deliverables."),
    )
    .hint("Check that SPEC.md says what to build; deliverables are created from it.")
}
