//! A login in the user's browser: the authorization server redirects it to a port of this machine, where we listen.

use std::io;
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use reqwest::Url;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::login::{OAuthLogin, Registration, VisitError, one_line};

/// How long to wait for the browser.
pub const LOGIN_LIMIT: Duration = Duration::from_secs(5 * 60);

const CALLBACK_PATH: &str = "/callback";
/// How long a connection may take to send its request. Browsers open some that they never use.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Opens a page in the user's browser.
pub type PageOpener = Box<dyn Fn(&str) + Send + Sync>;

/// A login in the user's browser.
pub struct LoopbackLogin {
    listener: TcpListener,
    redirect_uri: String,
    client_id: Option<String>,
    open_page: PageOpener,
    limit: Duration,
}

impl LoopbackLogin {
    /// Listens on `port`; 0 means any free port. `client_id` is the id of an existing registration; `None` means that the
    /// client is registered dynamically.
    pub async fn bind(
        port: u16,
        client_id: Option<String>,
        limit: Duration,
        open_page: PageOpener,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let redirect_uri = format!("http://{}{CALLBACK_PATH}", listener.local_addr()?);
        Ok(Self { listener, redirect_uri, client_id, open_page, limit })
    }

    /// Serves requests until one of them is the redirect, and its answer has been sent.
    async fn redirect(&self, state: &str) -> Result<String, VisitError> {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(serve(stream, self.redirect_uri.clone(), state.to_owned()));
                    }
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                },
                // A narrower pattern would stop watching the others when one of them ends without a result.
                Some(ended) = connections.join_next() => if let Ok(Some(result)) = ended {
                    return result;
                },
            }
        }
    }
}

#[async_trait]
impl OAuthLogin for LoopbackLogin {
    fn registration(&self) -> Registration {
        Registration {
            redirect_uri: self.redirect_uri.clone(),
            client_id: self.client_id.clone(),
            ..Registration::default()
        }
    }

    async fn visit(&self, page: &str) -> Result<String, VisitError> {
        let url = Url::parse(page).map_err(|error| VisitError::Failed(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(VisitError::Failed(format!("its address is a {}: URL", url.scheme())));
        }
        let state = parameter(&url, "state").unwrap_or_default();
        (self.open_page)(page);
        timeout(self.limit, self.redirect(&state))
            .await
            .unwrap_or(Err(VisitError::TimedOut { limit: self.limit }))
    }
}

/// Serves one request. Returns the result of the login if the request was the redirect.
async fn serve(stream: TcpStream, redirect_uri: String, state: String) -> Option<Result<String, VisitError>> {
    let result = Mutex::new(None);
    let service = service_fn(async |request: Request<Incoming>| {
        let callback = callback_url(&redirect_uri, &request).map(|url| judge(&url, &state));
        let response = answer(callback.as_ref());
        *result.lock().unwrap_or_else(PoisonError::into_inner) = callback;
        response
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_LIMIT)
        .serve_connection(TokioIo::new(stream), service);
    // A browser that does not wait for our answer has sent its request all the same.
    let _ = connection.await;
    result.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The complete URL of a request, if it is the redirect.
fn callback_url(redirect_uri: &str, request: &Request<Incoming>) -> Option<Url> {
    let mut url = Url::parse(redirect_uri).ok()?;
    url.set_query(request.uri().query());
    (request.uri().path() == CALLBACK_PATH).then_some(url)
}

/// The URL with the code, unless the redirect belongs to another login or the authorization server refused.
fn judge(url: &Url, state: &str) -> Result<String, VisitError> {
    if parameter(url, "state").as_deref() != Some(state) {
        return Err(VisitError::WrongState);
    }
    match parameter(url, "error") {
        None => Ok(url.to_string()),
        Some(error) => {
            let description = parameter(url, "error_description");
            let description = description.map(|text| format!(" ({text})")).unwrap_or_default();
            Err(VisitError::Refused(one_line(&format!("{error}{description}"))))
        }
    }
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn answer(
    callback: Option<&Result<String, VisitError>>,
) -> Result<Response<Full<Bytes>>, hyper::http::Error> {
    let (status, text) = match callback {
        None => (StatusCode::NOT_FOUND, "There is nothing here."),
        Some(Ok(_)) => {
            (StatusCode::OK, "Autonoe has your answer. You can close this page and return to the terminal.")
        }
        Some(Err(_)) => (StatusCode::BAD_REQUEST, "The login failed. The terminal shows why."),
    };
    let response = Response::builder().status(status).header(CONTENT_TYPE, "text/plain; charset=utf-8");
    response.body(Full::new(Bytes::from_static(text.as_bytes())))
}
