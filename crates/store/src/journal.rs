//! The journal: the append-only record of everything that happened in a project, in SQLite.
//!
//! One thread owns the connection and commits in groups; everything else sends it work. Once
//! [`Journal::record`] returns, the record is on disk. Reading for people is in [`history`].

mod faults;
pub mod history;
mod recorded_status;
mod records;
mod run_start;
mod schema;
mod session_costs;
mod writer;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::event::{Event, RunEvent, Usage};
use autonoe_core::fault::Fault;
use autonoe_core::instruction::Phase;
use autonoe_core::journal::{Journal, JournalRecord};
use autonoe_core::plan::{Iteration, PlanMemory};
use autonoe_core::plans::VerificationReader;
use autonoe_core::redact::{Redactor, SecretValues};
use autonoe_core::status::StatusChange;
use autonoe_core::verification::Verification;
use jiff::Timestamp;

use crate::crash::{CrashPoint, JournalPoint};
use records::{RunId, SavedState, SessionKind};
use writer::Writer;

pub(crate) use recorded_status::STARTED_OVER;
pub use recorded_status::{PendingStatus, RecordedStatus};
pub use run_start::{ResumePolicy, RunStart, RunsInProgress};

/// Number of runs whose events are kept. Of older runs only sessions, costs and status changes remain.
const RUNS_WITH_EVENTS: i64 = 50;

/// Number of conversations kept for resuming.
const CONVERSATIONS_KEPT: u32 = 5;

/// Longer event bodies are truncated and marked as such.
const MAX_EVENT_BYTES: usize = 64 * 1024;

#[derive(Default)]
pub struct JournalOptions {
    pub resume: ResumePolicy,
    pub in_progress: RunsInProgress,
    /// Redacted in addition to everything that has the shape of a secret.
    pub secrets: SecretValues,
    /// Kills the process at this point, in tests.
    pub crash: Option<CrashPoint>,
}

/// The journal of one project, bound to the run that writes it.
pub struct SqliteJournal {
    writer: Writer,
    run: RunId,
    redactor: Arc<Redactor>,
    crash: Arc<Option<CrashPoint>>,
    /// Whether plans may continue with what an earlier run of the same command remembered.
    continues: bool,
}

impl SqliteJournal {
    /// Opens the journal at `path` and starts a run of `command`, or resumes an earlier one. `spec` is the
    /// hash of the specification: `sync` verifies from scratch when it changed.
    pub async fn begin(
        path: &Path,
        command: &str,
        spec: &str,
        now: Timestamp,
        options: JournalOptions,
    ) -> Result<(Arc<Self>, RunStart), Fault> {
        let writer = Writer::open(path)?;
        let (command, spec, resume) = (command.to_owned(), spec.to_owned(), options.resume);
        let in_progress = options.in_progress.clone();
        let start = writer
            .run(move |db| {
                records::prune_events(db, RUNS_WITH_EVENTS)?;
                records::begin_run(db, &command, &spec, resume, &in_progress, now)
            })
            .await?;
        let journal = Self::bind(writer, RunId(start.run), options);
        journal.point(JournalPoint::RunStarted);
        Ok((journal, start))
    }

    /// Opens the journal at `path` to write outside of any run.
    pub async fn open(
        path: &Path,
        spec: &str,
        now: Timestamp,
        options: JournalOptions,
    ) -> Result<Arc<Self>, Fault> {
        let writer = Writer::open(path)?;
        let spec = spec.to_owned();
        writer.run(move |db| records::begin_pass(db, &spec, now)).await?;
        Ok(Self::bind(writer, RunId::NONE, options))
    }

    fn bind(writer: Writer, run: RunId, options: JournalOptions) -> Arc<Self> {
        let redactor = Arc::new(Redactor::default().sharing(&options.secrets));
        let continues = options.resume == ResumePolicy::IfKilled;
        Arc::new(Self { writer, run, redactor, crash: Arc::new(options.crash), continues })
    }

    /// Records a change of `status.json` before it happens.
    pub async fn intend_status(
        &self,
        before: &str,
        after: &str,
        changes: &[StatusChange],
    ) -> Result<i64, Fault> {
        let (run, before, after, changes) = (self.run, before.to_owned(), after.to_owned(), changes.to_vec());
        let id = self
            .writer
            .run(move |db| records::intend_status(db, run, &before, &after, &changes, Timestamp::now()))
            .await?;
        self.point(JournalPoint::StatusIntended);
        Ok(id)
    }

