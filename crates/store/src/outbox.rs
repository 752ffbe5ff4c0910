//! The outbox of a project: notifications that were recorded, and what became of their deliveries.
//!
//! It is a file of its own and not a part of the journal: a journal that cannot be written stops the run, and a notification must not.
//! A delivery is recorded before it is tried and settled afterwards, so that one that a killed process left is tried by the next.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::notification::{NotificationEvent, UserNotification};
use autonoe_files::{WriteFailure, find_regular};
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, Result as SqlResult, Row, params};
use serde::Serialize;

use crate::hash::sha256_hex;
use crate::project::{Project, create_private};

const FILE: &str = "outbox.db";
const LOCK: &str = "outbox.lock";

/// Written to the file; another one was written by another version.
const FORMAT: i64 = 1;

/// Notifications that are kept after they are settled.
const KEPT: i64 = 500;

/// How long to wait for another process that writes.
const BUSY_LIMIT: Duration = Duration::from_secs(2);

/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 32;

/// Times are in milliseconds.
const SCHEMA: &str = "
    CREATE TABLE outbox (salt TEXT NOT NULL);
    CREATE TABLE runs (run INTEGER PRIMARY KEY, is_over INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE notifications (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        run INTEGER,
        body TEXT NOT NULL
    );
    CREATE TABLE deliveries (
        notification INTEGER NOT NULL REFERENCES notifications ON DELETE CASCADE,
        target TEXT NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        next_try_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        problem TEXT,
        PRIMARY KEY (notification, target)
    ) WITHOUT ROWID;
    INSERT INTO outbox (salt) VALUES (lower(hex(randomblob(16))));
";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It is tried, or tried again.
    Pending,
    Delivered,
    /// No further attempt can help, or there were enough.
    Failed,
    /// It was worth nothing any more.
    Expired,
}

impl DeliveryState {
    const ALL: [Self; 4] = [Self::Pending, Self::Delivered, Self::Failed, Self::Expired];

    /// As in JSON and in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Expired => "expired",
        }
    }
}

/// Which delivery of which notification.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeliveryKey {
    notification: i64,
    pub target: String,
}

/// A delivery that is due, now or later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingDelivery {
    pub key: DeliveryKey,
    pub notification: UserNotification,
    /// Attempts so far.
    pub attempts: u32,
    pub next_try_at: Timestamp,
    pub expires_at: Timestamp,
    /// Why the last attempt failed.
    pub problem: Option<String>,
}

/// A delivery, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeliveryRow {
    pub id: String,
    pub event: NotificationEvent,
    pub at: Timestamp,
    pub run: Option<i64>,
    pub target: String,
    pub state: DeliveryState,
    pub attempts: u32,
    /// `None` unless it is pending.
    pub next_try_at: Option<Timestamp>,
    pub expires_at: Timestamp,
    /// Why the last attempt failed.
    pub problem: Option<String>,
}

/// Held by the one process that delivers. The kernel releases the lock of a process that dies.
#[derive(Debug)]
pub struct OutboxLock {
    _file: File,
}

#[derive(Debug)]
pub struct Outbox {
    db: Mutex<Connection>,
    path: PathBuf,
}

impl Outbox {
    pub fn open(project: &Project) -> Result<Self, Fault> {
        let path = project.state_dir().join(FILE);
        let not_created = |error: io::Error| {
            let WriteFailure { why, advice } = WriteFailure::of(&path, &error);
            fault(&path, &why).hint(advice)
        };
        create_private(project.state_dir()).map_err(not_created)?;
        // SQLite would wait for a pipe.
        find_regular(&path).map_err(|error| fault(&path, &error))?;
        let wrong = |error: rusqlite::Error| fault(&path, &error);
        let db = Connection::open(&path).map_err(wrong)?;
        let prepared = prepare(&db).map_err(wrong)?;
        match prepared {
            FORMAT => Ok(Self { db: Mutex::new(db), path }),
            _ => Err(fault(&path, &"another version of autonoe wrote it")),
        }
    }

    /// For reading; `None` if there is none yet.
    pub fn find(project: &Project) -> Result<Option<Self>, Fault> {
        let path = project.state_dir().join(FILE);
        match find_regular(&path) {
            Ok(None) => return Ok(None),
            Ok(Some(_)) => {}
            Err(error) => return Err(fault(&path, &error)),
        }
        let wrong = |error: rusqlite::Error| fault(&path, &error);
        let db = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(wrong)?;
        db.busy_timeout(BUSY_LIMIT).map_err(wrong)?;
        // A process that was killed when it created the file left no tables.
        let version = format_of(&db).map_err(wrong)?;
        Ok((version == FORMAT).then(|| Self { db: Mutex::new(db), path }))
    }

