//! Where the agents of a run work, from the first session to the last landing.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use autonoe_core::examiner::ClaimPreparation;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::status::Tally;
use autonoe_files::{DOCUMENT_LIMIT, ReadError, read_bytes, read_bytes_beneath, read_text, replace_beneath};

use crate::claim_fetch::ClaimFetch;
use crate::first_commit::Beginning;
use crate::hub::{Hub, UNUSABLE};
use crate::landing::{Landing, LandingRefusal, LandingTarget, SelfActingFiles};
use crate::leftovers::Leftovers;
use crate::project_revision::ProjectRevision;
use crate::user_files::directory;
use crate::workspace::Workspace;

/// The only workspace of a project, as long as one run at a time works on it.
pub(crate) const WORKSPACE: &str = "1";

/// The workspace of `sync`, apart from the other, so that nothing of it can ever land.
const THROWAWAY: &str = "sync";

/// The note that one session leaves for the next.
const NOTE: &str = ".autonoe-note.md";

/// Larger notes do not come home.
const NOTE_LIMIT: u64 = 1 << 20;

/// The user's directory for Autonoe, which agents can read.
const OWN_DIRECTORY: &str = ".autonoe";

/// When commits come to the user's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LandWhen {
    /// After a session in which a deliverable passed.
    #[default]
    Passed,
    /// After a session in which a deliverable was verified.
    Verified,
    /// When the run ends.
    End,
    Never,
}

/// Something that happened to the commits of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SiteEvent {
    /// Uncommitted files of an agent were committed at the end of its session.
    Saved {
        files: usize,
        /// Files that cannot be committed.
        left: Vec<String>,
    },
    /// Commits or changes of an agent cannot be used; what was fetched before is kept.
    Unusable {
        why: String,
    },
    Landed {
        branch: String,
        commit: String,
        ci_files: Vec<String>,
    },
    /// Commits are on a branch of their own in the user's repository.
    Apart {
        branch: String,
        commit: String,
        why: LandingRefusal,
    },
}

/// The workspace of a run, and how far its commits have come.
#[derive(Debug)]
pub struct WorkspaceSite {
    hub: Hub,
    /// The user's project.
    root: PathBuf,
    pub workspace: Workspace,
    /// What had to be done before agents could work.
    pub beginning: Option<Beginning>,
    /// What is wrong with the workspace that an earlier run has left.
    pub warning: Option<String>,
    /// The state of the user's repository that the next landing expects.
    from: ProjectRevision,
    options: SiteOptions,
    /// The passed and the verified deliverables at the last landing.
    landed: (usize, usize),
    /// The commit with the user's uncommitted changes, if it has not landed.
    included: Option<String>,
    last_refusal: Option<LandingRefusal>,
    /// The commit that landed last.
    last_landed: Option<String>,
}

/// How a run uses its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SiteOptions {
    pub when: LandWhen,
    pub target: LandingTarget,
    /// The user's uncommitted changes become the first commit.
    pub includes_uncommitted: bool,
    /// Agents see uncommitted changes, and nothing that they do comes home but their note.
    pub is_throwaway: bool,
}

impl SiteOptions {
    /// The name of the workspace.
    pub fn workspace(&self) -> &'static str {
        if self.is_throwaway { THROWAWAY } else { WORKSPACE }
    }
}

/// What a run begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// A killed run is continued: its workspace stays as it is.
    Resumed,
    /// A new run: the workspace is restored to the user's last commit, unless it has commits beyond it.
    New,
}

