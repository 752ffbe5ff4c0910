//! Transports of the MCP server: a socket of the process that holds the project, or standard input and output
//! of a process that holds it for its client alone. One message per line.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
};
use tokio::net::UnixListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::mcp::answer_line;
use crate::service::DeliverableService;

/// Maximum length of a line from a client.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Maximum number of messages of a client answered concurrently.
const MAX_AT_ONCE: usize = 32;

/// Answers clients in other processes until dropped.
pub struct CallServer {
    path: PathBuf,
    task: JoinHandle<()>,
}

impl CallServer {
    /// Listens at `path`, which only this user may open.
    pub fn start(path: &Path, service: Arc<DeliverableService>) -> io::Result<Self> {
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path)?;
        make_private(path)?;
        let task = tokio::spawn(async move {
            let mut clients = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while clients.try_join_next().is_some() {}
                let service = Arc::clone(&service);
                clients.spawn(async move {
                    let (reader, writer) = stream.into_split();
                    answer_all(reader, writer, &service).await
                });
            }
        });
        Ok(Self { path: path.to_owned(), task })
    }
}

impl Drop for CallServer {
    fn drop(&mut self) {
        self.task.abort();
        let _ = std::fs::remove_file(&self.path);
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

/// Answers the client on standard input and output until it disconnects.
pub async fn serve_stdio(service: &DeliverableService) -> io::Result<()> {
    answer_all(tokio::io::stdin(), tokio::io::stdout(), service).await
}

/// Answers lines concurrently: one may take as long as the checks of a deliverable. Requests sent before the
/// client closed its side are still answered.
async fn answer_all(
    reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    service: &DeliverableService,
) -> io::Result<()> {
    let mut reader = BufReader::new(reader);
    let (mut line, mut is_open, mut answers) = (Vec::new(), true, FuturesUnordered::new());
    loop {
        tokio::select! {
            read = read_line(&mut reader, &mut line), if is_open && answers.len() < MAX_AT_ONCE => {
                is_open = read?;
                if is_open {
                    let line = std::mem::take(&mut line);
                    answers.push(async move { answer_line(service, &line).await });
                }
            }
            Some(answer) = answers.next() => {
                if let Some(answer) = answer {
                    writer.write_all(format!("{answer}\n").as_bytes()).await?;
                    writer.flush().await?;
                }
            }
            else => return Ok(()),
        }
    }
}

/// Reads until the line is complete. False if the stream ended or the line is too long. Cancel safe: what was
/// read is in `line`.
async fn read_line(reader: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> io::Result<bool> {
    let left = MAX_LINE_BYTES.saturating_sub(line.len()) as u64;
    reader.take(left).read_until(b'\n', line).await?;
    Ok(line.ends_with(b"\n"))
}
