//! A program with piped standard streams: lines are written to it and read from it, and the end of its stderr is kept.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::launch::{Exit, Launch, SandboxedChild, StdioTarget};

/// How long to wait for the rest of stderr once the program has exited.
const STDERR_LIMIT: Duration = Duration::from_millis(500);
/// How many bytes of stderr are kept, and how many lines of them are shown.
const KEPT_BYTES: usize = 4 * 1024;
const SHOWN_LINES: usize = 5;
/// The maximum length of an output line: an endless line would fill the memory.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// A running program. Dropping it stops it and everything it has started.
#[derive(Debug)]
pub struct PipedProgram {
    child: SandboxedChild,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    stderr_task: JoinHandle<()>,
    overflowed: Arc<AtomicBool>,
}

/// Our ends of the program's standard output and input.
pub type Pipes = (BoundedLines<pipe::Receiver>, pipe::Sender);

impl PipedProgram {
    /// Starts the program. If it does not exist, [`PipedProgram::ended`] reports that.
    pub fn start(launch: Launch) -> io::Result<(Self, Pipes)> {
        let launch = launch.stdin(StdioTarget::Piped).stdout(StdioTarget::Piped).stderr(StdioTarget::Piped);
        let mut child = launch.spawn()?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("its streams are missing"));
        };
        let kept = Arc::default();
        let stderr_task = tokio::spawn(keep_tail(stderr, Arc::clone(&kept)));
        let overflowed = Arc::default();
        let output = BoundedLines { inner: stdout, line: 0, overflowed: Arc::clone(&overflowed) };
        Ok((Self { child, stderr: kept, stderr_task, overflowed }, (output, stdin)))
    }

    /// How the program ended; `None` if it does not end within `limit`. Cancel safe.
    pub async fn ended(&mut self, limit: Duration) -> Option<io::Result<Exit>> {
        timeout(limit, self.child.wait()).await.ok()
    }

    /// Waits for the program to exit by itself after its input was closed, and stops it after `limit`.
    pub async fn finish(&mut self, limit: Duration) {
        if self.ended(limit).await.is_none() {
            self.stop().await;
        }
    }

    /// Stops the program and everything it has started.
    pub async fn stop(&mut self) {
        // Processes that the supervisor could not kill are killed with the room.
        let _ = self.child.stop().await;
    }

    /// Whether the program printed a line longer than [`MAX_LINE_BYTES`].
    pub fn overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// The last lines of stderr, once the program has exited; `None` if there are none.
    pub async fn stderr_tail(&mut self) -> Option<String> {
        let _ = timeout(STDERR_LIMIT, &mut self.stderr_task).await;
        let mut stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(stderr.make_contiguous()).into_owned();
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
        (!last.is_empty()).then(|| last.join(" | "))
    }
}

impl Drop for PipedProgram {
    fn drop(&mut self) {
        self.stderr_task.abort();
    }
}

/// Reads `stderr` until its last writer has closed it, and keeps its last [`KEPT_BYTES`].
async fn keep_tail(mut stderr: pipe::Receiver, kept: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = vec![0; KEPT_BYTES];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&buffer[..count]);
        let excess = kept.len().saturating_sub(KEPT_BYTES);
        kept.drain(..excess);
    }
}

/// A reader that fails when a line exceeds [`MAX_LINE_BYTES`]: a message that is silently dropped would never be answered.
#[derive(Debug)]
pub struct BoundedLines<R> {
    inner: R,
    /// The length of the current line so far, in bytes.
    line: usize,
    overflowed: Arc<AtomicBool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let read = &buf.filled()[before..];
        self.line = match read.iter().rposition(|&byte| byte == b'\n') {
            Some(newline) => read.len() - newline - 1,
            None => self.line + read.len(),
        };
        if self.line > MAX_LINE_BYTES {
            self.overflowed.store(true, Ordering::Relaxed);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long")));
        }
        Poll::Ready(Ok(()))
    }
}
