//! What the configuration says about one server, read strictly: a key that is not known here is an error, since
//! anyone who wrote it expected something of it.
//!
//! `${NAME}` is not replaced by a variable of the environment: anyone who may name a server could otherwise read secrets
//! with it. It is refused, so that nobody waits for it in vain.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

/// How long one call may take when the configuration of its server does not say.
pub const DEFAULT_CALL_LIMIT: Duration = Duration::from_secs(600);

/// How one server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The way to it.
    pub way: Way,
    /// How long one call may take.
    pub call_limit: Duration,
}

/// The way to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// A program, started in the session's room, that is spoken to over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables beside those of the room.
        env: Secrets,
        /// Where it runs: relative to the project, which is the default.
        cwd: Option<PathBuf>,
    },
    /// A server that is connected to by streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers of every request.
        headers: Secrets,
    },
}

/// Names and values, of which only the names are ever shown.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secrets(pub BTreeMap<String, String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// The configuration of a server cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("mcpServers.{server}: {what}")]
pub struct ServerConfigError {
    server: String,
    what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stdio {
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
struct Http {
    url: String,
    #[serde(default)]
    headers: Secrets,
    timeout: Option<u64>,
}

impl ServerConfig {
    /// Reads what `agent.json` or `config.toml` says about the server `name`.
    pub fn parse(name: &str, value: &Value) -> Result<Self, ServerConfigError> {
        read(value).map_err(|what| ServerConfigError { server: name.to_owned(), what })
    }
}

fn read(value: &Value) -> Result<ServerConfig, String> {
    let Value::Object(map) = value else {
        return Err(
            "expected an object, such as {\"command\": \"npx\", \"args\": [\"some-server\"]}.".to_owned()
        );
    };
    let mut map = map.clone();
    let kind = map.remove("type");
    let (way, timeout) = match kind.as_ref().map(Value::as_str) {
        Some(Some("stdio")) => stdio(map)?,
        None if map.contains_key("command") => stdio(map)?,
        Some(Some("http")) => http(map)?,
        None if map.contains_key("url") => {
            return Err("`type` is missing; a server with a `url` needs \"type\": \"http\".".to_owned());
        }
        None => return Err("neither `command` nor `type` and `url` are there.".to_owned()),
        Some(_) => {
            let shown = kind.unwrap_or_default();
            return Err(format!("`type` is {shown}; the choices are \"stdio\" and \"http\"."));
        }
    };
    let call_limit = match timeout {
        Some(0) => return Err("`timeout` must be at least 1 millisecond.".to_owned()),
        Some(milliseconds) => Duration::from_millis(milliseconds),
        None => DEFAULT_CALL_LIMIT,
    };
    Ok(ServerConfig { way, call_limit })
}

fn stdio(map: Map<String, Value>) -> Result<(Way, Option<u64>), String> {
    let Stdio { command, args, env, cwd, timeout } = typed(map)?;
    if command.is_empty() {
        return Err("`command` is empty.".to_owned());
    }
    refuse_variables("env", &env)?;
    Ok((Way::Stdio { command, args, env, cwd }, timeout))
}

fn http(map: Map<String, Value>) -> Result<(Way, Option<u64>), String> {
    let Http { url, headers, timeout } = typed(map)?;
    let scheme = reqwest::Url::parse(&url).map_err(|error| format!("`url` is not an address: {error}."))?;
    if !matches!(scheme.scheme(), "http" | "https") {
        return Err("`url` must begin with http:// or https://.".to_owned());
    }
    refuse_variables("headers", &headers)?;
    Ok((Way::Http { url, headers }, timeout))
}

fn typed<T: DeserializeOwned>(map: Map<String, Value>) -> Result<T, String> {
    serde_path_to_error::deserialize(Value::Object(map)).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { String::new() } else { format!("`{path}`: ") };
        format!("{field}{}.", error.inner())
    })
}

fn refuse_variables(key: &str, secrets: &Secrets) -> Result<(), String> {
    match secrets.0.iter().find(|(_, value)| value.contains("${")) {
        None => Ok(()),
        Some((name, _)) => Err(format!(
            "`{key}.{name}` holds ${{…}}, which is not replaced: a server is given no variables of your environment. \
             Write the value itself, best in your own configuration."
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{DEFAULT_CALL_LIMIT, Duration, ServerConfig, Way};

    fn parse(value: Value) -> Result<ServerConfig, String> {
        ServerConfig::parse("x", &value).map_err(|error| error.to_string())
    }

    #[test]
    fn seed_002_5_4_a_program_and_its_arguments() {
        let config =
            parse(json!({"command": "npx", "args": ["a", "-b"], "env": {"K": "v"}, "cwd": "sub"})).unwrap();
        assert_eq!(config.call_limit, DEFAULT_CALL_LIMIT);
        let Way::Stdio { command, args, env, cwd } = config.way else { panic!("stdio") };
        assert_eq!((command.as_str(), args), ("npx", vec!["a".to_owned(), "-b".to_owned()]));
        assert_eq!((env.0["K"].as_str(), cwd), ("v", Some("sub".into())));
        assert!(parse(json!({"type": "stdio", "command": "x"})).is_ok());
    }

    #[test]
    fn a_server_by_http_and_its_headers() {
        let config =
            parse(json!({"type": "http", "url": "https://h/mcp", "headers": {"A": "b"}, "timeout": 5}))
                .unwrap();
        assert_eq!(config.call_limit, Duration::from_millis(5));
        assert!(matches!(config.way, Way::Http { ref url, .. } if url == "https://h/mcp"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = [
            (json!("npx"), "expected an object"),
            (json!({}), "neither `command`"),
            (json!({"url": "https://h"}), "\"type\": \"http\""),
            (json!({"type": "sse", "url": "https://h"}), "`type` is \"sse\"; the choices are"),
            (json!({"type": 1, "url": "https://h"}), "`type` is 1"),
            (json!({"command": "x", "comand": "y"}), "unknown field `comand`, expected one of `command`"),
            (json!({"command": "x", "headers": {}}), "unknown field `headers`"),
            (json!({"command": "x", "args": "y"}), "`args`: invalid type"),
            (json!({"command": "x", "env": {"K": 1}}), "`env.K`: invalid type"),
            (json!({"command": ""}), "`command` is empty"),
            (json!({"command": "x", "timeout": 0}), "at least 1 millisecond"),
            (json!({"type": "http", "url": "nowhere"}), "`url` is not an address"),
            (json!({"type": "http", "url": "file:///etc"}), "http:// or https://"),
            (json!({"type": "http", "url": "https://h", "command": "x"}), "unknown field `command`"),
        ];
        for (value, expected) in wrong {
            let error = parse(value.clone()).unwrap_err();
            assert!(error.starts_with("mcpServers.x: ") && error.contains(expected), "{value}: {error}");
        }
    }

    #[test]
    fn variables_are_refused_and_not_replaced() {
        for value in [
            json!({"command": "x", "env": {"TOKEN": "${HOME}"}}),
            json!({"type": "http", "url": "https://h", "headers": {"TOKEN": "Bearer ${HOME}"}}),
        ] {
            let error = parse(value).unwrap_err();
            assert!(error.contains(".TOKEN` holds ${…}, which is not replaced"), "{error}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", parse(json!({"command": "x", "env": {"TOKEN": "hush"}})));
        assert!(shown.contains("TOKEN") && !shown.contains("hush"), "{shown}");
    }
}
