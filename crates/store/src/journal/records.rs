//! SQL for writing records and for restoring the state of a run that is resumed.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use autonoe_core::agent::Instruction;
use autonoe_core::attempt::deliverable_of_step;
use autonoe_core::event::Usage;
use autonoe_core::instruction::Phase;
use autonoe_core::journal::JournalRecord;
use autonoe_core::ledger::Ledger;
use autonoe_core::money::Usd;
use autonoe_core::outage::Outage;
use autonoe_core::outcome::{RunOutcome, RunReport, SessionEnd, exit};
use autonoe_core::plan::{Iteration, RunState};
use autonoe_core::quota::QuotaWait;
use autonoe_core::redact::Redactor;
use autonoe_core::status::StatusChange;
use autonoe_core::verification::Verification;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::recorded_status::{PendingStatus, RecordedStatus, STARTED_OVER};
use super::run_start::{ResumePolicy, RunStart, RunsInProgress};

#[derive(Debug, Clone, Copy)]
pub(super) struct RunId(pub(super) i64);

impl RunId {
    /// Outside of any run.
    pub(super) const NONE: Self = Self(0);
}

/// Stores a conversation and deletes all but the latest `kept`.
pub(super) fn conversation(
    db: &Connection,
    run: RunId,
    session: u32,
    history: &str,
    kept: u32,
    now: Timestamp,
) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO conversations (run, session, at, history) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (run, session) DO UPDATE SET at = excluded.at, history = excluded.history",
    )?
    .execute(params![run.0, session, now.to_string(), history])?;
    db.prepare_cached(
        "DELETE FROM conversations WHERE (run, session) NOT IN
             (SELECT run, session FROM conversations ORDER BY run DESC, session DESC LIMIT ?1)",
    )?
    .execute([kept])?;
    Ok(())
}

/// Starts a run, or resumes the latest one.
pub(super) fn begin_run(
    db: &Connection,
    command: &str,
    spec: &str,
    resume: ResumePolicy,
    in_progress: &RunsInProgress,
    now: Timestamp,
) -> Result<RunStart> {
    let others = in_progress.others();
    let earlier_run = match resume {
        ResumePolicy::IfKilled => {
            killed(db, &others)?.filter(|(_, earlier)| earlier == command).map(|(id, _)| id)
        }
        ResumePolicy::Never => None,
        ResumePolicy::Fresh => {
            forget(db, command)?;
            None
        }
        ResumePolicy::Always => unfinished(db, command)?,
    };
    let resumed = earlier_run.is_some();
    let run = match earlier_run {
        Some(id) => {
            db.execute("UPDATE runs SET ended_at = NULL, report = NULL WHERE id = ?1", [id])?;
            db.execute(
                &format!("UPDATE runs SET ended_at = ?1 WHERE ended_at IS NULL AND id <> ?2 AND {others}"),
                params![now.to_string(), id],
            )?;
            db.execute(
                "UPDATE sessions SET ended_at = ?2, outcome = '{\"outcome\":\"interrupted\"}'
                 WHERE run = ?1 AND ended_at IS NULL",
                params![id, now.to_string()],
            )?;
            db.execute("UPDATE runs SET spec = NULLIF(?2, '') WHERE id = ?1", params![id, spec])?;
            id
        }
        None => {
            db.execute(
                &format!("UPDATE runs SET ended_at = ?1 WHERE ended_at IS NULL AND {others}"),
                [now.to_string()],
            )?;
            db.execute(
                "INSERT INTO runs (command, started_at, spec) VALUES (?1, ?2, NULLIF(?3, ''))",
                params![command, now.to_string(), spec],
            )?;
            db.last_insert_rowid()
        }
    };
    if command == "sync" {
        begin_pass(db, spec, now)?;
    }
    let state = RunState { quota: quota(db, now)?, outage: outage(db, run)?, ..restore(db, run)? };
    Ok(RunStart { run, state, resumed })
}

