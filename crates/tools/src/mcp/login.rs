//! Logging in to a server that asks for it (OAuth 2.1): discovery, registration, tokens and their refresh are the
//! library's; here is decided when to log in, how often, and that the request is then made again.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationRequest, OAuthState};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse};
use tokio::sync::Mutex;

/// How often a server may ask for a login, over all requests to it.
const MAX_LOGINS: u32 = 3;

/// Who leads a person to the page on which they agree. An unattended session has nobody for it.
#[async_trait]
pub trait Login: Send + Sync {
    /// How we are known to the authorization server.
    fn registration(&self) -> Registration;

    /// Has the page visited and gives the address that it sent the visitor back to, or why there is none.
    async fn visit(&self, page: &str) -> Result<String, String>;
}

/// How we are known to an authorization server. Without an id or a document we register ourselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registration {
    /// Where the authorization server sends the visitor back to.
    pub redirect_uri: String,
    /// An id that was agreed on before.
    pub client_id: Option<String>,
    /// The secret that goes with it.
    pub client_secret: Option<String>,
    /// The address of a document that describes us.
    pub metadata_url: Option<String>,
}

/// The way to one server, which logs in when it is asked to.
#[derive(Clone)]
pub(super) struct EgressProxy {
    http: reqwest::Client,
    url: Arc<str>,
    login: Option<Arc<dyn Login>>,
    pass: Arc<Mutex<Pass>>,
}

/// What we show at the egress proxy.
#[derive(Default)]
struct Pass {
    manager: Option<AuthorizationManager>,
    logins: u32,
}

type Outcome<T> = Result<T, StreamableHttpError<reqwest::Error>>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl EgressProxy {
    pub(super) fn new(http: reqwest::Client, url: &str, login: Option<Arc<dyn Login>>) -> Self {
        Self { http, url: url.into(), login, pass: Arc::default() }
    }

    /// Makes a request with the token there is, and again after each login that it leads to.
    async fn pass<T, F>(
        &self,
        configured: Option<String>,
        request: impl Fn(Option<String>) -> F,
    ) -> Outcome<T>
    where
        F: Future<Output = Outcome<T>> + Send,
    {
        let mut token = match configured {
            Some(token) => Some(token),
            None => self.token().await?,
        };
        loop {
            let error = match request(token.clone()).await {
                Err(error) if error.auth_challenge().is_some() => error,
                outcome => return outcome,
            };
            let (Some(login), Some(challenge)) = (&self.login, error.auth_challenge()) else {
                return Err(error);
            };
            match self.log_in(login.as_ref(), challenge, token.as_deref()).await? {
                Some(fresh) => token = Some(fresh),
                None => return Err(error),
            }
        }
    }

    /// The token of the last login, refreshed if need be.
    async fn token(&self) -> Result<Option<String>, AuthError> {
        let pass = self.pass.lock().await;
        let Some(manager) = &pass.manager else { return Ok(None) };
        match manager.get_access_token().await {
            Ok(token) => Ok(Some(token)),
            Err(AuthError::AuthorizationRequired) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A token that the server did not refuse yet; none if it was rate limited.
    async fn log_in(
        &self,
        login: &dyn Login,
        challenge: &str,
        refused: Option<&str>,
    ) -> Result<Option<String>, AuthError> {
        let mut pass = self.pass.lock().await;
        // Another request may have logged in meanwhile.
        if let Some(manager) = &pass.manager
            && let Ok(token) = manager.get_access_token().await
            && Some(token.as_str()) != refused
        {
            return Ok(Some(token));
        }
        if pass.logins == MAX_LOGINS {
            return Ok(None);
        }
        pass.logins += 1;
        let manager = authorize(&self.url, login, challenge).await?;
        let token = manager.get_access_token().await?;
        pass.manager = Some(manager);
        Ok(Some(token))
    }
}

async fn authorize(url: &str, login: &dyn Login, challenge: &str) -> Result<AuthorizationManager, AuthError> {
    let known = login.registration();
    let mut request = AuthorizationRequest::new(known.redirect_uri)
        .with_initial_scope_selection()
        .with_client_name("autonoe")
        .with_challenge(challenge);
    request.client_id = known.client_id;
    request.client_secret = known.client_secret;
    request.client_metadata_url = known.metadata_url;
    let mut state = OAuthState::new(url, None).await?;
    state.start_authorization(request).await?;
    let page = state.get_authorization_url().await?;
    let back = login.visit(&page).await.map_err(AuthError::AuthorizationFailed)?;
    state.handle_callback_url(&back).await?;
    state.into_authorization_manager().ok_or(AuthError::AuthorizationRequired)
}

impl StreamableHttpClient for EgressProxy {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Outcome<StreamableHttpPostResponse> {
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, usize::MAX).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Outcome<StreamableHttpPostResponse> {
        let request = |token| {
            let (uri, message) = (Arc::clone(&uri), message.clone());
            self.http.post_message_with_max_sse_event_size(
                uri,
                message,
                session.clone(),
                token,
                headers.clone(),
                limit,
            )
        };
        self.pass(token, request).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Outcome<()> {
        let request =
            |token| self.http.delete_session(Arc::clone(&uri), Arc::clone(&session), token, headers.clone());
        self.pass(token, request).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Outcome<BoxStream<'static, Result<Sse, SseError>>> {
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, usize::MAX).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Outcome<BoxStream<'static, Result<Sse, SseError>>> {
        let request = |token| {
            let (uri, last_event) = (Arc::clone(&uri), last_event.clone());
            self.http.get_stream_with_max_sse_event_size(
                uri,
                session.clone(),
                last_event,
                token,
                headers.clone(),
                limit,
            )
        };
        self.pass(token, request).await
    }
}
