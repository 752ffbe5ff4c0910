//! Alerts: what a person should know about a harness, as JSON lines in `alerts.log`.
//!
//! Each has an id that follows from what it is about, and the log is read at the start: a process that was killed raises no alert twice.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use autonoe_core::notification::NotificationLevel;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::control::{ALERTS, HarnessDirectory, HarnessFileError};
use crate::progress::fingerprint;

/// Alerts that are kept in memory.
const REMEMBERED: usize = 1000;

/// Alerts that [`AlertManager::recent`] is usually asked for.
pub const RECENT: usize = 10;

/// Bytes at the end of the log that are read at the start.
const MAX_READ: u64 = 8 * 1024 * 1024;

/// Sessions between two milestones.
pub const MILESTONE: u32 = 10;

/// Part of a limit from which on it is near, in per cent.
pub const NEAR_PERCENT: u32 = 80;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    Info,
    Warning,
    Critical,
    Success,
    Error,
}

impl Severity {
    /// The same in the terms of notifications.
    pub fn level(self) -> NotificationLevel {
        match self {
            Self::Info => NotificationLevel::Info,
            Self::Warning => NotificationLevel::Warning,
            Self::Critical => NotificationLevel::Critical,
            Self::Success => NotificationLevel::Success,
            Self::Error => NotificationLevel::Error,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Critical => "CRITICAL",
            Self::Success => "SUCCESS",
            Self::Error => "ERROR",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum AlertType {
    IterationMilestone,
    NoProgress,
    StuckRecovery,
    ApproachingLimit,
    ModelEscalation,
    RunawayDetected,
    GoalComplete,
    FatalError,
    StuckUnrecoverable,
    Custom(String),
}

impl AlertType {
    const KNOWN: [Self; 9] = [
        Self::IterationMilestone,
        Self::NoProgress,
        Self::StuckRecovery,
        Self::ApproachingLimit,
        Self::ModelEscalation,
        Self::RunawayDetected,
        Self::GoalComplete,
        Self::FatalError,
        Self::StuckUnrecoverable,
    ];

    pub fn name(&self) -> &str {
        match self {
            Self::IterationMilestone => "iteration_milestone",
            Self::NoProgress => "no_progress",
            Self::StuckRecovery => "stuck_recovery",
            Self::ApproachingLimit => "approaching_limit",
            Self::ModelEscalation => "model_escalation",
            Self::RunawayDetected => "runaway_detected",
            Self::GoalComplete => "goal_complete",
            Self::FatalError => "fatal_error",
            Self::StuckUnrecoverable => "stuck_unrecoverable",
            Self::Custom(name) => name,
        }
    }

    /// The usual severity of such alerts.
    pub fn severity(&self) -> Severity {
        match self {
            Self::IterationMilestone | Self::ModelEscalation | Self::Custom(_) => Severity::Info,
            Self::NoProgress | Self::StuckRecovery | Self::ApproachingLimit => Severity::Warning,
            Self::RunawayDetected | Self::StuckUnrecoverable => Severity::Critical,
            Self::GoalComplete => Severity::Success,
            Self::FatalError => Severity::Error,
        }
    }
}

impl From<AlertType> for String {
    fn from(kind: AlertType) -> Self {
        kind.name().to_owned()
    }
}

impl From<String> for AlertType {
    fn from(name: String) -> Self {
        let known = Self::KNOWN.into_iter().find(|known| known.name() == name);
        known.unwrap_or(Self::Custom(name))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// The same whenever the same alert is raised; empty in logs of other programs.
    #[serde(default)]
    pub id: String,
    #[serde(rename = "type")]
    pub kind: AlertType,
    pub severity: Severity,
    /// A sentence.
    pub message: String,
    pub timestamp: Timestamp,
    /// Number of the session.
    pub iteration: u32,
    #[serde(default)]
    pub context: Map<String, Value>,
}

impl Alert {
    /// With the usual severity and without context.
    pub fn new(kind: AlertType, message: impl Into<String>, iteration: u32, timestamp: Timestamp) -> Self {
        let (severity, message) = (kind.severity(), message.into());
        Self { id: String::new(), kind, severity, message, timestamp, iteration, context: Map::new() }
    }

    #[must_use]
    pub fn with_severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.context.insert(key.to_owned(), value.into());
        self
    }

    /// What it is about: neither its time nor numbers that would differ if it were raised again after a crash. The sessions of the next run
    /// have the same numbers, so the run is a part of it. Who raises an alert takes all of this from the event that it is about, never from
    /// the state of the harness: that may have changed when the event is shown again.
    fn identity(&self) -> String {
        let [run, task, attempt] = ["run", "task", "attempt"]
            .map(|key| self.context.get(key).map(Value::to_string).unwrap_or_default());
        // A limit is as near after a crash, in whichever session, and an attempt that gets stuck again after some progress is nothing new.
        let is_limit = self.kind == AlertType::ApproachingLimit;
        let is_of_attempt =
            matches!(self.kind, AlertType::NoProgress | AlertType::StuckRecovery) && !attempt.is_empty();
        let iteration = if is_limit || is_of_attempt { 0 } else { self.iteration };
        let about = format!("{}\n{run}\n{iteration}\n{task}\n{attempt}\n{}", self.kind.name(), self.message);
        format!("{:016x}", fingerprint(about.as_bytes()))
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.severity, self.kind.name(), self.message)
    }
}

/// Whether critical alerts pause the harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnCritical {
    Continue,
    Pause,
}

pub struct AlertManager {
    harness: Arc<HarnessDirectory>,
    on_critical: OnCritical,
    /// Ids of all alerts in the log.
    raised: HashSet<String>,
    /// The newest last.
    alerts: VecDeque<Alert>,
}

impl AlertManager {
    /// Reads the alerts of earlier processes.
    pub fn open(harness: Arc<HarnessDirectory>, on_critical: OnCritical) -> Result<Self, HarnessFileError> {
        let alerts = harness.read_alerts()?;
        let raised = alerts.iter().map(|alert| alert.id.clone()).collect();
        let newest = alerts.len().saturating_sub(REMEMBERED);
        Ok(Self { harness, on_critical, raised, alerts: alerts.into_iter().skip(newest).collect() })
    }

