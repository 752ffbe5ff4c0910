//! The supervisor's main: `autonoe __keep`.
//!
//! It starts one program and adopts whatever the program's descendants leave behind. When it is told to, or when the
//! socket to the orchestrator closes, even by SIGKILL, it ends all of them: SIGTERM first, so that they can put away what
//! they hold (git its lock files), SIGKILL for the rest. It leaves to `system` how descendants are found on this system.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};

use crate::signals::Signals;
use crate::system;
use crate::wire::{self, ExitReport, SpawnRequest, Stop};

/// The first argument by which our binary knows that it is to be the supervisor.
pub const KEEP_ARG: &str = "__keep";

/// How long descendants have between SIGTERM and SIGKILL.
pub const STOP_GRACE: Duration = Duration::from_millis(500);

/// How long a room has to give its programs that time, and to end.
const ROOM_GRACE: Duration = Duration::from_millis(700);

/// How often it is looked for descendants that were just started when the others were sent SIGTERM.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How often the record of a room is touched, to tell until when it was there.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(1);

/// The supervisor's exit code when it could not do its work, so that the program was never started.
pub const EXIT_SUPERVISOR_FAILED: i32 = 125;
/// The supervisor's exit code when the program exists but could not be started.
pub const EXIT_NOT_STARTED: i32 = 126;
/// The supervisor's exit code when there is no such program.
pub const EXIT_NOT_FOUND: i32 = 127;

/// A process ended by signal n is reported as exit code 128+n, as shells do.
pub(crate) const EXIT_SIGNAL_BASE: i32 = 128;

/// SIGKILL is sent to what is left at most this often, with a pause each time: 5 s in all.
const KILL_ROUNDS: u32 = 500;
const KILL_PAUSE: Duration = Duration::from_millis(10);

