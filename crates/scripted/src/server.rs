//! The server's life: its port, its thread and its end. What it answers is decided in `routes`.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use axum::serve::ListenerExt;
use tokio::sync::oneshot;

use crate::log::Asked;
use crate::routes::{Shared, routes};
use crate::script::{Script, ScriptError};

/// A running server; dropping it stops it. It has a thread of its own, so it serves blocking and async callers alike.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Closed to stop the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on a free port of 127.0.0.1 and answers by the script.
    pub fn start(script: Script) -> Result<Server, ScriptError> {
        Server::bind(script).map_err(ScriptError::Start)
    }

    fn bind(script: Script) -> std::io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(script));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _context = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?.tap_io(|stream| {
                // Without it, small events wait for the client's acknowledgement; a failure costs only time.
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
        Ok(Server { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens: `http://127.0.0.1:PORT`, without a slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked, oldest first: the newest 10,000 requests, up to 256 MB.
    pub fn requests(&self) -> Vec<Asked> {
        self.shared.log().requests()
    }

    /// What went against the script: requests it has no answer for, or that the service would refuse, and unmet expectations.
    pub fn problems(&self) -> Vec<String> {
        self.shared.log().problems()
    }

    /// Stops it and breaks off the replies still under way; returns when its port is closed.
    pub fn shutdown(self) {}
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // An error says that the thread panicked, and then it has stopped too.
            let _ = thread.join();
        }
    }
}