impl WorkspaceSite {
    /// Prepares the workspace of a run. The caller must hold the project lock.
    pub async fn prepare(
        hub: Hub,
        root: &Path,
        run: i64,
        start: Start,
        options: SiteOptions,
        tally: Tally,
    ) -> Result<Self, Fault> {
        hub.sweep();
        let (mut from, beginning) = hub.update_or_begin().await?;
        if let Some(commit) = hub.finish_landing(&from).await? {
            from.tree = Some(commit.clone());
            from.commit = Some(commit);
        }
        let branch = format!("autonoe/{run}");
        let name = options.workspace();
        let (mut warning, mut included) = (None, None);
        let earlier = match options.is_throwaway {
            true => Ok(None),
            false => hub.earlier(name, &branch, &from, start).await,
        };
        let earlier = match earlier {
            Ok(earlier) => earlier,
            // Whatever is wrong with it, nothing of it may be lost.
            Err(fault) => {
                let aside = hub.set_aside(name).map_err(|error| hub.unwritable(&error))?;
                let aside = aside.display();
                warning = Some(format!("{} It was moved to {aside}, and a new one was made.", fault.message));
                None
            }
        };
        let workspace = match earlier {
            Some(workspace) => workspace,
            None => {
                let (workspace, _) = hub.workspace(name, &branch, &from).await?;
                hub.copy_included(&workspace, &from).await?;
                if options.is_throwaway || options.includes_uncommitted {
                    hub.copy_uncommitted(&workspace, &from).await?;
                }
                if options.includes_uncommitted && !options.is_throwaway {
                    hub.save_leftovers(&workspace, "Include uncommitted changes").await?;
                    included = Some(hub.fetch(&workspace).await?.commit);
                }
                workspace
            }
        };
        let root = root.to_owned();
        // Deliverables may have passed just before the process was killed, and their commits not landed.
        let now = (tally.passed, tally.verified);
        let landed =
            hub.last_landed().map_or(now, |(passed, verified)| (passed.min(now.0), verified.min(now.1)));
        let site = Self {
            hub,
            root,
            workspace,
            beginning,
            warning,
            from,
            options,
            landed,
            included,
            last_refusal: None,
            last_landed: None,
        };
        site.carry_all_in()?;
        site.bring_to_hub().await?;
        Ok(site)
    }

    /// Fetches the commits of a claim before it is examined; `None` if nothing comes home.
    pub fn claim_preparation(&self) -> Option<Arc<dyn ClaimPreparation>> {
        let preparation = ClaimFetch {
            hub: self.hub.clone(),
            workspace: self.workspace.clone(),
            saves_first: self.hub.made_repository(),
        };
        (!self.options.is_throwaway).then(|| Arc::new(preparation) as _)
    }

    /// Names of the user's uncommitted files, which are not in the workspace.
    pub fn left_out(&self) -> impl Iterator<Item = &str> {
        let is_ours = |name: &str| {
            name.split('/').any(|part| part == ".autonoe")
                || name.ends_with(NOTE)
                || name.ends_with("SPEC.md")
        };
        let is_left_out = !self.options.is_throwaway && !self.options.includes_uncommitted;
        let names = self.from.uncommitted.iter().map(String::as_str);
        names.filter(move |name| is_left_out && !is_ours(name))
    }

    /// Brings what the workspace has committed into the hub, where checks find it. What cannot be used is reported when the session ends.
    pub async fn fetch(&self) -> Result<(), Fault> {
        match self.options.is_throwaway {
            true => Ok(()),
            false => self.bring_to_hub().await,
        }
    }

    async fn bring_to_hub(&self) -> Result<(), Fault> {
        match self.hub.fetch(&self.workspace).await {
            Err(fault) if fault.code != UNUSABLE => Err(fault),
            _ => Ok(()),
        }
    }

    /// Saves what a session has done, and lands it if it is time.
    pub async fn session_ended(&mut self, number: u32, tally: Tally) -> Result<Vec<SiteEvent>, Fault> {
        if self.options.is_throwaway {
            self.carry_home(NOTE)?;
            return Ok(Vec::new());
        }
        let (passed, verified) = self.landed;
        let is_time = match self.options.when {
            LandWhen::Passed => tally.passed > passed,
            LandWhen::Verified => tally.verified > verified,
            LandWhen::End | LandWhen::Never => false,
        };
        // What is not committed is for the next session to go on with, unless something lands.
        let save = is_time.then(|| format!("Save uncommitted work of session {number}"));
        let mut home = self.bring_home(save.as_deref()).await?;
        if let Some(commit) = home.commit.filter(|_| is_time) {
            home.events.extend(self.land(&commit, tally).await?);
        }
        if home.is_unusable {
            // Whatever the agent did to its workspace, the next session gets one that works.
            self.restore().await?;
        }
        Ok(home.events)
    }

    /// Makes a workspace that cannot be used anew, from the last commit that was fetched from it.
    async fn restore(&self) -> Result<(), Fault> {
        let mut last = self.from.clone();
        if let Some(commit) = self.hub.last_fetched(&self.workspace) {
            last.tree = Some(commit.clone());
            last.commit = Some(commit);
        }
        self.hub.workspace(self.options.workspace(), self.workspace.branch(), &last).await?;
        self.carry_all_in()
    }

