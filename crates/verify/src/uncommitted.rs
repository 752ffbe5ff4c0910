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
code=$?; head -n 200 "$2"; exit "$code""#;

/// Exit code of `timeout`.
const TIMED_OUT: i32 = 124;

/// Maximum number of files listed.
const MAX_LISTED: usize = 20;

/// Uncommitted files where agents work, without Autonoe's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Uncommitted {
    /// The first ones, for messages.
    pub(crate) names: Vec<String>,
    /// Those of which the commit has another version, as far as git was asked for them: it lists them first.
    pub(crate) changed: BTreeSet<String>,
}

/// `room` can read the repository around `root`.
pub(crate) async fn uncommitted(room: &GitRoom, root: &Path) -> Result<Uncommitted, Fault> {
    let list = room.work().join("list");
    let listed = room.run(UNCOMMITTED, [root, &list]).await?;
    if listed.code == TIMED_OUT
        && let Some(problem) = RepositoryProblem::search(root)
    {
        return Err(blocked_git(&problem));
    }
    let files = listed.stdout.lines().filter_map(|line| Some((line.get(..2)?, line.get(3..)?)));
    let files: Vec<_> = files.filter(|(_, name)| !name.starts_with(".autonoe/")).collect();
    let is_changed = |(kind, _): &&(&str, &str)| !["??", "!!"].contains(kind);
    Ok(Uncommitted {
        names: files.iter().take(MAX_LISTED).map(|(_, name)| (*name).to_owned()).collect(),
        changed: files.iter().filter(is_changed).map(|(_, name)| (*name).to_owned()).collect(),
    })
}
