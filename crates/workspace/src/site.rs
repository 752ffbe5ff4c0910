//! Where the agents of a run work, from the first session to the last landing.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use autonoe_core::examiner::ClaimPreparation;
use autonoe_core::fault::Fault;
use autonoe_core::hub_refs;
use autonoe_git::write_ref;

use crate::branches::{LandingHold, WorkspaceBranches};
use crate::claim_fetch::{CheckedCommit, ClaimFetch};
use crate::earlier_work::{EarlierWork, Start};
use crate::first_commit::Beginning;
use crate::hub::{Hub, UNUSABLE};
use crate::landing::{InterruptedLanding, Landing, LandingConsent, LandingTarget};
use crate::landing_error::{KnownSince, LandingRefusal};
use crate::leftovers::{Leftovers, Locks};
use crate::merge_queue::MergeQueue;
use crate::own_edits::{OwnEditedFile, OwnFileChange};
use crate::project_files::{NOTE, OWN_DIRECTORY, SPEC};
use crate::project_revision::ProjectRevision;
use crate::settled::Settled;
use crate::site_event::SiteEvent;
use crate::site_options::{LandWhen, SiteOptions};
use crate::worker_site::WorkerSite;
use crate::workspace::Workspace;

/// The workspace of a run, and how far its commits have come.
#[derive(Debug)]
pub struct WorkspaceSite {
    hub: Hub,
    pub workspace: Workspace,
    /// What had to be done before agents could work.
    pub beginning: Option<Beginning>,
    /// A landing that an earlier run had begun, and that is finished now.
    pub finished: Option<SiteEvent>,
    /// What is wrong with the workspace that an earlier run has left.
    pub warning: Option<String>,
    /// The state of the user's repository that the next landing expects.
    from: ProjectRevision,
    options: SiteOptions,
    /// What was settled at the last landing.
    landed: Settled,
    /// Passed deliverables whose commits the user's branch does not have, and that this run does not continue.
    pub lost: BTreeSet<String>,
    /// Whether the user's branch is not as the last landing has left it. What has passed may then not be there any more.
    has_moved: bool,
    /// The commit with the user's uncommitted changes, if it has not landed.
    included: Option<String>,
    last_refusal: Option<SaidRefusal>,
    /// The number of the session that ended last.
    last_session: u32,
    /// The commit that landed last.
    last_landed: Option<String>,
    /// The commit that the branch which the user named had when the run began.
    named_tip: Option<String>,
    /// What is verified was verified on this commit; nothing after it lands.
    checked: CheckedCommit,
    /// The last commit on which all that has passed was checked again.
    confirmed: Option<String>,
    landing_hold: LandingHold,
    /// Whether workers have taken over: what the workspace has is known, and only they change the run's branch.
    is_left: bool,
}

