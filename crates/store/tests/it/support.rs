//! A project and its state in a temporary directory, and the records that a run writes.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::deliverable::{DeliverableStatus, NewDeliverable};
use autonoe_core::event::Usage;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::instruction::Phase;
use autonoe_core::journal::{Journal as _, JournalRecord};
use autonoe_core::ledger::Ledger;
use autonoe_core::money::Usd;
use autonoe_core::outcome::{PlanReport, RunOutcome, RunReport, SessionEnd};
use autonoe_core::status::{ChangeError, ProjectStatus, Tally};
use autonoe_core::verification::VerificationProgress;
use autonoe_store::journal::{JournalOptions, RunStart};
use autonoe_store::{Project, SqliteJournal, StatusStore};
use autonoe_test_kit::FixedClock;
use jiff::Timestamp;
use rusqlite::Connection;
use tempfile::TempDir;

/// Hash of the specification, where it does not matter.
pub const SPEC: &str = "spec-1";

pub struct StoreFixture {
    pub dir: TempDir,
    pub project: Project,
}

impl StoreFixture {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        fs::create_dir(&root).unwrap();
        let project = Project::open(&root, &dir.path().join("state")).unwrap();
        Self { dir, project }
    }

    /// Starts or resumes a run.
    pub async fn begin(&self, command: &str) -> (Arc<SqliteJournal>, RunStart) {
        self.begin_at(command, SPEC, Timestamp::now()).await
    }

    pub async fn begin_at(
        &self,
        command: &str,
        spec: &str,
        now: Timestamp,
    ) -> (Arc<SqliteJournal>, RunStart) {
        self.try_begin(command, spec, now, JournalOptions::default()).await.unwrap()
    }

    pub async fn try_begin(
        &self,
        command: &str,
        spec: &str,
        now: Timestamp,
        options: JournalOptions,
    ) -> Result<(Arc<SqliteJournal>, RunStart), Fault> {
        SqliteJournal::begin(&self.project.journal_file(), command, spec, now, options).await
    }

    /// The writer of `status.json`, in a run of its own.
    pub async fn store(&self) -> StatusStore {
        let (journal, _) = self.begin("run").await;
        self.store_over(journal).await
    }

    pub async fn store_over(&self, journal: Arc<SqliteJournal>) -> StatusStore {
        StatusStore::open(&self.project, journal, Arc::new(FixedClock)).await.unwrap()
    }

    /// Writes `status.json` as a user would.
    pub fn write_status(&self, text: &str) {
        fs::create_dir_all(self.project.autonoe_dir()).unwrap();
        fs::write(self.project.status_file(), text).unwrap();
    }

    pub fn status_text(&self) -> String {
        fs::read_to_string(self.project.status_file()).unwrap()
    }

    pub fn autonoe_files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.project.autonoe_dir()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A second connection for queries that only tests need.
    pub fn sql(&self) -> Connection {
        Connection::open(self.project.journal_file()).unwrap()
    }

    pub fn count(&self, table_and_condition: &str) -> u64 {
        let query = format!("SELECT COUNT(*) FROM {table_and_condition}");
        self.sql().query_row(&query, [], |row| row.get(0)).unwrap()
    }

    pub fn state_bytes(&self) -> Vec<u8> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(self.project.state_dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.into_iter().flat_map(|path| fs::read(path).unwrap()).collect()
    }
}

pub fn deliverable(id: &str) -> NewDeliverable {
    NewDeliverable {
        id: id.to_owned(),
        description: format!("What {id} is"),
        acceptance_criteria: vec!["It works".to_owned()],
        order: Default::default(),
    }
}

pub async fn create(store: &StatusStore, ids: &[&str]) -> Result<(), ChangeError> {
    let batch = ids.iter().map(|id| deliverable(id)).collect();
    let change = move |status: &mut ProjectStatus, _| Ok(((), status.create(batch)?));
    store.change(Box::new(change)).await.map(drop)
}

pub fn fault_of(error: ChangeError) -> Fault {
    match error {
        ChangeError::Fault(fault) => fault,
        ChangeError::Refused(refusal) => panic!("refused: {refusal}"),
    }
}

pub async fn set(store: &StatusStore, id: &str, wanted: DeliverableStatus) -> Result<(), ChangeError> {
    let change = |status: &mut ProjectStatus, _| Ok(((), vec![status.set_status(id, wanted)?]));
    store.change(Box::new(change)).await.map(drop)
}

pub fn started(number: u32) -> JournalRecord {
    JournalRecord::SessionStarted {
        number,
        instruction: Phase::Coding,
        step: None,
        backend: "native".to_owned(),
        model: "claude-sonnet-5".to_owned(),
    }
}

pub fn ended(number: u32, outcome: SessionEnd, seconds: u64) -> JournalRecord {
    let duration = Duration::from_secs(seconds);
    let instruction = Phase::Coding;
    JournalRecord::SessionEnded {
        number,
        instruction,
        outcome,
        spent: Ledger::default(),
        duration,
        output: None,
    }
}

/// A session of ten seconds.
pub async fn session(journal: &SqliteJournal, number: u32, outcome: SessionEnd) {
    journal.record(started(number)).await.unwrap();
    journal.record(ended(number, outcome, 10)).await.unwrap();
}

pub fn error() -> SessionEnd {
    SessionEnd::ExecutionError {
        fault: Fault::transient(FaultLayer::Model, "overloaded", "It is overloaded."),
    }
}

pub fn usage(usd: Option<f64>) -> Usage {
    Usage {
        input_tokens: 100,
        output_tokens: 20,
        reasoning_tokens: 5,
        cache_read_tokens: 3,
        cache_write_tokens: 4,
        cost_usd: usd.map(Usd),
    }
}

pub fn report(outcome: RunOutcome) -> RunReport {
    RunReport {
        exit_code: outcome.exit_code(),
        outcome,
        iterations: 2,
        duration: Duration::from_millis(61_500),
        cost_usd: Some(Usd(0.25)),
        plan: PlanReport::Sync {
            tally: Tally { total: 3, passed: 1, verified: 1, blocked: 1, ..Tally::default() },
            reviewed: VerificationProgress { verified: 2, total: 3 },
        },
    }
}

pub async fn end_run(journal: &SqliteJournal, outcome: RunOutcome) {
    journal.record(JournalRecord::RunEnded(Box::new(report(outcome)))).await.unwrap();
}
