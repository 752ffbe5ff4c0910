//! StatusStore: the one writer of `status.json`.
//!
//! A change is recorded in the journal with the resulting text, then the file is replaced, then the journal
//! is updated. If a kill interrupts this, the next start finishes it.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use autonoe_core::clock::Clock;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::plan::StatusReader;
use autonoe_core::redact::{Redactor, SecretValues};
use autonoe_core::status::{ChangeError, ProjectStatus, Refusal, StatusChange};
use autonoe_files::{DOCUMENT_LIMIT, ReadError, read_bytes, read_text};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tokio::sync::Mutex;

use crate::atomic;
use crate::crash::JournalPoint;
use crate::hash::sha256_hex;
use crate::journal::history::History;
use crate::journal::{RecordedStatus, STARTED_OVER, SqliteJournal};
use crate::project::Project;
use crate::status_file::{StatusFile, parse_status};

/// Room for growth of `status.json` that must be available, in bytes.
const HEADROOM: u64 = 16 * 1024;

/// Returns what it did, or why it was refused.
type ChangeFn<'a, T> =
    dyn FnOnce(&mut ProjectStatus, Date) -> Result<(T, Vec<StatusChange>), Refusal> + Send + 'a;

pub struct StatusStore {
    path: PathBuf,
    journal: Arc<SqliteJournal>,
    clock: Arc<dyn Clock>,
    writing: Mutex<()>,
    redactor: Redactor,
    secrets: SecretValues,
    /// Hears that the file was restored because it had vanished during the run; `None` if it is not restored then.
    on_restored: OnceLock<RestoreListener>,
}

/// Is shown the deliverables that were restored.
pub type RestoreListener = Box<dyn Fn(&ProjectStatus) + Send + Sync>;

impl StatusStore {
    /// Applies a change of the user's, as if the user had edited the file. The caller must hold the project lock.
    pub fn edit(
        project: &Project,
        today: Date,
        change: impl FnOnce(&mut ProjectStatus) -> Result<(), Refusal>,
    ) -> Result<(), ChangeError> {
        let path = project.status_file();
        let mut file = read_file(&path)?.map_or_else(|| StatusFile::empty(today), |(file, _)| file);
        change(&mut file.status)?;
        file.status.updated_at = today;
        atomic::write(&path, file.render().as_bytes()).map_err(|error| {
            atomic::write_fault("status_file", &path, &error, "Then try again; nothing was changed.")
        })?;
        Ok(())
    }