impl WorkspaceSite {
    /// Prepares the workspace of a run, which nobody else may use.
    pub async fn prepare(
        hub: Hub,
        run: i64,
        start: Start,
        mut options: SiteOptions,
        settled: &Settled,
    ) -> Result<Self, Fault> {
        let _turn = hub.landing_turn().await?;
        let (mut from, beginning) = hub.update_or_begin().await?;
        let is_half_landed = hub.unfinished_landing().is_some();
        let (finished, taken_back) = match hub.finish_landing(&from, settled).await? {
            Some(InterruptedLanding::Finished { commit, landing }) => {
                (Some(SiteEvent::of_landing(commit, landing)), None)
            }
            taken_back => (None, taken_back.map(|taken_back| taken_back.to_string())),
        };
        if is_half_landed {
            // What it had written was no change of the user's.
            from = hub.update().await?;
        }
        if let LandingTarget::Branch(wanted) = &options.target {
            hub.check_named_branch(wanted, &from, None).await?;
        }
        let branch = format!("autonoe/{run}");
        let name = &options.workspace().to_owned();
        let mut included = None;
        let existing = hub.described(name, &branch, &from);
        if let Some(file) = options.own_edits.as_ref().filter(|_| existing.exists()) {
            hub.finish_own_commit(&existing, file).await?;
        }
        let earlier = match options.is_throwaway {
            true => Ok(EarlierWork::None),
            false => hub.earlier_work(name, &branch, &from, start).await,
        };
        let is_lost = matches!(earlier, Ok(EarlierWork::LeftBehind(_) | EarlierWork::Rejected))
            || (!settled.passed.is_empty() && hub.is_last_landing_gone(&from).await?);
        let lost = if is_lost { hub.lost(settled, &from).await? } else { BTreeSet::new() };
        let (earlier, warning) = match earlier {
            Ok(EarlierWork::None) => (None, hub.unknown_branches(&options, &from).await?),
            Ok(EarlierWork::Rejected) => (None, None),
            Ok(EarlierWork::Continued(workspace)) => {
                let warning = hub.lands_elsewhere(&workspace, &options.target);
                (Some(workspace), warning)
            }
            Ok(EarlierWork::LeftBehind(warning)) => (None, Some(warning)),
            // Whatever is wrong with it, nothing of it may be lost.
            Err(fault) => {
                let aside = hub.set_aside(name).map_err(|error| hub.unwritable(&error))?;
                let aside = aside.display();
                let warning = format!("{} It was moved to {aside}, and a new one was made.", fault.message);
                (None, Some(warning))
            }
        };
        let warning = taken_back.into_iter().chain(warning).reduce(|all, more| format!("{all} {more}"));
        let workspace = match earlier {
            Some(workspace) => {
                // They would be mixed with the work of the agents; so they are named as left out.
                options.includes_uncommitted &= start == Start::Resumed;
                workspace
            }
            None => {
                let (workspace, _) = hub.workspace(name, &branch, &from).await?;
                if options.slot.is_none() && !options.is_throwaway {
                    hub.forget_merged().map_err(|error| hub.unwritable(&error))?;
                }
                hub.record_begin(&workspace, &from).map_err(|error| hub.unwritable(&error))?;
                match &from.commit {
                    // Nothing of it lands, so it has no branch that would hide the one of an earlier run.
                    Some(commit) if options.is_throwaway => hub.show_checks(commit)?,
                    Some(commit) if options.slot.is_none() => hub.set_current(&workspace, commit)?,
                    Some(_) | None => {}
                }
                hub.copy_included(&workspace, &from).await?;
                if options.is_throwaway || options.includes_uncommitted {
                    let advice = match options.is_throwaway {
                        true => "Make it readable, or name it in .gitignore.",
                        false => "Make it readable, or leave out `--include-uncommitted`.",
                    };
                    hub.copy_uncommitted(&workspace, &from, advice).await?;
                }
                if options.includes_uncommitted && !options.is_throwaway {
                    hub.save_leftovers(&workspace, "Include uncommitted changes", Locks::Stale).await?;
                    included = Some(hub.fetch(&workspace).await?);
                }
                workspace
            }
        };
        if let (LandingTarget::Branch(wanted), Some(start)) = (&options.target, hub.last_fetched(&workspace))
        {
            hub.check_named_branch(wanted, &from, Some(&start)).await?;
        }
        let named_tip = match &options.target {
            LandingTarget::Branch(named) => hub.tip_of_branch(named, &from).await?,
            LandingTarget::CheckedOut => None,
        };
        let has_moved = is_lost || hub.has_moved(&options.target, named_tip.as_deref(), &from);
        if let Some(begin) = from.commit.as_ref().filter(|_| !options.is_throwaway) {
            hub.note_begin(&branch, begin)?;
        }
        let users = included.as_ref().or(from.commit.as_ref());
        // A run that is continued has included uncommitted changes before.
        let is_known = included.is_none() && start == Start::Resumed && options.includes_uncommitted;
        let is_known = is_known && hub.commit_of(hub_refs::USERS).is_some();
        if let Some(users) = users.filter(|_| options.slot.is_none() && !is_known) {
            let written = write_ref(&hub.layout.git_dir(), hub_refs::USERS, users);
            written.map_err(|error| hub.unwritable(&error))?;
        }
        // Deliverables may have passed just before the process was killed, and their commits not landed.
        let landed = hub.settled_at_landing();
        let is_first = landed.is_none() && options.slot.is_none() && !options.is_throwaway;
        let landed = landed.map_or_else(|| settled.clone(), |landed| landed.common(settled));
        if let Some(commit) = from.commit.as_ref().filter(|_| is_first) {
            // What there was before the first run is the user's.
            hub.note_users_own(commit, settled)?;
        }
        let site = Self {
            hub,
            workspace,
            beginning,
            finished,
            warning,
            from,
            options,
            landed,
            lost,
            has_moved,
            included,
            last_refusal: None,
            last_session: 0,
            last_landed: None,
            named_tip,
            checked: CheckedCommit::default(),
            confirmed: None,
            landing_hold: LandingHold::default(),
            is_left: false,
        };
        site.hub.carry_in(&site.workspace, &site.from)?;
        Ok(site)
    }

