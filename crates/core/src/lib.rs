//! Autonoe's domain model and its one loop.
//!
//! Everything here is pure: the caller supplies time, randomness, processes and files. This crate depends on
//! no other crate of the workspace; all others depend on it.

pub mod agent;
pub mod attempt;
pub mod backend_chain;
pub mod call_watch;
pub mod check;
pub mod check_item;
pub mod ci_files;
pub mod clock;
pub mod deliverable;
pub mod duration;
pub mod ending;
pub mod event;
pub mod examiner;
pub mod fault;
pub mod file_names;
pub mod files;
pub mod gate;
pub mod halt;
pub mod hook_runner;
pub mod hub_refs;
pub mod instruction;
pub mod journal;
pub mod ledger;
pub mod limits;
pub mod mode;
pub mod money;
pub mod nearest;
pub mod notification;
pub mod outage;
pub mod outcome;
pub mod own_edits;
pub mod pause;
pub mod plan;
pub mod plans;
pub mod profile;
pub mod progress;
pub mod python_modules;
pub mod quota;
pub mod redact;
pub mod runner;
pub mod session;
mod silence;
pub mod sink;
pub mod span;
pub mod spending;
pub mod status;
pub mod steering;
#[cfg(test)]
mod testing;
pub mod verification;
