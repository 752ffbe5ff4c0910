//! The stored logins of the user: hands out access tokens, and refreshes those that are about to expire.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::redact::SecretValues;
use autonoe_store::{LoginFiles, LoginLock};
use rmcp::transport::auth::{AuthError, CredentialStore, InMemoryCredentialStore, OAuthClientConfig};
use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::config::{McpTransport, ServerConfig};
use crate::login::{manager, message};
use crate::stored_login::StoredLogin;

/// A token for one request must be valid for this long.
pub(crate) const REQUEST_MARGIN: Duration = Duration::from_secs(30);
/// A token in the configuration of another agent must be valid for this long, since it is the same for a whole session.
const SESSION_MARGIN: Duration = Duration::from_secs(30 * 60);
/// How long to wait for another process that refreshes the same login.
const LOCK_LIMIT: Duration = Duration::from_secs(60);
const LOCK_POLL: Duration = Duration::from_millis(50);

/// The stored logins of the user, by the address of the server.
#[derive(Debug, Clone)]
pub struct LoginStore {
    files: Arc<LoginFiles>,
    secrets: SecretValues,
}

/// Why a stored login cannot be used: a clause in which "its" is the server's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoredLoginError {
    #[error("its stored login is damaged ({}: {why})", path.display())]
    Damaged { path: PathBuf, why: String },
    /// The access token has expired or was rejected, and it cannot be refreshed.
    #[error("its stored login has expired")]
    Expired,
    #[error("its stored login could not be refreshed: {0}")]
    NotRefreshed(String),
    #[error("its stored login could not be saved in {}: {why}", path.display())]
    NotSaved { path: PathBuf, why: String },
}

impl StoredLoginError {
    /// With the command that helps, if one does.
    pub(crate) fn with_advice(&self, server: &str) -> String {
        match self {
            Self::Damaged { .. } | Self::Expired => {
                format!("{self}; log in again with `autonoe mcp login {server}`")
            }
            Self::NotRefreshed(_) | Self::NotSaved { .. } => self.to_string(),
        }
    }
}

impl LoginStore {
    /// Every token that is read or received is added to `secrets`.
    pub fn new(files: LoginFiles, secrets: SecretValues) -> Self {
        Self { files: Arc::new(files), secrets }
    }

    /// Where the login for this address is, or would be.
    pub fn path(&self, url: &str) -> PathBuf {
        self.files.path(url)
    }

    /// Deletes the login for this address, damaged or not. Returns whether there was one.
    pub fn remove(&self, url: &str) -> Result<bool, StoredLoginError> {
        self.files.remove(url).map_err(|error| self.not_saved(url, &error))
    }

    /// The servers with a header for each stored login, for agents that connect by themselves, and sentences about logins
    /// that cannot be used. An `Authorization` header in the configuration takes precedence.
    pub async fn add_headers(
        &self,
        servers: &BTreeMap<String, ServerConfig>,
    ) -> (BTreeMap<String, ServerConfig>, Vec<String>) {
        let (mut servers, mut problems) = (servers.clone(), Vec::new());
        for (name, server) in &mut servers {
            let McpTransport::Http { url, headers } = &mut server.transport else { continue };
            if headers.has_authorization() {
                continue;
            }
            match self.access_token(url, SESSION_MARGIN, None).await {
                Ok(Some(token)) => {
                    *headers = headers.with_token(&token);
                }
                Ok(None) => {}
                Err(error) => problems.push(format!("MCP server `{name}`: {}.", error.with_advice(name))),
            }
        }
        (servers, problems)
    }

