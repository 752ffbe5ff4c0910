//! The room's main: `autonoe __room`.
//!
//! A room is what the processes of one session share: one set of bounds, one process namespace and one network where the
//! system has them. It confines itself first, so that whatever starts in it is confined too, and then starts a supervisor
//! for each socket it is handed. What a program leaves in the background lives until the room is closed; then everybody is
//! asked to end, and ended after a moment.

use std::collections::HashSet;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, getpid, wait};

use crate::bounds::{Layer, Limits};
use crate::signals::Signals;
use crate::supervisor::{EXIT_SUPERVISOR_FAILED, KEEP_ARG, STOP_GRACE};
use crate::system;
use crate::wire::{self, RoomEvent, Setup};

/// The first argument by which our binary knows that it is to be the room.
pub const ROOM_ARG: &str = "__room";

/// How often it is looked whether processes use more than they may, while there are any.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often it is looked who is still there when the room ends.
const LOOK_EVERY_AT_THE_END: Duration = Duration::from_millis(20);

/// Runs the room and returns the exit code for the process. Its standard input must be a socket: the bounds come over
/// it, then a socket for each supervisor, and when it closes, the room ends. Must be called before any thread is started.
pub(crate) fn room() -> i32 {
    match wire::inherited_socket().and_then(|socket| serve(&socket)) {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "autonoe: the room cannot go on: {error}");
            EXIT_SUPERVISOR_FAILED
        }
    }
}

fn serve(socket: &UnixStream) -> io::Result<()> {
    let Some((setup, _)) = wire::receive::<Setup>(socket)? else {
        return Err(io::Error::other(
            "it was not told its bounds; it is started by autonoe itself, not by hand",
        ));
    };
    system::adopt_orphans()?;
    let signals = Signals::install()?;
    let ourselves = std::env::current_exe()?;
    match prepare(&setup) {
        Ok(way_out) => wire::send(socket, &RoomEvent::Ready, &[way_out.as_fd()])?,
        Err(error) => return wire::send(socket, &RoomEvent::Failed(error.to_string()), &[]),
    }
    let mut room = Room { socket, ourselves, supervisors: HashSet::new(), watch: Watch { setup, free: 0 } };
    let ended = room.run(&signals);
    room.shut_down(&signals);
    ended
}

/// Opens the way out, which belongs to this room's network, and confines this process.
fn prepare(setup: &Setup) -> io::Result<TcpListener> {
    let way_out = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = way_out.local_addr()?.port();
    system::confine(setup.layer, &setup.bounds, port)?;
    Ok(way_out)
}

struct Room<'a> {
    socket: &'a UnixStream,
    ourselves: PathBuf,
    /// The supervisors that are there.
    supervisors: HashSet<Pid>,
    watch: Watch,
}

impl Room<'_> {
    fn run(&mut self, signals: &Signals) -> io::Result<()> {
        loop {
            let busy = self.reap();
            if signals.stop_asked() {
                return Ok(());
            }
            if busy && let Some(why) = self.watch.exceeded() {
                wire::send(self.socket, &RoomEvent::Cleared(why), &[])?;
                system::kill_descendants();
            }
            if signals.wait(Some(self.socket.as_fd()), busy.then_some(LOOK_EVERY))?
                && !self.start_supervisor()?
            {
                return Ok(());
            }
        }
    }

    /// Starts a supervisor for the socket that was handed over. False when there is nobody any more who could.
    fn start_supervisor(&mut self) -> io::Result<bool> {
        let Some(((), fds)) = wire::receive::<()>(self.socket)? else {
            return Ok(false);
        };
        for fd in fds {
            // A supervisor that cannot be started is told by its socket closing.
            let started = Command::new(&self.ourselves)
                .arg(KEEP_ARG)
                .env_clear()
                .stdin(fd)
                .stdout(Stdio::null())
                .spawn();
            match started {
                Ok(supervisor) => {
                    self.supervisors.insert(Pid::from_child(&supervisor));
                }
                Err(error) => {
                    let _ = writeln!(io::stderr(), "autonoe: a supervisor cannot be started: {error}");
                }
            }
        }
        Ok(true)
    }

    /// Asks everybody to end and waits for it; anyone who is left after a moment is ended. Supervisors end with their programs.
    fn shut_down(&mut self, signals: &Signals) {
        let deadline = Instant::now() + STOP_GRACE;
        let mut told = system::Terminated::sparing(self.supervisors.iter().copied());
        while self.reap() {
            system::terminate_descendants(getpid(), &mut told);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || signals.wait(None, Some(left.min(LOOK_EVERY_AT_THE_END))).is_err() {
                system::kill_descendants();
                return;
            }
        }
    }

    /// Collects the dead and says whether any child is left.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    self.supervisors.remove(&pid);
                    // A supervisor that was killed, by its charge or for want of memory, could not do its work.
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

/// Looks for what no limit of the kernel forbids.
struct Watch {
    setup: Setup,
    /// What was free on the project's disk when it was last looked.
    free: u64,
}

impl Watch {
    fn exceeded(&mut self) -> Option<String> {
        if self.setup.layer == Layer::None {
            return None;
        }
        let Limits { processes, disk_reserve, .. } = self.setup.bounds.limits;
        if system::count_descendants() > processes {
            return Some(format!("more than {processes} processes were running"));
        }
        let disk = rustix::fs::statvfs(&self.setup.bounds.root).ok()?;
        let free = disk.f_bavail * disk.f_frsize;
        // What makes room on a full disk may go on.
        let filling = free < disk_reserve && free < self.free;
        self.free = free;
        filling.then(|| format!("less than {} MiB were left on the project's disk", disk_reserve >> 20))
    }
}
