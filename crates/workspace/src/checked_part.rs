//! How far checks have followed the commits of a run: a time limit, an interrupt or a kill leaves commits that none of them has seen.

use autonoe_core::fault::Fault;
use autonoe_git::is_hash;

use crate::hub::Hub;

/// Prints the number of commits that `$2` has and `$3` does not; then, for each other argument that `$2` continues, the number of commits since
/// and the commit. 0 stands for the same files. `$1` is the repository.
const SINCE: &str = r#"export GIT_DIR="$1"; tip=$2; base=$3; shift 3
git cat-file -e "$base^{commit}" 2> /dev/null || base=refs/autonoe/base
git rev-list --count "$tip" "^$base" 2> /dev/null || git rev-list --count "$tip" || exit
files() { git rev-parse --verify --quiet "$1^{tree}"; }
for commit; do
    git merge-base --is-ancestor "$commit" "$tip" 2> /dev/null || continue
    if [ "$(files "$commit")" = "$(files "$tip")" ]; then since=0; else since=$(git rev-list --count "$commit..$tip"); fi
    echo "$since $commit"
done"#;

/// How far checks have followed a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedPart {
    /// The last commit on which checks have passed; `None` if there is none.
    pub commit: Option<String>,
    /// The number of commits that have not landed.
    pub unlanded: usize,
    /// The number of commits after `commit`; without one, of those that have not landed.
    pub unseen: usize,
}

impl Hub {
    /// How far checks have followed `tip`. `landed` is what the user has; `verified` are the commits on which something was verified.
    pub async fn checked_part(
        &self,
        tip: &str,
        landed: Option<&str>,
        verified: &[String],
    ) -> Result<CheckedPart, Fault> {
        let verified = verified.iter().map(String::as_str).filter(|commit| is_hash(commit));
        let args = [tip, landed.unwrap_or_default()].into_iter().chain(verified);
        let counted = self.ask(SINCE, args).await?;
        match (counted.code, CheckedPart::parse(&counted.stdout)) {
            (0, Some(part)) => Ok(part),
            _ => Err(self.failed(&counted.reason())),
        }
    }
}

impl CheckedPart {
    fn parse(printed: &str) -> Option<Self> {
        let mut lines = printed.lines();
        let unlanded = lines.next()?.trim().parse().ok()?;
        let since = lines.filter_map(|line| {
            let (count, commit) = line.split_once(' ')?;
            Some((count.parse::<usize>().ok()?, commit.to_owned()))
        });
        let (unseen, commit) = since.min().unzip();
        Some(Self { commit, unlanded, unseen: unseen.unwrap_or(unlanded) })
    }
}