    /// The id of what happened: the same whenever the same thing is recorded, and another one in every other outbox.
    pub fn id(&self, run: i64, event: NotificationEvent, subject: &str) -> Result<String, Fault> {
        let salt: String = self.guard(|db| db.query_row("SELECT salt FROM outbox", [], |row| row.get(0)))?;
        let text = format!("{salt}\n{run}\n{}\n{subject}", event.name());
        Ok(sha256_hex(text.as_bytes())[..ID_DIGITS].to_owned())
    }

    /// Records a notification for these targets, each with the time at which it expires. Returns false if it was recorded before.
    pub fn record(
        &self,
        notification: &UserNotification,
        targets: &[(&str, Timestamp)],
    ) -> Result<bool, Fault> {
        let body = serde_json::to_string(notification).map_err(|error| fault(&self.path, &error))?;
        self.guard(|db| {
            let transaction = db.unchecked_transaction()?;
            let added = transaction.execute(
                "INSERT OR IGNORE INTO notifications (id, run, body) VALUES (?1, ?2, ?3)",
                params![notification.id, notification.run, body],
            )?;
            if added == 0 {
                return Ok(false);
            }
            let number = transaction.last_insert_rowid();
            for (target, expires_at) in targets {
                transaction.execute(
                    "INSERT INTO deliveries (notification, target, state, next_try_at, expires_at)
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![
                        number,
                        target,
                        DeliveryState::Pending.name(),
                        notification.at.as_millisecond(),
                        expires_at.as_millisecond()
                    ],
                )?;
            }
            transaction.commit()?;
            Ok(true)
        })
    }

    /// Deliveries that are neither done nor given up, oldest first.
    pub fn pending(&self) -> Result<Vec<PendingDelivery>, Fault> {
        self.guard(|db| {
            let mut statement = db.prepare_cached(
                "SELECT d.notification, d.target, n.body, d.attempts, d.next_try_at, d.expires_at, d.problem
                 FROM deliveries d JOIN notifications n ON n.number = d.notification
                 WHERE d.state = 'pending' ORDER BY d.notification, d.target",
            )?;
            let rows = statement.query_map([], pending_row)?;
            rows.filter_map(SqlResult::transpose).collect()
        })
    }

    /// Records the end of a delivery after so many attempts.
    pub fn settle(
        &self,
        key: &DeliveryKey,
        state: DeliveryState,
        attempts: u32,
        problem: Option<&str>,
    ) -> Result<(), Fault> {
        self.guard(|db| {
            db.execute(
                "UPDATE deliveries SET state = ?3, attempts = ?4, problem = ?5 WHERE notification = ?1 AND target = ?2",
                params![key.notification, key.target, state.name(), attempts, problem],
            )
            .map(drop)
        })
    }

    /// Records that an attempt failed and when the next one is due.
    pub fn postpone(
        &self,
        key: &DeliveryKey,
        attempts: u32,
        next_try_at: Timestamp,
        problem: &str,
    ) -> Result<(), Fault> {
        self.guard(|db| {
            db.execute(
                "UPDATE deliveries SET attempts = ?3, next_try_at = ?4, problem = ?5
                 WHERE notification = ?1 AND target = ?2",
                params![key.notification, key.target, attempts, next_try_at.as_millisecond(), problem],
            )
            .map(drop)
        })
    }

    /// Makes everything due that is not delivered and has not expired, also what was given up. Returns how much that is.
    pub fn retry_all(&self, now: Timestamp) -> Result<usize, Fault> {
        self.guard(|db| {
            db.execute(
                "UPDATE deliveries SET state = 'pending', attempts = 0, next_try_at = ?1
                 WHERE state IN ('pending', 'failed') AND expires_at > ?1",
                [now.as_millisecond()],
            )
        })
    }

    /// How much [`Outbox::retry_all`] would make due.
    pub fn retryable(&self, now: Timestamp) -> Result<usize, Fault> {
        self.guard(|db| {
            db.query_row(
                "SELECT COUNT(*) FROM deliveries WHERE state IN ('pending', 'failed') AND expires_at > ?1",
                [now.as_millisecond()],
                |row| row.get(0),
            )
        })
    }

    /// The newest deliveries, newest first.
    pub fn newest(&self, count: u32) -> Result<Vec<DeliveryRow>, Fault> {
        self.rows("ORDER BY d.notification DESC, d.target LIMIT ?1", i64::from(count))
    }

    /// What was not delivered of a run, and everything that is still tried after a failure, oldest first.
    pub fn undelivered(&self, run: i64) -> Result<Vec<DeliveryRow>, Fault> {
        self.rows(
            "WHERE (n.run = ?1 AND d.state IN ('failed', 'expired')) OR (d.state = 'pending' AND d.problem IS NOT NULL)
             ORDER BY d.notification, d.target",
            run,
        )
    }

    /// Remembers that the end of this run is to be notified.
    pub fn begin_run(&self, run: i64) -> Result<(), Fault> {
        self.guard(|db| db.execute("INSERT OR IGNORE INTO runs (run) VALUES (?1)", [run]).map(drop))
    }

