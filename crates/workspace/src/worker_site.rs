//! The workspaces of the workers of a run, and the queue in which their commits come together.
//!
//! Each worker builds one deliverable at a time. When it claims that it has passed, its commits are merged with what all of them have finished so
//! far, and checks look at the result; only if they pass it becomes what the next one is merged with. One claim at a time.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use autonoe_core::fault::Fault;
use autonoe_core::hub_refs;
use autonoe_files::{SETTINGS_LIMIT, UntrustedDir, Visibility, read_text};
use autonoe_git::write_ref;
use tokio::sync::{Mutex, MutexGuard};

use crate::claim_fetch::CheckedCommit;
use crate::hub::{Hub, UNUSABLE};
use crate::landing_error::LandingRefusal;
use crate::merging::Merge;
use crate::project_revision::ProjectRevision;
use crate::site::SiteEvent;
use crate::workspace::Workspace;
use crate::workspace_preparation::Preparation;

/// The file of a worker's workspace that names its deliverable, out of the agents' reach.
const HELD: &str = "deliverable";

/// The branch by which an agent gets what the others have finished, and its file in the repository of the workspace.
pub const MERGED_BRANCH: &str = "autonoe/merged";
const MERGED_FILE: [&str; 2] = [".git/refs/remotes/autonoe", "merged"];

/// Where the hub keeps work that was given up.
const UNFINISHED: &str = "refs/unfinished";

/// Where the commits of a run come together. Only one claim at a time may change it.
#[derive(Debug)]
pub(crate) struct MergeQueue {
    turn: Mutex<()>,
    checked: CheckedCommit,
}

/// A worker of a run.
#[derive(Debug, Clone)]
pub struct WorkerSite {
    hub: Hub,
    /// The workspace of the run itself, whose branch is where the commits come together.
    run: Workspace,
    from: ProjectRevision,
    name: String,
    branch: String,
    queue: Arc<MergeQueue>,
}

/// The turn of a claim. The commits are merged, and checks look at the result.
pub struct MergeTurn<'a> {
    site: &'a WorkerSite,
    before: String,
    merged: String,
    _turn: MutexGuard<'a, ()>,
}

/// What became of a claim before its checks.
pub enum MergeAttempt<'a> {
    Merged(MergeTurn<'a>),
    /// These files were changed by others too. [`MERGED_BRANCH`] has their changes.
    Conflict {
        files: Vec<String>,
    },
    /// The agent has made its repository unusable.
    Unusable {
        why: String,
    },
}

impl WorkerSite {
    pub(crate) fn all(
        hub: &Hub,
        run: &Workspace,
        from: &ProjectRevision,
        checked: &CheckedCommit,
        names: &[String],
    ) -> Vec<Self> {
        let queue = Arc::new(MergeQueue { turn: Mutex::default(), checked: checked.clone() });
        let site = |(name, number): (&String, usize)| Self {
            hub: hub.clone(),
            run: run.clone(),
            from: from.clone(),
            name: name.clone(),
            branch: format!("{}-{number}", run.branch()),
            queue: Arc::clone(&queue),
        };
        names.iter().zip(1..).map(site).collect()
    }

    /// The deliverable whose unfinished work of this run is in the workspace; `None` if there is none.
    pub fn held(&self) -> Option<String> {
        let text = read_text(&self.described().directory.join(HELD), SETTINGS_LIMIT).ok()??;
        let (branch, id) = text.split_once('\n')?;
        (branch == self.branch).then(|| id.to_owned())
    }

    /// Makes the workspace ready for a session that builds a deliverable. Its unfinished work stays; for any other, it begins with all that is
    /// finished.
    pub async fn begin(&self, deliverable: &str) -> Result<(), Fault> {
        let workspace = self.described();
        let holds = self.held().as_deref() == Some(deliverable) && workspace.exists();
        if holds && workspace.problem().is_none() {
            return Ok(());
        }
        self.keep_unfinished(&workspace).await?;
        let start = match self.hub.last_fetched(&workspace).filter(|_| holds) {
            // Its repository cannot be used any more.
            Some(last) => last,
            None => self.tip()?,
        };
        self.fill(&start).await?;
        self.hub.set_current(&workspace, &start)?;
        self.hold(&workspace, deliverable).map_err(|error| self.hub.unwritable(&error))
    }

    /// Makes the workspace anew from a commit of the hub. Ignored files stay.
    async fn fill(&self, commit: &str) -> Result<(), Fault> {
        let revision = self.from.at(commit);
        let (workspace, preparation) = self.hub.workspace(&self.name, &self.branch, &revision).await?;
        if preparation == Preparation::Created {
            self.hub.copy_included(&workspace, &self.from).await?;
        }
        self.hub.carry_in(&workspace, &self.from)
    }

