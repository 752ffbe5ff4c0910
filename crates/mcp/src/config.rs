//! The configuration of one server, parsed strictly: an unknown key is an error, since its author expected an effect.
//!
//! `${NAME}` is not replaced by an environment variable: otherwise a repository that configures a server could read the
//! user's secrets. It is an error instead of being passed through silently.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

/// The default time limit of one call.
pub const DEFAULT_CALL_LIMIT: Duration = Duration::from_secs(600);

const AUTHORIZATION: &str = "Authorization";

/// The configuration of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    pub transport: McpTransport,
    /// The time limit of one call.
    pub call_limit: Duration,
}

/// How to connect to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program, started in the session's room, with the protocol on its standard input and output.
    Stdio {
        command: String,
        args: Vec<String>,
        /// Variables in addition to those of the room.
        env: Secrets,
        /// The working directory, relative to the project; `None` means the project directory.
        cwd: Option<PathBuf>,
    },
    /// A remote server, over streamable HTTP.
    Http {
        url: String,
        /// Headers sent with every request.
        headers: Secrets,
    },
}

/// Names and secret values. `Debug` shows only the names.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secrets(pub BTreeMap<String, String>);

impl Secrets {
    /// Whether there is a header that would compete with a login.
    pub fn has_authorization(&self) -> bool {
        self.0.keys().any(|name| name.eq_ignore_ascii_case(AUTHORIZATION))
    }

