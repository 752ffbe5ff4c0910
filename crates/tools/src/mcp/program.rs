//! A server that is a program in the session's room: started, listened to on its standard error, ended.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use autonoe_sandbox::{Child, Exit, Quarters, Stream};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::config::Secrets;
use super::trouble::Trouble;

/// How long a program may take to exit when its input has been closed.
const EXIT_LIMIT: Duration = Duration::from_secs(2);
/// How long is waited for the end of a program that has closed its output, and then for the rest of its last words.
const LAST_WORDS_LIMIT: Duration = Duration::from_millis(500);
/// How much of its standard error is kept, and how many lines of that are shown.
const KEPT_BYTES: usize = 4 * 1024;
const SHOWN_LINES: usize = 5;
/// The longest message that is taken from a program: without a limit one without an end would fill the memory.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// A running server.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    words: Arc<Mutex<VecDeque<u8>>>,
    listening: JoinHandle<()>,
    overflowed: Arc<AtomicBool>,
}

/// Our ends of its standard output and input.
pub(super) type Pipes = (Bounded<pipe::Receiver>, pipe::Sender);

impl Program {
    /// Starts `command` in the room, in `dir`.
    pub(super) async fn start(
        quarters: &Quarters,
        command: &str,
        args: &[String],
        env: &Secrets,
        dir: &Path,
    ) -> Result<(Self, Pipes), Trouble> {
        let launch = quarters
            .command(command)
            .await
            .map_err(|error| Trouble::for_good(format!("there is no room for it: {error}")))?;
        let launch = launch.args(args).envs(&env.0).cwd(dir);
        let launch = launch.stdin(Stream::Piped).stdout(Stream::Piped).stderr(Stream::Piped);
        let mut child = launch.spawn().map_err(|error| Trouble::for_good(error.to_string()))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Trouble::for_good("its streams are missing".to_owned()));
        };
        let words = Arc::default();
        let listening = tokio::spawn(listen(stderr, Arc::clone(&words)));
        let overflowed = Arc::default();
        let output = Bounded { inner: stdout, line: 0, overflowed: Arc::clone(&overflowed) };
        Ok((Self { child, words, listening, overflowed }, (output, stdin)))
    }

    /// Lets it exit by itself, its input being closed, and ends it if it does not.
    pub(super) async fn finish(mut self) {
        if timeout(EXIT_LIMIT, self.child.wait()).await.is_err() {
            // The room ends what a keeper could not.
            let _ = self.child.stop().await;
        }
    }

    /// Ends it if it has not ended. Adds its last words to the trouble with it, and how it ended if that was the trouble.
    pub(super) async fn autopsy(mut self, mut trouble: Trouble) -> Trouble {
        let overflowed = self.overflowed.load(Ordering::Relaxed);
        if overflowed {
            trouble.why = format!("it sent a message of more than {} MiB", MAX_MESSAGE_BYTES >> 20);
        }
        let has_ended_itself = trouble.may_pass && !overflowed;
        let ended = match has_ended_itself {
            true => timeout(LAST_WORDS_LIMIT, self.child.wait()).await.ok(),
            false => None,
        };
        match ended {
            Some(Ok(Exit::NotStarted { why, .. })) => return Trouble::for_good(why),
            Some(Ok(Exit::Code(code))) => trouble.why = format!("it ended with exit code {code}"),
            Some(Err(error)) => trouble.why = format!("it was lost: {error}"),
            None => {
                let _ = self.child.stop().await;
            }
        }
        let _ = timeout(LAST_WORDS_LIMIT, &mut self.listening).await;
        if let Some(words) = self.last_words() {
            trouble.why.push_str("; its last words: ");
            trouble.why.push_str(&words);
        }
        trouble
    }

    /// The last lines of its standard error.
    fn last_words(&self) -> Option<String> {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(words.make_contiguous()).into_owned();
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
        (!last.is_empty()).then(|| last.join(" | "))
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
pub(super) struct Bounded<R> {
    inner: R,
    /// How long the line is so far.
    line: usize,
    overflowed: Arc<AtomicBool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
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
        if self.line > MAX_MESSAGE_BYTES {
            self.overflowed.store(true, Ordering::Relaxed);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long")));
        }
        Poll::Ready(Ok(()))
    }
}
