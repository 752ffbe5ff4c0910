//! The MCP servers of a session, whose tools the agent calls like the built-in ones.
//!
//! Servers start in the background: the list of tools grows as they become ready and changes when they announce it. A
//! problem with a server is reported in a sentence and never ends the session. Server programs run in the session's room
//! like every other child; remote servers are connected to from our process, with their configured headers.

mod authorizing_client;
mod call_result;
mod client;
mod config;
mod host;
mod http;
mod log_in;
mod login;
mod login_store;
mod loopback;
mod names;
mod program;
mod registry;
mod server;
mod server_error;
mod stored_login;
mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use autonoe_tools::Tool;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use config::{DEFAULT_CALL_LIMIT, McpTransport, Secrets, ServerConfig, ServerConfigError};
pub use host::{DEFAULT_START_LIMIT, McpHost};
pub use log_in::log_in;
pub use login::{LoginError, OAuthLogin, Registration, VisitError};
pub use login_store::{LoginStore, StoredLoginError};
pub use loopback::{LOGIN_LIMIT, LoopbackLogin, PageOpener};

use registry::ServerRegistry;
use server::McpServer;
use tool::ServerStatus;

/// The servers of a configuration, and the user's logins to them.
#[derive(Debug, Clone, Default)]
pub struct ConfiguredServers {
    pub configs: BTreeMap<String, ServerConfig>,
    pub logins: Option<LoginStore>,
}

impl ConfiguredServers {
    /// For agents that connect to the servers by themselves: the servers with the headers of the logins, and sentences about
    /// logins that cannot be used.
    pub async fn with_login_headers(&self) -> (Self, Vec<String>) {
        let Some(logins) = &self.logins else { return (self.clone(), Vec::new()) };
        let (configs, problems) = logins.add_headers(&self.configs).await;
        (Self { configs, logins: Some(logins.clone()) }, problems)
    }
}

/// The servers of a session. Dropping it kills them at once; [`McpServers::close`] lets them exit by themselves.
pub struct McpServers {
    registry: Arc<ServerRegistry>,
    closing: CancellationToken,
    tasks: Mutex<JoinSet<()>>,
}

impl McpServers {
    /// Starts the servers in the background and returns at once. Must be called within a runtime.
    pub fn start(configs: BTreeMap<String, ServerConfig>, host: McpHost) -> Self {
        let registry = Arc::new(ServerRegistry::new(configs.keys().cloned()));
        let (host, closing) = (Arc::new(host), CancellationToken::new());
        let mut prefixes = names::prefixes(configs.keys());
        let mut tasks = JoinSet::new();
        for (name, config) in configs {
            let server = McpServer {
                prefix: prefixes.remove(&name).unwrap_or_default(),
                name: name.into(),
                config,
                host: Arc::clone(&host),
                registry: Arc::clone(&registry),
                closing: closing.clone(),
                status: watch::Sender::new(ServerStatus::Starting),
            };
            tasks.spawn(server.run());
        }
        Self { registry, closing, tasks: Mutex::new(tasks) }
    }

    /// The tools that are currently available, grouped by server.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.registry.tools()
    }

    /// A number that grows whenever [`McpServers::tools`] changes.
    pub fn generation(&self) -> u64 {
        self.registry.generation()
    }

    /// Waits until the generation differs from `since`, and returns the new one.
    pub async fn changed(&self, since: u64) -> u64 {
        self.registry.changed(since).await
    }

    /// Waits until every server has listed its tools or has failed for good.
    pub async fn settled(&self) {
        self.settled_except(&BTreeSet::new()).await;
    }

    /// Like [`McpServers::settled`], but does not wait for these servers.
    pub async fn settled_except(&self, servers: &BTreeSet<String>) {
        self.registry.settled(servers).await;
    }

    /// The servers that have neither listed their tools nor failed for good.
    pub fn pending(&self) -> BTreeSet<String> {
        self.registry.pending()
    }

    /// The problems since the last call, one sentence each.
    pub fn problems(&self) -> Vec<String> {
        self.registry.take_problems()
    }

    /// Closes all connections and waits until the programs have exited. Call it before the session's sandbox is closed: a
    /// server that ends with its room would be restarted in a new one.
    pub async fn close(&self) {
        self.closing.cancel();
        let mut tasks = self.tasks.lock().await;
        while tasks.join_next().await.is_some() {}
    }
}
