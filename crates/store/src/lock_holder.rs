//! Who uses a project.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The process that holds a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    pub pid: u32,
    /// E.g. `run`.
    pub command: String,
    pub since: Timestamp,
    /// Socket for deliverable tool calls of its agents.
    pub socket: Option<PathBuf>,
}
