//! The roadmap as a file of the user's: its edits while it runs, and the boxes of completed tasks.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use autonoe_core::event::{Event, RunEvent};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;
use autonoe_files::{ReadError, WriteFailure, read_bytes_beneath, replace_beneath, to_text};

use crate::roadmap::{AcceptedProposals, MAX_ROADMAP, Roadmap, RoadmapError, add_accepted, set_done};

/// Also a sink: what changes the file when commits land is not the user's edit.
pub struct RoadmapFile {
    project: PathBuf,
    /// Below the project.
    name: PathBuf,
    /// Names that `cli` may have.
    backends: Vec<String>,
    known: Mutex<KnownText>,
}

struct KnownText {
    text: String,
    has_landed: bool,
}

/// What has happened to the file since it was last looked at.
#[derive(Debug)]
pub(super) enum RoadmapChange {
    None,
    Edited(Box<Roadmap>),
    /// As a sentence.
    Unusable(String),
    /// Commits of the agents have changed it.
    Landed,
}

impl RoadmapFile {
    /// `name` is relative to the project.
    pub fn open(project: &Path, name: &Path, backends: &[&str]) -> Result<(Self, Roadmap), Fault> {
        let text = read(project, name).map_err(|error| {
            let message = format!("{} cannot be read: {error}.", name.display());
            Fault::permanent(FaultLayer::Config, "roadmap", message).hint(error.advice())
        })?;
        let roadmap = Roadmap::parse(&text, backends).map_err(|error| invalid(name, &error))?;
        let known = Mutex::new(KnownText { text, has_landed: false });
        let backends = backends.iter().map(|name| (*name).to_owned()).collect();
        Ok((Self { project: project.to_owned(), name: name.to_owned(), backends, known }, roadmap))
    }

    pub fn name(&self) -> &Path {
        &self.name
    }

    pub(super) fn change(&self) -> RoadmapChange {
        let mut known = self.known();
        if std::mem::take(&mut known.has_landed) {
            return RoadmapChange::Landed;
        }
        let name = self.name.display();
        let text = match read(&self.project, &self.name) {
            Ok(text) if text == known.text => return RoadmapChange::None,
            Ok(text) => text,
            Err(error) => {
                return RoadmapChange::Unusable(format!("{name} cannot be read any more: {error}."));
            }
        };
        known.text.clone_from(&text);
        let backends: Vec<&str> = self.backends.iter().map(String::as_str).collect();
        match Roadmap::parse(&text, &backends) {
            Ok(roadmap) => RoadmapChange::Edited(Box::new(roadmap)),
            Err(error) => RoadmapChange::Unusable(format!("{name} was changed and has problems: {error}.")),
        }
    }

    /// Checks or unchecks boxes. A task that is not in the file any more has none.
    pub(super) fn set_boxes<'a>(&self, boxes: impl Iterator<Item = (&'a str, bool)>) -> Result<(), Fault> {
        let mut known = self.known();
        let before = self.read()?;
        let mut text = before.clone();
        for (id, is_done) in boxes {
            text = set_done(&text, id, is_done).unwrap_or(text);
        }
        self.replace(&before, &text)?;
        // An edit that nobody has looked at yet stays one.
        if known.text == before {
            known.text = text;
        }
        Ok(())
    }

    /// Adds tasks, which are then an edit like any other. Tasks that are there already are not added again.
    pub(super) fn add_tasks(&self, accepted: &AcceptedProposals) -> Result<(), Fault> {
        let before = self.read()?;
        let backends: Vec<&str> = self.backends.iter().map(String::as_str).collect();
        let text =
            add_accepted(&before, accepted, &backends).map_err(|error| self.failed(&error.to_string()))?;
        self.replace(&before, &text)
    }

    fn read(&self) -> Result<String, Fault> {
        read(&self.project, &self.name).map_err(|error| self.failed(&error.to_string()))
    }

    fn replace(&self, before: &str, text: &str) -> Result<(), Fault> {
        if text == before {
            return Ok(());
        }
        let written = replace_beneath(&self.project, &self.name, text.as_bytes());
        written.map_err(|error| self.failed(&WriteFailure::of(&self.project.join(&self.name), &error).why))
    }

    fn failed(&self, why: &str) -> Fault {
        let message = format!("{} cannot be updated: {why}.", self.name.display());
        Fault::permanent(FaultLayer::System, "roadmap", message)
    }

    fn known(&self) -> MutexGuard<'_, KnownText> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for RoadmapFile {
    fn on(&self, _: &SpanContext, event: &Event) {
        let Event::Run(RunEvent::Landing { why: None, .. }) = event else {
            return;
        };
        let mut known = self.known();
        if let Ok(text) = read(&self.project, &self.name)
            && text != known.text
        {
            *known = KnownText { text, has_landed: true };
        }
    }
}

/// All problems of a roadmap, as one fault.
pub fn invalid(name: &Path, error: &RoadmapError) -> Fault {
    let count = match error.problems.len() {
        1 => "a problem".to_owned(),
        several => format!("{several} problems"),
    };
    let message = format!("{} has {count}:\n{error}", name.display());
    Fault::permanent(FaultLayer::Config, "roadmap", message)
        .hint("docs/roadmaps.md describes the file; `autonoe harness init` writes an example.")
}

fn read(project: &Path, name: &Path) -> Result<String, ReadError> {
    // One byte more, so that the parser says what is wrong.
    read_bytes_beneath(project, name, MAX_ROADMAP as u64 + 1).and_then(to_text)
}
