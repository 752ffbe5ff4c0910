//! The socket between `autonoe mcp` and the process that holds the project: one JSON object a line.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use crate::service::{Answer, Caller, failed};

/// The longest line either side accepts.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Call {
    tool: String,
    arguments: Value,
}

/// Takes calls from other processes for as long as it lives.
pub struct CallServer {
    path: PathBuf,
    task: JoinHandle<()>,
}

impl CallServer {
    /// Listens at `path`, which only this user may open, and has `caller` carry out what arrives.
    pub fn start(path: &Path, caller: Arc<dyn Caller>) -> io::Result<Self> {
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path)?;
        private(path)?;
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer_all(stream, Arc::clone(&caller)));
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

fn private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

async fn answer_all(stream: UnixStream, caller: Arc<dyn Caller>) {
    let mut stream = BufReader::new(stream);
    while let Ok(Some(call)) = read_line::<Call>(&mut stream).await {
        let answer = caller.call(&call.tool, call.arguments).await;
        if write_line(stream.get_mut(), &answer).await.is_err() {
            return;
        }
    }
}

/// Passes calls on to the process that holds the project.
pub struct SocketCaller {
    path: PathBuf,
}

impl SocketCaller {
    /// Will connect to the socket at `path` for each call.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    async fn pass_on(&self, call: &Call) -> io::Result<Answer> {
        let mut stream = BufReader::new(UnixStream::connect(&self.path).await?);
        write_line(stream.get_mut(), call).await?;
        read_line(&mut stream).await?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

#[async_trait]
impl Caller for SocketCaller {
    async fn call(&self, tool: &str, arguments: Value) -> Answer {
        let call = Call { tool: tool.to_owned(), arguments };
        self.pass_on(&call).await.unwrap_or_else(|error| {
            let message = format!(
                "The autonoe process that holds this project does not answer ({error}); its run has ended."
            );
            failed(&message, "NO_ANSWER")
        })
    }
}

async fn write_line(stream: &mut UnixStream, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

async fn read_line<T: for<'de> Deserialize<'de>>(
    stream: &mut BufReader<UnixStream>,
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    if stream.take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}