    /// The alert with its id; `None` if it was raised before.
    pub fn new_alert(&self, alert: Alert) -> Option<Alert> {
        let alert = Alert { id: alert.identity(), ..alert };
        (!self.raised.contains(&alert.id)).then_some(alert)
    }

    /// Writes an alert, and pauses the harness if it is critical and that is wished. Returns it for delivery elsewhere, under its id;
    /// `None` if it was raised before.
    pub fn alert(&mut self, alert: Alert) -> Result<Option<Alert>, HarnessFileError> {
        let Some(alert) = self.new_alert(alert) else {
            return Ok(None);
        };
        // A map with text keys can always be written.
        let line = serde_json::to_string(&alert).unwrap_or_default();
        self.harness.append(ALERTS, &line)?;
        self.raised.insert(alert.id.clone());
        self.alerts.push_back(alert.clone());
        if self.alerts.len() > REMEMBERED {
            self.alerts.pop_front();
        }
        if alert.severity == Severity::Critical && self.on_critical == OnCritical::Pause {
            self.harness.pause_for_alert(alert.kind.name())?;
        }
        Ok(Some(alert))
    }

    /// Alerts in the log.
    pub fn count(&self) -> usize {
        self.raised.len()
    }

    /// All alerts, or those of a severity; the newest last.
    pub fn alerts(&self, severity: Option<Severity>) -> impl Iterator<Item = &Alert> {
        self.alerts.iter().filter(move |alert| severity.is_none_or(|severity| alert.severity == severity))
    }

    /// The last `count` alerts, the newest last.
    pub fn recent(&self, count: usize) -> impl Iterator<Item = &Alert> {
        self.alerts.iter().skip(self.alerts.len().saturating_sub(count))
    }
}

impl HarnessDirectory {
    /// The alerts in the log, the newest last. Lines that are not alerts are left out.
    pub fn read_alerts(&self) -> Result<Vec<Alert>, HarnessFileError> {
        let lines = self.last_lines(ALERTS, MAX_READ)?;
        Ok(lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }
}

/// The last milestone up to a session; `None` before the first one.
pub fn last_milestone(iteration: u32) -> Option<u32> {
    Some(iteration - iteration % MILESTONE).filter(|milestone| *milestone > 0)
}

/// Whether a limit is near, but not reached.
pub fn is_near(used: f64, limit: f64) -> bool {
    limit > 0.0 && (f64::from(NEAR_PERCENT) / 100.0..1.0).contains(&(used / limit))
}

/// The session with which a limit is near: the last but one, if the limit is that small. `None` if there is no session before the last.
pub fn first_near(limit: u32) -> Option<u32> {
    let near = (u64::from(limit) * u64::from(NEAR_PERCENT)).div_ceil(100);
    let last_but_one = limit.checked_sub(1).filter(|number| *number > 0)?;
    Some(u32::try_from(near).unwrap_or(last_but_one).min(last_but_one))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use jiff::Timestamp;

    use super::{
        Alert, AlertManager, AlertType, OnCritical, RECENT, Severity, first_near, is_near, last_milestone,
    };
    use crate::control::HarnessDirectory;

    fn alert(kind: AlertType, message: &str, iteration: u32) -> Alert {
        Alert::new(kind, message, iteration, Timestamp::UNIX_EPOCH).with("task", "cart")
    }

    #[test]
    fn an_alert_is_a_json_line_with_the_usual_keys() {
        let project = tempfile::tempdir().expect("directory");
        let harness = Arc::new(HarnessDirectory::create(project.path(), "main").expect("a harness"));
        let mut manager = AlertManager::open(Arc::clone(&harness), OnCritical::Continue).expect("opened");
        let raised =
            manager.alert(alert(AlertType::NoProgress, "No progress.", 4)).expect("raised").expect("new");
        assert_eq!(raised.to_string(), "[WARNING] no_progress: No progress.");
        let line = fs::read_to_string(harness.path().join("alerts.log")).expect("text");
        let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let keys: Vec<&String> = value.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["id", "type", "severity", "message", "timestamp", "iteration", "context"]);
        assert_eq!((&value["severity"], &value["context"]["task"]), (&"WARNING".into(), &"cart".into()));
    }

