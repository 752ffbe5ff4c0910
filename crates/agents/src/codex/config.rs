//! The `config.toml` that we write for Codex: extra features off, the model provider, the MCP servers.
//!
//! Of the user's own settings only the model provider is used, without keys that name programs. Providers
//! that are authenticated by an environment variable, by headers or by the user's login work; those with an
//! auth command do not.

use std::collections::BTreeMap;
use std::path::Path;

use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_mcp::McpTransport;
use serde_json::{Map, Value, json};

use crate::vendor::{SERVER, ServerCommand, ServiceAccess, VendorSession, VendorSettings};

/// The variable with the key of our provider. Codex hides variables with KEY in their name from commands.
pub(super) const KEY_VARIABLE: &str = "AUTONOE_CODEX_API_KEY";

const PROVIDER: &str = "autonoe";

/// The default base URL.
const SERVICE: &str = "https://api.openai.com";

/// Retries by Codex itself, before the session is retried.
const RETRIES: u32 = 3;

const SERVER_START_SECONDS: u32 = 60;

/// For the deliverable tools. Shorter than the start limit of Codex, so that Codex can report why they are
/// missing.
const TOOLS_START_SECONDS: u32 = 45;

/// Limit for one call of a deliverable tool, which may run checks.
const CHECKS_SECONDS: u64 = 24 * 60 * 60;

/// Features that download, run a repository's hooks, start further agents, act without an approval request or
/// retry forever. With a terminal, Codex would send input to running programs without a request.
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

/// Keys of the user's provider that are copied.
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

/// Whether Codex requests approval of the tools of the user's MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApprovalMode {
    Always,
    /// For `codex exec`, which cannot ask: some versions skip calls that would need approval.
    Never,
}

/// The model providers in the user's own Codex settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserProvider {
    /// The selected provider.
    name: Option<String>,
    /// The configured providers by name.
    providers: BTreeMap<String, Value>,
}

impl UserProvider {
    /// Reads the user's Codex directory. Empty if there are no settings or they are invalid, which Codex
    /// itself reports to its user.
    pub fn read(directory: &Path) -> Self {
        let text =
            read_text(&directory.join("config.toml"), SETTINGS_LIMIT).ok().flatten().unwrap_or_default();
        let Ok(config) = toml::from_str::<Value>(&text) else {
            return Self::default();
        };
        let providers = config["model_providers"].as_object().into_iter().flatten();
        let providers = providers.filter_map(|(name, provider)| {
            let known = provider.as_object()?.iter().filter(|(key, _)| PROVIDER_KEYS.contains(&key.as_str()));
            let known: Map<String, Value> = known.map(|(key, value)| (key.clone(), value.clone())).collect();
            Some((name.clone(), Value::Object(known)))
        });
        Self { name: config["model_provider"].as_str().map(str::to_owned), providers: providers.collect() }
    }

    pub fn base_url(&self) -> Option<&str> {
        self.selected()?["base_url"].as_str()
    }

    /// The environment variable with the key.
    pub fn key_variable(&self) -> Option<&str> {
        self.selected()?["env_key"].as_str()
    }

    /// The environment variables with header values.
    pub fn header_variables(&self) -> Vec<String> {
        let headers = self.selected().and_then(|provider| provider["env_http_headers"].as_object());
        let names = headers.into_iter().flat_map(Map::values).filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }

    fn selected(&self) -> Option<&Value> {
        self.providers.get(self.name.as_ref()?)
    }
}

pub(super) fn config(
    settings: &VendorSettings,
    vendor_session: &VendorSession,
    access: Option<&ServiceAccess>,
    approval: ApprovalMode,
) -> String {
    let deliverables = &vendor_session.server;
    let off: Map<String, Value> =
        FEATURES_OFF.iter().map(|name| ((*name).to_owned(), json!(false))).collect();
    // The settings of a trusted project would be used.
    let directories = [settings.shown_root(), vendor_session.shown_start()];
    let untrusted: Map<String, Value> = directories
        .map(|directory| (directory.display().to_string(), json!({ "trust_level": "untrusted" })))
        .into_iter()
        .collect();
    let user = settings.login.directory.as_deref().map(UserProvider::read).unwrap_or_default();
    let mut config = json!({
        "check_for_update_on_startup": false,
        // The profile of a login shell would replace PATH.
        "allow_login_shell": false,
        // The project's guides are part of the instruction.
        "project_doc_max_bytes": 0,
        "web_search": "disabled",
        "analytics": { "enabled": false },
        "features": off,
        "shell_environment_policy": {
            "ignore_default_excludes": false, "exclude": user.header_variables(), "set": git_settings(settings),
        },
        "sandbox_workspace_write": { "exclude_slash_tmp": true, "exclude_tmpdir_env_var": true },
        "projects": untrusted,
        "mcp_servers": servers(settings, deliverables, approval),
    });
    match access {
        Some(access) => {
            config["model_provider"] = json!(PROVIDER);
            config["model_providers"] = json!({ PROVIDER: provider(settings, &user, access) });
        }
        None => {
            if let Some(name) = user.name {
                config["model_provider"] = json!(name);
            }
            config["model_providers"] = json!(user.providers);
        }
    }
    let lines = config.as_object().into_iter().flatten();
    lines.map(|(key, value)| format!("{key} = {}\n", to_toml(value))).collect()
}

