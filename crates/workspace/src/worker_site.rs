//! The workspaces of the workers of a run. Each builds one deliverable at a time; its commits come together with those of the others in the
//! [`MergeQueue`].

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use autonoe_core::fault::Fault;
use autonoe_files::{SETTINGS_LIMIT, UntrustedDir, Visibility, read_text};
use autonoe_git::write_ref;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::hub::UNUSABLE;
use crate::landing_error::LandingRefusal;
use crate::landings::Removed;
use crate::leftovers::Locks;
use crate::merge_queue::MergeQueue;
use crate::site_event::SiteEvent;
use crate::workspace::Workspace;
use crate::workspace_head::head_commit;
use crate::workspace_preparation::Preparation;

/// The file of a worker's workspace that names its deliverable, out of the agents' reach.
const HELD: &str = "deliverable";

/// The branch by which an agent gets what the others have finished, and its file in the repository of the workspace.
pub const MERGED_BRANCH: &str = "autonoe/merged";
const MERGED_FILE: [&str; 2] = [".git/refs/remotes/autonoe", "merged"];

/// Where the hub keeps work that was given up.
const UNFINISHED: &str = "refs/unfinished";

/// The deliverable whose work is in a workspace.
struct Held {
    /// Of the worker.
    branch: String,
    /// The user's commit from which the run began.
    begin: String,
    id: String,
}

/// A worker of a run.
#[derive(Debug, Clone)]
pub struct WorkerSite {
    name: String,
    branch: String,
    queue: Arc<MergeQueue>,
    /// At most one task, which makes the workspace before it is needed. It returns the commit with which the workspace begins.
    ahead: Arc<Mutex<JoinSet<Option<String>>>>,
    /// What was in its workspace and does not go together with the user's commits.
    pub left_behind: Option<SiteEvent>,
}

impl WorkerSite {
    /// A site for each name.
    pub(crate) fn all(queue: &Arc<MergeQueue>, names: &[String]) -> Vec<Self> {
        let site = |(name, number): (&String, usize)| Self {
            name: name.clone(),
            branch: format!("{}-{number}", queue.run.branch()),
            queue: Arc::clone(queue),
            ahead: Arc::default(),
            left_behind: None,
        };
        names.iter().zip(1..).map(site).collect()
    }

    /// Begins to make a workspace that is not there yet, while the run does something else. One that fails is made anew when it is needed.
    pub(crate) async fn make_ahead(&self) {
        let mut ahead = self.ahead.lock().await;
        let Some(start) = self.queue.finished().ok().filter(|_| !self.described().exists()) else { return };
        if ahead.is_empty() {
            // It must not keep itself alive.
            let site = Self { ahead: Arc::default(), ..self.clone() };
            ahead.spawn(async move { site.fill(&start).await.is_ok().then_some(start) });
        }
    }

    async fn made_ahead(&self) -> Option<String> {
        self.ahead.lock().await.join_next().await?.ok()?
    }

    /// What an earlier run has begun in the workspace and not finished; `None` if there is nothing, or the user does not want it.
    pub(crate) async fn begun_before(&self) -> Result<Option<String>, Fault> {
        let Some(held) = self.read_held().filter(|held| !self.queue.hub.is_discarded_worker(&held.branch))
        else {
            return Ok(None);
        };
        let Some(commit) = head_commit(&self.described().tree()) else { return Ok(None) };
        Ok((!self.is_merged(&commit).await?).then_some(held.id))
    }

    pub fn queue(&self) -> &Arc<MergeQueue> {
        &self.queue
    }

    /// The deliverable whose unfinished work of this run is in the workspace; `None` if there is none.
    pub fn held(&self) -> Option<String> {
        let held = self.read_held()?;
        (held.branch == self.branch).then_some(held.id)
    }

