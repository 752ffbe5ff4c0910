//! Reads files that someone else may have written: a repository, an agent, the user, another program.
//!
//! Our own process reads them, outside every sandbox, so a named pipe must not block it and a link to
//! `/dev/zero` must not fill its memory. Everything here accepts regular files only, reads no more than a
//! limit, and reports errors as a clause that follows the file name: "it is a named pipe, not a regular
//! file". Failed writes are explained here too ([`WriteFailure`]).

mod error;
mod open;
mod read;
mod write;

pub use error::{FileKind, ReadError};
pub use open::{find_regular, open_beneath, open_or_create, open_regular};
pub use read::{read_bytes, read_bytes_beneath, read_opened, read_start, read_text, to_text};
pub use write::{Disk, WriteFailure};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Size limit for settings, which are written by hand.
pub const SETTINGS_LIMIT: u64 = MIB;

/// Size limit for documents and lists: SPEC.md, `checks.json`, `status.json`.
pub const DOCUMENT_LIMIT: u64 = 64 * MIB;

/// For people: `64 MiB`, `300 bytes`. Rounded down to a whole unit.
pub fn show_bytes(bytes: u64) -> String {
    let units = [("TiB", MIB * MIB), ("GiB", KIB * MIB), ("MiB", MIB), ("KiB", KIB)];
    match units.into_iter().find(|(_, factor)| bytes >= *factor) {
        Some((unit, factor)) => format!("{} {unit}", bytes / factor),
        None => format!("{bytes} bytes"),
    }
}
