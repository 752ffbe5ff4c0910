//! Reads the journal for people: runs, sessions and their events.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use autonoe_core::attempt::BestOfResult;
use autonoe_core::event::{AgentEvent, WaitReason};
use autonoe_core::fault::Fault;
use autonoe_core::outcome::{RunReport, SessionEnd};
use autonoe_files::find_regular;
use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Result, params};
use serde::Serialize;
use serde_json::Value;

use super::faults::{damaged, journal_fault, not_a_journal};
use super::recorded_status::RecordedStatus;
pub use super::session_costs::SessionCost;
use super::session_costs::session_costs;

/// A recorded run.
#[derive(Debug, Clone, Serialize)]
pub struct RunRow {
    pub id: i64,
    /// `run`, `sync` or `agent run NAME`.
    pub command: String,
    pub started_at: String,
    /// `None` if it is still running or its process died.
    pub ended_at: Option<String>,
    pub report: Option<RunReport>,
}

/// The commits between which a run worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCommits {
    /// Last commit when the run started; `None` if there was none.
    pub before: Option<String>,
    /// Last commit when the run ended; `None` if there was none or the process died.
    pub after: Option<String>,
}

/// What the recorded `status.json` belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusOrigin {
    /// Hash of the SPEC.md of the last run that read one; `None` if unknown.
    pub spec: Option<String>,
    /// Last known commit of the last run; `None` if there was none or it is unknown.
    pub commit: Option<String>,
}

/// A tool call that a gate denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeniedCall {
    pub tool: String,
    /// The call's command, path or the like; `None` if it has none or was too long to record.
    pub subject: Option<String>,
    pub gate: String,
    pub reason: String,
}

/// A wait of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitRow {
    #[serde(rename = "for")]
    pub reason: WaitReason,
    pub until: Timestamp,
    /// `None` for a quota.
    pub since: Option<Timestamp>,
    /// `None` for a quota.
    pub gives_up_at: Option<Timestamp>,
    /// `None` for a quota.
    pub message: Option<String>,
}

/// A recorded session.
#[derive(Debug, Clone, Serialize)]
pub struct SessionRow {
    pub run: i64,
    /// Number within the run, from 1.
    pub number: u32,
    pub instruction: String,
    pub backend: String,
    pub model: String,
    pub started_at: String,
    /// `None` if it is still running or its process died.
    pub outcome: Option<SessionEnd>,
    pub duration_seconds: Option<f64>,
    /// `None` if a price is unknown.
    pub cost_usd: Option<f64>,
    /// Including cached ones.
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// A recorded event.
#[derive(Debug, Clone, Serialize)]
pub struct EventRow {
    pub at: String,
    pub event: Value,
}

/// A journal opened for reading.
pub struct History {
    db: Connection,
    path: PathBuf,
}

impl History {
    /// `None` if there is no journal yet.
    pub fn open(path: &Path) -> std::result::Result<Option<Self>, Fault> {
        // SQLite would wait for a pipe.
        match find_regular(path) {
            Ok(None) => return Ok(None),
            Ok(Some(_)) => {}
            Err(error) => return Err(not_a_journal(path, &error)),
        }
        let open = |access: OpenFlags| {
            let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
            let tables = db.query_row("SELECT COUNT(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0));
            Ok((db, tables))
        };
        let mut opened = open(OpenFlags::SQLITE_OPEN_READ_ONLY);
        // A process that is killed when it creates the journal leaves changes that have to be undone first, or no tables.
        let is_unfinished = |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::ReadOnly);
        if matches!(&opened, Ok((_, Err(error))) if is_unfinished(error)) {
            opened = open(OpenFlags::SQLITE_OPEN_READ_WRITE);
        }
        let (db, tables) = opened.map_err(|error| journal_fault(path, &error))?;
        Ok((tables != Ok(0)).then(|| Self { db, path: path.to_owned() }))
    }

    pub fn last_run(&self) -> std::result::Result<Option<RunRow>, Fault> {
        self.guard(|db| db.query_row(&format!("{RUNS} ORDER BY id DESC LIMIT 1"), [], run_row).optional())
    }