    /// An access token that is valid for `valid_for`, or at least now if it cannot be refreshed; never the `rejected` one.
    /// `None` if there is no login for this address.
    pub(crate) async fn access_token(
        &self,
        url: &str,
        valid_for: Duration,
        rejected: Option<&str>,
    ) -> Result<Option<String>, StoredLoginError> {
        let Some(login) = self.read(url)? else { return Ok(None) };
        if let Some(token) = login.usable(valid_for, rejected) {
            return Ok(Some(token.to_owned()));
        }
        let _lock = self.lock(url).await?;
        // Another process may have refreshed it in the meantime.
        let Some(login) = self.read(url)? else { return Ok(None) };
        if let Some(token) = login.usable(valid_for, rejected) {
            return Ok(Some(token.to_owned()));
        }
        match refresh(&login).await {
            Ok(refreshed) => {
                self.save(&refreshed)?;
                Ok(Some(refreshed.access_token))
            }
            Err(error) => {
                login.usable(Duration::ZERO, rejected).map(|token| Some(token.to_owned())).ok_or(error)
            }
        }
    }

    /// Writes the login, in place of an earlier one for the same address.
    pub(crate) fn save(&self, login: &StoredLogin) -> Result<(), StoredLoginError> {
        login.secrets().for_each(|secret| self.secrets.add(secret));
        let url = &login.url;
        let written = serde_json::to_string_pretty(login).map_err(Into::into);
        let written = written.and_then(|text| self.files.write(url, &text));
        written.map_err(|error| self.not_saved(url, &error))
    }

    fn read(&self, url: &str) -> Result<Option<StoredLogin>, StoredLoginError> {
        let damaged = |why: String| StoredLoginError::Damaged { path: self.path(url), why };
        let text = self.files.read(url).map_err(|error| damaged(error.to_string()))?;
        let Some(text) = text else { return Ok(None) };
        // The library's message would repeat a part of the file.
        let login: StoredLogin = serde_json::from_str(&text).map_err(|error| {
            damaged(format!("malformed at line {}, column {}", error.line(), error.column()))
        })?;
        login.secrets().for_each(|secret| self.secrets.add(secret));
        if login.url != url {
            return Err(damaged(format!("it is for {}", login.url)));
        }
        Ok(Some(login))
    }

    /// Refresh tokens may be valid only once, so only one process at a time may use one.
    async fn lock(&self, url: &str) -> Result<LoginLock, StoredLoginError> {
        let deadline = Instant::now() + LOCK_LIMIT;
        loop {
            match self.files.try_lock(url) {
                Ok(Some(lock)) => return Ok(lock),
                Ok(None) if Instant::now() < deadline => sleep(LOCK_POLL).await,
                Ok(None) => {
                    let seconds = LOCK_LIMIT.as_secs();
                    let why = format!("another process has been refreshing it for {seconds} s");
                    return Err(StoredLoginError::NotRefreshed(why));
                }
                Err(error) => return Err(self.not_saved(url, &error)),
            }
        }
    }

    fn not_saved(&self, url: &str, error: &std::io::Error) -> StoredLoginError {
        StoredLoginError::NotSaved { path: self.path(url), why: error.to_string() }
    }
}

async fn refresh(login: &StoredLogin) -> Result<StoredLogin, StoredLoginError> {
    if login.refresh_token.is_none() {
        return Err(StoredLoginError::Expired);
    }
    let failed = |why: String| StoredLoginError::NotRefreshed(why);
    let credentials = login.credentials().map_err(|error| failed(error.to_string()))?;
    let refreshed = async {
        let store = InMemoryCredentialStore::new();
        store.save(credentials).await?;
        let mut manager = manager(&login.url).await?;
        manager.set_credential_store(store.clone());
        if !manager.initialize_from_store().await? {
            // The server uses another authorization server than the one that issued the tokens.
            return Err(AuthError::AuthorizationRequired);
        }
        if let Some(secret) = &login.client_secret {
            let config = OAuthClientConfig::new(login.client_id(), login.url.as_str());
            manager.configure_client(config.with_client_secret(secret))?;
        }
        manager.refresh_token().await?;
        store.load().await
    };
    match refreshed.await {
        Ok(credentials) => credentials
            .and_then(|credentials| StoredLogin::new(&login.url, &credentials, login.client_secret.clone()))
            .ok_or_else(|| failed("its authorization server sent no token".to_owned())),
        Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => {
            Err(StoredLoginError::Expired)
        }
        Err(error) => Err(failed(message(&error))),
    }
}
