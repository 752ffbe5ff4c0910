//! The main function of a room's first process: `autonoe __room`.
//!
//! The processes of one session share a room: one set of bounds and, where the system supports them, one process namespace
//! and one network. The process confines itself first, so that everything it starts is confined too, and then starts a
//! supervisor for each socket it receives. Background processes live until the room is closed; then they receive SIGTERM
//! and, after a moment, SIGKILL.

use std::collections::HashSet;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use autonoe_kernel_calls::{Forked, fork};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, getpid, wait};

use crate::bounds::{RoomLimits, SandboxLayer};
use crate::signals::Signals;
use crate::supervisor::{EXIT_NOT_STARTED, EXIT_SUPERVISOR_FAILED, STOP_GRACE, supervise};
use crate::system::{self, Confinement, SharedMemoryMonitor, SignalScope};
use crate::wire::{self, ExitReport, RoomEvent, RoomSetup, SpawnRequest};

/// The first argument that makes our binary run as a room.
pub const ROOM_ARG: &str = "__room";

/// How often limits are checked while there are processes.
const LIMIT_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How often to look for remaining processes while the room shuts down.
const SHUTDOWN_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs the room and returns the exit code for the process. Its standard input must be a socket: the process receives the
/// bounds over it, then a socket for each supervisor, and exits when it closes. Must be called before any thread is started.
pub(crate) fn run_room() -> i32 {
    match wire::inherited_socket().and_then(serve) {
        Ok(RoomEnd::Closed) => 0,
        Ok(RoomEnd::Supervisor(socket)) => supervise(socket),
        Err(error) => {
            let _ = writeln!(io::stderr(), "autonoe: the room failed: {error}");
            EXIT_SUPERVISOR_FAILED
        }
    }
}

/// How the room's main function ends in this process.
enum RoomEnd {
    Closed,
    /// This process is a copy of the room's, to supervise the program that is asked for over the socket. Starting our binary once more takes
    /// several times as long.
    Supervisor(UnixStream),
}

fn serve(socket: UnixStream) -> io::Result<RoomEnd> {
    let Some((setup, _)) = wire::receive::<RoomSetup>(&socket)? else {
        return Err(io::Error::other(
            "it received no bounds; autonoe starts this command itself, do not run it by hand",
        ));
    };
    system::adopt_orphans()?;
    let signals = Signals::install()?;
    let signal_scope = match prepare(&setup) {
        Ok((listeners, signal_scope)) => {
            let fds: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
            wire::send(&socket, &RoomEvent::Ready, &fds)?;
            signal_scope
        }
        Err(error) => {
            wire::send(&socket, &RoomEvent::Failed(error.to_string()), &[])?;
            return Ok(RoomEnd::Closed);
        }
    };
    let mut room = RoomServer {
        socket: &socket,
        supervisors: HashSet::new(),
        monitor: LimitMonitor { setup, free: 0, shared_memory: SharedMemoryMonitor::default() },
        signal_scope,
    };
    let ended = room.run(&signals);
    if !matches!(ended, Ok(RoomEnd::Supervisor(_))) {
        room.shut_down(&signals);
    }
    ended
}

/// Answers the request for a program that cannot be started. If that fails too, the orchestrator sees the socket close.
fn report_failure(socket: &UnixStream, error: &io::Error) {
    let why = format!("cannot start a supervisor: {error}");
    let _ = writeln!(io::stderr(), "autonoe: {why}");
    if let Ok(Some(_)) = wire::receive::<SpawnRequest>(socket) {
        let _ = wire::send(socket, &ExitReport::NotStarted { code: EXIT_NOT_STARTED, why }, &[]);
    }
}

/// Opens the socket for the egress proxy, which belongs to this room's network, and confines this process. Returns what the
/// orchestrator listens to; nothing of it may stay open when the first program is started.
fn prepare(setup: &RoomSetup) -> io::Result<(Vec<OwnedFd>, Option<SignalScope>)> {
    system::refuse_tracing()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let Confinement { calls, signal_scope } = system::confine(setup.layer, &setup.bounds)?;
    Ok(([OwnedFd::from(listener)].into_iter().chain(calls).collect(), signal_scope))
}

