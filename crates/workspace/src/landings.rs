//! What has landed, and with which deliverables: so it is known what the user's branch has, and what was removed from it since.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::{self, Write as _};

use autonoe_core::fault::Fault;
use autonoe_files::{DOCUMENT_LIMIT, read_text};
use serde::{Deserialize, Serialize};

use crate::hub::Hub;
use crate::landing::LandingTarget;
use crate::project_revision::ProjectRevision;
use crate::settled::Settled;

/// The file of the hub that lists them, a line each, the last one last.
const FILE: &str = "landings.jsonl";

/// How many are kept when there are twice as many.
const REMEMBERED: usize = 500;

/// Lists the commits that `$2` has and `$3` does not; in the repository `$1`.
const BEYOND: &str = r#"git --git-dir="$1" rev-list --topo-order "$2" "^$3""#;

/// Prints how many commits `$2` has that `$3` does not, and how many of them none of the other commits has, in the repository `$1`.
const NOT_LANDED: &str = r#"export GIT_DIR="$1"; commit=$2 head=$3; shift 3
git rev-list --count "$commit" "^$head"
git rev-list --count --ignore-missing "$commit" "^$head" --not "$@""#;

/// Whether the changes of `$2` are on the way to `$3` in other commits, as after a rebase, or a commit there has all of its changes or its files,
/// as after a squash; in the repository `$1`. What they stand on up to `$4`, if that is not empty and the user has dropped it, does not count.
const IS_REWRITTEN: &str = r#"export GIT_DIR="$1"
base=$(git merge-base "$2" "$3") || exit 1
limit=
[ -z "$4" ] || git merge-base --is-ancestor "$4" "$3" || limit=$4 base=$4
gone=$(git cherry "$3" "$2" $limit 2> /dev/null) && ! echo "$gone" | grep -q '^+' && exit 0
changes=$(git diff-tree -p "$base" "$2" | git patch-id --stable | cut -d ' ' -f 1)
[ "$changes" ] && git log -p --no-merges --format='commit %H' "$base..$3" | git patch-id --stable | grep -q "^$changes " && exit 0
git log --format=%T "$base..$3" | grep -qxF "$(git rev-parse "$2^{tree}")""#;

/// Lists the files in which `$2` and `$3` differ, separated by NUL bytes; in the repository `$1`.
const DIFFERING: &str = r#"git --git-dir="$1" diff-tree -r -z --no-renames --name-only "$2" "$3""#;

/// Lists the files that `$3` has changed since it and `$2` were the same, separated by NUL bytes; in the repository `$1`.
const CHANGED_SINCE_COMMON: &str = r#"git --git-dir="$1" diff -z --no-renames --name-only "$2...$3""#;

/// Prints those of the commits behind `$3` that `$3` has, or whose files or changes it has; in the repository `$1`. If `$2` is `first`, only the
/// first of them.
const ARE_IN: &str = r#"export GIT_DIR="$1"; which=$2; head=$3; shift 3
files() { git rev-parse --verify --quiet "$1^{tree}"; }
now=$(files "$head")
has() {
    git merge-base --is-ancestor "$1" "$head" 2> /dev/null || [ "$(files "$1")" = "$now" ] && return
    gone=$(git cherry "$head" "$1" 2> /dev/null) && ! echo "$gone" | grep -q '^+'
}
for commit; do
    if has "$commit"; then
        echo "$commit"
        [ "$which" != first ] || exit 0
    fi
done"#;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LandingNote {
    commit: String,
    /// What had been settled when it landed.
    settled: Settled,
    /// Whether it is the user's own, from before the first run.
    #[serde(default)]
    is_users: bool,
    /// The branch on which it landed, if that was not the one that is checked out.
    #[serde(default)]
    branch: Option<String>,
    /// The branch that was checked out, if it landed there; earlier versions have not noted it.
    #[serde(default)]
    checked_out: Option<String>,
    /// Whether it was left on a branch of the run's own, from where the user may have merged it.
    #[serde(default)]
    is_apart: bool,
}

impl LandingNote {
    fn new(commit: &str, settled: &Settled) -> Self {
        Self {
            commit: commit.to_owned(),
            settled: settled.clone(),
            is_users: false,
            branch: None,
            checked_out: None,
            is_apart: false,
        }
    }
}

