//! An open room, on the orchestrator's side.

use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use autonoe_files::PathMapping;
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::task::TaskTracker;

use crate::launch::{Launch, STOP_LIMIT};
use crate::record::{CleanupPlan, RoomRecord};
use crate::room_handle::RoomHandle;
use crate::supervisor_client::SupervisorClient;
use crate::system;

/// Shutdowns of rooms that were dropped and not closed.
static SHUTDOWNS: LazyLock<TaskTracker> = LazyLock::new(TaskTracker::new);

/// Waits until every room that was dropped has ended and is cleaned up, but not longer than `limit`. A process that exits before
/// leaves that to the next start.
pub async fn rooms_closed(limit: Duration) {
    SHUTDOWNS.close();
    let _ = tokio::time::timeout(limit, SHUTDOWNS.wait()).await;
    SHUTDOWNS.reopen();
}

/// The supervisor of a room. When it is asked to stop, or when we are gone, it kills the room and everything in it.
#[derive(Debug)]
pub(crate) struct RoomSupervisor {
    pub process: tokio::process::Child,
    pub socket: UnixStream,
}

/// The confined environment that all programs of a session share. Dropping it kills everything in it.
#[derive(Debug)]
pub struct Room {
    room_handle: Arc<RoomHandle>,
    egress_listener: Option<TcpListener>,
    shutdown: Option<RoomShutdown>,
    /// One sentence for each place that it does not show although its bounds name it.
    left_out: Vec<String>,
}

/// What is needed to shut down a room.
#[derive(Debug)]
pub(crate) struct RoomShutdown {
    pub supervisor: RoomSupervisor,
    pub cleanup: CleanupPlan,
    /// The cleanup plan on disk; `None` for rooms outside a user's project.
    pub record: Option<RoomRecord>,
}

impl Room {
    pub(crate) fn new(
        socket: UnixStream,
        supervisor: SupervisorClient,
        egress_listener: Option<TcpListener>,
        shutdown: RoomShutdown,
        mapping: Option<PathMapping>,
    ) -> io::Result<Self> {
        let room_handle = Arc::new(RoomHandle::new(socket, supervisor, mapping)?);
        Ok(Self { room_handle, egress_listener, shutdown: Some(shutdown), left_out: Vec::new() })
    }

    pub(crate) fn note_left_out(mut self, left_out: Vec<String>) -> Self {
        self.left_out = left_out;
        self
    }

    /// Prepares to run `program`, which is looked up in the `PATH` that it is given.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Launch {
        Launch::new(Arc::clone(&self.room_handle), program.as_ref())
    }

    /// The listening socket for the egress proxy, the only one that programs in the room can connect to. `None` after the
    /// first call.
    pub fn take_egress_listener(&mut self) -> Option<TcpListener> {
        self.egress_listener.take()
    }

    /// Whether programs can still be started in the room.
    pub fn is_open(&self) -> bool {
        self.room_handle.is_open()
    }

    /// Why the room is gone; `None` if it is open, or if we closed it ourselves.
    pub async fn why_lost(&self) -> Option<String> {
        self.room_handle.why_lost().await
    }

    /// Kills everything in the room and waits until it is gone, in bounded time. Returns one sentence for each place that was left out and
    /// for each repair in the project.
    pub async fn close(mut self) -> Vec<String> {
        self.room_handle.close();
        let mut notices = std::mem::take(&mut self.left_out);
        if let Some(shutdown) = self.shutdown.take() {
            notices.extend(shutdown.run().await);
        }
        notices
    }
}

impl RoomShutdown {
    /// Stops the room, waits for it and cleans up. If the room does not end in time, the next start cleans up.
    async fn run(mut self) -> Vec<String> {
        if !self.supervisor.stop().await {
            return Vec::new();
        }
        let notices = self.cleanup.apply(SystemTime::now());
        if let Some(record) = self.record {
            record.remove();
        }
        notices
    }
}

impl RoomSupervisor {
    fn request_stop(&self) {
        // An error means that it has just exited.
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Stops the room and waits for it. Returns false if it has not ended in time. If the supervisor itself was killed, this
    /// kills its orphans.
    async fn stop(&mut self) -> bool {
        self.request_stop();
        let id = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let Some(id) = id else {
            return true;
        };
        // A program may have suspended its supervisor.
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
        if let Some(shutdown) = self.shutdown.take() {
            shutdown.supervisor.request_stop();
            // Without a runtime nothing can wait for the room; the next start cleans up.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                SHUTDOWNS.spawn_on(shutdown.run(), &runtime);
            }
        }
    }
}
