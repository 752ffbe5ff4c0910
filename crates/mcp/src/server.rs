//! The lifecycle of one server: start, list tools, follow changes of the list, restart once if it ends, close.

use std::collections::HashSet;
use std::convert::Infallible;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use autonoe_sandbox::{MAX_LINE_BYTES, PipedProgram};
use autonoe_tools::Tool;
use rmcp::ServiceExt;
use rmcp::model::{PaginatedRequestParams, ProtocolVersion};
use rmcp::service::{ClientInitializeError, Peer, RoleClient, RunningService, ServiceError};
use rmcp::transport::IntoTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::authorizing_client::TokenSources;
use crate::client::McpClient;
use crate::config::{McpTransport, Secrets, ServerConfig};
use crate::host::McpHost;
use crate::login_store::REQUEST_MARGIN;
use crate::program::{self, EXIT_LIMIT};
use crate::registry::ServerRegistry;
use crate::server_error::{ServerError, causes, plain};
use crate::tool::{McpTool, ServerHandle, ServerStatus};
use crate::{http, names};

/// How often a server that has ended is restarted.
const RESTARTS: u32 = 1;
/// How long a server may take to list its tools.
const LIST_LIMIT: Duration = Duration::from_secs(60);
/// The maximum number of pages of that list.
const MAX_PAGES: usize = 100;
const CLOSED: &str = "it closed its connection";
/// How long the connection may take to close.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// One server of a session.
pub(crate) struct McpServer {
    pub(crate) name: Arc<str>,
    /// The prefix of its tools' names.
    pub(crate) prefix: String,
    pub(crate) config: ServerConfig,
    pub(crate) host: Arc<McpHost>,
    pub(crate) registry: Arc<ServerRegistry>,
    pub(crate) closing: CancellationToken,
    pub(crate) status: watch::Sender<ServerStatus>,
}

/// Where the token for a server comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenOrigin {
    None,
    Headers,
    Login,
}

/// A connection, and the server program if we started it.
struct Connection {
    running: RunningService<RoleClient, McpClient>,
    program: Option<PipedProgram>,
}

impl McpServer {
    /// Runs the server until the session is closed or the server has failed for good.
    pub(crate) async fn run(self) {
        let mut restarts_left = RESTARTS;
        loop {
            let Err(error) = self.serve().await else { break };
            if error.is_transient && restarts_left > 0 {
                restarts_left -= 1;
                self.registry
                    .problem(format!("MCP server `{}` is being restarted: {}.", self.name, error.why));
                continue;
            }
            let failure =
                if restarts_left < RESTARTS { "failed after a restart" } else { "could not be started" };
            self.registry.problem(format!("MCP server `{}` {failure}: {}.", self.name, error.why));
            self.status.send_replace(ServerStatus::Gone(error.why.into()));
            self.registry.offer(&self.name, Vec::new());
            break;
        }
    }

