//! A branch of the user's repository, locked while it is about to be changed: a prepared transaction of git.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_sandbox::{SandboxedChild, StdioTarget};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;

use autonoe_git::{GitRoom, broken, outcome};

use crate::landing_error::{LandingError, LandingRefusal};
use crate::landing_record::LandingRecord;

/// Changes branches as the lines on standard input say.
const TRANSACTION: &str = r#"cd "$1" && exec git update-ref --create-reflog -m "autonoe: land" --stdin"#;

pub(crate) struct BranchLock {
    /// Dropped, it is stopped, and nothing has changed.
    child: SandboxedChild,
    stdin: pipe::Sender,
    stdout: BufReader<pipe::Receiver>,
}

impl BranchLock {
    pub(crate) async fn take(
        room: &GitRoom,
        top: &Path,
        record: &LandingRecord,
    ) -> Result<Self, LandingError> {
        let launch = room.script(TRANSACTION, [OsStr::new(top)]).await?;
        let (errors, writer) = io::pipe().map_err(|error| broken(&error))?;
        let launch = launch.stdin(StdioTarget::Piped).stdout(StdioTarget::Piped).stderr(writer);
        let mut child = launch.spawn().map_err(|error| broken(&error))?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = streams.ok_or_else(|| broken(&"its streams are missing"))?;
        let mut lock = Self { child, stdin, stdout: BufReader::new(stdout) };
        let LandingRecord { branch, commit, old, .. } = record;
        let zeros = "0".repeat(commit.len());
        let old = old.as_ref().unwrap_or(&zeros);
        match lock
            .ask(&format!("start\nupdate refs/heads/{branch} {commit} {old}\nprepare\n"), "prepare: ok")
            .await
        {
            true => Ok(lock),
            false => Err(LandingRefusal::Locked(outcome(lock.child, None, errors).await?.reason()).into()),
        }
    }

    pub(crate) async fn commit(mut self) -> Result<(), Fault> {
        match self.ask("commit\n", "commit: ok").await {
            true => Ok(()),
            false => Err(broken(&"the branch was not changed")),
        }
    }

    pub(crate) async fn abort(mut self) {
        self.ask("abort\n", "abort: ok").await;
    }

    /// Whether git confirms the request.
    async fn ask(&mut self, request: &str, confirmation: &str) -> bool {
        if self.stdin.write_all(request.as_bytes()).await.is_err() {
            return false;
        }
        let mut line = String::new();
        while let Ok(1..) = self.stdout.read_line(&mut line).await {
            if line.trim() == confirmation {
                return true;
            }
            line.clear();
        }
        false
    }
}
