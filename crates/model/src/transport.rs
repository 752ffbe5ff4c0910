//! Carries one request of the genai library to the model service and the response back, within limits.
//!
//! The library reads an error body to its end, however long it is, and searches an unfinished frame from its
//! beginning with every chunk, without yielding while chunks arrive. So it connects to a socket of ours: the
//! request is sent to the service from here, and the library receives whole frames of limited size. Everything
//! runs in the task of the call, so dropping the call ends it.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, FuturesUnordered};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use reqwest::StatusCode;
use reqwest::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, TRANSFER_ENCODING,
};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::frame_splitter::{FrameSplitter, Framing};

/// Limit for one response; the longest replies have a few hundred kilobytes of text.
const MAX_STREAM_BYTES: usize = 64 << 20;

/// Limit for one frame. The last frame of OpenAI repeats the whole reply.
const MAX_FRAME_BYTES: usize = 4 << 20;

/// How much is read of a body that is not a stream: of an error or a web page.
const MAX_DOCUMENT_BYTES: usize = 64 << 10;

/// How long a body that is not a stream is read.
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why no complete response arrived.
#[derive(Debug, Clone)]
pub(crate) enum TransportFailure {
    /// Nothing arrived for this long.
    Silent(Duration),
    Broken(Arc<dyn Error + Send + Sync>),
    /// Completes the sentence "The model service … for one reply".
    TooLong(String),
}

/// The service, and how its responses are read.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub http: reqwest::Client,
    pub url: String,
    /// Added to those of the library, which does not know the key.
    pub headers: HeaderMap,
    pub framing: Framing,
    /// The exchange fails if no data arrives for this long.
    pub idle_timeout: Duration,
}

/// One request and its response.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    service: &'a Service,
    listener: TcpListener,
    /// Random, so that no other process of this machine can send a request in place of the library.
    path: String,
    has_begun: AtomicBool,
    received: Arc<Mutex<ReceivedResponse>>,
}

#[derive(Debug, Default)]
struct ReceivedResponse {
    /// The beginning of the body of a successful response, up to [`MAX_DOCUMENT_BYTES`].
    start: Vec<u8>,
    failure: Option<TransportFailure>,
}

type CarriedBody = UnsyncBoxBody<Bytes, io::Error>;

impl<'a> Exchange<'a> {
    pub async fn open(service: &'a Service) -> Result<Self, TransportFailure> {
        let broken = |error: io::Error| TransportFailure::Broken(Arc::new(error));
        let mut random = [0; 16];
        SystemRandom::new()
            .fill(&mut random)
            .map_err(|_| broken(io::Error::other("the system provides no random numbers")))?;
        Ok(Self {
            service,
            listener: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(broken)?,
            path: format!("/{:032x}", u128::from_ne_bytes(random)),
            has_begun: AtomicBool::new(false),
            received: Arc::default(),
        })
    }

    /// Where the library must send its request.
    pub fn url(&self) -> Result<String, TransportFailure> {
        let address =
            self.listener.local_addr().map_err(|error| TransportFailure::Broken(Arc::new(error)))?;
        Ok(format!("http://{address}{}", self.path))
    }

    /// Why the response ended early; `None` if it did not, or not yet.
    pub fn failure(&self) -> Option<TransportFailure> {
        lock(&self.received).failure.clone()
    }

    /// The beginning of the body of a successful response, as text.
    pub fn start(&self) -> String {
        String::from_utf8_lossy(&lock(&self.received).start).into_owned()
    }

    /// Carries the request and the response until it is dropped. Returns only if the library cannot connect; other
    /// failures break the library's connection, so that it first sees what arrived before.
    pub async fn carry(&self) -> TransportFailure {
        let mut connections = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if !self.has_begun.load(Ordering::Relaxed) => match accepted {
                    Ok((stream, _)) => connections.push(self.serve(stream)),
                    Err(error) => return TransportFailure::Broken(Arc::new(error)),
                },
                Some(()) = connections.next(), if !connections.is_empty() => {}
                else => std::future::pending().await,
            }
        }
    }

    async fn serve(&self, stream: TcpStream) {
        // Frames are small, and each is shown at once.
        let _ = stream.set_nodelay(true);
        let service = service_fn(|request| self.answer(request));
        // A broken connection is the library's error.
        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    }

    /// An error closes the library's connection.
    async fn answer(&self, request: Request<Incoming>) -> io::Result<Response<CarriedBody>> {
        let mut response = Response::new(whole(Bytes::new()));
        if request.uri().path() != self.path || self.has_begun.swap(true, Ordering::Relaxed) {
            *response.status_mut() = StatusCode::NOT_FOUND;
            return Ok(response);
        }
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let Service { http, url, headers, .. } = self.service;
        let request = http.post(url).headers(end_to_end(&parts.headers)).headers(headers.clone()).body(body);
        let answered = match timeout(self.service.idle_timeout, request.send()).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(error)) => return Err(fail(&self.received, TransportFailure::Broken(Arc::new(error)))),
            Err(_) => {
                return Err(fail(&self.received, TransportFailure::Silent(self.service.idle_timeout)));
            }
        };
        let is_success = answered.status().is_success();
        *response.status_mut() = answered.status();
        *response.headers_mut() = end_to_end(answered.headers());
        *response.body_mut() = if is_success && !is_html(answered.headers()) {
            ResponseStream::body(answered, self.service, Arc::clone(&self.received))
        } else {
            let document = read_document(answered).await;
            if is_success {
                lock(&self.received).start.clone_from(&document);
            }
            whole(document.into())
        };
        Ok(response)
    }
}

