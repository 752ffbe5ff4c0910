//! The branch on which the user wants commits to land, if it is not the one that is checked out. What would be in the way of every landing
//! is found before the first session, which may be expensive.

use std::ffi::OsStr;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::shown_name;
use autonoe_git::is_hash;

use crate::hub::Hub;
use crate::landing_error::{KnownSince, LandingRefusal};
use crate::project_revision::ProjectRevision;

/// Exit codes of [`CHECK`].
const IS_CHECKED_OUT: i32 = 11;
const IS_ELSEWHERE: i32 = 12;
const IS_IN_THE_WAY: i32 = 13;
const IS_MALFORMED: i32 = 14;
const IS_ANOTHER_NAME: i32 = 15;

/// Finds what keeps commits from landing on the branch `$2` of the repository around `$1`. `$3` is the hub, and `$4` a commit of it that the
/// branch must not have gone beyond, if it is not empty. Prints where the branch is checked out, or the other branch that is in its way.
const CHECK: &str = r#"cd "$1" || exit 3
git check-ref-format "refs/heads/$2" || exit 14
git symbolic-ref --quiet --short "refs/heads/$2" && exit 15
git worktree list --porcelain | {
    while IFS= read -r line; do
        case $line in
            "worktree "*) place=${line#worktree } ;;
            "branch refs/heads/$2") printf '%s' "$place"; exit 11 ;;
        esac
    done
} || exit
if old=$(git rev-parse --verify --quiet "refs/heads/$2^{commit}"); then
    [ -z "$4" ] || git --git-dir="$3" merge-base --is-ancestor "$old" "$4" || exit 12
    exit 0
fi
below=$(git for-each-ref --count=1 --format='%(refname:lstrip=2)' "refs/heads/$2/")
[ -z "$below" ] || { printf '%s' "$below"; exit 13; }
above=$2
while [ "$above" != "${above%/*}" ]; do
    above=${above%/*}
    git rev-parse --verify --quiet "refs/heads/$above" > /dev/null && { printf '%s' "$above"; exit 13; }
done
exit 0"#;

/// Prints the commit of the branch `$2` of the repository around `$1`.
const TIP: &str = r#"git -C "$1" rev-parse --verify --quiet "refs/heads/$2^{commit}""#;

/// Exit codes of [`HAS`].
const IS_GONE: i32 = 11;
const IS_RESET: i32 = 12;

/// Whether the branch `$2` of the repository around `$1` has the commit `$4`, which the hub `$3` has too.
const HAS: &str = r#"cd "$1" || exit 3
tip=$(git rev-parse --verify --quiet "refs/heads/$2^{commit}") || exit 11
[ "$tip" = "$4" ] && exit
export GIT_ALTERNATE_OBJECT_DIRECTORIES="$3/objects"
git merge-base --is-ancestor "$4" "$tip" || exit 12"#;

impl Hub {
    /// The commit of a branch of the user's; `None` if it does not exist.
    pub(crate) async fn tip_of_branch(
        &self,
        branch: &str,
        from: &ProjectRevision,
    ) -> Result<Option<String>, Fault> {
        let room = self.room([from.top.clone()].into_iter().chain(self.repository().directories), [])?;
        let found = room.run(TIP, [from.top.as_os_str(), branch.as_ref()]).await;
        room.close().await;
        Ok(Some(found?.stdout.trim().to_owned()).filter(|tip| is_hash(tip)))
    }

    /// Why a branch does not have a commit that it had, or that has landed there; `None` if it has. What the user has removed must not come
    /// back by itself.
    pub(crate) async fn why_not_on_branch(
        &self,
        branch: &str,
        had: &str,
        since: KnownSince,
        from: &ProjectRevision,
    ) -> Result<Option<LandingRefusal>, Fault> {
        let readable = self.layout.readable().into_iter().chain([from.top.clone()]);
        let room = self.room(readable.chain(self.repository().directories), [])?;
        let git = self.layout.git_dir();
        let args = [from.top.as_os_str(), branch.as_ref(), git.as_os_str(), had.as_ref()];
        let found = room.run(HAS, args).await;
        room.close().await;
        let found = found?;
        let branch = branch.to_owned();
        match found.code {
            0 => Ok(None),
            IS_GONE => Ok(Some(LandingRefusal::BranchGone { branch, since })),
            IS_RESET => Ok(Some(LandingRefusal::BranchReset { branch, since })),
            _ => Err(self.failed(&found.reason())),
        }
    }

    /// Refuses a branch on which nothing can land. `start` is the commit from which agents work; `None` if it is not known yet.
    pub(crate) async fn check_named_branch(
        &self,
        branch: &str,
        from: &ProjectRevision,
        start: Option<&str>,
    ) -> Result<(), Fault> {
        let readable = self.layout.readable().into_iter().chain([from.top.clone()]);
        let room = self.room(readable.chain(self.repository().directories), [])?;
        let git = self.layout.git_dir();
        let args = [from.top.as_os_str(), OsStr::new(branch), git.as_os_str()];
        let found = room.run(CHECK, args.into_iter().chain([OsStr::new(start.unwrap_or_default())])).await;
        room.close().await;
        let found = found?;
        let named = shown_name(found.stdout.trim());
        let (why, advice) = match found.code {
            0 => return Ok(()),
            IS_CHECKED_OUT if from.branch.as_deref() == Some(branch) => (
                "it is checked out".to_owned(),
                "Leave out --branch: then it is what the run lands on.".to_owned(),
            ),
            IS_CHECKED_OUT => (
                format!("it is checked out in {named}"),
                "Check out another branch there, or name another one with --branch.".to_owned(),
            ),
            IS_ELSEWHERE => (
                "it has commits that the run would not continue".to_owned(),
                format!("Merge it first (`git merge {branch}`), or name another branch with --branch."),
            ),
            IS_ANOTHER_NAME => {
                (format!("it is another name of '{named}'"), format!("Name that branch: --branch {named}."))
            }
            IS_IN_THE_WAY => (
                format!("git cannot have it beside '{named}'"),
                "Name another branch with --branch.".to_owned(),
            ),
            IS_MALFORMED => {
                ("git does not accept this name".to_owned(), "Name another branch with --branch.".to_owned())
            }
            _ => (found.reason(), String::new()),
        };
        let message = format!("Nothing can land on '{}' by --branch: {why}.", shown_name(branch));
        Err(Fault::permanent(FaultLayer::Config, "branch", message).hint(advice))
    }
}
