//! The journal: the append-only record of everything that happened in a project, in SQLite.
//!
//! One thread owns the connection and commits in groups; everyone else sends it work. What a
//! [`Journal::record`] returned from is on disk. Reading for people is in [`history`].

pub mod history;
mod records;
mod schema;
mod trouble;
mod writer;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::event::{Event, RunEvent, Usage};
use autonoe_core::fault::Fault;
use autonoe_core::journal::{Journal as JournalPort, Record};
use autonoe_core::plan::{Iteration, PlanMemory, RunState};
use autonoe_core::plans::VerificationReader;
use autonoe_core::redact::Redactor;
use autonoe_core::status::StatusChange;
use autonoe_core::verification::Verification;
use jiff::Timestamp;

use crate::crash::{CrashPoint, JournalPoint};
use records::RunId;
use writer::Writer;

/// Runs whose events are kept; of older ones only sessions, costs and status changes are.
const RUNS_WITH_EVENTS: i64 = 50;

/// Conversations that are kept, to resume.
const CONVERSATIONS_KEPT: u32 = 5;

/// The longest event body kept; what is longer is cut and says so.
const MAX_EVENT_BYTES: usize = 64 * 1024;

/// Whether a run resumes an earlier one of the same command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Earlier {
    /// If the process of that was killed.
    #[default]
    IfKilled,
    /// It begins anew.
    Never,
    /// Whatever ended that before it was done; without one there is nothing to resume.
    Always,
}

/// What a journal is opened with.
#[derive(Default)]
pub struct JournalOptions {
    /// Whether the run resumes an earlier one.
    pub earlier: Earlier,
    /// Values that must never be written down, beside everything that has the shape of a secret.
    pub secrets: Vec<String>,
    /// Where to kill the process, in tests.
    pub crash: Option<CrashPoint>,
}

/// The journal of one project, bound to the run that writes it.
pub struct Journal {
    writer: Writer,
    run: RunId,
    redactor: Arc<Redactor>,
    crash: Arc<Option<CrashPoint>>,
}

/// What a run starts from.
#[derive(Debug)]
pub struct Begun {
    /// The run's id.
    pub run: i64,
    /// The state to resume; empty for a new run.
    pub state: RunState,
    /// True when this run was begun by a process that died.
    pub resumed: bool,
}

/// A change of `status.json` that was intended but perhaps not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingStatus {
    /// Its id.
    pub id: i64,
    /// The hash of the file it started from; empty if there was none.
    pub before: String,
    /// The text it leads to.
    pub after: String,
}

/// The text that stands for no `status.json` at all, after which deliverables are planned anew.
pub(crate) const STARTED_OVER: &str = "";

/// What the journal knows of the newest `status.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedStatus {
    /// When it was written.
    pub at: String,
    /// Its text; none if the journal was written before texts were kept.
    pub text: Option<String>,
    /// How many deliverables there have been.
    pub deliverables: usize,
}

impl Journal {
    /// Opens the journal at `path` and begins a run of `command`, or takes up the last one if its
    /// process died. `spec` is the specification's hash: `sync` verifies anew when it changed.
    pub async fn begin(
        path: &Path,
        command: &str,
        spec: &str,
        now: Timestamp,
        options: JournalOptions,
    ) -> Result<(Arc<Self>, Begun), Fault> {
        let writer = Writer::open(path)?;
        let (command, spec, earlier) = (command.to_owned(), spec.to_owned(), options.earlier);
        let begun = writer
            .run(move |db| {
                records::prune_events(db, RUNS_WITH_EVENTS)?;
                records::begin_run(db, &command, &spec, earlier, now)
            })
            .await?;
        let journal = Self::bind(writer, RunId(begun.run), options);
        journal.point(JournalPoint::RunStarted);
        Ok((journal, begun))
    }

    /// Opens the journal at `path` to write outside any run, leaving runs as they are.
    pub async fn visit(
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
        let redactor = Arc::new(Redactor::new(&options.secrets));
        Arc::new(Self { writer, run, redactor, crash: Arc::new(options.crash) })
    }

    /// Writes down a change of `status.json` before it happens.
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

