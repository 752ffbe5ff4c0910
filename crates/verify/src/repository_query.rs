//! Queries of the project's own repository, from a room that may read it. An agent may have written its
//! settings, which can make git run programs, so nothing else of that room is used.

use std::path::PathBuf;

use autonoe_core::fault::Fault;
use autonoe_sandbox::{Launch, RepositoryProblem, SessionSandbox};
use tempfile::TempDir;

use crate::git::{TIMED_OUT, output, output_soon, script};

/// Maximum number of uncommitted files listed.
const MAX_LISTED: usize = 20;

/// Prints a commit, its hash format and its tree.
const COMMIT: &str = r#"exec 2>/dev/null
cd "$1" && commit=$(git rev-parse --verify --quiet "$2^{commit}") && echo "$commit" &&
git rev-parse --show-object-format "$commit^{tree}""#;

/// Lists uncommitted files.
const UNCOMMITTED: &str = r#"exec 2>/dev/null
cd "$1" && git status --porcelain | head -n 50"#;

/// A room with the repository, and the project's root in it.
pub(crate) struct RepositoryQuery {
    pub(crate) root: PathBuf,
    pub(crate) session_sandbox: SessionSandbox,
    // Last, so that the room is closed before its directory is gone.
    pub(crate) directory: TempDir,
}

/// Why there is no commit to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoCommit {
    #[error("there is no git repository")]
    NoRepository,
    #[error("git is not installed")]
    NoGit,
    #[error("nothing is committed yet")]
    NothingCommitted,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum QueryError {
    #[error(transparent)]
    NoCommit(#[from] NoCommit),
    #[error(transparent)]
    Fault(#[from] Fault),
}

pub(crate) struct CommitInfo {
    pub(crate) commit: String,
    pub(crate) tree: String,
    pub(crate) format: String,
}

impl RepositoryQuery {
    pub(crate) async fn commit(&self, commit: &str) -> Result<CommitInfo, QueryError> {
        let (code, output) = self.run(COMMIT, commit).await?;
        let mut lines = output.lines().map(str::to_owned);
        match (lines.next(), lines.next(), lines.next()) {
            (Some(commit), Some(format), Some(tree)) if code == 0 => Ok(CommitInfo { commit, tree, format }),
            _ if code == 127 => Err(NoCommit::NoGit.into()),
            _ => Err(NoCommit::NothingCommitted.into()),
        }
    }

    /// Uncommitted files, without Autonoe's own.
    pub(crate) async fn uncommitted(&self) -> Result<Vec<String>, Fault> {
        let (_, output) = match output_soon(self.launch(UNCOMMITTED, "").await?).await {
            // The list is only informative, and a repository may be large.
            Err(fault) if fault.code == TIMED_OUT && RepositoryProblem::search(&self.root).is_none() => {
                return Ok(Vec::new());
            }
            listed => listed?,
        };
        let names = output.lines().filter_map(|line| line.get(3..));
        let names = names.filter(|name| !name.starts_with(".autonoe/"));
        Ok(names.take(MAX_LISTED).map(str::to_owned).collect())
    }

    async fn run(&self, query: &str, commit: &str) -> Result<(i32, String), Fault> {
        output(self.launch(query, commit).await?).await
    }

    async fn launch(&self, query: &str, commit: &str) -> Result<Launch, Fault> {
        let shell = script(&self.session_sandbox, query).await?;
        let shell = shell.args([self.root.as_os_str(), commit.as_ref()]);
        Ok(shell.cwd(self.directory.path().join("tree")))
    }
}