    /// Gives the next session SPEC.md as the user has it now: where the sandbox cannot keep agents from changing it, an earlier session may have.
    pub fn renew_spec(&self) -> Result<(), Fault> {
        self.hub.renew_spec(&self.workspace, &self.from)
    }

    /// Fetches the commits of a claim before it is examined; `None` if nothing comes home.
    pub fn claim_preparation(&self) -> Option<Arc<dyn ClaimPreparation>> {
        let preparation = ClaimFetch {
            hub: self.hub.clone(),
            workspace: self.workspace.clone(),
            saves_first: self.hub.made_repository(),
            checked: self.checked.clone(),
        };
        (!self.options.is_throwaway).then(|| Arc::new(preparation) as _)
    }

    /// For several approaches from one commit; `None` if nothing comes home.
    pub fn branches(&self) -> Option<WorkspaceBranches> {
        let branches = WorkspaceBranches {
            hub: self.hub.clone(),
            workspace: self.workspace.clone(),
            from: self.from.clone(),
            name: self.options.workspace().to_owned(),
            checked: self.checked.clone(),
            landing_hold: self.landing_hold.clone(),
        };
        (!self.options.is_throwaway).then_some(branches)
    }

    /// Workers that build several deliverables at the same time, each in the workspace of its name. They continue what an earlier run has
    /// left there unfinished.
    pub async fn workers(&self, names: &[String]) -> Result<Vec<WorkerSite>, Fault> {
        let mut workers = WorkerSite::all(&self.queue(), names);
        for worker in &mut workers {
            worker.adopt_unfinished().await?;
        }
        if let Some(first) = workers.first() {
            first.make_ahead().await;
        }
        Ok(workers)
    }

    fn queue(&self) -> Arc<MergeQueue> {
        Arc::new(MergeQueue {
            hub: self.hub.clone(),
            run: self.workspace.clone(),
            from: self.from.clone(),
            checked: self.checked.clone(),
            turn: Default::default(),
        })
    }

    /// Deliverables that workers of an earlier run have begun and not finished, for a run that has none.
    pub async fn begun_by_workers(&self, settled: &Settled) -> Result<Vec<String>, Fault> {
        let entries = fs::read_dir(self.hub.layout.workspaces()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("worker-")).collect();
        names.sort();
        let mut begun = Vec::new();
        for worker in WorkerSite::all(&self.queue(), &names) {
            begun.extend(worker.begun_before().await?.filter(|id| !settled.passed.contains(id)));
        }
        Ok(begun)
    }

