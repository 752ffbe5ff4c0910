//! The main function of the supervisor process: `autonoe __keep`.
//!
//! The supervisor starts one program and adopts the program's orphaned descendants. When it is asked to stop, or when the
//! socket to the orchestrator closes, even by SIGKILL, it ends all of them: SIGTERM first, so that they can clean up (git
//! removes its lock files), then SIGKILL. Finding descendants is up to `system`.

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
use crate::system::{self, SignalScope};
use crate::wire::{self, ExitReport, SpawnRequest, StopMethod};

/// The first argument that makes our binary run as the supervisor.
pub const SUPERVISOR_ARG: &str = "__keep";

/// The time between SIGTERM and SIGKILL.
pub const STOP_GRACE: Duration = Duration::from_millis(500);

/// How long a room may take to stop: it gives its own programs [`STOP_GRACE`] first.
const ROOM_GRACE: Duration = Duration::from_millis(700);

/// How often to look for descendants that were started while the others were sent SIGTERM.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How often the record of a room is touched. Its modification time shows until when the room existed.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(1);

/// The supervisor's exit code when it failed before it could start the program.
pub const EXIT_SUPERVISOR_FAILED: i32 = 125;
/// The supervisor's exit code when the program exists but could not be started.
pub const EXIT_NOT_STARTED: i32 = 126;
/// The supervisor's exit code when the program does not exist.
pub const EXIT_NOT_FOUND: i32 = 127;

/// A process ended by signal n is reported as exit code 128+n, as shells do.
pub(crate) const EXIT_SIGNAL_BASE: i32 = 128;

/// The maximum number of times that SIGKILL is sent, with a pause after each: 5 s in total.
const KILL_ROUNDS: u32 = 500;
const KILL_PAUSE: Duration = Duration::from_millis(10);

/// Runs the supervisor and returns the exit code for the process. Its standard input must be a socket: it receives the
/// request and sends the report over it, and stops when it closes. Must be called before any thread is started.
pub(crate) fn run_supervisor() -> i32 {
    let socket = wire::inherited_socket().map_err(SupervisorError::setup("use its socket"));
    exit_code(socket.and_then(|socket| serve(socket, StopSignals::Obeyed)))
}

/// Like [`run_supervisor`], in a process that a room has made for it.
pub(crate) fn supervise(socket: UnixStream) -> i32 {
    exit_code(serve(socket, StopSignals::Ignored))
}

/// What signals mean that ask for an end, such as SIGTERM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopSignals {
    Obeyed,
    /// In a room they come from its programs, which must not decide how another one ends. The orchestrator closes the socket.
    Ignored,
}

