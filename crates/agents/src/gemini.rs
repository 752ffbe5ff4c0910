//! The Gemini CLI: the vendor's own program, driven over the Agent Client Protocol. By default it asks only
//! about some calls; our policy file makes it ask about every call and disables the tools that our gates do
//! not know.

mod profile;

use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, SessionSpec};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_deliverables::DeliverableService;
use autonoe_files::{SETTINGS_LIMIT, read_text};
use serde_json::{Value, json};

use crate::acp::{AcpQuirks, RefusalStyle, open};
use crate::effort::effort;
use crate::vendor::{SERVER, ServiceAccess, VendorSettings};

pub use profile::PROFILE;

pub const NAME: &str = "gemini";

/// Our settings as system settings, which a repository cannot override. The Gemini CLI reads them only if
/// root owns all parent directories.
const SYSTEM_SETTINGS: &str = "autonoe-settings.json";

/// The same settings as user settings.
const USER_SETTINGS: &str = "settings.json";

/// The repository's directory for the Gemini CLI. Hidden, since its settings take precedence over the user's.
const REPOSITORY_SETTINGS: &str = ".gemini";

/// The policy file.
const POLICY: &str = "autonoe-policy.toml";

/// The tools that our gates know need approval; all others are disabled.
const RULES: &str = r#"[[rule]]
toolName = "*"
decision = "deny"
priority = 1

[[rule]]
toolName = ["glob", "google_web_search", "grep_search", "list_directory", "read_file", "read_many_files", "replace", "run_shell_command", "search_file_content", "web_fetch", "write_file"]
decision = "ask_user"
priority = 2

[[rule]]
toolName = "mcp_*"
decision = "ask_user"
priority = 2

[[rule]]
toolName = "write_todos"
decision = "allow"
priority = 2
"#;

const LOG_IN: &str = "Run `gemini` and log in, or set GEMINI_API_KEY.";

/// The file of a Google login.
const LOGIN_FILE: &str = "oauth_creds.json";

/// Models whose thinking has levels.
const WITH_LEVELS: &str = "gemini-3";

pub struct GeminiBackend {
    settings: VendorSettings,
    deliverables: Arc<DeliverableService>,
}

impl GeminiBackend {
    pub fn new(mut settings: VendorSettings, deliverables: Arc<DeliverableService>) -> Self {
        settings.room_config.bounds.hidden.push(settings.root.join(REPOSITORY_SETTINGS));
        Self { settings, deliverables }
    }

    fn quirks(&self, model: &str) -> AcpQuirks {
        AcpQuirks {
            backend: NAME.to_owned(),
            display_name: "Gemini CLI".to_owned(),
            log_in: LOG_IN.to_owned(),
            args: self.arguments(model),
            sets_model: false,
            // Its settings have the budget.
            sets_thinking: false,
            thinking_warned: Arc::default(),
            // Otherwise version 0.61 treats a missing file as an error and cannot create new files.
            serves_files: false,
            // It exits only on a signal, and slowly. It saves each message at once, so nothing is lost.
            exit_limit: None,
            // It reports a rejection as "cancelled by the user", and runs no tool hooks in this mode.
            refusal_style: RefusalStyle::ByReason,
            // In this mode it waits for its MCP servers before it reports the session as started.
            loads_tools_first: true,
        }
    }

    fn arguments(&self, model: &str) -> Vec<String> {
        let policy = self.settings.home.join(POLICY).display().to_string();
        let fixed = ["--acp", "-m", model, "--approval-mode", "default", "--admin-policy", &policy];
        let mut arguments = fixed.map(str::to_owned).to_vec();
        // MCP servers in a repository's settings are not started.
        for server in self.servers() {
            arguments.extend(["--allowed-mcp-server-names".to_owned(), server.to_owned()]);
        }
        arguments
    }

    fn servers(&self) -> impl Iterator<Item = &str> {
        std::iter::once(SERVER).chain(self.settings.servers.keys().map(String::as_str))
    }

    /// The login method: the user's choice in the Gemini CLI, otherwise by the available credentials.
    fn login(&self) -> String {
        let directory = self.settings.login.directory.as_deref();
        let chosen = directory
            .and_then(|directory| read_text(&directory.join("settings.json"), SETTINGS_LIMIT).ok()?);
        let chosen = chosen.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let chosen = chosen.and_then(|settings| {
            let chosen = settings["security"]["auth"]["selectedType"].as_str();
            chosen.or(settings["selectedAuthType"].as_str()).map(str::to_owned)
        });
        let has_key = self.settings.service.as_ref().is_some_and(|service| service.key.is_some());
        let has_login = directory.is_some_and(|directory| directory.join(LOGIN_FILE).is_file());
        let usual = if has_login && !has_key { "oauth-personal" } else { "gemini-api-key" };
        chosen.unwrap_or_else(|| usual.to_owned())
    }