/// The latest run without a recorded end.
fn killed(db: &Connection, others: &str) -> Result<Option<(i64, String)>> {
    let query =
        format!("SELECT id, command FROM runs WHERE ended_at IS NULL AND {others} ORDER BY id DESC LIMIT 1");
    db.query_row(&query, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// The latest run of a command, unless it completed.
pub(super) fn unfinished(db: &Connection, command: &str) -> Result<Option<i64>> {
    let newest: Option<(i64, Option<String>)> = db
        .query_row(
            "SELECT id, report FROM runs WHERE command = ?1 ORDER BY id DESC LIMIT 1",
            [command],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    Ok(newest.and_then(|(id, report)| {
        let report = report.and_then(|text| serde_json::from_str::<RunReport>(&text).ok());
        let is_done = report.is_some_and(|report| report.exit_code == exit::DONE);
        (!is_done).then_some(id)
    }))
}

/// A pass of `sync` continues if it was not finished and the specification is the same.
pub(super) fn begin_pass(db: &Connection, spec: &str, now: Timestamp) -> Result<()> {
    let current: Option<String> = db
        .query_row("SELECT spec FROM passes WHERE ended_at IS NULL ORDER BY id DESC LIMIT 1", [], |row| {
            row.get(0)
        })
        .optional()?;
    if current.as_deref() != Some(spec) {
        db.execute("UPDATE passes SET ended_at = ?1 WHERE ended_at IS NULL", [now.to_string()])?;
        db.execute("INSERT INTO passes (spec, started_at) VALUES (?1, ?2)", params![spec, now.to_string()])?;
    }
    Ok(())
}

fn restore(db: &Connection, run: i64) -> Result<RunState> {
    let mut state = RunState { spent: spent(db, run)?, ..RunState::default() };
    let mut sessions = db.prepare(
        "SELECT number, outcome, COALESCE(duration_seconds, 0),
                EXISTS (SELECT 1 FROM costs WHERE costs.run = sessions.run AND costs.session = sessions.number)
         FROM sessions WHERE run = ?1 ORDER BY number",
    )?;
    let mut rows = sessions.query([run])?;
    while let Some(row) = rows.next()? {
        state.sessions = row.get(0)?;
        let outcome: Option<String> = row.get(1)?;
        let outcome = outcome.and_then(|text| serde_json::from_str::<SessionEnd>(&text).ok());
        state.time_before += Duration::try_from_secs_f64(row.get(2)?).unwrap_or_default();
        match outcome {
            None | Some(SessionEnd::Interrupted | SessionEnd::QuotaExceeded { .. }) => {}
            Some(SessionEnd::ExecutionError { fault }) if fault.is_outage() => {
                state.iterations += u32::from(row.get::<_, bool>(3)?);
            }
            Some(SessionEnd::ExecutionError { .. }) => {
                state.iterations += 1;
                state.errors += 1;
            }
            Some(
                SessionEnd::Completed
                | SessionEnd::MaxTurns
                | SessionEnd::Stuck { .. }
                | SessionEnd::BudgetExceeded { .. }
                | SessionEnd::DurationExceeded { .. },
            ) => {
                state.iterations += 1;
                state.errors = 0;
            }
        }
    }
    Ok(state)
}

fn spent(db: &Connection, run: i64) -> Result<Ledger> {
    db.query_row(
        "SELECT COALESCE(SUM(usd), 0), COUNT(*) > COUNT(usd),
                COALESCE(SUM(input_tokens + cache_read_tokens + cache_write_tokens), 0), COALESCE(SUM(output_tokens), 0)
         FROM costs WHERE run = ?1",
        [run],
        |row| {
            Ok(Ledger {
                cost: Usd(row.get(0)?),
                unpriced: row.get(1)?,
                input_tokens: row.get(2)?,
                output_tokens: row.get(3)?,
            })
        },
    )
}

/// The latest quota wait, if it is still ahead.
fn quota(db: &Connection, now: Timestamp) -> Result<Option<QuotaWait>> {
    let row: Option<(String, Option<String>)> = db
        .query_row("SELECT until, resets_at FROM quota_waits ORDER BY id DESC LIMIT 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    Ok(row.and_then(|(until, resets_at)| {
        let until: Timestamp = until.parse().ok()?;
        let resets_at = resets_at.and_then(|text| text.parse().ok());
        (until > now).then_some(QuotaWait { until, resets_at })
    }))
}

/// The outage that a run was waiting for when its process died.
fn outage(db: &Connection, run: i64) -> Result<Option<Outage>> {
    let columns = "since, tries, waited_seconds, until, gives_up_at, message";
    let open =
        format!("SELECT {columns} FROM outages WHERE run = ?1 AND ended_at IS NULL ORDER BY id DESC LIMIT 1");
    let row = db.query_row(&open, [run], |row| {
        let moment = |column| row.get::<_, String>(column).map(|text| text.parse::<Timestamp>().ok());
        Ok((moment(0)?, row.get(1)?, row.get(2)?, moment(3)?, moment(4)?, row.get(5)?))
    });
    Ok(row.optional()?.and_then(|(since, tries, waited, until, gives_up_at, message)| {
        let waited = Duration::try_from_secs_f64(waited).ok()?;
        Some(Outage { since: since?, tries, waited, until: until?, gives_up_at: gives_up_at?, message })
    }))
}

pub(super) fn record(
    db: &Connection,
    RunId(run): RunId,
    record: &JournalRecord,
    redactor: &Redactor,
    now: Timestamp,
) -> Result<()> {
    let now = now.to_string();
    match record {
        JournalRecord::SessionStarted { number, instruction, step, backend, model } => db.execute(
            "INSERT INTO sessions (run, number, instruction, backend, model, started_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![run, number, label(*instruction, step.as_deref()), backend, redactor.text(model), now],
        ),
        JournalRecord::SessionEnded { number, instruction, outcome, spent: _, duration, output } => {
            if *instruction == Phase::Sync && *outcome == SessionEnd::Completed {
                db.execute("UPDATE passes SET synced = 1 WHERE ended_at IS NULL", [])?;
            }
            if let Some(output) = output {
                db.execute("DELETE FROM said WHERE run = ?1", [run])?;
                db.execute(
                    "INSERT INTO said (run, session, body) VALUES (?1, ?2, ?3)",
                    params![run, number, redactor.json(output).unwrap_or_default()],
                )?;
            }
            db.execute(
                "UPDATE sessions SET ended_at = ?3, outcome = ?4, duration_seconds = ?5 WHERE run = ?1 AND number = ?2",
                params![run, number, now, redactor.json(outcome).unwrap_or_default(), duration.as_secs_f64()],
            )
        }
        JournalRecord::QuotaWait(wait) => db.execute(
            "INSERT INTO quota_waits (run, session, until, resets_at)
             VALUES (?1, (SELECT COALESCE(MAX(number), 0) FROM sessions WHERE run = ?1), ?2, ?3)",
            params![run, wait.until.to_string(), wait.resets_at.map(|at| at.to_string())],
        ),
        JournalRecord::Outage(outage) => {
            let Outage { since, tries, waited, until, gives_up_at, message } = outage;
            let (since, until, gives_up_at) = (since.to_string(), until.to_string(), gives_up_at.to_string());
            let (waited, message) = (waited.as_secs_f64(), redactor.text(message));
            let known = db.execute(
                "UPDATE outages SET tries = ?3, waited_seconds = ?4, until = ?5, gives_up_at = ?6, message = ?7
                 WHERE run = ?1 AND since = ?2 AND ended_at IS NULL",
                params![run, since, tries, waited, until, gives_up_at, message],
            )?;
            if known == 0 {
                end_outages(db, run, &now)?;
                db.execute(
                    "INSERT INTO outages (run, since, tries, waited_seconds, until, gives_up_at, message)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![run, since, tries, waited, until, gives_up_at, message],
                )?;
            }
            Ok(known)
        }
        JournalRecord::OutageOver => end_outages(db, run, &now),
        JournalRecord::RunEnded(report) => {
            end_outages(db, run, &now)?;
            // Only the plan of `sync` reports these once every active deliverable has been verified; `run`
            // has no passes.
            if matches!(report.outcome, RunOutcome::AllVerified | RunOutcome::AllBlocked) {
                db.execute(
                    "UPDATE passes SET ended_at = ?2 WHERE ended_at IS NULL
                     AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND command = 'sync')",
                    params![run, now],
                )?;
            }
            db.execute(
                "UPDATE runs SET ended_at = ?2, report = ?3 WHERE id = ?1",
                params![run, now, redactor.json(report).unwrap_or_default()],
            )
        }
    }
    .map(drop)
}