    /// Serves until the session is closed. An error means that the server has ended.
    async fn serve(&self) -> Result<(), ServerError> {
        let client = McpClient::new(self.host.root_url());
        let connection = tokio::select! {
            biased;
            () = self.closing.cancelled() => return Ok(()),
            connection = self.connect(client.clone()) => connection?,
        };
        let Connection { running, program } = connection;
        let peer = running.peer().clone();
        self.status.send_replace(ServerStatus::Ready(ServerHandle {
            peer: peer.clone(),
            progress: client.progress.clone(),
        }));
        let stop = running.cancellation_token();
        let mut ended = pin!(running.waiting());
        tokio::select! {
            biased;
            () = self.closing.cancelled() => {}
            _ = &mut ended => {
                // From here on calls wait for the next connection, or for the final failure.
                self.status.send_replace(ServerStatus::Starting);
                let error = ServerError::transient(CLOSED);
                return Err(match program {
                    Some(program) => program::add_exit_details(program, error).await,
                    None => error,
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

    async fn connect(&self, client: McpClient) -> Result<Connection, ServerError> {
        match &self.config.transport {
            McpTransport::Stdio { command, args, env, cwd } => {
                let dir = self.host.root.join(cwd.as_deref().unwrap_or(Path::new("")));
                let (program, (output, input)) =
                    program::start(&self.host.session_sandbox, command, args, env, &dir).await?;
                // Higher than our own limit, which reports an error: the library silently drops a message that is too long.
                let transport =
                    AsyncRwTransport::new_client(output, input).with_max_line_length(2 * MAX_LINE_BYTES);
                match self.initialize(client, transport, TokenOrigin::None).await {
                    Ok(running) => Ok(Connection { running, program: Some(program) }),
                    Err(error) => Err(program::add_exit_details(program, error).await),
                }
            }
            McpTransport::Http { url, headers } => {
                let origin = self.token_origin(url, headers).await?;
                let store = self.host.logins.clone().filter(|_| origin == TokenOrigin::Login);
                let sources = TokenSources { store, login: self.host.login.clone() };
                let transport = http::client(url, sources)
                    .and_then(|http_client| http::transport(http_client, url, headers))
                    .map_err(|error| ServerError::permanent(error.to_string()))?;
                let running = self.initialize(client, transport, origin).await;
                // We cannot restart a remote server, so a second attempt would not help.
                let running = running.map_err(|error| ServerError::permanent(error.why))?;
                Ok(Connection { running, program: None })
            }
        }
    }

    /// Where the token for a server comes from; a header takes precedence over a login. A login that cannot be used is an
    /// error, which names the remedy.
    async fn token_origin(&self, url: &str, headers: &Secrets) -> Result<TokenOrigin, ServerError> {
        if headers.has_authorization() {
            return Ok(TokenOrigin::Headers);
        }
        let Some(logins) = &self.host.logins else { return Ok(TokenOrigin::None) };
        let token = logins.access_token(url, REQUEST_MARGIN, None).await;
        let token = token.map_err(|error| ServerError::permanent(error.with_advice(&self.name)))?;
        Ok(if token.is_some() { TokenOrigin::Login } else { TokenOrigin::None })
    }

    async fn initialize<T, E, A>(
        &self,
        client: McpClient,
        transport: T,
        origin: TokenOrigin,
    ) -> Result<RunningService<RoleClient, McpClient>, ServerError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let limit = self.host.start_limit;
        let running = match timeout(limit, client.serve(transport)).await {
            Ok(Ok(running)) => running,
            Ok(Err(error)) => return Err(self.initialize_error(&error, origin)),
            Err(_) => {
                let why = format!("it did not respond within {} s", limit.as_secs_f64());
                return Err(ServerError::permanent(why));
            }
        };
        let version = running.peer_info().map(|info| info.protocol_version.clone());
        match version {
            Some(version) if !ProtocolVersion::KNOWN_VERSIONS.contains(&version) => Err(
                ServerError::permanent(format!("it uses protocol version {version}, which is not supported")),
            ),
            _ => Ok(running),
        }
    }

    fn initialize_error(&self, error: &ClientInitializeError, origin: TokenOrigin) -> ServerError {
        match error {
            ClientInitializeError::ConnectionClosed(_) => ServerError::transient(CLOSED),
            ClientInitializeError::JsonRpcError(error) => {
                ServerError::permanent(format!("it rejected the connection: {}", error.message))
            }
            error if error.is_authorization_required() => ServerError::permanent(match origin {
                TokenOrigin::Headers => {
                    "it rejected the `Authorization` header of its configuration".to_owned()
                }
                TokenOrigin::Login => {
                    format!(
                        "it rejected its stored login; log in again with `autonoe mcp login {}`",
                        self.name
                    )
                }
                TokenOrigin::None => format!(
                    "it requires a login; log in with `autonoe mcp login {}`, or put a token into its headers",
                    self.name
                ),
            }),
            ClientInitializeError::TransportError { error, .. } => {
                ServerError::transient(causes(error.error.as_ref()))
            }
            error => ServerError::transient(causes(error)),
        }
    }

    /// Offers the server's tools, now and whenever they change.
    async fn follow(&self, peer: &Peer<RoleClient>, stale: &Notify) -> Infallible {
        loop {
            match timeout(LIST_LIMIT, list_tools(peer)).await {
                Ok(Ok(tools)) => self.offer(&tools),
                Ok(Err(ServiceError::TransportClosed)) => {}
                Ok(Err(error)) => self.list_failed(&plain(&error)),
                Err(_) => self.list_failed(&format!("no response within {} s", LIST_LIMIT.as_secs())),
            }
            stale.notified().await;
        }
    }

    fn offer(&self, listed: &[rmcp::model::Tool]) {
        let plain: Vec<&str> = listed.iter().map(|tool| tool.name.as_ref()).collect();
        let named = names::tools(&self.prefix, &plain).into_iter().zip(listed);
        let tools = named.map(|(name, tool)| {
            let status = self.status.subscribe();
            Arc::new(McpTool::new(name, tool, &self.name, status, self.config.call_limit)) as Arc<dyn Tool>
        });
        self.registry.offer(&self.name, tools.collect());
    }

    fn list_failed(&self, why: &str) {
        self.registry.problem(format!("MCP server `{}` did not list its tools: {why}.", self.name));
        self.registry.settle(&self.name);
    }
}

pub(crate) async fn list_tools(peer: &Peer<RoleClient>) -> Result<Vec<rmcp::model::Tool>, ServiceError> {
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
    // An endless list repeats its names.
    let mut names = HashSet::new();
    tools.retain(|tool| names.insert(tool.name.clone()));
    Ok(tools)
}