    /// What the latest run is waiting for at `now`, if it has not ended.
    pub fn waiting(&self, now: Timestamp) -> std::result::Result<Option<WaitRow>, Fault> {
        let rows = self.guard(|db| {
            let open = "(SELECT id FROM runs WHERE ended_at IS NULL ORDER BY id DESC LIMIT 1)";
            let quota = format!("SELECT 0, until, NULL, NULL, NULL FROM quota_waits WHERE run = {open} ORDER BY id DESC LIMIT 1");
            let outage = format!(
                "SELECT 1, until, since, gives_up_at, message FROM outages WHERE run = {open} AND ended_at IS NULL LIMIT 1"
            );
            // Journals of older versions have no such table.
            let has_outages = db.table_exists(None, "outages")?;
            let queries = has_outages.then_some(outage).into_iter().chain([quota]);
            queries.map(|query| db.query_row(&query, [], wait_row).optional()).collect::<Result<Vec<_>>>()
        })?;
        Ok(rows.into_iter().flatten().flatten().find(|wait| wait.until > now))
    }

    pub fn run(&self, id: i64) -> std::result::Result<Option<RunRow>, Fault> {
        self.guard(|db| db.query_row(&format!("{RUNS} WHERE id = ?1"), [id], run_row).optional())
    }

    /// `None` if they were not recorded.
    pub fn commits(&self, run: i64) -> std::result::Result<Option<RunCommits>, Fault> {
        self.guard(|db| {
            // Journals of older versions have no such table.
            if !db.table_exists(None, "commits")? {
                return Ok(None);
            }
            db.query_row("SELECT before, after FROM commits WHERE run = ?1", [run], |row| {
                Ok(RunCommits { before: row.get(0)?, after: row.get(1)? })
            })
            .optional()
        })
    }

