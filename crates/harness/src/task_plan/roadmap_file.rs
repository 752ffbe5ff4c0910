//! The roadmap as a file of the user's: its edits while it runs, and the boxes of completed tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::own_edits::OwnEdits;
use autonoe_files::{ReadError, UntrustedDir, WriteFailure, read_bytes_beneath, rewrite_beneath, to_text};

use crate::roadmap::{
    AcceptedProposals, MAX_ROADMAP, Roadmap, RoadmapError, add_accepted, set_done, uncheck,
};

/// Characters of ids in the first line of a commit's message.
const MAX_IDS: usize = 44;

/// Whatever differs from what the run last read or wrote is the user's edit: commits of agents that change the file do not land.
pub struct RoadmapFile {
    project: PathBuf,
    /// Below the project.
    name: PathBuf,
    /// Names that `cli` may have.
    backends: Vec<String>,
    known: Mutex<KnownText>,
}

#[derive(Default)]
struct KnownText {
    text: String,
    /// Tasks whose boxes this run has checked or unchecked, and whether they are completed.
    own_boxes: BTreeMap<String, bool>,
    /// Those of them that nothing may commit yet.
    withheld: BTreeSet<String>,
    /// Tasks that this run has added, as they were inserted.
    own_tasks: Vec<String>,
}

/// What has happened to the file since it was last looked at.
#[derive(Debug)]
pub(super) enum RoadmapChange {
    None,
    Edited(Box<Roadmap>),
    /// As a sentence.
    Unusable(String),
}

impl RoadmapFile {
    /// `name` is relative to the project.
    pub fn open(project: &Path, name: &Path, backends: &[&str]) -> Result<(Self, Roadmap), Fault> {
        let text = read(project, name).map_err(|error| {
            let message = format!("{} cannot be read: {error}.", name.display());
            Fault::permanent(FaultLayer::Config, "roadmap", message).hint(error.advice())
        })?;
        let roadmap = Roadmap::parse(&text, backends).map_err(|error| invalid(name, &error))?;
        let known = Mutex::new(KnownText { text, ..KnownText::default() });
        let backends = backends.iter().map(|name| (*name).to_owned()).collect();
        Ok((Self { project: project.to_owned(), name: name.to_owned(), backends, known }, roadmap))
    }

    pub fn name(&self) -> &Path {
        &self.name
    }

