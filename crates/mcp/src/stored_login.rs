//! A login on disk: the tokens of one server, and what is needed to refresh them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct StoredLogin {
    /// The address of the server.
    pub(crate) url: String,
    client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    #[serde(default)]
    scopes: Vec<String>,
    pub(crate) access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    /// Seconds since 1970; `None` if the server did not say when the access token expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
}

impl StoredLogin {
    /// `None` if the credentials have no access token.
    pub(crate) fn new(
        url: &str,
        credentials: &StoredCredentials,
        client_secret: Option<String>,
    ) -> Option<Self> {
        let tokens = serde_json::to_value(credentials.token_response.as_ref()?).ok()?;
        let text = |key: &str| tokens[key].as_str().map(str::to_owned);
        let received_at = credentials.token_received_at.unwrap_or_else(now);
        Some(Self {
            url: url.to_owned(),
            client_id: credentials.client_id.clone(),
            client_secret,
            issuer: credentials.issuer.clone(),
            scopes: credentials.granted_scopes.clone(),
            access_token: text("access_token")?,
            refresh_token: text("refresh_token"),
            expires_at: tokens["expires_in"].as_u64().map(|seconds| received_at.saturating_add(seconds)),
        })
    }

    /// The form that the library refreshes.
    pub(crate) fn credentials(&self) -> Result<StoredCredentials, serde_json::Error> {
        let mut tokens = json!({ "access_token": self.access_token, "token_type": "bearer" });
        if let Some(refresh_token) = &self.refresh_token {
            tokens["refresh_token"] = Value::String(refresh_token.clone());
        }
        let tokens = serde_json::from_value(tokens)?;
        let credentials =
            StoredCredentials::new(self.client_id.clone(), Some(tokens), self.scopes.clone(), Some(now()));
        Ok(credentials.with_issuer(self.issuer.clone()))
    }

    pub(crate) fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The access token, unless it is the `rejected` one or expires sooner.
    pub(crate) fn usable(&self, valid_for: Duration, rejected: Option<&str>) -> Option<&str> {
        let is_fresh = self.expires_at.is_none_or(|end| end > now().saturating_add(valid_for.as_secs()));
        (is_fresh && rejected != Some(&self.access_token)).then_some(&self.access_token)
    }

    /// The values that must not be shown.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let others = [self.refresh_token.as_deref(), self.client_secret.as_deref()];
        std::iter::once(self.access_token.as_str()).chain(others.into_iter().flatten())
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
