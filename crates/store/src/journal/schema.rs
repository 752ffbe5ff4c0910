//! The tables, and their migrations.

use rusqlite::{Connection, Result, TransactionBehavior};

/// Entry `n` migrates version `n` to version `n + 1`. Never edit, only append.
const MIGRATIONS: [&str; 7] = [
    "
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        command TEXT NOT NULL,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        report TEXT
    );
    CREATE TABLE sessions (
        run INTEGER NOT NULL REFERENCES runs,
        number INTEGER NOT NULL,
        instruction TEXT NOT NULL,
        backend TEXT NOT NULL,
        model TEXT NOT NULL,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        outcome TEXT,
        duration_seconds REAL,
        PRIMARY KEY (run, number)
    ) WITHOUT ROWID;
    CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL,
        session INTEGER NOT NULL,
        at TEXT NOT NULL,
        body TEXT NOT NULL
    );
    CREATE INDEX events_of_session ON events (run, session);
    CREATE TABLE costs (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL,
        session INTEGER NOT NULL,
        at TEXT NOT NULL,
        usd REAL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        cache_read_tokens INTEGER NOT NULL,
        cache_write_tokens INTEGER NOT NULL
    );
    CREATE INDEX costs_of_session ON costs (run, session);
    CREATE TABLE status_writes (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL,
        at TEXT NOT NULL,
        before_hash TEXT NOT NULL,
        after TEXT,
        applied INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE status_changes (
        id INTEGER PRIMARY KEY,
        write INTEGER NOT NULL REFERENCES status_writes,
        deliverable TEXT NOT NULL,
        previous TEXT,
        new TEXT NOT NULL
    );
    CREATE TABLE quota_waits (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL,
        session INTEGER NOT NULL,
        until TEXT NOT NULL,
        resets_at TEXT
    );
    CREATE TABLE passes (
        id INTEGER PRIMARY KEY,
        spec TEXT NOT NULL,
        started_at TEXT NOT NULL,
        synced INTEGER NOT NULL DEFAULT 0,
        ended_at TEXT
    );
    CREATE TABLE verified (
        pass INTEGER NOT NULL REFERENCES passes,
        deliverable TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (pass, deliverable)
    ) WITHOUT ROWID;
",
    "
    CREATE TABLE conversations (
        run INTEGER NOT NULL,
        session INTEGER NOT NULL,
        at TEXT NOT NULL,
        history TEXT NOT NULL,
        PRIMARY KEY (run, session)
    ) WITHOUT ROWID;
",
    // A run without a row did not record commits; NULL means that nothing was committed, or at the end that
    // it is unknown.
    "
    CREATE TABLE commits (
        run INTEGER PRIMARY KEY REFERENCES runs,
        before TEXT,
        after TEXT
    );
",
    // The saved state of a run's plan, and the output of the session that it has yet to judge.
    "
    CREATE TABLE plans (
        run INTEGER PRIMARY KEY REFERENCES runs,
        state TEXT NOT NULL
    );
    CREATE TABLE said (
        run INTEGER NOT NULL,
        session INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (run, session)
    ) WITHOUT ROWID;
",
    // One row per outage of the model service; `ended_at` is NULL while it lasts.
    "
    CREATE TABLE outages (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs,
        since TEXT NOT NULL,
        tries INTEGER NOT NULL,
        waited_seconds REAL NOT NULL,
        until TEXT NOT NULL,
        gives_up_at TEXT NOT NULL,
        message TEXT NOT NULL,
        ended_at TEXT
    );
",
    // Hash of the SPEC.md of a run; NULL for declarative agents, and for runs of older versions.
    "
    ALTER TABLE runs ADD COLUMN spec TEXT;
",
    // The scores and remedies of a run, beside the state of its plan.
    "
    CREATE TABLE recoveries (
        run INTEGER PRIMARY KEY REFERENCES runs,
        state TEXT NOT NULL
    );
",
];

pub(super) enum MigrationError {
    Broken(rusqlite::Error),
    /// Format version written by a newer autonoe.
    Newer(usize),
}

pub(super) fn migrate(db: &mut Connection) -> Result<(), MigrationError> {
    let version_of = |db: &Connection| db.query_row("PRAGMA user_version", [], |row| row.get::<_, usize>(0));
    let version = version_of(db).map_err(MigrationError::Broken)?;
    if version > MIGRATIONS.len() {
        return Err(MigrationError::Newer(version));
    }
    let all = |db: &mut Connection| {
        // One transaction: a process that is killed leaves no journal with half of the tables. Another process may have begun at the same
        // time, so what is left to do is only known once it has ended.
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version = version_of(&transaction)?;
        if version >= MIGRATIONS.len() {
            return Ok(());
        }
        MIGRATIONS.iter().skip(version).try_for_each(|migration| transaction.execute_batch(migration))?;
        transaction.pragma_update(None, "user_version", MIGRATIONS.len())?;
        transaction.commit()
    };
    match version == MIGRATIONS.len() {
        true => Ok(()),
        false => all(db).map_err(MigrationError::Broken),
    }
}
