//! The control directory of a project: how another process of the same user steers a run.
//!
//! ```text
//! control/inbox/ID     a message for the agent
//! control/pause        no session starts while it exists
//! control/stop         the run ends: after the current session, or now
//! ```

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;
use autonoe_core::steering::UserMessage;
use autonoe_files::{ReadError, read_text};
use jiff::Timestamp;

use crate::atomic;
use crate::project::{Project, create_private};

/// Maximum size of a message, in bytes.
pub const MAX_MESSAGE: u64 = 64 * 1024;

/// Messages that are read at once.
const MAX_MESSAGES: usize = 100;

/// Content of `stop` for a run that does not wait for its session.
const NOW: &str = "now";

pub struct ControlDirectory {
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRequest {
    AfterSession,
    Now,
}

/// What the user asks for at the moment.
#[derive(Debug, Default)]
pub struct ControlRequests {
    /// In the order in which they were sent.
    pub messages: Vec<UserMessage>,
    pub is_paused: bool,
    pub stop: Option<StopRequest>,
    /// Files that are not used, with the reason.
    pub ignored: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("{path} is ignored: {why}.", path = .path.display())]
struct IgnoredFile {
    path: PathBuf,
    why: String,
}

impl ControlDirectory {
    pub fn of(project: &Project) -> Self {
        Self { path: project.state_dir().join("control") }
    }

    /// Leaves a message for the running session, or for the next one. Returns its id.
    pub fn tell(&self, text: &str) -> Result<String, Fault> {
        let id = format!("{:020}-{}", Timestamp::now().as_nanosecond(), std::process::id());
        self.write(&Path::new("inbox").join(&id), text)?;
        Ok(id)
    }

    pub fn set_paused(&self, is_paused: bool) -> Result<(), Fault> {
        match is_paused {
            true => self.write(Path::new("pause"), ""),
            false => self.remove("pause").map_err(|error| self.fault(&error)),
        }
    }

    pub fn request_stop(&self, stop: StopRequest) -> Result<(), Fault> {
        self.write(Path::new("stop"), if stop == StopRequest::Now { NOW } else { "" })
    }

    pub fn is_paused(&self) -> bool {
        self.content("pause").is_ok_and(|content| content.is_some())
    }

    /// A run begins: forgets a pause and a stop that were meant for an earlier one. Returns what was there. Messages stay.
    pub fn begin(&self) -> Vec<&'static str> {
        self.forget(&["pause", "stop"])
    }

    /// A run whose process was killed begins again: what paused it still does, but that process has stopped.
    pub fn begin_again(&self) -> Vec<&'static str> {
        self.forget(&["stop"])
    }

    fn forget(&self, requests: &[&'static str]) -> Vec<&'static str> {
        let mut left = requests.to_vec();
        left.retain(|name| self.path.join(name).symlink_metadata().is_ok() && self.remove(name).is_ok());
        left
    }

    pub fn read(&self) -> ControlRequests {
        let mut requests = ControlRequests::default();
        let mut names: Vec<String> = fs::read_dir(self.path.join("inbox"))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        for id in names.into_iter().take(MAX_MESSAGES) {
            match self.content(&format!("inbox/{id}")) {
                Ok(Some(text)) => requests.messages.push(UserMessage { id, text }),
                Ok(None) => {}
                Err(ignored) => requests.ignored.push(ignored.to_string()),
            }
        }
        match self.content("pause") {
            Ok(found) => requests.is_paused = found.is_some(),
            Err(ignored) => requests.ignored.push(ignored.to_string()),
        }
        match self.content("stop") {
            Ok(Some(how)) if how.trim() == NOW => requests.stop = Some(StopRequest::Now),
            Ok(Some(_)) => requests.stop = Some(StopRequest::AfterSession),
            Ok(None) => {}
            Err(ignored) => requests.ignored.push(ignored.to_string()),
        }
        requests
    }

    /// A session has read this message.
    pub fn remove_message(&self, id: &str) -> io::Result<()> {
        self.remove(&format!("inbox/{id}"))
    }

    /// `None` if the file does not exist.
    fn content(&self, name: &str) -> Result<Option<String>, IgnoredFile> {
        let path = self.path.join(name);
        let ignored = |why: &dyn std::fmt::Display| IgnoredFile { path: path.clone(), why: why.to_string() };
        let Ok(metadata) = path.symlink_metadata() else {
            return Ok(None);
        };
        if metadata.is_symlink() {
            return Err(ignored(&"it is a symbolic link"));
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(ignored(&"it belongs to another user"));
        }
        read_text(&path, MAX_MESSAGE).map_err(|error: ReadError| ignored(&error))
    }

    fn write(&self, name: &Path, content: &str) -> Result<(), Fault> {
        let path = self.path.join(name);
        let written =
            create_private(&self.path).and_then(|()| atomic::write_private(&path, content.as_bytes()));
        written.map_err(|error| self.fault(&error))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        atomic::remove(&self.path.join(name))
    }

    fn fault(&self, error: &io::Error) -> Fault {
        atomic::write_fault("control", &self.path, error, "")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{ControlDirectory, MAX_MESSAGE, StopRequest};
    use crate::project::Project;

    fn directory(state: &std::path::Path) -> ControlDirectory {
        let project = Project::open(&std::env::temp_dir(), state).expect("project");
        ControlDirectory::of(&project)
    }

    #[test]
    fn requests_are_read_in_order_until_they_are_removed() {
        let state = tempfile::tempdir().expect("state");
        let control = directory(state.path());
        assert!(control.read().messages.is_empty(), "no directory yet");
        let first = control.tell("use sqlite").expect("told");
        control.tell("not files").expect("told");
        control.set_paused(true).expect("paused");
        control.request_stop(StopRequest::Now).expect("stop");
        let requests = control.read();
        let texts: Vec<&str> = requests.messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(texts, ["use sqlite", "not files"]);
        assert_eq!((requests.is_paused, requests.stop), (true, Some(StopRequest::Now)));
        assert_eq!(control.begin_again(), ["stop"]);
        assert!(control.is_paused(), "a kill does not end a pause");
        control.request_stop(StopRequest::Now).expect("stop");
        assert_eq!(requests.ignored, Vec::<String>::new());
        control.remove_message(&first).expect("removed");
        assert_eq!(control.begin(), ["pause", "stop"]);
        let requests = control.read();
        assert_eq!((requests.messages.len(), requests.is_paused, requests.stop), (1, false, None));
    }

    #[test]
    fn links_and_large_files_are_ignored_and_named() {
        let state = tempfile::tempdir().expect("state");
        let control = directory(state.path());
        control.tell("x").expect("told");
        let inbox = control.path.join("inbox");
        symlink("/etc/passwd", inbox.join("link")).expect("link");
        fs::write(inbox.join("large"), "x".repeat(MAX_MESSAGE as usize + 1)).expect("large");
        symlink("/dev/null", control.path.join("stop")).expect("link");
        let requests = control.read();
        assert_eq!((requests.messages.len(), requests.stop), (1, None));
        assert_eq!(requests.ignored.len(), 3, "{:?}", requests.ignored);
    }
}
