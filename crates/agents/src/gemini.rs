//! The Gemini CLI: the vendor's own program, driven over the Agent Client Protocol. By itself it asks only about some
//! calls; a policy of ours has it ask about every one, and takes the tools away that our gates do not know.

use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, SessionSpec};
use autonoe_core::fault::{Fault, Layer};
use autonoe_deliverables::DeliverableService;
use autonoe_files::{SETTINGS_LIMIT, read_text};
use serde_json::{Value, json};

use crate::acp::{AcpQuirks, Refusing, open};
use crate::vendor::{Reach, SERVER, VendorSettings};

/// What it is called.
pub const NAME: &str = "gemini";

/// Its settings as those of the system, which nothing that a repository says changes. It reads them only where all
/// directories above are root's.
const SYSTEM_SETTINGS: &str = "autonoe-settings.json";

/// The same as those of the user.
const USER_SETTINGS: &str = "settings.json";

/// Where a repository has settings for it, and more: hidden, since they come before the user's.
const OF_A_REPOSITORY: &str = ".gemini";

/// Its rules for tools.
const POLICY: &str = "autonoe-policy.toml";

/// Every tool that our gates know is asked about; no other one is there.
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

/// What to do about a login that is not accepted.
const LOG_IN: &str = "Run `gemini` and log in, or set GEMINI_API_KEY.";

/// The file of a login with Google.
const LOGIN_FILE: &str = "oauth_creds.json";

/// Opens sessions of the Gemini CLI.
pub struct GeminiBackend {
    settings: VendorSettings,
    deliverables: Arc<DeliverableService>,
}

impl GeminiBackend {
    /// A backend whose agents work on deliverables through the given service.
    pub fn new(mut settings: VendorSettings, deliverables: Arc<DeliverableService>) -> Self {
        settings.room_config.bounds.hidden.push(settings.root.join(OF_A_REPOSITORY));
        Self { settings, deliverables }
    }

    fn manner(&self, model: &str) -> AcpQuirks {
        AcpQuirks {
            backend: NAME.to_owned(),
            shown: "Gemini CLI".to_owned(),
            log_in: LOG_IN.to_owned(),
            args: self.arguments(model),
            asks_for_model: false,
            // Version 0.61 takes a file that is not there for a failure then, and cannot make new ones.
            is_served: false,
            // It waits for a signal, takes long to heed it, and writes down each thing that is said at once.
            exit_limit: None,
            // It makes "cancelled by the user" of a rejection, and runs no hooks for tools in this mode.
            refusing: Refusing::ByReason,
            // In this mode it waits for its MCP servers before it says that a session has begun.
            loads_tools_first: true,
        }
    }

    fn arguments(&self, model: &str) -> Vec<String> {
        let policy = self.settings.home.join(POLICY).display().to_string();
        let fixed = ["--acp", "-m", model, "--approval-mode", "default", "--admin-policy", &policy];
        let mut arguments = fixed.map(str::to_owned).to_vec();
        // No server of a repository's settings is started.
        for server in self.servers() {
            arguments.extend(["--allowed-mcp-server-names".to_owned(), server.to_owned()]);
        }
        arguments
    }

    fn servers(&self) -> impl Iterator<Item = &str> {
        std::iter::once(SERVER).chain(self.settings.servers.keys().map(String::as_str))
    }

    /// How it logs in: the way the user chose there, or else by what there is.
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

    /// Whether the repository's settings can be hidden: what a link leads to may be needed.
    fn check_repository(&self) -> Result<(), Fault> {
        if !self.settings.root.join(OF_A_REPOSITORY).is_symlink() {
            return Ok(());
        }
        let message = format!(
            "{OF_A_REPOSITORY} in the project is a link, so it cannot be hidden from the Gemini CLI."
        );
        let hint = "Make it a directory, or choose another agent with --backend.";
        Err(Fault::lasting(Layer::Config, "agent_settings", message).hint(hint))
    }

    fn write_settings(&self) -> Result<(), Fault> {
        let settings = json!({
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
        for name in [SYSTEM_SETTINGS, USER_SETTINGS] {
            self.settings.write(name, &settings.to_string())?;
        }
        self.settings.write(POLICY, RULES)
    }

    fn env(&self, reach: Option<Reach>) -> Vec<(String, String)> {
        // It looks for `.gemini` in the directory that this names.
        let home = self.settings.home.parent().unwrap_or(&self.settings.home).display().to_string();
        let mut env = vec![
            ("GEMINI_CLI_HOME", home),
            ("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()),
            (
                "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
                self.settings.home.join(SYSTEM_SETTINGS).display().to_string(),
            ),
        ];
        if let Some(reach) = reach {
            env.extend(reach.key.map(|key| ("GEMINI_API_KEY", key)));
            env.extend(reach.base_url.map(|url| ("GOOGLE_GEMINI_BASE_URL", url)));
        }
        let own = env.into_iter().map(|(name, value)| (name.to_owned(), value));
        own.chain(self.introduction()).collect()
    }
}

impl GeminiBackend {
    /// Who commits: it keeps the settings of the room's home from git, and without a name git does not commit. What is in the
    /// environment it leaves there.
    fn introduction(&self) -> Vec<(String, String)> {
        let room_config = &self.settings.room_config;
        let told = room_config.env.iter().find(|(name, _)| name == "GIT_CONFIG_COUNT");
        let count: usize = told.and_then(|(_, count)| count.parse().ok()).unwrap_or_default();
        let settings = room_config.bounds.home.join(".gitconfig").display().to_string();
        vec![
            ("GIT_CONFIG_COUNT".to_owned(), (count + 1).to_string()),
            (format!("GIT_CONFIG_KEY_{count}"), "include.path".to_owned()),
            (format!("GIT_CONFIG_VALUE_{count}"), settings),
        ]
    }
}

#[async_trait]
impl Backend for GeminiBackend {
    fn name(&self) -> &str {
        NAME
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        let manner = self.manner(&spec.model);
        self.check_repository()?;
        self.write_settings()?;
        open(manner, &self.settings, &self.deliverables, spec, |reach| self.env(reach)).await
    }
}
