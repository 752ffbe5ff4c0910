//! Ways to the other side: to an address that was checked, or through the upstream proxy.

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

use crate::address::Reach;
use crate::failure::Failure;
use crate::host::{Host, Target};
use crate::limits::{CONNECT_LIMIT, IDLE_LIMIT};
use crate::refusal::{Reason, Refusal};
use crate::tunnel::Stream;

/// What goes wrong in a body, anyone who sends it.
pub(crate) type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Connects to the target itself. Its name is looked up once, and only addresses within reach are tried.
pub(crate) async fn directly(target: &Target, reach: Reach) -> Result<TcpStream, Failure> {
    in_time(target, async {
        let found: Vec<SocketAddr> = match &target.host {
            Host::Address(address) => vec![SocketAddr::new(*address, target.port)],
            Host::Name(name) => match lookup_host((name.as_str(), target.port)).await {
                Ok(found) => found.collect(),
                Err(error) => return Err(Failure::unreachable(target, &error)),
            },
        };
        let usable: Vec<SocketAddr> = found.into_iter().filter(|found| reach.covers(found.ip())).collect();
        if usable.is_empty() {
            return Err(Failure::Refused(Refusal::new(target, Reason::NotPublic)));
        }
        first_to_answer(target, &usable).await
    })
    .await
}

/// Connects to the upstream proxy.
pub(crate) async fn to_proxy(proxy: &Intercept) -> Result<TcpStream, Failure> {
    let uri = proxy.uri();
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let port = uri.port_u16().unwrap_or(80);
    in_time(&UPSTREAM, async {
        TcpStream::connect((host, port)).await.map_err(|error| Failure::unreachable(&UPSTREAM, &error))
    })
    .await
}

/// Has the upstream proxy open a tunnel to the target.
pub(crate) async fn through_proxy(
    proxy: &Intercept,
    target: &Target,
) -> Result<impl Stream + use<>, Failure> {
    let stream = to_proxy(proxy).await?;
    let failed = |error: hyper::Error| Failure::unreachable(&UPSTREAM, &error);
    let authority = target.to_string();
    let request = Request::connect(&authority).header(HOST, &authority).body(Empty::<Bytes>::new());
    let mut request = request.map_err(|error| Failure::unreachable(target, &error))?;
    authorize(&mut request, proxy);
    in_time(&UPSTREAM, async {
        let response = send_within_limit(stream, request).await.map_err(failed)?;
        if !response.status().is_success() {
            let cause = format!("the upstream proxy answered {}", response.status());
            return Err(Failure::Unreachable { whom: authority, cause });
        }
        Ok(TokioIo::new(hyper::upgrade::on(response).await.map_err(failed)?))
    })
    .await
}

/// Proves to the upstream proxy who we are, if it wants to know.
pub(crate) fn authorize<B>(request: &mut Request<B>, proxy: &Intercept) {
    if let Some(credentials) = proxy.basic_auth() {
        request.headers_mut().insert(PROXY_AUTHORIZATION, credentials.clone());
    }
}

/// Sends one request over a fresh connection, which ends with the response's body.
pub(crate) async fn send<B>(
    whom: &Target,
    stream: TcpStream,
    request: Request<B>,
) -> Result<Response<Incoming>, Failure>
where
    B: Body<Data: Send, Error: Into<BodyError>> + Send + 'static,
{
    match timeout(IDLE_LIMIT, send_within_limit(stream, request)).await {
        Ok(answer) => answer.map_err(|error| Failure::unreachable(whom, &error)),
        Err(_) => Err(Failure::TooSlow { whom: whom.to_string() }),
    }
}

/// How the upstream proxy is called in messages.
const UPSTREAM: &str = "The upstream proxy";

async fn send_within_limit<B>(stream: TcpStream, request: Request<B>) -> hyper::Result<Response<Incoming>>
where
    B: Body<Data: Send, Error: Into<BodyError>> + Send + 'static,
{
    // Without it, small pieces wait for an acknowledgement; a failure costs only time.
    let _ = stream.set_nodelay(true);
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends when the response has been read or dropped; its errors show there.
    tokio::spawn(connection.with_upgrades());
    sender.send_request(request).await
}

/// Tries one address after the other; each gets its share of the time.
async fn first_to_answer(target: &Target, addresses: &[SocketAddr]) -> Result<TcpStream, Failure> {
    let share = CONNECT_LIMIT / u32::try_from(addresses.len()).unwrap_or(u32::MAX);
    let mut failure = Failure::TooSlow { whom: target.to_string() };
    for address in addresses {
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = Failure::unreachable(target, &error),
            Err(_) => failure = Failure::TooSlow { whom: target.to_string() },
        }
    }
    Err(failure)
}

async fn in_time<T>(
    whom: &impl ToString,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    timeout(CONNECT_LIMIT, work).await.unwrap_or_else(|_| Err(Failure::TooSlow { whom: whom.to_string() }))
}
