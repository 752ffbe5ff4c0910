//! Runs a program to its end with limits on time and output, and leaves nothing running that it started.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::launch::{Exit, Launch, SandboxedChild, StdioTarget};
use crate::open::OpenError;
use crate::session_sandbox::SessionSandbox;

/// A program that prints more than this many bytes is killed.
pub const MAX_OUTPUT: u64 = 64 * 1024 * 1024;

/// How long to wait for the rest of the output when the program has exited.
const REST_LIMIT: Duration = Duration::from_secs(2);

/// How long stopping its processes may take.
const STOP_LIMIT: Duration = Duration::from_secs(10);

const BASH: &str = "/bin/bash";
const SH: &str = "/bin/sh";

/// A program to run to its end, with limits.
#[derive(Debug)]
pub struct BoundedCommand {
    /// The program. [`BoundedCommand::run`] sets its standard streams.
    pub launch: Launch,
    /// All of its standard input.
    pub input: Vec<u8>,
    /// Whether standard error is captured separately. Otherwise it is part of the output, in order of time.
    pub separate_stderr: bool,
    pub time_limit: Duration,
    pub output_limits: OutputLimits,
}

/// How many bytes of an output are kept.
#[derive(Debug, Clone, Copy)]
pub struct OutputLimits {
    /// Bytes from the start of the output.
    pub head: usize,
    /// Bytes from the end of the output.
    pub tail: usize,
}

#[derive(Debug)]
pub struct CommandResult {
    pub ending: CommandEnd,
    pub output: CapturedOutput,
    /// Standard error; empty unless it was captured separately.
    pub stderr: CapturedOutput,
}

/// How a bounded command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    /// It exited with this code.
    Exit(i32),
    /// It was killed after its time limit.
    TimedOut,
    /// It was killed after it had printed [`MAX_OUTPUT`] bytes.
    TooMuchOutput,
    /// It could not be run.
    NotRun { why: String },
}

impl SessionSandbox {
    /// Prepares to run a command with a shell.
    pub async fn shell(&self, command: &str) -> Result<Launch, OpenError> {
        self.shell_printing_to(None, command).await
    }

