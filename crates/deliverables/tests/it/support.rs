//! A project in a temporary directory with the service over it.

use std::fs;
use std::sync::{Arc, Mutex};

use autonoe_core::instruction::Phase;
use autonoe_core::status::StatusChange;
use autonoe_deliverables::{CallResult, DeliverableService};
use autonoe_store::journal::JournalOptions;
use autonoe_store::{Project, SqliteJournal, StatusStore};
use autonoe_test_kit::FixedClock;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

pub struct ServiceFixture {
    pub dir: TempDir,
    pub project: Project,
    pub service: Arc<DeliverableService>,
    pub journal: Arc<SqliteJournal>,
    notified: Arc<Mutex<Vec<StatusChange>>>,
}

impl ServiceFixture {
    pub async fn new(phase: Phase) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("project")).unwrap();
        Self::over(dir, phase).await
    }

    pub async fn with(phase: Phase, ids: &[&str]) -> Self {
        let fixture = Self::new(Phase::Initializer).await;
        if !ids.is_empty() {
            let batch: Vec<Value> = ids.iter().map(|id| deliverable(id)).collect();
            fixture.done("create", json!({ "deliverables": batch })).await;
        }
        fixture.service.enter(phase);
        fixture
    }

    /// The same project in a new process.
    pub async fn restart(self, phase: Phase) -> Self {
        let Self { dir, service, journal, .. } = self;
        drop((service, journal));
        Self::over(dir, phase).await
    }

    async fn over(dir: TempDir, phase: Phase) -> Self {
        let project = Project::open(&dir.path().join("project"), &dir.path().join("state")).unwrap();
        let options = JournalOptions::default();
        let path = project.journal_file();
        let (journal, _) =
            SqliteJournal::begin(&path, "sync", "spec", Timestamp::now(), options).await.unwrap();
        let status = StatusStore::open(&project, Arc::clone(&journal), Arc::new(FixedClock)).await.unwrap();
        let notified = Arc::new(Mutex::new(Vec::new()));
        let notify = {
            let notified = Arc::clone(&notified);
            Box::new(move |change: &StatusChange| notified.lock().unwrap().push(change.clone()))
        };
        let service = DeliverableService::new(Arc::new(status), Arc::clone(&journal), phase, notify);
        Self { dir, project, service: Arc::new(service), journal, notified }
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> CallResult {
        self.service.call(tool, arguments).await
    }

    pub async fn done(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments).await;
        assert!(!answer.is_error, "{tool}: {}", answer.content);
        assert!(!answer.content.contains('\n'), "one line: {}", answer.content);
        serde_json::from_str(&answer.content).unwrap()
    }

    /// Calls a tool that must be refused; returns the message and the code.
    pub async fn refused(&self, tool: &str, arguments: Value) -> (String, String) {
        let before = (self.text(), self.notified());
        let answer = self.call(tool, arguments.clone()).await;
        assert!(answer.is_error, "{tool} {arguments}: {}", answer.content);
        let json: Value = serde_json::from_str(&answer.content).unwrap();
        assert_eq!(json["success"], false, "{json}");
        assert_eq!(json.as_object().map(|object| object.len()), Some(3), "{json}");
        assert_eq!((self.text(), self.notified()), before, "a refusal changes nothing and notifies nobody");
        let field = |name: &str| json[name].as_str().unwrap().to_owned();
        (field("message"), field("error"))
    }

    pub fn text(&self) -> Option<String> {
        fs::read_to_string(self.project.status_file()).ok()
    }

    pub fn file(&self) -> Vec<Value> {
        let file: Value = serde_json::from_str(&self.text().expect("status.json")).unwrap();
        file["deliverables"].as_array().unwrap().clone()
    }

    pub fn notified(&self) -> Vec<StatusChange> {
        self.notified.lock().unwrap().clone()
    }
}

pub fn deliverable(id: &str) -> Value {
    json!({ "id": id, "description": format!("What {id} is"), "acceptanceCriteria": ["It works", "It is fast"] })
}