    /// The end of this run was notified, or nobody asked for it.
    pub fn end_run(&self, run: i64) -> Result<(), Fault> {
        self.guard(|db| db.execute("UPDATE runs SET is_over = 1 WHERE run = ?1", [run]).map(drop))
    }

    /// Runs whose end was never notified, except for this one: their processes died, or are at work.
    pub fn open_runs(&self, except: i64) -> Result<Vec<i64>, Fault> {
        self.guard(|db| {
            let mut statement =
                db.prepare("SELECT run FROM runs WHERE is_over = 0 AND run <> ?1 ORDER BY run")?;
            let runs = statement.query_map([except], |row| row.get(0))?;
            runs.collect()
        })
    }

    /// `None` while another process delivers.
    pub fn try_lock(&self) -> Result<Option<OutboxLock>, Fault> {
        let path = self.path.with_file_name(LOCK);
        let wrong = |error: io::Error| fault(&path, &error);
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(wrong)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(OutboxLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(wrong(error)),
        }
    }

    fn rows(&self, condition: &str, parameter: i64) -> Result<Vec<DeliveryRow>, Fault> {
        let query = format!(
            "SELECT d.target, n.body, d.attempts, d.next_try_at, d.expires_at, d.problem, d.state
             FROM deliveries d JOIN notifications n ON n.number = d.notification {condition}"
        );
        self.guard(|db| {
            let mut statement = db.prepare(&query)?;
            let rows = statement.query_map([parameter], delivery_row)?;
            rows.filter_map(SqlResult::transpose).collect()
        })
    }

    fn guard<T>(&self, work: impl FnOnce(&Connection) -> SqlResult<T>) -> Result<T, Fault> {
        work(&self.connection()).map_err(|error| fault(&self.path, &error))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic leaves at most an open transaction, which is rolled back.
        self.db.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the format of the file, which is created if there is none.
fn prepare(db: &Connection) -> SqlResult<i64> {
    db.busy_timeout(BUSY_LIMIT)?;
    if format_of(db)? == 0 {
        db.pragma_update(None, "journal_mode", "WAL")?;
        // Immediate: two processes may begin at the same time.
        let transaction = rusqlite::Transaction::new_unchecked(db, rusqlite::TransactionBehavior::Immediate)?;
        if format_of(&transaction)? == 0 {
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "user_version", FORMAT)?;
        }
        transaction.commit()?;
    }
    let format = format_of(db)?;
    if format == FORMAT {
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "foreign_keys", true)?;
        db.execute(
            "DELETE FROM notifications
             WHERE number <= (SELECT COALESCE(MAX(number), 0) FROM notifications) - ?1
               AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.notification = number AND d.state = 'pending')",
            [KEPT],
        )?;
    }
    Ok(format)
}

/// 0 for a new file.
fn format_of(db: &Connection) -> SqlResult<i64> {
    db.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// `None` for a notification that cannot be read, which another version may have written.
fn pending_row(row: &Row<'_>) -> SqlResult<Option<PendingDelivery>> {
    let Some(notification) = notification(row, 2)? else { return Ok(None) };
    Ok(Some(PendingDelivery {
        key: DeliveryKey { notification: row.get(0)?, target: row.get(1)? },
        attempts: row.get(3)?,
        next_try_at: moment(row, 4)?.unwrap_or(notification.at),
        expires_at: moment(row, 5)?.unwrap_or(notification.at),
        problem: row.get(6)?,
        notification,
    }))
}

fn delivery_row(row: &Row<'_>) -> SqlResult<Option<DeliveryRow>> {
    let Some(notification) = notification(row, 1)? else { return Ok(None) };
    let state: String = row.get(6)?;
    let Some(state) = DeliveryState::ALL.into_iter().find(|known| known.name() == state) else {
        return Ok(None);
    };
    let UserNotification { id, event, at, run, .. } = notification;
    Ok(Some(DeliveryRow {
        id,
        event,
        at,
        run,
        target: row.get(0)?,
        state,
        attempts: row.get(2)?,
        next_try_at: moment(row, 3)?.filter(|_| state == DeliveryState::Pending),
        expires_at: moment(row, 4)?.unwrap_or(at),
        problem: row.get(5)?,
    }))
}

fn notification(row: &Row<'_>, column: usize) -> SqlResult<Option<UserNotification>> {
    Ok(serde_json::from_str(&row.get::<_, String>(column)?).ok())
}

fn moment(row: &Row<'_>, column: usize) -> SqlResult<Option<Timestamp>> {
    Ok(Timestamp::from_millisecond(row.get(column)?).ok())
}

fn fault(path: &Path, why: &dyn std::fmt::Display) -> Fault {
    let message = format!("The outbox {} cannot be used: {why}.", path.display());
    Fault::permanent(FaultLayer::Store, "outbox", message)
        .hint("Move it away; notifications that were not delivered are lost with it.")
}

#[cfg(test)]
mod tests;
