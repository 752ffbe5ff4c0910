//! What a harness needs besides the loop: roadmaps, the order of their tasks, progress, recovery, control files, alerts, and the state
//! that other programs may read.
//!
//! Everything here is a library without a loop, a process or a terminal of its own. It writes below `.harness/` and the boxes of the
//! roadmap only, and the journal stays the truth.

pub mod alerts;
pub mod control;
pub mod failed_checks;
pub mod handle;
pub mod harness_record;
pub mod id;
mod kept_state;
pub mod process;
pub mod progress;
pub mod recovering_plan;
pub mod recovery;
pub mod repetition;
pub mod roadmap;
pub mod runaway;
pub mod schedule;
pub mod state_database;
pub mod state_view;
pub mod stuck;
pub mod task_history;
pub mod task_plan;
