//! The writer: a thread that writes lines to standard output and standard error in the order in which they were given, and one
//! line that may change below them. Nobody else waits for the program or person that reads them.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use autonoe_core::fault::{Fault, FaultLayer};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Bytes that may wait for a reader. Further lines are dropped and counted.
const MAX_WAITING: usize = 64 * 1024 * 1024;

/// Bytes per write, as many as a pipe takes at once, so that progress is seen within a long line.
const CHUNK: usize = 4096;

/// How long a flush waits for a reader that takes nothing, and for one that takes a little now and then.
const STALL_LIMIT: Duration = Duration::from_secs(3);
const FLUSH_LIMIT: Duration = Duration::from_secs(30);

const ERASE_LINE: &str = "\r\x1b[K";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    Out,
    Err,
}

/// Ends its thread when it is dropped, without waiting.
pub struct OutputWriter {
    shared: Arc<WriterShared>,
    lost_line: fn(OutputStream, u64) -> String,
    max_waiting: usize,
}

struct WriterShared {
    state: Mutex<WriterState>,
    /// There is something to write.
    given: Condvar,
    /// Something was written.
    progress: Condvar,
}

#[derive(Default)]
struct WriterState {
    lines: VecDeque<(OutputStream, String)>,
    /// The bytes of `lines` and of the line that is being written.
    waiting: usize,
    /// Lines dropped since the last one that was accepted, on standard output and on standard error.
    lost: [u64; 2],
    /// Bytes written so far.
    written: u64,
    is_writing: bool,
    /// What should be on the screen below all lines, on standard error.
    bottom: Option<String>,
    /// What is there.
    shown: Option<String>,
    /// The last error of standard output since the last flush.
    closed: Option<io::Error>,
    /// A flush gave up; everything else is dropped.
    abandoned: bool,
    ended: bool,
}

enum WriterTask {
    Line(OutputStream, String),
    Bottom(Option<String>),
}

impl OutputWriter {
    /// `lost_line` is the line that replaces so many lines of a stream. Calls `on_closed` once when standard output can no longer be
    /// written.
    pub fn start(
        lost_line: fn(OutputStream, u64) -> String,
        on_closed: impl Fn(&io::Error) + Send + 'static,
    ) -> io::Result<Self> {
        Self::start_with(MAX_WAITING, lost_line, write_some, on_closed)
    }

    /// `write` writes a part of the bytes and returns how many.
    fn start_with(
        max_waiting: usize,
        lost_line: fn(OutputStream, u64) -> String,
        write: impl Fn(OutputStream, &[u8]) -> io::Result<usize> + Send + 'static,
        on_closed: impl Fn(&io::Error) + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(WriterShared {
            state: Mutex::default(),
            given: Condvar::new(),
            progress: Condvar::new(),
        });
        let writer = Self { shared: Arc::clone(&shared), lost_line, max_waiting };
        std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || shared.write_all(write, on_closed))?;
        Ok(writer)
    }

    /// Never waits. `text` ends with a line break.
    pub fn line(&self, stream: OutputStream, text: String) {
        let mut state = self.shared.state();
        if state.abandoned {
            return;
        }
        if state.waiting + text.len() > self.max_waiting && state.waiting > 0 {
            state.lost[stream as usize] += 1;
            return;
        }
        self.report_lost(&mut state);
        state.push(stream, text);
        self.shared.given.notify_one();
    }

    /// Shows `text` below all lines, once they are written.
    pub fn bottom(&self, text: Option<String>) {
        self.shared.state().bottom = text;
        self.shared.given.notify_one();
    }

    /// Waits until everything is written, but not for a reader that does not read: then the rest is dropped, now and later.
    /// Fails if something was not written to standard output.
    pub fn flush(&self) -> io::Result<()> {
        let (start, mut progress) = (Instant::now(), Instant::now());
        let mut state = self.shared.state();
        self.report_lost(&mut state);
        self.shared.given.notify_one();
        let mut written = state.written;
        while !state.abandoned && state.is_busy() {
            if written != state.written {
                (written, progress) = (state.written, Instant::now());
            }
            let left = STALL_LIMIT
                .saturating_sub(progress.elapsed())
                .min(FLUSH_LIMIT.saturating_sub(start.elapsed()));
            if left.is_zero() {
                state.abandoned = true;
                state.lines.clear();
            }
            let waited = self.shared.progress.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.abandoned {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads it"));
        }
        state.closed.take().map_or(Ok(()), Err)
    }

    fn report_lost(&self, state: &mut WriterState) {
        for stream in [OutputStream::Out, OutputStream::Err] {
            let lost = std::mem::take(&mut state.lost[stream as usize]);
            if lost > 0 {
                state.push(stream, (self.lost_line)(stream, lost));
            }
        }
    }
}

