//! A room that is open, as the orchestrator sees it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};

use crate::entrance::Entrance;
use crate::git::Before;
use crate::launch::{Keeper, Launch, STOP_LIMIT};
use crate::system;

/// The keeper of a room: told to stop, or with us gone, it ends the room and everything in it.
#[derive(Debug)]
pub(crate) struct RoomKeeper {
    pub process: tokio::process::Child,
    pub socket: UnixStream,
}

/// What all programs of a session share. Dropped, it ends everything in it.
#[derive(Debug)]
pub struct Room {
    entrance: Arc<Entrance>,
    way_out: Option<TcpListener>,
    held: Option<(RoomKeeper, Traces)>,
}

impl Room {
    pub(crate) fn new(
        socket: UnixStream,
        keeper: RoomKeeper,
        answers: Keeper,
        way_out: Option<TcpListener>,
        traces: Traces,
    ) -> io::Result<Self> {
        let entrance = Arc::new(Entrance::new(socket, answers)?);
        Ok(Self { entrance, way_out, held: Some((keeper, traces)) })
    }

    /// Prepares to run `program`, which is looked up in the `PATH` of its own environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Launch {
        Launch::new(Arc::clone(&self.entrance), program.as_ref())
    }

    /// The listening socket by which programs in the room can reach us and nobody else; given once.
    pub fn take_way_out(&mut self) -> Option<TcpListener> {
        self.way_out.take()
    }

    /// Whether programs can still be started in it.
    pub fn is_open(&self) -> bool {
        self.entrance.is_open()
    }

    /// What is known of why it is gone; none if it is not, or if we have closed it ourselves.
    pub async fn why_lost(&self) -> Option<String> {
        self.entrance.why_lost().await
    }

    /// Ends everything in it and waits until it is gone, in bounded time. Says what had to be put right in the project.
    pub async fn close(mut self) -> Vec<String> {
        self.entrance.close();
        match self.held.take() {
            Some((mut keeper, traces)) => {
                keeper.end().await;
                traces.clear()
            }
            None => Vec::new(),
        }
    }
}

impl RoomKeeper {
    /// Asks it to end everything.
    fn ask_to_stop(&self) {
        // That it has just ended is no error.
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Has the room ended and waits for it. A keeper that was killed could not do its work; its orphans are found.
    async fn end(&mut self) {
        self.ask_to_stop();
        let id = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let Some(id) = id else {
            return;
        };
        // A charge may have suspended it.
        let _ = kill_process(id, Signal::CONT);
        let ended = tokio::time::timeout(STOP_LIMIT, self.process.wait()).await;
        if matches!(ended, Ok(Ok(status)) if status.signal().is_some()) {
            system::kill_orphans_of(id);
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.entrance.close();
        if let Some((mut keeper, traces)) = self.held.take() {
            keeper.ask_to_stop();
            // Somebody must see it end; without a runtime there is nobody left who could.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    keeper.end().await;
                    traces.clear()
                });
            }
        }
    }
}

/// What is put right in the project when the room is gone.
#[derive(Debug)]
pub(crate) struct Traces {
    pub placeholders: Vec<PathBuf>,
    pub before: Before,
}

impl Traces {
    /// Takes away what stood in, and what would act outside; says what that was.
    fn clear(&self) -> Vec<String> {
        for path in &self.placeholders {
            // What is no longer empty is not ours.
            let _ = fs::remove_dir(path);
        }
        self.before.mend()
    }
}