    /// Makes the run's own workspace ready for a session, if workers have finished something since. None of them may be at work.
    pub async fn catch_up(&mut self) -> Result<(), Fault> {
        if self.hub.is_behind(&self.workspace) {
            self.restore().await?;
        }
        self.is_left = false;
        self.hub.forget_merged().map_err(|error| self.hub.unwritable(&error))
    }

    /// From now on only workers change the run's branch. They begin with all that is in its own workspace.
    pub async fn leave(&mut self) -> Result<Vec<SiteEvent>, Fault> {
        if self.is_left {
            return Ok(Vec::new());
        }
        let home = self.bring_home(Some("Save uncommitted work")).await?;
        self.is_left = true;
        Ok(home.events)
    }

    /// Names of the user's uncommitted files, which are not in the workspace.
    pub fn left_out(&self) -> impl Iterator<Item = &str> {
        let is_ours = |name: &str| {
            name.split('/').any(|part| part == OWN_DIRECTORY) || name.ends_with(NOTE) || name.ends_with(SPEC)
        };
        let is_left_out = !self.options.is_throwaway && !self.options.includes_uncommitted;
        let names = self.from.uncommitted.iter().map(String::as_str);
        names.filter(move |name| is_left_out && !is_ours(name))
    }

    /// Brings what the workspace has committed into the hub, where checks find it. What cannot be used is reported when the session ends.
    pub async fn fetch(&self) -> Result<(), Fault> {
        if self.options.is_throwaway || self.is_left {
            return Ok(());
        }
        match self.hub.fetch_new(&self.workspace).await {
            Err(fault) if fault.code != UNUSABLE => Err(fault),
            _ => Ok(()),
        }
    }

    /// Notes what was verified since the last call, before it is looked at again on a later commit.
    pub(crate) fn note_first_verified(&self, settled: &Settled) -> Result<(), Fault> {
        match self.options.slot.is_some() || self.options.is_throwaway {
            true => Ok(()),
            false => self.hub.note_first_verified(settled),
        }
    }

    /// Whether what has passed must be checked again before anything is built on it.
    pub(crate) fn must_look_first(&self, settled: &Settled) -> bool {
        let may_look = self.options.slot.is_none() && !self.options.is_throwaway;
        may_look && self.has_moved && !settled.passed.is_empty()
    }

    /// Whether what has passed must be checked again before it lands, because there are commits since.
    pub(crate) fn must_confirm(&self, settled: &Settled) -> bool {
        let last = self.hub.last_fetched(&self.workspace);
        !self.options.is_throwaway
            && !settled.verified.is_empty()
            && self.has_more_to_land(settled)
            && (self.checked.get() != last || last.is_some_and(|last| !self.is_verified_on(&last, settled)))
    }

    /// Whether all that would land as verified was verified on this commit, and not on an earlier one. A later claim may have failed on it.
    fn is_verified_on(&self, commit: &str, settled: &Settled) -> bool {
        // The merge queue of workers checks each commit that it accepts.
        let mut new = settled.verified_on.iter().filter(|(id, _)| !self.landed.verified.contains(*id));
        let follows = |found: &str| {
            self.hub.layout.with_own_commits(vec![found.to_owned()]).iter().any(|own| own == commit)
        };
        self.is_left || new.all(|(_, found)| follows(found))
    }

    /// All that is verified was verified on the commit that was fetched last.
    pub(crate) fn confirmed(&mut self) {
        self.confirmed = self.hub.last_fetched(&self.workspace);
        self.checked.set(self.confirmed.clone());
    }

    /// What had passed may have failed since: it can then land once more.
    pub(crate) fn lower(&mut self, settled: &Settled) {
        self.landed = self.landed.common(settled);
    }

    /// Whether an earlier process has fetched more than it has landed.
    pub(crate) fn has_earlier_to_land(&self, settled: &Settled) -> bool {
        let last = self.hub.last_fetched(&self.workspace);
        !self.options.is_throwaway
            && self.has_more_to_land(settled)
            && last.is_some_and(|last| !self.has_landed(&last))
    }

