//! Starting a program in a room, from an environment that is empty but for what is named.
//!
//! Each program has a supervisor in the room. Over a socket the supervisor is told what to run and answers how it ended; the
//! socket closing, for whatever reason, is its order to end the program and all that the program started.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use crate::room_handle::RoomHandle;
use crate::wire::{self, ExitReport, SpawnRequest, Stop};

/// How long [`Child::stop`] waits before it has the whole room ended.
pub const STOP_LIMIT: Duration = Duration::from_secs(5);

/// A program about to be started. It reads nothing, and what it writes goes nowhere, unless said otherwise.
#[derive(Debug)]
pub struct Launch {
    room: Arc<RoomHandle>,
    order: SpawnRequest,
    pub(crate) stdin: Stream,
    stdout: Stream,
    pub(crate) stderr: Stream,
}

/// What one of a program's standard streams is.
#[derive(Debug)]
pub enum Stream {
    /// Nothing comes, nothing is kept.
    Null,
    /// A pipe to us.
    Piped,
    /// This descriptor.
    To(OwnedFd),
}

impl<T: Into<OwnedFd>> From<T> for Stream {
    fn from(fd: T) -> Self {
        Self::To(fd.into())
    }
}

impl Launch {
    pub(crate) fn new(room: Arc<RoomHandle>, program: &OsStr) -> Self {
        let order = SpawnRequest {
            program: program.to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: PathBuf::from("/"),
            ends_all: true,
            stop: Stop::Signal,
            remove: Vec::new(),
        };
        Self { room, order, stdin: Stream::Null, stdout: Stream::Null, stderr: Stream::Null }
    }

    /// Adds several arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.order.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Names several variables of the otherwise empty environment.
    #[must_use]
    pub fn envs(mut self, vars: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>) -> Self {
        let owned = |text: &OsStr| -> OsString { text.to_owned() };
        self.order
            .env
            .extend(vars.into_iter().map(|(name, value)| (owned(name.as_ref()), owned(value.as_ref()))));
        self
    }

    /// Runs the program in `dir`.
    #[must_use]
    pub fn cwd(mut self, dir: impl AsRef<Path>) -> Self {
        dir.as_ref().clone_into(&mut self.order.cwd);
        self
    }

    /// What the program reads as standard input.
    #[must_use]
    pub fn stdin(mut self, stdin: impl Into<Stream>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// Where the program's standard output goes.
    #[must_use]
    pub fn stdout(mut self, stdout: impl Into<Stream>) -> Self {
        self.stdout = stdout.into();
        self
    }

    /// Where the program's standard error goes.
    #[must_use]
    pub fn stderr(mut self, stderr: impl Into<Stream>) -> Self {
        self.stderr = stderr.into();
        self
    }

    /// What the program leaves behind when it exits goes on, until the room is closed.
    #[must_use]
    pub fn leaving_background(mut self) -> Self {
        self.order.ends_all = false;
        self
    }

    /// Has a supervisor start the program. That the *program* cannot be started is told by [`Child::wait`].
    pub fn spawn(self) -> io::Result<Child> {
        let (stdin, ours_in) = readable(self.stdin)?;
        let (stdout, ours_out) = writable(self.stdout)?;
        let (stderr, ours_err) = writable(self.stderr)?;
        let (ours, supervisors) = UnixStream::pair()?;
        self.room.admit(supervisors)?;
        wire::send(&ours, &self.order, &[stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
        Ok(Child {
            stdin: ours_in.map(pipe::Sender::from_owned_fd).transpose()?,
            stdout: ours_out.map(pipe::Receiver::from_owned_fd).transpose()?,
            stderr: ours_err.map(pipe::Receiver::from_owned_fd).transpose()?,
            supervisor: Supervisor::new(ours)?,
            room: self.room,
        })
    }
}

fn null() -> io::Result<OwnedFd> {
    Ok(File::options().read(true).write(true).open("/dev/null")?.into())
}

/// The program's end and ours of a stream that it reads.
fn readable(stream: Stream) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    Ok(match stream {
        Stream::Null => (null()?, None),
        Stream::To(fd) => (fd, None),
        Stream::Piped => {
            let (reader, writer) = io::pipe()?;
            (reader.into(), Some(writer.into()))
        }
    })
}

/// The program's end and ours of a stream that it writes.
fn writable(stream: Stream) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    Ok(match stream {
        Stream::Null => (null()?, None),
        Stream::To(fd) => (fd, None),
        Stream::Piped => {
            let (reader, writer) = io::pipe()?;
            (writer.into(), Some(reader.into()))
        }
    })
}

/// A program running under its supervisor. Dropped, it is stopped with all it has started.
#[derive(Debug)]
pub struct Child {
    /// The program's standard input, if it was piped.
    pub stdin: Option<pipe::Sender>,
    /// The program's standard output, if it was piped.
    pub stdout: Option<pipe::Receiver>,
    /// The program's standard error, if it was piped.
    pub stderr: Option<pipe::Receiver>,
    supervisor: Supervisor,
    room: Arc<RoomHandle>,
}

/// How a program ended, or why it never began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code, 128+n after signal n.
    Code(i32),
    /// It could not be started.
    NotStarted {
        /// What a shell would report: 127 when there is no such program, else 126.
        code: i32,
        /// Why.
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

    /// Whether the program ran and was content.
    pub fn is_success(&self) -> bool {
        *self == Self::Code(0)
    }
}

impl Child {
    /// Waits until the program has exited and, unless it may leave something in the background, everything it started
    /// is gone. Cancel safe. A `stdin` that was not taken is closed, so that a program reading it can end.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        drop(self.stdin.take());
        match self.supervisor.answer().await? {
            Some(ExitReport::Exited(code)) => Ok(Exit::Code(code)),
            Some(ExitReport::NotStarted { code, why }) => Ok(Exit::NotStarted { code, why }),
            None => Err(io::Error::other(self.room.why_ended().await)),
        }
    }

    /// Ends the program and everything it started, and waits until they are gone: SIGTERM first, SIGKILL after
    /// [`crate::STOP_GRACE`]. A supervisor that cannot do it, because its charge has suspended it, loses its room.
    pub async fn stop(&mut self) -> io::Result<Exit> {
        self.supervisor.ask_to_stop();
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

/// Our end of the socket to a supervisor.
#[derive(Debug)]
pub(crate) struct Supervisor {
    socket: tokio::net::UnixStream,
    answer: Vec<u8>,
}

impl Supervisor {
    pub(crate) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket: tokio::net::UnixStream::from_std(socket)?, answer: Vec::new() })
    }

    /// What it says in the end; none if it was killed. Cancel safe.
    pub(crate) async fn answer(&mut self) -> io::Result<Option<ExitReport>> {
        loop {
            // It closes its end after the one answer, and also when it is killed.
            match self.socket.read_buf(&mut self.answer).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
                Err(error) => return Err(error),
            }
        }
        Ok(self.answer.get(wire::LENGTH_BYTES..).and_then(|body| serde_json::from_slice(body).ok()))
    }

    /// Asks it to end everything.
    pub(crate) fn ask_to_stop(&self) {
        // That it has just ended is not an error.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
    }
}