    pub(super) fn change(&self) -> RoadmapChange {
        let mut known = self.known();
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
            known.own_boxes.insert(id.to_owned(), is_done);
        }
        self.replace(&before, &text)?;
        // An edit that nobody has looked at yet stays one.
        if known.text == before {
            known.text = text;
        }
        Ok(())
    }

    /// The text that [`Self::add_tasks`] would insert; `None` if the tasks are there already.
    pub(super) fn text_of_tasks(&self, accepted: &AcceptedProposals) -> Result<Option<String>, Fault> {
        let before = self.read()?;
        Ok(inserted(&before, &self.with_tasks(&before, accepted)?))
    }

    /// Adds tasks, which are then an edit like any other. Tasks that are there already are not added again.
    pub(super) fn add_tasks(&self, accepted: &AcceptedProposals) -> Result<(), Fault> {
        let before = self.read()?;
        self.replace(&before, &self.with_tasks(&before, accepted)?)
    }

    fn with_tasks(&self, text: &str, accepted: &AcceptedProposals) -> Result<String, Fault> {
        let backends: Vec<&str> = self.backends.iter().map(String::as_str).collect();
        add_accepted(text, accepted, &backends).map_err(|error| self.failed(&error.to_string()))
    }

    /// Removes what processes have left which were killed while they wrote the file.
    pub(super) fn remove_leftovers(&self) {
        let directory = UntrustedDir::open(&self.project);
        let parent = self.name.parent().unwrap_or(Path::new(""));
        if let Ok(directory) = directory.and_then(|directory| directory.existing(parent)) {
            directory.remove_leftovers();
        }
    }

    /// Boxes and tasks that this run has written, perhaps in an earlier process, with the boxes that are to be checked.
    pub(super) fn has_written(&self, boxes: impl Iterator<Item = (String, bool)>, tasks: Option<String>) {
        let mut known = self.known();
        known.own_boxes.extend(boxes);
        known.own_tasks.extend(tasks);
    }

    /// The box of this task is taken for an edit of the user's until it is released, so that nothing commits it.
    pub(super) fn withhold(&self, id: &str) {
        self.known().withheld.insert(id.to_owned());
    }

    pub(super) fn release(&self, id: &str) {
        self.known().withheld.remove(id);
    }

    pub(super) fn release_all(&self) {
        self.known().withheld.clear();
    }

    fn read(&self) -> Result<String, Fault> {
        read(&self.project, &self.name).map_err(|error| self.failed(&error.to_string()))
    }

    fn replace(&self, before: &str, text: &str) -> Result<(), Fault> {
        if text == before {
            return Ok(());
        }
        let written = rewrite_beneath(&self.project, &self.name, text.as_bytes());
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

impl OwnEdits for RoadmapFile {
    fn name(&self) -> &Path {
        &self.name
    }

    fn describe(&self, committed: &str, now: &str) -> Option<String> {
        let known = self.known();
        let own = known.own_boxes.keys().filter(|id| !known.withheld.contains(*id));
        let own: BTreeSet<String> = own.cloned().collect();
        let ((before, were_done), (after, are_done)) = (uncheck(committed, &own), uncheck(now, &own));
        // Their boxes were not checked when they were inserted.
        let without_new =
            |text: String| known.own_tasks.iter().fold(text, |text, tasks| text.replacen(tasks, "", 1));
        let (before, after) = (without_new(before), without_new(after));
        let done: Vec<&str> = are_done.difference(&were_done).copied().collect();
        // A process may have been killed before it had unchecked a box.
        let is_true = done.iter().all(|id| known.own_boxes.get(*id) == Some(&true));
        (before == after && is_true).then(|| commit_message(&self.name, &done))
    }
}

/// The line of `git log` for completed tasks.
fn commit_message(name: &Path, done: &[&str]) -> String {
    let ids = done.join(", ");
    let is_short = ids.len() <= MAX_IDS;
    match done.len() {
        0 => format!("Update {}", name.display()),
        1 => format!("Mark the task {ids} as completed"),
        _ if is_short => format!("Mark the tasks {ids} as completed"),
        count => format!("Mark {count} tasks as completed\n\n{}", done.join("\n")),
    }
}

/// What was inserted into a text; `None` if nothing was.
fn inserted(before: &str, after: &str) -> Option<String> {
    let same = before.bytes().zip(after.bytes()).take_while(|(old, new)| old == new).count();
    let start = (0..=same).rev().find(|start| after.is_char_boundary(*start))?;
    let length = after.len().checked_sub(before.len()).filter(|length| *length > 0)?;
    after.get(start..start + length).map(str::to_owned)
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use autonoe_core::own_edits::OwnEdits as _;

    use super::RoadmapFile;
    use crate::roadmap::{AcceptedProposals, TaskId};

    const ROADMAP: &str = "## Tasks\r\n- [ ] **a**: One\r\n- [ ] **b**: Two\r\n";

    #[test]
    fn only_what_the_run_wrote_is_its_own_edit() {
        let project = tempfile::tempdir().expect("directory");
        let path = project.path().join("ROADMAP.md");
        fs::write(&path, ROADMAP).expect("written");
        let (file, _) = RoadmapFile::open(project.path(), Path::new("ROADMAP.md"), &[]).expect("a roadmap");
        let now = || fs::read_to_string(&path).expect("text");
        file.set_boxes([("a", true)].into_iter()).expect("written");
        assert_eq!(file.describe(ROADMAP, &now()).as_deref(), Some("Mark the task a as completed"));
        let by_user = ROADMAP.replace("[ ] **b**", "[x] **b**");
        assert_eq!(file.describe(ROADMAP, &by_user), None, "the user checked that box");
        assert_eq!(file.describe(ROADMAP, &now().replace("Two", "2")), None);
        assert_eq!(file.describe(&now(), ROADMAP).as_deref(), Some("Update ROADMAP.md"));
        let accepted = AcceptedProposals {
            ids: vec![TaskId::new("growth-1")],
            text: "- [ ] **growth-1**: More\n  - success: ok\n".to_owned(),
            refused: Vec::new(),
        };
        let committed = now();
        let added = file.text_of_tasks(&accepted).expect("a text");
        file.has_written(std::iter::empty(), added.clone());
        file.add_tasks(&accepted).expect("added");
        assert_eq!(file.text_of_tasks(&accepted).expect("a text"), None, "they are there");
        assert_eq!(file.describe(&committed, &now()).as_deref(), Some("Update ROADMAP.md"));
        file.set_boxes([("b", true)].into_iter()).expect("written");
        let all = file.describe(ROADMAP, &now());
        assert_eq!(all.as_deref(), Some("Mark the tasks a, b as completed"));
        let grown = now();
        file.set_boxes([("growth-1", true)].into_iter()).expect("written");
        let growth = "Mark the task growth-1 as completed";
        assert_eq!(file.describe(&grown, &now()).as_deref(), Some(growth));
        let all = file.describe(ROADMAP, &now());
        assert_eq!(all.as_deref(), Some("Mark the tasks a, b, growth-1 as completed"));
        file.set_boxes([("growth-1", false)].into_iter()).expect("written");
        assert_eq!(file.describe(&committed, &now().replace("More", "Less")), None);
        // Another process of the same run.
        let (file, _) = RoadmapFile::open(project.path(), Path::new("ROADMAP.md"), &[]).expect("a roadmap");
        assert_eq!(file.describe(&now().replace("[x] **a**", "[ ] **a**"), &now()), None);
        assert_eq!(file.describe(&committed, &now()), None);
        let boxes = |b_is_done| [("a".to_owned(), true), ("b".to_owned(), b_is_done)].into_iter();
        file.has_written(boxes(false), added.clone());
        assert_eq!(file.describe(ROADMAP, &now()), None, "b is not completed any more");
        file.has_written(boxes(true), added);
        assert!(file.describe(&committed, &now()).is_some());
        assert!(file.describe(&now().replace("[x] **a**", "[ ] **a**"), &now()).is_some());
    }
}
