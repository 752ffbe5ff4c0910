//! What the servers of a session share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use autonoe_sandbox::SessionSandbox;

use crate::login::OAuthLogin;
use crate::login_store::LoginStore;

/// How long a server may take to respond for the first time. It may have to be downloaded first, and nothing waits for it.
pub const DEFAULT_START_LIMIT: Duration = Duration::from_secs(180);

/// The environment that the servers of a session share.
#[derive(Clone)]
pub struct McpHost {
    /// The project directory: the working directory of server programs, and the root that servers get.
    pub root: PathBuf,
    pub session_sandbox: Arc<SessionSandbox>,
    /// How long a server may take to respond for the first time.
    pub start_limit: Duration,
    /// The logins of the user; `None` means that there are none.
    pub logins: Option<LoginStore>,
    /// Logs in during the session to servers that require it. `None`, as in every unattended session, means that only
    /// stored logins are used.
    pub login: Option<Arc<dyn OAuthLogin>>,
}

impl McpHost {
    /// A host with the default start limit and no logins.
    pub fn new(root: impl Into<PathBuf>, session_sandbox: Arc<SessionSandbox>) -> Self {
        Self {
            root: root.into(),
            session_sandbox,
            start_limit: DEFAULT_START_LIMIT,
            logins: None,
            login: None,
        }
    }

    /// The project directory as a `file://` URL.
    pub(crate) fn root_url(&self) -> String {
        reqwest::Url::from_file_path(self.session_sandbox.bounds().shown(&self.root))
            .map_or_else(|()| "file:///".to_owned(), String::from)
    }
}
