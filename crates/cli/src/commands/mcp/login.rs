//! `autonoe mcp login` and `autonoe mcp logout`

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use autonoe_core::duration;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_core::redact::SecretValues;
use autonoe_mcp::{
    LOGIN_LIMIT, LoginError, LoginStore, LoopbackLogin, McpTransport, Secrets, ServerConfig, VisitError,
    log_in,
};
use autonoe_store::LoginFiles;
use autonoe_store::config::AgentConfig;
use clap::Args;
use serde_json::Value;

use crate::consent::ensure_trusted;
use crate::environment::Environment;
use crate::offered_servers::with_approved_servers;
use crate::present;
use crate::programs::find_program;
use crate::project_args::ProjectArgs;
use crate::stop::StopSignal;
use crate::system::{runtime, watch_signals};

/// Opens a page in the user's browser.
const PAGE_OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Log in to an MCP server of your configuration in the browser
///
/// For servers with a `url` that ask for a login (OAuth). The tokens are stored in your state directory, never in the project, and are
/// refreshed when they expire. A login belongs to the server's address: every project that uses the same address uses it.
#[derive(Debug, Args)]
pub struct LoginArgs {
    /// Name of the server in .autonoe/agent.json or in your config.toml
    name: String,

    #[command(flatten)]
    project: ProjectArgs,

    /// ID of an existing registration, for an authorization server that does not register clients
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    client_id: Option<String>,

    /// Port on this machine to which the browser is sent back [default: any free port]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
}

/// Delete the login to an MCP server
///
/// Deletes the stored tokens. The service itself may list the login among your connected applications; revoke it there.
#[derive(Debug, Args)]
pub struct LogoutArgs {
    /// Name of the server in .autonoe/agent.json or in your config.toml
    name: String,

    #[command(flatten)]
    project: ProjectArgs,
}

/// Gives up after [`LOGIN_LIMIT`], or when it is interrupted.
pub fn cmd_login(args: &LoginArgs, environment: &Environment) -> Result<u8, Fault> {
    let server = find_server(&args.name, &args.project, environment, Purpose::LogIn)?;
    let (name, store, opener) = (&args.name, store(environment), find_program(PAGE_OPENER, environment));
    if server.headers.has_authorization() {
        let message =
            format!("MCP server `{name}` has an Authorization header, which takes precedence over a login.");
        return Err(config_fault(message).hint("Remove the header from its configuration, then log in."));
    }
    let runtime = runtime()?;
    let stop = StopSignal::default();
    let work = async {
        watch_signals(stop.clone(), |_| {})?;
        let open_page = Box::new(move |page: &str| open_page(opener.as_ref(), page));
        let port = args.port.unwrap_or(0);
        let login = LoopbackLogin::bind(port, args.client_id.clone(), LOGIN_LIMIT, open_page).await;
        let login = login.map_err(|error| {
            let message = format!("Port {port} of this machine cannot be used for the login: {error}.");
            Fault::permanent(FaultLayer::System, "mcp_login", message).hint("Choose another one with --port.")
        })?;
        let logged_in = log_in(&server.url, &server.headers, &login, &store);
        stop.token().run_until_cancelled(logged_in).await.transpose().map_err(|error| failed(name, &error))
    };
    let Some(tools) = runtime.block_on(work)? else {
        present::notice("Interrupted; nothing was stored.");
        return Ok(exit::INTERRUPTED);
    };
    let tools = if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") };
    let path = store.path(&server.url);
    present::print(&format!(
        "Logged in to MCP server `{name}` ({}), which has {tools}.\nThe tokens are in {}.\n",
        server.url,
        path.display()
    ));
    Ok(exit::DONE)
}

pub fn cmd_logout(args: &LogoutArgs, environment: &Environment) -> Result<u8, Fault> {
    let server = find_server(&args.name, &args.project, environment, Purpose::LogOut)?;
    let (name, store) = (&args.name, store(environment));
    let removed = store.remove(&server.url).map_err(|error| {
        let message = format!("The login to MCP server `{name}` cannot be deleted: {error}.");
        Fault::permanent(FaultLayer::System, "mcp_login", message)
    })?;
    let path = store.path(&server.url);
    present::print(&match removed {
        true => format!("Logged out of MCP server `{name}`: deleted {}.\n", path.display()),
        false => format!("There is no login to MCP server `{name}`.\n"),
    });
    Ok(exit::DONE)
}

