//! A room that is open, as the orchestrator sees it.

use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::SystemTime;

use rustix::process::{Pid, Signal, kill_process};

use crate::launch::{Launch, STOP_LIMIT, Supervisor};
use crate::record::{Record, Traces};
use crate::room_handle::RoomHandle;
use crate::system;

/// The supervisor of a room: told to stop, or with us gone, it ends the room and everything in it.
#[derive(Debug)]
pub(crate) struct RoomSupervisor {
    pub process: tokio::process::Child,
    pub socket: UnixStream,
}

/// What all programs of a session share. Dropped, it ends everything in it.
#[derive(Debug)]
pub struct Room {
    room_handle: Arc<RoomHandle>,
    way_out: Option<TcpListener>,
    held: Option<Held>,
}

/// What is seen to when the room ends.
#[derive(Debug)]
pub(crate) struct Held {
    pub supervisor: RoomSupervisor,
    pub traces: Traces,
    /// The same on disk, for rooms in a project.
    pub record: Option<Record>,
}

impl Room {
    pub(crate) fn new(
        socket: UnixStream,
        answers: Supervisor,
        way_out: Option<TcpListener>,
        held: Held,
    ) -> io::Result<Self> {
        let room_handle = Arc::new(RoomHandle::new(socket, answers)?);
        Ok(Self { room_handle, way_out, held: Some(held) })
    }

    /// Prepares to run `program`, which is looked up in the `PATH` of its own environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Launch {
        Launch::new(Arc::clone(&self.room_handle), program.as_ref())
    }

    /// The listening socket by which programs in the room can reach us and nobody else; given once.
    pub fn take_way_out(&mut self) -> Option<TcpListener> {
        self.way_out.take()
    }

    /// Whether programs can still be started in it.
    pub fn is_open(&self) -> bool {
        self.room_handle.is_open()
    }

    /// What is known of why it is gone; none if it is not, or if we have closed it ourselves.
    pub async fn why_lost(&self) -> Option<String> {
        self.room_handle.why_lost().await
    }

    /// Ends everything in it and waits until it is gone, in bounded time. Says what had to be put right in the project.
    pub async fn close(mut self) -> Vec<String> {
        self.room_handle.close();
        match self.held.take() {
            Some(held) => held.end().await,
            None => Vec::new(),
        }
    }
}

impl Held {
    /// Has the room ended, waits for it and puts right what it left. What is not done in time is left to the next start.
    async fn end(mut self) -> Vec<String> {
        if !self.supervisor.end().await {
            return Vec::new();
        }
        let told = self.traces.clear(SystemTime::now());
        if let Some(record) = self.record {
            record.remove();
        }
        told
    }
}

impl RoomSupervisor {
    /// Asks it to end everything.
    fn ask_to_stop(&self) {
        // That it has just ended is not an error.
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Has the room ended and waits for it; false if it has not. A supervisor that was killed could not do its work; its orphans
    /// are found.
    async fn end(&mut self) -> bool {
        self.ask_to_stop();
        let id = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let Some(id) = id else {
            return true;
        };
        // A charge may have suspended it.
        let _ = kill_process(id, Signal::CONT);
        let ended = tokio::time::timeout(STOP_LIMIT, self.process.wait()).await;
        if matches!(ended, Ok(Ok(status)) if status.signal().is_some()) {
            system::kill_orphans_of(id);
        }
        ended.is_ok()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.room_handle.close();
        if let Some(held) = self.held.take() {
            held.supervisor.ask_to_stop();
            // Somebody must see it end; without a runtime there is nobody left who could.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(held.end());
            }
        }
    }
}
