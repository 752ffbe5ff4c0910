//! Our end of the socket to a supervisor: receives its report, and asks it to stop.

use std::io;
use std::os::unix::net::UnixStream;

use tokio::io::AsyncReadExt;

use crate::wire::{self, ExitReport};

#[derive(Debug)]
pub(crate) struct SupervisorClient {
    socket: tokio::net::UnixStream,
    received: Vec<u8>,
}

impl SupervisorClient {
    pub(crate) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket: tokio::net::UnixStream::from_std(socket)?, received: Vec::new() })
    }

    /// The supervisor's report; `None` if the supervisor was killed. Cancel safe.
    pub(crate) async fn report(&mut self) -> io::Result<Option<ExitReport>> {
        loop {
            // The supervisor closes its end after its only message, and also when it is killed.
            match self.socket.read_buf(&mut self.received).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
                Err(error) => return Err(error),
            }
        }
        Ok(self.received.get(wire::LENGTH_BYTES..).and_then(|body| serde_json::from_slice(body).ok()))
    }

    pub(crate) fn request_stop(&self) {
        // An error means that the supervisor has just exited.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
    }
}
