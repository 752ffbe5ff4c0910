//! Agents that work at the same time, each in a workspace of its own with a lock that names it. None of them writes `status.json`, so
//! none takes the project lock.

use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};

use autonoe_core::fault::{Fault, FaultLayer};

use crate::agents_at_work::{AgentRecord, Others, at_work, directory_of, read_record};
use crate::directory_lock::{DirectoryLock, ProjectUse};
use crate::lock::{ProjectLock, held_by_another, held_elsewhere, not_taken, open_lock, take_turn};
use crate::lock_holder::LockHolder;
use crate::project::Project;

/// The most runs of one agent at the same time.
const MAX_SLOTS: usize = 16;

/// The workspace of an agent at work.
#[derive(Debug)]
pub struct AgentLock {
    slot: String,
    file: File,
    directory: DirectoryLock,
    record: AgentRecord,
}

impl AgentLock {
    /// Takes a workspace of the agent `name` that nobody uses: the one of `resumed`, if that run left one.
    pub fn take(
        project: &Project,
        name: &str,
        resumed: Option<i64>,
        holder: LockHolder,
    ) -> Result<Self, Fault> {
        let directory = directory_of(project);
        fs::create_dir_all(&directory).map_err(|error| not_taken(project, &error.to_string(), ""))?;
        let _turn = take_turn(project)?;
        let lock = DirectoryLock::take(project.root(), ProjectUse::Agent);
        let lock = lock.map_err(|locked| match ProjectLock::holder_in_turn(project) {
            Some(holder) => held_by_another(Some(holder)),
            None => held_elsewhere(project, &locked),
        })?;
        let slots: Vec<String> = (1..=MAX_SLOTS).map(|number| slot_name(name, number)).collect();
        let run_in = |slot: &String| read_record(project, slot).and_then(|record| record.run);
        let of_resumed = resumed.and_then(|run| slots.iter().find(|slot| run_in(slot) == Some(run)));
        let candidates = of_resumed.map_or(slots.as_slice(), std::slice::from_ref);
        for slot in candidates {
            let file = open_lock(project, &format!("agents/{slot}.lock"))?;
            if file.try_lock().is_ok() {
                let record = AgentRecord { holder, run: of_resumed.and(resumed) };
                let mut taken = Self { slot: slot.clone(), file, directory: lock, record };
                taken.write().map_err(|error| not_taken(project, &error.to_string(), ""))?;
                return Ok(taken);
            }
        }
        Err(if of_resumed.is_some() { in_progress(name) } else { too_many(name) })
    }

    /// The name of the workspace.
    pub fn slot(&self) -> &str {
        &self.slot
    }

    /// A limitation of the lock on this file system, as a sentence.
    pub fn warning(&self) -> Option<&str> {
        self.directory.warning.as_deref()
    }

    /// Remembers which run uses the workspace, so that it can be resumed there.
    pub fn record_run(&mut self, project: &Project, run: i64) -> Result<(), Fault> {
        let _turn = take_turn(project)?;
        self.record.run = Some(run);
        self.write().map_err(|error| not_taken(project, &error.to_string(), ""))
    }

    /// Acts while nobody can begin to work on the project, knowing who else does.
    pub fn with_others<T>(&self, project: &Project, act: impl FnOnce(&Others) -> T) -> Result<T, Fault> {
        let _turn = take_turn(project)?;
        let agents = at_work(project, Some(&self.slot));
        Ok(act(&Others { agents, has_project_lock: ProjectLock::holder_in_turn(project).is_some() }))
    }

    fn write(&mut self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.record)?;
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&text)
    }
}

fn slot_name(agent: &str, number: usize) -> String {
    let plain = agent.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).take(60);
    format!("agent-{}-{number}", plain.collect::<String>())
}

fn too_many(name: &str) -> Fault {
    let message = format!("{MAX_SLOTS} runs of the agent '{name}' are in progress.");
    Fault::permanent(FaultLayer::Config, "project_locked", message).hint("Wait for one of them to end.")
}

fn in_progress(name: &str) -> Fault {
    let message = format!("The last run of the agent '{name}' is still in progress.");
    Fault::permanent(FaultLayer::Config, "project_locked", message)
        .hint("Wait for it to end, or leave out --resume to start another one.")
}