    /// Brings what a session has committed into the hub, so that nothing of it can be lost.
    pub async fn session_ended(&self) -> Result<Option<SiteEvent>, Fault> {
        let workspace = self.described();
        self.hub.carry_note_home(&workspace)?;
        match self.hub.fetch_new(&workspace).await {
            Ok(_) => Ok(None),
            Err(fault) if fault.code == UNUSABLE => {
                let last = self.hub.last_fetched(&workspace).map_or_else(|| self.tip(), Ok)?;
                self.fill(&last).await?;
                Ok(Some(SiteEvent::Unusable { why: fault.message }))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Puts unfinished work on a branch of its own in the user's repository when the run ends.
    pub async fn run_ended(&self) -> Result<Option<SiteEvent>, Fault> {
        let workspace = self.described();
        let Some(id) = self.held().filter(|_| workspace.exists()) else {
            return Ok(None);
        };
        let message = format!("Save uncommitted work on {id}");
        match self.save(&workspace, &message).await {
            Ok(commit) if !self.is_merged(&commit).await? => {
                let why = LandingRefusal::NotPassed;
                let (branch, why) = self.hub.leave_apart(&workspace, &commit, &self.from, why).await?;
                Ok(Some(SiteEvent::Apart { branch, commit, why }))
            }
            Ok(_) => Ok(None),
            Err(fault) if fault.code == UNUSABLE => Ok(Some(SiteEvent::Unusable { why: fault.message })),
            Err(fault) => Err(fault),
        }
    }

    /// Waits for the turn of this worker, and merges its commits with all that is finished.
    pub async fn merge(&self, message: &str) -> Result<MergeAttempt<'_>, Fault> {
        let workspace = self.described();
        if self.hub.made_repository() {
            // Agents need not know that there is one.
            self.hub.save_leftovers(&workspace, "Save uncommitted work for the checks").await?;
        }
        let commit = match self.hub.fetch_new(&workspace).await {
            Err(fault) if fault.code == UNUSABLE => return Ok(MergeAttempt::Unusable { why: fault.message }),
            fetched => fetched?,
        };
        let turn = self.queue.turn.lock().await;
        let before = self.tip()?;
        Ok(match self.hub.merge(&self.from, &before, &commit, message).await? {
            Merge::Conflict(files) => {
                self.offer(&before);
                MergeAttempt::Conflict { files }
            }
            Merge::Clean(merged) => {
                self.hub.show_checks(&merged)?;
                MergeAttempt::Merged(MergeTurn { site: self, before, merged, _turn: turn })
            }
        })
    }

    /// Lets the agent merge a commit by its name. The repository is the agent's: if it cannot be written, the agent has no such branch.
    fn offer(&self, commit: &str) {
        let [directory, name] = MERGED_FILE;
        let tree = UntrustedDir::open(&self.described().tree());
        let refs = tree.and_then(|tree| tree.create_missing(Path::new(directory), Visibility::Everyone));
        let content = format!("{commit}\n");
        let _ =
            refs.and_then(|refs| refs.replace(OsStr::new(name), content.as_bytes(), Visibility::Everyone));
    }

    fn described(&self) -> Workspace {
        self.hub.described(&self.name, &self.branch, &self.from)
    }

    /// The commit that has all that is finished.
    fn tip(&self) -> Result<String, Fault> {
        let tip = self.hub.last_fetched(&self.run).or_else(|| self.from.commit.clone());
        tip.ok_or_else(|| self.hub.failed("nothing is committed yet"))
    }

    fn hold(&self, workspace: &Workspace, deliverable: &str) -> io::Result<()> {
        fs::write(workspace.directory.join(HELD), format!("{}\n{deliverable}", self.branch))
    }

    async fn save(&self, workspace: &Workspace, message: &str) -> Result<String, Fault> {
        self.hub.save_leftovers(workspace, message).await?;
        self.hub.fetch_new(workspace).await
    }

    async fn is_merged(&self, commit: &str) -> Result<bool, Fault> {
        let room = self.hub.room(self.hub.layout.readable(), [])?;
        let is_merged = self.hub.is_ancestor(&room, commit, &self.tip()?).await;
        room.close().await;
        is_merged
    }

    /// Keeps work that was given up in the hub, under the name of its deliverable.
    async fn keep_unfinished(&self, workspace: &Workspace) -> Result<(), Fault> {
        let Some(id) = self.held().filter(|_| workspace.exists()) else {
            return Ok(());
        };
        let commit = match self.save(workspace, &format!("Save uncommitted work on {id}")).await {
            Ok(commit) => commit,
            Err(fault) if fault.code == UNUSABLE => return Ok(()),
            Err(fault) => return Err(fault),
        };
        if self.is_merged(&commit).await? {
            return Ok(());
        }
        let plain: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let reference = format!("{UNFINISHED}/{}/{plain}", self.branch);
        write_ref(&self.hub.layout.git_dir(), &reference, &commit)
            .map_err(|error| self.hub.unwritable(&error))
    }
}

impl MergeTurn<'_> {
    /// Whether this worker has built on all that is finished, so that nothing had to be merged.
    pub fn is_unchanged(&self) -> bool {
        self.before == self.merged
    }

    /// Has checks look at what was finished before, for a moment.
    pub fn show_before(&self) -> Result<(), Fault> {
        self.site.hub.show_checks(&self.before)
    }

    pub fn show_merged(&self) -> Result<(), Fault> {
        self.site.hub.show_checks(&self.merged)
    }

    /// The checks have passed: the result is what the next claim is merged with.
    pub fn accept(self) -> Result<(), Fault> {
        let MergeTurn { site, merged, .. } = &self;
        let written = write_ref(&site.hub.layout.git_dir(), hub_refs::MERGED, merged);
        written.map_err(|error| site.hub.unwritable(&error))?;
        site.hub.set_current(&site.run, merged)?;
        site.queue.checked.set(Some(merged.clone()));
        Ok(())
    }

    /// Everything stays as it was. The agent can get what the others have finished.
    pub fn reject(self) -> Result<(), Fault> {
        self.site.offer(&self.before);
        self.show_before()
    }
}
