//! Files that are not committed, and so not checked.

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
