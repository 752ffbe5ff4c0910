//! Profiles of the vendors' agents, and whether each is installed and logged in.

use std::path::PathBuf;

use crate::backend_name::BackendName;
use crate::environment::Environment;
use crate::probe::Version;
use crate::programs::find_program;

/// Whether an agent can be used, as far as can be determined without starting it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// `None` if the program is not installed.
    pub program: Option<PathBuf>,
    /// The variable or file it would log in with; `None` if there is none.
    pub login: Option<&'static str>,
    /// Oldest version known to work.
    pub oldest: Version,
    /// Install command.
    pub install: &'static str,
    /// Instruction for logging in.
    pub log_in: &'static str,
    /// Tools that our gates cannot veto, so that only the sandbox restricts them.
    pub ungated: Option<&'static str>,
}

pub struct VendorProfile {
    pub program: &'static str,
    /// Oldest version known to work.
    pub oldest: Version,
    /// Install command.
    pub install: &'static str,
    /// Instruction for logging in.
    pub log_in: &'static str,
    /// Tools that our gates cannot veto, so that only the sandbox restricts them.
    pub ungated: Option<&'static str>,
    /// Variable that names its directory, default directory below the home, and the login files in it.
    pub home: (&'static str, &'static str, &'static [&'static str]),
    /// Variables with an API key, the first one set counts, and how the key is sent.
    pub key: (&'static [&'static str], KeyPlacement),
    /// Other variables that log the agent in.
    pub tokens: &'static [&'static str],
    /// Variable with the base URL of the service, and the default.
    pub base_url: (&'static str, &'static str),
    /// Hosts it contacts with the user's login.
    pub hosts: &'static [&'static str],
    /// Further variables passed to it, such as those for Bedrock and Vertex.
    pub passed: &'static [&'static str],
}

#[derive(Clone, Copy)]
pub enum KeyPlacement {
    /// The value of this header.
    Header(&'static str),
    Bearer,
}

pub const CLAUDE: VendorProfile = VendorProfile {
    program: "claude",
    oldest: [2, 1, 325],
    install: "npm install -g @anthropic-ai/claude-code",
    log_in: "start `claude` and type /login, or set ANTHROPIC_API_KEY",
    ungated: None,
    home: ("CLAUDE_CONFIG_DIR", ".claude", &[".credentials.json"]),
    key: (&["ANTHROPIC_API_KEY"], KeyPlacement::Header("x-api-key")),
    tokens: &["CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"],
    base_url: ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    hosts: &["api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"],
    passed: &[
        "ANTHROPIC_CUSTOM_HEADERS",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL",
        "ANTHROPIC_DEFAULT_OPUS_MODEL",
        "ANTHROPIC_DEFAULT_SONNET_MODEL",
        "ANTHROPIC_SMALL_FAST_MODEL",
        "ANTHROPIC_VERTEX_PROJECT_ID",
        "AWS_ACCESS_KEY_ID",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLOUD_ML_REGION",
    ],
};

pub const CODEX: VendorProfile = VendorProfile {
    program: "codex",
    oldest: [0, 166, 0],
    install: "npm install -g @openai/codex",
    log_in: "run `codex login`, or set OPENAI_API_KEY",
    ungated: Some("viewing images"),
    home: ("CODEX_HOME", ".codex", &["auth.json"]),
    key: (&["OPENAI_API_KEY", "CODEX_API_KEY"], KeyPlacement::Bearer),
    tokens: &[],
    base_url: ("OPENAI_BASE_URL", "https://api.openai.com"),
    hosts: &["api.openai.com", "chatgpt.com", "auth.openai.com"],
    passed: &[],
};

pub const GEMINI: VendorProfile = VendorProfile {
    program: "gemini",
    oldest: [0, 61, 0],
    install: "npm install -g @google/gemini-cli",
    log_in: "start `gemini` and log in, or set GEMINI_API_KEY",
    ungated: None,
    home: ("GEMINI_CLI_HOME", ".gemini", &["oauth_creds.json", "google_accounts.json"]),
    key: (&["GEMINI_API_KEY", "GOOGLE_API_KEY"], KeyPlacement::Header("x-goog-api-key")),
    tokens: &[],
    base_url: ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
    hosts: &[
        "generativelanguage.googleapis.com",
        "cloudcode-pa.googleapis.com",
        "oauth2.googleapis.com",
        "accounts.google.com",
    ],
    passed: &["GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GENAI_USE_VERTEXAI"],
};

fn vendor(name: &BackendName) -> Option<&'static VendorProfile> {
    match name {
        BackendName::Native | BackendName::Acp(_) | BackendName::Configured(_) | BackendName::Replay(_) => {
            None
        }
        BackendName::Gemini => Some(&GEMINI),
        BackendName::Claude => Some(&CLAUDE),
        BackendName::Codex => Some(&CODEX),
    }
}

/// `None` if the backend is not a vendor's agent.
pub fn readiness(name: &BackendName, environment: &Environment) -> Option<Readiness> {
    let vendor = vendor(name)?;
    let program = find_program(vendor.program, environment);
    let has = |name: &&str| environment.variable(name).is_some();
    let variables = || vendor.key.0.iter().chain(vendor.tokens).find(|name| has(name)).copied();
    let login = variables().or_else(|| {
        let directory = vendor.directory(environment)?;
        vendor.home.2.iter().find(|name| directory.join(name).is_file()).copied()
    });
    let VendorProfile { oldest, install, log_in, ungated, .. } = *vendor;
    Some(Readiness { program, login, oldest, install, log_in, ungated })
}

impl VendorProfile {
    /// The agent's directory of the user, with settings and login.
    pub fn directory(&self, environment: &Environment) -> Option<PathBuf> {
        let (variable, below_home, _) = self.home;
        let named = environment.variable(variable).map(PathBuf::from);
        // For some agents the variable names the parent directory.
        let named = named.map(|named| match named.join(below_home) {
            inside if inside.is_dir() => inside,
            _ => named,
        });
        named.or_else(|| Some(environment.home.as_ref()?.join(below_home)))
    }
}
