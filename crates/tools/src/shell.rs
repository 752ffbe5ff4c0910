//! Starting a shell in the session's room: where its output goes, and how it tells in which directory it ended.
//!
//! The directory comes over a pipe of its own, which the shell finds as its standard input and moves out of the way, so
//! that nothing a command prints can be mistaken for it. A command that writes to that pipe only says that it is somewhere
//! in the project, where the next one is judged from.

use std::ffi::OsString;
use std::fmt::Display;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use autonoe_sandbox::Child;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::net::unix::pipe;

use crate::failure::Failure;
use crate::{ToolErrorCode, Workspace};

const BASH: &str = "/bin/bash";
const SH: &str = "/bin/sh";

/// The longest path that is understood.
const MAX_PATH_BYTES: usize = 4096;

/// A shell that runs one command.
pub(crate) struct Shell {
    pub(crate) child: Child,
    /// Standard output and standard error together.
    pub(crate) output: pipe::Receiver,
    directory: io::PipeReader,
}

impl Shell {
    /// Starts a command in `cwd`. What it leaves in the background goes on until the session ends.
    pub(crate) async fn start(workspace: &Workspace, command: &str, cwd: &Path) -> Result<Self, Failure> {
        let program = if Path::new(BASH).exists() { BASH } else { SH };
        let launch = workspace.session_sandbox().command(program).await.map_err(|error| failed(&error))?;
        let start = || -> io::Result<_> {
            let (reader, writer) = io::pipe()?;
            let (directory, tell) = io::pipe()?;
            fcntl_setfl(&directory, fcntl_getfl(&directory)? | OFlags::NONBLOCK)?;
            // A command that begins with a dash is still a command.
            let launch = launch.args(["-c", "--", &script(program, command)]).cwd(cwd).stdin(tell);
            let child = launch.stdout(writer.try_clone()?).stderr(writer).leaving_background().spawn()?;
            Ok(Self { child, output: pipe::Receiver::from_owned_fd(reader.into())?, directory })
        };
        start().map_err(|error| failed(&error))
    }

    /// The directory that the shell was in when it ended, if it told. To be asked after that.
    pub(crate) fn left_in(&self) -> Option<PathBuf> {
        let mut bytes = vec![0; MAX_PATH_BYTES];
        let count = rustix::io::read(&self.directory, &mut bytes).ok()?;
        bytes.truncate(count);
        let path = PathBuf::from(OsString::from_vec(bytes.strip_suffix(b"\n")?.to_owned()));
        path.is_absolute().then_some(path)
    }
}

fn failed(error: &dyn Display) -> Failure {
    Failure::new(ToolErrorCode::IoError, format!("The command could not be started: {error}."))
}

/// The command after a line that has the shell tell its directory at its end. A command that sets its own `trap` for that
/// moment, or that becomes another program, tells nothing, and the directory stays what it was.
fn script(program: &str, command: &str) -> String {
    // Far from what scripts use themselves; other shells than bash have only one digit.
    let fd = if program == BASH { 198 } else { 9 };
    format!("exec {fd}>&0 </dev/null; trap 'pwd -P >&{fd} 2>/dev/null' EXIT\n{command}")
}