    /// Continues what an earlier run, or this one before it was killed, has left unfinished in the workspace, unless the user does not want it.
    pub(crate) async fn adopt_unfinished(&mut self) -> Result<(), Fault> {
        let (queue, workspace) = (Arc::clone(&self.queue), self.described());
        let (hub, from) = (&queue.hub, &queue.from);
        let Some(held) = self.read_held().filter(|_| workspace.exists() && workspace.problem().is_none())
        else {
            return Ok(());
        };
        let message = format!("Save uncommitted work on {}", held.id);
        let is_own = held.branch == self.branch;
        // What this run goes on with stays as it is.
        let fetched = match is_own {
            true => hub.fetch_new(&workspace).await,
            false => self.save(&workspace, &message).await,
        };
        let mut commit = match fetched {
            Err(fault) if fault.code == UNUSABLE => return Ok(()),
            fetched => fetched?,
        };
        if self.is_merged(&commit).await? {
            return Ok(());
        }
        // This run may have gone on after something of it was discarded.
        let removed = hub.removed(&commit, from).await?;
        let is_discarded = removed == Removed::All
            || (!is_own && hub.is_discarded_worker(&held.branch))
            || hub.is_discarded(&self.branch, &commit, from).await?;
        let is_dropped = removed == Removed::Part || !hub.has_begin(&held.begin, from).await?;
        if !is_discarded && !is_dropped {
            // It may come to stand on what the user has committed since, too.
            return self.hold(&workspace, &held.id).map_err(|error| hub.unwritable(&error));
        }
        if is_own {
            commit = self.save(&workspace, &message).await?;
        }
        self.set_unfinished(&held.branch, &held.id, &commit)?;
        fs::remove_file(workspace.directory.join(HELD)).map_err(|error| hub.unwritable(&error))?;
        if !is_discarded {
            let _turn = hub.landing_turn().await?;
            let why = hub.why_not_continued(&commit, Some(&held.begin), from).await?;
            let workspace = hub.described(&self.name, &held.branch, from);
            let (branch, why) = hub.leave_apart_in_turn(&workspace, &commit, from, why).await?;
            self.left_behind = Some(SiteEvent::Apart { branch, commit, why });
        }
        Ok(())
    }

    /// Makes the workspace ready for a session that builds a deliverable. Its unfinished work stays; for any other, it begins with all that is
    /// finished. Returns where the rest of another one is now.
    pub async fn begin(&self, deliverable: &str) -> Result<Option<SiteEvent>, Fault> {
        let made = self.made_ahead().await;
        let workspace = self.described();
        let holds = self.held().as_deref() == Some(deliverable) && workspace.exists();
        if holds && workspace.problem().is_none() {
            return self.queue.hub.renew_spec(&workspace, &self.queue.from).map(|()| None);
        }
        let left = self.keep_unfinished(&workspace).await?;
        let start = match self.queue.hub.last_fetched(&workspace).filter(|_| holds) {
            // Its repository cannot be used any more.
            Some(last) => last,
            None => self.queue.finished()?,
        };
        match made.as_ref() == Some(&start) {
            true => self.queue.hub.renew_spec(&workspace, &self.queue.from)?,
            false => self.fill(&start).await?,
        }
        self.queue.hub.set_current(&workspace, &start)?;
        self.hold(&workspace, deliverable).map_err(|error| self.queue.hub.unwritable(&error))?;
        Ok(left)
    }

    /// Makes the workspace anew from a commit of the hub. Ignored files stay.
    async fn fill(&self, commit: &str) -> Result<(), Fault> {
        let revision = self.queue.from.at(commit);
        let (workspace, preparation) = self.queue.hub.workspace(&self.name, &self.branch, &revision).await?;
        if preparation == Preparation::Created {
            self.queue.hub.copy_included(&workspace, &self.queue.from).await?;
        }
        self.queue.hub.carry_in(&workspace, &self.queue.from)
    }

