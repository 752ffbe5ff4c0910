//! Commits that no check has seen, although something is verified: of the last run, and on the user's branch.

use autonoe_core::check::Assurance;
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::fault::Fault;
use autonoe_core::status::ProjectStatus;
use autonoe_store::{Project, StatusStore};
use autonoe_verify::{disown_foreign_findings, last_commit};
use autonoe_workspace::{CheckedPart, HubLayout, RunTip};
use serde::Serialize;

use crate::environment::Environment;
use crate::open_hub::open_hub;
use crate::present::short;
use crate::system::runtime;

/// What `autonoe status` says about them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnseenCommits {
    pub branch: String,
    /// `None` if git could not count them.
    pub commits: Option<usize>,
    /// The last commit on which checks have passed.
    pub checked: Option<String>,
    /// Those that are not on the user's branch, whether checks have seen them or not.
    pub unlanded: Option<usize>,
    /// Whether `autonoe land --checked` has something to land.
    #[serde(skip)]
    is_checked_part_waiting: bool,
}

impl UnseenCommits {
    /// `None` if all commits of the last run have landed, and checks have seen them or nothing is verified.
    pub fn of_last_run(project: &Project, status: &ProjectStatus, environment: &Environment) -> Option<Self> {
        let verified = verified_commits(status);
        let RunTip { branch, commit } = HubLayout::in_state(project.state_dir()).runs().next()?;
        let is_checked = verified.is_empty() || verified.contains(&commit);
        // The usual case needs no git.
        if is_checked && last_commit(project.root()).as_ref() == Some(&commit) {
            return None;
        }
        let counted = runtime().and_then(|runtime| {
            runtime.block_on(async {
                let hub = open_hub(project, environment).await?;
                hub.checked_part(&commit, last_commit(project.root()).as_deref(), &verified).await
            })
        });
        match counted {
            Ok(CheckedPart { commit, unlanded, unseen }) if unseen > 0 && !is_checked => Some(Self {
                branch,
                commits: Some(unseen),
                unlanded: Some(unlanded),
                is_checked_part_waiting: commit.is_some() && unseen < unlanded,
                checked: commit,
            }),
            Ok(CheckedPart { commit, unlanded, .. }) => (unlanded > 0).then_some(Self {
                branch,
                commits: Some(0),
                unlanded: Some(unlanded),
                is_checked_part_waiting: true,
                checked: commit,
            }),
            // Whatever prevents it, the tip is not what was checked.
            Err(_) => (!is_checked).then_some(Self {
                branch,
                commits: None,
                unlanded: None,
                checked: None,
                is_checked_part_waiting: false,
            }),
        }
    }

    pub fn sentence(&self) -> String {
        if let (Some(0), Some(unlanded)) = (self.commits, self.unlanded) {
            return format!(
                "Branch {} has {unlanded} commit(s) that have not landed: `autonoe diff` shows them, `autonoe land` lands them",
                self.branch
            );
        }
        let commits = self.commits.map_or_else(|| "commits".to_owned(), |count| format!("{count} commit(s)"));
        let checked = self.checked.as_ref().map(|commit| format!(" after {}", short(commit)));
        let advice = match self.is_checked_part_waiting {
            true => "`autonoe land --checked` lands only what was checked",
            false => "the next `autonoe run` checks them",
        };
        let checked = checked.unwrap_or_default();
        format!("Branch {} has {commits}{checked} that no check has seen; {advice}", self.branch)
    }
}

/// The last commit on the user's branch, if something is verified, but nothing on that commit. Whoever made it: the user, or an agent.
pub fn unseen_head(project: &Project, status: &ProjectStatus) -> Option<String> {
    let verified = verified_commits(status);
    last_commit(project.root()).filter(|head| !verified.is_empty() && !verified.contains(head))
}

/// The commits on which something was verified that still counts.
pub fn verified_commits(status: &ProjectStatus) -> Vec<String> {
    let passed = status.active().filter(|item| item.status == DeliverableStatus::Passed);
    let findings = passed.filter_map(|item| item.finding.as_ref());
    let verified = findings.filter(|finding| finding.assurance == Assurance::Verified);
    verified.filter_map(|finding| finding.commit.clone()).collect()
}

/// The same, as the project's files say now.
pub fn verified_commits_of(project: &Project) -> Result<Vec<String>, Fault> {
    let Some(mut status) = StatusStore::read(project)? else { return Ok(Vec::new()) };
    disown_foreign_findings(project, &mut status)?;
    Ok(verified_commits(&status))
}
