//! Why the state of an issue cannot be determined.

use std::path::PathBuf;
use std::time::Duration;

use autonoe_core::duration::format as format_duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IssueError {
    #[error("`{0}` is not an issue number, such as 7")]
    Number(String),
    #[error("`{0}` is not a repository, such as OWNER/NAME")]
    Repository(String),
    #[error("gh is not installed; get it from https://cli.github.com and log in with `gh auth login`")]
    NoGh,
    #[error("{0}")]
    Sandbox(String),
    #[error("gh exited with {code}: {message}")]
    Exit { code: i32, message: String },
    #[error("gh gave no answer within {}", format_duration(*.0))]
    TimedOut(Duration),
    #[error("gh printed more than {0} bytes")]
    TooMuchOutput(u64),
    #[error("{} could not be run: {why}", gh.display())]
    NotRun { gh: PathBuf, why: String },
    #[error("the output of gh cannot be read ({0})")]
    Output(String),
    #[error("gh reported the invalid state `{0}`")]
    State(String),
}
