//! Socket routes: Unix sockets of ours that are reached under a name, with an HTTP `Upgrade`.

use std::path::PathBuf;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::UnixStream;

use crate::connect::BodyError;
use crate::failure::{EgressFailure, MalformedRequest};
use crate::tunnel::Tunnel;

/// A socket of ours and its name inside. A socket and a route cannot have the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketRoute {
    pub name: String,
    pub path: PathBuf,
}

impl SocketRoute {
    /// Connects to the socket and responds with `101 Switching Protocols`.
    pub(crate) async fn open(
        &self,
        request: Request<Incoming>,
    ) -> Result<(Response<BoxBody<Bytes, BodyError>>, Tunnel), EgressFailure> {
        let protocol = request.headers().get(UPGRADE).filter(|_| request.method() == Method::GET).cloned();
        let Some(protocol) = protocol else {
            return Err(EgressFailure::Malformed(MalformedRequest::Socket));
        };
        let stream = UnixStream::connect(&self.path).await;
        let peer = format!("The socket `{}`", self.name);
        let stream = stream.map_err(|error| EgressFailure::unreachable(&peer, &error))?;
        // No idle limit: a call over the socket may take any time to answer, for instance while a check runs.
        let tunnel =
            Tunnel { client: hyper::upgrade::on(request), target: Box::new(stream), idle_limit: None };
        let mut response = Response::new(Empty::new().map_err(BodyError::from).boxed());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        response.headers_mut().insert(UPGRADE, protocol);
        Ok((response, tunnel))
    }
}
