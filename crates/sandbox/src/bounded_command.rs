//! An bounded_command: a program that is run to its end. Its time and its output are bounded, and nothing that it started is left.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::launch::{Child, Exit, Launch, Stream};
use crate::open::OpenError;
use crate::session_sandbox::SessionSandbox;

/// What prints more than this is ended.
pub const MAX_OUTPUT: u64 = 64 * 1024 * 1024;

/// How long is waited for the rest of an output when its program has ended.
const REST_LIMIT: Duration = Duration::from_secs(2);

/// How long the end of its processes may take.
const STOP_LIMIT: Duration = Duration::from_secs(10);

const BASH: &str = "/bin/bash";
const SH: &str = "/bin/sh";

/// A program that is run to its end.
#[derive(Debug)]
pub struct BoundedCommand {
    /// The program. Its standard streams are seen to here.
    pub launch: Launch,
    /// What it reads; nothing follows that.
    pub input: Vec<u8>,
    /// Whether what it says on standard error is kept apart. Otherwise both are one output, in the order of time.
    pub keeps_errors_apart: bool,
    /// How long it may take.
    pub time_limit: Duration,
    /// How much of an output is kept.
    pub kept: Kept,
}

/// How many bytes of an output are kept: of its beginning and of its end.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// Of its beginning.
    pub head: usize,
    /// Of its end.
    pub tail: usize,
}

/// What came of an bounded_command.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub ending: Ending,
    /// What it printed.
    pub output: Printed,
    /// What it said on standard error, if that was kept apart.
    pub errors: Printed,
}

/// How an bounded_command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With this exit code.
    Exit(i32),
    /// It was ended after its time limit.
    TimedOut,
    /// It was ended after it had printed [`MAX_OUTPUT`] bytes.
    TooMuchOutput,
    /// It could not be run.
    NotRun {
        /// Why.
        why: String,
    },
}

impl SessionSandbox {
    /// Prepares to run a command with a shell.
    pub async fn shell(&self, command: &str) -> Result<Launch, OpenError> {
        let shell = if Path::new(BASH).exists() { BASH } else { SH };
        // A command that begins with a dash is still a command.
        Ok(self.command(shell).await?.args(["-c", "--", command]))
    }
}

impl BoundedCommand {
    /// Runs it. Every byte of its output is shown to `see`, also what is not kept.
    pub async fn run(self, mut see: impl FnMut(&[u8]) + Send) -> Ran {
        let (mut output, mut errors) = (Printed::new(self.kept), Printed::new(self.kept));
        let (time_limit, input) = (self.time_limit, self.input.clone());
        let (mut child, mut from_output) = match self.start() {
            Ok(started) => started,
            Err(error) => return Ran { ending: Ending::NotRun { why: error.to_string() }, output, errors },
        };
        let stdin = child.stdin.take();
        let mut from_errors = child.stderr.take();
        let mut unseen = |_: &[u8]| {};

        let work = async {
            let talk = async {
                tokio::try_join!(
                    feed(stdin, &input),
                    output.read(Some(&mut from_output), &mut see),
                    errors.read(from_errors.as_mut(), &mut unseen),
                )
            };
            tokio::select! {
                biased;
                talked = talk => if talked.is_err() {
                    return Ok(None);
                },
                exit = child.wait() => return exit.map(Some),
            }
            child.wait().await.map(Some)
        };
        let ended = timeout(time_limit, work).await;
        if !matches!(ended, Ok(Ok(Some(_)))) {
            // What a supervisor cannot end in time the room ends when it is closed.
            let _ = timeout(STOP_LIMIT, child.stop()).await;
        }
        let rest = async {
            let output = output.read(Some(&mut from_output), &mut see);
            tokio::join!(output, errors.read(from_errors.as_mut(), &mut unseen))
        };
        let _ = timeout(REST_LIMIT, rest).await;

        let ending = match ended {
            Err(_) => Ending::TimedOut,
            Ok(Ok(None)) => Ending::TooMuchOutput,
            Ok(Ok(Some(_))) if output.is_too_much() || errors.is_too_much() => Ending::TooMuchOutput,
            Ok(Ok(Some(Exit::Code(code)))) => Ending::Exit(code),
            Ok(Ok(Some(Exit::NotStarted { why, .. }))) => Ending::NotRun { why },
            Ok(Err(error)) => Ending::NotRun { why: error.to_string() },
        };
        Ran { ending, output, errors }
    }

    fn start(self) -> io::Result<(Child, pipe::Receiver)> {
        let (reader, writer) = io::pipe()?;
        let stdin = if self.input.is_empty() { Stream::Null } else { Stream::Piped };
        let stderr = if self.keeps_errors_apart { Stream::Piped } else { writer.try_clone()?.into() };
        let mut launch = self.launch.stdout(writer);
        (launch.stdin, launch.stderr) = (stdin, stderr);
        Ok((launch.spawn()?, pipe::Receiver::from_owned_fd(reader.into())?))
    }
}

/// Gives a program its input. One that does not want all of it is not at fault.
async fn feed(stdin: Option<pipe::Sender>, input: &[u8]) -> Result<(), TooMuch> {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
    Ok(())
}

/// It printed too much.
struct TooMuch;

/// What a program printed.
#[derive(Debug)]
pub struct Printed {
    kept: Kept,
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
}

impl Printed {
    fn new(kept: Kept) -> Self {
        Self { kept, head: Vec::new(), tail: Vec::new(), total: 0 }
    }

    /// How many bytes it was.
    pub fn bytes(&self) -> u64 {
        self.total
    }

    /// It as text, its middle left out.
    pub fn text(&self) -> String {
        let tail = &self.tail[self.tail.len().saturating_sub(self.kept.tail)..];
        let left_out = self.total - (self.head.len() + tail.len()) as u64;
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if left_out > 0 {
            let _ = write!(text, "\n[{left_out} bytes left out]\n");
        }
        text.push_str(&String::from_utf8_lossy(tail));
        text
    }

    fn is_too_much(&self) -> bool {
        self.total > MAX_OUTPUT
    }

    /// Reads to the end, or until it is too much. Cancel safe.
    async fn read(
        &mut self,
        reader: Option<&mut pipe::Receiver>,
        see: &mut (impl FnMut(&[u8]) + Send),
    ) -> Result<(), TooMuch> {
        let Some(reader) = reader else {
            return Ok(());
        };
        let mut buffer = vec![0; 64 * 1024];
        while !self.is_too_much() {
            match reader.read(&mut buffer).await {
                Ok(count @ 1..) => {
                    see(&buffer[..count]);
                    self.add(&buffer[..count]);
                }
                Ok(_) | Err(_) => return Ok(()),
            }
        }
        Err(TooMuch)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.kept.head - self.head.len();
        let (head, tail) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(tail);
        if self.tail.len() > 2 * self.kept.tail {
            self.tail.drain(..self.tail.len() - self.kept.tail);
        }
    }
}
