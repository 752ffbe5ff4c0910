//! The login of a person to a server, from the first request without a token to the stored tokens.

use std::time::Duration;

use rmcp::ServiceExt;
use tokio::time::timeout;

use crate::authorizing_client::{AuthorizingClient, TokenSources};
use crate::client::McpClient;
use crate::config::Secrets;
use crate::http::{self, HttpSetupError};
use crate::login::{LoginError, OAuthLogin, authorize};
use crate::login_store::LoginStore;
use crate::server::list_tools;
use crate::server_error::{causes, plain};
use crate::stored_login::StoredLogin;

/// How long the server may take to accept a connection and to list its tools.
const CONNECT_LIMIT: Duration = Duration::from_secs(60);

/// Logs in and stores the tokens, after the server has accepted them. Returns the number of tools that the server then lists.
pub async fn log_in(
    url: &str,
    headers: &Secrets,
    login: &dyn OAuthLogin,
    store: &LoginStore,
) -> Result<usize, LoginError> {
    let (challenge, failure) = match connect(url, headers, None).await {
        Ok(_) => (None, None),
        Err(ConnectError::Challenged(challenge)) => (Some(challenge), None),
        Err(ConnectError::Failed(why)) => (None, Some(why)),
    };
    let authorized = authorize(url, login, challenge.as_deref()).await.map_err(|error| match failure {
        // Some servers reject a request without saying that a login would help. If they publish nothing either, their own
        // error is the better one.
        Some(why) if matches!(error, LoginError::NotRequired | LoginError::BadAuthorizationServer(_)) => {
            LoginError::Unreachable(why)
        }
        _ => error,
    })?;
    let stored = StoredLogin::new(url, &authorized.credentials, authorized.client_secret);
    let stored = stored.ok_or_else(|| LoginError::NoToken("an answer without a token".to_owned()))?;
    let tools = connect(url, headers, Some(&stored.access_token)).await.map_err(|error| match error {
        ConnectError::Challenged(_) => LoginError::TokenRejected,
        ConnectError::Failed(why) => LoginError::Unreachable(why),
    })?;
    store.save(&stored).map_err(|error| LoginError::NotSaved(error.to_string()))?;
    Ok(tools)
}

enum ConnectError {
    /// With the `WWW-Authenticate` header.
    Challenged(String),
    Failed(String),
}

impl From<HttpSetupError> for ConnectError {
    fn from(error: HttpSetupError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Connects once and counts the tools.
async fn connect(url: &str, headers: &Secrets, token: Option<&str>) -> Result<usize, ConnectError> {
    let client = http::client(url, TokenSources::default())?;
    let headers = match token {
        Some(token) => headers.with_token(token),
        None => headers.clone(),
    };
    match timeout(CONNECT_LIMIT, count_tools(client.clone(), url, &headers)).await {
        Ok(Ok(tools)) => Ok(tools),
        Ok(Err(error)) => Err(client.challenge().await.map_or(error, ConnectError::Challenged)),
        Err(_) => {
            let seconds = CONNECT_LIMIT.as_secs();
            Err(ConnectError::Failed(format!("it did not respond within {seconds} s")))
        }
    }
}

async fn count_tools(client: AuthorizingClient, url: &str, headers: &Secrets) -> Result<usize, ConnectError> {
    let transport = http::transport(client, url, headers)?;
    let running = McpClient::new(String::from("file:///")).serve(transport).await;
    let running = running.map_err(|error| ConnectError::Failed(causes(&error)))?;
    let tools = list_tools(running.peer()).await.map_err(|error| ConnectError::Failed(plain(&error)));
    // What closing fails with does not matter any more.
    let _ = running.cancel().await;
    tools.map(|tools| tools.len())
}