    pub(crate) fn with_token(&self, token: &str) -> Self {
        let mut headers = self.clone();
        headers.0.insert(AUTHORIZATION.to_owned(), format!("Bearer {token}"));
        headers
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("mcpServers.{server}: {problem}")]
pub struct ServerConfigError {
    server: String,
    problem: ServerProblem,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum ServerProblem {
    #[error("expected an object, such as {{\"command\": \"npx\", \"args\": [\"some-server\"]}}.")]
    NotObject,
    #[error("`type` is missing; a server with a `url` needs \"type\": \"http\".")]
    NoType,
    #[error("expected `command`, or `type` and `url`.")]
    NoTransport,
    #[error("`type` is {0}; the choices are \"stdio\" and \"http\".")]
    Type(Value),
    #[error("`timeout` must be at least 1 millisecond.")]
    Timeout,
    #[error("`command` is empty.")]
    NoCommand,
    #[error("`url` is not a valid URL: {0}.")]
    Url(String),
    #[error("`url` must start with http:// or https://.")]
    Scheme,
    #[error("{0}.")]
    Json(String),
    #[error("`{field}`: {message}.")]
    Field { field: String, message: String },
    #[error(
        "`{key}.{name}` contains ${{…}}, which is not expanded: servers get no variables from your environment. \
         Write the value itself, preferably in your own configuration."
    )]
    Variable { key: &'static str, name: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StdioConfig {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Secrets,
    cwd: Option<PathBuf>,
    timeout: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpConfig {
    url: String,
    #[serde(default)]
    headers: Secrets,
    timeout: Option<u64>,
}

impl ServerConfig {
    /// Parses the entry of the server `name` in `agent.json` or `config.toml`.
    pub fn parse(name: &str, value: &Value) -> Result<Self, ServerConfigError> {
        read(value).map_err(|problem| ServerConfigError { server: name.to_owned(), problem })
    }
}

fn read(value: &Value) -> Result<ServerConfig, ServerProblem> {
    let Value::Object(map) = value else {
        return Err(ServerProblem::NotObject);
    };
    let mut map = map.clone();
    let kind = map.remove("type");
    let (transport, timeout) = match kind.as_ref().map(Value::as_str) {
        Some(Some("stdio")) => stdio(map)?,
        None if map.contains_key("command") => stdio(map)?,
        Some(Some("http")) => http(map)?,
        None if map.contains_key("url") => return Err(ServerProblem::NoType),
        None => return Err(ServerProblem::NoTransport),
        Some(_) => return Err(ServerProblem::Type(kind.unwrap_or_default())),
    };
    let call_limit = match timeout {
        Some(0) => return Err(ServerProblem::Timeout),
        Some(milliseconds) => Duration::from_millis(milliseconds),
        None => DEFAULT_CALL_LIMIT,
    };
    Ok(ServerConfig { transport, call_limit })
}

fn stdio(map: Map<String, Value>) -> Result<(McpTransport, Option<u64>), ServerProblem> {
    let StdioConfig { command, args, env, cwd, timeout } = typed(map)?;
    if command.is_empty() {
        return Err(ServerProblem::NoCommand);
    }
    refuse_variables("env", &env)?;
    Ok((McpTransport::Stdio { command, args, env, cwd }, timeout))
}

fn http(map: Map<String, Value>) -> Result<(McpTransport, Option<u64>), ServerProblem> {
    let HttpConfig { url, headers, timeout } = typed(map)?;
    let scheme = reqwest::Url::parse(&url).map_err(|error| ServerProblem::Url(error.to_string()))?;
    if !matches!(scheme.scheme(), "http" | "https") {
        return Err(ServerProblem::Scheme);
    }
    refuse_variables("headers", &headers)?;
    Ok((McpTransport::Http { url, headers }, timeout))
}

fn typed<T: DeserializeOwned>(map: Map<String, Value>) -> Result<T, ServerProblem> {
    serde_path_to_error::deserialize(Value::Object(map)).map_err(|error| {
        let message = error.inner().to_string();
        match error.path().to_string() {
            field if field == "." => ServerProblem::Json(message),
            field => ServerProblem::Field { field, message },
        }
    })
}

fn refuse_variables(key: &'static str, secrets: &Secrets) -> Result<(), ServerProblem> {
    match secrets.0.iter().find(|(_, value)| value.contains("${")) {
        None => Ok(()),
        Some((name, _)) => Err(ServerProblem::Variable { key, name: name.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{DEFAULT_CALL_LIMIT, Duration, McpTransport, ServerConfig};

    fn parse(value: Value) -> Result<ServerConfig, String> {
        ServerConfig::parse("x", &value).map_err(|error| error.to_string())
    }

    #[test]
    fn seed_002_5_4_a_program_with_arguments() {
        let config =
            parse(json!({"command": "npx", "args": ["a", "-b"], "env": {"K": "v"}, "cwd": "sub"})).unwrap();
        assert_eq!(config.call_limit, DEFAULT_CALL_LIMIT);
        let McpTransport::Stdio { command, args, env, cwd } = config.transport else { panic!("stdio") };
        assert_eq!((command.as_str(), args), ("npx", vec!["a".to_owned(), "-b".to_owned()]));
        assert_eq!((env.0["K"].as_str(), cwd), ("v", Some("sub".into())));
        assert!(parse(json!({"type": "stdio", "command": "x"})).is_ok());
    }

    #[test]
    fn an_http_server_with_headers() {
        let config =
            parse(json!({"type": "http", "url": "https://h/mcp", "headers": {"A": "b"}, "timeout": 5}))
                .unwrap();
        assert_eq!(config.call_limit, Duration::from_millis(5));
        assert!(matches!(config.transport, McpTransport::Http { ref url, .. } if url == "https://h/mcp"));
    }

    #[test]
    fn errors_name_the_problem() {
        let invalid = [
            (json!("npx"), "expected an object"),
            (json!({}), "expected `command`, or"),
            (json!({"url": "https://h"}), "\"type\": \"http\""),
            (json!({"type": "sse", "url": "https://h"}), "`type` is \"sse\"; the choices are"),
            (json!({"type": 1, "url": "https://h"}), "`type` is 1"),
            (json!({"command": "x", "comand": "y"}), "unknown field `comand`, expected one of `command`"),
            (json!({"command": "x", "headers": {}}), "unknown field `headers`"),
            (json!({"command": "x", "args": "y"}), "`args`: invalid type"),
            (json!({"command": "x", "env": {"K": 1}}), "`env.K`: invalid type"),
            (json!({"command": ""}), "`command` is empty"),
            (json!({"command": "x", "timeout": 0}), "at least 1 millisecond"),
            (json!({"type": "http", "url": "nowhere"}), "`url` is not a valid URL"),
            (json!({"type": "http", "url": "file:///etc"}), "http:// or https://"),
            (json!({"type": "http", "url": "https://h", "command": "x"}), "unknown field `command`"),
        ];
        for (value, expected) in invalid {
            let error = parse(value.clone()).unwrap_err();
            assert!(error.starts_with("mcpServers.x: ") && error.contains(expected), "{value}: {error}");
        }
    }

    #[test]
    fn variables_are_rejected() {
        for value in [
            json!({"command": "x", "env": {"TOKEN": "${HOME}"}}),
            json!({"type": "http", "url": "https://h", "headers": {"TOKEN": "Bearer ${HOME}"}}),
        ] {
            let error = parse(value).unwrap_err();
            assert!(error.contains(".TOKEN` contains ${…}, which is not expanded"), "{error}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", parse(json!({"command": "x", "env": {"TOKEN": "hush"}})));
        assert!(shown.contains("TOKEN") && !shown.contains("hush"), "{shown}");
    }
}
