//! Logs in to servers that require it (OAuth 2.1). The library handles discovery, registration, tokens and their refresh;
//! this module decides when and how often to log in, and repeats the request afterwards.

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

/// The maximum number of logins per server, over all requests to it.
const MAX_LOGINS: u32 = 3;

/// Has a person consent on the authorization page. An unattended session has no implementation.
#[async_trait]
pub trait OAuthLogin: Send + Sync {
    /// Our registration with the authorization server.
    fn registration(&self) -> Registration;

    /// Visits the page and returns the URL that it redirects back to, or why that failed.
    async fn visit(&self, page: &str) -> Result<String, String>;
}

/// Our registration with an authorization server. Without `client_id` and `metadata_url`, the client is registered
/// dynamically.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registration {
    /// The URL to which the authorization server redirects.
    pub redirect_uri: String,
    /// The id of an existing registration.
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// The URL of a client metadata document.
    pub metadata_url: Option<String>,
}

/// An HTTP client for one server, which logs in when the server requires it.
#[derive(Clone)]
pub(crate) struct AuthorizingClient {
    http: reqwest::Client,
    url: Arc<str>,
    login: Option<Arc<dyn OAuthLogin>>,
    auth: Arc<Mutex<AuthState>>,
}

#[derive(Default)]
struct AuthState {
    manager: Option<AuthorizationManager>,
    logins: u32,
}

type HttpResult<T> = Result<T, StreamableHttpError<reqwest::Error>>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl AuthorizingClient {
    pub(crate) fn new(http: reqwest::Client, url: &str, login: Option<Arc<dyn OAuthLogin>>) -> Self {
        Self { http, url: url.into(), login, auth: Arc::default() }
    }

    /// Sends a request with the current token, and again after each login.
    async fn send<T, F>(
        &self,
        configured: Option<String>,
        request: impl Fn(Option<String>) -> F,
    ) -> HttpResult<T>
    where
        F: Future<Output = HttpResult<T>> + Send,
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

    /// The token of the last login, refreshed if necessary; `None` before the first login.
    async fn token(&self) -> Result<Option<String>, AuthError> {
        let auth = self.auth.lock().await;
        let Some(manager) = &auth.manager else { return Ok(None) };
        match manager.get_access_token().await {
            Ok(token) => Ok(Some(token)),
            Err(AuthError::AuthorizationRequired) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A token that the server has not rejected yet; `None` after [`MAX_LOGINS`] logins.
    async fn log_in(
        &self,
        login: &dyn OAuthLogin,
        challenge: &str,
        rejected: Option<&str>,
    ) -> Result<Option<String>, AuthError> {
        let mut auth = self.auth.lock().await;
        // Another request may have logged in in the meantime.
        if let Some(manager) = &auth.manager
            && let Ok(token) = manager.get_access_token().await
            && Some(token.as_str()) != rejected
        {
            return Ok(Some(token));
        }
        if auth.logins == MAX_LOGINS {
            return Ok(None);
        }
        auth.logins += 1;
        let manager = authorize(&self.url, login, challenge).await?;
        let token = manager.get_access_token().await?;
        auth.manager = Some(manager);
        Ok(Some(token))
    }
}

async fn authorize(
    url: &str,
    login: &dyn OAuthLogin,
    challenge: &str,
) -> Result<AuthorizationManager, AuthError> {
    let registration = login.registration();
    let mut request = AuthorizationRequest::new(registration.redirect_uri)
        .with_initial_scope_selection()
        .with_client_name("autonoe")
        .with_challenge(challenge);
    request.client_id = registration.client_id;
    request.client_secret = registration.client_secret;
    request.client_metadata_url = registration.metadata_url;
    let mut state = OAuthState::new(url, None).await?;
    state.start_authorization(request).await?;
    let page = state.get_authorization_url().await?;
    let callback_url = login.visit(&page).await.map_err(AuthError::AuthorizationFailed)?;
    state.handle_callback_url(&callback_url).await?;
    state.into_authorization_manager().ok_or(AuthError::AuthorizationRequired)
}

impl StreamableHttpClient for AuthorizingClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> HttpResult<StreamableHttpPostResponse> {
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
    ) -> HttpResult<StreamableHttpPostResponse> {
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
        self.send(token, request).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> HttpResult<()> {
        let request =
            |token| self.http.delete_session(Arc::clone(&uri), Arc::clone(&session), token, headers.clone());
        self.send(token, request).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
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
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
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
        self.send(token, request).await
    }
}
