//! Commits that no check has seen, although something is verified: of the last run, and on the user's branch.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use autonoe_core::check::Assurance;
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::fault::Fault;
use autonoe_core::status::ProjectStatus;
use autonoe_files::{DOCUMENT_LIMIT, read_text};
use autonoe_sandbox::Repository;
use autonoe_store::{Project, StatusStore};
use autonoe_verify::{disown_foreign_findings, last_commit};
use autonoe_workspace::{CheckedPart, HubLayout, LandingRefusal, RunTip, Unlanded};
use serde::Serialize;

use crate::environment::Environment;
use crate::open_hub::open_hub;
use crate::present::short;
use crate::system::runtime;

/// Everything that `autonoe status` and the report say about them.
#[derive(Debug, Default)]
pub struct UnseenWork {
    pub commits: Option<UnseenCommits>,
    /// The user's last commit, if nothing was verified on it.
    pub head: Option<String>,
    /// Whether commits were verified and there is no repository any more.
    pub has_no_repository: bool,
    /// The user's last commit, if something was verified on it, and what was verified on earlier ones.
    pub older: Option<(String, Vec<String>)>,
}

impl UnseenWork {
    pub fn of(project: &Project, status: Option<&ProjectStatus>, environment: &Environment) -> Self {
        Self {
            commits: UnseenCommits::of_last_run(project, status, environment),
            head: status.and_then(|status| unseen_head(project, status)),
            has_no_repository: status.is_some_and(|status| {
                !verified_commits(project, status).is_empty()
                    && Repository::around(project.root()).directories.is_empty()
            }),
            older: status.and_then(|status| verified_on_older(project, status)),
        }
    }

    /// Without full stops.
    pub fn sentences(&self) -> Vec<String> {
        let unseen = match (&self.commits, &self.head) {
            (Some(commits), _) => Some(commits.sentence()),
            (None, Some(head)) => Some(format!(
                "Nothing was verified on your last commit, {}; the next `autonoe run` checks it",
                short(head)
            )),
            (None, None) => None,
        };
        let older = self.older.as_ref().map(|(head, ids)| {
            format!(
                "Verified on another commit than your last one, {}: {}; the next `autonoe run` checks it again",
                short(head),
                ids.join(", ")
            )
        });
        let gone = self.has_no_repository.then(|| {
            "There is no repository here any more, so nothing shows that your files are what was verified"
                .to_owned()
        });
        unseen.into_iter().chain(gone).chain(older).collect()
    }
}

/// Commits of the last run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UnseenCommits {
    /// In the user's repository, or else in the hub.
    pub branch: String,
    /// Further branches with commits that have not landed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// `None` if git could not count them; 0 if checks have seen all, and some have not landed.
    pub commits: Option<usize>,
    /// The last commit on which checks have passed.
    pub checked: Option<String>,
    /// Whether some had landed, and the user has removed them from the branch since.
    #[serde(skip)]
    had_landed: bool,
    /// Whether the user's repository has the branch.
    #[serde(skip)]
    has_branch: bool,
    /// Whether `autonoe land` lands them or says what is in the way; otherwise git must merge them.
    #[serde(skip)]
    is_for_land: bool,
    /// Whether they have no commit in common with it.
    #[serde(skip)]
    is_unrelated: bool,
    /// Whether `autonoe land --checked` has something to land.
    #[serde(skip)]
    is_checked_part_waiting: bool,
}

