//! Why there is no commit to look at.

use autonoe_core::fault::Fault;

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
