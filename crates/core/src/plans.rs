//! The two plans over deliverables: build them (`run`) and check them (`sync`).

mod deliverable;
mod nothing_created;
mod sync;

pub use deliverable::{DeliverablePlan, run_ended};
pub use sync::{SyncPlan, VerificationReader};

#[cfg(test)]
mod tests;
