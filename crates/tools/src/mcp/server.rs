//! The life of one server: started, listed, followed when its list changes, started again once if it ends, closed.

use std::collections::HashSet;
use std::convert::Infallible;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use autonoe_sandbox::{MAX_LINE_BYTES, Program};
use rmcp::ServiceExt;
use rmcp::model::{PaginatedRequestParams, ProtocolVersion};
use rmcp::service::{ClientInitializeError, Peer, RoleClient, RunningService, ServiceError};
use rmcp::transport::IntoTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::board::Board;
use super::client::Client;
use super::config::{ServerConfig, Way};
use super::program::{self, EXIT_LIMIT};
use super::tool::{Line, Link, McpTool};
use super::trouble::{Trouble, causes, plain};
use super::{McpHost, http, names};
use crate::Tool;

/// How often a server that has ended is started again.
const RESTARTS: u32 = 1;
/// How long a server may take to give its list of tools.
const LIST_LIMIT: Duration = Duration::from_secs(60);
/// How many pages that list may have.
const MAX_PAGES: usize = 100;
const CLOSED: &str = "it closed its connection";
/// How long the connection may take to close.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// One server of a session.
pub(super) struct Server {
    pub(super) name: Arc<str>,
    /// What the names of its tools begin with.
    pub(super) prefix: String,
    pub(super) config: ServerConfig,
    pub(super) host: Arc<McpHost>,
    pub(super) board: Arc<Board>,
    pub(super) closing: CancellationToken,
    pub(super) link: watch::Sender<Link>,
}

/// A connection, and the program at its other end if it is ours.
struct Connection {
    running: RunningService<RoleClient, Client>,
    program: Option<Program>,
}

impl Server {
    /// Keeps the server going until the session is closed or nothing helps.
    pub(super) async fn live(self) {
        let mut restarts_left = RESTARTS;
        loop {
            let Err(trouble) = self.serve().await else { break };
            if trouble.may_pass && restarts_left > 0 {
                restarts_left -= 1;
                self.board.problem(format!("MCP server `{}` is started again: {}.", self.name, trouble.why));
                continue;
            }
            let how = if restarts_left < RESTARTS { "was given up" } else { "could not be started" };
            self.board.problem(format!("MCP server `{}` {how}: {}.", self.name, trouble.why));
            self.link.send_replace(Link::Gone(trouble.why.into()));
            self.board.offer(&self.name, Vec::new());
            break;
        }
    }

    /// Serves until the session is closed; an error is the server's end.
    async fn serve(&self) -> Result<(), Trouble> {
        let client = Client::new(self.host.root_address());
        let connection = tokio::select! {
            biased;
            () = self.closing.cancelled() => return Ok(()),
            connection = self.connect(client.clone()) => connection?,
        };
        let Connection { running, program } = connection;
        let peer = running.peer().clone();
        self.link.send_replace(Link::Ready(Line { peer: peer.clone(), progress: client.progress.clone() }));
        let stop = running.cancellation_token();
        let mut ended = pin!(running.waiting());
        tokio::select! {
            biased;
            () = self.closing.cancelled() => {}
            _ = &mut ended => {
                // From here on calls wait for the next connection, or for the word that there is none.
                self.link.send_replace(Link::Starting);
                let trouble = Trouble::passing(CLOSED);
                return Err(match program {
                    Some(program) => program::autopsy(program, trouble).await,
                    None => trouble,
                });
            }
            never = self.follow(&peer, &client.stale) => match never {},
        }
        stop.cancel();
        let _ = timeout(CLOSE_LIMIT, ended).await;
        if let Some(mut program) = program {
            program.finish(EXIT_LIMIT).await;
        }
        Ok(())
    }

