//! Files that are not committed, and so not checked.

use std::collections::BTreeSet;
use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_git::GitRoom;
use autonoe_sandbox::RepositoryProblem;

use crate::commit_source::blocked_git;

/// Lists uncommitted files of the working tree `$1`, by way of the file `$2`. A repository may be so large that this takes long.
const UNCOMMITTED: &str = r#"exec 2> /dev/null
cd "$1" && GIT_OPTIONAL_LOCKS=0 timeout 30 git status --porcelain > "$2"
code=$?; head -n 50 "$2"; exit "$code""#;

/// Exit code of `timeout`.
const TIMED_OUT: i32 = 124;

/// Maximum number of files listed.
const MAX_LISTED: usize = 20;

/// Uncommitted files where agents work, without Autonoe's own. `room` can read the repository around `root`.
pub(crate) async fn uncommitted(room: &GitRoom, root: &Path) -> Result<Vec<String>, Fault> {
    let list = room.work().join("list");
    let listed = room.run(UNCOMMITTED, [root, &list]).await?;
    if listed.code == TIMED_OUT
        && let Some(problem) = RepositoryProblem::search(root)
    {
        return Err(blocked_git(&problem));
    }
    let names = listed.stdout.lines().filter_map(|line| line.get(3..));
    let names = names.filter(|name| !name.starts_with(".autonoe/"));
    Ok(names.take(MAX_LISTED).map(str::to_owned).collect())
}

/// Lists the files of the working tree `$1` of which its last commit has another version. A new index `$2` is used: in the repository's own,
/// and by its settings, files can be marked so that git does not look at them.
const CHANGED: &str = r#"exec 2> /dev/null
cd "$1" || exit
export GIT_INDEX_FILE="$2"
git read-tree HEAD || exit
git -c core.trustctime=true -c core.checkStat=default update-index -q --really-refresh > "$2.unmerged"
exec git diff-files --name-only --ignore-submodules"#;

/// Files where agents work of which the last commit has another version, without Autonoe's own. `room` can read the repository around `root`.
pub(crate) async fn changed_files(room: &GitRoom, root: &Path) -> Result<BTreeSet<String>, Fault> {
    let listed = room.run(CHANGED, [root, &room.work().join("index")]).await?;
    let is_own =
        |name: &&str| name.split('/').any(|part| part == ".autonoe") || name.ends_with(".autonoe-note.md");
    Ok(listed.stdout.lines().filter(|name| !is_own(name)).map(str::to_owned).collect())
}
