//! The inbox: instructions by priority and order, and what becomes of them.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use autonoe_files::{UntrustedDir, Visibility, to_text};
use jiff::Timestamp;

use super::{HarnessDirectory, HarnessFileError, HarnessRequests, compact_time};

/// Maximum size of an instruction, in bytes.
pub const MAX_INSTRUCTION: u64 = 64 * 1024;

/// Maximum length of a file's name, in bytes: the time is put before it when it goes to `processed/`.
const MAX_NAME: usize = 200;

/// Files of an inbox that are looked at together.
const MAX_FILES: usize = 1000;

pub(super) const INBOX: &str = "inbox";
const PROCESSED: &str = "processed";
const REFUSED: &str = "refused";

/// The more urgent ones come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    Urgent,
    High,
    #[default]
    Normal,
    Low,
}

impl Priority {
    /// As others count it.
    pub fn number(self) -> u8 {
        match self {
            Self::Urgent => 0,
            Self::High => 1,
            Self::Normal => 5,
            Self::Low => 9,
        }
    }

    /// From the name of a file: a number of three digits at its beginning, or a word.
    pub fn of_name(name: &str) -> Self {
        let name = name.to_lowercase();
        let number = name.get(..3).filter(|start| start.bytes().all(|byte| byte.is_ascii_digit()));
        match number.and_then(|digits| digits.parse().ok()) {
            Some(0) => return Self::Urgent,
            Some(1..=4) => return Self::High,
            Some(900..=999) => return Self::Low,
            Some(_) | None => {}
        }
        if name.starts_with("zzz") || name.starts_with("low") {
            Self::Low
        } else if name.contains("urgent") {
            Self::Urgent
        } else if name.contains("high") {
            Self::High
        } else {
            Self::Normal
        }
    }

    /// The beginning of a file name that is read as this priority.
    fn prefix(self) -> &'static str {
        match self {
            Self::Urgent => "000-",
            Self::High => "001-",
            Self::Normal => "",
            Self::Low => "900-",
        }
    }
}

/// A text for the next session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Of its file.
    pub name: String,
    pub priority: Priority,
    pub text: String,
}

impl Instruction {
    /// As a prompt shows it.
    pub fn prompt(&self) -> String {
        match self.priority {
            Priority::Urgent => format!("[URGENT] {}", self.text),
            Priority::High => format!("[HIGH] {}", self.text),
            Priority::Normal | Priority::Low => self.text.clone(),
        }
    }
}

/// What a file `cmd-*.txt` can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxCommand {
    Pause,
    Resume,
    Status,
}

impl InboxCommand {
    fn of(text: &str) -> Option<Self> {
        match text.to_lowercase().as_str() {
            "pause" => Some(Self::Pause),
            "resume" => Some(Self::Resume),
            "status" => Some(Self::Status),
            _ => None,
        }
    }
}

impl HarnessDirectory {
    /// Leaves an instruction. Returns the name of its file.
    pub fn send(&self, text: &str, priority: Priority, now: Timestamp) -> Result<String, HarnessFileError> {
        if text.trim().is_empty() {
            return Err(HarnessFileError::EmptyInstruction);
        }
        if text.len() as u64 > MAX_INSTRUCTION {
            return Err(HarnessFileError::LongInstruction);
        }
        let inbox = self.inbox()?;
        let micros = i64::from(now.subsec_nanosecond()) / 1000;
        let name = |number: i64| {
            format!("{}{}_{:06}.txt", priority.prefix(), compact_time(now), (micros + number) % 1_000_000)
        };
        // Another one may have been sent in the same microsecond.
        let free =
            (0..1_000_000).map(name).find(|name| !inbox.has(OsStr::new(name))).unwrap_or_else(|| name(0));
        let written = inbox.replace(OsStr::new(&free), text.as_bytes(), Visibility::OwnerOnly);
        written.map_err(|error| self.not_written(INBOX, &error))?;
        Ok(free)
    }