/// Runs the supervisor and returns the exit code for the process. Its standard input must be a socket: the order comes
/// over it, the answer goes back, and when it closes, the supervisor stops. Must be called before any thread is started.
pub(crate) fn keep() -> i32 {
    let result = wire::inherited_socket().map_err(SupervisorError::setup("use its socket")).and_then(serve);
    match result {
        Ok(()) => 0,
        Err(error) => {
            // Nobody may be reading any more; then there is nobody to tell.
            let _ = writeln!(io::stderr(), "autonoe: {error}");
            EXIT_SUPERVISOR_FAILED
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum SupervisorError {
    #[error("the supervisor was not told what to run; it is started by autonoe itself, not by hand")]
    NoOrder,
    #[error("the supervisor cannot {doing}: {source}")]
    Setup { doing: &'static str, source: io::Error },
}

impl SupervisorError {
    fn setup<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Setup { doing, source: source.into() }
    }
}

fn serve(socket: UnixStream) -> Result<(), SupervisorError> {
    let order = wire::receive::<SpawnRequest>(&socket).map_err(SupervisorError::setup("read its order"))?;
    let Some((order, fds)) = order else {
        return Err(SupervisorError::NoOrder);
    };
    let answer = run(&order, fds, &socket)?;
    // If the orchestrator is gone, nobody waits for the answer.
    let _ = wire::send(&socket, &answer, &[]);
    Ok(())
}

/// Nothing between the start of the program and the end of its family may return early.
fn run(order: &SpawnRequest, fds: Vec<OwnedFd>, socket: &UnixStream) -> Result<ExitReport, SupervisorError> {
    // A session of our own: no terminal to be asked or interrupted from, and anyone who is in it, but
    // for the supervisor, is a descendant.
    rustix::process::setsid().map_err(SupervisorError::setup("open a session"))?;
    system::adopt_orphans().map_err(SupervisorError::setup("adopt orphans"))?;
    let signals = Signals::install().map_err(SupervisorError::setup("catch signals"))?;
    let mut fds = fds.into_iter();
    let streams: Vec<OwnedFd> = fds.by_ref().take(3).collect();
    // Held until we end: its lock says that the room may not have ended yet.
    let record = fds.next().map(File::from);
    let main = match start(order, streams) {
        Ok(main) => main,
        Err(error) => {
            remove(&order.remove);
            let code =
                if error.kind() == io::ErrorKind::NotFound { EXIT_NOT_FOUND } else { EXIT_NOT_STARTED };
            let why = format!("cannot start {}: {error}", order.program.display());
            return Ok(ExitReport::NotStarted { code, why });
        }
    };
    let mut family = Family { main, status: None };
    match (watch(&mut family, socket, &signals, record.as_ref()), order.stop) {
        (Ended::Main, Stop::Signal) if !order.ends_all => {}
        (Ended::Main | Ended::Told, Stop::Signal) => {
            family.terminate(&signals);
            family.kill(&signals);
        }
        (Ended::Told, Stop::Socket) => {
            family.wait(&signals, ROOM_GRACE);
            family.kill(&signals);
        }
        // A room that ends has asked everybody before. One that was killed is no longer there to hold them.
        (Ended::Main, Stop::Socket) => family.kill(&signals),
    }
    remove(&order.remove);
    Ok(ExitReport::Exited(family.exit_code()))
}

/// Removes what stood in for directories that are not there. What is no longer empty is not ours.
fn remove(directories: &[PathBuf]) {
    for directory in directories {
        let _ = fs::remove_dir(directory);
    }
}

fn start(order: &SpawnRequest, streams: Vec<OwnedFd>) -> io::Result<Pid> {
    let Ok([stdin, stdout, stderr]) = <[OwnedFd; 3]>::try_from(streams) else {
        return Err(io::Error::other("its streams did not come with the order"));
    };
    let child = Command::new(&order.program)
        .args(&order.args)
        .env_clear()
        .envs(order.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&order.cwd)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0)
        .spawn()?;
    Ok(Pid::from_child(&child))
}

/// Why the supervisor stops waiting.
enum Ended {
    /// The program exited by itself.
    Main,
    /// A signal told us to stop, or our parent is gone.
    Told,
}

fn watch(family: &mut Family, socket: &UnixStream, signals: &Signals, record: Option<&File>) -> Ended {
    loop {
        family.reap();
        if family.status.is_some() {
            return Ended::Main;
        }
        if signals.stop_asked() {
            return Ended::Told;
        }
        // Without a sign of life less can be proven later.
        let _ = record.map(touch);
        // Nothing more is ever said over the socket: that it is readable means that it was closed.
        match signals.wait(Some(socket.as_fd()), record.map(|_| HEARTBEAT)) {
            Ok(false) => {}
            Ok(true) | Err(_) => return Ended::Told,
        }
    }
}

fn touch(record: &File) -> io::Result<()> {
    record.set_modified(SystemTime::now())
}

/// The program, its descendants, and the orphans adopted from them.
struct Family {
    main: Pid,
    status: Option<WaitStatus>,
}

impl Family {
    /// Collects the dead and says whether any child is left.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.main => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Asks everyone to end, until all have or the grace is over.
    fn terminate(&mut self, signals: &Signals) {
        let deadline = Instant::now() + STOP_GRACE;
        let mut told = system::Terminated::default();
        while self.reap() {
            system::terminate_descendants(self.main, &mut told);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || signals.wait(None, Some(left.min(LOOK_EVERY))).is_err() {
                return;
            }
        }
    }

    /// Waits until everyone has ended by themselves, or the limit is over.
    fn wait(&mut self, signals: &Signals, limit: Duration) {
        let deadline = Instant::now() + limit;
        while self.reap() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || signals.wait(None, Some(left)).is_err() {
                return;
            }
        }
    }

    /// Ends everyone. Killing a parent hands its children to us, so this may take several rounds.
    fn kill(&mut self, signals: &Signals) {
        if !system::ADOPTS_ORPHANS {
            system::signal_descendants(self.main, Signal::KILL);
        }
        for _ in 0..KILL_ROUNDS {
            if !self.reap() {
                return;
            }
            system::signal_descendants(self.main, Signal::KILL);
            // A failed wait only makes the round shorter.
            let _ = signals.wait(None, Some(KILL_PAUSE));
        }
    }

    fn exit_code(&self) -> i32 {
        let killed = EXIT_SIGNAL_BASE + Signal::KILL.as_raw();
        self.status.map_or(killed, |status| match status.terminating_signal() {
            Some(signal) => EXIT_SIGNAL_BASE + signal,
            None => status.exit_status().unwrap_or(killed),
        })
    }
}