impl UnseenCommits {
    /// `None` if all commits of the last run have landed, and checks have seen them or nothing is verified.
    fn of_last_run(
        project: &Project,
        status: Option<&ProjectStatus>,
        environment: &Environment,
    ) -> Option<Self> {
        let verified = status.map(|status| verified_commits(project, status)).unwrap_or_default();
        let Some(RunTip { branch, commit }) = HubLayout::in_state(project.state_dir()).runs().next() else {
            // The project may have been moved: then only its branches tell of runs.
            let found = has_branches_of_runs(project.root()).then(|| unlanded(project, environment));
            return found?.ok().flatten().map(Self::unlanded);
        };
        let is_checked = verified.is_empty() || verified.contains(&commit);
        // The usual case needs no git.
        let is_landed = last_commit(project.root()).as_ref() == Some(&commit);
        if is_checked && is_landed && !has_branches_of_runs(project.root()) {
            return None;
        }
        let found = runtime().and_then(|runtime| {
            runtime.block_on(async {
                let hub = open_hub(project, environment).await?;
                let unlanded = hub.unlanded().await?;
                if is_checked {
                    return Ok(unlanded.map(Self::unlanded));
                }
                let part =
                    hub.checked_part(&commit, last_commit(project.root()).as_deref(), &verified).await?;
                let waiting = unlanded.filter(|unlanded| unlanded.commit == commit);
                let users_branch = waiting.and_then(|unlanded| unlanded.users_branch);
                Ok((part.unseen > 0).then(|| Self::unseen(&branch, users_branch, &part)))
            })
        });
        // Whatever prevents it, the tip is not what was checked.
        found.unwrap_or_else(|_| (!is_checked).then(|| Self { branch, ..Self::default() }))
    }

    fn unlanded(unlanded: Unlanded) -> Self {
        let Unlanded { had_landed, is_for_land, is_unrelated, .. } = unlanded;
        let Unlanded { branch, users_branch, mut others, .. } = unlanded;
        let has_branch = users_branch.is_some();
        let branch = users_branch.unwrap_or(branch);
        others.retain(|other| *other != branch);
        Self {
            branch,
            others,
            commits: Some(0),
            had_landed,
            has_branch,
            is_for_land,
            is_unrelated,
            ..Self::default()
        }
    }

    fn unseen(branch: &str, users_branch: Option<String>, part: &CheckedPart) -> Self {
        Self {
            has_branch: users_branch.is_some(),
            branch: users_branch.unwrap_or_else(|| branch.to_owned()),
            commits: Some(part.unseen),
            is_checked_part_waiting: part.commit.is_some() && part.unseen < part.unlanded,
            checked: part.commit.clone(),
            ..Self::default()
        }
    }

    /// Such as "Branch autonoe/7 has", or "Run 7 has" if the user's repository has no such branch.
    fn who_has(&self) -> String {
        let run = self.branch.trim_start_matches("autonoe/");
        let others = self.others.join(", ");
        match (self.has_branch, others.is_empty()) {
            (true, true) => format!("Branch {} has", self.branch),
            (true, false) => format!("Branches {}, {others} have", self.branch),
            (false, true) => format!("Run {run} has"),
            (false, false) => format!("Run {run} and {others} have"),
        }
    }

    fn sentence(&self) -> String {
        if self.commits == Some(0) {
            let not_there = match self.had_landed {
                true => "had landed and that your branch no longer has",
                false => "have not landed",
            };
            let land = match self.is_for_land {
                _ if !self.others.is_empty() || self.had_landed => String::new(),
                true => ", `autonoe land` lands them or says what is in the way".to_owned(),
                false if self.has_branch => {
                    let why = match self.is_unrelated {
                        true => LandingRefusal::Unrelated,
                        false => LandingRefusal::Diverged,
                    };
                    format!(", `{}` merges them", why.advice(&self.branch))
                }
                false => String::new(),
            };
            return format!("{} commits that {not_there}: `autonoe diff` shows them{land}", self.who_has());
        }
        let commits = self.commits.map_or_else(|| "commits".to_owned(), |count| format!("{count} commit(s)"));
        let checked = self.checked.as_ref().map(|commit| format!(" after {}", short(commit)));
        let advice = match self.is_checked_part_waiting {
            true => "`autonoe land --checked` lands only what was checked",
            false => "the next `autonoe run` checks them",
        };
        let checked = checked.unwrap_or_default();
        format!("{} {commits}{checked} that no check has seen; {advice}", self.who_has())
    }
}

