//! Handles one request: classifies it, checks it against the rules, and produces the response.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::uri::Scheme;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::client::proxy::matcher::Intercept;

use crate::connect::{self, BodyError};
use crate::failure::{EgressFailure, MalformedRequest};
use crate::headers::{drop_hop_by_hop, is_websocket_upgrade};
use crate::host::{Host, HostPort};
use crate::limits::IDLE_LIMIT;
use crate::redact_reply::{Redacted, redact_headers};
use crate::refusal::{EgressRefusal, RefusalLog};
use crate::route::Route;
use crate::rules::EgressRules;
use crate::socket::SocketRoute;
use crate::tunnel::{Tunnel, TunnelStream};

type ProxyResponse = Response<BoxBody<Bytes, BodyError>>;

/// The state shared by all connections of one [`crate::Egress`].
pub(crate) struct EgressProxy {
    pub rules: Arc<EgressRules>,
    /// The listening address. A request whose URL names this address is a request for a route.
    pub address: SocketAddr,
    /// The first segment of every route's path: random, so that it cannot be guessed.
    pub token: String,
    /// The client for routes; `None` if there are no routes.
    pub client: Option<reqwest::Client>,
    pub refusals: Mutex<RefusalLog>,
}

impl EgressProxy {
    /// Serves one request. If it opens a tunnel, the tunnel is stored in `tunnel`.
    pub async fn handle(&self, request: Request<Incoming>, tunnel: &Mutex<Option<Tunnel>>) -> ProxyResponse {
        let response = match *request.method() {
            Method::CONNECT => self.open(request, tunnel).await,
            // A TRACE response echoes the request, including the key that a route inserts.
            Method::TRACE => Err(EgressFailure::NotSupported("TRACE")),
            _ if is_websocket_upgrade(request.headers()) => Err(EgressFailure::NotSupported("WebSocket")),
            _ if request.uri().authority().is_some() => self.forward(request).await,
            _ => match self.find_socket(request.uri().path()) {
                Some(socket) => socket.open(request).await.map(|(response, opened)| {
                    *lock(tunnel) = Some(opened);
                    response
                }),
                None => self.forward_to_route(request).await,
            },
        };
        response.unwrap_or_else(|failure| {
            if let EgressFailure::Refused(refusal) = &failure {
                lock(&self.refusals).record(refusal);
            }
            let (status, text) = failure.to_response(&self.rules.how_to_allow);
            let mut response = with_status(status, Full::from(text).map_err(BodyError::from).boxed());
            response
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            response
        })
    }

    /// Takes the refusals recorded since the last call.
    pub fn refusals(&self) -> Vec<EgressRefusal> {
        lock(&self.refusals).drain()
    }

    /// The path of a socket, or the path prefix of a route; `None` if nothing has that name.
    pub fn route_path(&self, name: &str) -> Option<String> {
        let is_route = self.rules.routes.iter().any(|route| route.name() == name);
        let is_socket = self.rules.sockets.iter().any(|socket| socket.name == name);
        (is_route || is_socket).then(|| format!("/{}/{name}", self.token))
    }

    /// `CONNECT host:port`.
    async fn open(
        &self,
        request: Request<Incoming>,
        tunnel: &Mutex<Option<Tunnel>>,
    ) -> Result<ProxyResponse, EgressFailure> {
        let uri = request.uri();
        let authority = match uri.authority() {
            Some(authority) if uri.scheme().is_none() && uri.path().is_empty() => authority.as_str(),
            _ => return Err(EgressFailure::Malformed(MalformedRequest::Connect)),
        };
        let target = HostPort::parse(authority)?;
        let scope = self.rules.check(&target).map_err(EgressFailure::Refused)?;
        let stream: Box<dyn TunnelStream> = match self.upstream(&target) {
            Some(proxy) => Box::new(connect::through_proxy(&proxy, &target).await?),
            None => Box::new(connect::directly(&target, scope).await?),
        };
        *lock(tunnel) = Some(Tunnel {
            client: hyper::upgrade::on(request),
            target: stream,
            idle_limit: Some(IDLE_LIMIT),
        });
        Ok(with_status(StatusCode::OK, Empty::new().map_err(BodyError::from).boxed()))
    }

