//! What Autonoe keeps on disk. Nobody else opens a state file.
//!
//! `status.json` has one writer, [`StatusStore`]; everything that happens goes through one
//! [`Journal`]; a project has one [`ProjectLock`]. Where files lie is [`Project`]'s business.

mod atomic;
mod byte_size;
mod check_book;
pub mod config;
mod crash;
mod directory_lock;
mod evidence_file;
mod hash;
mod instructions;
pub mod journal;
mod lock;
mod project;
pub mod status_file;
mod status_store;
mod trust;
pub mod user_config;

pub use byte_size::ByteSize;
pub use check_book::{Accepted, Assigned, CheckBook, CheckState, Dispute, MAX_FILE_BYTES, Seen};
pub use crash::{CrashPoint, JournalPoint};
pub use evidence_file::{evidence_file, read_evidence, write_evidence};
pub use hash::sha256_hex;
pub use instructions::ProjectInstructions;
pub use journal::Journal;
pub use lock::{Held, Holder, ProjectLock};
pub use project::{Project, check_path};
pub use status_store::StatusStore;
pub use trust::Widening;
pub use user_config::{AgentCommand, UserConfig, WebhooksConfig};
