//! The one thread that writes. Work that arrives together is committed together.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{WriteFailure, find_regular};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::faults::{journal_fault, not_a_journal};
use super::schema::{self, MigrationError};

/// Capacity of the queue; beyond it senders wait.
const QUEUE: usize = 1024;

/// Maximum number of jobs per commit.
const GROUP: usize = 256;

type DbWork = Box<dyn FnOnce(&Connection) -> rusqlite::Result<()> + Send>;

struct WriteJob {
    work: DbWork,
    committed: Option<oneshot::Sender<Result<(), Fault>>>,
}

/// Handle to the writing thread, which ends once the handle is dropped and all work is done.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<WriteJob>>,
    thread: Option<JoinHandle<()>>,
    /// The first failure; afterwards nothing is accepted.
    broken: Arc<OnceLock<Fault>>,
}

impl Writer {
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let db = open_database(path)?;
        let (jobs, queue) = mpsc::channel(QUEUE);
        let broken = Arc::new(OnceLock::new());
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn({
                let (broken, path) = (Arc::clone(&broken), path.to_owned());
                move || write_all(db, queue, &broken, &path)
            })
            .map_err(|error| {
                Fault::permanent(
                    FaultLayer::System,
                    "thread",
                    format!("Cannot start the journal thread: {error}."),
                )
            })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), broken })
    }

    /// Returns the result of `work` once it is committed.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        let (value, result) = oneshot::channel();
        let (committed, done) = oneshot::channel();
        let work: DbWork = Box::new(move |db| {
            let _ = value.send(work(db)?);
            Ok(())
        });
        self.submit(WriteJob { work, committed: Some(committed) }).await?;
        done.await.map_err(|_| self.fault())??;
        result.await.map_err(|_| self.fault())
    }

    /// Queues work without waiting for it. Fails if earlier work failed.
    pub(super) async fn send(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), Fault> {
        self.submit(WriteJob { work: Box::new(work), committed: None }).await
    }

    async fn submit(&self, job: WriteJob) -> Result<(), Fault> {
        if let Some(fault) = self.broken.get() {
            return Err(fault.clone());
        }
        match &self.jobs {
            Some(jobs) => jobs.send(job).await.map_err(|_| self.fault()),
            None => Err(self.fault()),
        }
    }

    fn fault(&self) -> Fault {
        self.broken.get().cloned().unwrap_or_else(|| {
            Fault::permanent(FaultLayer::Store, "journal", "The journal has stopped writing.")
        })
    }
}

impl Drop for Writer {
    /// Waits until everything queued is on disk.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_all(db: Connection, mut queue: mpsc::Receiver<WriteJob>, broken: &OnceLock<Fault>, path: &Path) {
    let mut group = Vec::with_capacity(GROUP);
    while queue.blocking_recv_many(&mut group, GROUP) > 0 {
        let mut waiting = Vec::new();
        let result = match broken.get() {
            Some(fault) => Err(fault.clone()),
            None => commit(&db, group.drain(..), &mut waiting).map_err(|error| {
                let fault = journal_fault(path, &error);
                let _ = broken.set(fault.clone());
                fault
            }),
        };
        group.clear();
        for committed in waiting {
            let _ = committed.send(result.clone());
        }
    }
}

/// Runs a group of jobs in one transaction.
fn commit(
    db: &Connection,
    group: impl Iterator<Item = WriteJob>,
    waiting: &mut Vec<oneshot::Sender<Result<(), Fault>>>,
) -> rusqlite::Result<()> {
    // Immediate: another process may write too, and a transaction that has begun to read cannot wait for it.
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    let mut result = Ok(());
    for job in group {
        waiting.extend(job.committed);
        if result.is_ok() {
            result = (job.work)(&transaction);
        }
    }
    result.and_then(|()| transaction.commit())
}

fn open_database(path: &Path) -> Result<Connection, Fault> {
    let fault = |error: rusqlite::Error| journal_fault(path, &error);
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(|error| {
            let WriteFailure { why, advice } = WriteFailure::of(directory, &error);
            let message = format!("Cannot create the directory {}: {why}.", directory.display());
            Fault::permanent(FaultLayer::System, "journal", message).hint(advice)
        })?;
    }
    // SQLite would wait for a pipe.
    find_regular(path).map_err(|error| not_a_journal(path, &error))?;
    let mut db = Connection::open(path).map_err(fault)?;
    db.busy_timeout(std::time::Duration::from_secs(5)).map_err(fault)?;
    schema::migrate(&mut db).map_err(|unusable| match unusable {
        MigrationError::Broken(error) => fault(error),
        MigrationError::Newer(version) => newer(path.to_owned(), version),
    })?;
    // Only now: changing the mode changes the file, and a newer one must stay as it is.
    db.pragma_update(None, "journal_mode", "WAL").map_err(fault)?;
    db.pragma_update(None, "synchronous", "FULL").map_err(fault)?;
    Ok(db)
}

pub(super) fn newer(path: PathBuf, version: usize) -> Fault {
    Fault::permanent(
        FaultLayer::Config,
        "journal_version",
        format!("The journal {} was written by a newer autonoe (format {version}).", path.display()),
    )
    .hint("Update autonoe; nothing was changed.")
}
