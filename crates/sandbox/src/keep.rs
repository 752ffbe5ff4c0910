//! The keeper's main: `autonoe __keep --parent PID -- program args…`.
//!
//! It starts the program, adopts whatever the program's descendants leave behind, and does not end
//! before they all have. It leaves to `system` how descendants are found on this system.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getppid, wait};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::system;

/// The first argument by which our binary knows that it is to be the keeper.
pub const KEEP_ARG: &str = "__keep";

/// How long descendants have between SIGTERM and SIGKILL when the keeper is told to stop.
pub const STOP_GRACE: Duration = Duration::from_millis(500);

/// The keeper's exit code when it could not do its work, so that the program was never started.
pub const EXIT_KEEPER_FAILED: i32 = 125;
/// The keeper's exit code when the program exists but could not be started.
pub const EXIT_NOT_STARTED: i32 = 126;
/// The keeper's exit code when there is no such program.
pub const EXIT_NOT_FOUND: i32 = 127;

/// A process ended by signal n is reported as exit code 128+n, as shells do.
const EXIT_SIGNAL_BASE: i32 = 128;

/// SIGKILL is sent to what is left at most this often, with a pause each time: 5 s in all.
const KILL_ROUNDS: u32 = 500;
const KILL_PAUSE: Duration = Duration::from_millis(10);

/// Runs the keeper with the arguments that follow [`KEEP_ARG`] and returns the exit code for the
/// process. Must be called before any thread is started.
pub fn keep(args: impl Iterator<Item = OsString>) -> i32 {
    match Order::parse(args).and_then(run) {
        Ok(code) => code,
        Err(error) => {
            // Nobody may be reading any more; then there is nobody to tell.
            let _ = writeln!(io::stderr(), "autonoe: {error}");
            error.exit_code()
        }
    }
}

/// What the keeper is asked to do.
struct Order {
    parent: Pid,
    program: OsString,
    args: Vec<OsString>,
}

impl Order {
    fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Self, KeepError> {
        let mut next = || args.next().ok_or(KeepError::Usage);
        let (flag, parent, dashes, program) = (next()?, next()?, next()?, next()?);
        let parent = parent.to_str().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
        match parent {
            Some(parent) if flag == "--parent" && dashes == "--" => {
                Ok(Self { parent, program, args: args.collect() })
            }
            Some(_) | None => Err(KeepError::Usage),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error("usage: {KEEP_ARG} --parent PID -- PROGRAM [ARGUMENT]...")]
    Usage,
    #[error("process {0}, on whose behalf the keeper was started, is already gone")]
    ParentGone(Pid),
    #[error("the keeper cannot {doing}: {source}")]
    Setup { doing: &'static str, source: io::Error },
    #[error("cannot start {}: {source}", program.display())]
    Start { program: OsString, source: io::Error },
}

impl KeepError {
    fn setup<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Setup { doing, source: source.into() }
    }

    fn exit_code(&self) -> i32 {
        match self {
            Self::Usage | Self::ParentGone(_) | Self::Setup { .. } => EXIT_KEEPER_FAILED,
            Self::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => EXIT_NOT_FOUND,
            Self::Start { .. } => EXIT_NOT_STARTED,
        }
    }
}

/// Nothing between the start of the program and the end of its family may return early.
fn run(order: Order) -> Result<i32, KeepError> {
    // A session of our own: no terminal to be asked or interrupted from, and whoever is in it, but
    // for the keeper, is a descendant.
    rustix::process::setsid().map_err(KeepError::setup("open a session"))?;
    system::adopt_orphans().map_err(KeepError::setup("adopt orphans"))?;
    let signals = Signals::install().map_err(KeepError::setup("catch signals"))?;
    let parent = Parent::watch(order.parent)?;
    let mut family = Family { main: start(&order)?, status: None };
    release_streams();
    if let Ended::Told = watch(&mut family, &parent, &signals) {
        family.terminate(&signals);
    }
    family.kill(&signals);
    Ok(family.exit_code())
}

fn start(order: &Order) -> Result<Pid, KeepError> {
    let child = Command::new(&order.program)
        .args(&order.args)
        .process_group(0)
        .spawn()
        .map_err(|source| KeepError::Start { program: order.program.clone(), source })?;
    Ok(Pid::from_child(&child))
}

/// Input and output are the program's alone, so that their other ends see when it closes them.
/// Standard error is kept: it is closed when, and only when, everything has ended.
fn release_streams() {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}

/// Why the keeper stops waiting.
enum Ended {
    /// The program exited by itself.
    Main,
    /// A signal told us to stop, or our parent is gone.
    Told,
}

fn watch(family: &mut Family, parent: &Parent, signals: &Signals) -> Ended {
    loop {
        family.reap();
        if family.status.is_some() {
            return Ended::Main;
        }
        if signals.stop_asked() || parent.is_gone() {
            return Ended::Told;
        }
        if wait_for(signals, parent.fd.as_ref().map(AsFd::as_fd), parent.check_every()).is_err() {
            return Ended::Told;
        }
    }
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

    /// Asks everyone to end, until all have, the grace is over, or we are told a second time.
    fn terminate(&mut self, signals: &Signals) {
        let deadline = Instant::now() + STOP_GRACE;
        system::signal_descendants(self.main, Signal::TERM);
        while self.reap() && !signals.stop_asked() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || wait_for(signals, None, Some(left)).is_err() {
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
            let _ = wait_for(signals, None, Some(KILL_PAUSE));
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

/// The process that must outlive us, or we stop.
struct Parent {
    pid: Pid,
    fd: Option<rustix::fd::OwnedFd>,
}

impl Parent {
    fn watch(pid: Pid) -> Result<Self, KeepError> {
        // Opened first and compared afterwards: if it still is our parent, the descriptor is its.
        let fd = match system::watch(pid) {
            Err(error) if error == Errno::SRCH => return Err(KeepError::ParentGone(pid)),
            fd => fd.map_err(KeepError::setup("watch its parent"))?,
        };
        let parent = Self { pid, fd };
        if parent.is_gone() { Err(KeepError::ParentGone(pid)) } else { Ok(parent) }
    }

    fn is_gone(&self) -> bool {
        getppid() != Some(self.pid)
    }

    /// Without a descriptor that wakes us, we must look.
    fn check_every(&self) -> Option<Duration> {
        self.fd.is_none().then_some(STOP_GRACE)
    }
}

/// Turns signals into something to poll: a byte in a socket for each, and a flag for "stop".
struct Signals {
    wake: UnixStream,
    stop: Arc<AtomicBool>,
}

impl Signals {
    fn install() -> io::Result<Self> {
        let (wake, bell) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT] {
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
            signal_hook::low_level::pipe::register(signal, bell.try_clone()?)?;
        }
        signal_hook::low_level::pipe::register(SIGCHLD, bell)?;
        Ok(Self { wake, stop })
    }

    /// Whether we were told to stop since this was last asked.
    fn stop_asked(&self) -> bool {
        self.stop.swap(false, Ordering::SeqCst)
    }
}

/// Sleeps until a signal comes, `other` is readable, or the limit is over.
fn wait_for(signals: &Signals, other: Option<BorrowedFd<'_>>, limit: Option<Duration>) -> io::Result<()> {
    let limit = limit.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
    let mut fds = vec![PollFd::new(&signals.wake, PollFlags::IN)];
    fds.extend(other.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    match poll(&mut fds, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut bells = [0; 64];
    while matches!((&signals.wake).read(&mut bells), Ok(n) if n > 0) {}
    Ok(())
}
