//! Signals as something to poll: a byte in a socket for each, and a flag for "stop".

use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::system;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// Whether this process ignores a signal, as it does what it was started with ignored: under `nohup`, that is SIGHUP. To be asked before a
/// handler is installed. False where the system does not tell.
pub fn is_ignored(signal: i32) -> bool {
    let bit = u32::try_from(signal - 1).ok().and_then(|bit| 1_u64.checked_shl(bit));
    bit.is_some_and(|bit| system::ignored_signals() & bit != 0)
}

/// The signals that matter to a supervisor or a room.
pub(crate) struct Signals {
    wake: UnixStream,
    stop: Arc<AtomicBool>,
}

impl Signals {
    pub(crate) fn install() -> io::Result<Self> {
        let (wake, bell) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        // What we were started with ignored stays so, here and in what we start; our socket still tells when to end.
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT].into_iter().filter(|signal| !is_ignored(*signal)) {
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
            signal_hook::low_level::pipe::register(signal, bell.try_clone()?)?;
        }
        signal_hook::low_level::pipe::register(SIGCHLD, bell)?;
        Ok(Self { wake, stop })
    }

    /// Whether we were told to stop since this was last asked.
    pub(crate) fn stop_asked(&self) -> bool {
        self.stop.swap(false, Ordering::SeqCst)
    }

    /// Sleeps until a signal comes, `other` is readable, or the limit is over. Says whether `other` is readable.
    pub(crate) fn wait(&self, other: Option<BorrowedFd<'_>>, limit: Option<Duration>) -> io::Result<bool> {
        let limit = limit.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        let mut fds = vec![PollFd::new(&self.wake, PollFlags::IN)];
        fds.extend(other.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let readable = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
        let mut bells = [0; 64];
        while matches!((&self.wake).read(&mut bells), Ok(n) if n > 0) {}
        Ok(readable)
    }
}