    pub(crate) async fn land_earlier(&mut self, settled: &Settled) -> Result<Vec<SiteEvent>, Fault> {
        let mut events = Vec::new();
        if let Some(last) = self.hub.last_fetched(&self.workspace).filter(|_| self.has_more_to_land(settled))
        {
            events.extend(self.land(&last, settled, LandingConsent::default()).await?);
            events.extend(self.land_own_edits(settled).await?);
        }
        Ok(events)
    }

    /// Saves what a session has done, and lands it if it is time.
    pub async fn session_ended(&mut self, number: u32, settled: &Settled) -> Result<Vec<SiteEvent>, Fault> {
        if self.options.is_throwaway {
            return Ok(self.hub.carry_note_home(&self.workspace)?.into_iter().collect());
        }
        self.last_session = number;
        let is_time = self.has_more_to_land(settled);
        // What is not committed is for the next session to continue, unless something lands that no check has seen anyway.
        let save = (is_time && settled.verified.is_empty())
            .then(|| format!("Save uncommitted work of session {number}"));
        self.hub.make_writable(&self.workspace).await?;
        let mut home = self.bring_home(save.as_deref()).await?;
        if let Some(commit) = home.commit.take() {
            if is_time {
                home.events.extend(self.land(&commit, settled, LandingConsent::default()).await?);
            }
            if is_time || self.has_landed(&commit) {
                home.events.extend(self.land_own_edits(settled).await?);
            }
        }
        if home.is_unusable {
            // Whatever the agent did to its workspace, the next session gets one that works.
            self.restore().await?;
        }
        Ok(home.events)
    }

    /// Makes a workspace that cannot be used anew, from the last commit that was fetched from it.
    async fn restore(&self) -> Result<(), Fault> {
        let last = self.hub.last_fetched(&self.workspace);
        let last = last.map_or_else(|| self.from.clone(), |commit| self.from.at(&commit));
        self.hub.workspace(self.options.workspace(), self.workspace.branch(), &last).await?;
        self.hub.carry_in(&self.workspace, &self.from)
    }

    /// Saves what is left at the end of a run. Commits that have not landed are put on a branch of their own.
    pub async fn run_ended(&mut self, settled: &Settled) -> Result<Vec<SiteEvent>, Fault> {
        if self.options.is_throwaway {
            self.hub.forget_verified(settled)?;
            return Ok(self.hub.carry_note_home(&self.workspace)?.into_iter().collect());
        }
        // What was refused sessions ago, and is again, is said once more, where the user looks first.
        self.last_refusal.take_if(|refusal| refusal.session != self.last_session);
        let mut events = Vec::new();
        if !settled.verified.is_empty()
            && (self.has_more_to_land(settled) || self.options.when == LandWhen::End)
            && let Some(checked) = self.last_checked(settled)
        {
            events.extend(self.land(&checked, settled, LandingConsent::default()).await?);
        }
        let Home { events: more, commit, .. } =
            self.bring_home(Some("Save uncommitted work of the last session")).await?;
        events.extend(more);
        if !settled.passed.is_subset(&settled.verified) && !self.is_left {
            let files = self.hub.ignored_work(&self.workspace).await?;
            events.extend((!files.is_empty()).then_some(SiteEvent::Ignored { files }));
        }
        // If it fails, the next run takes a moment longer.
        let _ = self.hub.settle(&self.workspace).await;
        let Some(commit) = commit.filter(|commit| !self.has_landed(commit)) else {
            events.extend(self.land_own_edits(settled).await?);
            self.hub.remove_merged_branches(&self.from).await?;
            return Ok(events);
        };
        let is_time = match settled.verified.is_empty() {
            true => self.has_more_to_land(settled) || self.options.when == LandWhen::End,
            // It is what an earlier run has left, and all that is verified was verified on it now.
            false => self.is_confirmed(&commit, settled),
        };
        if self.is_landing_own_edits(&commit).await? {
            events.extend(self.land_own_edits(settled).await?);
        } else if is_time {
            events.extend(self.land(&commit, settled, LandingConsent::default()).await?);
            events.extend(self.land_own_edits(settled).await?);
        } else if self.last_refusal.is_none() {
            let why = match self.options.when {
                LandWhen::Never => LandingRefusal::NotWanted,
                LandWhen::Passed => LandingRefusal::NotPassed,
                LandWhen::Verified => LandingRefusal::NotVerified,
                LandWhen::End => LandingRefusal::NotConfirmed,
            };
            let (branch, why) = self.hub.leave_apart(&self.workspace, &commit, &self.from, why).await?;
            self.note_apart(&commit, settled)?;
            events.push(SiteEvent::Apart { branch, commit, why });
        }
        Ok(events)
    }

