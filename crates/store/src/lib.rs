//! Autonoe's state on disk. No other crate opens a state file.
//!
//! `status.json` has one writer, [`StatusStore`]; everything that happens is recorded in one
//! [`SqliteJournal`]; a project has one [`ProjectLock`]. [`Project`] knows where the files are.

mod agent_lock;
mod agents_at_work;
mod atomic;
mod byte_size;
mod check_registry;
pub mod config;
mod control_directory;
mod crash;
mod directory_lock;
mod evidence_file;
mod hash;
mod instructions;
pub mod journal;
mod lock;
mod lock_holder;
mod login_files;
mod outbox;
mod project;
mod protected_path;
pub mod status_file;
mod status_store;
mod trust;
pub mod user_config;

pub use agent_lock::AgentLock;
pub use agents_at_work::{AgentRecord, Others};
pub use byte_size::{ByteSize, ByteSizeError};
pub use check_registry::{
    AcceptError, AcceptedFile, CheckAssignment, CheckBaseline, CheckChange, CheckChangeKind, CheckLooks,
    CheckRegistry, CheckState, CurrentFile, Dispute, FailedLook, InPlaceFiles, MAX_FILE_BYTES,
};
pub use control_directory::{ControlDirectory, ControlRequests, MAX_MESSAGE, StopRequest};
pub use crash::{CrashPoint, CrashPointError, JournalPoint};
pub use directory_lock::ProjectUse;
pub use evidence_file::{StoredEvidence, evidence_file, read_evidence, write_evidence};
pub use hash::sha256_hex;
pub use instructions::ProjectInstructions;
pub use journal::SqliteJournal;
pub use lock::{LockStatus, ProjectLock};
pub use lock_holder::LockHolder;
pub use login_files::{LoginFiles, LoginLock};
pub use outbox::{DeliveryKey, DeliveryRow, DeliveryState, Outbox, OutboxLock, PendingDelivery};
pub use project::{Project, check_path};
pub use protected_path::ProtectedPath;
pub use status_store::StatusStore;
pub use trust::Widening;
pub use user_config::{AcpAgentConfig, UserConfig, WebhooksConfig};
