//! Our own binary in another part: the MCP relay, `autonoe __mcp`.
//!
//! It is what an agent in a room takes for its MCP server. It carries the messages, line by line, to the process that holds the
//! project, and the answers back. Where that is, a variable says. Of a message it looks only at the id, so that it can say so to anyone who waits for an answer when
//! nobody is there any more to give one.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde_json::Value;

use crate::address::CallAddress;
use crate::mcp::error;

/// The one argument by which our binary knows that it is to be the MCP relay.
pub const RELAY_ARG: &str = "__mcp";

/// The variable that tells the MCP relay the [`CallAddress`].
pub const CALLS_VARIABLE: &str = "AUTONOE_CALLS";

/// The exit code of a relay that could not do its work.
const FAILED: i32 = 1;

/// The code of JSON-RPC for what is a server's own.
const NO_ANSWER: i32 = -32_000;

/// How much is read at once.
const PIECE_BYTES: usize = 8 * 1024;

/// Plays the MCP relay, if our binary's arguments say so, and returns the exit code. `calls` is the value of [`CALLS_VARIABLE`]. To
/// be called before anything else is done.
pub fn run_helper_process(arguments: &[OsString], calls: Option<OsString>) -> Option<i32> {
    let [part] = arguments else { return None };
    if part != RELAY_ARG {
        return None;
    }
    let Some(calls) = calls else {
        let _ = writeln!(io::stderr(), "autonoe: the MCP relay is started by autonoe itself, not by hand");
        return Some(FAILED);
    };
    let carried = carry_stdio(&CallAddress::read(&calls));
    Some(carried.map_or(FAILED, |()| 0))
}

/// Carries messages between the client on standard input and output and the process at an address until the client goes away.
pub fn carry_stdio(calls: &CallAddress) -> io::Result<()> {
    // Not Rust's own standard input, which reads more than it is asked for.
    let client = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    carry(calls, client, io::stdout())
}

/// Carries messages between a client and the process at an address until the client goes away.
pub fn carry(calls: &CallAddress, client: impl Read + AsFd, answers: impl Write) -> io::Result<()> {
    let mut relay = Relay { calls, other: None, waiting: Vec::new(), answers };
    let mut client = Some(Lines::new(client));
    while client.is_some() || !relay.waiting.is_empty() {
        let (from_client, from_other) = wait(client.as_ref(), relay.other.as_ref())?;
        if from_other {
            relay.hear()?;
        }
        if let Some(lines) = client.as_mut().filter(|_| from_client) {
            match lines.read()? {
                Some(lines) => lines.iter().try_for_each(|line| relay.pass_on(line))?,
                None => client = None,
            }
        }
    }
    Ok(())
}

/// Sleeps until one of the two has something to say, or has gone; says which.
fn wait(client: Option<&Lines<impl AsFd>>, other: Option<&Lines<File>>) -> io::Result<(bool, bool)> {
    let fds = [client.map(|client| client.from.as_fd()), other.map(|other| other.from.as_fd())];
    let mut waited: Vec<_> = fds.iter().flatten().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    match poll(&mut waited, None) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = waited.iter().map(|fd| !fd.revents().is_empty());
    let [client, other] = fds.map(|fd| fd.is_some() && ready.next().unwrap_or_default());
    Ok((client, other))
}

struct Relay<'a, W> {
    calls: &'a CallAddress,
    /// The process that holds the project, once there was something to say to it, and again after it was lost.
    other: Option<Lines<File>>,
    /// The ids of what was asked and not answered yet.
    waiting: Vec<Value>,
    answers: W,
}

impl<W: Write> Relay<'_, W> {
    fn pass_on(&mut self, line: &[u8]) -> io::Result<()> {
        self.waiting.extend(id(line));
        self.send(line).or_else(|error| self.lost(&error))
    }

    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        let other = match &mut self.other {
            Some(other) => other,
            none => none.insert(Lines::new(self.calls.connect()?)),
        };
        other.from.write_all(line)
    }

    /// Takes what the other process says to the client.
    fn hear(&mut self) -> io::Result<()> {
        let Some(other) = &mut self.other else { return Ok(()) };
        match other.read() {
            Ok(Some(lines)) => {
                for line in lines {
                    let answered = id(&line);
                    self.waiting.retain(|waiting| Some(waiting) != answered.as_ref());
                    self.tell(&line)?;
                }
                Ok(())
            }
            Ok(None) => self.lost(&io::ErrorKind::UnexpectedEof.into()),
            Err(error) => self.lost(&error),
        }
    }

    /// Tells anyone who waits that there will be no answer.
    fn lost(&mut self, why: &io::Error) -> io::Result<()> {
        self.other = None;
        let message = format!(
            "The autonoe process that holds this project does not answer ({why}); its run has ended."
        );
        for id in std::mem::take(&mut self.waiting) {
            self.tell(format!("{}\n", error(&id, NO_ANSWER, &message)).as_bytes())?;
        }
        Ok(())
    }

    fn tell(&mut self, line: &[u8]) -> io::Result<()> {
        self.answers.write_all(line)?;
        self.answers.flush()
    }
}

/// The id of a message, if it has one.
fn id(line: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Value>(line).ok()?.get("id").cloned()
}

/// What comes in pieces, as lines.
struct Lines<R> {
    from: R,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
}

impl<R> Lines<R> {
    fn new(from: R) -> Self {
        Self { from, begun: Vec::new() }
    }
}

impl<R: Read> Lines<R> {
    /// Reads once, and gives the lines that are whole by now, with their ends; none if nothing more will come.
    fn read(&mut self) -> io::Result<Option<Vec<Vec<u8>>>> {
        let mut piece = [0; PIECE_BYTES];
        let count = match self.from.read(&mut piece) {
            Ok(0) => return Ok(None),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Some(Vec::new())),
            Err(error) => return Err(error),
        };
        let mut lines = Vec::new();
        for part in piece[..count].split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") {
                lines.push(std::mem::take(&mut self.begun));
            }
        }
        Ok(Some(lines))
    }
}