fn end_outages(db: &Connection, run: i64, now: &str) -> Result<usize> {
    db.execute("UPDATE outages SET ended_at = ?2 WHERE run = ?1 AND ended_at IS NULL", params![run, now])
}

/// The stored name of a session: its phase, and its step if there is one.
fn label(instruction: Phase, step: Option<&str>) -> String {
    step.map_or_else(|| instruction.to_string(), |step| format!("{instruction} {step}"))
}

/// Parses the stored name of a step or of a task.
fn read_label(label: &str) -> Option<(Phase, String)> {
    let (name, step) = label.split_once(' ')?;
    let names =
        [Phase::Step, Phase::Inspection, Phase::Coding, Phase::Review, Phase::Rewriting, Phase::Comparison];
    Some((names.into_iter().find(|known| known.name() == name)?, step.to_owned()))
}

pub(super) fn plan_state(db: &Connection, RunId(run): RunId) -> Result<Option<String>> {
    db.query_row("SELECT state FROM plans WHERE run = ?1", [run], |row| row.get(0)).optional()
}

pub(super) fn save_plan_state(db: &Connection, RunId(run): RunId, state: &str) -> Result<()> {
    db.execute(
        "INSERT INTO plans (run, state) VALUES (?1, ?2) ON CONFLICT (run) DO UPDATE SET state = excluded.state",
        params![run, state],
    )
    .map(drop)
}