    /// Leaves an instruction in a file of this name. One of that name that is there, or that a session has read, is left as it is.
    pub fn send_once(&self, name: &str, text: &str) -> Result<(), HarnessFileError> {
        if text.len() as u64 > MAX_INSTRUCTION {
            return Err(HarnessFileError::LongInstruction);
        }
        let inbox = self.inbox()?;
        let processed = inbox.create_missing(Path::new(PROCESSED), Visibility::OwnerOnly);
        let processed = processed.map_err(|error| self.not_written(INBOX, &error))?;
        let read = processed.names(MAX_FILES).map_err(|error| self.not_written(INBOX, &error))?;
        let was_read = read.iter().any(|file| file.to_string_lossy().ends_with(&format!("_{name}")));
        if was_read || inbox.has(OsStr::new(name)) {
            return Ok(());
        }
        let written = inbox.replace(OsStr::new(name), text.as_bytes(), Visibility::OwnerOnly);
        written.map_err(|error| self.not_written(INBOX, &error))
    }

    /// A session has read the instruction of this name: its file goes to `processed/`.
    pub fn settle(&self, name: &str, now: Timestamp) -> Result<(), HarnessFileError> {
        let new_name = format!("{}_{name}", compact_time(now));
        self.put_away(&self.inbox()?, OsStr::new(name), PROCESSED, OsStr::new(&new_name))
    }

    /// Adds the instructions to the requests. Commands are put away and returned; what cannot be read goes to `refused/`.
    pub(super) fn read_inbox(
        &self,
        requests: &mut HarnessRequests,
    ) -> Result<Vec<InboxCommand>, HarnessFileError> {
        let inbox = self.inbox()?;
        let mut names = inbox.names(MAX_FILES).map_err(|error| self.not_written(INBOX, &error))?;
        names.retain(|name| name.as_encoded_bytes().ends_with(b".txt"));
        if !names.is_empty() {
            // What could not be put away would be read by every session.
            let processed = inbox.create_missing(Path::new(PROCESSED), Visibility::OwnerOnly);
            processed.map_err(|error| self.not_written(&format!("{INBOX}/{PROCESSED}"), &error))?;
        }
        let mut commands = Vec::new();
        for name in &names {
            let shown = name.to_string_lossy().into_owned();
            match read(&inbox, name) {
                // Somebody may still be writing it.
                Ok(text) if text.is_empty() => {}
                Ok(text) => match InboxCommand::of(&text).filter(|_| shown.starts_with("cmd-")) {
                    Some(command) => {
                        self.put_away(&inbox, name, PROCESSED, name)?;
                        commands.push(command);
                    }
                    None => {
                        let priority = Priority::of_name(&shown);
                        requests.instructions.push(Instruction { name: shown, priority, text });
                    }
                },
                Err(why) => {
                    self.put_away(&inbox, name, REFUSED, name)?;
                    let file = self.name(&format!("{INBOX}/{shown}"));
                    requests
                        .refused
                        .push(format!("{file} is not used: {why}. It was moved to {INBOX}/{REFUSED}/."));
                }
            }
        }
        requests
            .instructions
            .sort_by(|one, other| (one.priority, &one.name).cmp(&(other.priority, &other.name)));
        Ok(commands)
    }

    fn inbox(&self) -> Result<UntrustedDir, HarnessFileError> {
        let inbox = self.directory.create_missing(Path::new(INBOX), Visibility::OwnerOnly);
        inbox.map_err(|error| self.not_written(INBOX, &error))
    }

    fn put_away(
        &self,
        inbox: &UntrustedDir,
        name: &OsStr,
        directory: &str,
        new_name: &OsStr,
    ) -> Result<(), HarnessFileError> {
        let moved = inbox
            .create_missing(Path::new(directory), Visibility::OwnerOnly)
            .and_then(|target| inbox.move_to(name, &target, new_name));
        match moved {
            // It was put away before, by a process that was killed then.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            moved => moved.map_err(|error| self.not_written(&format!("{INBOX}/{directory}"), &error)),
        }
    }
}

/// The text, or why it is not used.
fn read(inbox: &UntrustedDir, name: &OsStr) -> Result<String, String> {
    if name.to_str().is_none() {
        return Err("its name is not UTF-8".to_owned());
    }
    if name.len() > MAX_NAME {
        return Err(format!("its name has more than {MAX_NAME} bytes"));
    }
    let read = inbox.read(name, MAX_INSTRUCTION).and_then(|bytes| bytes.map(to_text).transpose());
    match read {
        Ok(text) => Ok(text.unwrap_or_default().trim().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