/// The body of a stream, frame by frame.
struct ResponseStream {
    response: reqwest::Response,
    idle_timeout: Duration,
    splitter: FrameSplitter,
    bytes: usize,
    received: Arc<Mutex<ReceivedResponse>>,
}

impl ResponseStream {
    fn body(
        response: reqwest::Response,
        service: &Service,
        received: Arc<Mutex<ReceivedResponse>>,
    ) -> CarriedBody {
        let reading = Self {
            response,
            idle_timeout: service.idle_timeout,
            splitter: FrameSplitter::new(service.framing),
            bytes: 0,
            received,
        };
        let frames = stream::try_unfold(Some(reading), |reading| async move {
            let Some(mut reading) = reading else { return Ok(None) };
            match reading.next_frames().await {
                Ok(Some(frames)) => Ok(Some((Frame::data(frames), Some(reading)))),
                Ok(None) => Ok(Some((Frame::data(reading.splitter.finish().into()), None))),
                Err(failure) => {
                    let error = fail(&reading.received, failure);
                    // The server sends what it has buffered only when there is nothing more to write.
                    tokio::task::yield_now().await;
                    Err(error)
                }
            }
        });
        StreamBody::new(frames).boxed_unsync()
    }

    /// The next complete frames; `None` at the end.
    async fn next_frames(&mut self) -> Result<Option<Bytes>, TransportFailure> {
        loop {
            let chunk = match timeout(self.idle_timeout, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => return Ok(None),
                Ok(Err(error)) => return Err(TransportFailure::Broken(Arc::new(error))),
                Err(_) => return Err(TransportFailure::Silent(self.idle_timeout)),
            };
            append(&mut lock(&self.received).start, &chunk);
            self.bytes += chunk.len();
            if self.bytes > MAX_STREAM_BYTES {
                return Err(TransportFailure::TooLong(format!(
                    "sent more than {} MiB",
                    MAX_STREAM_BYTES >> 20
                )));
            }
            let frames = self.splitter.push(&chunk);
            if !frames.is_empty() {
                return Ok(Some(frames.into()));
            }
            if self.splitter.unfinished_len() > MAX_FRAME_BYTES {
                return Err(TransportFailure::TooLong(format!(
                    "sent more than {} MiB without the end of an event",
                    MAX_FRAME_BYTES >> 20
                )));
            }
        }
    }
}

/// The beginning of a body that is not a stream. One that breaks off or takes too long is used as far as it came.
async fn read_document(mut response: reqwest::Response) -> Vec<u8> {
    let mut document = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            append(&mut document, &chunk);
            if document.len() == MAX_DOCUMENT_BYTES {
                break;
            }
        }
    };
    let _ = timeout(DOCUMENT_TIMEOUT, reading).await;
    document
}

/// Appends what fits into [`MAX_DOCUMENT_BYTES`].
fn append(document: &mut Vec<u8>, chunk: &[u8]) {
    let room = MAX_DOCUMENT_BYTES - document.len();
    document.extend_from_slice(&chunk[..chunk.len().min(room)]);
}

fn is_html(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.trim_start().to_ascii_lowercase().starts_with("text/html")
}

/// The headers without those that belong to one connection.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, ACCEPT_ENCODING] {
        headers.remove(name);
    }
    headers
}

fn whole(bytes: Bytes) -> CarriedBody {
    Full::new(bytes).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// Records the failure. Returns the error that closes the library's connection.
fn fail(received: &Mutex<ReceivedResponse>, failure: TransportFailure) -> io::Error {
    lock(received).failure = Some(failure);
    io::ErrorKind::ConnectionAborted.into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
