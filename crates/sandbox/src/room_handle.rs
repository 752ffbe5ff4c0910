//! Where programs enter a room that is open: the socket over which it is handed their supervisors, and tells what it did.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::sync::watch;

use crate::launch::Supervisor;
use crate::loss::MemoryBefore;
use crate::wire::{self, ExitReport, RoomEvent};

/// How long the reason is awaited for which a room ended everything; it comes at once if there is one.
const REASON_LIMIT: Duration = Duration::from_secs(1);

/// How long a room's supervisor is given to say how the room ended. It comes before that limit.
const SUPERVISOR_LIMIT: Duration = Duration::from_millis(400);

/// Where programs enter a room.
#[derive(Debug)]
pub(crate) struct RoomHandle {
    socket: Mutex<Option<UnixStream>>,
    room_events: watch::Receiver<Told>,
    before: MemoryBefore,
}

/// What is known of a room.
#[derive(Debug, Default)]
struct Told {
    /// Why everything in it was ended, if that happened.
    cleared: Option<String>,
    life: Life,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Life {
    #[default]
    Open,
    /// It has ended; why is about to be known.
    Ending,
    /// It has ended, and this is known of why.
    Gone(String),
}

impl Told {
    fn reason(&self) -> Option<String> {
        match (&self.cleared, &self.life) {
            (Some(why), _) => Some(format!("it and everything else in the room was ended: {why}")),
            (None, Life::Gone(why)) => Some(why.clone()),
            (None, Life::Open | Life::Ending) => None,
        }
    }
}

impl RoomHandle {
    /// For an open room with this socket, whose supervisor answers on the other one; from now on both are listened to.
    pub(crate) fn new(socket: UnixStream, supervisor: Supervisor) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let listening = tokio::net::UnixStream::from_std(socket.try_clone()?)?;
        let (tell, room_events) = watch::channel(Told::default());
        let before = MemoryBefore::now();
        tokio::spawn(listen(listening, supervisor, before, tell));
        Ok(Self { socket: Mutex::new(Some(socket)), room_events, before })
    }

    /// Hands the room the socket of a new supervisor.
    pub(crate) fn admit(&self, supervisors: UnixStream) -> io::Result<()> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = || io::Error::new(io::ErrorKind::NotConnected, "the room is gone");
        let socket = socket.as_ref().ok_or_else(gone)?;
        wire::send(socket, &(), &[supervisors.as_fd()]).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => gone(),
            _ => error,
        })
    }

    /// Whether programs can still enter.
    pub(crate) fn is_open(&self) -> bool {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        socket.is_some() && self.room_events.borrow().life == Life::Open
    }

    /// Why the room is gone, if it is and we have not closed it ourselves.
    pub(crate) async fn why_lost(&self) -> Option<String> {
        if self.is_open() || self.socket.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return None;
        }
        Some(self.why_ended().await)
    }

    /// Closes the room; what is in it ends.
    pub(crate) fn close(&self) {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(socket) = socket {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Why a supervisor ended without an answer.
    pub(crate) async fn why_ended(&self) -> String {
        let mut room_events = self.room_events.clone();
        let told = room_events.wait_for(|told| told.reason().is_some());
        match tokio::time::timeout(REASON_LIMIT, told).await {
            Ok(told) => {
                told.ok().and_then(|told| told.reason()).unwrap_or_else(|| "its room is gone".to_owned())
            }
            Err(_) => self.before.explain("the process that watches it", None),
        }
    }
}

/// Keeps what the room tells: why it ended everything; and when it is gone, what is known of that.
async fn listen(
    mut socket: tokio::net::UnixStream,
    mut supervisor: Supervisor,
    before: MemoryBefore,
    tell: watch::Sender<Told>,
) {
    let mut length = [0; wire::LENGTH_BYTES];
    while socket.read_exact(&mut length).await.is_ok() {
        let Ok(length) = wire::length_of(length) else {
            break;
        };
        let mut body = vec![0; length];
        if socket.read_exact(&mut body).await.is_err() {
            break;
        }
        if let Ok(RoomEvent::Cleared(why)) = serde_json::from_slice(&body) {
            tell.send_modify(|told| told.cleared = Some(why));
        }
    }
    tell.send_modify(|told| told.life = Life::Ending);
    let answer = tokio::time::timeout(SUPERVISOR_LIMIT, supervisor.answer()).await;
    let code = match answer {
        Ok(Ok(Some(ExitReport::Exited(code) | ExitReport::NotStarted { code, .. }))) => Some(code),
        Ok(Ok(None) | Err(_)) | Err(_) => None,
    };
    tell.send_modify(|told| told.life = Life::Gone(before.explain("the room", code)));
}