pub(super) fn recovery_state(db: &Connection, RunId(run): RunId) -> Result<Option<String>> {
    db.query_row("SELECT state FROM recoveries WHERE run = ?1", [run], |row| row.get(0)).optional()
}

pub(super) fn save_recovery_state(db: &Connection, RunId(run): RunId, state: &str) -> Result<()> {
    db.execute(
        "INSERT INTO recoveries (run, state) VALUES (?1, ?2) ON CONFLICT (run) DO UPDATE SET state = excluded.state",
        params![run, state],
    )
    .map(drop)
}

/// What a run keeps for the next process.
#[derive(Debug, Clone, Copy)]
pub(super) enum SavedState {
    Plan,
    Recovery,
}

impl SavedState {
    fn table(self) -> &'static str {
        match self {
            Self::Plan => "plans",
            Self::Recovery => "recoveries",
        }
    }
}

/// The state of the latest earlier run of the same command that has one, unless one has completed since.
pub(super) fn earlier_state(db: &Connection, RunId(run): RunId, kind: SavedState) -> Result<Option<String>> {
    let query = format!(
        "WITH earlier AS (
             SELECT id, report FROM runs WHERE id < ?1 AND command = (SELECT command FROM runs WHERE id = ?1)
         )
         SELECT state FROM {} JOIN earlier ON earlier.id = run
         WHERE run > (SELECT COALESCE(MAX(id), 0) FROM earlier WHERE json_extract(report, '$.exit_code') = ?2)
         ORDER BY run DESC LIMIT 1",
        kind.table()
    );
    db.query_row(&query, params![run, exit::DONE], |row| row.get(0)).optional()
}

/// What the plans of a command's runs have kept, the oldest first, up to this run.
pub(super) fn plan_states(db: &Connection, RunId(run): RunId) -> Result<Vec<String>> {
    let query = "SELECT state FROM plans JOIN runs ON runs.id = run
                 WHERE run <= ?1 AND command = (SELECT command FROM runs WHERE id = ?1) ORDER BY run";
    db.prepare(query)?.query_map([run], |row| row.get(0))?.collect()
}

/// Drops what earlier runs of a command have kept.
fn forget(db: &Connection, command: &str) -> Result<()> {
    for table in [SavedState::Plan, SavedState::Recovery].map(SavedState::table) {
        let of_command = "run IN (SELECT id FROM runs WHERE command = ?1)";
        db.execute(&format!("DELETE FROM {table} WHERE {of_command}"), [command])?;
    }
    Ok(())
}

/// Whose session it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionKind {
    /// A step of a declarative agent, a task of a roadmap, or an attempt at a deliverable.
    Step,
    /// A model was only asked.
    Answer(Phase),
}

impl SessionKind {
    fn is_of(self, phase: Phase) -> bool {
        match self {
            Self::Step => !phase.only_asks(),
            Self::Answer(asked) => phase == asked,
        }
    }
}

