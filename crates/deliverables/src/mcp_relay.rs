//! Our own binary as the MCP relay, `autonoe __mcp`.
//!
//! An agent in a room uses it as its MCP server. It forwards messages, line by line, to the process that
//! holds the project, and the answers back; an environment variable contains the address. It reads only the
//! id of a message, so that it can return an error to pending requests when the process is gone.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde_json::Value;

use crate::address::CallAddress;
use crate::mcp::error;

/// The argument that makes our binary the MCP relay.
pub const RELAY_ARG: &str = "__mcp";

/// Environment variable with the [`CallAddress`].
pub const CALLS_VARIABLE: &str = "AUTONOE_CALLS";

/// Exit code of a failed relay.
const FAILED: i32 = 1;

/// JSON-RPC error code for server-defined errors.
const NO_ANSWER: i32 = -32_000;

/// Bytes per read.
const BUFFER_BYTES: usize = 8 * 1024;

/// Runs the MCP relay if our binary's arguments request it, and returns the exit code. `calls` is the value
/// of [`CALLS_VARIABLE`]. Must be called before anything else is done.
pub fn run_helper_process(arguments: &[OsString], calls: Option<OsString>) -> Option<i32> {
    let [argument] = arguments else { return None };
    if argument != RELAY_ARG {
        return None;
    }
    let Some(calls) = calls else {
        let _ =
            writeln!(io::stderr(), "autonoe: the MCP relay is started by autonoe itself, not by the user");
        return Some(FAILED);
    };
    let relayed = relay_stdio(&CallAddress::read(&calls));
    Some(relayed.map_or(FAILED, |()| 0))
}

/// Forwards messages between the client on standard input and output and the process at an address until the
/// client disconnects.
pub fn relay_stdio(calls: &CallAddress) -> io::Result<()> {
    // Not Rust's own standard input, which buffers.
    let client = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    relay(calls, client, io::stdout())
}

/// Forwards messages between a client and the process at an address until the client disconnects.
pub fn relay(calls: &CallAddress, client: impl Read + AsFd, answers: impl Write) -> io::Result<()> {
    let mut relay = Relay { calls, host: None, waiting: Vec::new(), answers };
    let mut client = Some(LineReader::new(client));
    while client.is_some() || !relay.waiting.is_empty() {
        let (from_client, from_host) = wait(client.as_ref(), relay.host.as_ref())?;
        if from_host {
            relay.receive()?;
        }
        if let Some(lines) = client.as_mut().filter(|_| from_client) {
            match lines.read()? {
                Some(lines) => lines.iter().try_for_each(|line| relay.forward(line))?,
                None => client = None,
            }
        }
    }
    Ok(())
}

/// Waits until one of the two is readable or closed; returns which.
fn wait(client: Option<&LineReader<impl AsFd>>, host: Option<&LineReader<File>>) -> io::Result<(bool, bool)> {
    let fds = [client.map(|client| client.from.as_fd()), host.map(|host| host.from.as_fd())];
    let mut waited: Vec<_> = fds.iter().flatten().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    match poll(&mut waited, None) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = waited.iter().map(|fd| !fd.revents().is_empty());
    let [client, host] = fds.map(|fd| fd.is_some() && ready.next().unwrap_or_default());
    Ok((client, host))
}

struct Relay<'a, W> {
    calls: &'a CallAddress,
    /// The process that holds the project; connected on first use and again after a loss.
    host: Option<LineReader<File>>,
    /// Ids of unanswered requests.
    waiting: Vec<Value>,
    answers: W,
}

impl<W: Write> Relay<'_, W> {
    fn forward(&mut self, line: &[u8]) -> io::Result<()> {
        self.waiting.extend(id(line));
        self.send_to_host(line).or_else(|error| self.lost(&error))
    }

    fn send_to_host(&mut self, line: &[u8]) -> io::Result<()> {
        let host = match &mut self.host {
            Some(host) => host,
            none => none.insert(LineReader::new(self.calls.connect()?)),
        };
        host.from.write_all(line)
    }

    /// Forwards what the process sends to the client.
    fn receive(&mut self) -> io::Result<()> {
        let Some(host) = &mut self.host else { return Ok(()) };
        match host.read() {
            Ok(Some(lines)) => {
                for line in lines {
                    let answered = id(&line);
                    self.waiting.retain(|waiting| Some(waiting) != answered.as_ref());
                    self.send_to_client(&line)?;
                }
                Ok(())
            }
            Ok(None) => self.lost(&io::ErrorKind::UnexpectedEof.into()),
            Err(error) => self.lost(&error),
        }
    }

    /// Answers all pending requests with an error.
    fn lost(&mut self, why: &io::Error) -> io::Result<()> {
        self.host = None;
        let message = format!(
            "The autonoe process that works on this project does not answer ({why}); its run has ended."
        );
        for id in std::mem::take(&mut self.waiting) {
            self.send_to_client(format!("{}\n", error(&id, NO_ANSWER, &message)).as_bytes())?;
        }
        Ok(())
    }

    fn send_to_client(&mut self, line: &[u8]) -> io::Result<()> {
        self.answers.write_all(line)?;
        self.answers.flush()
    }
}

fn id(line: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Value>(line).ok()?.get("id").cloned()
}

/// Splits a stream into lines.
struct LineReader<R> {
    from: R,
    /// An incomplete line.
    partial: Vec<u8>,
}

impl<R> LineReader<R> {
    fn new(from: R) -> Self {
        Self { from, partial: Vec::new() }
    }
}

impl<R: Read> LineReader<R> {
    /// Reads once and returns the complete lines, with their ends; `None` at the end of the stream.
    fn read(&mut self) -> io::Result<Option<Vec<Vec<u8>>>> {
        let mut buffer = [0; BUFFER_BYTES];
        let count = match self.from.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Some(Vec::new())),
            Err(error) => return Err(error),
        };
        let mut lines = Vec::new();
        for part in buffer[..count].split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(part);
            if part.ends_with(b"\n") {
                lines.push(std::mem::take(&mut self.partial));
            }
        }
        Ok(Some(lines))
    }
}
