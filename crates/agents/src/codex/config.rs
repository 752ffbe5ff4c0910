//! What Codex is told in its `config.toml`: nothing but the work, our service or the user's, our tools.
//!
//! Of the user's own settings it gets the model provider, without what names programs. A provider that is reached with a
//! key from a variable, with headers or with the user's login works; one that gets its key from a command does not.

use std::collections::BTreeMap;
use std::path::Path;

use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_tools::Way;
use serde_json::{Map, Value, json};

use crate::vendor::{Reach, SERVER, ServerCommand, VendorSettings};

/// The variable in which it finds the key of our provider. Names with KEY in them are kept from commands.
pub(super) const KEY_VARIABLE: &str = "AUTONOE_CODEX_API_KEY";

/// What our provider is called.
const PROVIDER: &str = "autonoe";

/// Where the service is unless the user says otherwise.
const SERVICE: &str = "https://api.openai.com";

/// How often it tries again by itself, before the session is tried again.
const RETRIES: u32 = 3;

/// How long a server of tools may take to start, in seconds.
const SERVER_START_SECONDS: u32 = 60;

/// The same for the deliverable tools: less than Codex itself may take, so that it says why they are missing.
const TOOLS_START_SECONDS: u32 = 45;

/// How long a call of a deliverable tool may take, in seconds.
const CHECKS_SECONDS: u64 = 24 * 60 * 60;

/// What it must not do by itself: fetch, follow a repository's hooks, start further agents, act where nobody asks us, try
/// for ever. On a terminal it would type into programs that run, without a question.
const FEATURES_OFF: [&str; 18] = [
    "apps",
    "browser_use",
    "computer_use",
    "daemon_auto_start",
    "goals",
    "hooks",
    "image_generation",
    "in_app_browser",
    "multi_agent",
    "plugin_discovery_prefetch",
    "plugins",
    "remote_plugin",
    "shell_snapshot",
    "skill_mcp_dependency_install",
    "tool_suggest",
    "unbounded_connection_retries",
    "unified_exec_tty",
    "workspace_dependencies",
];

/// What of a user's provider is taken over.
const PROVIDER_KEYS: [&str; 13] = [
    "base_url",
    "env_http_headers",
    "env_key",
    "env_key_instructions",
    "http_headers",
    "name",
    "query_params",
    "request_max_retries",
    "requires_openai_auth",
    "stream_idle_timeout_ms",
    "stream_max_retries",
    "supports_websockets",
    "wire_api",
];

/// Whether Codex asks before it uses the tools of further servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// Before each use.
    Always,
    /// Nobody: some versions leave undone then what would have to be asked about.
    Never,
}

/// The model provider in the user's own settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserProvider {
    /// Which one is used.
    name: Option<String>,
    /// Those that are described.
    described: BTreeMap<String, Value>,
}

impl UserProvider {
    /// Reads it from the user's directory of Codex; nothing where there is none or it cannot be understood, for Codex
    /// itself tells its user of that.
    pub fn read(directory: &Path) -> Self {
        let text =
            read_text(&directory.join("config.toml"), SETTINGS_LIMIT).ok().flatten().unwrap_or_default();
        let Ok(config) = toml::from_str::<Value>(&text) else {
            return Self::default();
        };
        let described = config["model_providers"].as_object().into_iter().flatten();
        let described = described.filter_map(|(name, provider)| {
            let known = provider.as_object()?.iter().filter(|(key, _)| PROVIDER_KEYS.contains(&key.as_str()));
            let known: Map<String, Value> = known.map(|(key, value)| (key.clone(), value.clone())).collect();
            Some((name.clone(), Value::Object(known)))
        });
        Self { name: config["model_provider"].as_str().map(str::to_owned), described: described.collect() }
    }

    /// Where it is.
    pub fn base_url(&self) -> Option<&str> {
        self.used()?["base_url"].as_str()
    }

    /// The variable that holds the key for it.
    pub fn key_variable(&self) -> Option<&str> {
        self.used()?["env_key"].as_str()
    }

    /// The variables that hold headers for it.
    pub fn header_variables(&self) -> Vec<String> {
        let headers = self.used().and_then(|used| used["env_http_headers"].as_object());
        let names = headers.into_iter().flat_map(Map::values).filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }

    fn used(&self) -> Option<&Value> {
        self.described.get(self.name.as_ref()?)
    }
}

/// The settings of a session.
pub(super) fn config(
    settings: &VendorSettings,
    deliverables: &ServerCommand,
    reach: Option<&Reach>,
    asks: Asks,
) -> String {
    let off: Map<String, Value> =
        FEATURES_OFF.iter().map(|name| ((*name).to_owned(), json!(false))).collect();
    // A project that is trusted brings settings of its own.
    let untrusted = json!({ settings.root.display().to_string(): { "trust_level": "untrusted" } });
    let user = settings.login.directory.as_deref().map(UserProvider::read).unwrap_or_default();
    let mut config = json!({
        "check_for_update_on_startup": false,
        // The profile of a login shell would replace the search path.
        "allow_login_shell": false,
        // The project's guides are in the instruction.
        "project_doc_max_bytes": 0,
        "web_search": "disabled",
        "analytics": { "enabled": false },
        "features": off,
        "shell_environment_policy": {
            "ignore_default_excludes": false, "exclude": user.header_variables(), "set": git_settings(settings),
        },
        "sandbox_workspace_write": { "exclude_slash_tmp": true, "exclude_tmpdir_env_var": true },
        "projects": untrusted,
        "mcp_servers": servers(settings, deliverables, asks),
    });
    match reach {
        Some(reach) => {
            config["model_provider"] = json!(PROVIDER);
            config["model_providers"] = json!({ PROVIDER: provider(settings, &user, reach) });
        }
        None => {
            if let Some(name) = user.name {
                config["model_provider"] = json!(name);
            }
            config["model_providers"] = json!(user.described);
        }
    }
    let lines = config.as_object().into_iter().flatten();
    lines.map(|(key, value)| format!("{key} = {}\n", written(value))).collect()
}