/// The latest finished session of a kind, as far as a plan needs it.
pub(super) fn last_session(
    db: &Connection,
    RunId(run): RunId,
    kind: SessionKind,
) -> Result<Option<Iteration>> {
    let mut statement = db.prepare(
        "SELECT s.number, s.instruction, s.outcome, COALESCE(s.duration_seconds, 0), t.body, s.backend, s.model
         FROM said t JOIN sessions s ON s.run = t.run AND s.number = t.session
         WHERE t.run = ?1 AND s.outcome IS NOT NULL ORDER BY s.number DESC",
    )?;
    let mut rows = statement.query([run])?;
    while let Some(row) = rows.next()? {
        let label: String = row.get(1)?;
        let Some((name, step)) = read_label(&label).filter(|(name, _)| kind.is_of(*name)) else { continue };
        let (outcome, output): (String, String) = (row.get(2)?, row.get(4)?);
        let (Ok(outcome), Ok(output)) = (serde_json::from_str(&outcome), serde_json::from_str(&output))
        else {
            return Ok(None);
        };
        return Ok(Some(Iteration {
            number: row.get(0)?,
            worker: 0,
            backend: row.get(5)?,
            model: row.get(6)?,
            instruction: Instruction::of_step(name, &step, String::new()),
            outcome,
            spent: Ledger::default(),
            duration: Duration::try_from_secs_f64(row.get(3)?).unwrap_or_default(),
            output,
        }));
    }
    Ok(None)
}

/// How many sessions the run has begun for each deliverable, copies of one at the same time included.
pub(super) fn sessions_of_deliverables(db: &Connection, RunId(run): RunId) -> Result<HashMap<String, u32>> {
    let mut statement = db.prepare("SELECT instruction FROM sessions WHERE run = ?1")?;
    let mut sessions = HashMap::new();
    for label in statement.query_map([run], |row| row.get::<_, String>(0))? {
        if let Some((Phase::Coding, step)) = read_label(&label?)
            && !step.is_empty()
        {
            *sessions.entry(deliverable_of_step(&step).to_owned()).or_default() += 1;
        }
    }
    Ok(sessions)
}

pub(super) fn last_conversation(db: &Connection, RunId(run): RunId) -> Result<Option<String>> {
    db.query_row(
        "SELECT history FROM conversations WHERE run = ?1 ORDER BY session DESC LIMIT 1",
        [run],
        |row| row.get(0),
    )
    .optional()
}

pub(super) fn event(
    db: &Connection,
    RunId(run): RunId,
    session: u32,
    body: &str,
    max_bytes: usize,
    now: Timestamp,
) -> Result<()> {
    let body = if body.len() > max_bytes { cut(body, max_bytes) } else { body.to_owned() };
    db.prepare_cached("INSERT INTO events (run, session, at, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![run, session, now.to_string(), body])
        .map(drop)
}

/// A truncated event: its type, its beginning, and how much was cut.
fn cut(body: &str, max_bytes: usize) -> String {
    let kind = serde_json::from_str::<serde_json::Value>(body)
        .ok()
        .and_then(|value| value.get("type").cloned())
        .unwrap_or_default();
    let end = (0..=max_bytes).rev().find(|end| body.is_char_boundary(*end)).unwrap_or_default();
    let cut = serde_json::json!({ "type": kind, "cut_bytes": body.len() - end, "beginning": &body[..end] });
    cut.to_string()
}

pub(super) fn cost(
    db: &Connection,
    RunId(run): RunId,
    session: u32,
    usage: &Usage,
    now: Timestamp,
) -> Result<()> {
    db.execute(
        "INSERT INTO costs (run, session, at, usd, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            run,
            session,
            now.to_string(),
            usage.cost_usd.map(|usd| usd.0),
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
        ],
    )
    .map(drop)
}

pub(super) fn intend_status(
    db: &Connection,
    RunId(run): RunId,
    before: &str,
    after: &str,
    changes: &[StatusChange],
    now: Timestamp,
) -> Result<i64> {
    db.execute(
        "INSERT INTO status_writes (run, at, before_hash, after) VALUES (?1, ?2, ?3, ?4)",
        params![run, now.to_string(), before, after],
    )?;
    let id = db.last_insert_rowid();
    for change in changes {
        db.execute(
            "INSERT INTO status_changes (write, deliverable, previous, new) VALUES (?1, ?2, ?3, ?4)",
            params![
                id,
                change.deliverable_id,
                change.previous.map(|status| status.name()),
                change.new.name()
            ],
        )?;
    }
    Ok(id)
}

