//! Starts a program in a room, with an environment that contains only the variables it is given.
//!
//! Each program has a supervisor in the room. Over a socket the supervisor receives the request and reports how the program
//! ended; when the socket closes, for whatever reason, it kills the program and everything that the program started.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::unix::pipe;

use crate::room_handle::RoomHandle;
use crate::supervisor_client::SupervisorClient;
use crate::wire::{self, ExitReport, SpawnRequest, StopMethod};

/// How long [`SandboxedChild::stop`] waits before it closes the whole room.
pub const STOP_LIMIT: Duration = Duration::from_secs(5);

/// A program to be started. Its standard streams are `/dev/null` by default.
#[derive(Debug)]
pub struct Launch {
    room: Arc<RoomHandle>,
    request: SpawnRequest,
    pub(crate) stdin: StdioTarget,
    stdout: StdioTarget,
    pub(crate) stderr: StdioTarget,
}

/// What one of a program's standard streams is connected to.
#[derive(Debug)]
pub enum StdioTarget {
    /// `/dev/null`.
    Null,
    /// A pipe to us.
    Piped,
    /// This descriptor.
    To(OwnedFd),
}

impl<T: Into<OwnedFd>> From<T> for StdioTarget {
    fn from(fd: T) -> Self {
        Self::To(fd.into())
    }
}

impl Launch {
    pub(crate) fn new(room: Arc<RoomHandle>, program: &OsStr) -> Self {
        let request = SpawnRequest {
            program: program.to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: PathBuf::from("/"),
            ends_all: true,
            stop: StopMethod::Signal,
            scopes_signals: false,
            remove: Vec::new(),
        };
        Self { room, request, stdin: StdioTarget::Null, stdout: StdioTarget::Null, stderr: StdioTarget::Null }
    }

    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.request.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Adds variables to the otherwise empty environment.
    #[must_use]
    pub fn envs(mut self, vars: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>) -> Self {
        let owned = |text: &OsStr| -> OsString { text.to_owned() };
        self.request
            .env
            .extend(vars.into_iter().map(|(name, value)| (owned(name.as_ref()), owned(value.as_ref()))));
        self
    }

    /// Starts the program in `dir`, which is a path of ours: the program may see it at another one.
    #[must_use]
    pub fn cwd(mut self, dir: impl AsRef<Path>) -> Self {
        let dir = dir.as_ref();
        self.request.cwd =
            self.room.mapping.as_ref().map_or_else(|| dir.to_owned(), |mapping| mapping.to_shown(dir));
        self
    }

    #[must_use]
    pub fn stdin(mut self, stdin: impl Into<StdioTarget>) -> Self {
        self.stdin = stdin.into();
        self
    }

    #[must_use]
    pub fn stdout(mut self, stdout: impl Into<StdioTarget>) -> Self {
        self.stdout = stdout.into();
        self
    }

    #[must_use]
    pub fn stderr(mut self, stderr: impl Into<StdioTarget>) -> Self {
        self.stderr = stderr.into();
        self
    }

    /// Lets processes that the program leaves in the background live until the room is closed.
    #[must_use]
    pub fn leaving_background(mut self) -> Self {
        self.request.ends_all = false;
        self
    }

    /// Starts a supervisor, which starts the program. If the *program* cannot be started, [`SandboxedChild::wait`] reports that.
    pub fn spawn(self) -> io::Result<SandboxedChild> {
        let (stdin, ours_in) = readable(self.stdin)?;
        let (stdout, ours_out) = writable(self.stdout)?;
        let (stderr, ours_err) = writable(self.stderr)?;
        let (ours, supervisors) = UnixStream::pair()?;
        self.room.admit(supervisors)?;
        wire::send(&ours, &self.request, &[stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
        Ok(SandboxedChild {
            stdin: ours_in.map(pipe::Sender::from_owned_fd).transpose()?,
            stdout: ours_out.map(pipe::Receiver::from_owned_fd).transpose()?,
            stderr: ours_err.map(pipe::Receiver::from_owned_fd).transpose()?,
            supervisor: SupervisorClient::new(ours)?,
            room: self.room,
        })
    }
}

fn null() -> io::Result<OwnedFd> {
    Ok(File::options().read(true).write(true).open("/dev/null")?.into())
}

/// The program's end and our end of a stream that it reads.
fn readable(stream: StdioTarget) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    Ok(match stream {
        StdioTarget::Null => (null()?, None),
        StdioTarget::To(fd) => (fd, None),
        StdioTarget::Piped => {
            let (reader, writer) = io::pipe()?;
            (reader.into(), Some(writer.into()))
        }
    })
}

/// The program's end and our end of a stream that it writes.
fn writable(stream: StdioTarget) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    Ok(match stream {
        StdioTarget::Null => (null()?, None),
        StdioTarget::To(fd) => (fd, None),
        StdioTarget::Piped => {
            let (reader, writer) = io::pipe()?;
            (writer.into(), Some(reader.into()))
        }
    })
}

/// A program running under its supervisor. Dropping it stops the program and everything it has started. The streams are
/// `Some` if they were piped.
#[derive(Debug)]
pub struct SandboxedChild {
    pub stdin: Option<pipe::Sender>,
    pub stdout: Option<pipe::Receiver>,
    pub stderr: Option<pipe::Receiver>,
    supervisor: SupervisorClient,
    room: Arc<RoomHandle>,
}

/// How a program ended, or why it was not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// The exit code, 128+n after signal n.
    Code(i32),
    NotStarted {
        /// The code that a shell would report: 127 if the program does not exist, otherwise 126.
        code: i32,
        why: String,
    },
}

impl Exit {
    /// The exit code, as a shell would report it.
    pub fn code(&self) -> i32 {
        match self {
            Self::Code(code) | Self::NotStarted { code, .. } => *code,
        }
    }

    pub fn is_success(&self) -> bool {
        *self == Self::Code(0)
    }
}

impl SandboxedChild {
    /// Waits until the program has exited and, unless background processes are allowed, everything it started is gone.
    /// Cancel safe. Closes a `stdin` that was not taken, so that a program that reads it can exit.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        drop(self.stdin.take());
        match self.supervisor.report().await? {
            Some(ExitReport::Exited(code)) => Ok(Exit::Code(code)),
            Some(ExitReport::NotStarted { code, why }) => Ok(Exit::NotStarted { code, why }),
            None => Err(io::Error::other(self.room.why_ended().await)),
        }
    }

    /// Stops the program and everything it started, and waits until they are gone: SIGTERM first, SIGKILL after
    /// [`crate::STOP_GRACE`]. If the supervisor does not respond, because its program has suspended it, the room is closed.
    pub async fn stop(&mut self) -> io::Result<Exit> {
        self.supervisor.request_stop();
        match tokio::time::timeout(STOP_LIMIT, self.wait()).await {
            Ok(exit) => exit,
            Err(_) => {
                self.room.close();
                Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the supervisor did not stop; its room was closed",
                ))
            }
        }
    }
}
