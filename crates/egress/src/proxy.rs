//! One request: what it is, whether it may pass, and the answer.

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
use crate::failure::Failure;
use crate::headers::{asks_for_websocket, drop_hop_by_hop};
use crate::host::{Host, Target};
use crate::limits::IDLE_LIMIT;
use crate::redact_reply::{Redacted, redact_headers};
use crate::refusal::{Refusal, Refusals};
use crate::route::Route;
use crate::rules::Rules;
use crate::socket::SocketRoute;
use crate::tunnel::{Stream, Tunnel};

type Answer = Response<BoxBody<Bytes, BodyError>>;

/// Everything that one [`crate::Egress`] knows.
pub(crate) struct EgressProxy {
    pub rules: Arc<Rules>,
    /// Where it listens: requests for it by URL are requests for its routes.
    pub address: SocketAddr,
    /// The first part of every route's path, which nobody guesses.
    pub token: String,
    /// Speaks with providers; none if there are no routes.
    pub client: Option<reqwest::Client>,
    pub refusals: Mutex<Refusals>,
}

impl EgressProxy {
    /// Serves one request. A tunnel that was opened is left in `tunnel`.
    pub async fn answer(&self, request: Request<Incoming>, tunnel: &Mutex<Option<Tunnel>>) -> Answer {
        let answer = match *request.method() {
            Method::CONNECT => self.open(request, tunnel).await,
            // Its answer repeats the request, and so what is put in here.
            Method::TRACE => Err(Failure::NotSupported("TRACE")),
            _ if asks_for_websocket(request.headers()) => Err(Failure::NotSupported("WebSocket")),
            _ if request.uri().authority().is_some() => self.forward(request).await,
            _ => match self.find_socket(request.uri().path()) {
                Some(socket) => socket.open(request).await.map(|(answer, opened)| {
                    *lock(tunnel) = Some(opened);
                    answer
                }),
                None => self.pass_to_route(request).await,
            },
        };
        answer.unwrap_or_else(|failure| {
            if let Failure::Refused(refusal) = &failure {
                lock(&self.refusals).note(refusal);
            }
            let (status, text) = failure.tell(&self.rules.how_to_allow);
            let mut answer = with_status(status, Full::from(text).map_err(BodyError::from).boxed());
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            answer
        })
    }

    /// Takes what has been refused since the last time.
    pub fn refusals(&self) -> Vec<Refusal> {
        lock(&self.refusals).drain()
    }

    /// The path of a socket, or the one below which a route is served.
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
    ) -> Result<Answer, Failure> {
        let uri = request.uri();
        let authority = match uri.authority() {
            Some(authority) if uri.scheme().is_none() && uri.path().is_empty() => authority.as_str(),
            _ => return Err(Failure::Malformed("CONNECT takes a host and a port, nothing else")),
        };
        let target = Target::parse(authority).map_err(Failure::Malformed)?;
        let reach = self.rules.judge(&target).map_err(Failure::Refused)?;
        let stream: Box<dyn Stream> = match self.upstream(&target) {
            Some(proxy) => Box::new(connect::through_proxy(&proxy, &target).await?),
            None => Box::new(connect::directly(&target, reach).await?),
        };
        *lock(tunnel) = Some(Tunnel {
            client: hyper::upgrade::on(request),
            target: stream,
            idle_limit: Some(IDLE_LIMIT),
        });
        Ok(with_status(StatusCode::OK, Empty::new().map_err(BodyError::from).boxed()))
    }

    /// `GET http://host/…`: the URL alone decides where it goes, and `Host` is written anew from it.
    async fn forward(&self, mut request: Request<Incoming>) -> Result<Answer, Failure> {
        let uri = request.uri();
        let target = match (uri.scheme(), uri.authority()) {
            (Some(scheme), Some(authority)) if *scheme == Scheme::HTTP => {
                Target::parse_http(authority.as_str()).map_err(Failure::Malformed)?
            }
            _ => {
                return Err(Failure::Malformed(
                    "only http:// URLs are served here; for the rest there is CONNECT",
                ));
            }
        };
        if target.host == Host::Address(self.address.ip()) && target.port == self.address.port() {
            return self.pass_to_route(request).await;
        }
        let reach = self.rules.judge(&target).map_err(Failure::Refused)?;
        let path = uri.query().map_or(uri.path().to_owned(), |query| format!("{}?{query}", uri.path()));
        let upstream = self.upstream(&target);
        let wanted = if upstream.is_some() { format!("http://{target}{path}") } else { path };
        let (Ok(host), Ok(wanted)) = (HeaderValue::from_str(&target.host_header()), wanted.parse()) else {
            return Err(Failure::Malformed("the URL cannot be passed on"));
        };
        drop_hop_by_hop(request.headers_mut());
        request.headers_mut().insert(HOST, host);
        *request.version_mut() = Version::HTTP_11;
        *request.uri_mut() = wanted;
        let stream = match &upstream {
            Some(proxy) => {
                connect::authorize(&mut request, proxy);
                connect::to_proxy(proxy).await?
            }
            None => connect::directly(&target, reach).await?,
        };
        let mut response = connect::send(&target, stream, request).await?;
        if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            let cause = "the upstream proxy refuses our credentials".to_owned();
            return Err(Failure::Unreachable { whom: target.to_string(), cause });
        }
        drop_hop_by_hop(response.headers_mut());
        Ok(response.map(|body| body.map_err(BodyError::from).boxed()))
    }

    /// `/<token>/<route>/…`, with the key put in.
    async fn pass_to_route(&self, request: Request<Incoming>) -> Result<Answer, Failure> {
        let (mut parts, body) = request.into_parts();
        let Some((route, path)) = self.find_route(parts.uri.path()) else { return Err(Failure::NothingHere) };
        let Some(client) = &self.client else { return Err(Failure::NothingHere) };
        let url = route.url(path, parts.uri.query()).map_err(Failure::Malformed)?;
        drop_hop_by_hop(&mut parts.headers);
        route.put_key(&mut parts.headers);
        let request =
            client.request(parts.method, url).headers(parts.headers).body(reqwest::Body::wrap(body));
        let whom = format!("The provider of the route `{}`", route.name());
        let response = request.send().await.map_err(|error| {
            if error.is_timeout() { Failure::TooSlow { whom } } else { Failure::unreachable(&whom, &error) }
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
        let path = self.behind_token(path)?;
        let (name, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
        let route = self.rules.routes.iter().find(|route| route.name() == name)?;
        Some((route, rest))
    }

    fn find_socket(&self, path: &str) -> Option<&SocketRoute> {
        let name = self.behind_token(path)?;
        self.rules.sockets.iter().find(|socket| socket.name == name)
    }

    fn behind_token<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix('/')?.strip_prefix(self.token.as_str())?.strip_prefix('/')
    }

    fn upstream(&self, target: &Target) -> Option<Intercept> {
        self.rules.upstream.as_ref()?.intercept(&target.host)
    }
}

fn with_status(status: StatusCode, body: BoxBody<Bytes, BodyError>) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
}

/// What is guarded here is whole after every statement, so a panic elsewhere does not spoil it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
