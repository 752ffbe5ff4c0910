//! Several approaches of one run: its workspace is made anew for each of them from the same commit, and what each has committed is kept in
//! the hub under a ref of its own. So there is never a second workspace that could be left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use autonoe_core::fault::Fault;
use autonoe_git::write_ref;

use crate::claim_fetch::CheckedCommit;
use crate::hub::{Hub, UNUSABLE};
use crate::leftovers::Locks;
use crate::project_revision::ProjectRevision;
use crate::workspace::Workspace;
use crate::workspace_preparation::Preparation;

const REFS: &str = "refs/explored";

/// Characters of a commit in the name of a ref, which therefore never names another commit later.
const SHOWN_COMMIT: usize = 10;

/// The changes between two commits `$2` and `$3` of the repository `$1`: counted for each file, and then as a patch.
const DIFF: &str = r#"export GIT_DIR="$1" GIT_PAGER=cat
git diff --no-color --no-ext-diff --no-textconv --no-renames --numstat "$2" "$3" && echo &&
git diff --no-color --no-ext-diff --no-textconv --no-renames "$2" "$3""#;

/// Bytes of a patch that are read.
const MAX_PATCH: usize = 60_000;

/// What was changed between two commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitDiff {
    /// Lines added and removed. Those of binary files are not counted.
    pub lines: usize,
    /// Names of the changed files, as git writes them.
    pub files: Vec<String>,
    /// Says how much of it was cut.
    pub patch: String,
}

impl CommitDiff {
    fn parse(output: &str) -> Self {
        let (counted, patch) = output.split_once("\n\n").unwrap_or((output, ""));
        let rows = || counted.lines().filter_map(|line| line.split_once('\t'));
        let removed =
            |rest: &str| rest.split_once('\t').and_then(|(removed, _)| removed.parse::<usize>().ok());
        let lines = rows().map(|(added, rest)| added.parse().unwrap_or(0) + removed(rest).unwrap_or(0)).sum();
        let files = rows().filter_map(|(_, rest)| Some(rest.split_once('\t')?.1.to_owned())).collect();
        let end = (0..=MAX_PATCH.min(patch.len())).rev().find(|end| patch.is_char_boundary(*end));
        let shown = &patch[..end.unwrap_or_default()];
        let patch = match patch.len() - shown.len() {
            0 => shown.to_owned(),
            cut => format!("{shown}\n[{cut} more bytes are not shown]"),
        };
        Self { lines, files, patch }
    }
}

/// Nothing lands while it is on: it is not decided yet which commits continue.
#[derive(Debug, Clone, Default)]
pub(crate) struct LandingHold(Arc<AtomicBool>);

impl LandingHold {
    pub(crate) fn is_on(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// The workspace of a run, which can be set to any of its commits.
#[derive(Debug, Clone)]
pub struct WorkspaceBranches {
    pub(crate) hub: Hub,
    pub(crate) workspace: Workspace,
    pub(crate) from: ProjectRevision,
    /// The name of the workspace.
    pub(crate) name: String,
    pub(crate) checked: CheckedCommit,
    pub(crate) landing_hold: LandingHold,
}

impl WorkspaceBranches {
    /// Commits what is not committed, and fetches all of it. Returns the commit. If the agent has made its repository unusable, it is the
    /// last one that was fetched.
    pub async fn save(&self) -> Result<String, Fault> {
        let saved = self
            .hub
            .save_leftovers(&self.workspace, "Save uncommitted work of a stuck session", Locks::Stale)
            .await;
        if let Err(fault) = saved
            && fault.code != UNUSABLE
        {
            return Err(fault);
        }
        match self.hub.fetch_new(&self.workspace).await {
            Err(fault) if fault.code == UNUSABLE => {
                let last = self.hub.last_fetched(&self.workspace);
                last.or_else(|| self.workspace.base().map(str::to_owned)).ok_or(fault)
            }
            fetched => fetched,
        }
    }

    /// As [`Self::save`], and keeps the commit. Returns it with the ref that keeps it.
    pub async fn keep(&self, approach: &str) -> Result<(String, String), Fault> {
        let commit = self.save().await?;
        let short = &commit[..commit.len().min(SHOWN_COMMIT)];
        let reference = format!("{REFS}/{}/{}-{short}", self.workspace.branch(), approach.replace('_', "-"));
        let written = write_ref(&self.hub.layout.git_dir(), &reference, &commit);
        written.map_err(|error| self.hub.unwritable(&error))?;
        Ok((commit, reference))
    }

    /// Makes the workspace anew from a commit that the hub has, which becomes the last one of the run. Ignored files stay.
    pub async fn go_to(&self, commit: &str) -> Result<(), Fault> {
        self.hub.set_current(&self.workspace, commit)?;
        // Nothing may land that was checked on the way to another commit.
        self.checked.set(None);
        let branch = self.workspace.branch();
        let (_, preparation) = self.hub.workspace(&self.name, branch, &self.from.at(commit)).await?;
        if preparation == Preparation::Created {
            self.hub.copy_included(&self.workspace, &self.from).await?;
        }
        self.hub.carry_in(&self.workspace, &self.from)
    }

    /// While it is on, nothing lands.
    pub fn hold_landings(&self, on: bool) {
        self.landing_hold.0.store(on, Ordering::SeqCst);
    }

    /// What was changed between two commits that the hub has.
    pub async fn diff(&self, from: &str, to: &str) -> Result<CommitDiff, Fault> {
        let shown = self.hub.ask(DIFF, [from, to]).await?;
        match shown.code {
            0 => Ok(CommitDiff::parse(&shown.stdout)),
            _ => Err(self.hub.failed(&shown.reason())),
        }
    }

    /// The command by which the user gets commits that were kept under a ref.
    pub fn how_to_fetch(&self, reference: &str) -> String {
        format!("git fetch {} {reference}", self.hub.layout.git_dir().display())
    }
}

#[cfg(test)]
mod tests {
    use super::{CommitDiff, MAX_PATCH};

    #[test]
    fn a_diff_is_counted_and_cut() {
        let diff = CommitDiff::parse("3\t1\ta.rs\n-\t-\tb.png\n0\t2\tc d.rs\n\ndiff --git a b\n\n+x\n");
        assert_eq!((diff.lines, diff.files), (6, ["a.rs", "b.png", "c d.rs"].map(str::to_owned).to_vec()));
        assert_eq!(diff.patch, "diff --git a b\n\n+x\n");
        assert_eq!(CommitDiff::parse(""), CommitDiff::default());
        let long = CommitDiff::parse(&format!("1\t0\ta\n\n{}", "ä".repeat(MAX_PATCH)));
        assert!(long.patch.ends_with("ä\n[60000 more bytes are not shown]"), "{}", long.patch.len());
    }
}
