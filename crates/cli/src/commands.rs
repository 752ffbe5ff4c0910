//! One file per command: its arguments, then its implementation.

pub mod agent;
pub mod check_docs;
pub mod checks;
pub mod completions;
pub mod cost;
pub mod demo;
pub mod doctor;
pub mod follow;
pub mod harness;
pub mod init;
pub mod land;
pub mod man;
pub mod mcp;
pub mod notify;
pub mod plan;
pub mod policy;
pub mod pr;
pub mod report;
pub mod run;
pub mod sessions;
pub mod status;
pub mod steer;
pub mod sync;
pub mod trust;
pub mod unblock;
pub mod verify;
