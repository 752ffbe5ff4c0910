//! What is asked of the project's own repository, from a room that may read it. Its settings are an agent's to write and may have
//! git run something, so nothing of that room is used for anything else.

use std::path::PathBuf;

use autonoe_core::fault::Fault;
use autonoe_sandbox::SessionSandbox;
use tempfile::TempDir;

use crate::git::{said, script};

/// How many files are named that are not committed.
const MAX_NAMED: usize = 20;

/// Asks for a commit, the kind of its hashes, and its tree.
const ABOUT: &str = r#"exec 2>/dev/null
cd "$1" && commit=$(git rev-parse --verify --quiet "$2^{commit}") && echo "$commit" &&
git rev-parse --show-object-format "$commit^{tree}""#;

/// Asks for what is not committed.
const UNCOMMITTED: &str = r#"exec 2>/dev/null
cd "$1" && git status --porcelain | head -n 50"#;

/// The room, and whose repository it is.
pub(crate) struct Inquiry {
    pub(crate) root: PathBuf,
    pub(crate) session_sandbox: SessionSandbox,
    // Last, so that the room is closed before its directory is gone.
    pub(crate) directory: TempDir,
}

/// What a repository said of a commit.
pub(crate) struct Answer {
    pub(crate) commit: String,
    pub(crate) tree: String,
    pub(crate) format: String,
}

impl Inquiry {
    /// A commit by one of its names; an error says why there is none.
    pub(crate) async fn about(&self, commit: &str) -> Result<Result<Answer, &'static str>, Fault> {
        let (code, said) = self.ask(ABOUT, commit).await?;
        let mut lines = said.lines().map(str::to_owned);
        Ok(match (lines.next(), lines.next(), lines.next()) {
            (Some(commit), Some(format), Some(tree)) if code == 0 => Ok(Answer { commit, tree, format }),
            _ if code == 127 => Err("git is not installed"),
            _ => Err(NOTHING_COMMITTED),
        })
    }

    /// What is not committed; what is kept about the work is not part of it.
    pub(crate) async fn uncommitted(&self) -> Result<Vec<String>, Fault> {
        let (_, said) = self.ask(UNCOMMITTED, "").await?;
        let names = said.lines().filter_map(|line| line.get(3..));
        let names = names.filter(|name| !name.starts_with(".autonoe/"));
        Ok(names.take(MAX_NAMED).map(str::to_owned).collect())
    }

    async fn ask(&self, question: &str, commit: &str) -> Result<(i32, String), Fault> {
        let shell =
            script(&self.session_sandbox, question).await?.args([self.root.as_os_str(), commit.as_ref()]);
        said(shell.cwd(self.directory.path().join("tree"))).await
    }
}

/// Why the files of a repository without a commit are copied.
pub(crate) const NOTHING_COMMITTED: &str = "nothing is committed yet";
