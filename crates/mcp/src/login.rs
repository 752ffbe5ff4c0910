//! One login to a server (OAuth 2.1): discovery, registration, the authorization page, the exchange for tokens. The library
//! has the protocol; this module has the order of the steps and the reasons why one can fail.

use std::time::Duration;

use async_trait::async_trait;
use autonoe_tools::truncate_line;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource,
    AuthorizationRequest, AuthorizationSession, CredentialStore, InMemoryCredentialStore, StoredCredentials,
};
use thiserror::Error;

const CLIENT_NAME: &str = "autonoe";
/// The number of characters of a server's own error message that we repeat.
const MAX_MESSAGE_CHARS: usize = 300;

/// Has a person consent on the authorization page.
#[async_trait]
pub trait OAuthLogin: Send + Sync {
    /// Our registration with the authorization server.
    fn registration(&self) -> Registration;

    /// Visits the page and returns the URL that it redirects back to.
    async fn visit(&self, page: &str) -> Result<String, VisitError>;
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

/// Why nobody consented on the authorization page.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VisitError {
    /// With the error that the authorization server sent.
    #[error("its authorization server refused: {0}")]
    Refused(String),
    #[error("the browser came back with a wrong `state`, which does not belong to this login")]
    WrongState,
    #[error("the browser did not come back within {}", autonoe_core::duration::format(*limit))]
    TimedOut { limit: Duration },
    #[error("the authorization page failed: {0}")]
    Failed(String),
}

/// Why a login failed: a clause in which "it" is the server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    #[error("it does not ask for a login")]
    NotRequired,
    #[error("it requires a login but does not offer OAuth")]
    NoOAuth,
    #[error("its authorization server does not register clients")]
    NoRegistration,
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("its authorization server cannot be used: {0}")]
    BadAuthorizationServer(String),
    #[error("its authorization server did not register this client: {0}")]
    NotRegistered(String),
    #[error(transparent)]
    Visit(#[from] VisitError),
    #[error("its authorization server issued no token: {0}")]
    NoToken(String),
    #[error("it rejected the token that its authorization server has just issued")]
    TokenRejected,
    #[error("the login could not be saved: {0}")]
    NotSaved(String),
}

pub(crate) struct Authorized {
    pub(crate) manager: AuthorizationManager,
    pub(crate) credentials: StoredCredentials,
    /// Some authorization servers give every client a secret. Refreshing needs it.
    pub(crate) client_secret: Option<String>,
}

/// `challenge` is the `WWW-Authenticate` header of the rejected request; `None` if no request was rejected.
pub(crate) async fn authorize(
    url: &str,
    login: &dyn OAuthLogin,
    challenge: Option<&str>,
) -> Result<Authorized, LoginError> {
    let mut manager = manager(url).await.map_err(bad_server)?;
    let resolution = manager.resolve_metadata_from_challenge(challenge).await.map_err(bad_server)?;
    let is_published = resolution.source != AuthorizationMetadataSource::LegacyEndpointFallback;
    if challenge.is_none() && resolution.source != AuthorizationMetadataSource::ProtectedResourceMetadata {
        return Err(LoginError::NotRequired);
    }
    let Registration { redirect_uri, mut client_id, mut client_secret, metadata_url } = login.registration();
    let metadata_url = metadata_url.filter(|_| accepts_metadata_documents(&resolution.metadata));
    let can_register = resolution.metadata.registration_endpoint.is_some();
    manager.set_metadata(resolution.metadata);
    if client_id.is_none() && metadata_url.is_none() {
        if !can_register {
            return Err(LoginError::NoRegistration);
        }
        let scopes = manager.select_initial_scopes(&[]).await;
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let registered = manager.register_client(CLIENT_NAME, &redirect_uri, &scopes).await;
        let registered = registered.map_err(|error| match is_published {
            true => LoginError::NotRegistered(message(&error)),
            // The endpoint was a guess, since the server publishes none.
            false => LoginError::NoOAuth,
        })?;
        (client_id, client_secret) = (Some(registered.client_id), registered.client_secret);
    }
    let mut request = AuthorizationRequest::new(redirect_uri).with_initial_scope_selection();
    request.client_id = client_id;
    request.client_secret.clone_from(&client_secret);
    request.client_metadata_url = metadata_url;
    let store = InMemoryCredentialStore::new();
    manager.set_credential_store(store.clone());
    let session = AuthorizationSession::new(manager, request).await;
    let session = session.map_err(|(_, error)| bad_server(error))?;
    let callback_url = login.visit(session.get_authorization_url()).await?;
    let exchanged = session.handle_callback_url(&callback_url).await;
    exchanged.map_err(|error| LoginError::NoToken(message(&error)))?;
    let credentials = store.load().await.map_err(bad_server)?;
    let credentials = credentials.ok_or_else(|| LoginError::NoToken("an empty answer".to_owned()))?;
    Ok(Authorized { manager: session.auth_manager, credentials, client_secret })
}

/// A manager that has not discovered anything yet.
pub(crate) async fn manager(url: &str) -> Result<AuthorizationManager, AuthError> {
    // The library builds its own client, which uses the cryptography provider that this installs.
    let _ = autonoe_tls::client();
    AuthorizationManager::new(url).await
}

fn accepts_metadata_documents(metadata: &AuthorizationMetadata) -> bool {
    let supported = metadata.additional_fields.get("client_id_metadata_document_supported");
    supported.and_then(serde_json::Value::as_bool).unwrap_or(false)
}

fn bad_server(error: AuthError) -> LoginError {
    LoginError::BadAuthorizationServer(message(&error))
}

/// The message of an error, without the library's prefix.
pub(crate) fn message(error: &AuthError) -> String {
    match error {
        AuthError::AuthorizationFailed(text)
        | AuthError::TokenExchangeFailed(text)
        | AuthError::TokenRefreshFailed(text)
        | AuthError::TokenRefreshRejected(text)
        | AuthError::RegistrationFailed(text)
        | AuthError::MetadataError(text)
        | AuthError::OAuthError(text)
        | AuthError::InternalError(text) => one_line(text),
        error => one_line(&error.to_string()),
    }
}

/// Text of a server for a sentence of ours: no control characters, not too long, no full stop at its end.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|char: char| char.is_control() || char.is_whitespace())
        .filter(|w| !w.is_empty())
        .collect();
    truncate_line(words.join(" ").trim_end_matches('.'), MAX_MESSAGE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn text_of_a_server_becomes_one_short_line() {
        assert_eq!(one_line("no\n\u{1b}[2Jway \t out."), "no [2Jway out");
        assert!(one_line(&"x".repeat(1000)).chars().count() < 350);
    }
}
