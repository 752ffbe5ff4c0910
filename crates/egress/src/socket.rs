//! Unix sockets of ours that are reached under a name, by HTTP's `Upgrade`.

use std::path::PathBuf;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::UnixStream;

use crate::connect::BodyError;
use crate::failure::Failure;
use crate::tunnel::Tunnel;

/// A socket of ours and its name inside, which no route may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketRoute {
    /// What it is called inside.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

impl SocketRoute {
    /// Connects to the socket and answers that bytes can follow.
    pub(crate) async fn open(
        &self,
        request: Request<Incoming>,
    ) -> Result<(Response<BoxBody<Bytes, BodyError>>, Tunnel), Failure> {
        let protocol = request.headers().get(UPGRADE).filter(|_| request.method() == Method::GET).cloned();
        let Some(protocol) = protocol else {
            return Err(Failure::Malformed("this is a socket, which takes GET with an `Upgrade`"));
        };
        let stream = UnixStream::connect(&self.path).await;
        let whom = format!("The socket `{}`", self.name);
        let stream = stream.map_err(|error| Failure::unreachable(&whom, &error))?;
        // It may be silent for as long as anyone who answers there takes.
        let tunnel =
            Tunnel { client: hyper::upgrade::on(request), target: Box::new(stream), idle_limit: None };
        let mut answer = Response::new(Empty::new().map_err(BodyError::from).boxed());
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        answer.headers_mut().insert(UPGRADE, protocol);
        Ok((answer, tunnel))
    }
}
