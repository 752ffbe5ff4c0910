//! The files by which others steer and watch a harness, below `.harness/ID/` of the project:
//!
//! ```text
//! inbox/*.txt       instructions for the next session; afterwards in inbox/processed/
//! pause             no session starts while it exists
//! stop              the harness ends: after this session, or now if it says `abort`
//! harness.log       what happened, a line each
//! alerts.log        alerts, a JSON object each
//! status.json       what it is doing
//! state.db          tasks and attempts, for other programs
//! ```
//!
//! Others can write here, so everything is opened below the directory, no link is followed, and every read is bounded.

mod inbox;
mod log;
mod status_file;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use autonoe_files::{ReadError, UntrustedDir, Visibility, WriteFailure, to_text};
use jiff::Timestamp;

use crate::id::{IdProblem, check_harness_id};
use crate::roadmap::values::quoted;

use inbox::INBOX;
pub use inbox::{InboxCommand, Instruction, MAX_INSTRUCTION, Priority};
pub use log::LogLevel;
pub use status_file::{BackendLoss, LoopStatus, LostBackend, StatusFile, TaskAttempt};

pub(crate) const ALERTS: &str = "alerts.log";
const HARNESS: &str = ".harness";
const PAUSE: &str = "pause";
const STOP: &str = "stop";

/// Content of `stop` for a harness that does not wait for its session.
const ABORT: &str = "abort";

/// Bytes of `stop` and `pause` that are read.
const MAX_STOP: u64 = 4 * 1024;

/// How a `pause` begins that a critical alert has made.
const PAUSED_BY_ALERT: &str = "Paused by the alert ";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HarnessFileError {
    #[error("'{id}' is not the id of a harness: {why}.")]
    Id { id: String, why: IdProblem },
    #[error("There is no harness '{id}' in {project}.")]
    Missing { id: String, project: String },
    #[error("{path} cannot be used: {why}.")]
    File { path: String, why: String },
    #[error("An instruction must not be empty.")]
    EmptyInstruction,
    #[error("An instruction may have at most {} KiB.", MAX_INSTRUCTION / 1024)]
    LongInstruction,
}

/// What somebody asks of the harness at the moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HarnessRequests {
    /// The most urgent first.
    pub instructions: Vec<Instruction>,
    pub is_paused: bool,
    pub stop: Option<HarnessStop>,
    /// A command file asked for the status.
    pub wants_status: bool,
    /// Sentences about files that were not used.
    pub refused: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HarnessStop {
    AfterSession,
    Now,
}

/// The directory of one harness.
#[derive(Debug)]
pub struct HarnessDirectory {
    id: String,
    path: PathBuf,
    directory: UntrustedDir,
}

impl HarnessDirectory {
    /// For the harness itself: creates what is missing.
    pub fn create(project: &Path, id: &str) -> Result<Self, HarnessFileError> {
        let path = path_of(project, id)?;
        let root = UntrustedDir::open(project).map_err(|error| not_used(project, &error))?;
        let created = root.create_missing(Path::new(HARNESS), Visibility::OwnerOnly).and_then(|all| {
            all.remove_leftovers();
            // So that no repository takes these files for its own.
            all.write_missing(OsStr::new(".gitignore"), b"*\n")?;
            all.create_missing(Path::new(id), Visibility::OwnerOnly)
        });
        let directory = created.map_err(|error| not_used(&path, &error))?;
        Ok(Self { id: id.to_owned(), path, directory })
    }