/// Records that a change was applied. Its text is kept, in case the file is deleted; older texts are dropped.
pub(super) fn status_applied(db: &Connection, id: i64) -> Result<()> {
    db.execute("UPDATE status_writes SET applied = 1 WHERE id <= ?1 AND applied = 0", [id])?;
    db.execute("UPDATE status_writes SET after = NULL WHERE id < ?1 AND after IS NOT NULL", [id]).map(drop)
}

/// The result of the latest change of `status.json`; `None` if there was none, or if the user has started
/// over since.
pub(super) fn recorded_status(db: &Connection) -> Result<Option<RecordedStatus>> {
    let newest: Option<(String, Option<String>)> = db
        .query_row("SELECT at, after FROM status_writes ORDER BY id DESC LIMIT 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((at, text)) = newest.filter(|(_, text)| text.as_deref() != Some(STARTED_OVER)) else {
        return Ok(None);
    };
    let count = "SELECT COUNT(DISTINCT deliverable) FROM status_changes";
    let deliverables = db.query_row(count, [], |row| row.get(0))?;
    Ok(Some(RecordedStatus { at, text, deliverables }))
}

/// Ids of all deliverables that have ever passed.
pub(super) fn ever_passed(db: &Connection) -> Result<HashSet<String>> {
    let query = "SELECT DISTINCT deliverable FROM status_changes WHERE new = 'passed'";
    db.prepare(query)?.query_map([], |row| row.get(0))?.collect()
}

/// The latest change that may not have been applied.
pub(super) fn pending_status(db: &Connection) -> Result<Option<PendingStatus>> {
    db.query_row(
        "SELECT id, before_hash, after FROM status_writes WHERE applied = 0 AND after IS NOT NULL ORDER BY id DESC LIMIT 1",
        [],
        |row| Ok(PendingStatus { id: row.get(0)?, before: row.get(1)?, after: row.get(2)? }),
    )
    .optional()
}

/// Stores the commit on which a run starts, unless it has one. Returns the stored one.
pub(super) fn start_commit(
    db: &Connection,
    RunId(run): RunId,
    commit: Option<&str>,
) -> Result<Option<String>> {
    db.execute("INSERT OR IGNORE INTO commits (run, before) VALUES (?1, ?2)", params![run, commit])?;
    db.query_row("SELECT before FROM commits WHERE run = ?1", [run], |row| row.get(0))
}

pub(super) fn end_commit(db: &Connection, RunId(run): RunId, commit: Option<&str>) -> Result<()> {
    db.execute("UPDATE commits SET after = ?2 WHERE run = ?1", params![run, commit]).map(drop)
}

pub(super) fn verified(db: &Connection, deliverable: &str, now: Timestamp) -> Result<()> {
    db.execute(
        "INSERT OR IGNORE INTO verified (pass, deliverable, at)
         SELECT id, ?1, ?2 FROM passes WHERE ended_at IS NULL ORDER BY id DESC LIMIT 1",
        params![deliverable, now.to_string()],
    )
    .map(drop)
}

pub(super) fn verification(db: &Connection) -> Result<Verification> {
    let pass: Option<(i64, bool)> = db
        .query_row(
            "SELECT id, synced FROM passes WHERE ended_at IS NULL ORDER BY id DESC LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let Some((pass, synced)) = pass else {
        return Ok(Verification::default());
    };
    let mut statement = db.prepare("SELECT deliverable FROM verified WHERE pass = ?1")?;
    let verified = statement.query_map([pass], |row| row.get(0))?.collect::<Result<_>>()?;
    Ok(Verification { synced, verified })
}

/// Deletes the events of all but the latest runs.
pub(super) fn prune_events(db: &Connection, runs: i64) -> Result<()> {
    db.execute("DELETE FROM events WHERE run <= (SELECT MAX(id) FROM runs) - ?1", [runs]).map(drop)
}