    /// Records that a change was applied.
    pub async fn status_applied(&self, id: i64) -> Result<(), Fault> {
        self.writer.run(move |db| records::status_applied(db, id)).await?;
        self.point(JournalPoint::StatusApplied);
        Ok(())
    }

    /// The last change, if it is not recorded as applied.
    pub async fn pending_status(&self) -> Result<Option<PendingStatus>, Fault> {
        self.writer.run(records::pending_status).await
    }

    /// `None` if there never was a `status.json`, or if the user has started over since.
    pub async fn recorded_status(&self) -> Result<Option<RecordedStatus>, Fault> {
        self.writer.run(records::recorded_status).await
    }

    /// Ids of all deliverables that have ever passed.
    pub async fn ever_passed(&self) -> Result<HashSet<String>, Fault> {
        self.writer.run(records::ever_passed).await
    }

    /// Records that a deliverable was verified in the current pass of `sync`.
    pub async fn verified(&self, deliverable: &str) -> Result<(), Fault> {
        let deliverable = deliverable.to_owned();
        self.writer.run(move |db| records::verified(db, &deliverable, Timestamp::now())).await?;
        self.point(JournalPoint::Verified);
        Ok(())
    }

    /// How many sessions this run has begun for each deliverable, also in earlier processes.
    pub async fn sessions_of_deliverables(&self) -> Result<HashMap<String, u32>, Fault> {
        let run = self.run;
        self.writer.run(move |db| records::sessions_of_deliverables(db, run)).await
    }

    /// Records the commit on which the run starts, unless a resumed run already has one. Returns that commit.
    pub async fn record_start_commit(&self, commit: Option<&str>) -> Result<Option<String>, Fault> {
        let (run, commit) = (self.run, commit.map(str::to_owned));
        self.writer.run(move |db| records::start_commit(db, run, commit.as_deref())).await
    }

    /// Records the commit on which the run ends.
    pub async fn record_end_commit(&self, commit: Option<&str>) -> Result<(), Fault> {
        let (run, commit) = (self.run, commit.map(str::to_owned));
        self.writer.run(move |db| records::end_commit(db, run, commit.as_deref())).await
    }

    async fn earlier(&self, kind: SavedState) -> Result<Option<serde_json::Value>, Fault> {
        let Some(run) = Some(self.run).filter(|_| self.continues) else { return Ok(None) };
        let state = self.writer.run(move |db| records::earlier_state(db, run, kind)).await?;
        Ok(state.and_then(|text| serde_json::from_str(&text).ok()))
    }

    pub fn run(&self) -> i64 {
        self.run.0
    }

    /// Reaches a named point, at which a test may have asked for the process to be killed.
    pub fn point(&self, point: JournalPoint) {
        if let Some(crash) = self.crash.as_ref() {
            crash.hit(point);
        }
    }
}

#[async_trait]
impl Journal for SqliteJournal {
    async fn record(&self, record: JournalRecord) -> Result<(), Fault> {
        let (run, redactor) = (self.run, Arc::clone(&self.redactor));
        let (before, after) = points(&record);
        if let Some(point) = before {
            self.point(point);
        }
        self.writer.run(move |db| records::record(db, run, &record, &redactor, Timestamp::now())).await?;
        self.point(after);
        Ok(())
    }

    async fn event(&self, session: u32, event: &Event) -> Result<(), Fault> {
        let run = self.run;
        let body = self.redactor.json(event).unwrap_or_default();
        let crash = Arc::clone(&self.crash);
        self.writer
            .send(move |db| {
                records::event(db, run, session, &body, MAX_EVENT_BYTES, Timestamp::now())?;
                if let Some(crash) = crash.as_ref() {
                    crash.hit(JournalPoint::EventWritten);
                }
                Ok(())
            })
            .await
    }

    async fn conversation(&self, session: u32, history: &serde_json::Value) -> Result<(), Fault> {
        let run = self.run;
        let mut history = history.clone();
        self.redactor.value(&mut history);
        let history = history.to_string();
        self.writer
            .send(move |db| {
                records::conversation(db, run, session, &history, CONVERSATIONS_KEPT, Timestamp::now())
            })
            .await
    }