    /// Saves what is left at the end of a run. Commits that have not landed are put on a branch of their own.
    pub async fn run_ended(&mut self, tally: Tally) -> Result<Vec<SiteEvent>, Fault> {
        if self.options.is_throwaway {
            self.carry_home(NOTE)?;
            return Ok(Vec::new());
        }
        let Home { mut events, commit, .. } =
            self.bring_home(Some("Save uncommitted work of an interrupted session")).await?;
        let Some(commit) = commit.filter(|commit| !self.has_landed(commit)) else {
            return Ok(events);
        };
        let (passed, verified) = self.landed;
        match self.options.when {
            LandWhen::Passed if tally.passed > passed => events.extend(self.land(&commit, tally).await?),
            LandWhen::Verified if tally.verified > verified => {
                events.extend(self.land(&commit, tally).await?)
            }
            LandWhen::End => events.extend(self.land(&commit, tally).await?),
            LandWhen::Passed | LandWhen::Verified | LandWhen::Never => {
                let why = match self.options.when {
                    LandWhen::Never => LandingRefusal::NotWanted,
                    LandWhen::Passed | LandWhen::Verified | LandWhen::End => LandingRefusal::NotPassed,
                };
                if self.last_refusal.is_none() {
                    let branch = self.hub.leave_apart(&self.workspace, &commit, &self.from).await?;
                    events.push(SiteEvent::Apart { branch, commit, why });
                }
            }
        }
        Ok(events)
    }

    /// Fetches what the workspace has committed, after what it has not committed was saved, if there is a message for that. Whatever cannot be
    /// used is named, and does not prevent the rest.
    async fn bring_home(&self, save: Option<&str>) -> Result<Home, Fault> {
        let mut home = Home::default();
        if let Some(message) = save {
            match self.hub.save_leftovers(&self.workspace, message).await {
                Ok(Leftovers { saved: 0, left }) if left.is_empty() => {}
                Ok(Leftovers { saved, left }) => home.events.push(SiteEvent::Saved { files: saved, left }),
                Err(fault) => home.unusable(fault)?,
            }
        }
        match self.hub.fetch(&self.workspace).await {
            Ok(fetched) => home.commit = Some(fetched.commit),
            Err(fault) => {
                home.unusable(fault)?;
                home.is_unusable = true;
                home.commit = self.hub.last_fetched(&self.workspace);
            }
        }
        self.carry_home(NOTE)?;
        Ok(home)
    }

    async fn land(&mut self, commit: &str, tally: Tally) -> Result<Option<SiteEvent>, Fault> {
        let commit = commit.to_owned();
        if self.has_landed(&commit) {
            return Ok(None);
        }
        // The user's files are as this commit has them, which a later one may have changed further.
        if let Some(included) = self.included.take().filter(|included| *included != commit)
            && let Landing::Landed { .. } = self.try_landing(&included).await?
            && self.options.target == LandingTarget::CheckedOut
        {
            self.from.commit = Some(included);
        }
        match self.try_landing(&commit).await? {
            Landing::Landed { branch, ci_files } => {
                if self.options.target == LandingTarget::CheckedOut {
                    self.from.commit = Some(commit.clone());
                }
                self.landed = (tally.passed, tally.verified);
                self.last_landed = Some(commit.clone());
                self.hub.record_landed(self.landed).map_err(|error| self.hub.unwritable(&error))?;
                self.last_refusal = None;
                Ok(Some(SiteEvent::Landed { branch, commit, ci_files }))
            }
            Landing::Apart { branch, why } => {
                let is_new = self.last_refusal.replace(why.clone()).as_ref() != Some(&why);
                Ok(is_new.then_some(SiteEvent::Apart { branch, commit, why }))
            }
        }
    }

    async fn try_landing(&self, commit: &str) -> Result<Landing, Fault> {
        let (target, acting) = (&self.options.target, SelfActingFiles::Refused);
        self.hub.land(&self.workspace, commit, &self.from, target, acting).await
    }

    fn has_landed(&self, commit: &String) -> bool {
        [&self.from.commit, &self.last_landed].into_iter().any(|landed| landed.as_ref() == Some(commit))
    }

    /// Gives the workspace what is the user's and not in its commits.
    fn carry_all_in(&self) -> Result<(), Fault> {
        // Nothing of the project may be committed yet.
        directory(&self.workspace.tree(), self.workspace.part())
            .map_err(|error| self.hub.unwritable(&error))?;
        ["SPEC.md", NOTE].into_iter().try_for_each(|name| self.carry_in(name))?;
        // Rooms that show the workspace at the project's path have the user's directory there.
        if !self.hub.room_config.sandbox.layer().can_move() {
            let link = self.workspace.root().join(OWN_DIRECTORY);
            // Whatever else is there is not used.
            let _ = std::os::unix::fs::symlink(self.root.join(OWN_DIRECTORY), link);
        }
        Ok(())
    }

