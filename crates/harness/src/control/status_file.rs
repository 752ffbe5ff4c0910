//! `status.json`: what the harness is doing, for people and other programs.

use autonoe_core::outcome::SessionEnd;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{HarnessDirectory, HarnessFileError};
use crate::stuck::StuckState;

const STATUS: &str = "status.json";

/// Codes of faults of a missing or refused login: those of vendors' agents, and of model services.
const LOGIN_CODES: [&str; 2] = ["not_logged_in", "authentication_error"];

/// Maximum size of the file, in bytes.
const MAX_STATUS: u64 = 256 * 1024;

/// Characters of a description that are written.
const MAX_DESCRIPTION: usize = 100;

/// Markers that are written, the newest.
const MAX_MARKERS: usize = 5;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LoopStatus {
    #[default]
    Running,
    Paused,
    Stopped,
    Complete,
    Failed,
}

impl LoopStatus {
    /// Whether the harness has said how it ended.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Stopped | Self::Complete | Self::Failed)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StatusFile {
    pub task_id: Option<String>,
    pub task_description: Option<String>,
    pub status: LoopStatus,
    /// Sessions so far.
    pub current_iteration: u32,
    /// `None` is unlimited.
    pub max_iterations: Option<u32>,
    pub elapsed_seconds: f64,
    pub current_cli: Option<String>,
    pub current_model: Option<String>,
    /// Of the last ten sessions.
    pub avg_progress: f64,
    pub recent_markers: Vec<String>,
    pub stuck_state: StuckState,
    /// Sessions without progress in a row.
    #[serde(default)]
    pub idle_sessions: u32,
    /// Number of the last session that has a score.
    #[serde(default)]
    pub scored_iteration: u32,
    /// Number of the last session after which a remedy began.
    #[serde(default)]
    pub remedy_iteration: u32,
    pub recovery_attempts: u32,
    pub alerts_issued: u32,
    #[serde(default)]
    pub tasks_total: u32,
    #[serde(default)]
    pub tasks_completed: u32,
    /// Tasks that no attempt is left for.
    #[serde(default)]
    pub tasks_failed: u32,
    /// Tasks whose checks have passed; known when the run ends.
    #[serde(default)]
    pub tasks_verified: u32,
    /// Of the sessions that have ended; `None` if a price is unknown.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// The attempt that began last, also when it has ended; `None` before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempt: Option<TaskAttempt>,
    /// Why it failed, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Name of the outcome; `None` until it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Backends that a session has found unusable, and none has used since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_backends: Vec<LostBackend>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAttempt {
    pub task: String,
    pub number: u32,
}

/// A backend without quota or login: another harness would find the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostBackend {
    pub backend: String,
    pub lost: BackendLoss,
    /// When the quota is renewed, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendLoss {
    Quota,
    Login,
}

impl LostBackend {
    /// Whether a session that ended like this would have ended so anywhere.
    pub fn of(backend: &str, end: &SessionEnd) -> Option<Self> {
        let (lost, resets_at) = match end {
            SessionEnd::QuotaExceeded { resets_at, .. } => (BackendLoss::Quota, *resets_at),
            SessionEnd::ExecutionError { fault } if LOGIN_CODES.contains(&fault.code.as_str()) => {
                (BackendLoss::Login, None)
            }
            SessionEnd::ExecutionError { .. }
            | SessionEnd::Completed
            | SessionEnd::MaxTurns
            | SessionEnd::Stuck { .. }
            | SessionEnd::BudgetExceeded { .. }
            | SessionEnd::DurationExceeded { .. }
            | SessionEnd::Interrupted => return None,
        };
        Some(Self { backend: backend.to_owned(), lost, resets_at })
    }

    pub fn is_lost_at(&self, now: Timestamp) -> bool {
        self.resets_at.is_none_or(|resets_at| resets_at > now)
    }
}

impl HarnessDirectory {
    pub fn write_status(&self, status: &StatusFile) -> Result<(), HarnessFileError> {
        let mut shown = status.clone();
        shown.task_description =
            shown.task_description.map(|text| text.chars().take(MAX_DESCRIPTION).collect());
        shown.recent_markers =
            shown.recent_markers.split_off(shown.recent_markers.len().saturating_sub(MAX_MARKERS));
        let text = serde_json::to_string_pretty(&shown).unwrap_or_default();
        self.write(STATUS, text.as_bytes())
    }

    /// `None` if there is none yet.
    pub fn read_status(&self) -> Result<Option<StatusFile>, HarnessFileError> {
        let Some(text) = self.read_text(STATUS, MAX_STATUS)? else {
            return Ok(None);
        };
        let wrong = |error: serde_json::Error| HarnessFileError::File {
            path: self.name(STATUS),
            why: format!("it is not a status: {error}"),
        };
        serde_json::from_str(&text).map(Some).map_err(wrong)
    }
}
