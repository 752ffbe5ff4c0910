//! Starts a shell in the session's room, collects its output, and learns in which directory it ended.
//!
//! The shell reports the directory over a separate pipe, so that nothing a command prints can be mistaken for it: the pipe
//! is the shell's standard input, which it moves to another descriptor first. A command that writes to that pipe can only
//! choose another directory of the project as the next working directory.

use std::ffi::OsString;
use std::fmt::Display;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use autonoe_sandbox::{SandboxedChild, SessionSandbox};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::net::unix::pipe;

use crate::failure::ToolFailure;
use crate::output::ToolErrorCode;

const BASH: &str = "/bin/bash";
const SH: &str = "/bin/sh";

/// The maximum length of a path.
const MAX_PATH_BYTES: usize = 4096;

/// A shell running one command.
pub(crate) struct ShellCommand {
    pub(crate) child: SandboxedChild,
    /// Standard output and standard error together.
    pub(crate) output: pipe::Receiver,
    directory: io::PipeReader,
}

impl ShellCommand {
    /// Starts a command in `cwd`. Processes that it leaves in the background live until the session ends.
    pub(crate) async fn start(
        sandbox: &SessionSandbox,
        command: &str,
        cwd: &Path,
    ) -> Result<Self, ToolFailure> {
        let program = if Path::new(BASH).exists() { BASH } else { SH };
        let launch = sandbox.command(program).await.map_err(|error| failed(&error))?;
        let start = || -> io::Result<_> {
            let (reader, writer) = io::pipe()?;
            let (directory, report) = io::pipe()?;
            fcntl_setfl(&directory, fcntl_getfl(&directory)? | OFlags::NONBLOCK)?;
            // The `--` lets a command start with a dash.
            let launch = launch.args(["-c", "--", &script(program, command)]).cwd(cwd).stdin(report);
            let child = launch.stdout(writer.try_clone()?).stderr(writer).leaving_background().spawn()?;
            Ok(Self { child, output: pipe::Receiver::from_owned_fd(reader.into())?, directory })
        };
        start().map_err(|error| failed(&error))
    }

    /// The directory in which the shell exited; `None` if it did not report one. Call it after the exit.
    pub(crate) fn last_directory(&self) -> Option<PathBuf> {
        let mut bytes = vec![0; MAX_PATH_BYTES];
        let count = rustix::io::read(&self.directory, &mut bytes).ok()?;
        bytes.truncate(count);
        let path = PathBuf::from(OsString::from_vec(bytes.strip_suffix(b"\n")?.to_owned()));
        path.is_absolute().then_some(path)
    }
}

fn failed(error: &dyn Display) -> ToolFailure {
    ToolFailure::new(ToolErrorCode::IoError, format!("The command could not be started: {error}."))
}

/// The command, preceded by a line that makes the shell report its directory on exit. A command that sets its own EXIT
/// trap, or that replaces the shell with `exec`, reports nothing, and the current directory does not change.
fn script(program: &str, command: &str) -> String {
    // A number that scripts do not use themselves; shells other than bash support only one digit.
    let fd = if program == BASH { 198 } else { 9 };
    format!("exec {fd}>&0 </dev/null; trap 'pwd -P >&{fd} 2>/dev/null' EXIT\n{command}")
}
