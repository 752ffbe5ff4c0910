//! The HTTP client of one server: adds the token to every request, and gets another one when the server rejects it.

use std::collections::HashMap;
use std::sync::Arc;

use futures::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::auth::{AuthError, AuthorizationManager};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse};
use tokio::sync::Mutex;

use crate::login::{OAuthLogin, authorize};
use crate::login_store::{LoginStore, REQUEST_MARGIN};

/// The maximum number of logins per server, over all requests to it.
const MAX_LOGINS: u32 = 3;

/// Where tokens come from if the configuration has none.
#[derive(Clone, Default)]
pub(crate) struct TokenSources {
    /// Asked first.
    pub(crate) store: Option<LoginStore>,
    pub(crate) login: Option<Arc<dyn OAuthLogin>>,
}

#[derive(Clone)]
pub(crate) struct AuthorizingClient {
    http: reqwest::Client,
    url: Arc<str>,
    sources: TokenSources,
    auth: Arc<Mutex<AuthState>>,
}

#[derive(Default)]
struct AuthState {
    manager: Option<AuthorizationManager>,
    logins: u32,
    /// The last `WWW-Authenticate` header.
    challenge: Option<String>,
}

type HttpResult<T> = Result<T, StreamableHttpError<reqwest::Error>>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl AuthorizingClient {
    pub(crate) fn new(http: reqwest::Client, url: &str, sources: TokenSources) -> Self {
        Self { http, url: url.into(), sources, auth: Arc::default() }
    }

    /// The header with which the server last rejected a request.
    pub(crate) async fn challenge(&self) -> Option<String> {
        self.auth.lock().await.challenge.clone()
    }

    /// Sends a request with the current token, and again with another token if the server rejects it.
    async fn send<T, F>(
        &self,
        configured: Option<String>,
        request: impl Fn(Option<String>) -> F,
    ) -> HttpResult<T>
    where
        F: Future<Output = HttpResult<T>> + Send,
    {
        let mut may_refresh = configured.is_none();
        let mut token = match configured {
            Some(token) => Some(token),
            None => self.token().await?,
        };
        loop {
            let error = match request(token.clone()).await {
                Err(error) if error.auth_challenge().is_some() => error,
                outcome => return outcome,
            };
            let challenge = error.auth_challenge().unwrap_or_default();
            self.auth.lock().await.challenge = Some(challenge.to_owned());
            // A server that rejects every token must not keep us refreshing.
            if std::mem::take(&mut may_refresh)
                && let Some(fresh) = self.stored_token(token.as_deref()).await?
            {
                token = Some(fresh);
                continue;
            }
            match self.log_in(challenge, token.as_deref()).await? {
                Some(fresh) => token = Some(fresh),
                None => return Err(error),
            }
        }
    }

    /// The token of the last login, refreshed if necessary; `None` before the first login.
    async fn token(&self) -> Result<Option<String>, AuthError> {
        if let Some(token) = self.stored_token(None).await? {
            return Ok(Some(token));
        }
        let auth = self.auth.lock().await;
        let Some(manager) = &auth.manager else { return Ok(None) };
        match manager.get_access_token().await {
            Ok(token) => Ok(Some(token)),
            Err(AuthError::AuthorizationRequired) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The token of the stored login, which is not the `rejected` one.
    async fn stored_token(&self, rejected: Option<&str>) -> Result<Option<String>, AuthError> {
        let Some(store) = &self.sources.store else { return Ok(None) };
        let token = store.access_token(&self.url, REQUEST_MARGIN, rejected).await;
        token.map_err(|error| AuthError::CredentialStoreError(error.to_string()))
    }

    /// A token that the server has not rejected yet; `None` after [`MAX_LOGINS`] logins, or if nobody can log in.
    async fn log_in(&self, challenge: &str, rejected: Option<&str>) -> Result<Option<String>, AuthError> {
        let Some(login) = &self.sources.login else { return Ok(None) };
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
        let authorized = authorize(&self.url, login.as_ref(), Some(challenge)).await;
        let manager = authorized.map_err(|error| AuthError::AuthorizationFailed(error.to_string()))?.manager;
        let token = manager.get_access_token().await?;
        auth.manager = Some(manager);
        Ok(Some(token))
    }
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