    /// Writes down that an intended change happened.
    pub async fn status_applied(&self, id: i64) -> Result<(), Fault> {
        self.writer.run(move |db| records::status_applied(db, id)).await?;
        self.point(JournalPoint::StatusApplied);
        Ok(())
    }

    /// The last intended change, if the journal does not know that it happened.
    pub async fn pending_status(&self) -> Result<Option<PendingStatus>, Fault> {
        self.writer.run(records::pending_status).await
    }

    /// What is known of the newest `status.json`; none if there was none, or if the user has started over since.
    pub async fn recorded_status(&self) -> Result<Option<RecordedStatus>, Fault> {
        self.writer.run(records::recorded_status).await
    }

    /// Writes down that a deliverable was verified in the current pass of `sync`.
    pub async fn verified(&self, deliverable: &str) -> Result<(), Fault> {
        let deliverable = deliverable.to_owned();
        self.writer.run(move |db| records::verified(db, &deliverable, Timestamp::now())).await?;
        self.point(JournalPoint::Verified);
        Ok(())
    }

    /// Writes down the commit that the run begins on; one that is taken up began on an earlier one. Returns that.
    pub async fn began_on(&self, commit: Option<&str>) -> Result<Option<String>, Fault> {
        let (run, commit) = (self.run, commit.map(str::to_owned));
        self.writer.run(move |db| records::began_on(db, run, commit.as_deref())).await
    }

    /// Writes down the commit that the run ends on.
    pub async fn ended_on(&self, commit: Option<&str>) -> Result<(), Fault> {
        let (run, commit) = (self.run, commit.map(str::to_owned));
        self.writer.run(move |db| records::ended_on(db, run, commit.as_deref())).await
    }

    /// The run this journal writes.
    pub fn run(&self) -> i64 {
        self.run.0
    }

    /// Passes a named point, at which a test may have asked to be killed.
    pub(crate) fn point(&self, point: JournalPoint) {
        if let Some(crash) = self.crash.as_ref() {
            crash.hit(point);
        }
    }
}

#[async_trait]
impl JournalPort for Journal {
    async fn record(&self, record: Record) -> Result<(), Fault> {
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
impl VerificationReader for Journal {
    async fn verification(&self) -> Result<Verification, Fault> {
        self.writer.run(records::verification).await
    }
}

#[async_trait]
impl PlanMemory for Journal {
    async fn recall(&self) -> Result<Option<serde_json::Value>, Fault> {
        let run = self.run;
        let state = self.writer.run(move |db| records::recall(db, run)).await?;
        Ok(state.and_then(|text| serde_json::from_str(&text).ok()))
    }

    async fn keep(&self, state: &serde_json::Value) -> Result<(), Fault> {
        let run = self.run;
        let mut state = state.clone();
        self.redactor.value(&mut state);
        let state = state.to_string();
        self.point(JournalPoint::PlanMoving);
        self.writer.run(move |db| records::keep(db, run, &state)).await?;
        self.point(JournalPoint::PlanMoved);
        Ok(())
    }

    async fn note(&self, event: &RunEvent) -> Result<(), Fault> {
        self.event(0, &event.into()).await
    }

    async fn last_session(&self) -> Result<Option<Iteration>, Fault> {
        let run = self.run;
        self.writer.run(move |db| records::last_session(db, run)).await
    }

    async fn conversation(&self) -> Result<Option<serde_json::Value>, Fault> {
        let run = self.run;
        let history = self.writer.run(move |db| records::last_conversation(db, run)).await?;
        Ok(history.and_then(|text| serde_json::from_str(&text).ok()))
    }
}

/// The points before and after a record.
fn points(record: &Record) -> (Option<JournalPoint>, JournalPoint) {
    match record {
        Record::SessionStarted { .. } => (None, JournalPoint::SessionStarted),
        Record::SessionEnded { .. } => (Some(JournalPoint::SessionEnding), JournalPoint::SessionEnded),
        Record::QuotaWait(_) => (None, JournalPoint::QuotaWait),
        Record::Outage(_) | Record::OutageOver => (None, JournalPoint::Outage),
        Record::RunEnded(_) => (Some(JournalPoint::RunEnding), JournalPoint::RunEnded),
    }
}
