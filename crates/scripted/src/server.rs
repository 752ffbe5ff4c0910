//! Starts and stops the server: its port and its thread. `routes` decides the answers.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use axum::serve::ListenerExt;
use tokio::sync::oneshot;

use crate::log::LoggedRequest;
use crate::routes::{Shared, routes};
use crate::script::{ModelScript, ScriptError};

/// A running server; dropping it stops it. It has its own thread, so it works for blocking and async callers.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Dropping it stops the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    /// Listens on a free port of 127.0.0.1.
    pub fn start(script: ModelScript) -> Result<ScriptedServer, ScriptError> {
        ScriptedServer::bind(script).map_err(ScriptError::Start)
    }

    fn bind(script: ModelScript) -> std::io::Result<ScriptedServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(script));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _context = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?.tap_io(|stream| {
                // Otherwise small events wait for the client's acknowledgement; a failure costs only time.
                let _ = stream.set_nodelay(true);
            })
        };
        let routes = routes(Arc::clone(&shared));
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name("scripted-model".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    _ = axum::serve(listener, routes) => {}
                }
            });
        })?;
        Ok(ScriptedServer { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// `http://127.0.0.1:PORT`, without a trailing slash.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The newest 10,000 requests, up to 256 MB, oldest first.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.shared.log().requests()
    }

    /// Requests that the script has no answer for or that the service would refuse, and unmet expectations.
    pub fn problems(&self) -> Vec<String> {
        self.shared.log().problems()
    }

    /// Stops the server and cuts off unfinished replies; returns when its port is closed.
    pub fn shutdown(self) {}
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // An error means that the thread panicked, so it has stopped too.
            let _ = thread.join();
        }
    }
}