struct RoomServer<'a> {
    socket: &'a UnixStream,
    supervisors: HashSet<Pid>,
    monitor: LimitMonitor,
    signal_scope: Option<SignalScope>,
}

impl RoomServer<'_> {
    fn run(&mut self, signals: &Signals) -> io::Result<RoomEnd> {
        loop {
            // Stop signals change nothing: they come from programs in the room. The orchestrator closes the socket.
            let busy = self.reap();
            if busy && let Some(why) = self.monitor.exceeded() {
                wire::send(self.socket, &RoomEvent::Cleared(why), &[])?;
                system::kill_descendants(self.signal_scope.as_ref());
            }
            if signals.wait(Some(self.socket.as_fd()), busy.then_some(LIMIT_CHECK_INTERVAL))?
                && let Some(end) = self.start_supervisor()?
            {
                return Ok(end);
            }
        }
    }

    /// Makes a supervisor for each socket received. Returns how this process ends: the copy becomes the supervisor, and the room ends when our
    /// own socket has closed.
    fn start_supervisor(&mut self) -> io::Result<Option<RoomEnd>> {
        let Some(((), fds)) = wire::receive::<()>(self.socket)? else {
            return Ok(Some(RoomEnd::Closed));
        };
        for fd in fds {
            match fork() {
                Ok(Forked::Child) => {
                    // The room's own socket is the room's alone.
                    rustix::stdio::dup2_stdin(&fd)?;
                    return Ok(Some(RoomEnd::Supervisor(UnixStream::from(fd))));
                }
                Ok(Forked::Parent { child }) => self.supervisors.extend(Pid::from_raw(child)),
                Err(error) => report_failure(&UnixStream::from(fd), &error),
            }
        }
        Ok(None)
    }

    /// Sends SIGTERM to every process and, after [`STOP_GRACE`], SIGKILL to the rest. Supervisors exit with their programs.
    fn shut_down(&mut self, signals: &Signals) {
        let deadline = Instant::now() + STOP_GRACE;
        let mut terminated = system::Terminated::excluding(self.supervisors.iter().copied());
        while self.reap() {
            system::terminate_descendants(getpid(), &mut terminated);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || signals.wait(None, Some(left.min(SHUTDOWN_POLL_INTERVAL))).is_err() {
                system::kill_descendants(self.signal_scope.as_ref());
                return;
            }
        }
    }

    /// Reaps exited children. Returns whether any child is left.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    self.supervisors.remove(&pid);
                    // A supervisor that was killed, by its program or for lack of memory, left its processes behind.
                    if status.terminating_signal().is_some() {
                        system::kill_orphans_of(pid);
                    }
                }
                Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }
}

/// Checks limits that the kernel cannot enforce.
struct LimitMonitor {
    setup: RoomSetup,
    /// Free bytes on the project's disk at the last check.
    free: u64,
    shared_memory: SharedMemoryMonitor,
}

impl LimitMonitor {
    fn exceeded(&mut self) -> Option<String> {
        if self.setup.layer == SandboxLayer::None {
            return None;
        }
        let RoomLimits { processes, memory, disk_reserve, .. } = self.setup.bounds.limits;
        let running = system::descendants();
        if running.len() as u64 > processes {
            return Some(format!("more than {processes} processes were running"));
        }
        if self.shared_memory.exceeds(memory, &running) {
            return Some(format!("more than {} MiB of shared memory was in use", memory >> 20));
        }
        let disk = rustix::fs::statvfs(self.setup.bounds.shown(&self.setup.bounds.root)).ok()?;
        let free = disk.f_bavail * disk.f_frsize;
        // Programs that free space on a full disk may continue.
        let filling = free < disk_reserve && free < self.free;
        self.free = free;
        filling.then(|| format!("less than {} MiB was left on the project's disk", disk_reserve >> 20))
    }
}
