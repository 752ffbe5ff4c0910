//! Alert Manager Interface.

use std::sync::Arc;

use autonoe_harness::alerts::{AlertManager, AlertType, OnCritical, RECENT, Severity};
use autonoe_harness::control::HarnessDirectory;
use serde_json::Value;

use super::{Contract, alert};

pub const CONTRACTS: &[Contract] = &[
    ("type: str", || assert_eq!(as_json()["type"], "no_progress")),
    ("severity: Literal[\"INFO\", \"WARNING\", \"CRITICAL\", \"SUCCESS\", \"ERROR\"]", || {
        let all = [Severity::Info, Severity::Warning, Severity::Critical, Severity::Success, Severity::Error];
        let names = all.map(|severity| serde_json::to_value(severity).unwrap());
        assert_eq!(names, ["INFO", "WARNING", "CRITICAL", "SUCCESS", "ERROR"]);
        assert_eq!(as_json()["severity"], "WARNING");
    }),
    ("message: str", || assert_eq!(as_json()["message"], "Look.")),
    ("timestamp: datetime", || assert_eq!(as_json()["timestamp"], "1970-01-01T00:00:00Z")),
    ("iteration: int", || assert_eq!(as_json()["iteration"], 3)),
    ("context: Dict[str, Any]", || assert_eq!(as_json()["context"], serde_json::json!({ "task": "cart" }))),
    ("Logs to .harness/alerts.log", || {
        with_alerts(|manager, harness| {
            manager.alert(alert(AlertType::NoProgress, 1)).unwrap();
            let text = std::fs::read_to_string(harness.path().join("alerts.log")).unwrap();
            assert_eq!(text.lines().count(), 1);
        });
    }),
    ("Emit an alert.", || {
        with_alerts(|manager, _| {
            assert!(manager.alert(alert(AlertType::NoProgress, 1)).unwrap().is_some());
            assert!(manager.alert(alert(AlertType::NoProgress, 1)).unwrap().is_none(), "each once");
        });
    }),
    ("alert_type: Type of alert (e.g., \"no_progress\", \"stuck_recovery\")", || {
        let types = [AlertType::NoProgress, AlertType::StuckRecovery, AlertType::Custom("mine".to_owned())];
        let names: Vec<&str> = types.iter().map(AlertType::name).collect();
        assert_eq!(names, ["no_progress", "stuck_recovery", "mine"]);
    }),
    ("message: Human-readable message", || {
        assert_eq!(alert(AlertType::GoalComplete, 1).to_string(), "[SUCCESS] goal_complete: Look.");
    }),
    ("severity: INFO, WARNING, CRITICAL, SUCCESS, ERROR", || {
        let alert = alert(AlertType::NoProgress, 1).with_severity(Severity::Critical);
        assert_eq!(alert.to_string(), "[CRITICAL] no_progress: Look.");
    }),
    ("**context: Additional context", || {
        with_alerts(|manager, _| {
            manager.alert(alert(AlertType::NoProgress, 1).with("score", 0.1).with("task", "cart")).unwrap();
            let raised = manager.recent(1).next().unwrap();
            assert_eq!((&raised.context["score"], &raised.context["task"]), (&0.1.into(), &"cart".into()));
        });
    }),
    ("def get_alerts(self, severity: Optional[str] = None) -> List[Alert]:", || {
        with_alerts(|manager, _| {
            manager.alert(alert(AlertType::NoProgress, 1)).unwrap();
            manager.alert(alert(AlertType::FatalError, 1)).unwrap();
            assert_eq!(manager.alerts(None).count(), 2);
        });
    }),
    ("Get alerts, optionally filtered by severity.", || {
        with_alerts(|manager, _| {
            manager.alert(alert(AlertType::NoProgress, 1)).unwrap();
            manager.alert(alert(AlertType::FatalError, 1)).unwrap();
            let errors: Vec<&str> =
                manager.alerts(Some(Severity::Error)).map(|alert| alert.kind.name()).collect();
            assert_eq!(errors, ["fatal_error"]);
        });
    }),
    ("def get_recent(self, count: int = 10) -> List[Alert]:", || {
        assert_eq!(RECENT, 10);
        with_alerts(|manager, _| {
            for iteration in 0..12 {
                manager.alert(alert(AlertType::NoProgress, iteration)).unwrap();
            }
            let recent: Vec<u32> = manager.recent(RECENT).map(|alert| alert.iteration).collect();
            assert_eq!(recent, (2..12).collect::<Vec<_>>());
        });
    }),
    ("Get recent alerts.", || {
        with_alerts(|manager, _| {
            assert_eq!(manager.recent(RECENT).count(), 0);
            manager.alert(alert(AlertType::NoProgress, 1)).unwrap();
            assert_eq!(manager.recent(RECENT).count(), 1);
        });
    }),
];

fn as_json() -> Value {
    serde_json::to_value(alert(AlertType::NoProgress, 3).with("task", "cart")).unwrap()
}

fn with_alerts(look: impl FnOnce(&mut AlertManager, &HarnessDirectory)) {
    let project = tempfile::tempdir().unwrap();
    let harness = Arc::new(HarnessDirectory::create(project.path(), "main").unwrap());
    look(&mut AlertManager::open(Arc::clone(&harness), OnCritical::Continue).unwrap(), &harness);
}