    /// The same; the command prints to a named pipe from the beginning.
    pub async fn shell_printing_to(&self, stream: Option<&Path>, command: &str) -> Result<Launch, OpenError> {
        let command = match stream {
            Some(stream) => format!("exec > {} 2>&1; {command}", quoted(stream)),
            None => command.to_owned(),
        };
        let shell = if Path::new(BASH).exists() { BASH } else { SH };
        // The `--` lets a command start with a dash.
        Ok(self.command(shell).await?.args(["-c", "--", &command]))
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

impl BoundedCommand {
    /// Runs the program. `on_output` receives every byte of its output, including bytes that are not kept.
    pub async fn run(self, on_output: impl FnMut(&[u8]) + Send) -> CommandResult {
        self.run_printing_to(None, on_output).await
    }

    /// The same, for a program that opens the named pipe `stream`, which is made here, and prints to it from then on; see
    /// [`SessionSandbox::shell_printing_to`].
    pub async fn run_printing_to(
        self,
        stream: Option<&Path>,
        mut on_output: impl FnMut(&[u8]) + Send,
    ) -> CommandResult {
        let (mut output, mut stderr) =
            (CapturedOutput::new(self.output_limits), CapturedOutput::new(self.output_limits));
        let (time_limit, input) = (self.time_limit, self.input.clone());
        let stream = stream.map(OutputStream::make).transpose();
        let started = stream.and_then(|stream| Ok((self.start()?, stream)));
        let ((mut child, mut output_pipe), stream) = match started {
            Ok(started) => started,
            Err(error) => {
                return CommandResult {
                    ending: CommandEnd::NotRun { why: error.to_string() },
                    output,
                    stderr,
                };
            }
        };
        let (mut stream_pipe, writer) =
            stream.map(|OutputStream { reader, writer }| (reader, writer)).unzip();
        let stdin = child.stdin.take();
        let mut stderr_pipe = child.stderr.take();
        let mut ignore = |_: &[u8]| {};

        let work = async {
            let streams = async {
                tokio::try_join!(
                    feed(stdin, &input),
                    output.read_both(&mut output_pipe, stream_pipe.as_mut(), &mut on_output),
                    stderr.read(stderr_pipe.as_mut(), &mut ignore),
                )
            };
            tokio::select! {
                biased;
                closed = streams => if closed.is_err() {
                    return Ok(None);
                },
                exit = child.wait() => return exit.map(Some),
            }
            child.wait().await.map(Some)
        };
        let ended = timeout(time_limit, work).await;
        if !matches!(ended, Ok(Ok(Some(_)))) {
            // Processes that the supervisor cannot kill in time are killed when the room is closed.
            let _ = timeout(STOP_LIMIT, child.stop()).await;
        }
        drop(writer);
        let rest = async {
            let output = output.read_both(&mut output_pipe, stream_pipe.as_mut(), &mut on_output);
            tokio::join!(output, stderr.read(stderr_pipe.as_mut(), &mut ignore))
        };
        let _ = timeout(REST_LIMIT, rest).await;

        let ending = match ended {
            Err(_) => CommandEnd::TimedOut,
            Ok(Ok(None)) => CommandEnd::TooMuchOutput,
            Ok(Ok(Some(_))) if output.is_too_much() || stderr.is_too_much() => CommandEnd::TooMuchOutput,
            Ok(Ok(Some(Exit::Code(code)))) => CommandEnd::Exit(code),
            Ok(Ok(Some(Exit::NotStarted { why, .. }))) => CommandEnd::NotRun { why },
            Ok(Err(error)) => CommandEnd::NotRun { why: error.to_string() },
        };
        CommandResult { ending, output, stderr }
    }

    fn start(self) -> io::Result<(SandboxedChild, pipe::Receiver)> {
        let (reader, writer) = io::pipe()?;
        let stdin = if self.input.is_empty() { StdioTarget::Null } else { StdioTarget::Piped };
        let stderr = if self.separate_stderr { StdioTarget::Piped } else { writer.try_clone()?.into() };
        let mut launch = self.launch.stdout(writer);
        (launch.stdin, launch.stderr) = (stdin, stderr);
        Ok((launch.spawn()?, pipe::Receiver::from_owned_fd(reader.into())?))
    }
}

/// The named pipe of a command.
struct OutputStream {
    reader: pipe::Receiver,
    /// Ours, so that there is no end before the program has opened it.
    writer: pipe::Sender,
}

impl OutputStream {
    fn make(path: &Path) -> io::Result<Self> {
        const WRITE_ONLY: u32 = 0o200;
        let _ = std::fs::remove_file(path);
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
        let reader = pipe::OpenOptions::new().open_receiver(path)?;
        let writer = pipe::OpenOptions::new().open_sender(path)?;
        std::fs::set_permissions(path, Permissions::from_mode(WRITE_ONLY))?;
        Ok(Self { reader, writer })
    }
}

/// Writes a program's input. A program that does not read all of it has not failed.
async fn feed(stdin: Option<pipe::Sender>, input: &[u8]) -> Result<(), TooMuch> {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
    Ok(())
}

/// The program printed more than [`MAX_OUTPUT`] bytes.
struct TooMuch;

/// The output of a program: its start and its end, within the limits.
#[derive(Debug)]
pub struct CapturedOutput {
    limits: OutputLimits,
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
}

impl CapturedOutput {
    fn new(limits: OutputLimits) -> Self {
        Self { limits, head: Vec::new(), tail: Vec::new(), total: 0 }
    }

    /// The number of bytes printed, including those not kept.
    pub fn bytes(&self) -> u64 {
        self.total
    }

    /// The output as text, with a note in place of the bytes that were not kept.
    pub fn text(&self) -> String {
        let tail = &self.tail[self.tail.len().saturating_sub(self.limits.tail)..];
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

    /// Reads to the end, or until the output exceeds [`MAX_OUTPUT`]. Cancel safe.
    async fn read(
        &mut self,
        reader: Option<&mut pipe::Receiver>,
        on_output: &mut (impl FnMut(&[u8]) + Send),
    ) -> Result<(), TooMuch> {
        let Some(reader) = reader else {
            return Ok(());
        };
        let mut buffer = vec![0; 64 * 1024];
        while !self.is_too_much() {
            match reader.read(&mut buffer).await {
                Ok(count @ 1..) => {
                    on_output(&buffer[..count]);
                    self.add(&buffer[..count]);
                }
                Ok(_) | Err(_) => return Ok(()),
            }
        }
        Err(TooMuch)
    }

    /// The program prints to the first only until it has opened the second.
    async fn read_both(
        &mut self,
        first: &mut pipe::Receiver,
        second: Option<&mut pipe::Receiver>,
        on_output: &mut (impl FnMut(&[u8]) + Send),
    ) -> Result<(), TooMuch> {
        self.read(Some(first), on_output).await?;
        self.read(second, on_output).await
    }

    fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.limits.head - self.head.len();
        let (head, tail) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(tail);
        if self.tail.len() > 2 * self.limits.tail {
            self.tail.drain(..self.tail.len() - self.limits.tail);
        }
    }
}