/// Git's settings in the environment. Codex would hide those with KEY in their name from commands, and git
/// fails with only half of them.
fn git_settings(settings: &VendorSettings) -> Value {
    let env = settings.room_config.env.iter().filter(|(name, _)| name.starts_with("GIT_CONFIG_"));
    env.map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>().into()
}

/// The provider entry for the service: the user's own entry if it has the same base URL, otherwise a new one.
fn provider(settings: &VendorSettings, user: &UserProvider, access: &ServiceAccess) -> Value {
    let configured = settings.service.as_ref().and_then(|service| service.base_url.as_deref());
    let own_entry = user.selected().filter(|_| configured == user.base_url());
    let has_version = own_entry.is_some() || configured.is_some_and(|url| parts(url).0.ends_with("/v1"));
    let (base, query) = parts(access.base_url.as_deref().unwrap_or(SERVICE));
    let mut provider = own_entry.cloned().unwrap_or_else(
        || json!({ "name": PROVIDER, "wire_api": "responses", "requires_openai_auth": access.key.is_none() }),
    );
    provider["base_url"] = json!(if has_version { base.to_owned() } else { format!("{base}/v1") });
    // Codex appends a path to the base URL, so the query must be configured separately.
    for (name, value) in
        query.iter().flat_map(|query| query.split('&')).filter_map(|pair| pair.split_once('='))
    {
        provider["query_params"][name] = json!(value);
    }
    provider["supports_websockets"] = json!(false);
    provider["request_max_retries"] = json!(RETRIES);
    provider["stream_max_retries"] = json!(RETRIES);
    if access.key.is_some() {
        provider["env_key"] = json!(KEY_VARIABLE);
    }
    provider
}

/// The base URL without a trailing slash, and the query.
fn parts(url: &str) -> (&str, Option<&str>) {
    let (base, query) = url.split_once('?').map_or((url, None), |(base, query)| (base, Some(query)));
    (base.trim_end_matches('/'), query)
}

/// The deliverable tools, which need no approval, and the user's MCP servers, whose calls do where Codex can
/// ask.
fn servers(settings: &VendorSettings, deliverables: &ServerCommand, approval: ApprovalMode) -> Value {
    let ServerCommand { command, args, env } = deliverables;
    let mut servers = json!({ SERVER: {
        "command": command, "args": args, "env": env, "default_tools_approval_mode": "approve",
        "startup_timeout_sec": TOOLS_START_SECONDS,
        // Setting a status to passed takes as long as the checks.
        "tool_timeout_sec": CHECKS_SECONDS,
        // `codex exec` does not report missing servers, so it must not start without them.
        "required": approval == ApprovalMode::Never,
    } });
    for (name, server) in &settings.servers.configs {
        let mut entry = match &server.transport {
            McpTransport::Stdio { command, args, env, cwd } => {
                let mut entry = json!({ "command": command, "args": args, "env": env.0 });
                if let Some(cwd) = cwd {
                    entry["cwd"] = json!(settings.shown_root().join(cwd));
                }
                entry
            }
            McpTransport::Http { url, headers } => json!({ "url": url, "http_headers": headers.0 }),
        };
        entry["default_tools_approval_mode"] = json!(match approval {
            ApprovalMode::Always => "prompt",
            ApprovalMode::Never => "approve",
        });
        entry["startup_timeout_sec"] = json!(SERVER_START_SECONDS);
        entry["tool_timeout_sec"] = json!(server.call_limit.as_secs());
        servers[name] = entry;
    }
    servers
}

/// Serializes to inline TOML. Strings and numbers have the same syntax as in JSON; nulls are dropped.
fn to_toml(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let entries = table.iter().filter(|(_, value)| !value.is_null());
            let entries = entries.map(|(key, value)| format!("{} = {}", quoted(key), to_toml(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(to_toml).collect::<Vec<_>>().join(", ")),
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

    use super::{UserProvider, to_toml};

    #[test]
    fn toml_round_trips() {
        let value = json!({
            "a key": "quotes \" and \\ and \n and \u{7f} and ü", "list": [1, true, "x"],
            "table": { "-": {}, "b.c": "d" },
        });
        let read: Value = toml::from_str(&format!("value = {}", to_toml(&value))).expect("TOML");
        assert_eq!(read["value"], value);
    }

    #[test]
    fn only_the_provider_of_the_users_settings_is_used() {
        let directory = tempfile::tempdir().expect("directory");
        let settings = r#"
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
        std::fs::write(directory.path().join("config.toml"), settings).expect("written");
        let user = UserProvider::read(directory.path());
        assert_eq!(user.base_url(), Some("https://models.example.org/v1"));
        assert_eq!(user.key_variable(), Some("MINE_KEY"));
        assert_eq!(user.header_variables(), ["MINE_TEAM"]);
        assert!(!format!("{user:?}").contains("a-program"), "{user:?}");
        assert_eq!(UserProvider::read(&directory.path().join("nowhere")), UserProvider::default());
    }
}
