//! The lifecycle of the egress proxy: its thread, its connections and its shutdown.

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
use crate::refusal::EgressRefusal;
use crate::rules::EgressRules;
use crate::tunnel::copy_both_ways;

/// A running egress proxy. Dropping it closes every connection and the listening socket.
pub struct Egress {
    proxy: Arc<EgressProxy>,
    /// Dropped to stop the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Egress {
    /// Serves `listener`, which may belong to another network namespace; outgoing connections are made from ours. The
    /// proxy runs on its own thread, so blocking and async callers can both use it.
    pub fn start(listener: TcpListener, rules: Arc<EgressRules>) -> io::Result<Egress> {
        let proxy = Arc::new(EgressProxy::new(listener.local_addr()?, rules)?);
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _context = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let served = Arc::clone(&proxy);
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name("egress".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = serve(listener, served) => {}
                }
            });
            // Ends every task, but does not wait for a DNS lookup that is still running.
            runtime.shutdown_background();
        })?;
        Ok(Egress { proxy, stop: Some(stop), thread: Some(thread) })
    }

    /// The value of `HTTP_PROXY` and `HTTPS_PROXY` inside: `http://127.0.0.1:PORT`, without a trailing slash.
    pub fn proxy_url(&self) -> String {
        format!("http://{}", self.proxy.address)
    }

    /// The URL of a route or socket, for clients inside: `http://127.0.0.1:PORT/<token>/<name>`, without a trailing slash.
    /// `None` if nothing has that name.
    pub fn route_url(&self, name: &str) -> Option<String> {
        Some(self.proxy_url() + &self.proxy.route_path(name)?)
    }

    /// The refusals since the last call. Each host and port is reported only once.
    pub fn refusals(&self) -> Vec<EgressRefusal> {
        self.proxy.refusals()
    }
}

impl Drop for Egress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // An error means that the thread panicked; it has stopped in that case too.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress").field("address", &self.proxy.address).finish_non_exhaustive()
    }
}

impl EgressProxy {
    fn new(address: SocketAddr, rules: Arc<EgressRules>) -> io::Result<Self> {
        let routes = rules.routes.iter().map(|route| route.name());
        let mut names: Vec<&str> =
            routes.chain(rules.sockets.iter().map(|socket| socket.name.as_str())).collect();
        names.sort_unstable();
        if let Some(duplicate) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let problem = format!("two routes have the name `{}`", duplicate[0]);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let client = if rules.routes.is_empty() { None } else { Some(client(&rules)?) };
        Ok(EgressProxy { rules, address, token: token()?, client, refusals: Mutex::default() })
    }
}

/// The client for routes. It passes responses through unchanged: it follows no redirects, decompresses nothing and reads
/// no environment variables.
fn client(rules: &EgressRules) -> io::Result<reqwest::Client> {
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
    random.fill(&mut bytes).map_err(|_| io::Error::other("the system provides no random numbers"))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

async fn serve(listener: tokio::net::TcpListener, proxy: Arc<EgressProxy>) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
        match listener.accept().await {
            Ok((client, _)) => {
                let proxy = Arc::clone(&proxy);
                tokio::spawn(async move {
                    serve_connection(client, &proxy).await;
                    drop(slot);
                });
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Serves one connection until its last request or its tunnel has ended.
async fn serve_connection(client: TcpStream, proxy: &EgressProxy) {
    // Without nodelay, small writes wait for an acknowledgement. A failure to set it only costs time.
    let _ = client.set_nodelay(true);
    let tunnel = Mutex::new(None);
    let service =
        service_fn(async |request| Ok::<_, std::convert::Infallible>(proxy.handle(request, &tunnel).await));
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
        copy_both_ways(TokioIo::new(client), tunnel.target, tunnel.idle_limit).await;
    }
}

#[cfg(test)]
mod tests;
