//! Signals as something to poll: a byte in a socket for each, and a flag for "stop".

use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// The signals that matter to a keeper or a room.
pub(crate) struct Signals {
    wake: UnixStream,
    stop: Arc<AtomicBool>,
}

impl Signals {
    pub(crate) fn install() -> io::Result<Self> {
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