    /// For others: the harness must have been started once.
    pub fn open(project: &Path, id: &str) -> Result<Self, HarnessFileError> {
        let path = path_of(project, id)?;
        let root = UntrustedDir::open(project).map_err(|error| not_used(project, &error))?;
        match root.existing(&Path::new(HARNESS).join(id)) {
            Ok(directory) => Ok(Self { id: id.to_owned(), path, directory }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(HarnessFileError::Missing { id: id.to_owned(), project: project.display().to_string() })
            }
            Err(error) => Err(not_used(&path, &error)),
        }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn state_db(&self) -> PathBuf {
        self.path.join("state.db")
    }

    /// Forgets a `stop` that was meant for an earlier start, and removes what killed processes have left. Returns sentences for people.
    pub fn begin(&self) -> Result<Vec<String>, HarnessFileError> {
        self.directory.remove_leftovers();
        if let Ok(inbox) = self.directory.existing(Path::new(INBOX)) {
            inbox.remove_leftovers();
        }
        let mut said = Vec::new();
        if self.directory.has(OsStr::new(STOP)) {
            self.remove(STOP)?;
            said.push(format!("{} was there before the start; it was removed.", self.name(STOP)));
        }
        if self.is_paused() {
            said.push(format!(
                "{} exists, so the harness is paused; `autonoe resume`, or removing it, continues the run.",
                self.name(PAUSE)
            ));
        }
        Ok(said)
    }

    /// What is asked for now. A `stop` is consumed, instructions stay until they are settled.
    pub fn requests(&self) -> Result<HarnessRequests, HarnessFileError> {
        let mut requests = HarnessRequests { stop: self.take_stop()?, ..HarnessRequests::default() };
        // A stop that was consumed counts even if the inbox cannot be used.
        let commands = self.read_inbox(&mut requests).unwrap_or_else(|error| {
            requests.refused.push(error.to_string());
            Vec::new()
        });
        for command in commands {
            match command {
                InboxCommand::Pause => self.request_pause()?,
                InboxCommand::Resume => self.resume()?,
                InboxCommand::Status => requests.wants_status = true,
            }
        }
        requests.is_paused = self.is_paused();
        Ok(requests)
    }

    /// Any file of that name is a request; it is the one thing that must not be misunderstood.
    fn take_stop(&self) -> Result<Option<HarnessStop>, HarnessFileError> {
        if !self.directory.has(OsStr::new(STOP)) {
            return Ok(None);
        }
        let content = self.directory.read(OsStr::new(STOP), MAX_STOP).ok().flatten().unwrap_or_default();
        self.remove(STOP)?;
        match String::from_utf8_lossy(&content).trim().eq_ignore_ascii_case(ABORT) {
            true => Ok(Some(HarnessStop::Now)),
            false => Ok(Some(HarnessStop::AfterSession)),
        }
    }

    pub fn is_paused(&self) -> bool {
        self.directory.has(OsStr::new(PAUSE))
    }

    pub fn request_pause(&self) -> Result<(), HarnessFileError> {
        self.write(PAUSE, b"")
    }

    pub fn resume(&self) -> Result<(), HarnessFileError> {
        self.remove(PAUSE)
    }

    pub fn pause_file(&self) -> PathBuf {
        self.path.join(PAUSE)
    }

    /// A pause of somebody else stays as it is.
    pub(crate) fn pause_for_alert(&self, alert: &str) -> Result<(), HarnessFileError> {
        if self.is_paused() {
            return Ok(());
        }
        let content = format!(
            "{PAUSED_BY_ALERT}{alert}. `autonoe resume`, or removing this file, continues the run.\n"
        );
        self.write(PAUSE, content.as_bytes())
    }

    /// The run has ended, so nobody has to look before it continues.
    pub(crate) fn end_pause_of_alert(&self) -> Result<(), HarnessFileError> {
        let content = self.directory.read(OsStr::new(PAUSE), MAX_STOP).ok().flatten().unwrap_or_default();
        match content.starts_with(PAUSED_BY_ALERT.as_bytes()) {
            true => self.remove(PAUSE),
            false => Ok(()),
        }
    }

    pub fn request_stop(&self, stop: HarnessStop) -> Result<(), HarnessFileError> {
        match stop {
            HarnessStop::AfterSession => self.write(STOP, b"stop\n"),
            HarnessStop::Now => self.write(STOP, b"abort\n"),
        }
    }

    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<(), HarnessFileError> {
        let written = self.directory.replace(OsStr::new(name), content, Visibility::OwnerOnly);
        written.map_err(|error| self.not_written(name, &error))
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), HarnessFileError> {
        self.directory.remove(OsStr::new(name)).map_err(|error| self.not_written(name, &error))
    }

    /// Puts a file out of the way, under another name.
    pub(crate) fn set_aside(&self, name: &str, new_name: &str) -> Result<(), HarnessFileError> {
        let moved = self.directory.move_to(OsStr::new(name), &self.directory, OsStr::new(new_name));
        match moved {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.not_written(name, &error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Adds a line to a file. One that a killed process left unfinished is ended first.
    pub(crate) fn append(&self, name: &str, line: &str) -> Result<(), HarnessFileError> {
        let opened = self.directory.open_to_append(OsStr::new(name), Visibility::OwnerOnly);
        let mut file = opened.map_err(|error| self.not_read(name, &error))?;
        let ended = if ends_with_line(&mut file) { "" } else { "\n" };
        let written = file.write_all(format!("{ended}{line}\n").as_bytes());
        written.map_err(|error| self.not_written(name, &error))
    }

    /// The whole lines within the last `limit` bytes of a file; none if it does not exist.
    pub(crate) fn last_lines(&self, name: &str, limit: u64) -> Result<Vec<String>, HarnessFileError> {
        let opened =
            self.directory.open_file(OsStr::new(name)).map_err(|error| self.not_read(name, &error))?;
        let Some(file) = opened else {
            return Ok(Vec::new());
        };
        let (bytes, is_cut) = read_end(file, limit).map_err(|error| self.not_written(name, &error))?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.lines().skip(usize::from(is_cut)).map(str::to_owned).collect())
    }

    pub(crate) fn read_text(&self, name: &str, limit: u64) -> Result<Option<String>, HarnessFileError> {
        let read =
            self.directory.read(OsStr::new(name), limit).and_then(|bytes| bytes.map(to_text).transpose());
        read.map_err(|error| self.not_read(name, &error))
    }

    pub(crate) fn size_of(&self, name: &str) -> u64 {
        let file = self.directory.open_file(OsStr::new(name)).ok().flatten();
        file.and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len())
    }

    /// For messages.
    fn name(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    fn not_read(&self, name: &str, error: &ReadError) -> HarnessFileError {
        HarnessFileError::File { path: self.name(name), why: error.to_string() }
    }

    fn not_written(&self, name: &str, error: &io::Error) -> HarnessFileError {
        not_used(&self.path.join(name), error)
    }
}

/// `20260102_030405`.
fn compact_time(now: Timestamp) -> String {
    now.strftime("%Y%m%d_%H%M%S").to_string()
}

fn path_of(project: &Path, id: &str) -> Result<PathBuf, HarnessFileError> {
    match check_harness_id(id) {
        Ok(()) => Ok(project.join(HARNESS).join(id)),
        Err(why) => Err(HarnessFileError::Id { id: quoted(id), why }),
    }
}

fn not_used(path: &Path, error: &io::Error) -> HarnessFileError {
    let why = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => {
            "a part of its path is a symbolic link or a file, not a directory".to_owned()
        }
        Some(_) | None => WriteFailure::of(path, error).why,
    };
    HarnessFileError::File { path: path.display().to_string(), why }
}

fn ends_with_line(file: &mut File) -> bool {
    let mut last = [b'\n'];
    match file.seek(SeekFrom::End(-1)) {
        // An empty file.
        Err(_) => true,
        Ok(_) => file.read_exact(&mut last).is_ok() && last == [b'\n'],
    }
}

/// The last bytes of a file, and whether something came before them.
fn read_end(mut file: File, limit: u64) -> io::Result<(Vec<u8>, bool)> {
    let start = file.metadata()?.len().saturating_sub(limit);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok((bytes, start > 0))
}

#[cfg(test)]
mod tests;