    /// The last commit on which all that is verified was verified. A look at the end of the run, after the last claim, counts too.
    fn last_checked(&self, settled: &Settled) -> Option<String> {
        let is_all = |commit: &String| {
            !settled.verified_on.is_empty() && settled.verified_on.values().all(|found| found == commit)
        };
        let tip = self.hub.last_fetched(&self.workspace).filter(is_all);
        let tip = tip.filter(|_| self.options.when == LandWhen::End);
        tip.or_else(|| self.checked.get().filter(|checked| self.is_verified_on(checked, settled)))
    }

    /// Fetches what the workspace has committed, after what it has not committed was saved, if there is a message for that. Whatever cannot be
    /// used is named, and does not prevent the rest.
    async fn bring_home(&self, save: Option<&str>) -> Result<Home, Fault> {
        if self.is_left {
            return Ok(Home { commit: self.hub.last_fetched(&self.workspace), ..Home::default() });
        }
        let mut home = Home::default();
        let mut git_works = false;
        if let Some(message) = save {
            let saved = self.hub.save_leftovers(&self.workspace, message, Locks::Stale).await;
            git_works = saved.is_ok();
            match saved {
                Ok(Leftovers { saved: 0, left }) if left.is_empty() => {}
                Ok(Leftovers { saved, left }) => home.events.push(SiteEvent::Saved { files: saved, left }),
                Err(fault) => home.unusable(fault)?,
            }
        }
        let fetched = match git_works {
            true => self.hub.fetch_new(&self.workspace).await,
            false => self.hub.fetch(&self.workspace).await,
        };
        match fetched {
            Ok(commit) => home.commit = Some(commit),
            Err(fault) => {
                home.unusable(fault)?;
                home.is_unusable = true;
                home.commit = self.hub.last_fetched(&self.workspace);
            }
        }
        home.events.extend(self.hub.carry_note_home(&self.workspace)?);
        Ok(home)
    }

    /// Whether more deliverables have come as far as a landing needs than at the last one.
    fn has_more_to_land(&self, settled: &Settled) -> bool {
        match self.options.when {
            _ if self.landing_hold.is_on() => false,
            LandWhen::Passed => !settled.passed.is_subset(&self.landed.passed),
            LandWhen::Verified => !settled.verified.is_subset(&self.landed.verified),
            LandWhen::End | LandWhen::Never => false,
        }
    }

    /// Whether all that is verified was verified on this commit, and nothing else decides when it lands: commits for what has not passed land
    /// when it does.
    fn is_confirmed(&self, commit: &str, settled: &Settled) -> bool {
        let is_all =
            settled.not_passed.is_empty() && settled.verified_on.values().all(|found| found == commit);
        let is_time = matches!(self.options.when, LandWhen::Passed | LandWhen::Verified);
        is_time && is_all && !self.landing_hold.is_on() && self.confirmed.as_deref() == Some(commit)
    }