/// What the user has removed from the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removed {
    Nothing,
    Part,
    All,
}

impl Hub {
    /// Those on the branch that was checked out.
    fn landings(&self) -> Vec<LandingNote> {
        let mut landings = self.all_landings();
        landings.retain(|landing| landing.branch.is_none());
        landings
    }

    fn all_landings(&self) -> Vec<LandingNote> {
        let mut landings = self.landing_notes();
        landings.retain(|landing| !landing.is_apart);
        landings
    }

    fn landing_notes(&self) -> Vec<LandingNote> {
        let text = read_text(&self.layout.directory().join(FILE), DOCUMENT_LIMIT).ok().flatten();
        // A killed process may have left half a line.
        text.unwrap_or_default().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// What had been settled when something last landed; `None` if nothing ever did.
    pub(crate) fn settled_at_landing(&self) -> Option<Settled> {
        self.last_landing().map(|(_, settled)| settled)
    }

    /// The commit that landed last, and what had been settled then.
    pub(crate) fn last_landing(&self) -> Option<(String, Settled)> {
        self.landings().pop().map(|landing| (landing.commit, landing.settled))
    }

    /// Whether the branch on which runs land is at another commit than the last one that has landed there. `named_tip` is the commit of a branch
    /// that the user has named. Nobody knows after the project was moved, or where nothing has landed.
    pub(crate) fn has_moved(
        &self,
        target: &LandingTarget,
        named_tip: Option<&str>,
        from: &ProjectRevision,
    ) -> bool {
        let (branch, now) = match target {
            LandingTarget::Branch(named) => (Some(named), named_tip),
            LandingTarget::CheckedOut => (None, from.commit.as_deref()),
        };
        let landed = self.all_landings().into_iter().rfind(|landing| landing.branch.as_ref() == branch);
        landed.is_none_or(|landed| Some(landed.commit.as_str()) != now)
    }

    /// Notes that the user's branch, which is checked out, has a commit, and with it all that is settled.
    pub(crate) fn note_landing(
        &self,
        branch: Option<&str>,
        commit: &str,
        settled: &Settled,
    ) -> Result<(), Fault> {
        let note =
            LandingNote { checked_out: branch.map(str::to_owned), ..LandingNote::new(commit, settled) };
        self.append_landing(&note).map_err(|error| self.unwritable(&error))
    }

    /// Notes what is settled now of what has landed last.
    pub(crate) fn note_settled(&self, settled: &Settled) -> Result<(), Fault> {
        let Some(last) = self.landings().pop() else { return Ok(()) };
        let note = LandingNote { settled: settled.clone(), ..last };
        self.append_landing(&note).map_err(|error| self.unwritable(&error))
    }

    /// Notes what the user had before the first run.
    pub(crate) fn note_users_own(&self, commit: &str, settled: &Settled) -> Result<(), Fault> {
        let note = LandingNote { is_users: true, ..LandingNote::new(commit, settled) };
        self.append_landing(&note).map_err(|error| self.unwritable(&error))
    }

    /// Notes that a branch which the user has named has a commit.
    pub(crate) fn note_landing_on(&self, branch: &str, commit: &str, settled: &Settled) -> Result<(), Fault> {
        let note = LandingNote { branch: Some(branch.to_owned()), ..LandingNote::new(commit, settled) };
        self.append_landing(&note).map_err(|error| self.unwritable(&error))
    }

    /// Notes what had been settled with a commit that waits on the branch of its run.
    pub(crate) fn note_apart(&self, commit: &str, settled: &Settled) -> Result<(), Fault> {
        let note = LandingNote { is_apart: true, ..LandingNote::new(commit, settled) };
        self.append_landing(&note).map_err(|error| self.unwritable(&error))
    }

    /// The branch on which a commit has landed, if the user had named one.
    pub(crate) fn landed_on(&self, commit: &str) -> Option<String> {
        let mut landings = self.all_landings().into_iter().rev();
        landings.find(|landing| landing.commit == commit)?.branch
    }

    /// The branch on which something landed last, if the user had named one.
    pub fn last_named_branch(&self) -> Option<String> {
        self.all_landings().pop()?.branch
    }

    /// The branches on which a commit has landed, empty if they were not noted; `None` if it has not landed.
    pub(crate) fn landed_branches(&self, commit: &str) -> Option<Vec<String>> {
        let landings = self.all_landings().into_iter();
        let own = landings.filter(|landing| !landing.is_users && landing.commit == commit);
        let branches: Vec<_> = own.map(|landing| landing.branch.or(landing.checked_out)).collect();
        (!branches.is_empty()).then(|| branches.into_iter().collect::<Option<_>>().unwrap_or_default())
    }

    fn append_landing(&self, note: &LandingNote) -> io::Result<()> {
        let path = self.layout.directory().join(FILE);
        let line = serde_json::to_string(note)?;
        let landings = self.landing_notes();
        if landings.len() < 2 * REMEMBERED {
            // A line of its own, whatever a killed process has left before it.
            return writeln!(OpenOptions::new().create(true).append(true).open(path)?, "\n{line}");
        }
        let mut file = tempfile::NamedTempFile::new_in(self.layout.directory())?;
        for landing in &landings[landings.len() - REMEMBERED..] {
            writeln!(file, "{}", serde_json::to_string(landing)?)?;
        }
        writeln!(file, "{line}")?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    /// How much of a commit, and of what it is built on, had landed and is no longer on the user's branch.
    pub(crate) async fn removed(&self, commit: &str, from: &ProjectRevision) -> Result<Removed, Fault> {
        self.removed_of(self.landings(), commit, from).await
    }

    /// Whether some of it had landed on the branch that is checked out, and is no longer there. What landed on another one is not removed.
    pub(crate) async fn is_removed_from_branch(
        &self,
        commit: &str,
        from: &ProjectRevision,
    ) -> Result<bool, Fault> {
        let mut landings = self.landings();
        landings.retain(|landing| landing.checked_out.is_none() || landing.checked_out == from.branch);
        Ok(self.removed_of(landings, commit, from).await? != Removed::Nothing)
    }

    async fn removed_of(
        &self,
        landings: Vec<LandingNote>,
        commit: &str,
        from: &ProjectRevision,
    ) -> Result<Removed, Fault> {
        let landed = landings.into_iter().filter(|landing| !landing.is_users);
        let landed: HashSet<String> = landed.map(|landing| landing.commit).collect();
        let Some(head) = from.commit.as_deref().filter(|head| !landed.is_empty() && *head != commit) else {
            return Ok(Removed::Nothing);
        };
        // What workers have committed landed with what it was merged into.
        let args = [commit, head].into_iter().chain(landed.iter().map(String::as_str));
        let counted = self.ask(NOT_LANDED, args).await?.stdout;
        let mut counts = counted.lines();
        Ok(match (counts.next(), counts.next()) {
            (all, left) if all == left => Removed::Nothing,
            (_, Some("0")) => Removed::All,
            _ => Removed::Part,
        })
    }

    /// The last commit below `commit`, or itself, that has landed on a branch which the user had named, and that branch, as far as what is
    /// checked out does not have it.
    pub(crate) async fn last_on_named_branch(
        &self,
        commit: &str,
        from: &ProjectRevision,
    ) -> Result<Option<(String, String)>, Fault> {
        let named = self.all_landings().into_iter().filter_map(|note| Some((note.commit, note.branch?)));
        let mut named: HashMap<String, String> = named.collect();
        let Some(head) = from.commit.as_deref().filter(|_| !named.is_empty()) else { return Ok(None) };
        let beyond = self.commits_beyond(commit, head).await?;
        Ok(beyond.lines().find_map(|commit| named.remove_entry(commit)))
    }

    /// The last commit below `commit` that has landed on the branch that is checked out, as far as this does not have it any more.
    pub(crate) async fn landed_below(
        &self,
        commit: &str,
        from: &ProjectRevision,
    ) -> Result<Option<String>, Fault> {
        let landed = self.landings().into_iter().filter(|landing| !landing.is_users);
        let landed: HashSet<String> = landed.map(|landing| landing.commit).collect();
        let Some(head) = from.commit.as_deref().filter(|_| !landed.is_empty()) else { return Ok(None) };
        let beyond = self.commits_beyond(commit, head).await?;
        let below = beyond.lines().find(|below| *below != commit && landed.contains(*below));
        Ok(below.map(str::to_owned))
    }

    /// The commits that `commit` has and `head` does not, a line each, the last one first.
    async fn commits_beyond(&self, commit: &str, head: &str) -> Result<String, Fault> {
        Ok(self.ask(BEYOND, [commit, head]).await?.stdout)
    }

    /// Whether the user has the changes of a commit in other commits, or all of its files in one. `begin` is the user's commit on which the work
    /// stands, if that is known.
    pub(crate) async fn is_rewritten(
        &self,
        commit: &str,
        begin: Option<&str>,
        from: &ProjectRevision,
    ) -> Result<bool, Fault> {
        let Some(head) = &from.commit else { return Ok(false) };
        Ok(self.ask(IS_REWRITTEN, [commit, head, begin.unwrap_or_default()]).await?.code == 0)
    }

    /// Whether the user's branch is as if what landed last had never landed. If it only has other commits, its content is there.
    pub(crate) async fn is_last_landing_gone(&self, from: &ProjectRevision) -> Result<bool, Fault> {
        let mut landings = self.landings();
        landings.reverse();
        let (Some(last), Some(head)) = (landings.first(), &from.commit) else { return Ok(false) };
        if last.commit == *head || self.first_in(head, &[&last.commit]).await?.is_some() {
            return Ok(false);
        }
        let commits: Vec<&str> = landings.iter().map(|landing| landing.commit.as_str()).collect();
        if let Some(kept) = self.first_in(head, &commits).await? {
            let of_landing = self.differing(DIFFERING, &kept, &last.commit).await?;
            if of_landing.is_disjoint(&self.differing(DIFFERING, &kept, head).await?) {
                return Ok(true);
            }
        }
        // What landed may have been merged with commits of the user's.
        let of_landing = self.differing(CHANGED_SINCE_COMMON, head, &last.commit).await?;
        let of_user = self.differing(CHANGED_SINCE_COMMON, &last.commit, head).await?;
        Ok(!of_landing.is_empty() && of_landing.is_disjoint(&of_user))
    }

    async fn differing(&self, script: &str, one: &str, other: &str) -> Result<HashSet<String>, Fault> {
        let listed = self.ask(script, [one, other]).await?;
        Ok(listed.stdout.split_terminator('\0').map(str::to_owned).collect())
    }

    /// Those of the passed deliverables that passed with commits which the user's branch does not have.
    pub(crate) async fn lost(
        &self,
        settled: &Settled,
        from: &ProjectRevision,
    ) -> Result<BTreeSet<String>, Fault> {
        let mut landings = self.landing_notes();
        landings.retain(|landing| landing.branch.is_none());
        landings.reverse();
        let Some(head) = from.commit.as_deref().filter(|_| !landings.is_empty()) else {
            return Ok(BTreeSet::new());
        };
        let commits: Vec<&str> = landings.iter().map(|landing| landing.commit.as_str()).collect();
        let found = self.first_in(head, &commits).await?;
        let kept = landings.into_iter().find(|landing| Some(&landing.commit) == found.as_ref());
        let kept = kept.map(|landing| landing.settled.passed).unwrap_or_default();
        let mut lost = &settled.passed - &kept;
        // Of one run, the user may have merged only the first commits.
        let mut verified = self.first_verified(settled);
        verified.retain(|id, _| lost.contains(id));
        let commits: Vec<&str> = verified.values().map(String::as_str).collect();
        let merged = self.are_in(head, "all", &commits).await?;
        lost.retain(|id| !verified.get(id).is_some_and(|commit| merged.contains(commit)));
        Ok(lost)
    }

    /// The first of the commits that `head` has, or whose files or changes it has.
    async fn first_in(&self, head: &str, commits: &[&str]) -> Result<Option<String>, Fault> {
        Ok(self.are_in(head, "first", commits).await?.pop())
    }

    /// Those of the commits that `head` has, or whose files or changes it has; `which` is `all`, or `first` for only one of them.
    async fn are_in(&self, head: &str, which: &str, commits: &[&str]) -> Result<Vec<String>, Fault> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.ask(ARE_IN, [which, head].into_iter().chain(commits.iter().copied())).await?;
        Ok(found.stdout.lines().map(str::to_owned).collect())
    }
}
