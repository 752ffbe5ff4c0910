//! Signals that can be polled for: each writes a byte to a socket, and stop signals set a flag.

use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::system;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::SigId;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};

/// Whether this process ignores a signal. Ignored signals are inherited: under `nohup`, SIGHUP is. Call it before a handler
/// is installed. Always false on systems without `/proc`.
pub fn is_ignored(signal: i32) -> bool {
    let bit = u32::try_from(signal - 1).ok().and_then(|bit| 1_u64.checked_shl(bit));
    bit.is_some_and(|bit| system::ignored_signals() & bit != 0)
}

/// The signals that a supervisor or a room handles.
pub(crate) struct Signals {
    wake: UnixStream,
    stop: Arc<AtomicBool>,
    actions: Vec<SigId>,
}

impl Signals {
    pub(crate) fn install() -> io::Result<Self> {
        let (wake, notify) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        // Signals that were ignored at our start stay ignored, here and in our children; the closing socket still stops us.
        let mut actions = Vec::new();
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT].into_iter().filter(|signal| !is_ignored(*signal)) {
            actions.push(signal_hook::flag::register(signal, Arc::clone(&stop))?);
            actions.push(pipe::register(signal, notify.try_clone()?)?);
        }
        actions.push(pipe::register(SIGCHLD, notify)?);
        Ok(Self { wake, stop, actions })
    }

    /// Whether a stop signal has arrived since the last call.
    pub(crate) fn stop_requested(&self) -> bool {
        self.stop.swap(false, Ordering::SeqCst)
    }

    /// Sleeps until a signal arrives, `other` is readable, or the limit is over. Returns whether `other` is readable.
    pub(crate) fn wait(&self, other: Option<BorrowedFd<'_>>, limit: Option<Duration>) -> io::Result<bool> {
        let limit = limit.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        let mut fds = vec![PollFd::new(&self.wake, PollFlags::IN)];
        fds.extend(other.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let readable = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
        let mut buffer = [0; 64];
        while matches!((&self.wake).read(&mut buffer), Ok(n) if n > 0) {}
        Ok(readable)
    }
}

/// A copy of the process has handlers of its own, and must not wake the other one.
impl Drop for Signals {
    fn drop(&mut self) {
        for action in self.actions.drain(..) {
            unregister(action);
        }
    }
}
