//! Faults of a journal that SQLite cannot use. Full, read-only, damaged and busy each have their own message
//! and hint.

use std::fs::File;
use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{Disk, ReadError, WriteFailure, find_regular};
use rusqlite::ErrorCode;

/// With less free space than this, a write of SQLite fails, whatever error it reports.
const FULL_BELOW_BYTES: u64 = 128 * 1024;

/// What to do about a damaged journal, what is kept then, and what is lost.
const MOVE_IT_AWAY: &str = "Move journal.db, journal.db-wal and journal.db-shm out of that directory, then start again. Kept: your files and \
     .autonoe/ with the deliverables, their status, checks and evidence. Lost: the record of earlier runs and their cost, the \
     conversation for --resume, and the progress of `autonoe sync`.";

/// A journal that cannot be read or written stops the run: what is not recorded did not happen.
pub(super) fn journal_fault(path: &Path, error: &rusqlite::Error) -> Fault {
    let fault = |what: String| {
        Fault::permanent(FaultLayer::Store, "journal", format!("The journal {} {what}.", path.display()))
    };
    match cause(path, error) {
        Cause::Damaged => fault(format!("is damaged: {error}")).hint(MOVE_IT_AWAY),
        Cause::System(WriteFailure { why, advice }) => fault(format!("cannot be used: {why}"))
            .hint(format!("{advice} Then start again; recorded data is kept.")),
        Cause::Busy => fault("is in use by another process".to_owned()).hint(
            "Wait until it has ended, then start again; `autonoe doctor` shows which process uses the project.",
        ),
        Cause::Unknown => fault(format!("failed: {error}"))
            .hint("`autonoe doctor` checks its integrity; recorded data is kept."),
    }
}

/// The file at the journal's path is not usable as one.
pub(super) fn not_a_journal(path: &Path, error: &ReadError) -> Fault {
    Fault::permanent(
        FaultLayer::Store,
        "journal",
        format!("The journal {} cannot be used: {error}.", path.display()),
    )
    .hint("Move the file away, then start again.")
}

/// An integrity check failed.
pub(super) fn damaged(path: &Path, what: &str) -> Fault {
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    journal_fault(path, &rusqlite::Error::SqliteFailure(error, Some(what.to_owned())))
}

enum Cause {
    Damaged,
    System(WriteFailure),
    Busy,
    Unknown,
}

fn cause(path: &Path, error: &rusqlite::Error) -> Cause {
    let Some(code) = error.sqlite_error_code() else {
        // Not an error of SQLite: a stored value has an unexpected form.
        return Cause::Damaged;
    };
    match code {
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch => Cause::Damaged,
        // A table is missing: the database is not ours, or a part of it is gone.
        ErrorCode::Unknown => Cause::Damaged,
        ErrorCode::DiskFull => Cause::System(WriteFailure::full(path)),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            Cause::Busy
        }
        _ => system_cause(path),
    }
}

/// SQLite's "I/O error" and "unable to open" can have many causes, so the operating system is asked directly.
fn system_cause(path: &Path) -> Cause {
    if Disk::of(path).is_some_and(|disk| disk.free < FULL_BELOW_BYTES || disk.is_out_of_files()) {
        return Cause::System(WriteFailure::full(path));
    }
    if let Ok(Some(_)) = find_regular(path)
        && let Err(error) = File::options().read(true).write(true).open(path)
    {
        return Cause::System(WriteFailure::of(path, &error));
    }
    let beside = path.parent().unwrap_or(path);
    WriteFailure::predict(beside).map_or(Cause::Unknown, Cause::System)
}