    async fn cost(&self, session: u32, usage: &Usage) -> Result<(), Fault> {
        let (run, usage) = (self.run, *usage);
        self.writer.run(move |db| records::cost(db, run, session, &usage, Timestamp::now())).await?;
        self.point(JournalPoint::CostBooked);
        Ok(())
    }
}

#[async_trait]
impl VerificationReader for SqliteJournal {
    async fn verification(&self) -> Result<Verification, Fault> {
        self.writer.run(records::verification).await
    }
}

#[async_trait]
impl PlanMemory for SqliteJournal {
    async fn load(&self) -> Result<Option<serde_json::Value>, Fault> {
        let run = self.run;
        let state = self.writer.run(move |db| records::plan_state(db, run)).await?;
        Ok(state.and_then(|text| serde_json::from_str(&text).ok()))
    }

    async fn load_earlier(&self) -> Result<Option<serde_json::Value>, Fault> {
        self.earlier(SavedState::Plan).await
    }

    async fn load_all(&self) -> Result<Vec<serde_json::Value>, Fault> {
        let run = self.run;
        let states = self.writer.run(move |db| records::plan_states(db, run)).await?;
        Ok(states.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
    }

    async fn save(&self, state: &serde_json::Value) -> Result<(), Fault> {
        let run = self.run;
        let mut state = state.clone();
        self.redactor.value(&mut state);
        let state = state.to_string();
        self.point(JournalPoint::PlanMoving);
        self.writer.run(move |db| records::save_plan_state(db, run, &state)).await?;
        self.point(JournalPoint::PlanMoved);
        Ok(())
    }

    async fn recovery(&self) -> Result<Option<serde_json::Value>, Fault> {
        let run = self.run;
        let state = self.writer.run(move |db| records::recovery_state(db, run)).await?;
        Ok(state.and_then(|text| serde_json::from_str(&text).ok()))
    }

    async fn earlier_recovery(&self) -> Result<Option<serde_json::Value>, Fault> {
        self.earlier(SavedState::Recovery).await
    }

    async fn save_recovery(&self, state: &serde_json::Value, events: &[RunEvent]) -> Result<(), Fault> {
        let run = self.run;
        let mut state = state.clone();
        self.redactor.value(&mut state);
        let state = state.to_string();
        let body = |event: &RunEvent| self.redactor.json(&Event::from(event)).unwrap_or_default();
        let events: Vec<String> = events.iter().map(body).collect();
        self.point(JournalPoint::PlanMoving);
        // One piece of work is one transaction.
        let save = move |db: &rusqlite::Connection| {
            records::save_recovery_state(db, run, &state)?;
            events
                .iter()
                .try_for_each(|body| records::event(db, run, 0, body, MAX_EVENT_BYTES, Timestamp::now()))
        };
        self.writer.run(save).await?;
        self.point(JournalPoint::PlanMoved);
        Ok(())
    }

    async fn record_event(&self, event: &RunEvent) -> Result<(), Fault> {
        self.event(0, &event.into()).await
    }

    async fn last_session(&self) -> Result<Option<Iteration>, Fault> {
        let run = self.run;
        self.writer.run(move |db| records::last_session(db, run, SessionKind::Step)).await
    }

    async fn last_answer(&self, phase: Phase) -> Result<Option<Iteration>, Fault> {
        let run = self.run;
        self.writer.run(move |db| records::last_session(db, run, SessionKind::Answer(phase))).await
    }

    async fn conversation(&self) -> Result<Option<serde_json::Value>, Fault> {
        let run = self.run;
        let history = self.writer.run(move |db| records::last_conversation(db, run)).await?;
        Ok(history.and_then(|text| serde_json::from_str(&text).ok()))
    }
}

fn points(record: &JournalRecord) -> (Option<JournalPoint>, JournalPoint) {
    match record {
        JournalRecord::SessionStarted { .. } => (None, JournalPoint::SessionStarted),
        JournalRecord::SessionEnded { .. } => (Some(JournalPoint::SessionEnding), JournalPoint::SessionEnded),
        JournalRecord::QuotaWait(_) => (None, JournalPoint::QuotaWait),
        JournalRecord::Outage(_) | JournalRecord::OutageOver => (None, JournalPoint::Outage),
        JournalRecord::RunEnded(_) => (Some(JournalPoint::RunEnding), JournalPoint::RunEnded),
    }
}