struct HttpServer {
    url: String,
    headers: Secrets,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    LogIn,
    LogOut,
}

/// The server as a run would use it: the user's configuration takes precedence over the project's, which must be trusted for a login.
fn find_server(
    name: &str,
    args: &ProjectArgs,
    environment: &Environment,
    purpose: Purpose,
) -> Result<HttpServer, Fault> {
    let project = environment.project(args)?;
    let config = AgentConfig::load(&project)?;
    let user = environment.user_config()?;
    let of_project = with_approved_servers(&config, &project).mcp_servers.unwrap_or_default();
    let value = match (user.mcp_servers.get(name), of_project.get(name)) {
        (Some(value), _) => value,
        (None, Some(value)) => {
            if purpose == Purpose::LogIn {
                ensure_trusted(&project, &config)?;
            }
            value
        }
        (None, None) => return Err(unknown(name, &user.mcp_servers, &of_project)),
    };
    let parsed = ServerConfig::parse(name, value)
        .map_err(|error| config_fault(format!("An MCP server is misconfigured: {error}")))?;
    match parsed.transport {
        McpTransport::Http { url, headers } => Ok(HttpServer { url, headers }),
        McpTransport::Stdio { .. } => Err(config_fault(format!(
            "MCP server `{name}` is a program on this machine; only a server with a `url` has a login."
        ))),
    }
}

fn unknown(name: &str, user: &BTreeMap<String, Value>, of_project: &BTreeMap<String, Value>) -> Fault {
    let mut known: Vec<&String> = user.keys().chain(of_project.keys()).collect();
    known.sort();
    known.dedup();
    let known: Vec<String> = known.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
    let known = match known.as_slice() {
        [] => "none is configured".to_owned(),
        names => format!("the configured ones are {}", names.join(", ")),
    };
    config_fault(format!("There is no MCP server `{}`; {known}.", name.escape_debug()))
        .hint("Servers are configured in `mcpServers` of .autonoe/agent.json and in [mcp_servers] of your config.toml.")
}

fn store(environment: &Environment) -> LoginStore {
    LoginStore::new(LoginFiles::new(&environment.state_home), SecretValues::default())
}

/// The browser is the user's own: it gets the whole environment, and it outlives us.
fn open_page(opener: Option<&PathBuf>, page: &str) {
    let started = opener.and_then(|program| {
        let mut command = Command::new(program);
        command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Interrupting us must not close a browser that has just been started.
        command.process_group(0).spawn().ok()
    });
    match started {
        Some(mut child) => {
            std::thread::spawn(move || child.wait());
            present::notice(&format!("Opening your browser to log in. If no page opens, visit:\n  {page}"));
        }
        None => {
            present::notice(&format!("Visit this page in a browser on this machine to log in:\n  {page}"))
        }
    }
    present::notice(&format!("Waiting for at most {}; Ctrl-C cancels.", duration::format(LOGIN_LIMIT)));
}

fn failed(name: &str, error: &LoginError) -> Fault {
    let message = format!("Cannot log in to MCP server `{name}`: {error}.");
    let fault = Fault::permanent(FaultLayer::Agent, "mcp_login", message);
    match error {
        LoginError::NotRequired => fault.hint("Use it without a login."),
        LoginError::NoOAuth => fault.hint("Put a token into its `headers`, preferably in your own config.toml."),
        LoginError::NoRegistration => fault.hint(
            "Register a client there, with a redirect to http://127.0.0.1:PORT/callback, and pass its ID with --client-id.",
        ),
        LoginError::Visit(VisitError::WrongState | VisitError::TimedOut { .. }) => fault.hint("Log in again."),
        LoginError::NotRegistered(_) => {
            fault.hint("If you have registered a client there yourself, pass its ID with --client-id.")
        }
        LoginError::Unreachable(_)
        | LoginError::BadAuthorizationServer(_)
        | LoginError::Visit(VisitError::Refused(_) | VisitError::Failed(_))
        | LoginError::NoToken(_)
        | LoginError::TokenRejected
        | LoginError::NotSaved(_) => fault,
    }
}

fn config_fault(message: String) -> Fault {
    Fault::permanent(FaultLayer::Config, "mcp_login", message)
}