    /// Total cost of all runs, and whether a price was unknown.
    pub fn total_cost(&self) -> std::result::Result<(f64, bool), Fault> {
        self.guard(|db| {
            db.query_row("SELECT COALESCE(SUM(usd), 0), COUNT(*) > COUNT(usd) FROM costs", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
        })
    }

    /// What each session has cost, oldest first.
    pub fn session_costs(&self) -> std::result::Result<Vec<SessionCost>, Fault> {
        self.guard(session_costs)
    }

    /// Latest sessions, latest first.
    pub fn sessions(&self, limit: usize) -> std::result::Result<Vec<SessionRow>, Fault> {
        self.guard(|db| {
            let mut statement =
                db.prepare(&format!("{SESSIONS} ORDER BY s.run DESC, s.number DESC LIMIT ?1"))?;
            statement.query_map([limit], session_row)?.collect()
        })
    }

    /// All sessions of a run, in order.
    pub fn sessions_of(&self, run: i64) -> std::result::Result<Vec<SessionRow>, Fault> {
        self.guard(|db| {
            let mut statement = db.prepare(&format!("{SESSIONS} WHERE s.run = ?1 ORDER BY s.number"))?;
            statement.query_map([run], session_row)?.collect()
        })
    }

    /// The progress scores of a run's sessions, in order. Empty for runs of older versions.
    pub fn scores(&self, run: i64) -> std::result::Result<Vec<f64>, Fault> {
        self.guard(|db| {
            let mut statement = db.prepare(
                "SELECT json_extract(body, '$.score') FROM events
                 WHERE run = ?1 AND session = 0 AND body LIKE '%\"type\":\"progress\"%'
                   AND json_extract(body, '$.type') = 'progress' ORDER BY id",
            )?;
            statement.query_map([run], |row| row.get(0))?.collect()
        })
    }

    /// What became of the attempts by several agents in a run, in order.
    pub fn best_of(&self, run: i64) -> std::result::Result<Vec<BestOfResult>, Fault> {
        self.guard(|db| {
            let mut statement = db.prepare(
                "SELECT body FROM events
                 WHERE run = ?1 AND session = 0 AND body LIKE '%\"type\":\"best_of\"%'
                   AND json_extract(body, '$.type') = 'best_of' ORDER BY id",
            )?;
            let bodies: Vec<String> = statement.query_map([run], |row| row.get(0))?.collect::<Result<_>>()?;
            // A row that was too long to record is not worth a failed report.
            Ok(bodies.iter().filter_map(|body| serde_json::from_str(body).ok()).collect())
        })
    }

    /// Events outside of any session, such as checks, in order.
    pub fn between_sessions(&self, run: i64) -> std::result::Result<Vec<EventRow>, Fault> {
        self.guard(|db| events(db, run, 0))
    }

    pub fn session(
        &self,
        run: i64,
        number: u32,
    ) -> std::result::Result<Option<(SessionRow, Vec<EventRow>)>, Fault> {
        self.guard(|db| {
            let found = db
                .query_row(
                    &format!("{SESSIONS} WHERE s.run = ?1 AND s.number = ?2"),
                    params![run, number],
                    session_row,
                )
                .optional()?;
            let Some(session) = found else { return Ok(None) };
            Ok(Some((session, events(db, run, number)?)))
        })
    }

    /// The latest stored conversation.
    pub fn last_conversation(&self) -> std::result::Result<Option<Value>, Fault> {
        let text: Option<String> = self.guard(|db| {
            // Journals of older versions have no such table.
            if !db.table_exists(None, "conversations")? {
                return Ok(None);
            }
            let newest = "SELECT history FROM conversations ORDER BY run DESC, session DESC LIMIT 1";
            db.query_row(newest, [], |row| row.get(0)).optional()
        })?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// The latest run of a command that can be resumed, and the saved state of its plan.
    pub fn unfinished(&self, command: &str) -> std::result::Result<Option<(i64, Option<Value>)>, Fault> {
        self.guard(|db| {
            let Some(run) = super::records::unfinished(db, command)? else {
                return Ok(None);
            };
            // Journals of older versions have no such table.
            let state: Option<String> = match db.table_exists(None, "plans")? {
                true => super::records::plan_state(db, super::records::RunId(run))?,
                false => None,
            };
            Ok(Some((run, state.and_then(|text| serde_json::from_str(&text).ok()))))
        })
    }

    /// `None` if there never was a `status.json`, or if the user has started over since.
    pub fn recorded_status(&self) -> std::result::Result<Option<RecordedStatus>, Fault> {
        self.guard(super::records::recorded_status)
    }

    /// What the recorded `status.json` was planned from; `None` if none is recorded.
    pub fn status_origin(&self) -> std::result::Result<Option<StatusOrigin>, Fault> {
        if self.recorded_status()?.is_none() {
            return Ok(None);
        }
        self.guard(|db| {
            let latest = |query: &str| -> Result<Option<String>> {
                Ok(db.query_row(query, [], |row| row.get(0)).optional()?.flatten())
            };
            // Journals of older versions have neither.
            let spec = match db.column_exists(None, "runs", "spec")? {
                true => latest("SELECT spec FROM runs WHERE spec IS NOT NULL ORDER BY id DESC LIMIT 1")?,
                false => None,
            };
            let commit = match db.table_exists(None, "commits")? {
                true => latest("SELECT COALESCE(after, before) FROM commits ORDER BY run DESC LIMIT 1")?,
                false => None,
            };
            Ok(Some(StatusOrigin { spec, commit }))
        })
    }

    /// Runs SQLite's integrity check.
    pub fn integrity(&self) -> std::result::Result<String, Fault> {
        let found: String =
            self.guard(|db| db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)))?;
        match found.as_str() {
            "ok" => Ok(found),
            wrong => Err(damaged(&self.path, wrong.lines().next_back().unwrap_or_default())),
        }
    }

    /// The denied tool calls of a run, in order.
    pub fn denied_calls(&self, run: i64) -> std::result::Result<Vec<DeniedCall>, Fault> {
        self.guard(|db| denied_calls(db, run))
    }

