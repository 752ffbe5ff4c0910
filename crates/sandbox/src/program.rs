//! A program that is talked to: lines go in and come out, what it says on standard error is kept in part.

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

use crate::launch::{Child, Exit, Launch, Stream};

/// How long is waited for the rest of its last words once it has ended.
const LAST_WORDS_LIMIT: Duration = Duration::from_millis(500);
/// How much of its standard error is kept, and how many lines of that are shown.
const KEPT_BYTES: usize = 4 * 1024;
const SHOWN_LINES: usize = 5;
/// The longest line that is taken from a program: without a limit one without an end would fill the memory.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// A running program. Dropped, it is stopped with all it has started.
#[derive(Debug)]
pub struct Program {
    child: Child,
    words: Arc<Mutex<VecDeque<u8>>>,
    listening: JoinHandle<()>,
    overflowed: Arc<AtomicBool>,
}

/// Our ends of its standard output and input.
pub type Pipes = (BoundedLines<pipe::Receiver>, pipe::Sender);

impl Program {
    /// Starts it. That there is no such program is told by [`Program::ended`].
    pub fn start(launch: Launch) -> io::Result<(Self, Pipes)> {
        let launch = launch.stdin(Stream::Piped).stdout(Stream::Piped).stderr(Stream::Piped);
        let mut child = launch.spawn()?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("its streams are missing"));
        };
        let words = Arc::default();
        let listening = tokio::spawn(listen(stderr, Arc::clone(&words)));
        let overflowed = Arc::default();
        let output = BoundedLines { inner: stdout, line: 0, overflowed: Arc::clone(&overflowed) };
        Ok((Self { child, words, listening, overflowed }, (output, stdin)))
    }

    /// How it ended, if it does within `limit`. Cancel safe.
    pub async fn ended(&mut self, limit: Duration) -> Option<io::Result<Exit>> {
        timeout(limit, self.child.wait()).await.ok()
    }

    /// Lets it exit by itself, its input being closed, and ends it if it does not within `limit`.
    pub async fn finish(&mut self, limit: Duration) {
        if self.ended(limit).await.is_none() {
            self.stop().await;
        }
    }

    /// Ends it and all it has started.
    pub async fn stop(&mut self) {
        // The room ends what a supervisor could not.
        let _ = self.child.stop().await;
    }

    /// Whether it sent a line without an end.
    pub fn overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// The last lines of its standard error, once it has ended.
    pub async fn last_words(&mut self) -> Option<String> {
        let _ = timeout(LAST_WORDS_LIMIT, &mut self.listening).await;
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(words.make_contiguous()).into_owned();
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
        (!last.is_empty()).then(|| last.join(" | "))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Keeps the end of what is written to `stderr` until nobody can write to it any more.
async fn listen(mut stderr: pipe::Receiver, words: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = vec![0; KEPT_BYTES];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend(&buffer[..count]);
        let excess = words.len().saturating_sub(KEPT_BYTES);
        words.drain(..excess);
    }
}

/// A reader that fails when a line does not end: a message that is silently dropped would never be answered.
#[derive(Debug)]
pub struct BoundedLines<R> {
    inner: R,
    /// How long the line is so far.
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