    async fn connect(&self, client: Client) -> Result<Connection, Trouble> {
        match &self.config.way {
            Way::Stdio { command, args, env, cwd } => {
                let dir = self.host.root.join(cwd.as_deref().unwrap_or(Path::new("")));
                let (program, (output, input)) =
                    program::start(&self.host.session_sandbox, command, args, env, &dir).await?;
                // The limit is ours: a message that is too long must not vanish.
                let transport =
                    AsyncRwTransport::new_client(output, input).with_max_line_length(2 * MAX_LINE_BYTES);
                match self.shake_hands(client, transport).await {
                    Ok(running) => Ok(Connection { running, program: Some(program) }),
                    Err(trouble) => Err(program::autopsy(program, trouble).await),
                }
            }
            Way::Http { url, headers } => {
                let transport =
                    http::transport(url, headers, self.host.login.clone()).map_err(Trouble::for_good)?;
                let running = self.shake_hands(client, transport).await;
                // What is elsewhere cannot be started, so asking it again would not help.
                let running = running.map_err(|trouble| Trouble::for_good(trouble.why))?;
                Ok(Connection { running, program: None })
            }
        }
    }

    async fn shake_hands<T, E, A>(
        &self,
        client: Client,
        transport: T,
    ) -> Result<RunningService<RoleClient, Client>, Trouble>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let limit = self.host.start_limit;
        let running = match timeout(limit, client.serve(transport)).await {
            Ok(Ok(running)) => running,
            Ok(Err(error)) => return Err(refused(&error)),
            Err(_) => {
                return Err(Trouble::for_good(format!("it did not answer within {} s", limit.as_secs_f64())));
            }
        };
        let version = running.peer_info().map(|info| info.protocol_version.clone());
        match version {
            Some(version) if !ProtocolVersion::KNOWN_VERSIONS.contains(&version) => Err(Trouble::for_good(
                format!("it speaks version {version} of the protocol, which we do not"),
            )),
            _ => Ok(running),
        }
    }

    /// Offers the server's tools, now and whenever they change.
    async fn follow(&self, peer: &Peer<RoleClient>, stale: &Notify) -> Infallible {
        loop {
            match timeout(LIST_LIMIT, listed(peer)).await {
                Ok(Ok(tools)) => self.offer(&tools),
                Ok(Err(ServiceError::TransportClosed)) => {}
                Ok(Err(error)) => self.unlisted(&plain(&error)),
                Err(_) => self.unlisted(&format!("no answer within {} s", LIST_LIMIT.as_secs())),
            }
            stale.notified().await;
        }
    }

    fn offer(&self, listed: &[rmcp::model::Tool]) {
        let plain: Vec<&str> = listed.iter().map(|tool| tool.name.as_ref()).collect();
        let named = names::tools(&self.prefix, &plain).into_iter().zip(listed);
        let tools = named.map(|(name, tool)| {
            let link = self.link.subscribe();
            Arc::new(McpTool::new(name, tool, &self.name, link, self.config.call_limit)) as Arc<dyn Tool>
        });
        self.board.offer(&self.name, tools.collect());
    }

    fn unlisted(&self, why: &str) {
        self.board.problem(format!("MCP server `{}` did not list its tools: {why}.", self.name));
        self.board.settle(&self.name);
    }
}

/// All tools that the server has.
async fn listed(peer: &Peer<RoleClient>) -> Result<Vec<rmcp::model::Tool>, ServiceError> {
    if peer.peer_info().is_none_or(|info| info.capabilities.tools.is_none()) {
        return Ok(Vec::new());
    }
    let mut tools = Vec::new();
    let mut page = None;
    for _ in 0..MAX_PAGES {
        let mut list = peer.list_tools(page).await?;
        tools.append(&mut list.tools);
        match list.next_cursor {
            Some(cursor) => page = Some(PaginatedRequestParams::default().with_cursor(Some(cursor))),
            None => break,
        }
    }
    // A list that has no end is cut, and a name that comes twice can be called only once.
    let mut seen = HashSet::new();
    tools.retain(|tool| seen.insert(tool.name.clone()));
    Ok(tools)
}

/// Why there was no handshake.
fn refused(error: &ClientInitializeError) -> Trouble {
    match error {
        ClientInitializeError::ConnectionClosed(_) => Trouble::passing(CLOSED),
        ClientInitializeError::JsonRpcError(error) => {
            Trouble::for_good(format!("it refused us: {}", error.message))
        }
        error if error.is_authorization_required() => {
            Trouble::for_good("it wants a login, for which nobody is there; put a token into its headers")
        }
        ClientInitializeError::TransportError { error, .. } => Trouble::passing(causes(error.error.as_ref())),
        error => Trouble::passing(causes(error)),
    }
}