    fn guard<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> std::result::Result<T, Fault> {
        read(&self.db).map_err(|error| journal_fault(&self.path, &error))
    }
}

const RUNS: &str = "SELECT id, command, started_at, ended_at, report FROM runs";

fn run_row(row: &rusqlite::Row<'_>) -> Result<RunRow> {
    let report: Option<String> = row.get(4)?;
    Ok(RunRow {
        id: row.get(0)?,
        command: row.get(1)?,
        started_at: row.get(2)?,
        ended_at: row.get(3)?,
        report: report.and_then(|text| serde_json::from_str(&text).ok()),
    })
}

fn wait_row(row: &rusqlite::Row<'_>) -> Result<Option<WaitRow>> {
    let moment = |column| -> Result<Option<Timestamp>> {
        let text = row.get::<_, Option<String>>(column)?;
        Ok(text.and_then(|text| text.parse::<Timestamp>().ok()))
    };
    let reason = if row.get(0)? { WaitReason::Service } else { WaitReason::Quota };
    let (since, gives_up_at, message) = (moment(2)?, moment(3)?, row.get(4)?);
    Ok(moment(1)?.map(|until| WaitRow { reason, until, since, gives_up_at, message }))
}

fn events(db: &Connection, run: i64, session: u32) -> Result<Vec<EventRow>> {
    let mut statement =
        db.prepare("SELECT at, body FROM events WHERE run = ?1 AND session = ?2 ORDER BY id")?;
    let rows = statement.query_map(params![run, session], |row| {
        let body: String = row.get(1)?;
        Ok(EventRow { at: row.get(0)?, event: serde_json::from_str(&body).unwrap_or(Value::String(body)) })
    })?;
    rows.collect()
}

fn denied_calls(db: &Connection, run: i64) -> Result<Vec<DeniedCall>> {
    let mut statement = db.prepare(
        "SELECT body FROM events WHERE run = ?1 AND (body LIKE '%\"denied_by\":%' OR body LIKE '%\"type\":\"tool_call\"%')
         ORDER BY id",
    )?;
    let bodies = statement.query_map([run], |row| row.get::<_, String>(0))?;
    let mut subjects: HashMap<String, Option<String>> = HashMap::new();
    let mut denied = Vec::new();
    for body in bodies {
        match serde_json::from_str(&body?) {
            Ok(AgentEvent::ToolCall(call)) => {
                let subject = call.subject().map(str::to_owned);
                subjects.insert(call.id, subject);
            }
            Ok(AgentEvent::ToolResult {
                id, name, content, denied_by: Some(gate), denied_reason, ..
            }) => {
                let (subject, reason) = (subjects.remove(&id).flatten(), denied_reason.unwrap_or(content));
                denied.push(DeniedCall { tool: name, subject, gate, reason });
            }
            // Another event, or one that was too long to record.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(denied)
}

const SESSIONS: &str = "
    SELECT s.run, s.number, s.instruction, s.backend, s.model, s.started_at, s.outcome, s.duration_seconds,
           c.usd, COALESCE(c.input, 0), COALESCE(c.output, 0)
    FROM sessions s LEFT JOIN (
        SELECT run, session, CASE WHEN COUNT(*) > COUNT(usd) THEN NULL ELSE SUM(usd) END AS usd,
               SUM(input_tokens + cache_read_tokens + cache_write_tokens) AS input, SUM(output_tokens) AS output
        FROM costs GROUP BY run, session
    ) c ON c.run = s.run AND c.session = s.number";

fn session_row(row: &rusqlite::Row<'_>) -> Result<SessionRow> {
    let outcome: Option<String> = row.get(6)?;
    Ok(SessionRow {
        run: row.get(0)?,
        number: row.get(1)?,
        instruction: row.get(2)?,
        backend: row.get(3)?,
        model: row.get(4)?,
        started_at: row.get(5)?,
        outcome: outcome.and_then(|text| serde_json::from_str(&text).ok()),
        duration_seconds: row.get(7)?,
        cost_usd: row.get(8)?,
        input_tokens: row.get(9)?,
        output_tokens: row.get(10)?,
    })
}
