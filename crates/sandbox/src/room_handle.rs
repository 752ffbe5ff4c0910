//! The connection to an open room: starts programs in it, and tracks whether and why it ended.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use autonoe_files::PathMapping;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;

use crate::kill_cause::OomBaseline;
use crate::supervisor_client::SupervisorClient;
use crate::wire::{self, ExitReport, RoomEvent};

/// How long to wait for the reason why a room killed everything; if there is one, it arrives at once.
const REASON_LIMIT: Duration = Duration::from_secs(1);

/// How long the supervisor of a room may take to report how the room ended. Must be shorter than [`REASON_LIMIT`].
const SUPERVISOR_LIMIT: Duration = Duration::from_millis(400);

#[derive(Debug)]
pub(crate) struct RoomHandle {
    socket: Mutex<Option<UnixStream>>,
    state: watch::Receiver<RoomState>,
    before: OomBaseline,
    /// The project, if programs see it at another path.
    pub(crate) mapping: Option<PathMapping>,
}

#[derive(Debug, Default)]
struct RoomState {
    /// Why everything in the room was killed; `None` if that did not happen.
    cleared: Option<String>,
    phase: RoomPhase,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum RoomPhase {
    #[default]
    Open,
    /// The room has ended; the reason is not known yet.
    CommandEnd,
    /// The room has ended for this reason.
    Gone(String),
}

impl RoomState {
    fn reason(&self) -> Option<String> {
        match (&self.cleared, &self.phase) {
            (Some(why), _) => Some(format!("everything in the room was killed: {why}")),
            (None, RoomPhase::Gone(why)) => Some(why.clone()),
            (None, RoomPhase::Open | RoomPhase::CommandEnd) => None,
        }
    }
}

impl RoomHandle {
    /// Takes the socket of an open room and its supervisor, and starts to listen to both.
    pub(crate) fn new(
        socket: UnixStream,
        supervisor: SupervisorClient,
        mapping: Option<PathMapping>,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let events = tokio::net::UnixStream::from_std(socket.try_clone()?)?;
        let (updates, state) = watch::channel(RoomState::default());
        let before = OomBaseline::now();
        tokio::spawn(listen(events, supervisor, before, updates));
        Ok(Self { socket: Mutex::new(Some(socket)), state, before, mapping })
    }

    /// Passes the socket of a new supervisor to the room, which then starts that supervisor.
    pub(crate) fn admit(&self, supervisors: UnixStream) -> io::Result<()> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = || io::Error::new(io::ErrorKind::NotConnected, "the room is gone");
        let socket = socket.as_ref().ok_or_else(gone)?;
        wire::send(socket, &(), &[supervisors.as_fd()]).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => gone(),
            _ => error,
        })
    }

    /// Whether programs can still be started in the room.
    pub(crate) fn is_open(&self) -> bool {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        socket.is_some() && self.state.borrow().phase == RoomPhase::Open
    }

    /// Why the room is gone; `None` if it is open, or if we closed it ourselves.
    pub(crate) async fn why_lost(&self) -> Option<String> {
        if self.is_open() || self.socket.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return None;
        }
        Some(self.why_ended().await)
    }

    /// Closes the room, which ends everything in it.
    pub(crate) fn close(&self) {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(socket) = socket {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Why a supervisor exited without a report.
    pub(crate) async fn why_ended(&self) -> String {
        let mut state = self.state.clone();
        let explained = state.wait_for(|state| state.reason().is_some());
        match tokio::time::timeout(REASON_LIMIT, explained).await {
            Ok(state) => {
                state.ok().and_then(|state| state.reason()).unwrap_or_else(|| "its room is gone".to_owned())
            }
            Err(_) => self.before.explain("its supervisor", None),
        }
    }
}

/// Records the events of the room and, when the room is gone, the reason.
async fn listen(
    mut socket: tokio::net::UnixStream,
    mut supervisor: SupervisorClient,
    before: OomBaseline,
    updates: watch::Sender<RoomState>,
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
            updates.send_modify(|state| state.cleared = Some(why));
        }
    }
    updates.send_modify(|state| state.phase = RoomPhase::CommandEnd);
    let report = tokio::time::timeout(SUPERVISOR_LIMIT, supervisor.report()).await;
    let code = match report {
        Ok(Ok(Some(ExitReport::Exited(code) | ExitReport::NotStarted { code, .. }))) => Some(code),
        Ok(Ok(None) | Err(_)) | Err(_) => None,
    };
    updates.send_modify(|state| state.phase = RoomPhase::Gone(before.explain("the room", code)));
}
