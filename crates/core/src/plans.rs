//! The two plans over deliverables: build them (`run`) and check them (`sync`).

mod at_once;
mod deliverable;
mod nothing_created;
mod sync;
mod workers;

pub use deliverable::{DeliverablePlan, run_ended};
pub use sync::{SyncPlan, VerificationReader};
pub use workers::Workers;

#[cfg(test)]
mod tests;
