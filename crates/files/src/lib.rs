//! Reading files that somebody else may have written: a repository, an agent, the user, another program.
//!
//! Our own process reads them, outside every sandbox, so a named pipe must not make it wait and a link to `/dev/zero`
//! must not fill its memory. Everything here takes regular files only, reads no more than a limit, and says what is
//! wrong as a clause that follows the name of the file: "it is a named pipe, not a regular file". What cannot be written
//! is explained here too ([`WriteTrouble`]).

mod error;
mod open;
mod read;
mod write;

pub use error::{Kind, ReadError};
pub use open::{find_regular, open_beneath, open_regular};
pub use read::{read_bytes, read_bytes_beneath, read_opened, read_start, read_text, to_text};
pub use write::{Disk, WriteTrouble};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// The most that is read of a file of settings, which a person writes by hand.
pub const SETTINGS_LIMIT: u64 = MIB;

/// The most that is read of a document or a list: SPEC.md, `checks.json`, `status.json`.
pub const DOCUMENT_LIMIT: u64 = 64 * MIB;

/// A number of bytes for a person: `64 MiB`, `300 bytes`. Rounded down to a whole unit.
pub fn show_bytes(bytes: u64) -> String {
    let units = [("TiB", MIB * MIB), ("GiB", KIB * MIB), ("MiB", MIB), ("KiB", KIB)];
    match units.into_iter().find(|(_, factor)| bytes >= *factor) {
        Some((unit, factor)) => format!("{} {unit}", bytes / factor),
        None => format!("{bytes} bytes"),
    }
}
