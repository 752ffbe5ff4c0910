//! Messages between the orchestrator, rooms and supervisors: length-prefixed JSON over Unix sockets, with file descriptors
//! attached.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recvmsg,
    sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bounds::{Bounds, SandboxLayer};
use crate::os_text;
use crate::system;

/// The maximum message size, in bytes; larger than the kernel's limit for program arguments.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// The maximum number of descriptors per message: the three standard streams of a program, and the record of a room.
const MAX_FDS: usize = 4;
pub(crate) const LENGTH_BYTES: usize = 4;

/// The request to a supervisor. The program's standard streams are attached, and for a room also its record.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SpawnRequest {
    #[serde(with = "os_text::one")]
    pub program: OsString,
    #[serde(with = "os_text::list")]
    pub args: Vec<OsString>,
    #[serde(with = "os_text::pairs")]
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    /// Whether the program's remaining descendants are killed when it exits, or live until the room is closed.
    pub ends_all: bool,
    pub stop: StopMethod,
    /// Whether the supervisor puts itself and everything it starts into a domain that no signal leaves.
    pub scopes_signals: bool,
    /// Empty directories to remove when everything has ended.
    pub remove: Vec<PathBuf>,
}

/// How a program is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StopMethod {
    /// The program and everything it has started receive SIGTERM.
    Signal,
    /// A room notices that its socket has closed and ends its programs. A signal would kill the layer's helper program, and
    /// with it everything else at once.
    Socket,
}

/// The supervisor's only message back.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ExitReport {
    /// The exit code, 128+n after signal n.
    Exited(i32),
    NotStarted {
        code: i32,
        why: String,
    },
}

/// The first message to a room.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RoomSetup {
    pub layer: SandboxLayer,
    pub bounds: Bounds,
}

/// A message from a room.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum RoomEvent {
    /// The room is confined. The listening socket for the egress proxy is attached, and with Landlock the listener for the calls
    /// that the room hands over.
    Ready,
    /// The room could not be confined.
    Failed(String),
    /// Everything in the room was killed, for this reason.
    Cleared(String),
}

/// Sends a message with descriptors. Blocks while the other end does not read.
pub(crate) fn send<T: Serialize>(
    mut socket: &UnixStream,
    message: &T,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= MAX_MESSAGE);
    let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
    let bytes = [&length.to_le_bytes(), body.as_slice()].concat();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many descriptors"));
    }
    // A closed peer is an error, not a signal: the Rust runtime ignores SIGPIPE in all our binaries.
    let sent = sendmsg(socket.as_fd(), &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::empty())?;
    socket.write_all(&bytes[sent..])
}

/// Receives a message and its descriptors; `None` when the other end has closed.
pub(crate) fn receive<T: DeserializeOwned>(mut socket: &UnixStream) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut length = [0; LENGTH_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        let mut into = [IoSliceMut::new(&mut length)];
        match recvmsg(socket.as_fd(), &mut into, &mut ancillary, system::RECEIVE) {
            Err(rustix::io::Errno::INTR) => {}
            received => break received?.bytes,
        }
    };
    if got == 0 {
        return Ok(None);
    }
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    socket.read_exact(&mut length[got..])?;
    let mut body = vec![0; length_of(length)?];
    socket.read_exact(&mut body)?;
    Ok(Some((serde_json::from_slice(&body)?, fds)))
}

/// The length of the message that follows.
pub(crate) fn length_of(bytes: [u8; LENGTH_BYTES]) -> io::Result<usize> {
    let length = u32::from_le_bytes(bytes) as usize;
    if length > MAX_MESSAGE { Err(io::Error::other("the message is too long")) } else { Ok(length) }
}

/// The socket that a supervisor or a room has as its standard input.
pub(crate) fn inherited_socket() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::{ExitReport, receive, send};

    #[test]
    fn a_message_arrives_complete_with_its_descriptors() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut near, far) = UnixStream::pair().unwrap();
        let why = "x".repeat(1_000_000);
        let sending = std::thread::spawn(move || {
            send(&ours, &ExitReport::NotStarted { code: 7, why }, &[far.as_fd()]).unwrap();
            send(&ours, &ExitReport::Exited(1), &[]).unwrap();
        });
        let (first, mut fds) = receive::<ExitReport>(&theirs).unwrap().unwrap();
        assert!(matches!(first, ExitReport::NotStarted { code: 7, why } if why.len() == 1_000_000));
        let mut far = UnixStream::from(fds.pop().unwrap());
        far.write_all(b"!").unwrap();
        drop(far);
        let mut text = String::new();
        near.read_to_string(&mut text).unwrap();
        assert_eq!(text, "!");
        assert!(
            matches!(receive::<ExitReport>(&theirs).unwrap().unwrap(), (ExitReport::Exited(1), fds) if fds.is_empty())
        );
        sending.join().unwrap();
        assert!(receive::<ExitReport>(&theirs).unwrap().is_none(), "closed");
    }

    #[test]
    fn a_malformed_message_is_an_error() {
        for bytes in [&b"\xff\xff\xff\xff"[..], b"\x04\0\0\0nope", b"\x09\0\0\0nope"] {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            ours.write_all(bytes).unwrap();
            drop(ours);
            assert!(receive::<ExitReport>(&theirs).is_err(), "{bytes:?}");
        }
    }
}
