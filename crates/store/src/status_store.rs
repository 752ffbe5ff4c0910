//! StatusStore: the one writer of `status.json`.
//!
//! A change is journaled with the text it will lead to, then the file is replaced, then the journal is
//! told. Whatever of this a kill cuts off is finished at the next start.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::clock::Clock;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::plan::StatusReader;
use autonoe_core::status::{ProjectStatus, Refusal, StatusChange};
use autonoe_files::{DOCUMENT_LIMIT, ReadError, read_bytes, read_text};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tokio::sync::Mutex;

use crate::atomic;
use crate::crash::JournalPoint;
use crate::hash::sha256_hex;
use crate::journal::Journal;
use crate::project::Project;
use crate::status_file::StatusFile;

/// How much larger than today `status.json` must be able to become, in bytes.
const HEADROOM: u64 = 16 * 1024;

/// A change to the deliverables: what it did, or why it was refused.
type Change<'a, T> =
    dyn FnOnce(&mut ProjectStatus, Date) -> Result<(T, Vec<StatusChange>), Refusal> + Send + 'a;

/// Reads and writes the deliverables of one project.
pub struct StatusStore {
    path: PathBuf,
    journal: Arc<Journal>,
    clock: Arc<dyn Clock>,
    writing: Mutex<()>,
}

impl StatusStore {
    /// Opens the store and finishes what a killed process had begun.
    pub async fn open(
        project: &Project,
        journal: Arc<Journal>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Fault> {
        let store = Self { path: project.status_file(), journal, clock, writing: Mutex::new(()) };
        store.finish_interrupted_write().await?;
        Ok(store)
    }

    /// Reads a project's deliverables without a writer; none when there is no file.
    pub fn read(project: &Project) -> Result<Option<ProjectStatus>, Fault> {
        Ok(read_file(&project.status_file())?.map(|(file, _)| file.status))
    }

    /// Applies a change, all or nothing. A refusal leaves the file as it was.
    pub async fn change<T>(
        &self,
        change: Box<Change<'_, T>>,
    ) -> Result<Result<(T, Vec<StatusChange>), Refusal>, Fault> {
        let _writing = self.writing.lock().await;
        let today = self.today();
        let (mut file, before) = match read_file(&self.path)? {
            Some((file, text)) => (file, sha256_hex(text.as_bytes())),
            None => (StatusFile::empty(today), String::new()),
        };
        let (value, changes) = match change(&mut file.status, today) {
            Ok(changed) => changed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        file.status.updated_at = today;
        let after = file.render();
        let intent = self.journal.intend_status(&before, &after, &changes).await?;
        self.write(&after)?;
        self.journal.point(JournalPoint::StatusWritten);
        self.journal.status_applied(intent).await?;
        Ok(Ok((value, changes)))
    }

    /// If the last intended write did not happen and nobody changed the file since, it happens now.
    async fn finish_interrupted_write(&self) -> Result<(), Fault> {
        let Some(intent) = self.journal.pending_status().await? else {
            return Ok(());
        };
        let now = read_bytes(&self.path, DOCUMENT_LIMIT).map_err(|error| unreadable(&self.path, &error))?;
        let now = now.map(|bytes| sha256_hex(&bytes)).unwrap_or_default();
        if now == intent.before {
            self.write(&intent.after)?;
        }
        self.journal.status_applied(intent.id).await
    }

    fn write(&self, text: &str) -> Result<(), Fault> {
        atomic::write(&self.path, text.as_bytes()).map_err(|error| {
            let then = "Then start again; the change is kept in the journal.";
            atomic::write_fault("status_file", &self.path, &error, then)
        })
    }

    fn today(&self) -> Date {
        self.clock.now().to_zoned(TimeZone::UTC).date()
    }
}

#[async_trait]
impl StatusReader for StatusStore {
    async fn load(&self) -> Result<Option<ProjectStatus>, Fault> {
        Ok(read_file(&self.path)?.map(|(file, _)| file.status))
    }

    async fn ensure_writable(&self) -> Result<(), Fault> {
        let size = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        atomic::probe(&self.path, size.min(DOCUMENT_LIMIT).saturating_add(HEADROOM)).map_err(|error| {
            atomic::write_fault("status_file", &self.path, &error, "Then start again; nothing was changed.")
        })
    }
}

fn read_file(path: &Path) -> Result<Option<(StatusFile, String)>, Fault> {
    match read_text(path, DOCUMENT_LIMIT).map_err(|error| unreadable(path, &error))? {
        Some(text) => StatusFile::parse(&text, path).map(|file| Some((file, text))),
        None => Ok(None),
    }
}

fn unreadable(path: &Path, error: &ReadError) -> Fault {
    let message = format!("{} cannot be read: {error}.", path.display());
    Fault::lasting(Layer::Config, "status_file", message)
        .hint(format!("{} Nothing was changed.", error.advice()))
}