/// The commits of earlier runs that have not landed.
fn unlanded(project: &Project, environment: &Environment) -> Result<Option<Unlanded>, Fault> {
    runtime()?.block_on(async { open_hub(project, environment).await?.unlanded().await })
}

/// That a killed run has left commits which are not in the hub; `None` if it has not.
pub fn left_in_workspace(project: &Project) -> Option<&'static str> {
    HubLayout::in_state(project.state_dir()).has_commits_in_workspace().then_some(
        "A run that was killed left commits in its workspace; the next `autonoe run` continues them",
    )
}

/// What a killed process has left, a sentence each.
pub fn left_by_kill(project: &Project) -> Vec<&'static str> {
    let hub = HubLayout::in_state(project.state_dir());
    let landing = hub.begin_of_unfinished_landing().map(|begin| match begin == last_commit(project.root()) {
        true => {
            "A landing was interrupted, so your files are only partly as after it; `autonoe land` finishes it"
        }
        false => {
            "A landing was interrupted, so your files are only partly as after it; your branch has moved since, so `autonoe land` takes back what it had written"
        }
    });
    landing.into_iter().chain(left_in_workspace(project)).collect()
}

/// Whether a repository may have branches of runs that are not merged.
fn has_branches_of_runs(root: &Path) -> bool {
    let Some(shared) = Repository::around(root).directories.first().cloned() else { return false };
    let heads = shared.join("refs/heads");
    let is_of_run = |name: &OsStr| name.to_str().is_some_and(|name| name.starts_with("autonoe"));
    let loose =
        fs::read_dir(heads).into_iter().flatten().flatten().any(|entry| is_of_run(&entry.file_name()));
    let packed = read_text(&shared.join("packed-refs"), DOCUMENT_LIMIT).ok().flatten();
    loose || packed.is_some_and(|refs| refs.contains(" refs/heads/autonoe"))
}

/// The last commit on the user's branch, if something is verified, but nothing on that commit. It may be by the user, or an agent.
fn unseen_head(project: &Project, status: &ProjectStatus) -> Option<String> {
    let verified = verified_commits(project, status);
    last_commit(project.root()).filter(|head| !verified.is_empty() && !verified.contains(head))
}

/// The user's last commit, if something was verified on it, with the ids of what was verified on other commits; `None` if there is nothing.
fn verified_on_older(project: &Project, status: &ProjectStatus) -> Option<(String, Vec<String>)> {
    let verified: Vec<(&str, &str)> = status
        .active()
        .filter(|item| item.assurance() == Some(Assurance::Verified))
        .filter_map(|item| Some((item.id.as_str(), item.finding.as_ref()?.commit.as_deref()?)))
        .collect();
    let head = last_commit(project.root())?;
    let (on_head, older): (Vec<_>, Vec<_>) = verified.into_iter().partition(|(_, commit)| *commit == head);
    let ids: Vec<String> = older.into_iter().map(|(id, _)| id.to_owned()).collect();
    (!on_head.is_empty() && !ids.is_empty()).then_some((head, ids))
}

/// The commits on which something was verified that still counts, and those of ours on top of them, which no check looks at.
pub fn verified_commits(project: &Project, status: &ProjectStatus) -> Vec<String> {
    let passed = status.active().filter(|item| item.status == DeliverableStatus::Passed);
    let findings = passed.filter_map(|item| item.finding.as_ref());
    let verified = findings.filter(|finding| finding.assurance == Assurance::Verified);
    let verified = verified.filter_map(|finding| finding.commit.clone()).collect();
    HubLayout::in_state(project.state_dir()).with_own_commits(verified)
}

/// The same, as the project's files say now.
pub fn verified_commits_of(project: &Project) -> Result<Vec<String>, Fault> {
    let Some(mut status) = StatusStore::read(project)? else { return Ok(Vec::new()) };
    disown_foreign_findings(project, &mut status)?;
    Ok(verified_commits(project, &status))
}