impl Drop for OutputWriter {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.shared.given.notify_one();
    }
}

impl WriterState {
    fn push(&mut self, stream: OutputStream, text: String) {
        self.waiting += text.len();
        self.lines.push_back((stream, text));
    }

    fn is_busy(&self) -> bool {
        self.is_writing || !self.lines.is_empty() || self.bottom != self.shown
    }
}

impl WriterShared {
    fn state(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(
        &self,
        write: impl Fn(OutputStream, &[u8]) -> io::Result<usize>,
        on_closed: impl Fn(&io::Error),
    ) {
        let mut is_closed = false;
        while let Some(task) = self.next() {
            // There is nowhere left to report that standard error is closed.
            if self.state().shown.take().is_some() {
                let _ = self.write(&write, OutputStream::Err, ERASE_LINE);
            }
            match task {
                WriterTask::Bottom(text) => {
                    if let Some(text) = &text {
                        let _ = self.write(&write, OutputStream::Err, text);
                    }
                    self.state().shown = text;
                }
                WriterTask::Line(stream, text) => {
                    let written = self.write(&write, stream, &text);
                    self.state().waiting -= text.len();
                    if let (OutputStream::Out, Err(error)) = (stream, written) {
                        if !std::mem::replace(&mut is_closed, true) {
                            on_closed(&error);
                        }
                        self.state().closed = Some(error);
                    }
                }
            }
        }
    }

    /// `None` when the writer has ended and everything is written. Lines come before the bottom line, so that redrawing it waits
    /// for the reader, too, and does not pile up.
    fn next(&self) -> Option<WriterTask> {
        let mut state = self.state();
        loop {
            state.is_writing = true;
            if let Some((stream, text)) = state.lines.pop_front() {
                return Some(WriterTask::Line(stream, text));
            }
            if state.bottom != state.shown {
                return Some(WriterTask::Bottom(state.bottom.clone()));
            }
            if state.ended {
                return None;
            }
            state.is_writing = false;
            self.progress.notify_all();
            state = self.given.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write(
        &self,
        write: &impl Fn(OutputStream, &[u8]) -> io::Result<usize>,
        stream: OutputStream,
        text: &str,
    ) -> io::Result<()> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let count = write(stream, &rest[..rest.len().min(CHUNK)])?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rest = &rest[count..];
            self.state().written += count as u64;
            self.progress.notify_all();
        }
        Ok(())
    }
}

/// Writes without the locks and buffers of the standard library, which a blocked write would hold.
fn write_some(stream: OutputStream, bytes: &[u8]) -> io::Result<usize> {
    let (out, err) = (io::stdout(), io::stderr());
    let descriptor = match stream {
        OutputStream::Out => std::os::fd::AsFd::as_fd(&out),
        OutputStream::Err => std::os::fd::AsFd::as_fd(&err),
    };
    loop {
        match rustix::io::write(descriptor, bytes) {
            Err(Errno::INTR) => {}
            // Another process that has the same terminal may have made it non-blocking.
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(&descriptor, PollFlags::OUT)], None);
            }
            written => return Ok(written?),
        }
    }
}

pub(super) fn stdout_fault(error: &io::Error) -> Fault {
    Fault::permanent(FaultLayer::System, "output", format!("Standard output cannot be written: {error}."))
        .hint("Keep the reading program open, or redirect the output to a file on a disk with free space.")
}

#[cfg(test)]
mod tests;