fn exit_code(result: Result<(), SupervisorError>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            // A failed write means that nobody reads stderr any more.
            let _ = writeln!(io::stderr(), "autonoe: {error}");
            EXIT_SUPERVISOR_FAILED
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum SupervisorError {
    #[error("the supervisor received no request; autonoe starts this command itself, do not run it by hand")]
    NoRequest,
    #[error("the supervisor cannot {doing}: {source}")]
    Setup { doing: &'static str, source: io::Error },
}

impl SupervisorError {
    fn setup<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Setup { doing, source: source.into() }
    }
}

fn serve(socket: UnixStream, stop_signals: StopSignals) -> Result<(), SupervisorError> {
    let request =
        wire::receive::<SpawnRequest>(&socket).map_err(SupervisorError::setup("read its request"))?;
    let Some((request, fds)) = request else {
        return Err(SupervisorError::NoRequest);
    };
    let report = run(&request, fds, &socket, stop_signals)?;
    // If the orchestrator is gone, nobody waits for the report.
    let _ = wire::send(&socket, &report, &[]);
    Ok(())
}

/// Must not return early between the start of the program and the end of its process tree.
fn run(
    request: &SpawnRequest,
    fds: Vec<OwnedFd>,
    socket: &UnixStream,
    stop_signals: StopSignals,
) -> Result<ExitReport, SupervisorError> {
    // A session of our own: there is no terminal to prompt on or to be interrupted from, and every other process in the
    // session is a descendant.
    rustix::process::setsid().map_err(SupervisorError::setup("open a session"))?;
    system::adopt_orphans().map_err(SupervisorError::setup("adopt orphans"))?;
    let signals = Signals::install().map_err(SupervisorError::setup("catch signals"))?;
    system::refuse_tracing().map_err(SupervisorError::setup("refuse tracing"))?;
    // Without it, processes are found and killed one by one.
    let signal_scope = request.scopes_signals.then(SignalScope::enter).and_then(Result::ok).flatten();
    let mut fds = fds.into_iter();
    let streams: Vec<OwnedFd> = fds.by_ref().take(3).collect();
    // Kept open until we exit: its lock marks the room as possibly still running.
    let record = fds.next().map(File::from);
    let main = match start(request, streams) {
        Ok(main) => main,
        Err(error) => {
            remove(&request.remove);
            let code =
                if error.kind() == io::ErrorKind::NotFound { EXIT_NOT_FOUND } else { EXIT_NOT_STARTED };
            let why = format!("cannot start {}: {error}", request.program.display());
            return Ok(ExitReport::NotStarted { code, why });
        }
    };
    let mut tree = ProcessTree { main, status: None, signal_scope };
    match (watch(&mut tree, socket, &signals, stop_signals, record.as_ref()), request.stop) {
        (StopCause::ProgramExited, StopMethod::Signal) if !request.ends_all => {}
        (StopCause::ProgramExited | StopCause::Requested, StopMethod::Signal) => {
            tree.terminate(&signals);
            tree.kill(&signals);
        }
        (StopCause::Requested, StopMethod::Socket) => {
            tree.wait(&signals, ROOM_GRACE);
            tree.kill(&signals);
        }
        // A room that exits has terminated its programs before. If it was killed, nothing confines them any more.
        (StopCause::ProgramExited, StopMethod::Socket) => tree.kill(&signals),
    }
    remove(&request.remove);
    Ok(ExitReport::Exited(tree.exit_code()))
}

/// Removes the placeholders of missing directories. A directory that is no longer empty is not ours.
fn remove(directories: &[PathBuf]) {
    for directory in directories {
        let _ = fs::remove_dir(directory);
    }
}

fn start(request: &SpawnRequest, streams: Vec<OwnedFd>) -> io::Result<Pid> {
    let Ok([stdin, stdout, stderr]) = <[OwnedFd; 3]>::try_from(streams) else {
        return Err(io::Error::other("the request came without its standard streams"));
    };
    let child = Command::new(&request.program)
        .args(&request.args)
        .env_clear()
        .envs(request.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&request.cwd)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0)
        .spawn()?;
    Ok(Pid::from_child(&child))
}

/// Why the supervisor stops waiting.
enum StopCause {
    ProgramExited,
    /// We received a signal, or our parent is gone.
    Requested,
}

fn watch(
    tree: &mut ProcessTree,
    socket: &UnixStream,
    signals: &Signals,
    stop_signals: StopSignals,
    record: Option<&File>,
) -> StopCause {
    loop {
        tree.reap();
        if tree.status.is_some() {
            return StopCause::ProgramExited;
        }
        if signals.stop_requested() && stop_signals == StopSignals::Obeyed {
            return StopCause::Requested;
        }
        // A missed heartbeat only makes the end time of the room less precise.
        let _ = record.map(touch);
        // No further messages come over the socket, so if it is readable, it was closed.
        match signals.wait(Some(socket.as_fd()), record.map(|_| HEARTBEAT)) {
            Ok(false) => {}
            Ok(true) | Err(_) => return StopCause::Requested,
        }
    }
}

fn touch(record: &File) -> io::Result<()> {
    record.set_modified(SystemTime::now())
}

/// The program, its descendants, and the orphans adopted from them.
struct ProcessTree {
    main: Pid,
    status: Option<WaitStatus>,
    signal_scope: Option<SignalScope>,
}

impl ProcessTree {
    /// Reaps exited children. Returns whether any child is left.
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

    /// Sends SIGTERM to every process and waits until all have exited or [`STOP_GRACE`] is over.
    fn terminate(&mut self, signals: &Signals) {
        let deadline = Instant::now() + STOP_GRACE;
        let mut terminated = system::Terminated::default();
        while self.reap() {
            system::terminate_descendants(self.main, &mut terminated);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || signals.wait(None, Some(left.min(POLL_INTERVAL))).is_err() {
                return;
            }
        }
    }

    /// Waits until every process has exited by itself, or the limit is over.
    fn wait(&mut self, signals: &Signals, limit: Duration) {
        let deadline = Instant::now() + limit;
        while self.reap() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || signals.wait(None, Some(left)).is_err() {
                return;
            }
        }
    }

    /// Kills every process. When a parent dies, we adopt its children, so this may take several rounds.
    fn kill(&mut self, signals: &Signals) {
        if !system::ADOPTS_ORPHANS {
            system::signal_descendants(self.main, Signal::KILL);
        }
        for _ in 0..KILL_ROUNDS {
            if !self.reap() {
                return;
            }
            match &self.signal_scope {
                Some(scope) => scope.kill_all(),
                None => system::signal_descendants(self.main, Signal::KILL),
            }
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