    /// Brings what a session has committed into the hub, so that nothing of it can be lost.
    pub async fn session_ended(&self) -> Result<Vec<SiteEvent>, Fault> {
        let workspace = self.described();
        let mut events: Vec<_> = self.queue.hub.carry_note_home(&workspace)?.into_iter().collect();
        match self.queue.hub.fetch_new(&workspace).await {
            Ok(_) => Ok(events),
            Err(fault) if fault.code == UNUSABLE => {
                let last =
                    self.queue.hub.last_fetched(&workspace).map_or_else(|| self.queue.finished(), Ok)?;
                self.fill(&last).await?;
                events.push(SiteEvent::Unusable { why: fault.message });
                Ok(events)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Whether what is committed in the workspace is not among what is finished.
    pub(crate) async fn has_more(&self) -> Result<bool, Fault> {
        let Some(commit) = self.queue.hub.last_fetched(&self.described()) else { return Ok(false) };
        Ok(!self.is_merged(&commit).await?)
    }

    /// Puts unfinished work on a branch of its own in the user's repository when the run ends.
    pub async fn run_ended(&self) -> Result<Option<SiteEvent>, Fault> {
        self.leave_apart(&self.described()).await
    }

    /// Puts unfinished work on a branch of its own in the user's repository.
    async fn leave_apart(&self, workspace: &Workspace) -> Result<Option<SiteEvent>, Fault> {
        let Some(id) = self.held().filter(|_| workspace.exists()) else {
            return Ok(None);
        };
        match self.save(workspace, &format!("Save uncommitted work on {id}")).await {
            Ok(commit) if !self.is_merged(&commit).await? => {
                let why = LandingRefusal::NotPassed;
                let (branch, why) =
                    self.queue.hub.leave_apart(workspace, &commit, &self.queue.from, why).await?;
                Ok(Some(SiteEvent::Apart { branch, commit, why }))
            }
            Ok(_) => Ok(None),
            Err(fault) if fault.code == UNUSABLE => Ok(Some(SiteEvent::Unusable { why: fault.message })),
            Err(fault) => Err(fault),
        }
    }

    /// Commits what is not committed, where no check will ask for it. Returns why the agent's repository does not allow it, if so.
    pub async fn save_uncommitted(&self, message: &str) -> Result<Option<String>, Fault> {
        match self.queue.hub.save_for_claim(&self.described(), message).await {
            Err(fault) if fault.code == UNUSABLE => Ok(Some(fault.message)),
            saved => saved.map(|()| None),
        }
    }

    /// Does as much as can be done for a claim before its turn, when others need not wait for it. What fails is met again.
    pub async fn fetch_ahead(&self) {
        let _ = self.fetch().await;
    }

    /// Brings what was committed for a claim into the hub.
    pub(crate) async fn fetch(&self) -> Result<String, Fault> {
        let workspace = self.described();
        if self.queue.hub.made_repository() {
            // Agents need not know that there is one.
            self.queue
                .hub
                .save_leftovers(&workspace, "Save uncommitted work for the checks", Locks::InUse)
                .await?;
        }
        self.queue.hub.fetch_new(&workspace).await
    }

    /// Lets the agent merge a commit by its name. The repository is the agent's: if it cannot be written, the agent has no such branch.
    pub(crate) fn offer(&self, commit: &str) {
        let [directory, name] = MERGED_FILE;
        let tree = UntrustedDir::open(&self.described().tree());
        let refs = tree.and_then(|tree| tree.create_missing(Path::new(directory), Visibility::Everyone));
        let content = format!("{commit}\n");
        let _ =
            refs.and_then(|refs| refs.replace(OsStr::new(name), content.as_bytes(), Visibility::Everyone));
    }

    fn described(&self) -> Workspace {
        self.queue.hub.described(&self.name, &self.branch, &self.queue.from)
    }

    fn hold(&self, workspace: &Workspace, deliverable: &str) -> io::Result<()> {
        let begin = self.queue.from.commit.as_deref().unwrap_or_default();
        fs::write(workspace.directory.join(HELD), format!("{}\n{begin}\n{deliverable}", self.branch))
    }

    fn read_held(&self) -> Option<Held> {
        let text = read_text(&self.described().directory.join(HELD), SETTINGS_LIMIT).ok()??;
        let (branch, rest) = text.split_once('\n')?;
        let (begin, id) = rest.split_once('\n')?;
        Some(Held { branch: branch.to_owned(), begin: begin.to_owned(), id: id.to_owned() })
    }

    async fn save(&self, workspace: &Workspace, message: &str) -> Result<String, Fault> {
        self.queue.hub.save_leftovers(workspace, message, Locks::Stale).await?;
        self.queue.hub.fetch_new(workspace).await
    }

    async fn is_merged(&self, commit: &str) -> Result<bool, Fault> {
        self.queue.hub.is_ancestor(commit, &self.queue.finished()?).await
    }

    /// Keeps work that was given up, in the hub under the name of its deliverable and on a branch of the user's.
    async fn keep_unfinished(&self, workspace: &Workspace) -> Result<Option<SiteEvent>, Fault> {
        let Some(id) = self.held() else { return Ok(None) };
        let left = self.leave_apart(workspace).await?;
        if let Some(SiteEvent::Apart { commit, .. }) = &left {
            self.set_unfinished(&self.branch, &id, commit)?;
        }
        Ok(left)
    }

    fn set_unfinished(&self, branch: &str, id: &str, commit: &str) -> Result<(), Fault> {
        let plain: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let reference = format!("{UNFINISHED}/{branch}/{plain}");
        write_ref(&self.queue.hub.layout.git_dir(), &reference, commit)
            .map_err(|error| self.queue.hub.unwritable(&error))
    }
}
