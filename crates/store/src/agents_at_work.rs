//! The agents that work in workspaces of their own, as the lock files of these workspaces name them.

use std::fs;
use std::path::PathBuf;

use autonoe_files::{SETTINGS_LIMIT, open_regular, read_text};
use serde::{Deserialize, Serialize};

use crate::journal::RunsInProgress;
use crate::lock_holder::LockHolder;
use crate::project::Project;

/// Who uses a workspace, or has used it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    pub holder: LockHolder,
    /// `None` until the run is in the journal.
    pub run: Option<i64>,
}

/// Who works on a project at the same time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Others {
    pub agents: Vec<AgentRecord>,
    pub has_project_lock: bool,
}

impl Others {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn runs(&self) -> RunsInProgress {
        let agents = self.agents.iter().filter_map(|agent| agent.run).collect();
        RunsInProgress { agents, deliverables: self.has_project_lock }
    }
}

/// All agents at work. The caller must have a turn.
pub(crate) fn at_work(project: &Project, except: Option<&str>) -> Vec<AgentRecord> {
    let entries = fs::read_dir(directory_of(project)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let slots = names.filter_map(|name| name.strip_suffix(".lock").map(str::to_owned));
    let is_used = |slot: &String| {
        let file = open_regular(&directory_of(project).join(format!("{slot}.lock"))).ok().flatten();
        except != Some(slot) && file.is_some_and(|file| file.try_lock_shared().is_err())
    };
    slots.filter(is_used).filter_map(|slot| read_record(project, &slot)).collect()
}

pub(crate) fn read_record(project: &Project, slot: &str) -> Option<AgentRecord> {
    let text = read_text(&directory_of(project).join(format!("{slot}.lock")), SETTINGS_LIMIT).ok()??;
    serde_json::from_str(&text).ok()
}

pub(crate) fn directory_of(project: &Project) -> PathBuf {
    project.state_dir().join("agents")
}