    #[test]
    fn each_alert_is_raised_once_also_after_a_crash() {
        let project = tempfile::tempdir().expect("directory");
        let harness = Arc::new(HarnessDirectory::create(project.path(), "main").expect("a harness"));
        let mut news = 0;
        for _ in 0..3 {
            let mut manager = AlertManager::open(Arc::clone(&harness), OnCritical::Continue).expect("opened");
            for iteration in [1, 1, 2] {
                let raised = manager.alert(alert(AlertType::NoProgress, "No progress.", iteration));
                news += usize::from(raised.expect("raised").is_some());
            }
            // A process that was killed while it wrote an alert.
            let path = harness.path().join("alerts.log");
            fs::write(&path, format!("{}{{\"id\":\"x\",\"ty", fs::read_to_string(&path).expect("text")))
                .expect("written");
        }
        assert_eq!(news, 2);
        let manager = AlertManager::open(Arc::clone(&harness), OnCritical::Continue).expect("opened");
        assert_eq!(manager.alerts(None).count(), 2);
    }

    #[test]
    fn alerts_are_filtered_and_the_newest_ten_are_recent() {
        let project = tempfile::tempdir().expect("directory");
        let harness = Arc::new(HarnessDirectory::create(project.path(), "main").expect("a harness"));
        let mut manager = AlertManager::open(Arc::clone(&harness), OnCritical::Continue).expect("opened");
        for iteration in 1..=12 {
            manager.alert(alert(AlertType::IterationMilestone, "Ten more.", iteration)).expect("raised");
        }
        manager
            .alert(alert(AlertType::Custom("mine".to_owned()), "Bad.", 13).with_severity(Severity::Error))
            .expect("raised");
        assert_eq!(manager.alerts(Some(Severity::Info)).count(), 12);
        assert_eq!(
            manager.alerts(Some(Severity::Error)).map(|alert| alert.kind.name()).collect::<Vec<_>>(),
            ["mine"]
        );
        let recent: Vec<u32> = manager.recent(RECENT).map(|alert| alert.iteration).collect();
        assert_eq!(recent, (4..=13).collect::<Vec<_>>());
    }

    #[test]
    fn a_critical_alert_pauses_if_that_is_wished() {
        let project = tempfile::tempdir().expect("directory");
        let harness = Arc::new(HarnessDirectory::create(project.path(), "main").expect("a harness"));
        for (on_critical, is_paused) in [(OnCritical::Continue, false), (OnCritical::Pause, true)] {
            let mut manager = AlertManager::open(Arc::clone(&harness), on_critical).expect("opened");
            manager.alert(alert(AlertType::FatalError, "Broken.", u32::from(is_paused))).expect("raised");
            assert!(!harness.is_paused(), "an error is not critical");
            manager
                .alert(alert(AlertType::RunawayDetected, "It loops.", u32::from(is_paused)))
                .expect("raised");
            assert_eq!(harness.is_paused(), is_paused);
        }
    }

    #[test]
    fn milestones_and_limits_are_noticed() {
        let milestones = [0, 9, 10, 19, 20].map(last_milestone);
        assert_eq!(milestones, [None, None, Some(10), Some(10), Some(20)]);
        let near = [(79.0, false), (80.0, true), (99.0, true), (100.0, false)];
        assert!(near.iter().all(|(used, expected)| is_near(*used, 100.0) == *expected) && !is_near(1.0, 0.0));
        let limits = [0, 1, 2, 3, 4, 5, 10, 11, 100, u32::MAX];
        let near = limits.map(|limit| first_near(limit).unwrap_or_default());
        assert_eq!(near, [0, 0, 1, 2, 3, 4, 8, 9, 80, 3_435_973_836]);
    }
}
