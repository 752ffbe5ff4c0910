//! Serves `autonoe open`: connects the user's programs with ports in the rooms of the sessions that run at the moment.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use autonoe_sandbox::{RunningSandboxes, SessionSandbox};
use autonoe_store::Project;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use crate::lock_project::socket_path;

/// No agent can have this name.
const SLOT: &str = ".ports";

/// Maximum size of a request, in bytes.
const MAX_REQUEST: u64 = 4096;

/// The first line of every connection.
#[derive(Debug, Serialize, Deserialize)]
pub struct PortRequest {
    /// Whose session is meant; `None` if there is only one.
    pub deliverable: Option<String>,
    pub port: u16,
}

/// Where sessions take place.
pub struct PortPlace {
    /// The deliverable that is built there; `None` if one is built after another.
    pub deliverable: Box<dyn Fn() -> Option<String> + Send + Sync>,
    pub sessions: RunningSandboxes,
}

/// Serves until it is dropped.
pub struct PortServer {
    path: PathBuf,
    task: JoinHandle<()>,
}

pub fn ports_socket(project: &Project) -> PathBuf {
    socket_path(project, Some(SLOT))
}

impl PortServer {
    pub fn start(project: &Project, places: Vec<PortPlace>) -> io::Result<Self> {
        let path = ports_socket(project);
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        let places = Arc::new(places);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let places = Arc::clone(&places);
                tokio::spawn(async move {
                    // Ignored: the client is gone.
                    let _ = serve(stream, &places).await;
                });
            }
        });
        Ok(Self { path, task })
    }
}

impl Drop for PortServer {
    fn drop(&mut self) {
        self.task.abort();
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn serve(stream: UnixStream, places: &[PortPlace]) -> io::Result<()> {
    let mut reader = BufReader::new(stream.take(MAX_REQUEST));
    let mut line = String::new();
    reader.read_line(&mut line).await?;
    let stream = reader.into_inner().into_inner().into_std()?;
    stream.set_nonblocking(false)?;
    let relayed = relay(&line, places, stream.try_clone()?).await;
    match relayed {
        Ok(()) => Ok(()),
        // A short line, which fits into the buffer of the socket.
        Err(why) => (&stream).write_all(format!("{why}\n").as_bytes()),
    }
}

/// Fails with a sentence, before anything was sent.
async fn relay(
    request: &str,
    places: &[PortPlace],
    stream: std::os::unix::net::UnixStream,
) -> Result<(), String> {
    let request = serde_json::from_str(request);
    let PortRequest { deliverable, port } =
        request.map_err(|error| format!("The request cannot be read: {error}."))?;
    let sandbox = find(places, deliverable.as_deref())?;
    match sandbox.relay(port, stream).await {
        Ok(true) => Ok(()),
        Ok(false) => Err("The session has started no program yet.".to_owned()),
        Err(error) => Err(format!("Nothing can be started in the session's room: {error}.")),
    }
}

/// The sandbox of the session that is meant, or a sentence that says why there is none.
fn find(places: &[PortPlace], wanted: Option<&str>) -> Result<Arc<SessionSandbox>, String> {
    let running = places.iter().filter_map(|place| Some(((place.deliverable)(), place.sessions.last()?)));
    let mut running: Vec<_> = running.collect();
    let ids: Vec<String> = running.iter().filter_map(|(id, _)| id.clone()).collect();
    let listed = ids.join(", ");
    if let Some(wanted) = wanted.filter(|_| !ids.is_empty()) {
        running.retain(|(id, _)| id.as_deref() == Some(wanted));
        if running.is_empty() {
            return Err(format!(
                "No session builds {wanted} at the moment. These are being built: {listed}."
            ));
        }
    } else if running.len() > 1 {
        return Err(format!(
            "Several sessions run at the moment: name the deliverable, one of {listed}, as in `autonoe open {}:3000`.",
            ids.first().map_or("ID", String::as_str)
        ));
    }
    running.pop().map(|(_, sandbox)| sandbox).ok_or_else(|| "No session runs at the moment.".to_owned())
}
