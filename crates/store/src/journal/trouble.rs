//! What is wrong with a journal that SQLite cannot use, and what to do: each of full, read-only, damaged and busy has its own.

use std::fs::File;
use std::path::Path;

use autonoe_core::fault::{Fault, Layer};
use autonoe_files::{Disk, ReadError, WriteTrouble, find_regular};
use rusqlite::ErrorCode;

/// With less than this a write of SQLite fails, whatever it calls the failure.
const FULL_BELOW_BYTES: u64 = 128 * 1024;

/// What to do about a damaged journal, what is kept then, and what is lost.
const MOVE_IT_AWAY: &str = "Move journal.db, journal.db-wal and journal.db-shm out of that directory, then start again. Kept: your files and \
     .autonoe/ with the deliverables, their status, checks and evidence. Lost: the record of earlier runs and what they cost, the \
     conversation for --resume, and how far `autonoe sync` was.";

/// A journal that cannot be read or written stops the run: what is not on record did not happen.
pub(super) fn journal_fault(path: &Path, error: &rusqlite::Error) -> Fault {
    let fault = |what: String| {
        Fault::lasting(Layer::Store, "journal", format!("The journal {} {what}.", path.display()))
    };
    match cause(path, error) {
        Cause::Damaged => fault(format!("is damaged: {error}")).hint(MOVE_IT_AWAY),
        Cause::System(WriteTrouble { why, advice }) => fault(format!("cannot be used: {why}"))
            .hint(format!("{advice} Then start again; what is on record is kept.")),
        Cause::Busy => fault("is in use by another process".to_owned()).hint(
            "Wait until that has ended, then start again; `autonoe doctor` says who holds the project.",
        ),
        Cause::Unknown => fault(format!("failed: {error}"))
            .hint("`autonoe doctor` checks whether it is whole; what is on record is kept."),
    }
}

/// That what stands in place of a journal is none.
pub(super) fn not_a_journal(path: &Path, error: &ReadError) -> Fault {
    Fault::lasting(
        Layer::Store,
        "journal",
        format!("The journal {} cannot be used: {error}.", path.display()),
    )
    .hint("Move it away, then start again.")
}

/// That a journal was found not to be whole.
pub(super) fn damaged(path: &Path, what: &str) -> Fault {
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    journal_fault(path, &rusqlite::Error::SqliteFailure(error, Some(what.to_owned())))
}

enum Cause {
    Damaged,
    System(WriteTrouble),
    Busy,
    Unknown,
}

fn cause(path: &Path, error: &rusqlite::Error) -> Cause {
    let Some(code) = error.sqlite_error_code() else {
        // A value that is not what we wrote there.
        return Cause::Damaged;
    };
    match code {
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch => Cause::Damaged,
        // A table that is not there: somebody else's database, or ours with a part of it gone.
        ErrorCode::Unknown => Cause::Damaged,
        ErrorCode::DiskFull => Cause::System(WriteTrouble::full(path)),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            Cause::Busy
        }
        _ => asked_again(path),
    }
}

/// SQLite's "I/O error" and "unable to open" can be anything; the system itself is asked what is wrong.
fn asked_again(path: &Path) -> Cause {
    if Disk::of(path).is_some_and(|disk| disk.free < FULL_BELOW_BYTES) {
        return Cause::System(WriteTrouble::full(path));
    }
    if let Ok(Some(_)) = find_regular(path)
        && let Err(error) = File::options().read(true).write(true).open(path)
    {
        return Cause::System(WriteTrouble::of(path, &error));
    }
    let beside = path.parent().unwrap_or(path);
    WriteTrouble::expected(beside).map_or(Cause::Unknown, Cause::System)
}
