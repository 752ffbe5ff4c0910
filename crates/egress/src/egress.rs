//! The egress proxy's life: its thread, its connections and its end.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::sleep;

use crate::limits::{
    ACCEPT_PAUSE, CONNECT_LIMIT, HEAD_LIMIT, IDLE_LIMIT, MAX_CONNECTIONS, MAX_HEAD_BYTES, MAX_HEADERS,
};
use crate::proxy::{EgressProxy, lock};
use crate::refusal::Refusal;
use crate::rules::Rules;
use crate::tunnel::carry;

/// The egress proxy while it is open. Dropping it closes every connection and the listening socket.
pub struct Egress {
    egress: Arc<EgressProxy>,
    /// Closed to stop the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Egress {
    /// Serves `listener`, whichever network it was opened in; connections out are made from ours. It has a thread of its
    /// own, so it serves blocking and async callers alike.
    pub fn start(listener: TcpListener, rules: Arc<Rules>) -> io::Result<Egress> {
        let egress = Arc::new(EgressProxy::new(listener.local_addr()?, rules)?);
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _context = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let served = Arc::clone(&egress);
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name("egress".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = serve(listener, served) => {}
                }
            });
            // Ends every task, but does not wait for a name that is still being looked up.
            runtime.shutdown_background();
        })?;
        Ok(Egress { egress, stop: Some(stop), thread: Some(thread) })
    }

    /// What `HTTP_PROXY` and `HTTPS_PROXY` are set to inside: `http://127.0.0.1:PORT`, without a slash at the end.
    pub fn proxy_url(&self) -> String {
        format!("http://{}", self.egress.address)
    }

    /// The URL inside of a route or a socket: `http://127.0.0.1:PORT/<token>/<name>`, without a slash at the end.
    pub fn route_url(&self, name: &str) -> Option<String> {
        Some(self.proxy_url() + &self.egress.route_path(name)?)
    }

    /// What has been refused since the last call. Each host and port is told once in the life of the egress proxy.
    pub fn refusals(&self) -> Vec<Refusal> {
        self.egress.refusals()
    }
}

impl Drop for Egress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // An error says that the thread panicked, and then it has stopped too.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress").field("address", &self.egress.address).finish_non_exhaustive()
    }
}

impl EgressProxy {
    fn new(address: SocketAddr, rules: Arc<Rules>) -> io::Result<Self> {
        let routes = rules.routes.iter().map(|route| route.name());
        let mut names: Vec<&str> =
            routes.chain(rules.sockets.iter().map(|socket| socket.name.as_str())).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let problem = format!("two routes are called `{}`", twice[0]);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let client = if rules.routes.is_empty() { None } else { Some(client(&rules)?) };
        Ok(EgressProxy { rules, address, token: token()?, client, refusals: Mutex::default() })
    }
}

/// The client for routes. It passes on what it gets: no redirects followed, nothing unpacked, no environment read.
fn client(rules: &Rules) -> io::Result<reqwest::Client> {
    let mut builder = autonoe_tls::client()
        .no_proxy()
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_LIMIT)
        .read_timeout(IDLE_LIMIT);
    if let Some(upstream) = &rules.upstream {
        builder = builder.proxy(upstream.for_client().map_err(io::Error::other)?);
    }
    builder.build().map_err(io::Error::other)
}

fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| io::Error::other("the system gives no random numbers"))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

async fn serve(listener: tokio::net::TcpListener, egress: Arc<EgressProxy>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((client, _)) => {
                let egress = Arc::clone(&egress);
                tokio::spawn(async move {
                    attend(client, &egress).await;
                    drop(place);
                });
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// One connection, from its first request to the end of its last request or tunnel.
async fn attend(client: TcpStream, egress: &EgressProxy) {
    // Without it, small pieces wait for an acknowledgement; a failure costs only time.
    let _ = client.set_nodelay(true);
    let tunnel = Mutex::new(None);
    let service =
        service_fn(async |request| Ok::<_, std::convert::Infallible>(egress.answer(request, &tunnel).await));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(client), service)
        .with_upgrades()
        .await;
    let opened = lock(&tunnel).take();
    if let (Ok(()), Some(tunnel)) = (served, opened)
        && let Ok(client) = tunnel.client.await
    {
        carry(TokioIo::new(client), tunnel.target, tunnel.idle_limit).await;
    }
}

#[cfg(test)]
mod tests;
