//! Reads files that someone else may have written: a repository, an agent, the user, another program.
//!
//! Our own process reads them, outside every sandbox, so a named pipe must not block it and a link to
//! `/dev/zero` must not fill its memory. Everything here accepts regular files only, reads no more than a
//! limit, and reports errors as a clause that follows the file name: "it is a named pipe, not a regular
//! file". Failed writes are explained here too ([`WriteFailure`]).

mod credentials;
mod error;
mod open;
mod path_mapping;
mod read;
mod read_lease;
mod real_place;
mod remove;
mod replace;
mod size;
mod untrusted_dir;
mod write;

pub use credentials::{CREDENTIALS, Credential, credentials_within, is_credential};
pub use error::{FileKind, ReadError};
#[cfg(target_os = "linux")]
pub use open::open_within;
pub use open::{find_regular, link_beneath, open_beneath, open_or_create, open_regular};
pub use path_mapping::PathMapping;
pub use read::{read_bytes, read_bytes_beneath, read_opened, read_start, read_text, to_text};
pub use read_lease::{LeaseError, ReadLease};
pub use real_place::{PlaceError, real_place};
pub use remove::remove_tree;
pub use replace::{replace_beneath, rewrite_beneath};
pub use size::{DOCUMENT_LIMIT, SETTINGS_LIMIT, show_bytes};
pub use untrusted_dir::{TEMPORARY, UntrustedDir, Visibility, temporary_name};
pub use write::{Disk, WriteFailure};