    /// `GET http://host/…`. The URL alone decides where the request goes; the `Host` header is rewritten from it.
    async fn forward(&self, mut request: Request<Incoming>) -> Result<ProxyResponse, EgressFailure> {
        let uri = request.uri();
        let target = match (uri.scheme(), uri.authority()) {
            (Some(scheme), Some(authority)) if *scheme == Scheme::HTTP => {
                HostPort::parse_http(authority.as_str())?
            }
            _ => return Err(EgressFailure::Malformed(MalformedRequest::Scheme)),
        };
        if target.host == Host::Address(self.address.ip()) && target.port == self.address.port() {
            return self.forward_to_route(request).await;
        }
        let scope = self.rules.check(&target).map_err(EgressFailure::Refused)?;
        let path = uri.query().map_or(uri.path().to_owned(), |query| format!("{}?{query}", uri.path()));
        let upstream = self.upstream(&target);
        let uri = if upstream.is_some() { format!("http://{target}{path}") } else { path };
        let (Ok(host), Ok(uri)) = (HeaderValue::from_str(&target.host_header()), uri.parse()) else {
            return Err(EgressFailure::Malformed(MalformedRequest::Url));
        };
        drop_hop_by_hop(request.headers_mut());
        request.headers_mut().insert(HOST, host);
        *request.version_mut() = Version::HTTP_11;
        *request.uri_mut() = uri;
        let stream = match &upstream {
            Some(proxy) => {
                connect::authorize(&mut request, proxy);
                connect::to_proxy(proxy).await?
            }
            None => connect::directly(&target, scope).await?,
        };
        let mut response = connect::send(&target, stream, request).await?;
        if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            let cause = "the upstream proxy rejected our credentials".to_owned();
            return Err(EgressFailure::Unreachable { peer: target.to_string(), cause });
        }
        drop_hop_by_hop(response.headers_mut());
        Ok(response.map(|body| body.map_err(BodyError::from).boxed()))
    }

    /// `/<token>/<route>/…`, with the key inserted.
    async fn forward_to_route(&self, request: Request<Incoming>) -> Result<ProxyResponse, EgressFailure> {
        let (mut parts, body) = request.into_parts();
        let Some((route, path)) = self.find_route(parts.uri.path()) else {
            return Err(EgressFailure::NotFound);
        };
        let Some(client) = &self.client else { return Err(EgressFailure::NotFound) };
        let url = route.url(path, parts.uri.query()).map_err(EgressFailure::Malformed)?;
        drop_hop_by_hop(&mut parts.headers);
        route.insert_key(&mut parts.headers);
        let request =
            client.request(parts.method, url).headers(parts.headers).body(reqwest::Body::wrap(body));
        let peer = format!("The provider of the route `{}`", route.name());
        let response = request.send().await.map_err(|error| {
            if error.is_timeout() {
                EgressFailure::TimedOut { peer }
            } else {
                EgressFailure::unreachable(&peer, &error)
            }
        })?;
        let mut response = Response::<reqwest::Body>::from(response);
        *response.version_mut() = Version::HTTP_11;
        drop_hop_by_hop(response.headers_mut());
        let Some(secret) = route.secret() else {
            return Ok(response.map(|body| body.map_err(BodyError::from).boxed()));
        };
        redact_headers(response.headers_mut(), &secret);
        Ok(response.map(|body| Redacted::new(body, secret).map_err(BodyError::from).boxed()))
    }

    fn find_route<'a>(&self, path: &'a str) -> Option<(&Route, &'a str)> {
        let path = self.strip_token(path)?;
        let (name, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
        let route = self.rules.routes.iter().find(|route| route.name() == name)?;
        Some((route, rest))
    }

    fn find_socket(&self, path: &str) -> Option<&SocketRoute> {
        let name = self.strip_token(path)?;
        self.rules.sockets.iter().find(|socket| socket.name == name)
    }

    fn strip_token<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix('/')?.strip_prefix(self.token.as_str())?.strip_prefix('/')
    }

    fn upstream(&self, target: &HostPort) -> Option<Intercept> {
        self.rules.upstream.as_ref()?.intercept(&target.host)
    }
}

fn with_status(status: StatusCode, body: BoxBody<Bytes, BodyError>) -> ProxyResponse {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

/// Ignores poisoning: the guarded values are consistent after every statement, so a panic cannot leave them half-written.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
