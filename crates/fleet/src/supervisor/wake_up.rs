//! Waits for the ends of processes, and for a signal to this one.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Wakes a supervisor up from another thread.
pub struct WakeUp {
    reader: PipeReader,
    writer: PipeWriter,
    stops: AtomicU32,
}

impl WakeUp {
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        rustix::io::ioctl_fionbio(&writer, true)?;
        Ok(Self { reader, writer, stops: AtomicU32::new(0) })
    }

    /// Asks for the end: once to stop, twice to kill.
    pub fn request_stop(&self) {
        self.stops.fetch_add(1, Ordering::SeqCst);
        // A full pipe wakes it up as well.
        let _ = (&self.writer).write(b"x");
    }

    pub(crate) fn stops(&self) -> u32 {
        self.stops.load(Ordering::SeqCst)
    }

    /// Waits until one of the processes has ended, a stop is requested, or the time is over.
    pub(crate) fn wait<'a>(&'a self, processes: impl Iterator<Item = BorrowedFd<'a>>, limit: Duration) {
        let limit = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        let watched: Vec<BorrowedFd<'_>> = processes.chain([self.reader.as_fd()]).collect();
        let mut descriptors: Vec<PollFd<'_>> =
            watched.iter().map(|descriptor| PollFd::new(descriptor, PollFlags::IN)).collect();
        // An interrupted wait is a short one.
        let _ = poll(&mut descriptors, Some(&limit));
        let mut drained = [0; 64];
        let _ = (&self.reader).read(&mut drained);
    }
}