    /// Opens the store and finishes a write that a killed process had started.
    pub async fn open(
        project: &Project,
        journal: Arc<SqliteJournal>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Fault> {
        let store = Self::beside_another(project, journal, clock);
        store.finish_interrupted_write().await?;
        Ok(store)
    }

    /// Opens the store for reading while another process may write.
    pub fn beside_another(project: &Project, journal: Arc<SqliteJournal>, clock: Arc<dyn Clock>) -> Self {
        Self {
            path: project.status_file(),
            journal,
            clock,
            writing: Mutex::new(()),
            redactor: Redactor::default(),
            secrets: SecretValues::default(),
            on_restored: OnceLock::new(),
        }
    }

    /// From now on a file that vanishes, as after `git clean`, is restored from the journal before anyone notices.
    pub fn restore_vanished(&self, on_restored: RestoreListener) {
        // Ignored: there is a listener already.
        let _ = self.on_restored.set(on_restored);
    }

    /// Keeps none of these values in what agents say.
    #[must_use]
    pub fn redacting(self, secrets: &SecretValues) -> Self {
        Self { redactor: Redactor::default().sharing(secrets), secrets: secrets.clone(), ..self }
    }

    /// The values that are not kept.
    pub fn secrets(&self) -> &SecretValues {
        &self.secrets
    }

    /// Reads a project's deliverables without a writer; `None` if there is no file.
    pub fn read(project: &Project) -> Result<Option<ProjectStatus>, Fault> {
        read_status(&project.status_file())
    }

    /// The last recorded deliverables if `status.json` was deleted; `None` if it exists or nothing is
    /// recorded. A journal that has a record but no text is a fault.
    pub fn deleted(project: &Project) -> Result<Option<ProjectStatus>, Fault> {
        let path = project.status_file();
        if Self::read(project)?.is_some() {
            return Ok(None);
        }
        let recorded = match History::open(&project.journal_file())? {
            Some(history) => history.recorded_status()?,
            None => None,
        };
        match recorded {
            None => Ok(None),
            Some(RecordedStatus { text: Some(text), .. }) => {
                parse_status(&text, &path).map(Some)
            }
            Some(RecordedStatus { text: None, at, deliverables }) => Err(Fault::permanent(
                FaultLayer::Config,
                "status_file",
                format!(
                    "{} is missing. It was last written on {}, with {deliverables} deliverable(s), by a version of autonoe that kept no copy.",
                    path.display(),
                    at.split('T').next().unwrap_or_default()
                ),
            )
            .hint("Restore it from version control or a backup, or plan SPEC.md from scratch with `autonoe run --start-over`.")),
        }
    }

    /// Applies a change, all or nothing. A refusal leaves the file as it was.
    pub async fn change<T>(
        &self,
        change: Box<ChangeFn<'_, T>>,
    ) -> Result<(T, Vec<StatusChange>), ChangeError> {
        let _writing = self.writing.lock().await;
        let today = self.today();
        if self.on_restored.get().is_some() && read_status_text(&self.path)?.is_none() {
            self.restore_as_only_writer().await?.iter().for_each(|status| self.say_restored(status));
        }
        let (mut file, before) = match read_file(&self.path)? {
            Some((file, text)) => (file, sha256_hex(text.as_bytes())),
            None => (StatusFile::empty(today), String::new()),
        };
        let (value, mut changes) = change(&mut file.status, today)?;
        let reasons = file.status.deliverables.iter_mut().map(|item| &mut item.blocked_reason);
        for reason in reasons.chain(changes.iter_mut().map(|change| &mut change.reason)).flatten() {
            *reason = self.redactor.text(reason).into_owned();
        }
        file.status.updated_at = today;
        let after = file.render();
        let intent = self.journal.intend_status(&before, &after, &changes).await?;
        self.write(&after)?;
        self.journal.point(JournalPoint::StatusWritten);
        self.journal.status_applied(intent).await?;
        Ok((value, changes))
    }

    /// Applies the last recorded change if it did not happen and the file has not changed since.
    async fn finish_interrupted_write(&self) -> Result<(), Fault> {
        let Some(intent) = self.journal.pending_status().await? else {
            return Ok(());
        };
        let now = read_bytes(&self.path, DOCUMENT_LIMIT).map_err(|error| unreadable(&self.path, &error))?;
        let now = now.map(|bytes| sha256_hex(&bytes)).unwrap_or_default();
        match intent.after.as_str() {
            _ if now != intent.before => {}
            STARTED_OVER => self.remove()?,
            after => self.write(after)?,
        }
        self.journal.status_applied(intent.id).await
    }

    /// Ids of all deliverables that have ever passed, as the journal knows it.
    pub async fn ever_passed(&self) -> Result<HashSet<String>, Fault> {
        self.journal.ever_passed().await
    }

    /// Restores a deleted file from the journal. Returns what was restored.
    pub async fn restore(&self) -> Result<Option<ProjectStatus>, Fault> {
        let _writing = self.writing.lock().await;
        self.restore_as_only_writer().await
    }

    async fn restore_as_only_writer(&self) -> Result<Option<ProjectStatus>, Fault> {
        if read_status(&self.path)?.is_some() {
            return Ok(None);
        }
        let Some(text) = self.journal.recorded_status().await?.and_then(|recorded| recorded.text) else {
            return Ok(None);
        };
        let status = parse_status(&text, &self.path)?;
        let intent = self.journal.intend_status("", &text, &[]).await?;
        self.write(&text)?;
        self.journal.status_applied(intent).await?;
        Ok(Some(status))
    }

    fn say_restored(&self, status: &ProjectStatus) {
        if let Some(on_restored) = self.on_restored.get() {
            on_restored(status);
        }
    }

    /// Makes the next session plan from scratch. Backs up an existing file to `backup`; returns whether there
    /// was one.
    pub async fn start_over(&self, backup: &Path) -> Result<bool, Fault> {
        let _writing = self.writing.lock().await;
        let text = read_bytes(&self.path, DOCUMENT_LIMIT).map_err(|error| unreadable(&self.path, &error))?;
        if let Some(text) = &text {
            atomic::write(backup, text).map_err(|error| {
                atomic::write_fault("status_file", backup, &error, "Then start again; nothing was changed.")
            })?;
        }
        let before = text.as_ref().map(|text| sha256_hex(text)).unwrap_or_default();
        let intent = self.journal.intend_status(&before, STARTED_OVER, &[]).await?;
        self.remove()?;
        self.journal.status_applied(intent).await?;
        Ok(text.is_some())
    }

    /// Makes the next session plan from scratch although deliverables are recorded, since they are another
    /// project's. Writes them to `backup`; returns whether it did. Does nothing if there is a file.
    pub async fn put_aside(&self, backup: &Path) -> Result<bool, Fault> {
        let _writing = self.writing.lock().await;
        if read_status(&self.path)?.is_some() {
            return Ok(false);
        }
        let Some(recorded) = self.journal.recorded_status().await? else {
            return Ok(false);
        };
        if let Some(text) = &recorded.text {
            atomic::write(backup, text.as_bytes()).map_err(|error| {
                atomic::write_fault("status_file", backup, &error, "Then start again; nothing was changed.")
            })?;
        }
        let intent = self.journal.intend_status("", STARTED_OVER, &[]).await?;
        self.journal.status_applied(intent).await?;
        Ok(recorded.text.is_some())
    }

    fn remove(&self) -> Result<(), Fault> {
        atomic::remove(&self.path)
            .map_err(|error| atomic::write_fault("status_file", &self.path, &error, "Then start again."))
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
        let found = read_status(&self.path)?;
        if found.is_some() || self.on_restored.get().is_none() {
            return Ok(found);
        }
        match self.restore().await? {
            Some(restored) => {
                self.say_restored(&restored);
                Ok(Some(restored))
            }
            // Another reader has restored it, or there never was one.
            None => read_status(&self.path),
        }
    }

    async fn ensure_writable(&self) -> Result<(), Fault> {
        let size = fs::metadata(&self.path).map_or(0, |file| file.len());
        atomic::probe(&self.path, size.min(DOCUMENT_LIMIT).saturating_add(HEADROOM)).map_err(|error| {
            atomic::write_fault("status_file", &self.path, &error, "Then start again; nothing was changed.")
        })
    }
}

fn read_file(path: &Path) -> Result<Option<(StatusFile, String)>, Fault> {
    match read_status_text(path)? {
        Some(text) => StatusFile::parse(&text, path).map(|file| Some((file, text))),
        None => Ok(None),
    }
}

fn read_status(path: &Path) -> Result<Option<ProjectStatus>, Fault> {
    read_status_text(path)?.map(|text| parse_status(&text, path)).transpose()
}

fn read_status_text(path: &Path) -> Result<Option<String>, Fault> {
    read_text(path, DOCUMENT_LIMIT).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &ReadError) -> Fault {
    let message = format!("{} cannot be read: {error}.", path.display());
    Fault::permanent(FaultLayer::Config, "status_file", message)
        .hint(format!("{} Nothing was changed.", error.advice()))
}