    /// A link cannot be hidden, since its target may be needed.
    fn check_repository(&self) -> Result<(), Fault> {
        if !self.settings.root.join(REPOSITORY_SETTINGS).is_symlink() {
            return Ok(());
        }
        let message = format!(
            "{REPOSITORY_SETTINGS} in the project is a symbolic link, so it cannot be hidden from the Gemini CLI."
        );
        let hint = "Replace it by a directory, or choose another agent with --backend.";
        Err(Fault::permanent(FaultLayer::Config, "agent_settings", message).hint(hint))
    }

    fn write_settings(&self, spec: &SessionSpec) -> Result<(), Fault> {
        let mut settings = json!({
            "general": {
                "defaultApprovalMode": "default",
                "enableAutoUpdate": false,
                "disableAutoUpdate": true,
                "disableUpdateNag": true,
            },
            "mcp": { "allowed": self.servers().collect::<Vec<_>>() },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
            "model": { "disableLoopDetection": true },
            "hooksConfig": { "enabled": false },
            "tools": { "sandbox": false },
            "security": {
                "auth": { "selectedType": self.login() },
                "disableYoloMode": true,
                "folderTrust": { "enabled": false },
            },
        });
        if let Some(tokens) = spec.thinking {
            settings["modelConfigs"] = json!({ "customOverrides": thinking(&spec.model, tokens) });
        }
        for name in [SYSTEM_SETTINGS, USER_SETTINGS] {
            self.settings.write(name, &settings.to_string())?;
        }
        self.settings.write(POLICY, RULES)
    }

    fn env(&self, access: Option<ServiceAccess>) -> Vec<(String, String)> {
        // The Gemini CLI looks for `.gemini` in this directory.
        let home = self.settings.home.parent().unwrap_or(&self.settings.home).display().to_string();
        let mut env = vec![
            ("GEMINI_CLI_HOME", home),
            ("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()),
            (
                "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
                self.settings.home.join(SYSTEM_SETTINGS).display().to_string(),
            ),
        ];
        if let Some(access) = access {
            env.extend(access.key.map(|key| ("GEMINI_API_KEY", key)));
            env.extend(access.base_url.map(|url| ("GOOGLE_GEMINI_BASE_URL", url)));
        }
        let own = env.into_iter().map(|(name, value)| (name.to_owned(), value));
        own.chain(self.git_identity()).collect()
    }
}

impl GeminiBackend {
    /// Git's identity. The Gemini CLI hides the `.gitconfig` of the room's home from git, which then cannot
    /// commit, but it passes these variables on.
    fn git_identity(&self) -> Vec<(String, String)> {
        let room_config = &self.settings.room_config;
        let existing = room_config.env.iter().find(|(name, _)| name == "GIT_CONFIG_COUNT");
        let count: usize = existing.and_then(|(_, count)| count.parse().ok()).unwrap_or_default();
        let settings = room_config.bounds.home.join(".gitconfig").display().to_string();
        vec![
            ("GIT_CONFIG_COUNT".to_owned(), (count + 1).to_string()),
            (format!("GIT_CONFIG_KEY_{count}"), "include.path".to_owned()),
            (format!("GIT_CONFIG_VALUE_{count}"), settings),
        ]
    }
}

/// The budget for thinking, as overrides of the settings that the Gemini CLI has for its models. Generation 3 has levels
/// instead of budgets, and a request may not have both.
fn thinking(model: &str, tokens: u32) -> Value {
    let budget = json!({ "thinkingBudget": tokens });
    let level = json!({ "thinkingLevel": if effort(tokens) == "low" { "LOW" } else { "HIGH" } });
    let of_model = if model.starts_with(WITH_LEVELS) { &level } else { &budget };
    // The first two are what the known models derive from.
    let overrides = [("chat-base-2.5", &budget), ("chat-base-3", &level), (model, of_model)];
    let overrides = overrides.map(|(model, thinking)| {
        json!({
            "match": { "model": model },
            "modelConfig": { "generateContentConfig": { "thinkingConfig": thinking } },
        })
    });
    Value::from(overrides.to_vec())
}

#[async_trait]
impl Backend for GeminiBackend {
    fn name(&self) -> &str {
        NAME
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        let quirks = self.quirks(&spec.model);
        self.check_repository()?;
        self.write_settings(&spec)?;
        open(quirks, &self.settings, &self.deliverables, spec, |access| self.env(access)).await
    }
}
