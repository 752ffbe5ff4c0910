//! Where programs enter a room that is open: the socket over which it is handed their keepers, and tells what it did.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::sync::watch;

use crate::wire::{self, Tidings};

/// How long the reason is awaited for which a room ended everything; it comes at once if there is one.
const REASON_LIMIT: Duration = Duration::from_secs(1);

/// Where programs enter a room.
#[derive(Debug)]
pub(crate) struct Entrance {
    socket: Mutex<Option<UnixStream>>,
    tidings: watch::Receiver<Option<String>>,
}

impl Entrance {
    /// For an open room with this socket; from now on it is listened to.
    pub(crate) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let listening = tokio::net::UnixStream::from_std(socket.try_clone()?)?;
        let (tell, tidings) = watch::channel(None);
        tokio::spawn(listen(listening, tell));
        Ok(Self { socket: Mutex::new(Some(socket)), tidings })
    }

    /// Hands the room the socket of a new keeper.
    pub(crate) fn admit(&self, keepers: UnixStream) -> io::Result<()> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = || io::Error::new(io::ErrorKind::NotConnected, "the room is gone");
        let socket = socket.as_ref().ok_or_else(gone)?;
        wire::send(socket, &(), &[keepers.as_fd()]).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => gone(),
            _ => error,
        })
    }

    /// Whether programs can still enter.
    pub(crate) fn is_open(&self) -> bool {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        // Its sender is gone when the room's socket has closed.
        socket.is_some() && self.tidings.has_changed().is_ok()
    }

    /// Closes the room; what is in it ends.
    pub(crate) fn close(&self) {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(socket) = socket {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Why a keeper ended without an answer.
    pub(crate) async fn why_ended(&self) -> String {
        let mut tidings = self.tidings.clone();
        let told = tokio::time::timeout(REASON_LIMIT, tidings.wait_for(Option::is_some)).await;
        match told {
            Ok(Ok(why)) => {
                format!("it and everything else in the room was ended: {}", why.as_deref().unwrap_or(""))
            }
            Ok(Err(_)) => "its room is gone".to_owned(),
            Err(_) => "its keeper was killed".to_owned(),
        }
    }
}

/// Keeps what the room tells: why it ended everything, or that it is gone.
async fn listen(mut socket: tokio::net::UnixStream, tell: watch::Sender<Option<String>>) {
    let mut length = [0; wire::LENGTH_BYTES];
    while socket.read_exact(&mut length).await.is_ok() {
        let Ok(length) = wire::length_of(length) else {
            break;
        };
        let mut body = vec![0; length];
        if socket.read_exact(&mut body).await.is_err() {
            break;
        }
        if let Ok(Tidings::Cleared(why)) = serde_json::from_slice(&body) {
            let _ = tell.send(Some(why));
        }
    }
}
