//! Outgoing connections: directly to a checked address, or through the upstream proxy.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{HOST, PROXY_AUTHORIZATION};
use hyper::{Request, Response};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::address::AddressScope;
use crate::failure::EgressFailure;
use crate::host::{Host, HostPort};
use crate::limits::{CONNECT_LIMIT, IDLE_LIMIT};
use crate::refusal::{EgressRefusal, RefusalReason};
use crate::tunnel::TunnelStream;

/// An error in a request or response body.
pub(crate) type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Connects to the target itself. The name is resolved once, and only addresses within `scope` are tried.
pub(crate) async fn directly(target: &HostPort, scope: AddressScope) -> Result<TcpStream, EgressFailure> {
    with_timeout(target, async {
        let found: Vec<SocketAddr> = match &target.host {
            Host::Address(address) => vec![SocketAddr::new(*address, target.port)],
            Host::Name(name) => match lookup_host((name.as_str(), target.port)).await {
                Ok(found) => found.collect(),
                Err(error) => return Err(EgressFailure::unreachable(target, &error)),
            },
        };
        let usable: Vec<SocketAddr> = found.into_iter().filter(|found| scope.covers(found.ip())).collect();
        if usable.is_empty() {
            return Err(EgressFailure::Refused(EgressRefusal::new(target, RefusalReason::NotPublic)));
        }
        connect_first(target, &usable).await
    })
    .await
}

/// Connects to the upstream proxy.
pub(crate) async fn to_proxy(proxy: &Intercept) -> Result<TcpStream, EgressFailure> {
    let uri = proxy.uri();
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let port = uri.port_u16().unwrap_or(80);
    with_timeout(&UPSTREAM, async {
        TcpStream::connect((host, port)).await.map_err(|error| EgressFailure::unreachable(&UPSTREAM, &error))
    })
    .await
}

/// Opens a tunnel to the target through the upstream proxy.
pub(crate) async fn through_proxy(
    proxy: &Intercept,
    target: &HostPort,
) -> Result<impl TunnelStream + use<>, EgressFailure> {
    let stream = to_proxy(proxy).await?;
    let failed = |error: hyper::Error| EgressFailure::unreachable(&UPSTREAM, &error);
    let authority = target.to_string();
    let request = Request::connect(&authority).header(HOST, &authority).body(Empty::<Bytes>::new());
    let mut request = request.map_err(|error| EgressFailure::unreachable(target, &error))?;
    authorize(&mut request, proxy);
    with_timeout(&UPSTREAM, async {
        let response = send_request(stream, request).await.map_err(failed)?;
        if !response.status().is_success() {
            let cause = format!("the upstream proxy answered {}", response.status());
            return Err(EgressFailure::Unreachable { peer: authority, cause });
        }
        Ok(TokioIo::new(hyper::upgrade::on(response).await.map_err(failed)?))
    })
    .await
}

/// Adds the upstream proxy's credentials to the request, if it has any.
pub(crate) fn authorize<B>(request: &mut Request<B>, proxy: &Intercept) {
    if let Some(credentials) = proxy.basic_auth() {
        request.headers_mut().insert(PROXY_AUTHORIZATION, credentials.clone());
    }
}

/// Sends one request over a new connection, which closes after the response body.
pub(crate) async fn send<B>(
    peer: &HostPort,
    stream: TcpStream,
    request: Request<B>,
) -> Result<Response<Incoming>, EgressFailure>
where
    B: Body<Data: Send, Error: Into<BodyError>> + Send + 'static,
{
    match timeout(IDLE_LIMIT, send_request(stream, request)).await {
        Ok(response) => response.map_err(|error| EgressFailure::unreachable(peer, &error)),
        Err(_) => Err(EgressFailure::TimedOut { peer: peer.to_string() }),
    }
}

/// The name of the upstream proxy in messages.
const UPSTREAM: &str = "The upstream proxy";

async fn send_request<B>(stream: TcpStream, request: Request<B>) -> hyper::Result<Response<Incoming>>
where
    B: Body<Data: Send, Error: Into<BodyError>> + Send + 'static,
{
    // Without nodelay, small writes wait for an acknowledgement. A failure to set it only costs time.
    let _ = stream.set_nodelay(true);
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // The task ends when the response has been read or dropped, and its errors surface there.
    tokio::spawn(connection.with_upgrades());
    sender.send_request(request).await
}

/// Tries the addresses in order; each gets an equal share of `CONNECT_LIMIT`.
async fn connect_first(target: &HostPort, addresses: &[SocketAddr]) -> Result<TcpStream, EgressFailure> {
    let share = CONNECT_LIMIT / u32::try_from(addresses.len()).unwrap_or(u32::MAX);
    let mut failure = EgressFailure::TimedOut { peer: target.to_string() };
    for address in addresses {
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = EgressFailure::unreachable(target, &error),
            Err(_) => failure = EgressFailure::TimedOut { peer: target.to_string() },
        }
    }
    Err(failure)
}

async fn with_timeout<T>(
    peer: &impl ToString,
    work: impl Future<Output = Result<T, EgressFailure>>,
) -> Result<T, EgressFailure> {
    timeout(CONNECT_LIMIT, work)
        .await
        .unwrap_or_else(|_| Err(EgressFailure::TimedOut { peer: peer.to_string() }))
}