    /// Lands what an earlier process of the run has edited and not landed, before the first session.
    pub(crate) async fn land_left_own_edits(
        &mut self,
        settled: &Settled,
    ) -> Result<Option<SiteEvent>, Fault> {
        match self.last_session {
            0 => self.land_own_edits(settled).await,
            _ => Ok(None),
        }
    }

    /// The user's uncommitted files that the run itself has edited, in an earlier process, are not the user's changes.
    pub async fn know_own_edits(&mut self) -> Result<(), Fault> {
        if let (Some(file), Some(commit)) = (&self.options.own_edits, &self.from.commit)
            && let Some((name, _)) = self.hub.own_edits(&self.workspace, commit, file).await?
        {
            self.from.uncommitted.retain(|uncommitted| *uncommitted != name);
        }
        Ok(())
    }

    /// Lands what the run itself has edited, once all else has landed. That is said only if it does not land: the edits are in the user's
    /// file already.
    async fn land_own_edits(&mut self, settled: &Settled) -> Result<Option<SiteEvent>, Fault> {
        let is_wanted = self.options.when != LandWhen::Never;
        let (Some(file), Some(landed)) =
            (self.options.own_edits.clone().filter(|_| is_wanted), self.from.commit.clone())
        else {
            return Ok(None);
        };
        let last = self.hub.last_fetched(&self.workspace);
        let commit = match last.filter(|last| *last != landed) {
            // A process was killed before it landed.
            Some(last) => self.is_landing_own_edits(&last).await?.then_some(last),
            None => self.hub.commit_own_edits(&self.workspace, &landed, &file).await?,
        };
        let Some(commit) = commit else { return Ok(None) };
        self.follow_checked(&landed, &commit);
        let consent = LandingConsent { protected: true, ..LandingConsent::default() };
        let event = self.land(&commit, settled, consent).await?;
        Ok(event.filter(|event| !matches!(event, SiteEvent::Landed { .. })))
    }

    /// Whether all that has not landed is a commit of ours.
    async fn is_landing_own_edits(&self, commit: &str) -> Result<bool, Fault> {
        match (&self.options.own_edits, &self.from.commit) {
            (Some(file), Some(landed)) => self.hub.is_own_commit(&self.workspace, commit, landed, file).await,
            (_, _) => Ok(false),
        }
    }

    async fn land(
        &mut self,
        commit: &str,
        settled: &Settled,
        consent: LandingConsent,
    ) -> Result<Option<SiteEvent>, Fault> {
        let mut commit = commit.to_owned();
        if self.has_landed(&commit) {
            return Ok(None);
        }
        // The user's files are as this commit has them, which a later one may have changed further.
        if let Some(included) = self.included.take().filter(|included| *included != commit)
            && let Landing::Landed { .. } = self.try_landing(&included, consent).await?
            && self.options.target == LandingTarget::CheckedOut
        {
            self.from.commit = Some(included);
        }
        let broken = self.broken(settled).await?;
        let landing = match self.own_file_change(&commit, consent).await? {
            _ if !broken.is_empty() => self.refuse(&commit, LandingRefusal::Broken(broken)).await?,
            Some((file, OwnFileChange::Agents)) => {
                let why = LandingRefusal::UsersOwn(file.0.name().display().to_string());
                self.refuse(&commit, why).await?
            }
            Some((file, OwnFileChange::Own)) => {
                // The user's file may have more of the run's edits than the commit.
                if let Some(own) = self.hub.commit_own_edits(&self.workspace, &commit, &file).await? {
                    self.follow_checked(&commit, &own);
                    commit = own;
                }
                self.try_landing(&commit, consent).await?
            }
            Some((_, OwnFileChange::None)) | None => self.try_landing(&commit, consent).await?,
        };
        let event = SiteEvent::of_landing(commit.clone(), landing);
        match &event {
            SiteEvent::Apart { why, .. } => {
                if self.last_refusal.as_ref().is_some_and(|said| said.why == *why) {
                    return Ok(None);
                }
                self.last_refusal = Some(SaidRefusal { why: why.clone(), session: self.last_session });
                self.note_apart(&commit, settled)?;
            }
            _ => {
                if self.options.target == LandingTarget::CheckedOut {
                    self.from.commit = Some(commit.clone());
                }
                self.landed = settled.clone();
                self.last_landed = Some(commit.clone());
                self.note_landing(&commit)?;
                self.last_refusal = None;
            }
        }
        Ok(Some(event))
    }