/// Git's settings in the environment: some have a name that Codex takes for a key's and would keep from commands, and git refuses to
/// work with half of them.
fn git_settings(settings: &VendorSettings) -> Value {
    let env = settings.room_config.env.iter().filter(|(name, _)| name.starts_with("GIT_CONFIG_"));
    env.map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>().into()
}

/// The provider that is reached in the given way: the one that the user describes, if it is where the service is.
fn provider(settings: &VendorSettings, user: &UserProvider, reach: &Reach) -> Value {
    let told = settings.service.as_ref().and_then(|service| service.base_url.as_deref());
    let theirs = user.used().filter(|_| told == user.base_url());
    let is_whole = theirs.is_some() || told.is_some_and(|url| parts(url).0.ends_with("/v1"));
    let (base, query) = parts(reach.base_url.as_deref().unwrap_or(SERVICE));
    let mut provider = theirs.cloned().unwrap_or_else(
        || json!({ "name": PROVIDER, "wire_api": "responses", "requires_openai_auth": reach.key.is_none() }),
    );
    provider["base_url"] = json!(if is_whole { base.to_owned() } else { format!("{base}/v1") });
    // It appends its own path to the base URL, so what follows a `?` must be told apart.
    for (name, value) in
        query.iter().flat_map(|query| query.split('&')).filter_map(|pair| pair.split_once('='))
    {
        provider["query_params"][name] = json!(value);
    }
    provider["supports_websockets"] = json!(false);
    provider["request_max_retries"] = json!(RETRIES);
    provider["stream_max_retries"] = json!(RETRIES);
    if reach.key.is_some() {
        provider["env_key"] = json!(KEY_VARIABLE);
    }
    provider
}

/// A base URL without the slash at its end, and what it asks after a `?`.
fn parts(url: &str) -> (&str, Option<&str>) {
    let (base, query) = url.split_once('?').map_or((url, None), |(base, query)| (base, Some(query)));
    (base.trim_end_matches('/'), query)
}

/// The deliverable tools, which judge for themselves, and the servers whose every call is asked about where it can be.
fn servers(settings: &VendorSettings, deliverables: &ServerCommand, asks: Asks) -> Value {
    let ServerCommand { command, args, env } = deliverables;
    let mut servers = json!({ SERVER: {
        "command": command, "args": args, "env": env, "default_tools_approval_mode": "approve",
        "startup_timeout_sec": TOOLS_START_SECONDS,
        // Saying that something has passed takes as long as its checks.
        "tool_timeout_sec": CHECKS_SECONDS,
        // Where it cannot be seen whether they are there, it does not begin without them.
        "required": asks == Asks::Never,
    } });
    for (name, server) in &settings.servers {
        let mut described = match &server.way {
            Way::Stdio { command, args, env, cwd } => {
                let mut described = json!({ "command": command, "args": args, "env": env.0 });
                if let Some(cwd) = cwd {
                    described["cwd"] = json!(settings.root.join(cwd));
                }
                described
            }
            Way::Http { url, headers } => json!({ "url": url, "http_headers": headers.0 }),
        };
        described["default_tools_approval_mode"] = json!(match asks {
            Asks::Always => "prompt",
            Asks::Never => "approve",
        });
        described["startup_timeout_sec"] = json!(SERVER_START_SECONDS);
        described["tool_timeout_sec"] = json!(server.call_limit.as_secs());
        servers[name] = described;
    }
    servers
}

/// A value in TOML, on one line. Its strings and numbers are those of JSON; it has no null.
fn written(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let entries = table.iter().filter(|(_, value)| !value.is_null());
            let entries = entries.map(|(key, value)| format!("{} = {}", quoted(key), written(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{UserProvider, written};

    #[test]
    fn what_is_written_is_read_back() {
        let value = json!({
            "a key": "quotes \" and \\ and \n and \u{7f} and ü", "list": [1, true, "x"],
            "table": { "-": {}, "b.c": "d" },
        });
        let read: Value = toml::from_str(&format!("value = {}", written(&value))).expect("TOML");
        assert_eq!(read["value"], value);
    }

    #[test]
    fn of_the_users_settings_only_the_provider_is_taken() {
        let place = tempfile::tempdir().expect("directory");
        let theirs = r#"
            model_provider = "mine"
            approval_policy = "never"
            notify = ["a-program"]
            [mcp_servers.x]
            command = "a-program"
            [model_providers.mine]
            name = "mine"
            base_url = "https://models.example.org/v1"
            env_key = "MINE_KEY"
            env_http_headers = { "x-team" = "MINE_TEAM" }
            [model_providers.mine.auth]
            command = "a-program"
        "#;
        std::fs::write(place.path().join("config.toml"), theirs).expect("written");
        let user = UserProvider::read(place.path());
        assert_eq!(user.base_url(), Some("https://models.example.org/v1"));
        assert_eq!(user.key_variable(), Some("MINE_KEY"));
        assert_eq!(user.header_variables(), ["MINE_TEAM"]);
        assert!(!format!("{user:?}").contains("a-program"), "{user:?}");
        assert_eq!(UserProvider::read(&place.path().join("nowhere")), UserProvider::default());
    }
}
