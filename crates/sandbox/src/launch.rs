//! Starting a program under the keeper, from an environment that is empty but for what is named.
//!
//! The keeper itself must never be killed hard, since its charges would survive it: a [`Child`]
//! that is dropped or stopped asks the keeper to end, and the keeper ends everything first.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::keep::KEEP_ARG;
use crate::system;

/// How long [`Child::stop`] waits for the keeper to end everything before it reports failure.
pub const STOP_LIMIT: Duration = Duration::from_secs(10);

/// Starts programs under the keeper.
#[derive(Debug, Clone)]
pub struct Launcher {
    keeper: PathBuf,
}

impl Launcher {
    /// A launcher whose keeper is `keeper_exe`: a binary that calls [`crate::keep`] when its first
    /// argument is [`KEEP_ARG`]. Normally our own executable.
    pub fn new(keeper_exe: impl Into<PathBuf>) -> Self {
        Self { keeper: keeper_exe.into() }
    }

    /// Prepares to run `program`, which the keeper looks up in the `PATH` named with
    /// [`Launch::env`]. Nothing of our own environment reaches it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Launch {
        let mut command = Command::new(&self.keeper);
        command
            .arg(KEEP_ARG)
            .arg("--parent")
            .arg(std::process::id().to_string())
            .arg("--")
            .arg(program)
            .env_clear();
        Launch { command }
    }
}

/// A program about to be started. Standard streams are inherited unless said otherwise.
#[derive(Debug)]
pub struct Launch {
    command: Command,
}

impl Launch {
    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds several arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Names one variable of the otherwise empty environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Names several variables of the otherwise empty environment.
    #[must_use]
    pub fn envs(mut self, vars: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>) -> Self {
        self.command.envs(vars);
        self
    }

    /// Runs the program in `dir`.
    #[must_use]
    pub fn cwd(mut self, dir: impl AsRef<Path>) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// What the program reads as standard input.
    #[must_use]
    pub fn stdin(mut self, stdin: impl Into<Stdio>) -> Self {
        self.command.stdin(stdin);
        self
    }

    /// Where the program's standard output goes.
    #[must_use]
    pub fn stdout(mut self, stdout: impl Into<Stdio>) -> Self {
        self.command.stdout(stdout);
        self
    }

    /// Where the program's standard error, and the keeper's own complaints, go.
    #[must_use]
    pub fn stderr(mut self, stderr: impl Into<Stdio>) -> Self {
        self.command.stderr(stderr);
        self
    }

    /// Starts the keeper, which starts the program. That the *program* cannot be started is told
    /// by its exit status: [`crate::EXIT_NOT_FOUND`] or [`crate::EXIT_NOT_STARTED`].
    pub fn spawn(mut self) -> Result<Child, LaunchError> {
        let mut inner = self.command.spawn().map_err(|source| {
            let command = self.command.as_std();
            LaunchError {
                keeper: PathBuf::from(command.get_program()),
                cwd: command.get_current_dir().unwrap_or(Path::new(".")).to_path_buf(),
                source,
            }
        })?;
        Ok(Child {
            stdin: inner.stdin.take(),
            stdout: inner.stdout.take(),
            stderr: inner.stderr.take(),
            inner,
        })
    }
}

/// The keeper could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the keeper {} in {}: {source}", keeper.display(), cwd.display())]
pub struct LaunchError {
    keeper: PathBuf,
    cwd: PathBuf,
    source: io::Error,
}

/// A program running under its keeper. Dropped, it is stopped with all it has started.
#[derive(Debug)]
pub struct Child {
    /// The program's standard input, if it was piped.
    pub stdin: Option<ChildStdin>,
    /// The program's standard output, if it was piped.
    pub stdout: Option<ChildStdout>,
    /// The program's standard error, if it was piped.
    pub stderr: Option<ChildStderr>,
    inner: tokio::process::Child,
}

impl Child {
    /// The keeper's process id, until it has been waited for.
    pub fn id(&self) -> Option<u32> {
        self.inner.id()
    }

    /// Waits until the program and everything it started is gone. The status is the program's;
    /// its death by signal n is exit code 128+n. Cancel safe. A `stdin` that was not taken is closed,
    /// so that a program reading it can end.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let keeper = self.keeper();
        let status = self.inner.wait().await?;
        end_orphans(keeper, status);
        Ok(status)
    }

    /// Ends the program and everything it started, and waits until they are gone: SIGTERM first,
    /// SIGKILL after [`crate::STOP_GRACE`] or when called a second time.
    pub async fn stop(&mut self) -> io::Result<ExitStatus> {
        self.ask_to_stop();
        match tokio::time::timeout(STOP_LIMIT, self.wait()).await {
            Ok(status) => status,
            Err(_) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("the keeper did not end within {} s", STOP_LIMIT.as_secs()),
            )),
        }
    }

    /// Asks the keeper to end everything, without waiting for it.
    pub fn ask_to_stop(&self) {
        if let Some(pid) = self.keeper() {
            // Not reaped yet, so the id is still the keeper's; that it just exited is no error.
            // A charge may have suspended its keeper: it is woken to get the first signal.
            let _ = kill_process(pid, Signal::TERM);
            let _ = kill_process(pid, Signal::CONT);
        }
    }

    /// The keeper's id while it is certainly the keeper's: until it has been waited for.
    fn keeper(&self) -> Option<Pid> {
        self.inner.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let keeper = self.keeper();
        match self.inner.try_wait() {
            Ok(Some(status)) => end_orphans(keeper, status),
            Ok(None) | Err(_) => self.ask_to_stop(),
        }
    }
}

/// A keeper that was itself killed, by its charge or for want of memory, could not do its work.
fn end_orphans(keeper: Option<Pid>, status: ExitStatus) {
    if let (Some(keeper), Some(_)) = (keeper, status.signal()) {
        system::kill_orphans_of(keeper);
    }
}