    /// Gives the workspace a file as the user has it now, committed or not.
    fn carry_in(&self, name: &str) -> Result<(), Fault> {
        let source = self.root.join(name);
        // A link could lead to what agents must not see, and an agent could have made it.
        if source.is_symlink() && !self.leads_to_seen_file(&source) {
            let message = format!("{} is a link to a file that agents do not see.", source.display());
            return Err(Fault::permanent(FaultLayer::Config, "workspace", message)
                .hint("Make it a regular file, or a link to a committed one."));
        }
        let content = read_bytes(&source, DOCUMENT_LIMIT).map_err(|error| unreadable(&source, &error))?;
        let (tree, target) = (self.workspace.tree(), self.workspace.part().join(name));
        let now = read_bytes_beneath(&tree, &target, DOCUMENT_LIMIT).ok();
        match content {
            Some(content) if now.as_ref() != Some(&content) => {
                let placed = replace_beneath(&tree, &target, &content);
                placed.map_err(|error| self.hub.unwritable(&error))
            }
            _ => Ok(()),
        }
    }

    /// Whether a link of the user's leads to a file that is in the workspace too.
    fn leads_to_seen_file(&self, link: &Path) -> bool {
        let target = link.canonicalize().ok();
        let inside = target.as_deref().and_then(|target| target.strip_prefix(&self.from.top).ok());
        inside
            .is_some_and(|inside| read_bytes_beneath(&self.workspace.tree(), inside, DOCUMENT_LIMIT).is_ok())
    }

    /// Gives the user a plain file that an agent has written, if it is one and not too large.
    fn carry_home(&self, name: &str) -> Result<(), Fault> {
        let source = self.workspace.part().join(name);
        let Ok(content) = read_bytes_beneath(&self.workspace.tree(), &source, NOTE_LIMIT) else {
            return Ok(());
        };
        let now = read_bytes_beneath(&self.root, Path::new(name), DOCUMENT_LIMIT).ok();
        if now.as_ref() == Some(&content) {
            return Ok(());
        }
        replace_beneath(&self.root, Path::new(name), &content).map_err(|error| {
            let message = format!("{} cannot be written: {error}.", self.root.join(name).display());
            Fault::permanent(FaultLayer::System, "landing", message)
        })
    }
}

/// What a session has brought.
#[derive(Default)]
struct Home {
    events: Vec<SiteEvent>,
    /// The last commit of the workspace that can be used.
    commit: Option<String>,
    /// The repository of the workspace cannot be used any more.
    is_unusable: bool,
}

impl Home {
    /// Reports what an agent has made unusable; any other fault is returned.
    fn unusable(&mut self, fault: Fault) -> Result<(), Fault> {
        match fault.code.as_str() {
            UNUSABLE => {
                self.events.push(SiteEvent::Unusable { why: fault.message });
                Ok(())
            }
            _ => Err(fault),
        }
    }
}

fn unreadable(path: &Path, error: &ReadError) -> Fault {
    let message = format!("{} cannot be read: {error}.", path.display());
    Fault::permanent(FaultLayer::Config, "workspace", message).hint(error.advice())
}

impl Hub {
    /// The passed and the verified deliverables at the last landing; `None` if there was none.
    fn last_landed(&self) -> Option<(usize, usize)> {
        let text = read_text(&self.directory.join("landed.json"), DOCUMENT_LIMIT).ok()??;
        serde_json::from_str(&text).ok()
    }

    fn record_landed(&self, landed: (usize, usize)) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        serde_json::to_writer(&mut file, &landed)?;
        file.persist(self.directory.join("landed.json")).map(drop).map_err(|error| error.error)
    }

    /// The workspace as it is, if a killed run is resumed there or if it has commits beyond the user's. Otherwise its commits are kept in the
    /// hub, and `None` is returned.
    async fn earlier(
        &self,
        name: &str,
        branch: &str,
        from: &ProjectRevision,
        start: Start,
    ) -> Result<Option<Workspace>, Fault> {
        let existing = self.described(name, branch, from);
        if !existing.exists() {
            return Ok(None);
        }
        self.save_leftovers(&existing, "Save uncommitted work of an earlier run").await?;
        let fetched = self.fetch(&existing).await?;
        let continues = match &from.commit {
            Some(commit) => self.is_ancestor(commit, &fetched.commit).await?,
            None => true,
        };
        let is_ahead = continues && from.commit.as_ref() != Some(&fetched.commit);
        Ok((start == Start::Resumed && continues || is_ahead).then_some(existing))
    }
}