    /// An agent in a slot has no deliverables.
    fn note_apart(&self, commit: &str, settled: &Settled) -> Result<(), Fault> {
        match self.options.slot {
            None => self.hub.note_apart(commit, settled),
            Some(_) => Ok(()),
        }
    }

    fn note_landing(&self, commit: &str) -> Result<(), Fault> {
        if let LandingTarget::Branch(branch) = &self.options.target {
            return self.hub.note_landing_on(branch, commit, &self.landed);
        }
        // An agent in a slot has no deliverables.
        let landed = match self.options.slot {
            None => self.landed.clone(),
            Some(_) => self.hub.settled_at_landing().unwrap_or_default(),
        };
        self.hub.note_landing(self.from.branch.as_deref(), commit, &landed)
    }

    /// The file that only the user and the run edit, and what commits that have not landed change in it.
    async fn own_file_change(
        &self,
        commit: &str,
        consent: LandingConsent,
    ) -> Result<Option<(OwnEditedFile, OwnFileChange)>, Fault> {
        let Some(file) = self.options.own_edits.clone().filter(|_| !consent.protected) else {
            return Ok(None);
        };
        let landed = self.from.commit.as_deref();
        let change = self.hub.own_file_change(&self.workspace, landed, commit, &file).await?;
        Ok(Some((file, change)))
    }

    /// What the checked-out branch has, verified, and does not count as passed with the commits that are to land.
    async fn broken(&self, settled: &Settled) -> Result<Vec<String>, Fault> {
        match self.options.target {
            LandingTarget::CheckedOut => {
                self.hub.broken_since_landing(self.from.commit.as_deref(), settled).await
            }
            LandingTarget::Branch(_) => Ok(Vec::new()),
        }
    }

    async fn refuse(&self, commit: &str, why: LandingRefusal) -> Result<Landing, Fault> {
        let (branch, why) = self.hub.leave_apart(&self.workspace, commit, &self.from, why).await?;
        Ok(Landing::Apart { branch, why })
    }

    /// A commit of the run itself changes nothing that checks look at.
    fn follow_checked(&self, before: &str, own: &str) {
        if self.checked.get().is_some_and(|checked| checked == before) {
            self.checked.set(Some(own.to_owned()));
        }
    }

    async fn try_landing(&self, commit: &str, consent: LandingConsent) -> Result<Landing, Fault> {
        let had = self.last_landed.as_ref().map(|landed| (landed, KnownSince::Landing));
        let had = had.or(self.named_tip.as_ref().map(|tip| (tip, KnownSince::Begin)));
        if let (LandingTarget::Branch(named), Some((had, since))) = (&self.options.target, had)
            && let Some(why) = self.hub.why_not_on_branch(named, had, since, &self.from).await?
        {
            let (branch, why) = self.hub.leave_apart(&self.workspace, commit, &self.from, why).await?;
            return Ok(Landing::Apart { branch, why });
        }
        self.hub.land(&self.workspace, commit, &self.from, &self.options.target, consent).await
    }

    fn has_landed(&self, commit: &String) -> bool {
        [&self.from.commit, &self.last_landed].into_iter().any(|landed| landed.as_ref() == Some(commit))
    }
}

/// Why commits did not land, and the session after which the user was informed of it.
#[derive(Debug)]
struct SaidRefusal {
    why: LandingRefusal,
    session: u32,
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
