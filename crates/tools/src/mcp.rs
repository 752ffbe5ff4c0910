//! The MCP servers of a session, whose tools the agent calls like its own.
//!
//! Servers are started in the background and nobody waits for them: the list of tools grows as they become ready and
//! changes when they say so. What is wrong with one is told in a sentence and never ends the session. Programs run in
//! the session's room like every other child; servers elsewhere are connected to by us, with the headers they were
//! configured with.

mod answer;
mod board;
mod client;
mod config;
mod http;
mod login;
mod names;
mod program;
mod server;
mod tool;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use autonoe_sandbox::SessionSandbox;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use config::{DEFAULT_CALL_LIMIT, Secrets, ServerConfig, ServerConfigError, Way};
pub use login::{Login, Registration};

use crate::Tool;
use board::Board;
use server::Server;
use tool::Link;

/// How long a server may take to answer for the first time. It may have to be downloaded first, and nobody waits.
pub const DEFAULT_START_LIMIT: Duration = Duration::from_secs(180);

/// What the servers of a session share.
#[derive(Clone)]
pub struct McpHost {
    /// The directory of the project: where programs run, and the root that servers are told.
    pub root: PathBuf,
    /// Where programs run.
    pub session_sandbox: Arc<SessionSandbox>,
    /// How long a server may take to answer for the first time.
    pub start_limit: Duration,
    /// Who logs in to a server that asks for it; without one such a server cannot be used.
    pub login: Option<Arc<dyn Login>>,
}

impl McpHost {
    /// A host for a project, with the usual limit and nobody to log in.
    pub fn new(root: impl Into<PathBuf>, session_sandbox: Arc<SessionSandbox>) -> Self {
        Self { root: root.into(), session_sandbox, start_limit: DEFAULT_START_LIMIT, login: None }
    }

    /// The project as an address.
    fn root_address(&self) -> String {
        reqwest::Url::from_file_path(&self.root).map_or_else(|()| "file:///".to_owned(), String::from)
    }
}

/// The servers of a session. Dropped, they are ended at once; [`McpServers::close`] is kinder.
pub struct McpServers {
    board: Arc<Board>,
    closing: CancellationToken,
    lives: Mutex<JoinSet<()>>,
}

impl McpServers {
    /// Starts the servers in the background and returns at once. Must be called within a runtime.
    pub fn start(configs: BTreeMap<String, ServerConfig>, host: McpHost) -> Self {
        let board = Arc::new(Board::new(configs.keys().cloned()));
        let (host, closing) = (Arc::new(host), CancellationToken::new());
        let mut prefixes = names::prefixes(configs.keys());
        let mut lives = JoinSet::new();
        for (name, config) in configs {
            let server = Server {
                prefix: prefixes.remove(&name).unwrap_or_default(),
                name: name.into(),
                config,
                host: Arc::clone(&host),
                board: Arc::clone(&board),
                closing: closing.clone(),
                link: watch::Sender::new(Link::Starting),
            };
            lives.spawn(server.live());
        }
        Self { board, closing, lives: Mutex::new(lives) }
    }

    /// The tools that are there at the moment, by server.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.board.tools()
    }

    /// A number that grows whenever [`McpServers::tools`] changes.
    pub fn generation(&self) -> u64 {
        self.board.generation()
    }

    /// Waits until the tools are others than in generation `since`, and gives the new one.
    pub async fn changed(&self, since: u64) -> u64 {
        self.board.changed(since).await
    }

    /// Waits until every server has listed its tools or was given up.
    pub async fn settled(&self) {
        self.settled_but(&BTreeSet::new()).await;
    }

    /// The same, but for these.
    pub async fn settled_but(&self, servers: &BTreeSet<String>) {
        self.board.settled(servers).await;
    }

    /// The servers that have neither listed their tools nor been given up.
    pub fn pending(&self) -> BTreeSet<String> {
        self.board.pending()
    }

    /// What went wrong since this was last asked, each a sentence.
    pub fn problems(&self) -> Vec<String> {
        self.board.take_problems()
    }

    /// Closes all connections and waits until the programs are gone. To be called before the session_sandbox are closed: a server
    /// that ends with its room would be started again in a new one.
    pub async fn close(&self) {
        self.closing.cancel();
        let mut lives = self.lives.lock().await;
        while lives.join_next().await.is_some() {}
    }
}
